/* Shares of the critical path by cause and op. */
#include "config.h"

#include "sim/breakdown.h"
#include "sim/path_share.h"
#include "sim/task_class.h"

/* A path in the making. */
typedef struct {
  const RaTaskGraph *graph;     /* borrowed */
  const RaEstimator *estimator; /* borrowed */
  GArray *shares;               /* RaPathShare */
} Path;

const char *
ra_cause_name(RaCause cause)
{
  static const char *const names[RA_N_CAUSES] = {
      [RA_CAUSE_COMPUTE] = "compute",
      [RA_CAUSE_COMM] = "communication",
      [RA_CAUSE_HOST] = "host",
      [RA_CAUSE_BUBBLE] = "bubble",
      [RA_CAUSE_STRAGGLER] = "stragglers",
      [RA_CAUSE_INTERFERENCE] = "interference",
      [RA_CAUSE_CONTENTION] = "contention",
      [RA_CAUSE_DATA] = "data",
      [RA_CAUSE_MEMORY] = "memory",
  };

  g_return_val_if_fail(cause < RA_N_CAUSES, "?");
  return names[cause];
}

const char *
ra_reach_name(RaReach reach)
{
  return reach == RA_REACH_NODE      ? "node"
         : reach == RA_REACH_NETWORK ? "network"
                                     : "-";
}

static RaReach
reach_of(const RaOp *op)
{
  switch ((RaOpKind)op->kind) {
  case RA_OP_ALL_REDUCE:
  case RA_OP_REDUCE_SCATTER:
  case RA_OP_ALL_GATHER:
  case RA_OP_ALL_TO_ALL:
  case RA_OP_BROADCAST:
    return op->dim[2] < op->dim[1] ? RA_REACH_NETWORK : RA_REACH_NODE;
  case RA_OP_SEND:
    return op->dim[1] ? RA_REACH_NETWORK : RA_REACH_NODE;
  case RA_OP_REALLOC:
    return op->dim[1] ? RA_REACH_NETWORK : RA_REACH_NODE;
  default:
    return RA_REACH_NONE;
  }
}

static void
add(Path *path, RaCause cause, const RaOp *op, RaTaskKind task, double time_s)
{
  RaPathShare share = {.cause = (uint8_t)cause,
                       .op = op ? op->kind : RA_N_OPS,
                       .task = (uint8_t)(op ? 0 : task),
                       .reach = op ? (uint8_t)reach_of(op) : RA_REACH_NONE,
                       .time_s = time_s};

  if (!(time_s > 0))
    return;
  for (guint i = 0; i < path->shares->len; i++) {
    RaPathShare *at = &g_array_index(path->shares, RaPathShare, i);

    if (at->cause == share.cause && at->op == share.op &&
        at->task == share.task && at->reach == share.reach) {
      at->time_s += time_s;
      return;
    }
  }
  g_array_append_val(path->shares, share);
}

/* A task with a list of ops: its computation and communication, each split by
 * what the ops take; what is seen of none, as all hide behind others and
 * something is left all the same, is the task's. */
static void
add_list(Path *path, uint32_t work, RaTaskKind task, const RaCost *cost)
{
  double op_s[RA_OP_LIST_MAX], seen_s[RA_OP_LIST_MAX], sum_s[2] = {0, 0};
  const double cause_s[2] = {cost->compute_s, cost->comm_s};
  RaOp ops[RA_OP_LIST_MAX];
  guint n = ra_work_ops(path->graph, work, ops);

  ra_estimator_work_op_s(path->estimator, path->graph, work, ops, n, op_s,
                         seen_s);
  for (guint i = 0; i < n; i++) {
    seen_s[i] *= ops[i].count;
    sum_s[ra_op_class((RaOpKind)ops[i].kind) != RA_OP_CLASS_COMPUTE] +=
        seen_s[i];
  }
  add(path, RA_CAUSE_COMPUTE, NULL, task, sum_s[0] > 0 ? 0 : cause_s[0]);
  add(path, RA_CAUSE_COMM, NULL, task, sum_s[1] > 0 ? 0 : cause_s[1]);
  for (guint i = 0; i < n; i++) {
    gboolean comm = ra_op_class((RaOpKind)ops[i].kind) != RA_OP_CLASS_COMPUTE;

    if (sum_s[comm] > 0)
      add(path, comm ? RA_CAUSE_COMM : RA_CAUSE_COMPUTE, &ops[i],
          RA_TASK_FORWARD, cause_s[comm] * (seen_s[i] / sum_s[comm]));
  }
}

static gboolean
ranks_differ(const RaTaskGraph *graph)
{
  const RaCluster *cluster = graph->augmented->plan->cluster;

  return graph->fidelity == RA_FIDELITY_OP && ra_cluster_ranks_differ(cluster);
}

static void
add_device(Path *path, RaTaskId task, const RaCost *cost, double added_s,
           double late_s)
{
  const RaTaskGraph *g = path->graph;
  RaTaskKind kind = (RaTaskKind)g->kind[task];
  uint32_t work = g->work[task];
  double causes_s = cost->compute_s + cost->comm_s + cost->host_s;

  if (work != RA_NONE && g->works[work].shard != RA_NONE) {
    add_list(path, work, kind, cost);
  } else {
    const RaOp *op = work != RA_NONE ? &g->works[work].op : NULL;

    add(path, RA_CAUSE_COMPUTE, op, kind, cost->compute_s);
    add(path, RA_CAUSE_COMM, op, kind, cost->comm_s);
  }
  add(path, RA_CAUSE_HOST, NULL, kind, cost->host_s);
  add(path,
      ranks_differ(g) && kind != RA_TASK_DECODE ? RA_CAUSE_STRAGGLER
                                                : RA_CAUSE_BUBBLE,
      NULL, kind, cost->total_s - causes_s);
  add(path, RA_CAUSE_INTERFERENCE, NULL, kind, added_s - late_s);
  add(path, RA_CAUSE_CONTENTION, NULL, kind, late_s);
}

static void
add_task(Path *path, RaTaskId task, const RaCost *cost, double added_s,
         double late_s)
{
  const RaTaskGraph *g = path->graph;
  RaTaskKind kind = (RaTaskKind)g->kind[task];
  RaTaskClass class = ra_task_class(kind);
  const RaOp *op =
      g->work[task] != RA_NONE ? &g->works[g->work[task]].op : NULL;
  gboolean copies = kind == RA_TASK_OFFLOAD || kind == RA_TASK_RELOAD;

  if (class == RA_TASK_CLASS_DEVICE) {
    add_device(path, task, cost, added_s, late_s);
    return;
  }
  if (class == RA_TASK_CLASS_HOST)
    add(path, RA_CAUSE_HOST, NULL, kind, cost->total_s);
  else if (class == RA_TASK_CLASS_COMM)
    add(path, RA_CAUSE_COMM, op, kind, cost->total_s);
  else
    add(path, copies ? RA_CAUSE_MEMORY : RA_CAUSE_DATA, NULL, kind,
        cost->total_s);
  add(path, RA_CAUSE_CONTENTION, op, kind, added_s);
}

static int
compare_shares(const void *a, const void *b)
{
  const RaPathShare *x = a, *y = b;

  if (x->time_s != y->time_s)
    return x->time_s > y->time_s ? -1 : 1;
  if (x->cause != y->cause)
    return x->cause < y->cause ? -1 : 1;
  return (x->op > y->op) - (x->op < y->op);
}

GArray *
ra_critical_path_shares(const RaSim *sim, const RaTaskGraph *graph,
                        const RaEstimator *estimator)
{
  Path path = {graph, estimator,
               g_array_new(FALSE, FALSE, sizeof(RaPathShare))};
  const RaSimResult *result = ra_sim_result(sim);
  g_autofree RaTaskId *tasks = NULL;
  uint32_t n;

  g_return_val_if_fail(result, NULL);
  tasks = ra_critical_tasks(sim, graph, &n);
  for (uint32_t i = 0; i < n; i++)
    add_task(&path, tasks[i], &ra_sim_costs(sim)[tasks[i]],
             ra_sim_added_s(result, tasks[i]),
             result->late_s ? result->late_s[tasks[i]] : 0);
  g_array_sort(path.shares, compare_shares);
  return path.shares;
}

const char *
ra_cause_what(const RaPathShare *share)
{
  return share->op < RA_N_OPS ? ra_op_name((RaOpKind)share->op)
                              : ra_task_kind_name((RaTaskKind)share->task);
}
