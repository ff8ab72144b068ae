/* The text of a calibrated profile. */
#include "config.h"

#include <string.h>

#include "base/quote.h"
#include "estimator/calibrate/calibrate_impl.h"
#include "estimator/fit.h"
#include "traces/law.h"

/* Source and range of laws that no fit makes, and why they have no held-out
 * error. */
static const struct {
  const char *law, *source, *range, *why;
} cited[] = {
    {"attention-backward",
     "arXiv 2307.08691 (FlashAttention-2), A100: up to 73 % of peak forward, "
     "63 % backward; no measurement of others was found",
     "cited for the A100 at long sequences",
     "no kernel of a backward has rows; levels train-node and train-tables "
     "have it amid whole steps"},
    {"memory.other",
     "assumed: no measurement of others was found; a launch, and a share of "
     "the memory's bandwidth between those of norms and of activations",
     "ops without a law of their own: cross-entropy, sampling, losses, "
     "routers, "
     "optimizers; not measured",
     "none of these ops has rows; levels serving and train-node have them amid "
     "whole steps"},
    {"inter-node.fabric",
     "comm_nccltests/tables.csv, the NICs of the measured tables; the way to "
     "them: law inter-node, high, as a share of the links to the host",
     "InfiniBand, 8 NICs a node; on other fabrics closed forms scale law "
     "inter-node (NCCL 2.27, src/graph/tuning.cc)",
     "it only says where law inter-node was measured; levels "
     "inter-node-by-table and inter-node-efa score what is carried from there"},
    {"broadcast", "law all-gather: no broadcast was measured; the same ring",
     "2 to 8 GPUs of a node; 512 B..512 MiB",
     "no broadcast has rows; its rates are those of law all-gather, whose "
     "error stands there"},
    {"realloc", "laws send, broadcast and inter-node of this profile",
     "not measured as such",
     "no reallocation has rows; its rates are those of laws broadcast and "
     "inter-node"},
    {"host-copy", "misc/nvbandwidth_readme.csv, an A100-class node",
     "large pinned copies, one direction at a time", "one row of one node"},
    {"host",
     "comm_nccl/aic_custom_allreduce.csv, vLLM eager less graph, median up to "
     "65536 elements",
     "one framework call and kernel; Megatron-DeepSpeed in train_vtrain takes "
     "several kernels where the op list has one",
     NULL},
    {"overlap",
     "overlap/echo_kernel_slowdown_a100*.csv, median kernel's mean slowdown; "
     "aicb_insitu_comm_a100*.csv less what a call adds, against comm_nccl",
     "an A100, 2 GPUs, fp32; other GPUs take its fractions", NULL},
};

/* Where a coefficient is from that was not fitted. */
static const struct {
  const char *law, *name, *text;
} comments[] = {
    {NULL, "sms", "NVIDIA's architecture whitepaper of the GPU"},
    {NULL, "flash",
     "what vLLM takes: 3 on Hopper, 4 on Blackwell's servers, else 2"},
    {NULL, "cache-bytes", "NVIDIA's architecture whitepaper of the GPU"},
    {"attention", "peak-frac", "what is lost is said of scores"},
    {"encoder-attention", "peak-frac", "what is lost is said of scores"},
    {"attention.wide", "peak-frac", "what is lost is said of scores"},
    {"attention.fp8", "peak-frac", "of fp8; what is lost is said of scores"},
    {NULL, "tile-m", "cuBLAS's large CTA tile"},
    {NULL, "efficiency-frac", "0.63 / 0.73"},
    {"realloc", "step-s", "misc/hardware_specs.csv p2p_latency_s"},
    {"realloc", "intra-bandwidth-frac", "law broadcast, 8 GPUs"},
    {"realloc", "inter-bandwidth-frac", "law inter-node, high"},
    {"host-copy", "latency-s", "misc/hardware_specs.csv p2p_latency_s"},
    {"host-copy", "bandwidth-frac", "host_to_device_memcpy_ce over PCIe 4"},
    {"host", "graph-launch-s", "a graph is launched by one call as well"},
    {"host", "graph-gap-s", "the floors of graph replays hold the gap"},
};

static void
write_sheet_line(GString *out, const char *key, double value, double scale,
                 const char *unit)
{
  if (value > 0)
    g_string_append_printf(out, "%s = %.6g %s\n", key, value / scale, unit);
}

static void
write_head(const RaCalibrateWork *work, GString *out)
{
  const RaSheet *sheet = &work->sheet;
  const RaGpu *gpu = work->gpu;
  g_autofree char *row = g_strdup(gpu->name);
  g_autoptr(GString) transfer = g_string_new(NULL);
  g_autoptr(GString) names = g_string_new(NULL);

  for (guint i = 0; i < work->n_bases; i++) {
    const char *base = work->bases[i]->device;

    g_string_append_printf(transfer, " --transfer %s.profile", base);
    g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", base);
  }

  g_strdelimit(row, "-", '_');
  ra_quote_comment(out,
                   "Made by `reallot calibrate --from DATA%s -o %s.profile`; "
                   "do not edit.",
                   transfer->str, gpu->name);
  g_string_append_printf(
      out,
      "# Fits are on short runs at full clocks: under a power limit sustained "
      "GEMMs\n"
      "# reach about 0.80 of the H100's and 0.87 of the A100's peak\n"
      "# (misc/mamf_best_matmul_tflops.csv).\n"
      "[profile]\nformat = 1\ndevice = %s\n",
      gpu->name);
  if (work->n_bases > 0)
    g_string_append_printf(
        out,
        "base = %s\nderived = transferred by data sheet where a law says from "
        "whom: shares of rates, latencies in cycles at %.0f MHz, %u "
        "multiprocessors; the other laws are fitted on rows of this device\n",
        names->str, gpu->clock_hz * 1e-6, gpu->sms);
  else
    g_string_append(out, "derived = fitted on published measurements of "
                         "others, see each law's source\n");
  g_string_append(out, "\n[device]\n");
  write_sheet_line(out, "memory", sheet->memory_bytes, 1073741824, "GiB");
  write_sheet_line(out, "memory-bandwidth", sheet->memory_bytes_per_s, 1e9,
                   "GB/s");
  write_sheet_line(out, "bf16", sheet->bf16_flop_per_s, 1e12, "TFLOP/s");
  write_sheet_line(out, "fp8", sheet->fp8_flop_per_s, 1e12, "TFLOP/s");
  write_sheet_line(out, "intra-node", sheet->intra_bytes_per_s, 1e9, "GB/s");
  write_sheet_line(out, "host", sheet->host_bytes_per_s, 1e9, "GB/s");
  if (gpu->cited)
    g_string_append_printf(out, "source = %s; links in one direction\n\n",
                           gpu->cited);
  else
    g_string_append_printf(out,
                           "source = misc/hardware_specs.csv, row %s: data "
                           "sheet, one direction\n\n",
                           row);
}

static const char *
comment_of(const RaCalibrateWork *work, const char *law, const char *name)
{
  if (strcmp(law, "send") == 0 && g_str_has_prefix(name, "inter-"))
    return work->sends_across ? "comm_vidur, send_recv between DGX H100"
           : strcmp(name, "inter-latency-s") == 0
               ? "misc/hardware_specs.csv p2p_latency_s"
               : "law inter-node, high";
  if (g_str_has_prefix(work->gpu->architecture, RA_GPU_AMD) &&
      strcmp(name, "sms") == 0)
    return "AMD's CDNA whitepapers: compute units";
  for (guint i = 0; i < G_N_ELEMENTS(comments); i++)
    if ((!comments[i].law || strcmp(comments[i].law, law) == 0) &&
        strcmp(comments[i].name, name) == 0)
      return comments[i].text;
  return NULL;
}

/* Files of a source that has a kind of its own, around the GPU's name. */
static const struct {
  const char *source, *before, *after;
} kinds[] = {
    {"latent-sparse", "kernels_dsa/dsaprefill_", "_bf16*.csv"},
    {"indexer-step", "kernels_dsa/dsadecode_", "_bf16*.csv"},
    {"entry-indexer", "kernels_dsa/dsv4csaprefill_", "_bf16*.csv"},
    {"entry-indexer-step", "kernels_dsa/dsv4csadecode_", "_bf16*.csv"},
    {"compressed", "kernels_dsa/dsv4hcaprefill_", "_bf16*.csv"},
    {"compressed-step", "kernels_dsa/dsv4hcadecode_", "_bf16*.csv"},
    {"block-sparse", "kernels_dsa/msaprefill_", "_bf16*.csv"},
    {"block-sparse-step", "kernels_dsa/msadecode_", "_bf16*.csv"},
    {"latent-matrices", "kernels_mla/mlabmm_", "_bf16*.csv"},
    {"attention", "kernels_attention/prefill_", "_bf16*.csv"},
    {"attention.wide", "kernels_attention_wide/prefill_", "_bf16*.csv"},
    {"attention.fp8", "kernels_attention_wide/prefill_", "_fp8kv*.csv"},
    {"decode-attention.wide", "kernels_attention_wide/decode_", "_bf16*.csv"},
    {"encoder-attention", "kernels_encoder/encoder_", "_bf16*.csv"},
    {"decode-attention", "kernels_attention/decode_", "_bf16*.csv"},
    {"decode-attention.fp8", "kernels_attention_wide/decode_", "_fp8kv*.csv"},
    {"cast", "kernels_quantize/*_", "_fp8*.csv"},
};

/* The files of a fit, as a person finds them. */
static char *
files_of(const RaCalibrateLaw *state, const RaFitLaw *fit, const char *gpu)
{
  const char *source = fit->source;
  RaKernels kernels = ra_law_kernels(source);

  if (state->is_layer)
    return g_strdup_printf("serving_e2e_vllm/profile/%s_*", gpu);
  if (g_str_has_prefix(source, "gemm.") &&
      g_str_has_prefix(ra_gpu_find(gpu)->architecture, RA_GPU_AMD))
    return g_strdup_printf(RA_MEASURED_AMD "/gemm_%s_%s*.csv", gpu, source + 5);
  if (g_str_has_prefix(source, "gemm."))
    return g_strdup_printf("kernels_gemm%s/gemm_%s_%s*.csv",
                           strcmp(source, "gemm.fp8block") == 0 ||
                                   strcmp(source, "gemm.nvfp4") == 0
                               ? "_quant"
                               : "",
                           gpu, source + 5);
  if (g_str_has_prefix(source, "experts."))
    return g_strdup_printf("kernels_moe%s%s/moe%s_%s_%.*s*.csv",
                           kernels ? "_" : "",
                           kernels ? ra_kernels_names[kernels] : "",
                           strstr(source, ".wide")        ? "wide"
                           : kernels == RA_KERNELS_SGLANG ? "deepep"
                                                          : "",
                           gpu, (int)strcspn(source + 8, "."), source + 8);
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
    if (strcmp(source, kinds[i].source) == 0)
      return g_strconcat(kinds[i].before, gpu, kinds[i].after, NULL);
  if (g_str_has_prefix(source, "latent-"))
    return g_strdup_printf(
        "kernels_mla%s/mla%s_%s_%s*.csv",
        kernels || strstr(source, "absorbed") ? "_sglang" : "",
        g_str_has_prefix(source, "latent-decode") ? "decode" : "prefill", gpu,
        strstr(source, ".fp8") ? "fp8kv" : "bf16");
  if (g_str_has_prefix(source, "scan") || g_str_has_prefix(source, "conv"))
    return g_strdup_printf(
        "kernels_linear/%s_%s_bf16*.csv",
        strchr(source, '.') ? strchr(source, '.') + 1 : "gdn", gpu);
  if (g_str_has_prefix(source, "tokens."))
    return g_strdup_printf("comm_moe_a2a/a2a_%s*.csv", gpu);
  if (g_str_has_prefix(source, "all-reduce."))
    return g_strdup("comm_nccl/aic_custom_allreduce*.csv");
  if (strcmp(source, "inter-node.all-to-all") == 0)
    return g_strdup("comm_deepep/expert_alltoall*.csv");
  if (strcmp(source, "inter-node") == 0)
    return g_strdup("comm_nccltests/rows.csv");
  if (strcmp(source, "send") == 0)
    return g_strdup("comm_vidur/network*.csv, else "
                    "comm_nccl/aic_nccl_intranode.csv");
  if (g_str_has_prefix(fit->law, "memory."))
    return g_strdup_printf("kernels_vidur/%s_*.csv", gpu);
  if (strcmp(gpu, "a100-pcie") == 0)
    return g_strdup("comm_nccl/aic_nccl_intranode.csv, an l40s's, over 4 and 8 "
                    "up to 32 KiB; beyond, comm_vidur/network*.csv, "
                    "a100_pairwise_nvlink: all-reduces over 4, over 8 at equal "
                    "bytes on the bus, other collectives in half their time");
  return g_strdup("comm_nccl/aic_nccl_intranode.csv");
}

static void
write_source(const RaCalibrateWork *work, const RaLawSpec *spec,
             RaCalibrateLaw *state, const RaFitLaw *fit, GString *out)
{
  g_autofree char *files = NULL;

  for (guint i = 0; !fit && i < G_N_ELEMENTS(cited); i++)
    if (strcmp(cited[i].law, spec->name) == 0) {
      g_string_append_printf(out, "source = %s\nrange = %s\n", cited[i].source,
                             cited[i].range);
      if (!state->held_out && cited[i].why)
        state->held_out = g_strdup_printf("not measured: %s", cited[i].why);
    }
  if (!fit)
    return;
  if (state->law) {
    const RaLaw *law = state->law;

    g_string_append_printf(
        out, "transferred = %s\nsource = %s%s\nrange = %s\n",
        law->transferred ? law->transferred : state->from->name, law->source,
        state->has_peak ? "; peak-frac: misc/mamf_best_matmul*.csv, this GPU's "
                          "best shape"
                        : "",
        law->range);
    return;
  }
  if (state->from)
    g_string_append_printf(out, "transferred = %s\n", state->from->name);
  files =
      files_of(state, fit, state->from ? state->from->rows : work->gpu->rows);
  g_string_append_printf(out, "source = %s, %s", files,
                         state->is_layer ? "amid a layer of vLLM's"
                         : strstr(files, RA_MEASURED_AMD)
                             ? "the fastest of all kernels of each shape, "
                               "weights from memory"
                             : fit->text);
  if (state->n_more > 0)
    g_string_append_printf(out, "; and %u ops of traces", state->n_more);
  g_string_append_printf(out, "; robust fit%s%s%s\nrange = %s\n",
                         state->borrows ? "; table with other " : "",
                         state->borrows ? work->gpu->architecture : "",
                         state->borrows ? " GPUs' ratios" : "", fit->range);
}

static void
write_errors(const RaCalibrateLaw *state, const RaFitLaw *fit, GString *out)
{
  if ((fit && !state->law) || state->n_outliers > 0)
    g_string_append_printf(out, "outliers = %u\n", state->n_outliers);
  if (state->held_out || fit)
    g_string_append_printf(out, "held-out = %s\n",
                           state->held_out ? state->held_out : fit->held_out);
  if (state->median_frac < 0)
    g_string_append(out, "error-median = -\nerror-p90 = -\n");
  else
    g_string_append_printf(out, "error-median = %.3f\nerror-p90 = %.3f\n",
                           state->median_frac, state->p90_frac);
}

void
ra_calibrate_write(const RaCalibrateWork *work, GString *out)
{
  write_head(work, out);
  for (guint i = 0; i < ra_law_n_specs(); i++) {
    const RaLawSpec *spec = ra_law_spec_at(i);
    RaCalibrateLaw *state = &work->laws[i];
    const RaLaw *law = ra_profile_law(work->profile, spec->name);
    const RaFitLaw *fit = ra_fit_law(spec->name);

    if (state->absent)
      continue;
    g_string_append_printf(out, "[law %s]\n", spec->name);
    for (guint c = 0; c < spec->n_coefficients; c++) {
      const char *name = spec->coefficients[c].name;
      const char *comment = comment_of(work, spec->name, name);

      g_string_append_printf(
          out, "%s = %.4g%s%s\n", name,
          *ra_calibrate_coefficient(work->profile, spec->name, name),
          comment ? " # " : "", comment ? comment : "");
    }
    write_source(work, spec, state, fit, out);
    g_string_append_printf(out, "rows = %" G_GUINT64_FORMAT "\n",
                           state->n_rows);
    write_errors(state, fit, out);
    if (law->grid) {
      g_string_append_printf(
          out, "\n[table %s] # thousandths of ln(measured / law)\n",
          spec->name);
      ra_grid_write(law->grid, out);
    }
    g_string_append_c(out, '\n');
  }
}
