#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "traces/measured_impl.h"

const char *const ra_measured_sources[] = {
    "gemm.bf16",      "gemm.fp8",   "attention",  "decode-attention",
    "norm",           "rope",       "activation", "add",
    "embedding",      "other",      "all-reduce", "all-gather",
    "reduce-scatter", "all-to-all", "inter-node", "inter-node.all-to-all",
    "send",           NULL};

uint64_t
ra_measured_whole(double x)
{
  return x < 0x1p63 ? (uint64_t)(x + 0.5) : UINT64_MAX;
}

void
ra_measured_add(RaMeasuredReader *r, RaOp op, double us, uint64_t line,
                uint64_t other_line)
{
  RaMeasured row = {
      .op = op, .measured_s = us * 1e-6, .line = {line, other_line}};

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

static const char *const gemm_columns[] = {"m", "n", "k", "latency_us", NULL};

static gboolean
read_gemm(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  double v[4];
  RaOp op = {.kind = RA_OP_GEMM,
             .dtype = g_str_has_suffix(r->source, "fp8") ? RA_DTYPE_FP8
                                                         : RA_DTYPE_BF16};

  if (!ra_csv_numbers(line, 0, 4, v, error))
    return FALSE;
  for (guint i = 0; i < 3; i++) {
    op.dim[i] = ra_measured_whole(v[i]);
    if (op.dim[i] == 0)
      return TRUE; /* a shape that is not published */
  }
  op.dim[3] = 1;
  ra_measured_add(r, op, v[3], op.dim[1], op.dim[2]);
  return TRUE;
}

static const char *const prefill_columns[] = {
    "batch",    "seq_q_eq_kv", "q_heads", "kv_heads",
    "head_dim", "latency_us",  NULL};
static const char *const decode_columns[] = {
    "batch", "kv_len", "q_heads", "kv_heads", "head_dim", "latency_us", NULL};

static gboolean
read_attention(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  gboolean decode = *r->source == 'd';
  double v[6], length, pairs;

  if (!ra_csv_numbers(line, 0, 6, v, error))
    return FALSE;
  for (guint i = 0; i < 5; i++)
    if (v[i] < 1)
      return TRUE; /* a shape that is not published */
  length = v[1];
  pairs = decode ? v[0] * length : v[0] * length * (length + 1) / 2;
  RaOp op = {.kind = decode ? RA_OP_DECODE_ATTENTION : RA_OP_ATTENTION,
             .dim = {ra_measured_whole(v[0]),
                     ra_measured_whole(decode ? v[0] : v[0] * length),
                     ra_measured_whole(v[0] * length), ra_measured_whole(pairs),
                     ra_measured_whole(v[2]), ra_measured_whole(v[3]),
                     ra_measured_whole(v[4])}};
  ra_measured_add(r, op, v[5], op.dim[4], 0);
  return TRUE;
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
                                            NULL};

/* An op of a layer as its source's name says, or any but the embedding of
 * "other"; resolution 1 us. */
static void
add_layer_op(RaMeasuredReader *r, const char *source, RaOp op, double us,
             uint64_t shard)
{
  if (strcmp(r->source, source) == 0 ||
      (strcmp(r->source, "other") == 0 && strcmp(source, "embedding") != 0))
    ra_measured_add(r, op, us, shard, r->model);
}

static gboolean
read_layer(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  double v[8], tp, width = r->width, heads = r->heads + r->kv_heads;
  uint64_t tokens, shard;

  if (!ra_csv_numbers(line, 0, 8, v, error))
    return FALSE;
  tp = MAX(v[0], 1);
  tokens = ra_measured_whole(v[1]);
  shard = r->model * 1000 + ra_measured_whole(tp);
  RaOp norm = {.kind = RA_OP_NORM, .dim = {tokens, ra_measured_whole(width)}};
  RaOp rope = {.kind = RA_OP_ROPE,
               .dim = {tokens, ra_measured_whole(heads / tp),
                       ra_measured_whole(width / MAX(r->heads, 1))}};
  RaOp activation = {.kind = RA_OP_ACTIVATION,
                     .dim = {tokens, ra_measured_whole(r->ffn / tp), 1}};
  RaOp add = {.kind = RA_OP_ADD, .dim = {tokens, ra_measured_whole(width)}};
  RaOp embedding = {.kind = RA_OP_EMBEDDING,
                    .dim = {tokens, ra_measured_whole(width)}};
  add_layer_op(r, "embedding", embedding, v[2], shard);
  add_layer_op(r, "norm", norm, v[3], shard);
  add_layer_op(r, "rope", rope, v[4], shard);
  add_layer_op(r, "norm", norm, v[5], shard);
  add_layer_op(r, "activation", activation, v[6], shard);
  add_layer_op(r, "add", add, v[7], shard);
  return TRUE;
}

static const char *const product_columns[] = {"tp",
                                              "num_tokens",
                                              "?attn_pre_proj_us",
                                              "?attn_post_proj_us",
                                              "?mlp_up_proj_us",
                                              "?mlp_down_proj_us",
                                              "?attn_pre_proj_std_us",
                                              "?mlp_up_proj_std_us",
                                              NULL};

/* A product of @m rows; @deviation_us 0: not published. */
static void
add_product(RaMeasuredReader *r, uint64_t m, double n, double k, double us,
            double deviation_us, uint64_t shard)
{
  guint before = r->rows->len;
  RaOp op = {.kind = RA_OP_GEMM,
             .dtype = RA_DTYPE_BF16,
             .dim = {m, ra_measured_whole(n), ra_measured_whole(k), 1}};

  ra_measured_add(r, op, us, shard, r->model);
  if (r->rows->len > before)
    g_array_index(r->rows, RaMeasured, before).deviation_frac =
        deviation_us / us;
}

/* The four products of a layer, by another engine. */
static gboolean
read_products(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;
  double v[8], tp, width = r->width, head = width / MAX(r->heads, 1);
  uint64_t tokens, shard;

  if (!ra_csv_numbers(line, 0, 8, v, error))
    return FALSE;
  tp = MAX(v[0], 1);
  tokens = ra_measured_whole(v[1]);
  if (tokens == 0 || r->heads < 1)
    return TRUE;
  shard = r->model * 1000 + ra_measured_whole(tp);
  add_product(r, tokens, (r->heads + 2 * MAX(r->kv_heads, tp)) * head / tp,
              width, v[2], v[6], shard);
  add_product(r, tokens, width, r->heads * head / tp, v[3], 0, shard);
  add_product(r, tokens, (r->gated ? 2 : 1) * r->ffn / tp, width, v[4], v[7],
              shard);
  add_product(r, tokens, width, r->ffn / tp, v[5], 0, shard);
  return TRUE;
}

static int
compare_names(const void *a, const void *b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* RaCsvRow: the reader's own, which then knows where the row stands. */
static gboolean
read_placed(const RaCsvLine *line, gpointer data, GError **error)
{
  RaMeasuredReader *r = data;

  r->line = line;
  return r->read(line, r, error);
}

gboolean
ra_measured_files(const char *data, const char *folder, const char *prefix,
                  RaMeasuredReader *r, const char *const *columns,
                  RaCsvRow read, GError **error)
{
  g_autofree char *path = g_build_filename(data, folder, NULL);
  g_autoptr(GPtrArray) files = ra_csv_find(path, prefix);

  gboolean ok = TRUE;

  r->read = read;
  for (guint i = 0; ok && i < files->len; i++)
    ok = ra_csv_read(g_ptr_array_index(files, i), columns, read_placed, r,
                     error);
  r->line = NULL;
  return ok;
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

static gboolean
read_layers(const char *data, RaMeasuredReader *r, GError **error)
{
  gboolean products = strcmp(r->source, "gemm.layer") == 0;
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

    r->heads = found->value[0], r->kv_heads = found->value[1];
    r->width = found->value[2], r->ffn = found->value[3];
    r->gated = found->gated;
    r->model = i;
    if (!ra_measured_files(data, "kernels_vidur", prefix, r,
                           products ? product_columns : layer_columns,
                           products ? read_products : read_layer, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean
read_source(RaMeasuredReader *r, const char *data, GError **error)
{
  g_autofree char *prefix = NULL;

  if (strcmp(r->source, "gemm.layer") == 0)
    return read_layers(data, r, error);
  if (g_str_has_prefix(r->source, "gemm.")) {
    prefix = g_strdup_printf("gemm_%s_%s", r->gpu, r->source + 5);
    return ra_measured_files(data, "kernels_gemm", prefix, r, gemm_columns,
                             read_gemm, error);
  }
  if (g_str_has_suffix(r->source, "attention")) {
    gboolean decode = *r->source == 'd';

    prefix =
        g_strdup_printf("%s_%s_bf16", decode ? "decode" : "prefill", r->gpu);
    return ra_measured_files(data, "kernels_attention", prefix, r,
                             decode ? decode_columns : prefill_columns,
                             read_attention, error);
  }
  if (g_str_has_prefix(r->source, "p2p.") || strchr(r->source, '-') ||
      strcmp(r->source, "send") == 0)
    return ra_measured_messages(r, data, error);
  return read_layers(data, r, error);
}

GArray *
ra_measured_rows(const char *data, const char *source, const char *gpu,
                 GError **error)
{
  RaMeasuredReader r = {
      .rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured)),
      .source = source,
      .gpu = gpu,
      .found = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free)};
  gboolean ok = read_source(&r, data, error);

  g_hash_table_unref(r.found);
  if (ok)
    return r.rows;
  g_array_unref(r.rows);
  return NULL;
}
