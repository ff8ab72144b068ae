/* Samples of ops from the rows of a trace: overlap, collectives, outliers. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/rng.h"
#include "base/text.h"
#include "traces/measured_impl.h"
#include "traces/measured_trace.h"

/* Rows that share less were rounded: a trace has whole nanoseconds. */
#define SHARED_S 1.5e-9
#define OUTLIER_SCALES 4.685 /* as of a fit (estimator/robust.h) */
#define OUTLIER_LN 1.0       /* and a factor of e */
/* Scale of normal samples from the median of their sizes. */
#define NORMAL_SCALE 1.4826

/* One op and its samples. */
typedef struct {
  RaOp op;
  guint line;   /* of its first row */
  GArray *ln_s; /* double: ln of seconds */
} Samples;

/* Rows of one collective. */
typedef struct {
  Samples *samples;      /* its op's */
  double begin_s, end_s; /* of the last to begin, of the last to end */
  gboolean beside;       /* some row of it was */
} Meeting;

typedef struct {
  const RaTrace *trace;
  const char *name;     /* of the file */
  GHashTable *kinds;    /* (op, shape) of a row -> Samples, borrowed */
  GPtrArray *samples;   /* (Samples) in order of appearance */
  GHashTable *meetings; /* (name, iteration) of a row -> Meeting */
  guint8 *is_beside;    /* (rows) */
  RaMeasuredTally *tally;
} Reader;

static void
free_samples(gpointer data)
{
  Samples *s = data;

  g_array_unref(s->ln_s);
  g_free(s);
}

/* ---- Rows that run beside others ------------------------------------------
 */

/* Adds @name less its last @n parts. */
static void
add_prefix(GHashTable *set, const char *name, guint n)
{
  const char *end = name + strlen(name);

  for (; n > 0 && end > name; n--)
    for (end--; end > name && *end != '/'; end--)
      ;
  if (end > name)
    g_hash_table_add(set, g_strndup(name, (gsize)(end - name)));
}

GHashTable *
ra_measured_containers(const RaTrace *trace)
{
  GHashTable *set =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; i < ra_trace_n_rows(trace); i++) {
    const RaTraceRow *row = ra_trace_row(trace, i);

    if (!row->op)
      continue;
    for (guint n = 1; n <= 4; n++)
      add_prefix(set, row->name, n);
  }
  return set;
}

/* Activity of a GPU so far. */
typedef struct {
  double end_s; /* the latest end of a row so far */
  guint row;    /* whose */
} Busy;

/* Marks row @index and what its GPUs still do; rows come by their begins, so of
 * all that still run on a GPU the last to end stands for the others, which
 * share time with it and are marked. */
static void
sweep_row(Reader *r, guint index, const GArray *ranges, GArray *busy)
{
  const RaTraceRow *row = ra_trace_row(r->trace, index);

  for (guint i = 0; i + 1 < ranges->len; i += 2) {
    guint first = g_array_index(ranges, uint32_t, i);
    guint last = g_array_index(ranges, uint32_t, i + 1);

    if (last >= busy->len)
      g_array_set_size(busy, last + 1);
    for (guint gpu = first; gpu <= last; gpu++) {
      Busy *b = &g_array_index(busy, Busy, gpu);

      if (b->end_s > row->begin_s + SHARED_S && row->end_s > row->begin_s)
        r->is_beside[index] = r->is_beside[b->row] = 1;
      if (row->end_s > b->end_s)
        *b = (Busy){row->end_s, index};
    }
  }
}

static gboolean
find_beside(Reader *r, GError **error)
{
  g_autoptr(GHashTable) containers = ra_measured_containers(r->trace);
  g_autoptr(GHashTable) ranges = g_hash_table_new_full(
      g_direct_hash, g_direct_equal, NULL, (GDestroyNotify)g_array_unref);
  g_autoptr(GArray) busy = g_array_new(FALSE, TRUE, sizeof(Busy));

  for (guint i = 0; i < ra_trace_n_rows(r->trace); i++) {
    const RaTraceRow *row = ra_trace_row(r->trace, i);
    GArray *own;

    if (row->ranks[0] == '\0' ||
        (!row->op && g_hash_table_contains(containers, row->name)))
      continue;
    /* Equal texts of a trace are one pointer. */
    own = g_hash_table_lookup(ranges, row->ranks);
    if (!own) {
      own = g_array_new(FALSE, FALSE, sizeof(uint32_t));
      g_hash_table_insert(ranges, (gpointer)(guintptr)row->ranks, own);
      if (!ra_ranks_parse(row->ranks, own, error))
        return FALSE;
    }
    sweep_row(r, i, own, busy);
  }
  return TRUE;
}

/* ---- Samples ---------------------------------------------------------------
 */

/* Two texts of a trace by their addresses, or a text and a number. */
typedef struct {
  const void *a;
  gsize b;
} Pair;

static guint
hash_pair(gconstpointer data)
{
  const Pair *p = data;

  return (guint)ra_hash_u64(ra_hash_u64(RA_HASH_INIT, (uint64_t)(guintptr)p->a),
                            p->b);
}

static gboolean
equal_pairs(gconstpointer a, gconstpointer b)
{
  const Pair *p = a, *q = b;

  return p->a == q->a && p->b == q->b;
}

/* The samples of the op that @row says; %NULL: it says none. */
static Samples *
samples_of(Reader *r, const RaTraceRow *row, GError **error)
{
  Pair key = {row->op, (gsize)(guintptr)row->shape};
  Samples *s = g_hash_table_lookup(r->kinds, &key);
  RaOp op;

  if (s)
    return s;
  if (!ra_op_parse(row->op, row->shape ? row->shape : "", &op, error)) {
    if (row->line > 0)
      g_prefix_error(error, "%s:%u: ", r->name, row->line);
    else
      g_prefix_error(error, "%s: row '%s': ", r->name, row->name);
    return NULL;
  }
  s = g_new0(Samples, 1);
  s->op = op;
  s->line = row->line;
  s->ln_s = g_array_new(FALSE, FALSE, sizeof(double));
  g_ptr_array_add(r->samples, s);
  g_hash_table_insert(r->kinds, g_memdup2(&key, sizeof key), s);
  return s;
}

static void
add_sample(Reader *r, Samples *s, double time_s, gboolean beside)
{
  double ln;

  if (beside) {
    r->tally->n_beside++;
    return;
  }
  if (!(time_s > 0)) {
    r->tally->n_short++;
    return;
  }
  ln = ra_log(time_s);
  g_array_append_val(s->ln_s, ln);
  r->tally->n_samples++;
}

/* A row of a collective, which may have one for each of its ranks. */
static void
meet(Reader *r, const RaTraceRow *row, Samples *s, gboolean beside)
{
  Pair key = {row->name, row->iteration};
  Meeting *m = g_hash_table_lookup(r->meetings, &key);

  if (!m) {
    m = g_new0(Meeting, 1);
    *m = (Meeting){s, row->begin_s, row->end_s, beside};
    g_hash_table_insert(r->meetings, g_memdup2(&key, sizeof key), m);
    return;
  }
  m->begin_s = MAX(m->begin_s, row->begin_s);
  m->end_s = MAX(m->end_s, row->end_s);
  m->beside |= beside;
}

static gboolean
is_collective(const RaOp *op)
{
  return op->kind >= RA_OP_ALL_REDUCE && op->kind <= RA_OP_BROADCAST;
}

static gboolean
read_rows(Reader *r, GError **error)
{
  GHashTableIter iter;
  gpointer value;

  for (guint i = 0; i < ra_trace_n_rows(r->trace); i++) {
    const RaTraceRow *row = ra_trace_row(r->trace, i);
    Samples *s;

    if (!row->op)
      continue;
    r->tally->n_ops++;
    s = samples_of(r, row, error);
    if (!s)
      return FALSE;
    if (is_collective(&s->op))
      meet(r, row, s, r->is_beside[i]);
    else
      add_sample(r, s, row->end_s - row->begin_s, r->is_beside[i]);
  }
  g_hash_table_iter_init(&iter, r->meetings);
  while (g_hash_table_iter_next(&iter, NULL, &value)) {
    const Meeting *m = value;

    add_sample(r, m->samples, m->end_s - m->begin_s, m->beside);
  }
  return TRUE;
}

/* ---- Rows of the answer ----------------------------------------------------
 */

static int
compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

static double
median(const double *sorted, guint n)
{
  return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

/* How far from the median a sample may be. */
static double
reach(const double *sorted, guint n, double middle)
{
  g_autofree double *size = g_new(double, n);

  for (guint i = 0; i < n; i++)
    size[i] = fabs(sorted[i] - middle);
  qsort(size, n, sizeof *size, compare_doubles);
  return MAX(OUTLIER_SCALES * NORMAL_SCALE * median(size, n), OUTLIER_LN);
}

/* Statistics of @s about its median, which is returned. */
static double
summarise(Reader *r, const Samples *s, RaGridCell *out)
{
  double *ln = (double *)(gpointer)s->ln_s->data, sum = 0, squares = 0;
  guint n = s->ln_s->len, kept = 0;
  double middle, far;

  qsort(ln, n, sizeof *ln, compare_doubles);
  middle = median(ln, n);
  far = reach(ln, n, middle);
  for (guint i = 0; i < n; i++) {
    double x = ln[i] - middle;

    if (fabs(x) <= far) {
      sum += x;
      squares += x * x;
      kept++;
      continue;
    }
    r->tally->n_outliers++;
    if (fabs(x) > fabs(log(r->tally->worst_ratio))) {
      r->tally->worst_ratio = exp(x);
      r->tally->worst = s->op;
    }
  }
  *out = (RaGridCell){.n = kept, .mean = sum / kept};
  out->deviation = sqrt(MAX(squares / kept - out->mean * out->mean, 0));
  return middle;
}

/* Which lines a fold leaves out together. */
static void
set_lines(RaMeasured *row)
{
  const RaOp *op = &row->op;
  const uint64_t *d = op->dim;

  row->line[0] = row->line[1] = RA_MEASURED_KEPT;
  if (op->kind == RA_OP_GEMM) {
    row->line[0] = d[1];
    row->line[1] = d[2];
  } else if ((op->kind >= RA_OP_ATTENTION &&
              op->kind <= RA_OP_DECODE_ATTENTION) ||
             (op->kind >= RA_OP_LATENT && op->kind <= RA_OP_LATENT_DECODE))
    row->line[0] = d[4]; /* query heads */
  else if (op->kind >= RA_OP_ALL_REDUCE && op->kind <= RA_OP_BROADCAST) {
    row->line[0] = d[0];
    row->line[1] = d[1];
  } else if (ra_op_class((RaOpKind)op->kind) == RA_OP_CLASS_COMPUTE)
    row->line[1] = d[1] > 0 ? d[1] : d[0]; /* width, vocabulary */
  else
    row->line[0] = d[0]; /* bytes */
}

static double
head_number(const RaTrace *trace, const char *key, double fallback)
{
  const char *text = ra_trace_head(trace, key);
  double value;

  return text && ra_text_double(text, &value) && value > 0 ? value : fallback;
}

/* The node that the rows are from. */
static void
set_node(const RaTrace *trace, RaMeasured *row)
{
  double gpus = head_number(trace, "gpus-per-node", RA_MEASURED_NODE);
  double nics = head_number(trace, "nics-per-node", RA_MEASURED_NODE);

  row->gpus_per_node = (guint)MIN(gpus, RA_RANKS_MAX);
  row->nics_per_node = (guint)MIN(nics, RA_RANKS_MAX);
  row->nic_latency_s = head_number(trace, "nic-latency-s", 0);
  row->nic_bytes_per_s =
      row->nics_per_node *
      head_number(trace, "nic-bytes-per-s", RA_MEASURED_NIC_BYTES_PER_S);
}

static int
compare_ops(gconstpointer a, gconstpointer b)
{
  const RaOp *x = &(*(Samples *const *)a)->op, *y = &(*(Samples *const *)b)->op;
  gint64 d[] = {(gint64)x->kind - y->kind, (gint64)x->dtype - y->dtype,
                (gint64)x->flags - y->flags};

  for (guint i = 0; i < G_N_ELEMENTS(d); i++)
    if (d[i] != 0)
      return d[i] < 0 ? -1 : 1;
  for (guint i = 0; i < RA_OP_DIMS; i++)
    if (x->dim[i] != y->dim[i])
      return x->dim[i] < y->dim[i] ? -1 : 1;
  return 0;
}

static void
add_rows(Reader *r, GArray *rows)
{
  g_ptr_array_sort(r->samples, compare_ops);
  for (guint i = 0; i < r->samples->len; i++) {
    const Samples *s = g_ptr_array_index(r->samples, i);
    RaMeasured row = {
        .op = s->op, .file = g_intern_string(r->name), .file_line = s->line};

    if (s->ln_s->len == 0)
      continue;
    row.measured_s = ra_exp(summarise(r, s, &row.samples));
    row.deviation_frac = row.samples.deviation;
    set_lines(&row);
    set_node(r->trace, &row);
    g_array_append_val(rows, row);
  }
}

gboolean
ra_measured_trace(const RaTrace *trace, const char *name, GArray *rows,
                  RaMeasuredTally *out_tally, GError **error)
{
  g_autoptr(GHashTable) kinds =
      g_hash_table_new_full(hash_pair, equal_pairs, g_free, NULL);
  g_autoptr(GHashTable) meetings =
      g_hash_table_new_full(hash_pair, equal_pairs, g_free, g_free);
  g_autoptr(GPtrArray) samples = g_ptr_array_new_with_free_func(free_samples);
  g_autofree guint8 *is_beside = g_new0(guint8, ra_trace_n_rows(trace) + 1);
  Reader r = {trace, name, kinds, samples, meetings, is_beside, out_tally};

  g_return_val_if_fail(rows != NULL && out_tally != NULL, FALSE);
  *out_tally = (RaMeasuredTally){.worst_ratio = 1};
  if (!find_beside(&r, error) || !read_rows(&r, error))
    return FALSE;
  add_rows(&r, rows);
  return TRUE;
}
