/* Readers of published tables of ops: GEMMs, attention, memory-bound ops. */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "traces/measured_impl.h"

const char *const ra_measured_sources[] = {"gemm.bf16",
                                           "gemm.fp8",
                                           "gemm.fp8block",
                                           "gemm.nvfp4",
                                           "experts.bf16",
                                           "experts.fp8",
                                           "experts.fp8block",
                                           "experts.nvfp4",
                                           "experts.mxfp4",
                                           "experts.mxfp4mxfp8",
                                           "experts.bf16.trtllm",
                                           "experts.fp8.trtllm",
                                           "experts.fp8block.trtllm",
                                           "experts.nvfp4.trtllm",
                                           "experts.mxfp4.trtllm",
                                           "experts.mxfp4mxfp8.trtllm",
                                           "experts.fp8block.wide.trtllm",
                                           "experts.fp8block.masked.sglang",
                                           "experts.fp8block.contiguous.sglang",
                                           "attention",
                                           "attention.wide",
                                           "attention.fp8",
                                           "decode-attention",
                                           "decode-attention.wide",
                                           "decode-attention.fp8",
                                           "encoder-attention",
                                           "latent-attention",
                                           "latent-decode",
                                           "latent-decode.fp8",
                                           "latent-attention.fp8",
                                           "latent-absorbed",
                                           "latent-absorbed.fp8",
                                           "latent-attention.sglang",
                                           "latent-attention.fp8.sglang",
                                           "latent-decode.sglang",
                                           "latent-decode.fp8.sglang",
                                           "latent-matrices",
                                           "scan",
                                           "scan-step",
                                           "conv",
                                           "scan.kda",
                                           "scan-step.kda",
                                           "conv-step.kda",
                                           "scan.mamba2",
                                           "conv.mamba2",
                                           "conv-step.mamba2",
                                           "latent-sparse",
                                           "indexer-step",
                                           "entry-indexer",
                                           "entry-indexer-step",
                                           "block-sparse",
                                           "block-sparse-step",
                                           "compressed",
                                           "compressed-step",
                                           "norm",
                                           "rope",
                                           "activation",
                                           "add",
                                           "embedding",
                                           "cast",
                                           "all-reduce",
                                           "all-gather",
                                           "reduce-scatter",
                                           "all-to-all",
                                           "all-reduce.trtllm",
                                           "all-reduce.sglang",
                                           "all-reduce.vllm",
                                           "tokens.dispatch",
                                           "tokens.dispatch-low",
                                           "tokens.dispatch-domain",
                                           "tokens.combine",
                                           "tokens.combine-low",
                                           "tokens.combine-domain",
                                           "inter-node",
                                           "inter-node.all-to-all",
                                           "send",
                                           NULL};

uint64_t
ra_measured_whole(double x)
{
  return x < 0x1p63 ? (uint64_t)(x + 0.5) : UINT64_MAX;
}

void
ra_measured_add(RaMeasuredReader *r, RaOp op, double us, uint64_t line,
                uint64_t other_line)
{
  RaMeasured row = {.op = op,
                    .measured_s = us * 1e-6,
                    .kernels = r->kernels,
                    .replayed = TRUE,
                    .line = {line, other_line}};

  if (r->line) {
    row.file = g_intern_string(r->line->path);
    row.file_line = r->line->number;
  }
  row.op.count = 1;
  if (us > 0)
    g_array_append_val(r->rows, row);
}

RaMeasuredFound *
ra_measured_found(RaMeasuredReader *r, const char *name)
{
  RaMeasuredFound *found = g_new0(RaMeasuredFound, 1);

  found->number = g_hash_table_size(r->found);
  g_hash_table_replace(r->found, g_strdup(name), found);
  return found;
}

char *
ra_measured_type(const char *source)
{
  const char *type = strchr(source, '.') + 1;

  return g_strndup(type, strcspn(type, "."));
}

/* The type of operands that a source such as "gemm.fp8block" names. */
static void
set_type(const char *source, RaOp *op)
{
  static const struct {
    const char *name;
    RaDtype dtype;
    uint16_t flags;
  } types[] = {{"bf16", RA_DTYPE_BF16, 0},
               {"fp8block", RA_DTYPE_FP8, RA_OP_BLOCK},
               {"nvfp4", RA_DTYPE_FP8, RA_OP_NARROW},
               {"mxfp4", RA_DTYPE_BF16, RA_OP_NARROW},
               {"mxfp4mxfp8", RA_DTYPE_FP8, RA_OP_BLOCK | RA_OP_NARROW}};
  g_autofree char *type = ra_measured_type(source);

  op->dtype = RA_DTYPE_FP8;
  for (guint i = 0; i < G_N_ELEMENTS(types); i++)
    if (strcmp(type, types[i].name) == 0) {
      op->dtype = (uint8_t)types[i].dtype;
      op->flags |= types[i].flags;
    }
}

static const char *const gemm_columns[] = {"m", "n", "k", "latency_us", NULL};

static gboolean
read_gemm(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  double v[4];
  RaOp op = {.kind = RA_OP_GEMM};

  if (!ra_csv_numbers(line, 0, 4, v, error))
    return FALSE;
  set_type(r->source, &op);
  for (guint i = 0; i < 3; i++) {
    op.dim[i] = ra_measured_whole(v[i]);
    if (op.dim[i] == 0)
      return TRUE; /* a shape that is not published */
  }
  op.dim[3] = 1;
  ra_measured_add(r, op, v[3], op.dim[1], op.dim[2]);
  return TRUE;
}

static const char *const best_columns[] = {"dtype", "accelerator",     "m", "n",
                                           "k",     "achieved_tflops", NULL};

char *
ra_measured_gpu_name(const char *name)
{
  static const char *const makers[] = {"nvidia", "amd", "instinct", NULL};
  GString *out = g_string_new(NULL);

  for (; *name; name++)
    if (g_ascii_isalnum(*name))
      g_string_append_c(out, g_ascii_tolower(*name));
  for (guint i = 0; makers[i]; i++)
    if (g_str_has_prefix(out->str, makers[i]))
      g_string_erase(out, 0, (gssize)strlen(makers[i]));
  return g_string_free(out, FALSE);
}

/* The largest FLOP/s of any GEMM on a GPU. */
static gboolean
read_best(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  g_autofree char *name = ra_measured_gpu_name(line->field[1]);
  g_autofree char *wanted = ra_measured_gpu_name(r->gpu);
  double v[4];
  RaOp op = {.kind = RA_OP_GEMM, .dtype = RA_DTYPE_BF16};

  if (strcmp(line->field[0], "bf16") != 0 || strcmp(name, wanted) != 0)
    return TRUE;
  if (!ra_csv_numbers(line, 2, 4, v, error))
    return FALSE;
  for (guint i = 0; i < 3; i++)
    op.dim[i] = ra_measured_whole(v[i]);
  op.dim[3] = 1;
  ra_measured_add(r, op, 2 * v[0] * v[1] * v[2] / (v[3] * 1e12) * 1e6,
                  op.dim[1], op.dim[2]);
  return TRUE;
}

static const char *const expert_columns[] = {
    "tokens", "hidden",       "intermediate", "experts", "topk",   "ep",
    "tp",     "distribution", "latency_us",   "?kernel", "?phase", NULL};

/* Kernels that TensorRT-LLM runs when it is told to (..._min_latency), measured
 * beside the others on the same shapes. */
#define TOLD_KERNEL "min_latency"

/* Shapes of experts that are not gated: Nemotron's squared ReLU
 * (kernels_moe/SOURCE.md). */
static gboolean
is_plain(uint64_t hidden, uint64_t width)
{
  static const uint64_t shapes[][2] = {
      {2688, 1856}, {1024, 2688}, {4096, 2688}, {2048, 5120}, {8192, 5120}};

  for (guint i = 0; i < G_N_ELEMENTS(shapes); i++)
    if (shapes[i][0] == hidden && shapes[i][1] == width)
      return TRUE;
  return FALSE;
}

/* TRUE if a row of SGLang's that ran the masked layout of decode steps, or not,
 * is of the kernels that @r reads.  A plan tells the two by tokens, as the
 * engine's buffers do: prompts of so few are left out. */
static gboolean
is_of_layout(const RaMeasuredReader *r, const char *phase, uint64_t tokens,
             uint64_t ep)
{
  gboolean masked = tokens <= RA_OP_MASKED_TOKENS * ep;

  if (!phase || r->kernels != RA_KERNELS_SGLANG)
    return TRUE;
  return masked == (strcmp(phase, "decode") == 0) &&
         masked == (strstr(r->source, ".masked") != NULL);
}

/* A line is a model: hidden size, width, experts and choices. */
static gboolean
read_experts(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  const char *skew = line->field[7];
  g_autofree char *model = NULL;
  double v[7], us, exponent = 0;
  uint64_t d[7];
  RaOp op = {.kind = RA_OP_EXPERTS};

  if (!ra_csv_numbers(line, 0, 7, v, error) ||
      !ra_csv_number(line, 8, &us, error))
    return FALSE;
  for (guint i = 0; i < 7; i++) {
    d[i] = ra_measured_whole(v[i]);
    if (d[i] == 0)
      return TRUE; /* a shape that is not published */
  }
  if (line->field[9] && strstr(line->field[9], TOLD_KERNEL))
    return TRUE;
  if (!is_of_layout(r, line->field[10], d[0], d[5]))
    return TRUE;
  if (strcmp(skew, "balanced") == 0 || strcmp(skew, "uniform") == 0)
    exponent = RA_OP_SKEW_DEALT / 100.0;
  else if (!g_str_has_prefix(skew, "power_law_") ||
           !ra_text_double(skew + strlen("power_law_"), &exponent))
    return TRUE; /* loads that no law knows */
  set_type(r->source, &op);
  op.flags |= is_plain(d[1], d[2]) ? RA_OP_PLAIN : 0;
  if (strstr(r->source, "wide.") || r->kernels == RA_KERNELS_SGLANG)
    op.flags |= RA_OP_ROUTED;
  model = g_strdup_printf("%" G_GUINT64_FORMAT "/%" G_GUINT64_FORMAT
                          "/%" G_GUINT64_FORMAT "/%" G_GUINT64_FORMAT,
                          d[1], d[2], d[3], d[4]);
  memcpy(op.dim,
         (uint64_t[]){d[0], d[1], MAX(d[2] / d[6], 1), d[3], d[4], d[5],
                      ra_measured_whole(100 * exponent)},
         sizeof op.dim);
  ra_measured_add(r, op, us, g_str_hash(model), d[5] * 1000 + d[6]);
  return TRUE;
}

static const char *const prefill_columns[] = {
    "batch",    "seq_q_eq_kv", "q_heads", "kv_heads",
    "head_dim", "latency_us",  "?window", NULL};
static const char *const decode_columns[] = {
    "batch",    "kv_len",     "q_heads", "kv_heads",
    "head_dim", "latency_us", "?window", NULL};

/* TRUE if @r reads a cache of fp8. */
static gboolean
is_fp8(const RaMeasuredReader *r)
{
  return strstr(r->source, ".fp8") != NULL;
}

/* Sequences of one length; a query sees its @window last keys, or all.  Of
 * decode steps on a cache of fp8 the rows of heads of 64 and 128 without
 * windows: wider ones run other kernels, and those in windows take longer than
 * whole caches of as many keys, so that one table is wrong of both. */
static gboolean
read_attention(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  gboolean decode = *r->source == 'd';
  double v[6], window;
  RaBatch batch;

  if (!ra_csv_numbers(line, 0, 6, v, error) ||
      !ra_csv_number(line, 6, &window, error))
    return FALSE;
  for (guint i = 0; i < 5; i++)
    if (v[i] < 1)
      return TRUE; /* a shape that is not published */
  if (is_fp8(r) && decode && (window > 0 || v[4] > 128))
    return TRUE;
  batch = (RaBatch){.n_sequences = (uint32_t)MIN(v[0], UINT32_MAX),
                    .q_tokens = ra_measured_whole(decode ? v[0] : v[0] * v[1]),
                    .kv_tokens = ra_measured_whole(v[0] * v[1]),
                    .pairs = ra_measured_whole(
                        decode ? v[0] * v[1] : v[0] * v[1] * (v[1] + 1) / 2)};
  window = MIN(window, UINT32_MAX);
  RaOp op = {.kind = decode ? RA_OP_DECODE_ATTENTION : RA_OP_ATTENTION,
             .dtype = is_fp8(r) ? RA_DTYPE_FP8 : RA_DTYPE_BF16,
             .flags = decode && window > 0 ? RA_OP_WINDOW : 0,
             .dim = {batch.n_sequences, batch.q_tokens,
                     ra_op_kv_tokens(&batch, (uint32_t)window),
                     ra_op_pairs(&batch, (uint32_t)window),
                     ra_measured_whole(v[2]), ra_measured_whole(v[3]),
                     ra_measured_whole(v[4])}};
  if (!strstr(r->source, ".wide") || ra_op_is_wide(&op))
    ra_measured_add(r, op, v[5], op.dim[4], 0);
  return TRUE;
}

static const char *const encoder_columns[] = {"batch",    "seq",        "heads",
                                              "head_dim", "latency_us", NULL};

/* Images of equally many patches, which all see each other. */
static gboolean
read_encoder(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  double v[5], tokens;

  if (!ra_csv_numbers(line, 0, 5, v, error))
    return FALSE;
  for (guint i = 0; i < 4; i++)
    if (v[i] < 1)
      return TRUE; /* a shape that is not published */
  tokens = v[0] * v[1];
  RaOp op = {.kind = RA_OP_ATTENTION,
             .flags = RA_OP_NONCAUSAL,
             .dim = {ra_measured_whole(v[0]), ra_measured_whole(tokens),
                     ra_measured_whole(tokens),
                     ra_measured_whole(tokens * v[1]), ra_measured_whole(v[2]),
                     ra_measured_whole(v[2]), ra_measured_whole(v[3])}};
  ra_measured_add(r, op, v[4], op.dim[4], 0);
  return TRUE;
}

static const char *const latent_columns[] = {
    "batch", "seq_q_eq_kv", "heads", "latency_us", "?kernel", NULL};
static const char *const latent_decode_columns[] = {"batch", "kv_len", "heads",
                                                    "latency_us", NULL};

/* The kernel to which SGLang's prompts were given with keys and values made
 * whole.  To the others its collector gave the latent ones, which a server does
 * only if the prompt's start is in the cache
 * (attention_backend_handler.py, collect_mla.py of the source). */
#define WHOLE_KERNEL "trtllm_mla"

/* TRUE if @line is of the kernels of another source. */
static gboolean
is_other_latent(const RaMeasuredReader *r, const RaCsvLine *line)
{
  gboolean absorbed = g_str_has_prefix(r->source, "latent-absorbed");

  return (absorbed || (g_str_has_prefix(r->source, "latent-attention") &&
                       r->kernels == RA_KERNELS_SGLANG)) &&
         absorbed == (g_strcmp0(line->field[4], WHOLE_KERNEL) == 0);
}

/* DeepSeek-V3's latent attention (kernels_mla/SOURCE.md). */
static gboolean
read_latent(const RaCsvLine *line, gpointer data, GError **error)
{
  static const uint64_t whole[] = {128 + 64, 128}, absorbed[] = {512, 64};
  RaMeasuredReader *r = data;
  gboolean decode = g_str_has_prefix(r->source, "latent-decode");
  gboolean on_cache = decode || g_str_has_prefix(r->source, "latent-absorbed");
  const uint64_t *width = on_cache ? absorbed : whole;
  double v[4], pairs;

  if (!ra_csv_numbers(line, 0, 4, v, error))
    return FALSE;
  if (!decode && (is_other_latent(r, line) || (on_cache && v[1] < 2)))
    return TRUE; /* or a prompt of a token, which is a step */
  for (guint i = 0; i < 3; i++)
    if (v[i] < 1)
      return TRUE; /* a shape that is not published */
  pairs = decode ? v[0] * v[1] : v[0] * v[1] * (v[1] + 1) / 2;
  RaOp op = {.kind = on_cache ? RA_OP_LATENT_DECODE : RA_OP_LATENT,
             .dtype = is_fp8(r) ? RA_DTYPE_FP8 : RA_DTYPE_BF16,
             .dim = {ra_measured_whole(v[0]),
                     ra_measured_whole(decode ? v[0] : v[0] * v[1]),
                     ra_measured_whole(v[0] * v[1]), ra_measured_whole(pairs),
                     ra_measured_whole(v[2]), width[0], width[1]}};
  ra_measured_add(r, op, v[3], op.dim[4], 0);
  return TRUE;
}

static const char *const matrices_columns[] = {"op", "tokens", "heads",
                                               "latency_us", NULL};

/* The products of every head before and after the absorbed kernel. */
static gboolean
read_matrices(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  gboolean post = g_str_has_suffix(line->field[0], "post");
  double v[3];

  if (!ra_csv_numbers(line, 1, 3, v, error))
    return FALSE;
  if (v[0] < 1 || v[1] < 2)
    return TRUE; /* a shape that is not published, or no batch */
  RaOp op = {.kind = RA_OP_GEMM,
             .dtype = RA_DTYPE_BF16,
             .dim = {ra_measured_whole(v[0]), post ? 128 : 512,
                     post ? 512 : 128, ra_measured_whole(v[1])}};
  ra_measured_add(r, op, v[2], op.dim[3], 0);
  return TRUE;
}

/* Latent attention of DeepSeek-V3, and the products beside it. */
static gboolean
read_latents(RaMeasuredReader *r, const char *const *data, GError **error)
{
  gboolean decode = g_str_has_prefix(r->source, "latent-decode");
  gboolean matrices = g_str_has_prefix(r->source, "latent-matrices");
  const char *kind = matrices ? "bmm" : decode ? "decode" : "prefill";
  const char *folder, *start, *unused;
  g_autofree char *prefix = g_strdup_printf("mla%s_%s_%s", kind, r->gpu,
                                            is_fp8(r) ? "fp8kv" : "bf16");

  ra_measured_place(r->source, &folder, &start, &unused);
  return ra_measured_files(data, folder, prefix, r,
                           matrices ? matrices_columns
                           : decode ? latent_decode_columns
                                    : latent_columns,
                           matrices ? read_matrices : read_latent, error);
}

static const char *const linear_columns[] = {
    "batch",       "tokens",     "num_k_heads", "head_k_dim",
    "num_v_heads", "head_v_dim", "d_conv",      "latency_us",
    "?chunk_size", "kernel",     NULL};
static const char *const mamba_columns[] = {
    "batch",  "tokens",     "n_groups",    "d_state", "nheads", "head_dim",
    "d_conv", "latency_us", "?chunk_size", "kernel",  NULL};

/* The kernels of each source, of the several that a mixer runs. */
static const struct {
  const char *source, *prefixes[2];
} linear_kernels[] = {
    {"scan", {"chunk_gated_delta_rule"}},
    {"scan-step", {"fused_recurrent_gated_delta_rule"}},
    {"conv", {"causal_conv1d"}},
    {"scan.kda", {"flashkda_fwd", "chunk_kda"}},
    {"scan-step.kda", {"fused_recurrent_kda_packed_decode"}},
    {"conv-step.kda", {"causal_conv1d_update"}},
    {"scan.mamba2", {"mamba_chunk_scan_combined"}},
    {"conv.mamba2", {"causal_conv1d_fn"}},
    {"conv-step.mamba2", {"causal_conv1d_update"}},
};

/* TRUE if @kernel is one of the source's; a convolution of a mixer that has
 * laws for prompts and for decode steps is of one token a sequence in these
 * alone. */
static gboolean
is_linear_kernel(const char *source, const char *kernel, gboolean one)
{
  gboolean apart = g_str_has_prefix(source, "conv") && strchr(source, '.');

  if (apart && one != g_str_has_prefix(source, "conv-step"))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(linear_kernels); i++)
    for (guint k = 0; strcmp(linear_kernels[i].source, source) == 0 &&
                      k < G_N_ELEMENTS(linear_kernels[i].prefixes) &&
                      linear_kernels[i].prefixes[k];
         k++)
      if (g_str_has_prefix(kernel, linear_kernels[i].prefixes[k]))
        return TRUE;
  return FALSE;
}

/* One kernel of the several that a linear mixer runs: the recurrence, of which
 * 64 tokens are a chunk in flash-linear-attention, or the convolution of
 * queries, keys and values. */
static gboolean
read_linear(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  gboolean step = g_str_has_prefix(r->source, "scan-step");
  gboolean mamba = g_str_has_suffix(r->source, ".mamba2");
  uint16_t kimi = g_str_has_suffix(r->source, ".kda") ? RA_OP_KIMI : 0;
  uint16_t flags = mamba ? 0 : kimi | RA_OP_DELTA;
  double v[9];

  if (!ra_csv_numbers(line, 0, 9, v, error))
    return FALSE;
  for (guint i = 0; i < 7; i++)
    if (v[i] < 1)
      return TRUE; /* a shape that is not published */
  if (!is_linear_kernel(r->source, line->field[9], v[1] <= v[0]))
    return TRUE;
  if (g_str_has_prefix(r->source, "conv")) {
    double width = 2 * v[2] * v[3] + v[4] * v[5];
    RaOp of = {.kind = RA_OP_CONV,
               .flags = flags,
               .dim = {ra_measured_whole(v[1]), ra_measured_whole(width),
                       ra_measured_whole(v[6]), ra_measured_whole(v[0])}};

    ra_measured_add(r, of, v[7], of.dim[1], 0);
    return TRUE;
  }
  RaOp op = {.kind = step ? RA_OP_SCAN_STEP : RA_OP_SCAN,
             .flags = flags,
             .dim = {ra_measured_whole(v[0]), ra_measured_whole(v[1]),
                     ra_measured_whole(v[2]), ra_measured_whole(v[4]),
                     ra_measured_whole(v[3]), ra_measured_whole(v[5]),
                     step    ? 0
                     : mamba ? ra_measured_whole(v[8])
                             : 64}};
  ra_measured_add(r, op, v[7], op.dim[2] * 1000 + op.dim[3], 0);
  return TRUE;
}

static const char *const cast_columns[] = {"m", "k", "latency_us", NULL};

/* Rows as wide as a model's: a thread block has a row of its own, and narrower
 * ones are bound by their number, not by bytes. */
#define LEAST_CAST_WIDTH 1024

/* The key of a matrix in RaMeasuredReader.found; FALSE: it is too narrow. */
static gboolean
read_matrix(const RaCsvLine *line, double *v, char **out_key, GError **error)
{
  if (!ra_csv_numbers(line, 0, 3, v, error))
    return FALSE;
  *out_key = v[0] < 1 || v[1] < LEAST_CAST_WIDTH
                 ? NULL
                 : g_strdup_printf("%gx%g", v[0], v[1]);
  return TRUE;
}

/* The search of a matrix's scale, measured as a difference. */
static gboolean
read_scale(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  g_autofree char *key = NULL;
  double v[3];

  if (!read_matrix(line, v, &key, error))
    return FALSE;
  if (key)
    ra_measured_found(r, key)->value[0] = v[2];
  return TRUE;
}

/* A pass that casts, by a scale that is there, and both passes together. */
static gboolean
read_cast(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  g_autofree char *key = NULL;
  const RaMeasuredFound *scale;
  double v[3];

  if (!read_matrix(line, v, &key, error))
    return FALSE;
  if (!key)
    return TRUE;
  RaOp op = {.kind = RA_OP_CAST,
             .dim = {ra_measured_whole(v[0] * v[1]), 1, 1, 0,
                     ra_measured_whole(v[1])}};
  ra_measured_add(r, op, v[2], ra_measured_whole(v[1]), 0);
  scale = g_hash_table_lookup(r->found, key);
  op.dim[1] = 2;
  if (scale)
    ra_measured_add(r, op, v[2] + scale->value[0], ra_measured_whole(v[1]), 0);
  return TRUE;
}

static gboolean
read_casts(RaMeasuredReader *r, const char *const *data, GError **error)
{
  g_autofree char *scale = g_strdup_printf("computescale_%s_fp8", r->gpu);
  g_autofree char *cast = g_strdup_printf("scalematrix_%s_fp8", r->gpu);

  return ra_measured_files(data, "kernels_quantize", scale, r, cast_columns,
                           read_scale, error) &&
         ra_measured_files(data, "kernels_quantize", cast, r, cast_columns,
                           read_cast, error);
}

/* RaCsvRow: the reader's own, which then knows where the row stands. */
static gboolean
read_placed(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;

  r->line = line;
  return r->read(line, r, error);
}

static gboolean
read_files(const GPtrArray *files, RaMeasuredReader *r,
           const char *const *columns, RaCsvRow read, GError **error)
{
  gboolean ok = TRUE;

  r->read = read;
  for (guint i = 0; ok && i < files->len; i++)
    ok = ra_csv_read(g_ptr_array_index(files, i), columns, read_placed, r,
                     error);
  r->line = NULL;
  return ok;
}

gboolean
ra_measured_folder(const char *folder, const char *prefix, RaMeasuredReader *r,
                   const char *const *columns, RaCsvRow read, GError **error)
{
  g_autoptr(GPtrArray) files = ra_csv_find(folder, prefix);

  return read_files(files, r, columns, read, error);
}

gboolean
ra_measured_files(const char *const *data, const char *folder,
                  const char *prefix, RaMeasuredReader *r,
                  const char *const *columns, RaCsvRow read, GError **error)
{
  g_autoptr(GPtrArray) files = ra_csv_find_all(data, folder, prefix);

  return read_files(files, r, columns, read, error);
}

/* Files of one type: `moe_h100_fp8.csv` and `moe_h100_fp8_mine.csv`, not
 * `moe_h100_fp8block.csv`. */
static gboolean
read_typed(RaMeasuredReader *r, const char *const *data, const char *folder,
           const char *kind, const char *const *columns, RaCsvRow read,
           GError **error)
{
  static const char ends[] = {'.', '_'};
  g_autofree char *type = ra_measured_type(r->source);

  for (guint i = 0; i < G_N_ELEMENTS(ends); i++) {
    g_autofree char *prefix =
        g_strdup_printf("%s_%s_%s%c", kind, r->gpu, type, ends[i]);

    if (!ra_measured_files(data, folder, prefix, r, columns, read, error))
      return FALSE;
  }
  return TRUE;
}

/* Attention with a mask, whole or in windows, and without. */
static gboolean
read_attentions(RaMeasuredReader *r, const char *const *data,
                const char *folder, GError **error)
{
  gboolean decode = *r->source == 'd', encoder = *r->source == 'e';
  g_autofree char *prefix =
      g_strdup_printf("%s_%s_%s",
                      decode    ? "decode"
                      : encoder ? "encoder"
                                : "prefill",
                      r->gpu, is_fp8(r) ? "fp8kv" : "bf16");

  if (!ra_measured_files(data, folder, prefix, r,
                         decode    ? decode_columns
                         : encoder ? encoder_columns
                                   : prefill_columns,
                         encoder ? read_encoder : read_attention, error))
    return FALSE;
  return r->rows->len > 0 || encoder || is_fp8(r) ||
         strstr(r->source, ".wide") || ra_measured_layers(r, data, error);
}

/* GEMMs of AMD's GPUs, where there are no others: the fastest of all kernels.
 * Operands of fp8 without blocks are quantised already, unlike elsewhere. */
static gboolean
read_amd(RaMeasuredReader *r, const char *const *data, GError **error)
{
  if (r->rows->len > 0 || strcmp(r->source, "gemm.fp8") == 0)
    return TRUE;
  return read_typed(r, data, RA_MEASURED_AMD, "gemm", gemm_columns, read_gemm,
                    error);
}

static gboolean
read_source(RaMeasuredReader *r, const char *const *data, GError **error)
{
  const char *folder, *start, *unused;
  g_autofree char *prefix = NULL;

  if (strcmp(r->source, "gemm.layer") == 0)
    return ra_measured_layers(r, data, error);
  if (strcmp(r->source, "gemm.best") == 0)
    return ra_measured_files(data, "misc", "mamf_best_matmul", r, best_columns,
                             read_best, error);
  ra_measured_place(r->source, &folder, &start, &unused);
  if (g_str_has_prefix(r->source, "experts.")) {
    prefix = g_strndup(start, strlen(start) - 1);
    return read_typed(r, data, folder, prefix, expert_columns, read_experts,
                      error);
  }
  if (strcmp(r->source, "gemm.fp8block") == 0 ||
      strcmp(r->source, "gemm.nvfp4") == 0)
    return read_typed(r, data, "kernels_gemm_quant", "gemm", gemm_columns,
                      read_gemm, error) &&
           read_amd(r, data, error);
  if (g_str_has_prefix(r->source, "gemm.")) {
    prefix = g_strdup_printf("gemm_%s_%s", r->gpu, r->source + 5);
    if (!ra_measured_files(data, "kernels_gemm", prefix, r, gemm_columns,
                           read_gemm, error) ||
        !read_amd(r, data, error))
      return FALSE;
    return r->rows->len > 0 || strcmp(r->source, "gemm.bf16") != 0 ||
           ra_measured_layers(r, data, error);
  }
  if (strcmp(folder, "kernels_dsa") == 0 ||
      g_str_has_prefix(r->source, "latent-block"))
    return ra_measured_sparse(r, data, error);
  if (g_str_has_prefix(r->source, "latent-"))
    return read_latents(r, data, error);
  if (strcmp(folder, "kernels_linear") == 0) {
    gboolean mamba = g_str_has_suffix(r->source, ".mamba2");

    prefix = g_strdup_printf("%s%s_bf16", start, r->gpu);
    return ra_measured_files(data, folder, prefix, r,
                             mamba ? mamba_columns : linear_columns,
                             read_linear, error);
  }
  if (g_str_equal(r->source, "cast"))
    return read_casts(r, data, error);
  if (g_str_has_suffix(r->source, "attention") || is_fp8(r) ||
      strstr(r->source, ".wide"))
    return read_attentions(r, data, folder, error);
  if (g_str_has_prefix(r->source, "p2p.") || strchr(r->source, '-') ||
      g_str_has_prefix(r->source, "tokens.") ||
      g_str_has_prefix(r->source, "send"))
    return ra_measured_messages(r, data, error);
  return ra_measured_layers(r, data, error);
}

GArray *
ra_measured_rows(const char *const *data, const char *source, const char *gpu,
                 GError **error)
{
  RaMeasuredReader r = {
      .rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured)),
      .source = source,
      .gpu = gpu,
      .kernels = ra_law_kernels(source),
      .found = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free)};
  gboolean sends = strcmp(source, "send") == 0, ok;

  /* Sends come from the best source that there is. */
  if (sends)
    r.source = "p2p.node";
  ok = read_source(&r, data, error);
  if (ok && sends && r.rows->len == 0) {
    r.source = "send.pairs";
    ok = read_source(&r, data, error);
  }
  g_hash_table_unref(r.found);
  if (ok)
    return r.rows;
  g_array_unref(r.rows);
  return NULL;
}
