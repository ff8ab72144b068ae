/* Reading the tables of nccl-tests, and checking them. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "traces/kineto_events.h"
#include "traces/nccl_log.h"

#define LOG_BYTES_MAX (16u << 20)
#define FIELDS_MAX 32
#define PASSES 2 /* out of place, in place */

/* A rate is printed to hundredths of a GB/s, a time to three digits or more. */
#define RATE_STEP 0.006
#define RATE_FRAC 0.02

static const struct {
  const char *name; /* of the program, without _perf */
  RaOpKind kind;
} tests[] = {
    {"all_reduce", RA_OP_ALL_REDUCE},         {"all_gather", RA_OP_ALL_GATHER},
    {"reduce_scatter", RA_OP_REDUCE_SCATTER}, {"alltoall", RA_OP_ALL_TO_ALL},
    {"broadcast", RA_OP_BROADCAST},           {"sendrecv", RA_OP_SEND}};

typedef struct {
  const char *path;
  guint line;
  GArray *rows;
  GPtrArray *notes;
  guint test;         /* of tests; G_N_ELEMENTS: not known */
  guint n_ranks;      /* listed */
  guint n_product;    /* threads x GPUs of one process; 0: not said */
  GHashTable *hosts;  /* name -> number of ranks */
  guint n_fields;     /* of the table's head; 0: no table yet */
  guint size, type;   /* columns */
  guint time[PASSES]; /* columns, each before algbw, busbw, #wrong */
  guint n_passes;     /* 1 or 2 */
  gboolean is_over;   /* the table's last line was seen */
  gboolean is_float;  /* some row was not of half precision */
  gboolean crosses;   /* some row was of several nodes */
  guint n_read;
} Log;

static gboolean refuse(const Log *log, GError **error, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

static gboolean
refuse(const Log *log, GError **error, const char *format, ...)
{
  va_list args;

  va_start(args, format);
  ra_error_at(error, log->path, log->line, format, args);
  va_end(args);
  return FALSE;
}

/* The test that @text names; G_N_ELEMENTS(tests): none. */
static guint
test_in(const char *text)
{
  for (guint i = 0; i < G_N_ELEMENTS(tests); i++)
    if (strstr(text, tests[i].name))
      return i;
  return G_N_ELEMENTS(tests);
}

/* The line without the tag that a launcher has put before it. */
static char *
without_tag(char *line)
{
  char *end = *line == '[' ? strstr(line, "]<stdout>:") : NULL;

  if (end)
    return end + strlen("]<stdout>:");
  for (end = line; g_ascii_isdigit(*end);)
    end++;
  return end > line && end[0] == ':' && end[1] == ' ' ? end + 2 : line;
}

/* Cuts @line at blanks; more than fit count, too. */
static guint
cut(char *line, const char **fields)
{
  guint n = 0;

  while (*line) {
    while (g_ascii_isspace(*line))
      *line++ = '\0';
    if (!*line)
      break;
    if (n < FIELDS_MAX)
      fields[n] = line;
    n++;
    while (*line && !g_ascii_isspace(*line))
      line++;
  }
  return n;
}

/* ---- lines that begin with # ----------------------------------------------*/

static void
begin_table(Log *log, const char *const *names, guint n)
{
  log->n_fields = n;
  log->n_passes = 0;
  log->type = G_MAXUINT;
  log->is_over = FALSE;
  for (guint i = 0; i < n; i++) {
    if (strcmp(names[i], "size") == 0)
      log->size = i;
    if (strcmp(names[i], "type") == 0)
      log->type = i;
    if (strcmp(names[i], "time") == 0 && log->n_passes < PASSES && i + 3 < n)
      log->time[log->n_passes++] = i;
  }
}

/* "Rank  0 Group  0 Pid 12 on host-a device  0 [0x07] NVIDIA H100" */
static void
read_device(Log *log, const char *const *names, guint n)
{
  for (guint i = 0; i + 2 < n; i++)
    if (strcmp(names[i], "on") == 0 && strcmp(names[i + 2], "device") == 0) {
      guint n_there =
          GPOINTER_TO_UINT(g_hash_table_lookup(log->hosts, names[i + 1]));

      g_hash_table_replace(log->hosts, g_strdup(names[i + 1]),
                           GUINT_TO_POINTER(n_there + 1));
      log->n_ranks++;
      return;
    }
}

/* "nThread 1 nGpus 8 minBytes 8 ..." begins a test. */
static void
read_settings(Log *log, const char *const *names, guint n)
{
  uint64_t product = 1, value;

  for (guint i = 0; i + 1 < n; i++)
    if ((strcmp(names[i], "nThread") == 0 || strcmp(names[i], "nGpus") == 0) &&
        ra_text_uint64(names[i + 1], &value))
      product *= MIN(value, 65536);
  log->n_product = (guint)MIN(product, 65536);
  log->n_ranks = 0;
  log->n_fields = 0;
  g_hash_table_remove_all(log->hosts);
}

static gboolean
read_comment(Log *log, char *text, GError **error)
{
  const char *names[FIELDS_MAX];
  guint n, test = test_in(text);
  gboolean is_failed = strstr(text, "FAILED") != NULL;

  if (test < G_N_ELEMENTS(tests) && strstr(text, "_perf"))
    log->test = test;
  n = cut(text, names);
  n = MIN(n, FIELDS_MAX);
  if (n >= 4 && strcmp(names[0], "size") == 0 && strcmp(names[1], "count") == 0)
    begin_table(log, names, n);
  else if (n > 2 && strcmp(names[0], "Rank") == 0)
    read_device(log, names, n);
  else if (n > 2 && strcmp(names[0], "nThread") == 0)
    read_settings(log, names, n);
  else if (n > 3 && strcmp(names[0], "Avg") == 0)
    log->is_over = TRUE;
  else if (n > 3 && strcmp(names[0], "Out") == 0 && is_failed)
    return refuse(
        log, error,
        "the test found wrong values, expected 'OK': the collective is broken");
  return TRUE;
}

/* ---- rows -----------------------------------------------------------------*/

/* Ranks of all nodes and of one. */
static gboolean
ranks_of(Log *log, uint64_t *n, uint64_t *per_node, GError **error)
{
  guint n_hosts = g_hash_table_size(log->hosts);
  GHashTableIter i;
  gpointer there;

  *n = log->n_ranks ? log->n_ranks : log->n_product;
  *per_node = *n / MAX(n_hosts, 1);
  if (*n < 2)
    return refuse(log, error,
                  "%s, expected lines '#  Rank  0 ... on HOST device 0' of two "
                  "ranks or more before the table",
                  *n == 0 ? "no ranks are listed" : "there is one rank");
  g_hash_table_iter_init(&i, log->hosts);
  while (g_hash_table_iter_next(&i, NULL, &there))
    if (GPOINTER_TO_UINT(there) != *per_node)
      return refuse(
          log, error,
          "the nodes have different numbers of ranks, expected equal ones");
  return TRUE;
}

/* The seconds of pass @pass; 0: not measured. */
static gboolean
read_pass(const Log *log, const char *const *fields, uint64_t bytes, guint pass,
          double *out_s, GError **error)
{
  const char *const *f = fields + log->time[pass];
  double us, rate, off;
  uint64_t n_wrong = 0;

  if (!ra_text_double(f[0], &us) || !(us >= 0) || us > 1e12)
    return refuse(log, error, "time is '%s', expected microseconds", f[0]);
  if (!ra_text_double(f[1], &rate) || !(rate >= 0))
    return refuse(log, error, "algbw is '%s', expected GB/s", f[1]);
  if (strcmp(f[3], "N/A") != 0 && !strchr(f[3], 'e') && !strchr(f[3], '.') &&
      (!ra_text_uint64(f[3], &n_wrong) || n_wrong > 0))
    return refuse(log, error, "'%s' values are wrong, expected 0 or N/A", f[3]);
  *out_s = us * 1e-6;
  off = us > 0 ? fabs(rate - (double)bytes / us * 1e-3) : 0;
  if (off > RATE_STEP + RATE_FRAC * rate)
    return refuse(log, error,
                  "algbw is %s GB/s, expected %.2f of %" G_GUINT64_FORMAT
                  " bytes in %s us",
                  f[1], (double)bytes / us * 1e-3, bytes, f[0]);
  return TRUE;
}

static RaOp
op_of(const Log *log, uint64_t bytes, uint64_t n, uint64_t per_node)
{
  RaOp op = {.kind = (uint8_t)tests[log->test].kind, .count = 1};

  op.dim[0] = bytes;
  if (op.kind == RA_OP_SEND) {
    op.dim[1] = per_node < n;
    op.dim[2] = per_node < n;
  } else {
    op.dim[1] = n;
    op.dim[2] = per_node;
    op.dim[3] = 1;
  }
  return op;
}

static void
add_row(Log *log, const RaOp *op, const double *seconds, guint n,
        uint64_t per_node)
{
  RaMeasured row = {.op = *op, .file = g_intern_string(log->path)};
  double log_ratio = n > 1 ? log2(seconds[1] / seconds[0]) * G_LN2 : 0;

  row.file_line = log->line;
  row.measured_s = n > 1 ? sqrt(seconds[0] * seconds[1]) : seconds[0];
  if (n > 1)
    row.samples = (RaGridCell){2, 0, fabs(log_ratio) / 2};
  row.line[0] = op->dim[0];
  row.line[1] = op->kind == RA_OP_SEND ? 0 : op->dim[1];
  row.gpus_per_node = (guint)per_node;
  if (log->crosses)
    row.nic_bytes_per_s = RA_MEASURED_NODE * RA_MEASURED_NIC_BYTES_PER_S;
  g_array_append_val(log->rows, row);
  log->n_read++;
}

static gboolean
read_row(Log *log, char *text, GError **error)
{
  const char *fields[FIELDS_MAX];
  guint n = cut(text, fields), n_times = 0;
  double seconds[PASSES];
  uint64_t bytes, n_ranks, per_node;
  RaOp op;

  if (n != log->n_fields)
    return refuse(log, error, "%u fields, expected the %u of the table's head",
                  n, log->n_fields);
  if (!ra_text_uint64(fields[log->size], &bytes))
    return refuse(log, error, "size is '%s', expected bytes",
                  fields[log->size]);
  if (log->test == G_N_ELEMENTS(tests))
    return refuse(log, error,
                  "neither the log nor its name tells the collective, expected "
                  "a name such as all_reduce_perf.log");
  if (!ranks_of(log, &n_ranks, &per_node, error))
    return FALSE;
  for (guint i = 0; i < log->n_passes; i++) {
    if (!read_pass(log, fields, bytes, i, &seconds[n_times], error))
      return FALSE;
    n_times += seconds[n_times] > 0;
  }
  log->is_float =
      log->is_float || (log->type < n && strcmp(fields[log->type], "half") &&
                        strcmp(fields[log->type], "bfloat16"));
  log->crosses = per_node < n_ranks;
  op = op_of(log, bytes, n_ranks, per_node);
  if (bytes > 0 && n_times > 0)
    add_row(log, &op, seconds, n_times, per_node);
  return TRUE;
}

static gboolean
read_line(Log *log, char *line, GError **error)
{
  char *text = g_strstrip(without_tag(line));

  log->line++;
  if (*text == '#')
    return read_comment(log, text + 1, error);
  if (!*text || log->n_fields == 0 || log->n_passes == 0 ||
      strstr(text, " NCCL ") || !g_ascii_isdigit(*text))
    return TRUE;
  return read_row(log, text, error);
}

static void
add_notes(const Log *log)
{
  if (!log->is_over)
    g_ptr_array_add(log->notes,
                    g_strdup_printf("%s: ends before its '# Avg bus "
                                    "bandwidth': the test did not",
                                    log->path));
  if (log->is_float)
    g_ptr_array_add(
        log->notes,
        g_strdup_printf("%s: not of half precision, expected -d half",
                        log->path));
  if (log->crosses)
    g_ptr_array_add(
        log->notes,
        g_strdup_printf("%s: unknown NICs, assuming %d of %.0f Gbit/s per node",
                        log->path, RA_MEASURED_NODE,
                        8e-9 * RA_MEASURED_NIC_BYTES_PER_S));
}

gboolean
ra_nccl_log_is(const char *path)
{
  g_autofree char *text = NULL;
  gsize n_bytes;

  g_return_val_if_fail(path != NULL, FALSE);
  if (g_str_has_suffix(path, ".log"))
    return TRUE;
  return !ra_kineto_is_named(path) && !g_str_has_suffix(path, ".tsv") &&
         ra_file_read(path, LOG_BYTES_MAX, &text, &n_bytes, NULL) &&
         strstr(text, "out-of-place");
}

gboolean
ra_nccl_log_load(const char *path, GArray *rows, GPtrArray *notes,
                 GError **error)
{
  g_autofree char *text = NULL;
  g_autofree char *name = g_path_get_basename(path);
  g_autoptr(GHashTable) hosts =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  g_auto(GStrv) lines = NULL;
  Log log = {.path = path,
             .rows = rows,
             .notes = notes,
             .test = test_in(name),
             .hosts = hosts};
  gsize n_bytes;

  if (!ra_file_read(path, LOG_BYTES_MAX, &text, &n_bytes, error))
    return FALSE;
  lines = g_strsplit(text, "\n", -1);
  for (guint i = 0; lines[i]; i++)
    if (!read_line(&log, lines[i], error))
      return FALSE;
  if (log.n_read == 0) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: no row of nccl-tests, expected a table below '# size "
                "count type ...'",
                path);
    return FALSE;
  }
  add_notes(&log);
  return TRUE;
}
