/* Inspection of traces. */
#include "config.h"

#include "base/sum.h"
#include "study/report/inspect.h"

/* The fields that every trace may have; a trace keeps others too, which have
 * no list. */
static const char *const head_keys[] = {
    "source",  "machine",  "software", "date", "command",
    "seed",    "workload", "cluster",  "plan", "gpus-per-node",
    "profile", "fidelity", NULL};

static RaTable *
make_head(const RaTrace *trace)
{
  RaTable *table = ra_table_new("trace");

  ra_table_column(table, "field", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "value", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; head_keys[i]; i++) {
    const char *value = ra_trace_head(trace, head_keys[i]);

    if (!value)
      continue;
    ra_table_row(table);
    ra_table_text(table, head_keys[i]);
    ra_table_text(table, value);
  }
  return table;
}

/* Sums over the rows of one call. */
typedef struct {
  const char *call;   /* of the trace */
  guint n_rows;       /* of it */
  guint n_iterations; /* from 0 to the last that it is in */
  double begin_s;     /* first */
  double end_s;       /* last */
  RaSum flop;         /* over the rows, of one GPU times its GPUs: so it is the
                         same where one row stands for many replicas */
  RaSum bytes;        /* the same */
} CallSum;

/* GPUs in @ranks, counted once; @counts: ranks -> GPUs. */
static uint32_t
count_gpus(GHashTable *counts, const char *ranks)
{
  g_autoptr(GArray) ranges = NULL;
  gpointer known;
  uint32_t n = 0;

  if (g_hash_table_lookup_extended(counts, ranks, NULL, &known))
    return GPOINTER_TO_UINT(known);
  ranges = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  if (*ranks && ra_ranks_parse(ranks, ranges, NULL))
    for (guint i = 0; i < ranges->len; i += 2)
      n += g_array_index(ranges, uint32_t, i + 1) -
           g_array_index(ranges, uint32_t, i) + 1;
  g_hash_table_insert(counts, (gpointer)ranks, GUINT_TO_POINTER(n));
  return n;
}

static CallSum *
find_sum(GArray *sums, const RaTraceRow *row)
{
  CallSum sum = {.call = row->call, .begin_s = row->begin_s};

  for (guint i = 0; i < sums->len; i++) {
    CallSum *at = &g_array_index(sums, CallSum, i);

    if (at->call == row->call) /* a trace keeps equal strings once */
      return at;
  }
  g_array_append_val(sums, sum);
  return &g_array_index(sums, CallSum, sums->len - 1);
}

static void
add_row(CallSum *sum, const RaTraceRow *row, uint32_t n_gpus)
{
  sum->n_rows++;
  sum->n_iterations = MAX(sum->n_iterations, row->iteration + 1);
  sum->begin_s = MIN(sum->begin_s, row->begin_s);
  sum->end_s = MAX(sum->end_s, row->end_s);
  ra_sum_add(&sum->flop, row->flop, n_gpus);
  ra_sum_add(&sum->bytes, row->bytes, n_gpus);
}

static RaTable *
make_calls(const RaTrace *trace)
{
  g_autoptr(GArray) sums = g_array_new(FALSE, FALSE, sizeof(CallSum));
  /* Equal ranks of one trace are one pointer. */
  g_autoptr(GHashTable) counts = g_hash_table_new(NULL, NULL);
  CallSum all = {.call = "(all)", .begin_s = RA_TRACE_MAX_S};
  RaTable *table = ra_table_new("calls");

  for (guint i = 0; i < ra_trace_n_rows(trace); i++) {
    const RaTraceRow *row = ra_trace_row(trace, i);

    uint32_t n_gpus = count_gpus(counts, row->ranks);

    add_row(find_sum(sums, row), row, n_gpus);
    add_row(&all, row, n_gpus);
  }
  ra_table_column(table, "call", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "rows", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "iterations", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "begin_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "end_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "flop", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "traffic_bytes", RA_UNIT_BYTES, RA_CELL_REAL);
  if (all.n_rows > 0)
    g_array_append_val(sums, all);
  for (guint i = 0; i < sums->len; i++) {
    const CallSum *sum = &g_array_index(sums, CallSum, i);

    ra_table_row(table);
    ra_table_text(table, sum->call);
    ra_table_integer(table, sum->n_rows);
    ra_table_integer(table, sum->n_iterations);
    ra_table_real(table, sum->begin_s);
    ra_table_real(table, sum->end_s);
    ra_table_real(table, ra_sum_get(&sum->flop));
    ra_table_real(table, ra_sum_get(&sum->bytes));
  }
  return table;
}

GPtrArray *
ra_inspect_trace(const RaTrace *trace)
{
  GPtrArray *tables =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_table_free);

  g_ptr_array_add(tables, make_head(trace));
  g_ptr_array_add(tables, make_calls(trace));
  return tables;
}
