#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measured.h"

#define FIELDS_MAX 16

const char *const measured_sources[] = {
    "gemm.bf16",  "gemm.fp8",   "attention",  "decode-attention",
    "norm",       "rope",       "activation", "add",
    "embedding",  "all-reduce", "all-gather", "reduce-scatter",
    "all-to-all", "inter-node", NULL};

/* One file being read. */
typedef struct {
  GArray *rows;       /* (Measured) */
  const char *source; /* of measured_sources */
  const char *gpu;    /* "h100" */
  GHashTable *tables; /* id of a table -> its line of tables.csv */
  double heads, kv_heads, width, ffn; /* of the file's model */
} Reader;

typedef void (*ReadRow)(Reader *reader, char **field);

static double
number(const char *text)
{
  return g_ascii_strtod(text, NULL);
}

static uint64_t
whole(double x)
{
  return (uint64_t)(x + 0.5);
}

static void
add_row(Reader *r, RaOp op, double us, double nic_bytes_per_s)
{
  Measured row = {op, us * 1e-6, nic_bytes_per_s};

  row.op.count = 1;
  if (us > 0)
    g_array_append_val(r->rows, row);
}

/* Calls @read on every line of @data/@path but the head, cut at commas. */
static void
read_csv(const char *data, const char *path, Reader *reader, ReadRow read)
{
  g_autofree char *name = g_build_filename(data, path, NULL);
  g_autofree char *text = NULL;

  if (!g_file_get_contents(name, &text, NULL, NULL))
    return;
  for (char *line = strchr(text, '\n'); line && line[1];) {
    char *next = strchr(++line, '\n');
    char *field[FIELDS_MAX + 1];
    guint n = 0;

    if (next)
      *next = '\0';
    for (char *at = line; at && n < FIELDS_MAX; n++) {
      field[n] = at;
      at = strchr(at, ',');
      if (at)
        *at++ = '\0';
    }
    for (; n <= FIELDS_MAX; n++)
      field[n] = (char *)"";
    read(reader, field);
    line = next;
  }
}

/* m,n,k,latency_us */
static void
read_gemm(Reader *r, char **f)
{
  RaOp op = {.kind = RA_OP_GEMM,
             .dtype = g_str_has_suffix(r->source, "fp8") ? RA_DTYPE_FP8
                                                         : RA_DTYPE_BF16,
             .dim = {whole(number(f[0])), whole(number(f[1])),
                     whole(number(f[2])), 1}};

  add_row(r, op, number(f[3]), 0);
}

/* batch,length,q_heads,kv_heads,head_dim,latency_us */
static void
read_attention(Reader *r, char **f)
{
  gboolean decode = strcmp(r->source, "decode-attention") == 0;
  double s = number(f[0]), length = number(f[1]);
  RaOp op = {
      .kind = decode ? RA_OP_DECODE_ATTENTION : RA_OP_ATTENTION,
      .dim = {whole(s), whole(decode ? s : s * length), whole(s * length),
              whole(decode ? s * length : s * length * (length + 1) / 2),
              whole(number(f[2])), whole(number(f[3])), whole(number(f[4]))}};

  add_row(r, op, number(f[5]), 0);
}

/* gpu,model,hf_name,n_head,n_kv_head,n_embd,n_expanded_embd,... */
static void
read_model(Reader *r, char **f)
{
  if (strcmp(f[0], r->gpu) == 0)
    g_hash_table_insert(r->tables, g_strdup(f[1]),
                        g_strjoin(",", f[3], f[4], f[5], f[6], NULL));
}

/* tp,num_tokens,emb,input_layernorm,qkv,rope,out,post_attention_layernorm,
 * up,act,down,add */
static void
read_layer(Reader *r, char **f)
{
  double tp = number(f[0]);
  uint64_t tokens = whole(number(f[1])), width = whole(r->width);
  RaOp op = {.dim = {tokens, width}};

  if (strcmp(r->source, "norm") == 0) {
    op.kind = RA_OP_NORM;
    add_row(r, op, number(f[3]), 0);
    add_row(r, op, number(f[7]), 0);
  } else if (strcmp(r->source, "rope") == 0) {
    op.kind = RA_OP_ROPE;
    op.dim[1] = whole((r->heads + r->kv_heads) / tp);
    op.dim[2] = whole(r->width / r->heads);
    add_row(r, op, number(f[5]), 0);
  } else if (strcmp(r->source, "activation") == 0) {
    op.kind = RA_OP_ACTIVATION;
    op.dim[1] = whole(r->ffn / tp);
    op.dim[2] = 1;
    add_row(r, op, number(f[9]), 0);
  } else if (strcmp(r->source, "add") == 0) {
    op.kind = RA_OP_ADD;
    add_row(r, op, number(f[11]), 0);
  } else {
    op.kind = RA_OP_EMBEDDING;
    add_row(r, op, number(f[2]), 0);
  }
}

static int
compare_names(const void *a, const void *b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void
read_layers(const char *data, Reader *r)
{
  g_autofree gpointer *models = NULL;
  guint n_models;

  read_csv(data, "kernels_vidur/models.csv", r, read_model);
  models = g_hash_table_get_keys_as_array(r->tables, &n_models);
  qsort(models, n_models, sizeof *models, compare_names);
  for (guint i = 0; i < n_models; i++) {
    g_auto(GStrv) shape =
        g_strsplit(g_hash_table_lookup(r->tables, models[i]), ",", 4);
    g_autofree char *path = g_strdup_printf("kernels_vidur/%s_%s.csv", r->gpu,
                                            (const char *)models[i]);

    r->heads = number(shape[0]), r->kv_heads = number(shape[1]);
    r->width = number(shape[2]), r->ffn = number(shape[3]);
    read_csv(data, path, r, read_layer);
  }
}

/* gpu,nccl_dir,collective,dtype,num_gpus,bytes,run,time_us,busbw */
static void
read_collective(Reader *r, char **f)
{
  static const struct {
    const char *source, *name;
    RaOpKind kind;
  } kinds[] = {{"all-reduce", "all_reduce", RA_OP_ALL_REDUCE},
               {"all-gather", "all_gather", RA_OP_ALL_GATHER},
               {"reduce-scatter", "reduce_scatter", RA_OP_REDUCE_SCATTER},
               {"all-to-all", "alltoall", RA_OP_ALL_TO_ALL}};

  if (strcmp(f[0], r->gpu) != 0 || strcmp(f[1], "2.27.3") != 0 ||
      strcmp(f[3], "half") != 0)
    return;
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++)
    if (strcmp(kinds[i].source, r->source) == 0 &&
        strcmp(kinds[i].name, f[2]) == 0) {
      uint64_t n = whole(number(f[4]));
      RaOp op = {.kind = (uint8_t)kinds[i].kind,
                 .dim = {whole(number(f[5])), n, n, 1}};

      add_row(r, op, number(f[7]), 0);
    }
}

/* table_id,collective,gpu,num_gpus,nodes,interconnect,...: those that the law
 * is for, with the rate of a node's NICs. */
static void
read_table(Reader *r, char **f)
{
  g_autofree char *gpu = g_ascii_strdown(f[2], -1);
  const char *rate = strstr(f[5], "HDR 200") ? "200e9" : "400e9";

  if (strcmp(f[1], "all_reduce") == 0 && number(f[4]) > 1 &&
      g_str_has_prefix(gpu, r->gpu) && !strstr(f[5], "EFA"))
    g_hash_table_insert(r->tables, g_strdup(f[0]), g_strdup(rate));
}

/* table_id,collective,gpu,num_gpus,nodes,bytes,oop_time_us,... */
static void
read_inter_node(Reader *r, char **f)
{
  const char *rate = g_hash_table_lookup(r->tables, f[0]);
  double n = number(f[3]);
  RaOp op = {
      .kind = RA_OP_ALL_REDUCE,
      .dim = {whole(number(f[5])), whole(n), whole(n / number(f[4])), 1}};

  if (rate)
    add_row(r, op, number(f[6]), number(rate));
}

GArray *
measured_rows(const char *data, const char *source, const char *gpu)
{
  Reader r = {
      .rows = g_array_new(FALSE, FALSE, sizeof(Measured)),
      .source = source,
      .gpu = gpu,
      .tables = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free)};
  g_autofree char *path = NULL;

  if (g_str_has_prefix(source, "gemm.")) {
    path = g_strdup_printf("kernels_gemm/gemm_%s_%s.csv", gpu, source + 5);
    read_csv(data, path, &r, read_gemm);
  } else if (g_str_has_suffix(source, "attention")) {
    path = g_strdup_printf("kernels_attention/%s_%s_bf16.csv",
                           *source == 'd' ? "decode" : "prefill", gpu);
    read_csv(data, path, &r, read_attention);
  } else if (strcmp(source, "inter-node") == 0) {
    read_csv(data, "comm_nccltests/tables.csv", &r, read_table);
    read_csv(data, "comm_nccltests/rows.csv", &r, read_inter_node);
  } else if (strchr(source, '-')) {
    read_csv(data, "comm_nccl/aic_nccl_intranode.csv", &r, read_collective);
  } else {
    read_layers(data, &r);
  }
  g_hash_table_unref(r.tables);
  return r.rows;
}

double
measured_roofline_s(const Measured *row, const RaCluster *cluster)
{
  const RaDevice *device = &cluster->device;
  double peak = row->op.dtype == RA_DTYPE_FP8 ? device->fp8_flop_per_s
                                              : device->bf16_flop_per_s;
  double n = (double)row->op.dim[1], bytes = (double)row->op.dim[0];

  if (ra_op_class((RaOpKind)row->op.kind) == RA_OP_CLASS_COMM) {
    double ring = (row->op.kind == RA_OP_ALL_REDUCE ? 2 : 1) * (n - 1) / n;
    double rate = row->nic_bytes_per_s > 0
                      ? MIN(row->nic_bytes_per_s, device->intra_bytes_per_s)
                      : device->intra_bytes_per_s;

    return ring * bytes / rate;
  }
  return MAX(ra_op_flop(&row->op) / peak,
             ra_op_bytes(&row->op) / device->memory_bytes_per_s);
}
