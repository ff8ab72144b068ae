/* Rows of vLLM's profiles of one layer on one rank:
 * serving_e2e_vllm/profile/<gpu>_<model>_tp<n>/{dense,attention,per_sequence}.
 */
#include "config.h"

#include <string.h>

#include "base/text.h"
#include "traces/measured_impl.h"

/* Shapes of the models, config.json of each on huggingface.co. */
static const struct {
  const char *name;
  double heads, kv_heads, head_dim, width, ffn, vocab;
} models[] = {
    {"llama-3.1-8b", 32, 8, 128, 4096, 14336, 128256},
    {"qwen3-30b-a3b", 32, 4, 128, 2048, 6144, 151936},
    {"qwen3-32b", 64, 8, 128, 5120, 25600, 151936},
};

static const char *const dense_columns[] = {"layer", "tokens", "time_us", NULL};

/* vLLM's norm adds the residual too; its two norms of queries and keys are
 * left out: two kernels of other shapes. */
static gboolean
read_dense(const RaCsvLine *line, gpointer data, GError **error)
{
  static const char *const names[][2] = {
      {"qkv_proj", "qkv"},        {"o_proj", "out"},
      {"gate_up_proj", "up"},     {"down_proj", "down"},
      {"layernorm", "norm"},      {"final_layernorm", "norm"},
      {"rotary_emb", "rope"},     {"act_fn", "activation"},
      {"embedding", "embedding"},
  };
  RaMeasuredReader *r = data;
  double v[2];

  if (!ra_csv_numbers(line, 1, 2, v, error))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(names); i++)
    if (strcmp(names[i][0], line->field[0]) == 0)
      ra_measured_layer(r, &r->layer, names[i][1], v[0], v[1]);
  return TRUE;
}

static const char *const sequence_columns[] = {"layer", "sequences", "time_us",
                                               NULL};

/* The head: a product by the vocabulary. */
static gboolean
read_head(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  const RaMeasuredLayer *l = &r->layer;
  double v[2];

  if (!ra_csv_numbers(line, 1, 2, v, error))
    return FALSE;
  if (strcmp(line->field[0], "lm_head") == 0) {
    RaOp op = {.kind = RA_OP_GEMM,
               .dtype = RA_DTYPE_BF16,
               .dim = {ra_measured_whole(v[0]),
                       ra_measured_whole(l->vocab / l->tp),
                       ra_measured_whole(l->width), 1}};

    ra_measured_add(r, op, v[1], op.dim[1], op.dim[2]);
  }
  return TRUE;
}

static const char *const attention_columns[] = {
    "prefill_chunk", "kv_prefill", "n_decode", "kv_decode", "time_us", NULL};

/* A chunk of one prompt behind @kv_prefill tokens of it, or decoding
 * sequences; mixtures of both are one kernel and no row of either. */
static gboolean
read_attention(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  const RaMeasuredLayer *l = &r->layer;
  gboolean decode = *r->source == 'd';
  double v[5], q, kv, pairs, n;

  if (!ra_csv_numbers(line, 0, 5, v, error))
    return FALSE;
  if ((v[0] > 0) == (v[2] > 0) || (v[2] > 0) != decode)
    return TRUE;
  n = decode ? v[2] : 1;
  q = decode ? n : v[0];
  kv = decode ? n * v[3] : v[0] + v[1];
  pairs = decode ? kv : v[0] * v[1] + v[0] * (v[0] + 1) / 2;
  RaOp op = {.kind = decode ? RA_OP_DECODE_ATTENTION : RA_OP_ATTENTION,
             .dim = {ra_measured_whole(n), ra_measured_whole(q),
                     ra_measured_whole(kv), ra_measured_whole(pairs),
                     ra_measured_whole(l->heads / l->tp),
                     ra_measured_whole(l->kv_heads / l->tp),
                     ra_measured_whole(l->head_dim)}};
  ra_measured_add(r, op, v[4], op.dim[4], 0);
  return TRUE;
}

/* `rtx4090_llama-3.1-8b_tp1`: sets the layer; FALSE where it is another GPU's,
 * or a model's whose shapes nobody wrote down. */
static gboolean
begin_folder(RaMeasuredReader *r, const char *name)
{
  g_auto(GStrv) part = g_strsplit(name, "_", -1);
  guint64 tp;

  if (g_strv_length(part) < 3 || strcmp(part[0], r->gpu) != 0 ||
      !g_str_has_prefix(part[2], "tp") || !ra_text_uint64(part[2] + 2, &tp) ||
      tp < 1 || tp > 64)
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(models); i++) {
    if (strcmp(models[i].name, part[1]) != 0)
      continue;
    r->layer = (RaMeasuredLayer){.heads = models[i].heads,
                                 .kv_heads = models[i].kv_heads,
                                 .head_dim = models[i].head_dim,
                                 .width = models[i].width,
                                 .ffn = models[i].ffn,
                                 .vocab = models[i].vocab,
                                 .gated = TRUE,
                                 .tp = (double)tp,
                                 .line = i * 1000 + tp,
                                 .model = i};
    return TRUE;
  }
  return FALSE;
}

static gboolean
read_folder(RaMeasuredReader *r, const char *folder, GError **error)
{
  if (g_str_has_suffix(r->source, "attention"))
    return ra_measured_folder(folder, "attention", r, attention_columns,
                              read_attention, error);
  return ra_measured_folder(folder, "dense", r, dense_columns, read_dense,
                            error) &&
         (strcmp(r->source, "gemm.bf16") != 0 ||
          ra_measured_folder(folder, "per_sequence", r, sequence_columns,
                             read_head, error));
}

static int
compare_names(gconstpointer a, gconstpointer b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The folders of one tree of measurements. */
static gboolean
read_tree(RaMeasuredReader *r, const char *data, GError **error)
{
  g_autofree char *path =
      g_build_filename(data, "serving_e2e_vllm", "profile", NULL);
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
  GDir *dir = g_dir_open(path, 0, NULL);
  const char *name;

  while (dir && (name = g_dir_read_name(dir)))
    g_ptr_array_add(names, g_strdup(name));
  if (dir)
    g_dir_close(dir);
  g_ptr_array_sort(names, compare_names);
  for (guint i = 0; i < names->len; i++) {
    const char *folder_name = g_ptr_array_index(names, i);
    g_autofree char *folder = g_build_filename(path, folder_name, NULL);

    if (begin_folder(r, folder_name) && !read_folder(r, folder, error))
      return FALSE;
  }
  return TRUE;
}

gboolean
ra_measured_vllm(RaMeasuredReader *r, const char *const *data, GError **error)
{
  for (guint i = 0; data[i]; i++)
    if (!read_tree(r, data[i], error))
      return FALSE;
  return TRUE;
}
