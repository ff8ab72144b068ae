/* Ops of a prediction beside those that ran. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "graph/op/op.h"
#include "study/run/compare_impl.h"

/* An op of one trace, of all ranks that ran it. */
typedef struct {
  const RaTraceRow *row; /* the first */
  guint n_rows;
  double sum_s;                /* of all rows */
  double last_begin_s, last_s; /* of the last to begin, of the last to end */
} OpTime;

/* Ops of one kind, or of one call, of both traces. */
typedef struct {
  const char *name;
  guint n, n_only[2];
  double both_s[2], only_s[2]; /* simulated, measured */
  GArray *errors;              /* double, owned */
} Sum;

/* The ranks of a collective meet: it takes from the arrival of the last one to
 * the end of the last.  Others run the same beside each other. */
static double
op_s(const OpTime *op)
{
  static const RaOpKind meeting[] = {RA_OP_ALL_REDUCE, RA_OP_REDUCE_SCATTER,
                                     RA_OP_ALL_GATHER, RA_OP_ALL_TO_ALL,
                                     RA_OP_BROADCAST};

  for (guint i = 0; i < G_N_ELEMENTS(meeting); i++)
    if (strcmp(ra_op_name(meeting[i]), op->row->op) == 0)
      return op->last_s - op->last_begin_s;
  return op->sum_s / op->n_rows;
}

/* (transfer full) (element-type OpTime): by name; in order of the trace in
 * @order. */
static GHashTable *
index_ops(const RaTrace *trace, GPtrArray *order)
{
  GHashTable *ops =
      g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);

  for (guint i = 0; i < ra_trace_n_rows(trace); i++) {
    const RaTraceRow *row = ra_trace_row(trace, i);
    OpTime *op;

    if (!row->op)
      continue;
    op = g_hash_table_lookup(ops, row->name);
    if (!op) {
      op = g_new0(OpTime, 1);
      op->row = row;
      g_hash_table_insert(ops, (gpointer)row->name, op);
      g_ptr_array_add(order, op);
    }
    op->n_rows++;
    op->sum_s += row->end_s - row->begin_s;
    op->last_begin_s = fmax(op->last_begin_s, row->begin_s);
    op->last_s = fmax(op->last_s, row->end_s);
  }
  return ops;
}

static Sum *
sum_of(GArray *sums, const char *name)
{
  Sum new_sum = {.name = name};

  for (guint i = 0; i < sums->len; i++)
    if (strcmp(g_array_index(sums, Sum, i).name, name) == 0)
      return &g_array_index(sums, Sum, i);
  new_sum.errors = g_array_new(FALSE, FALSE, sizeof(double));
  g_array_append_val(sums, new_sum);
  return &g_array_index(sums, Sum, sums->len - 1);
}

static void
add_op(Sum *sum, const OpTime *op, const OpTime *other, guint side)
{
  double error;

  if (!other) {
    sum->n_only[side]++;
    sum->only_s[side] += op_s(op);
    return;
  }
  if (side == 1)
    return; /* counted from the other side */
  error = ra_compare_error(op_s(op), op_s(other));
  sum->n++;
  sum->both_s[0] += op_s(op);
  sum->both_s[1] += op_s(other);
  g_array_append_val(sum->errors, error);
}

static RaTable *
ops_table(const GArray *sums)
{
  RaTable *t = ra_table_new("ops");

  ra_table_column(t, "op", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(t, "n", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_compare_time_columns(t);
  ra_table_column(t, "median_size_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(t, "only_simulated", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(t, "only_measured", RA_UNIT_NONE, RA_CELL_INTEGER);
  for (guint i = 0; i < sums->len; i++) {
    const Sum *sum = &g_array_index(sums, Sum, i);

    ra_table_row(t);
    ra_table_text(t, sum->name);
    ra_table_integer(t, sum->n);
    ra_compare_times(t, sum->both_s[0], sum->both_s[1]);
    ra_table_real(t, ra_compare_median_size(sum->errors));
    ra_table_integer(t, sum->n_only[0]);
    ra_table_integer(t, sum->n_only[1]);
  }
  return t;
}

/* Seconds of @call's tasks that both traces have, by trace. */
static void
sum_tasks(RaTaskRows *const *tasks, const char *call, double out_s[2])
{
  out_s[0] = out_s[1] = 0;
  for (guint i = 0; i < tasks[0]->rows->len; i++) {
    const RaTraceRow *row = &g_array_index(tasks[0]->rows, RaTraceRow, i);
    const RaTraceRow *other = ra_task_rows_find(tasks[1], row->name);

    if (!other || strcmp(row->call, call) != 0)
      continue;
    out_s[0] += row->end_s - row->begin_s;
    out_s[1] += other->end_s - other->begin_s;
  }
}

/* Extra time of a call's tasks: ops of both, ops of one, time outside ops. */
static RaTable *
lacks_table(const GArray *sums, RaTaskRows *const *tasks)
{
  RaTable *t = ra_table_new("lacks");

  ra_table_column(t, "call", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(t, "simulated_task_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(t, "measured_task_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(t, "lacking_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(t, "in_ops_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(t, "in_other_ops_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(t, "outside_ops_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  for (guint i = 0; i < sums->len; i++) {
    const Sum *sum = &g_array_index(sums, Sum, i);
    double task_s[2], both_s = sum->both_s[1] - sum->both_s[0];
    double only_s = sum->only_s[1] - sum->only_s[0];

    sum_tasks(tasks, sum->name, task_s);
    ra_table_row(t);
    ra_table_text(t, sum->name);
    ra_table_real(t, task_s[0]);
    ra_table_real(t, task_s[1]);
    ra_table_real(t, task_s[1] - task_s[0]);
    ra_table_real(t, both_s);
    ra_table_real(t, only_s);
    ra_table_real(t, task_s[1] - task_s[0] - both_s - only_s);
  }
  return t;
}

static void
free_sums(GArray *sums)
{
  for (guint i = 0; i < sums->len; i++)
    g_array_unref(g_array_index(sums, Sum, i).errors);
  g_array_unref(sums);
}

/* TRUE if both traces have the task of @op: only of those a call's time is
 * told. */
static gboolean
is_joined(const OpTime *op, RaTaskRows *const *tasks)
{
  g_autofree char *name = g_strndup(op->row->name, ra_op_row_task(op->row));

  return ra_task_rows_find(tasks[0], name) && ra_task_rows_find(tasks[1], name);
}

void
ra_compare_ops(RaComparison *comparison, const RaTrace *const *traces,
               RaTaskRows *const *tasks)
{
  g_autoptr(GPtrArray) a = g_ptr_array_new(), b = g_ptr_array_new();
  g_autoptr(GHashTable) sim = index_ops(traces[0], a);
  g_autoptr(GHashTable) run = index_ops(traces[1], b);
  GHashTable *const others[2] = {run, sim};
  GArray *kinds = g_array_new(FALSE, FALSE, sizeof(Sum));
  GArray *calls = g_array_new(FALSE, FALSE, sizeof(Sum));

  for (guint side = 0; side < 2 && a->len > 0 && b->len > 0; side++) {
    const GPtrArray *order = side ? b : a;

    for (guint i = 0; i < order->len; i++) {
      const OpTime *op = order->pdata[i];
      const OpTime *other = g_hash_table_lookup(others[side], op->row->name);

      add_op(sum_of(kinds, op->row->op), op, other, side);
      if (is_joined(op, tasks))
        add_op(sum_of(calls, op->row->call), op, other, side);
    }
  }
  if (kinds->len > 0) {
    comparison->ops = ops_table(kinds);
    comparison->lacks = lacks_table(calls, tasks);
  }
  free_sums(kinds);
  free_sums(calls);
}
