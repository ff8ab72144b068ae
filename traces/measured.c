#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "traces/csv.h"
#include "traces/measured.h"

const char *const ra_measured_sources[] = {"gemm.bf16",
                                           "gemm.fp8",
                                           "attention",
                                           "decode-attention",
                                           "norm",
                                           "rope",
                                           "activation",
                                           "add",
                                           "embedding",
                                           "other",
                                           "all-reduce",
                                           "all-gather",
                                           "reduce-scatter",
                                           "all-to-all",
                                           "inter-node",
                                           "send",
                                           NULL};

/* What a reader of rows knows. */
typedef struct {
  GArray *rows;                       /* (RaMeasured) */
  const char *source;                 /* of ra_measured_sources */
  const char *gpu;                    /* "h100" */
  GHashTable *found;                  /* model's or table's name -> Found */
  double heads, kv_heads, width, ffn; /* of the file's model */
  uint64_t model;                     /* its number */
} Reader;

/* What the rows of another file say of a model or of a table. */
typedef struct {
  double value[4]; /* heads, kv_heads, width, ffn; NICs' bytes/s */
  uint64_t number; /* in the order found */
} Found;

static uint64_t
whole(double x)
{
  return x < 0x1p63 ? (uint64_t)(x + 0.5) : UINT64_MAX;
}

static void
add_row(Reader *r, RaOp op, double us, uint64_t line, uint64_t other_line)
{
  RaMeasured row = {
      .op = op, .measured_s = us * 1e-6, .line = {line, other_line}};

  row.op.count = 1;
  if (us > 0)
    g_array_append_val(r->rows, row);
}

static Found *
add_found(Reader *r, const char *name)
{
  Found *found = g_new0(Found, 1);

  found->number = g_hash_table_size(r->found);
  g_hash_table_replace(r->found, g_strdup(name), found);
  return found;
}

static const char *const gemm_columns[] = {"m", "n", "k", "latency_us", NULL};

static gboolean
read_gemm(const RaCsvLine *line, gpointer data, GError **error)
{
  Reader *r = data;
  double v[4];
  RaOp op = {.kind = RA_OP_GEMM,
             .dtype = g_str_has_suffix(r->source, "fp8") ? RA_DTYPE_FP8
                                                         : RA_DTYPE_BF16};

  if (!ra_csv_numbers(line, 0, 4, v, error))
    return FALSE;
  for (guint i = 0; i < 3; i++)
    op.dim[i] = whole(v[i]);
  op.dim[3] = 1;
  add_row(r, op, v[3], op.dim[1], op.dim[2]);
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
  Reader *r = data;
  gboolean decode = *r->source == 'd';
  double v[6], length, pairs;

  if (!ra_csv_numbers(line, 0, 6, v, error))
    return FALSE;
  length = v[1];
  pairs = decode ? v[0] * length : v[0] * length * (length + 1) / 2;
  RaOp op = {.kind = decode ? RA_OP_DECODE_ATTENTION : RA_OP_ATTENTION,
             .dim = {whole(v[0]), whole(decode ? v[0] : v[0] * length),
                     whole(v[0] * length), whole(pairs), whole(v[2]),
                     whole(v[3]), whole(v[4])}};
  add_row(r, op, v[5], op.dim[4], 0);
  return TRUE;
}

static const char *const model_columns[] = {
    "gpu", "model", "n_head", "n_kv_head", "n_embd", "n_expanded_embd", NULL};

static gboolean
read_model(const RaCsvLine *line, gpointer data, GError **error)
{
  Reader *r = data;
  double v[4];

  if (!ra_csv_numbers(line, 2, 4, v, error))
    return FALSE;
  if (strcmp(line->field[0], r->gpu) == 0)
    memcpy(add_found(r, line->field[1])->value, v, sizeof v);
  return TRUE;
}

static const char *const layer_columns[] = {"tp",
                                            "num_tokens",
                                            "emb_us",
                                            "input_layernorm_us",
                                            "attn_rope_us",
                                            "post_attention_layernorm_us",
                                            "mlp_act_us",
                                            "add_us",
                                            NULL};

/* An op of a layer as its source's name says, or any but the embedding of
 * "other"; resolution 1 us. */
static void
add_layer_op(Reader *r, const char *source, RaOp op, double us, uint64_t shard)
{
  if (strcmp(r->source, source) == 0 ||
      (strcmp(r->source, "other") == 0 && strcmp(source, "embedding") != 0))
    add_row(r, op, us, shard, r->model);
}

static gboolean
read_layer(const RaCsvLine *line, gpointer data, GError **error)
{
  Reader *r = data;
  double v[8], tp, width = r->width, heads = r->heads + r->kv_heads;
  uint64_t tokens, shard;

  if (!ra_csv_numbers(line, 0, 8, v, error))
    return FALSE;
  tp = MAX(v[0], 1);
  tokens = whole(v[1]);
  shard = r->model * 1000 + whole(tp);
  RaOp norm = {.kind = RA_OP_NORM, .dim = {tokens, whole(width)}};
  RaOp rope = {
      .kind = RA_OP_ROPE,
      .dim = {tokens, whole(heads / tp), whole(width / MAX(r->heads, 1))}};
  RaOp activation = {.kind = RA_OP_ACTIVATION,
                     .dim = {tokens, whole(r->ffn / tp), 1}};
  RaOp add = {.kind = RA_OP_ADD, .dim = {tokens, whole(width)}};
  RaOp embedding = {.kind = RA_OP_EMBEDDING, .dim = {tokens, whole(width)}};
  add_layer_op(r, "embedding", embedding, v[2], shard);
  add_layer_op(r, "norm", norm, v[3], shard);
  add_layer_op(r, "rope", rope, v[4], shard);
  add_layer_op(r, "norm", norm, v[5], shard);
  add_layer_op(r, "activation", activation, v[6], shard);
  add_layer_op(r, "add", add, v[7], shard);
  return TRUE;
}

static int
compare_names(const void *a, const void *b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* All files whose names begin with @prefix in @folder. */
static gboolean
read_files(const char *data, const char *folder, const char *prefix, Reader *r,
           const char *const *columns, RaCsvRow read, GError **error)
{
  g_autofree char *path = g_build_filename(data, folder, NULL);
  g_autoptr(GPtrArray) files = ra_csv_find(path, prefix);

  for (guint i = 0; i < files->len; i++)
    if (!ra_csv_read(g_ptr_array_index(files, i), columns, read, r, error))
      return FALSE;
  return TRUE;
}

static gboolean
read_layers(const char *data, Reader *r, GError **error)
{
  g_autofree gpointer *models = NULL;
  guint n_models;

  if (!read_files(data, "kernels_vidur", "models", r, model_columns, read_model,
                  error))
    return FALSE;
  models = g_hash_table_get_keys_as_array(r->found, &n_models);
  if (n_models > 0)
    qsort(models, n_models, sizeof *models, compare_names);
  for (guint i = 0; i < n_models; i++) {
    const Found *found = g_hash_table_lookup(r->found, models[i]);
    g_autofree char *prefix =
        g_strdup_printf("%s_%s", r->gpu, (const char *)models[i]);

    r->heads = found->value[0], r->kv_heads = found->value[1];
    r->width = found->value[2], r->ffn = found->value[3];
    r->model = i;
    if (!read_files(data, "kernels_vidur", prefix, r, layer_columns, read_layer,
                    error))
      return FALSE;
  }
  return TRUE;
}

static const char *const collective_columns[] = {
    "gpu",      "nccl_dir", "collective", "dtype",
    "num_gpus", "bytes",    "time_us",    NULL};

/* Half precision, the newest NCCL that the source has. */
static gboolean
read_collective(const RaCsvLine *line, gpointer data, GError **error)
{
  static const struct {
    const char *source, *name;
    RaOpKind kind;
  } kinds[] = {{"all-reduce", "all_reduce", RA_OP_ALL_REDUCE},
               {"all-gather", "all_gather", RA_OP_ALL_GATHER},
               {"reduce-scatter", "reduce_scatter", RA_OP_REDUCE_SCATTER},
               {"all-to-all", "alltoall", RA_OP_ALL_TO_ALL},
               {"send", "alltoall", RA_OP_SEND}};
  Reader *r = data;
  const char *const *f = line->field;
  double v[3];

  if (!ra_csv_numbers(line, 4, 3, v, error))
    return FALSE;
  if (strcmp(f[0], r->gpu) != 0 || strcmp(f[1], "2.27.3") != 0 ||
      strcmp(f[3], "half") != 0)
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    uint64_t n = whole(v[0]), bytes = whole(v[1]);
    RaOp op = {.kind = (uint8_t)kinds[i].kind, .dim = {bytes, n, n, 1}};

    if (strcmp(kinds[i].source, r->source) != 0 ||
        strcmp(kinds[i].name, f[2]) != 0)
      continue;
    /* A pair of an all-to-all of two ranks is a send of half its bytes. */
    if (op.kind == RA_OP_SEND) {
      if (n != 2)
        continue;
      op = (RaOp){.kind = RA_OP_SEND, .dim = {bytes / 2}};
    }
    add_row(r, op, v[2], bytes, n);
  }
  return TRUE;
}

static const char *const table_columns[] = {"table_id", "collective",   "gpu",
                                            "nodes",    "interconnect", NULL};

/* Tables that the law is for, with the rate of a node's NICs. */
static gboolean
read_table(const RaCsvLine *line, gpointer data, GError **error)
{
  Reader *r = data;
  g_autofree char *gpu = g_ascii_strdown(line->field[2], -1);
  double nodes;

  if (!ra_csv_number(line, 3, &nodes, error))
    return FALSE;
  /* EFA's latencies are twice InfiniBand's: the law is the latter's. */
  if (strcmp(line->field[1], "all_reduce") == 0 && nodes > 1 &&
      g_str_has_prefix(gpu, r->gpu) && !strstr(line->field[4], "EFA"))
    add_found(r, line->field[0])->value[0] =
        strstr(line->field[4], "HDR 200") ? 200e9 : 400e9;
  return TRUE;
}

static const char *const inter_node_columns[] = {
    "table_id", "num_gpus", "nodes", "bytes", "oop_time_us", NULL};

static gboolean
read_inter_node(const RaCsvLine *line, gpointer data, GError **error)
{
  Reader *r = data;
  const Found *table = g_hash_table_lookup(r->found, line->field[0]);
  double v[4];
  RaOp op = {.kind = RA_OP_ALL_REDUCE, .dim = {0, 0, 0, 1}};
  guint before = r->rows->len;

  if (!ra_csv_numbers(line, 1, 4, v, error))
    return FALSE;
  if (!table)
    return TRUE;
  op.dim[0] = whole(v[2]);
  op.dim[1] = whole(v[0]);
  op.dim[2] = whole(v[0] / MAX(v[1], 1));
  add_row(r, op, v[3], table->number, op.dim[0]);
  if (r->rows->len > before)
    g_array_index(r->rows, RaMeasured, before).nic_bytes_per_s =
        table->value[0];
  return TRUE;
}

static gboolean
read_source(Reader *r, const char *data, GError **error)
{
  g_autofree char *prefix = NULL;

  if (g_str_has_prefix(r->source, "gemm.")) {
    prefix = g_strdup_printf("gemm_%s_%s", r->gpu, r->source + 5);
    return read_files(data, "kernels_gemm", prefix, r, gemm_columns, read_gemm,
                      error);
  }
  if (g_str_has_suffix(r->source, "attention")) {
    gboolean decode = *r->source == 'd';

    prefix =
        g_strdup_printf("%s_%s_bf16", decode ? "decode" : "prefill", r->gpu);
    return read_files(data, "kernels_attention", prefix, r,
                      decode ? decode_columns : prefill_columns, read_attention,
                      error);
  }
  if (strcmp(r->source, "inter-node") == 0)
    return read_files(data, "comm_nccltests", "tables", r, table_columns,
                      read_table, error) &&
           read_files(data, "comm_nccltests", "rows", r, inter_node_columns,
                      read_inter_node, error);
  if (strchr(r->source, '-') || strcmp(r->source, "send") == 0)
    return read_files(data, "comm_nccl", "aic_nccl_intranode", r,
                      collective_columns, read_collective, error);
  return read_layers(data, r, error);
}

GArray *
ra_measured_rows(const char *data, const char *source, const char *gpu,
                 GError **error)
{
  Reader r = {
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
