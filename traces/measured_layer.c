/* Rows of the kernels of whole layers: by tokens and tensor parallelism, at the
 * shapes of a few models. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "traces/measured_impl.h"

/* A product out(tokens, n) = in(tokens, k) x weight(k, n).  Folds of
 * "gemm.bf16" are by n and by k, as of any product, of "gemm.layer" by shard
 * and model. */
static void
add_product(RaMeasuredReader *r, const RaMeasuredLayer *l, double tokens,
            double n, double k, double us)
{
  gboolean any = strcmp(r->source, "gemm.layer") != 0;
  RaOp op = {.kind = RA_OP_GEMM,
             .dtype = RA_DTYPE_BF16,
             .dim = {ra_measured_whole(tokens), ra_measured_whole(n),
                     ra_measured_whole(k), 1}};

  if (op.dim[0] > 0 && op.dim[1] > 0 && op.dim[2] > 0)
    ra_measured_add(r, op, us, any ? op.dim[1] : l->line,
                    any ? op.dim[2] : l->model);
}

static void
layer_product(RaMeasuredReader *r, const RaMeasuredLayer *l, const char *name,
              double tokens, double us)
{
  double q = l->heads * l->head_dim / l->tp, ffn = l->ffn / l->tp;
  double kv = MAX(l->kv_heads, l->tp) * l->head_dim / l->tp;

  if (strcmp(name, "qkv") == 0)
    add_product(r, l, tokens, q + 2 * kv, l->width, us);
  else if (strcmp(name, "out") == 0)
    add_product(r, l, tokens, l->width, q, us);
  else if (strcmp(name, "up") == 0)
    add_product(r, l, tokens, (l->gated ? 2 : 1) * ffn, l->width, us);
  else if (strcmp(name, "down") == 0)
    add_product(r, l, tokens, l->width, ffn, us);
}

/* An op of a layer as its source's name says. */
void
ra_measured_layer(RaMeasuredReader *r, const RaMeasuredLayer *l,
                  const char *name, double tokens, double us)
{
  uint64_t t = ra_measured_whole(tokens), width = ra_measured_whole(l->width);
  RaOp op = {.dim = {t, width}};

  if (g_str_has_prefix(r->source, "gemm.")) {
    layer_product(r, l, name, tokens, us);
    return;
  }
  if (strcmp(name, "norm") == 0)
    op.kind = RA_OP_NORM;
  else if (strcmp(name, "rope") == 0)
    op = (RaOp){.kind = RA_OP_ROPE,
                .dim = {t, ra_measured_whole((l->heads + l->kv_heads) / l->tp),
                        ra_measured_whole(l->head_dim)}};
  else if (strcmp(name, "activation") == 0)
    op = (RaOp){.kind = RA_OP_ACTIVATION,
                .dim = {t, ra_measured_whole(l->ffn / l->tp), 1}};
  else if (strcmp(name, "add") == 0)
    op.kind = RA_OP_ADD;
  else if (strcmp(name, "embedding") == 0)
    op.kind = RA_OP_EMBEDDING;
  else
    return;
  if (strcmp(r->source, name) == 0)
    ra_measured_add(r, op, us, l->line, l->model);
}

static const char *const model_columns[] = {
    "gpu",    "model",           "n_head",         "n_kv_head",
    "n_embd", "n_expanded_embd", "?use_gated_mlp", NULL};

static gboolean
read_model(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  double v[4];
  RaMeasuredFound *found;

  if (!ra_csv_numbers(line, 2, 4, v, error))
    return FALSE;
  if (strcmp(line->field[0], r->gpu) != 0)
    return TRUE;
  found = ra_measured_found(r, line->field[1]);
  memcpy(found->value, v, sizeof v);
  found->gated = g_ascii_strcasecmp(line->field[6], "False") != 0;
  return TRUE;
}

static const char *const layer_columns[] = {"tp",
                                            "num_tokens",
                                            "?emb_us",
                                            "?input_layernorm_us",
                                            "?attn_rope_us",
                                            "?post_attention_layernorm_us",
                                            "?mlp_act_us",
                                            "?add_us",
                                            "?attn_pre_proj_us",
                                            "?attn_post_proj_us",
                                            "?mlp_up_proj_us",
                                            "?mlp_down_proj_us",
                                            "?attn_pre_proj_std_us",
                                            "?mlp_up_proj_std_us",
                                            NULL};

/* The columns from the third on; times have a resolution of 1 us. */
static const struct {
  const char *kernel;
  guint deviation; /* column of its deviation; 0: none */
} layer_kernels[] = {{"embedding", 0},  {"norm", 0}, {"rope", 0}, {"norm", 0},
                     {"activation", 0}, {"add", 0},  {"qkv", 12}, {"out", 0},
                     {"up", 13},        {"down", 0}};

static gboolean
read_layer(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  RaMeasuredLayer *layer = &r->layer;
  double v[14];

  if (!ra_csv_numbers(line, 0, 14, v, error))
    return FALSE;
  if (layer->heads < 1)
    return TRUE;
  layer->tp = MAX(v[0], 1);
  layer->line = layer->model * 1000 + ra_measured_whole(layer->tp);
  for (guint i = 0; i < G_N_ELEMENTS(layer_kernels); i++) {
    guint before = r->rows->len, at = layer_kernels[i].deviation;

    ra_measured_layer(r, layer, layer_kernels[i].kernel, v[1], v[2 + i]);
    if (at > 0 && r->rows->len > before)
      g_array_index(r->rows, RaMeasured, before).deviation_frac =
          v[at] / v[2 + i];
  }
  return TRUE;
}

static int
compare_names(const void *a, const void *b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Models that the source profiles, for a folder that has its rows and not its
 * models.csv: heads, key heads, width, width of the feed-forward (vidur
 * 7d47513363ec; kernels_vidur/models.csv).  All are gated. */
static const struct {
  const char *name;
  double shape[4];
} known_models[] = {
    {"codellama-34b", {64, 8, 8192, 22016}},
    {"internlm-20b", {40, 40, 5120, 13824}},
    {"llama2-70b", {64, 8, 8192, 28672}},
    {"llama2-7b", {32, 32, 4096, 11008}},
    {"llama3-70b", {64, 8, 8192, 28672}},
    {"llama3-8b", {32, 8, 4096, 14336}},
    {"qwen-72b", {64, 64, 8192, 24576}},
};

static void
add_known_models(RaMeasuredReader *r)
{
  for (guint i = 0; i < G_N_ELEMENTS(known_models); i++) {
    RaMeasuredFound *found;

    if (g_hash_table_contains(r->found, known_models[i].name))
      continue;
    found = ra_measured_found(r, known_models[i].name);
    memcpy(found->value, known_models[i].shape, sizeof found->value);
    found->gated = TRUE;
  }
}

gboolean
ra_measured_layers(RaMeasuredReader *r, const char *const *data, GError **error)
{
  g_autofree gpointer *models = NULL;
  guint n_models;

  if (!ra_measured_files(data, "kernels_vidur", "models", r, model_columns,
                         read_model, error))
    return FALSE;
  add_known_models(r);
  models = g_hash_table_get_keys_as_array(r->found, &n_models);
  qsort(models, n_models, sizeof *models, compare_names);
  for (guint i = 0; i < n_models; i++) {
    const RaMeasuredFound *found = g_hash_table_lookup(r->found, models[i]);
    g_autofree char *prefix =
        g_strdup_printf("%s_%s", r->gpu, (const char *)models[i]);

    r->layer =
        (RaMeasuredLayer){.heads = found->value[0],
                          .kv_heads = found->value[1],
                          .head_dim = found->value[2] / MAX(found->value[0], 1),
                          .width = found->value[2],
                          .ffn = found->value[3],
                          .gated = found->gated,
                          .tp = 1,
                          .model = i};
    if (!ra_measured_files(data, "kernels_vidur", prefix, r, layer_columns,
                           read_layer, error))
      return FALSE;
  }
  return strcmp(r->source, "gemm.layer") == 0 ||
         ra_measured_vllm(r, data, error);
}
