/* Table of the ops of a run, predicted and measured. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "bench/loop_ops.h"

/* TRUE if the op of @row stands in a task of several, `TASK/l3/gemm.1`, not in
 * the task's own row. */
static gboolean
is_inside(const RaTraceRow *row)
{
  const char *last = strrchr(row->name, '/');
  gsize n = strlen(row->op);

  return last && strncmp(last + 1, row->op, n) == 0 && last[1 + n] == '.';
}

void
loop_ops_print(const LoopCase *c, RaEstimator *estimator, const RaTrace *run)
{
  double sim_s[RA_N_OPS] = {0}, run_s[RA_N_OPS] = {0}, ops_s = 0, tasks_s = 0;
  guint n[RA_N_OPS] = {0};

  for (guint i = 0; i < ra_trace_n_rows(run); i++) {
    const RaTraceRow *row = ra_trace_row(run, i);
    double s = row->end_s - row->begin_s;
    RaOp op;

    if (!row->op || !is_inside(row))
      tasks_s += strcmp(row->stream, "compute") == 0 ? s : 0;
    if (!row->op)
      continue;
    if (!ra_op_parse(row->op, row->shape, &op, NULL))
      continue;
    n[op.kind]++;
    run_s[op.kind] += s;
    ops_s += s;
    sim_s[op.kind] += ra_estimator_op_s(estimator, &op);
  }
  printf("# ops of %s %s %s: sums\nop\tn\tpredicted_s\tmeasured_s\t"
         "error_frac\n",
         c->size, c->algorithm, c->plan);
  for (guint kind = 0; kind < RA_N_OPS; kind++)
    if (n[kind] > 0)
      printf("%s\t%u\t%.4f\t%.4f\t%+.3f\n", ra_op_name((RaOpKind)kind), n[kind],
             sim_s[kind], run_s[kind], sim_s[kind] / run_s[kind] - 1);
  printf("beside_ops\t-\t0\t%.4f\t-1\n", tasks_s - ops_s);
}
