/* Readers of published tables of ops: GEMMs, attention, memory-bound ops. */
#include "config.h"

#include <string.h>

#include "traces/measured_impl.h"

const char *const ra_measured_sources[] = {"gemm.bf16",
                                           "gemm.fp8",
                                           "attention",
                                           "decode-attention",
                                           "norm",
                                           "rope",
                                           "activation",
                                           "add",
                                           "embedding",
                                           "all-reduce",
                                           "all-gather",
                                           "reduce-scatter",
                                           "all-to-all",
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

static gboolean
read_source(RaMeasuredReader *r, const char *const *data, GError **error)
{
  g_autofree char *prefix = NULL;

  if (strcmp(r->source, "gemm.layer") == 0)
    return ra_measured_layers(r, data, error);
  if (g_str_has_prefix(r->source, "gemm.")) {
    prefix = g_strdup_printf("gemm_%s_%s", r->gpu, r->source + 5);
    if (!ra_measured_files(data, "kernels_gemm", prefix, r, gemm_columns,
                           read_gemm, error))
      return FALSE;
    return r->rows->len > 0 || strcmp(r->source, "gemm.bf16") != 0 ||
           ra_measured_layers(r, data, error);
  }
  if (g_str_has_suffix(r->source, "attention")) {
    gboolean decode = *r->source == 'd';

    prefix =
        g_strdup_printf("%s_%s_bf16", decode ? "decode" : "prefill", r->gpu);
    if (!ra_measured_files(data, "kernels_attention", prefix, r,
                           decode ? decode_columns : prefill_columns,
                           read_attention, error))
      return FALSE;
    return r->rows->len > 0 || ra_measured_layers(r, data, error);
  }
  if (g_str_has_prefix(r->source, "p2p.") || strchr(r->source, '-') ||
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
      .found = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free)};
  gboolean sends = strcmp(source, "send") == 0, ok;

  /* Of sends the best source that there is. */
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
