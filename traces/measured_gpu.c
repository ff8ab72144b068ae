/* The GPUs that a source has measurements of. */
#include "config.h"

#include <string.h>

#include "traces/measured_impl.h"

/* Where the rows of sources stand: those whose name begins so. */
static const struct {
  const char *source, *folder, *prefix, *column;
} places[] = {
    {"gemm.layer", "kernels_vidur", "", NULL},
    {"gemm.fp8block", "kernels_gemm_quant", "gemm_", NULL},
    {"gemm.nvfp4", "kernels_gemm_quant", "gemm_", NULL},
    {"experts.", "kernels_moe", "moe_", NULL},
    {"gemm.", "kernels_gemm", "gemm_", NULL},
    {"latent-matrices.vllm", "kernels_mla_vllm", "mlabmm_", NULL},
    {"latent-matrices", "kernels_mla", "mlabmm_", NULL},
    {"latent-block-step", "kernels_mla", "mlamoduledecode_", NULL},
    {"latent-block", "kernels_mla", "mlamoduleprefill_", NULL},
    {"latent-absorbed", "kernels_mla_sglang", "mlaprefill_", NULL},
    {"latent-attention", "kernels_mla", "mlaprefill_", NULL},
    {"latent-decode", "kernels_mla", "mladecode_", NULL},
    {"scan", "kernels_linear", "gdn_", NULL},
    {"conv", "kernels_linear", "gdn_", NULL},
    {"indexer-step", "kernels_dsa", "dsadecode_", NULL},
    {"latent-sparse", "kernels_dsa", "dsaprefill_", NULL},
    {"block-sparse-step", "kernels_dsa", "msadecode_", NULL},
    {"block-sparse", "kernels_dsa", "msaprefill_", NULL},
    {"entry-indexer-step", "kernels_dsa", "dsv4csadecode_", NULL},
    {"entry-indexer", "kernels_dsa", "dsv4csaprefill_", NULL},
    {"compressed-step", "kernels_dsa", "dsv4hcadecode_", NULL},
    {"compressed", "kernels_dsa", "dsv4hcaprefill_", NULL},
    {"cast", "kernels_quantize", "scalematrix_", NULL},
    {"attention.wide", "kernels_attention_wide", "prefill_", NULL},
    {"attention.fp8", "kernels_attention_wide", "prefill_", NULL},
    {"decode-attention.wide", "kernels_attention_wide", "decode_", NULL},
    {"decode-attention.fp8", "kernels_attention_wide", "decode_", NULL},
    {"encoder-attention", "kernels_encoder", "encoder_", NULL},
    {"attention", "kernels_attention", "prefill_", NULL},
    {"decode-attention", "kernels_attention", "decode_", NULL},
    {"tokens.", "comm_moe_a2a", "a2a_", NULL},
    {"inter-node.all-to-all", "comm_deepep", "expert_alltoall", "gpu"},
    {"all-reduce.lut", "comm_vtrain", "allreduce_lut", "gpu"},
    {"all-reduce.dgx", "comm_vidur", "network", "system"},
    {"inter-node", "comm_nccltests", "", "?gpu"},
    {"p2p.", "comm_vidur", "network", "system"},
    {"all-reduce.", "comm_nccl", "aic_custom_allreduce", "gpu"},
    {"all-", "comm_nccl", "aic_nccl_intranode", "gpu"},
    {"reduce-scatter", "comm_nccl", "aic_nccl_intranode", "gpu"},
    {"send", "comm_nccl", "aic_nccl_intranode", "gpu"},
    {"", "kernels_vidur", "", NULL},
};

void
ra_measured_place(const char *source, const char **out_folder,
                  const char **out_prefix, const char **out_column)
{
  guint i = 0;

  while (!g_str_has_prefix(source, places[i].source))
    i++;
  *out_folder = places[i].folder;
  *out_prefix = places[i].prefix;
  *out_column = places[i].column;
  if (g_str_has_suffix(source, ".kda"))
    *out_prefix = "kda_";
  if (g_str_has_suffix(source, ".mamba2"))
    *out_prefix = "mamba2_";
  if (g_str_has_prefix(source, "experts.") &&
      ra_law_kernels(source) == RA_KERNELS_TRTLLM)
    *out_folder = "kernels_moe_trtllm";
  if (g_str_has_prefix(source, "latent-") &&
      ra_law_kernels(source) == RA_KERNELS_SGLANG)
    *out_folder = "kernels_mla_sglang";
  if (g_str_has_suffix(source, ".wide.trtllm"))
    *out_prefix = "moewide_";
  if (g_str_has_prefix(source, "experts.") &&
      ra_law_kernels(source) == RA_KERNELS_SGLANG) {
    *out_folder = "kernels_moe_sglang";
    *out_prefix = "moedeepep_";
  }
}

/* Adds @name up to the first '_' or '-', in small letters. */
static void
add_name(GHashTable *names, const char *name)
{
  gsize n = strcspn(name, "_-.");

  if (n > 0)
    g_hash_table_add(names, g_ascii_strdown(name, (gssize)n));
}

/* RaCsvRow: the only column. */
static gboolean
read_name(const RaCsvLine *line, gpointer data, G_GNUC_UNUSED GError **error)
{
  add_name(data, line->field[0]);
  return TRUE;
}

/* TRUE if a file's name has the type in which a source ends, if it does:
 * "gemm_h100_fp8.csv" is of "gemm.fp8" and not of "gemm.fp8block". */
static gboolean
is_of_type(const char *base, const char *source)
{
  g_autofree char *type = NULL, *part = NULL;
  const char *at;

  if (!g_str_has_prefix(source, "experts.") &&
      (!g_str_has_prefix(source, "gemm.") || strcmp(source, "gemm.layer") == 0))
    return TRUE;
  type = ra_measured_type(source);
  part = g_strconcat("_", type, NULL);
  at = strstr(base, part);
  return at && strchr("._", at[strlen(part)]);
}

static gboolean
collect_names(const char *const *data, const char *source, GHashTable *names,
              GError **error)
{
  const char *folder, *prefix, *column;
  g_autoptr(GPtrArray) files = NULL;

  ra_measured_place(source, &folder, &prefix, &column);
  files = ra_csv_find_all(data, folder, prefix);
  for (guint i = 0; i < files->len; i++) {
    const char *file = g_ptr_array_index(files, i);
    const char *const columns[] = {column, NULL};
    g_autofree char *base = g_path_get_basename(file);

    if (column) {
      if (!ra_csv_read(file, columns, read_name, names, error))
        return FALSE;
    } else if (is_of_type(base, source)) {
      add_name(names, base + strlen(prefix));
    }
  }
  if (strcmp(folder, "kernels_vidur") == 0)
    g_hash_table_remove(names, "models");
  return TRUE;
}

static int
compare_names(gconstpointer a, gconstpointer b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

GPtrArray *
ra_measured_gpus(const char *const *data, const char *source, GError **error)
{
  g_autoptr(GHashTable) names =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  GPtrArray *list = NULL;
  GHashTableIter iter;
  gpointer name;

  if (!collect_names(data, source, names, error))
    return NULL;
  list = g_ptr_array_new_with_free_func(g_free);
  g_hash_table_iter_init(&iter, names);
  while (g_hash_table_iter_next(&iter, &name, NULL))
    g_ptr_array_add(list, g_strdup(name));
  g_ptr_array_sort(list, compare_names);
  return list;
}
