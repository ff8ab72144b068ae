/* The ops of a run: what each rank's stages recorded, task by task. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "exec/run_impl.h"

typedef struct {
  RaTaskId task;
  guint index; /* of its task on its rank, from 0 */
  RaOpRecord record;
} RunOp;

void
ra_rank_record(RaRank *rank)
{
  rank->ops = g_array_new(FALSE, FALSE, sizeof(RunOp));
  for (uint32_t call = 0; call < rank->run->workload->n_calls; call++)
    for (uint32_t v = 0;
         rank->calls[call].stages && v < rank->calls[call].n_versions; v++)
      rank->calls[call].stages[v]->ops =
          g_array_new(FALSE, FALSE, sizeof(RaOpRecord));
}

void
ra_rank_take_ops(RaRank *rank, RaTaskId task)
{
  const RaNode *node = ra_run_node(rank->run, task);
  const RaRankCall *c;
  guint n = 0;

  if (!rank->ops || node->kind != RA_NODE_CALL)
    return;
  c = &rank->calls[node->call];
  for (uint32_t v = 0; c->stages && v < c->n_versions; v++) {
    GArray *ops = c->stages[v]->ops;

    for (guint i = 0; i < ops->len; i++) {
      RunOp op = {task, n++, g_array_index(ops, RaOpRecord, i)};
      uint64_t *dim = op.record.op.dim;

      /* All ranks are threads of one process: one node. */
      if (ra_op_class((RaOpKind)op.record.op.kind) == RA_OP_CLASS_COMM) {
        dim[2] = dim[1];
        dim[3] = 1;
      }
      g_array_append_val(rank->ops, op);
    }
    g_array_set_size(ops, 0);
  }
}

void
ra_rank_add_op(const RaRank *rank, RaTaskId task, RaOpKind kind, double begin_s,
               uint64_t d0, uint64_t d1)
{
  const RaNode *node = ra_run_node(rank->run, task);
  RaOpRecord record = {.op = {.kind = (uint8_t)kind,
                              .dtype = RA_DTYPE_FP32,
                              .count = 1,
                              .dim = {d0, d1}},
                       .begin_s = begin_s + rank->run->origin_s};

  if (!rank->ops)
    return;
  record.end_s = ra_run_now_s(rank->run) + rank->run->origin_s;
  g_array_append_val(ra_rank_stage(rank, node->call, node->iteration)->ops,
                     record);
}

static void
add_op(const RaRank *rank, const RunOp *op, RaTrace *trace)
{
  const RaRun *run = rank->run;
  const RaNode *node = ra_run_node(run, op->task);
  const RaOp *what = &op->record.op;
  gboolean computes = ra_op_class((RaOpKind)what->kind) == RA_OP_CLASS_COMPUTE;
  const char *kind = ra_op_name((RaOpKind)what->kind);
  g_autofree char *shape = ra_op_shape(what);
  g_autofree char *ranks = g_strdup_printf("%" G_GUINT32_FORMAT, rank->gpu);
  char name[256], *end = name;

  ra_task_name(run->graph, op->task, name, sizeof name - 64);
  end += strlen(name);
  g_snprintf(end, 64, "/%s.%u", kind, op->index);
  ra_trace_add(
      trace,
      &(RaTraceRow){
          .name = name,
          .iteration = node->iteration,
          .call = run->workload->calls[node->call].name,
          .kind = ra_task_kind_name((RaTaskKind)run->graph->kind[op->task]),
          .ranks = ranks,
          .stream = ra_stream_name(
              computes ? (RaStream)run->graph->stream[op->task] : RA_STREAM_TP),
          .op = kind,
          .shape = shape,
          .begin_s = fmax(op->record.begin_s - run->origin_s, 0),
          .end_s = fmax(op->record.end_s - run->origin_s, 0),
          .flop = ra_op_flop(what),
          .bytes = ra_op_bytes(what)});
}

void
ra_run_trace_ops(const RaRun *run, RaTrace *trace)
{
  for (uint32_t r = 0; r < run->n_ranks; r++)
    for (guint i = 0; run->ranks[r].ops && i < run->ranks[r].ops->len; i++)
      add_op(&run->ranks[r], &g_array_index(run->ranks[r].ops, RunOp, i),
             trace);
}
