/* Times of a run's tasks, as a trace. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "exec/run_impl.h"

/* @op: (nullable): all that the task is */
static void
add_row(const RaRun *run, RaTaskId task, double begin_s, double end_s,
        const RaOp *op, RaTrace *trace)
{
  gboolean is_op = op && op->kind != RA_N_OPS;
  const RaTaskGraph *g = run->graph;
  const RaNode *node = ra_run_node(run, task);
  char name[256];
  g_autofree char *ranks = ra_group_ranks(g, g->group[task]);
  g_autofree char *shape = is_op ? ra_op_shape(op) : NULL;

  ra_task_name(g, task, name, sizeof name);
  ra_trace_add(
      trace,
      &(RaTraceRow){.name = name,
                    .iteration = node->iteration,
                    .call = node->kind == RA_NODE_CALL
                                ? run->workload->calls[node->call].name
                                : ra_node_kind_name((RaNodeKind)node->kind),
                    .kind = ra_task_kind_name((RaTaskKind)g->kind[task]),
                    .ranks = strcmp(ranks, "-") == 0 ? "" : ranks,
                    .stream = ra_stream_name((RaStream)g->stream[task]),
                    .op = is_op ? ra_op_name((RaOpKind)op->kind) : NULL,
                    .shape = shape,
                    .begin_s = begin_s,
                    .end_s = end_s,
                    .flop = is_op ? ra_op_flop(op) : 0,
                    .bytes = is_op ? ra_op_bytes(op) : 0});
}

void
ra_run_trace(const RaRun *run, RaTrace *trace)
{
  uint32_t n = run->graph->n_tasks;
  g_autofree double *begin_s = g_new0(double, n);
  g_autofree double *end_s = g_new0(double, n);
  g_autofree RaOp *ops = ra_run_task_ops(run);

  for (uint32_t r = 0; r < run->n_ranks; r++)
    for (guint i = 0; i < run->ranks[r].clock.times->len; i++) {
      const RaTaskTime *t =
          &g_array_index(run->ranks[r].clock.times, RaTaskTime, i);

      begin_s[t->task] = fmax(begin_s[t->task], t->begin_s);
      end_s[t->task] = fmax(end_s[t->task], t->end_s);
    }
  for (RaTaskId t = 0; t < n; t++)
    if (run->graph->kind[t] != RA_TASK_JOIN &&
        ra_run_node(run, t)->iteration >= run->first_iteration)
      add_row(run, t, begin_s[t], end_s[t], ops ? &ops[t] : NULL, trace);
  ra_run_trace_ops(run, trace);
  ra_trace_sort(trace);
}
