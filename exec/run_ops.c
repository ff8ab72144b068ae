/* The ops of a run: records of each rank's stages, task by task. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "exec/run_impl.h"

typedef struct {
  RaTaskId task;
  RaOpRecord record;
} RunOp;

typedef struct {
  RaTaskId task;
  RaOp op;
} TaskOp;

void
ra_rank_record(RaRank *rank)
{
  rank->clock.ops = g_array_new(FALSE, FALSE, sizeof(RunOp));
  rank->clock.task_ops = g_array_new(FALSE, FALSE, sizeof(TaskOp));
  for (uint32_t call = 0; call < rank->run->workload->n_calls; call++)
    for (uint32_t v = 0;
         rank->calls[call].stages && v < rank->calls[call].n_versions; v++)
      if (rank->calls[call].stages[v])
        rank->calls[call].stages[v]->ops =
            g_array_new(FALSE, FALSE, sizeof(RaOpRecord));
}

/* All ranks are threads of one process, one node: groups that the plan has in
 * one stand where it has them, of others nothing is known but that. */
static void
place_ranks(const RaRun *run, RaTaskId task, RaOp *op)
{
  const RaTaskGraph *g = run->graph;
  uint64_t *dim = op->dim, within = dim[1], groups = 1;
  uint32_t shard = RA_NONE;

  if (op->kind == RA_OP_SEND) {
    dim[1] = 0;
    if (dim[2] == 0) /* between stages, not of a ring */
      dim[2] = run->plan->calls[ra_run_node(run, task)->call].tp;
    return;
  }
  if (g->work[task] == RA_NONE)
    shard = g->dynamics[g->dynamic[task]].shard;
  else if (g->works[g->work[task]].shard == RA_NONE) {
    within = g->works[g->work[task]].op.dim[2];
    groups = g->works[g->work[task]].op.dim[3];
  } else {
    shard = g->works[g->work[task]].shard;
  }
  if (shard != RA_NONE) {
    const RaShard *s = &g->shards[shard];
    gboolean ep = op->kind == RA_OP_ALL_TO_ALL;

    within = ep ? s->ep_ranks_per_node : s->tp_ranks_per_node;
    groups = ep ? s->ep_groups_per_node : s->tp_groups_per_node;
  }
  dim[2] = dim[1];
  dim[3] = within == dim[1] ? groups : 1;
}

void
ra_rank_take_ops(RaRank *rank, RaTaskId task)
{
  const RaNode *node = ra_run_node(rank->run, task);
  const RaRankCall *c;

  if (node->kind != RA_NODE_CALL)
    return;
  c = &rank->calls[node->call];
  for (uint32_t v = 0; c->stages && v < c->n_versions; v++) {
    GArray *ops = c->stages[v]->ops;

    ra_stage_time_ops(c->stages[v]);
    for (guint i = 0; ops && i < ops->len; i++) {
      RunOp op = {task, g_array_index(ops, RaOpRecord, i)};

      /* By the run's clock, which stops while checkpoints are saved. */
      op.record.begin_s -= rank->run->origin_s;
      op.record.end_s -= rank->run->origin_s;
      if (ra_op_class((RaOpKind)op.record.op.kind) == RA_OP_CLASS_COMM)
        place_ranks(rank->run, task, &op.record.op);
      g_array_append_val(rank->clock.ops, op);
    }
    if (ops)
      g_array_set_size(ops, 0);
    rank->clock.paced.wall_s += c->stages[v]->paced.wall_s;
    rank->clock.paced.cpu_s += c->stages[v]->paced.cpu_s;
    c->stages[v]->paced = (RaCpuTime){0};
    ra_stage_leave(c->stages[v], 0, 0);
  }
}

static RaOp
op_of(RaOpKind kind, uint64_t d0, uint64_t d1)
{
  return (RaOp){.kind = (uint8_t)kind,
                .dtype = RA_DTYPE_FP32,
                .count = 1,
                .dim = {d0, d1}};
}

void
ra_rank_add_op(const RaRank *rank, RaTaskId task, RaOpKind kind, double begin_s,
               uint64_t d0, uint64_t d1)
{
  const RaNode *node = ra_run_node(rank->run, task);
  RaOpRecord record = {.op = op_of(kind, d0, d1),
                       .begin_s = begin_s + rank->run->origin_s};
  RaStage *stage;

  if (!rank->clock.ops)
    return;
  stage = ra_rank_stage(rank, node->call, node->iteration);
  record.end_s = ra_run_now_s(rank->run) + rank->run->origin_s;
  record.place = stage->place;
  stage->place.step++;
  g_array_append_val(stage->ops, record);
}

void
ra_rank_set_op(RaRank *rank, RaTaskId task, RaOpKind kind, uint64_t d0,
               uint64_t d1)
{
  TaskOp op = {task, op_of(kind, d0, d1)};

  if (!rank->clock.ops)
    return;
  if (ra_op_class(kind) == RA_OP_CLASS_COMM)
    place_ranks(rank->run, task, &op.op);
  g_array_append_val(rank->clock.task_ops, op);
}

/* Data that moves, and host work: how much is the graph's to say. */
static gboolean
is_graph_op(uint8_t kind)
{
  return kind == RA_TASK_REALLOC || kind == RA_TASK_TRANSFER ||
         kind == RA_TASK_HOST || kind == RA_TASK_OFFLOAD ||
         kind == RA_TASK_RELOAD;
}

RaOp *
ra_run_task_ops(const RaRun *run)
{
  const RaTaskGraph *g = run->graph;
  RaOp *ops;

  if (!run->options.ops)
    return NULL;
  ops = g_new(RaOp, (gsize)g->n_tasks + 1);
  for (RaTaskId t = 0; t < g->n_tasks; t++)
    if (is_graph_op(g->kind[t]))
      ops[t] = g->works[g->work[t]].op;
    else
      ops[t] = (RaOp){.kind = RA_N_OPS};
  for (uint32_t r = run->n_ranks; r-- > 0;)
    for (guint i = 0; i < run->ranks[r].clock.task_ops->len; i++) {
      const TaskOp *op =
          &g_array_index(run->ranks[r].clock.task_ops, TaskOp, i);

      ops[op->task] = op->op;
    }
  return ops;
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
  char name[256 + 64], *end = name;

  ra_task_name(run->graph, op->task, name, 256);
  end += strlen(name);
  *end++ = '/';
  ra_op_place_name(&op->record.place, (RaOpKind)what->kind, end, 63);
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
          .begin_s = fmax(op->record.begin_s, 0),
          .end_s = fmax(op->record.end_s, 0),
          .flop = ra_op_flop(what),
          .bytes = ra_op_bytes(what)});
}

void
ra_run_trace_ops(const RaRun *run, RaTrace *trace)
{
  for (uint32_t r = 0; r < run->n_ranks; r++)
    for (guint i = 0;
         run->ranks[r].clock.ops && i < run->ranks[r].clock.ops->len; i++)
      add_op(&run->ranks[r], &g_array_index(run->ranks[r].clock.ops, RunOp, i),
             trace);
}

double
ra_run_pace(const RaRun *run)
{
  RaCpuTime all = {0};

  g_return_val_if_fail(run != NULL, 0);
  if (!run->backend->is_host || run->options.cpu_clock ||
      run->options.n_threads > 1)
    return 0;
  for (uint32_t r = 0; r < run->n_ranks; r++) {
    all.wall_s += run->ranks[r].clock.paced.wall_s;
    all.cpu_s += run->ranks[r].clock.paced.cpu_s;
  }
  return all.cpu_s > 0 ? all.wall_s / all.cpu_s : 0;
}
