/* Tasks and their times as rows of a trace. */
#include "config.h"

#include <string.h>

#include "graph/op/op.h"
#include "sim/breakdown.h"
#include "sim/record.h"
#include "sim/record_decode.h"

#define NAME_BYTES 512 /* of a task's name: call names are at most 64 each */

/* FLOP and bytes of a work on one GPU. */
typedef struct {
  double flop;  /* of all its ops */
  double bytes; /* of all its ops */
} Amount;

static Amount *
amounts_of(const RaTaskGraph *graph)
{
  Amount *amounts = g_new0(Amount, (gsize)graph->n_works + 1);
  RaOp ops[RA_OP_LIST_MAX];

  for (uint32_t i = 0; i < graph->n_works; i++) {
    guint n = ra_work_ops(graph, i, ops);

    for (guint j = 0; j < n; j++) {
      amounts[i].flop += ops[j].count * ra_op_flop(&ops[j]);
      amounts[i].bytes += ops[j].count * ra_op_bytes(&ops[j]);
    }
  }
  return amounts;
}

static const char *
call_of(const RaTaskGraph *graph, const RaNode *node)
{
  if (node->kind != RA_NODE_CALL)
    return ra_node_kind_name((RaNodeKind)node->kind);
  return graph->augmented->plan->workload->calls[node->call].name;
}

static void
set_file(RaTrace *trace, const char *key, RaKeyFile *file)
{
  g_autofree char *name =
      file ? g_path_get_basename(ra_key_file_name(file)) : NULL;

  ra_trace_set_head(trace, key, name);
}

/* The nodes that ops of communication were timed on
 * (traces/measured_trace.h). */
static void
set_nics(RaTrace *trace, const RaCluster *cluster)
{
  g_autofree char *n = g_strdup_printf("%u", cluster->nics_per_node);
  char rate[G_ASCII_DTOSTR_BUF_SIZE];

  if (cluster->nics_per_node == 0)
    return;
  ra_trace_set_head(trace, "nics-per-node", n);
  ra_trace_set_head(
      trace, "nic-bytes-per-s",
      g_ascii_dtostr(rate, sizeof rate, cluster->nic_bytes_per_s));
  if (cluster->nic_latency_s > 0)
    ra_trace_set_head(
        trace, "nic-latency-s",
        g_ascii_dtostr(rate, sizeof rate, cluster->nic_latency_s));
}

static void
set_head(RaTrace *trace, const RaTaskGraph *graph, gboolean have_ops)
{
  const RaPlan *plan = graph->augmented->plan;
  g_autofree char *seed = g_strdup_printf("%" G_GUINT64_FORMAT, graph->seed);
  const RaCluster *cluster = plan->cluster;
  g_autofree char *gpus = g_strdup_printf("%u", cluster->gpus_per_node);

  ra_trace_set_head(trace, "source", "simulate");
  ra_trace_set_head(trace, "seed", seed);
  set_file(trace, "workload", plan->workload->file);
  set_file(trace, "cluster", plan->cluster->file);
  set_file(trace, "plan", plan->file);
  ra_trace_set_head(trace, "gpus-per-node", gpus);
  if (have_ops)
    set_nics(trace, cluster);
}

/* GPUs of every group, as text; NULL-terminated. */
static char **
ranks_of(const RaTaskGraph *graph)
{
  char **ranks = g_new0(char *, (gsize)graph->n_groups + 1);

  for (uint32_t i = 0; i < graph->n_groups; i++) {
    ranks[i] = ra_group_ranks(graph, i);
    if (strcmp(ranks[i], "-") == 0)
      ranks[i][0] = '\0';
  }
  return ranks;
}

static RaTraceRow
row_of(const RaTaskGraph *graph, RaTaskId task, char **ranks)
{
  const RaNode *node = &graph->augmented->nodes[graph->node[task]];

  return (RaTraceRow){
      .iteration = node->iteration,
      .call = call_of(graph, node),
      .kind = ra_task_kind_name((RaTaskKind)graph->kind[task]),
      .ranks = ranks[graph->group[task]],
      .stream = ra_stream_name((RaStream)graph->stream[task]),
  };
}

/* The op of a task of one op, which has no steps; (transfer full): its shape.
 */
static char *
set_op(const RaTaskGraph *graph, RaTaskId task, RaTraceRow *row)
{
  RaOp ops[RA_OP_LIST_MAX];
  char *shape;

  if (graph->work[task] == RA_NONE || row->end_s <= row->begin_s ||
      ra_work_ops(graph, graph->work[task], ops) != 1 || ops[0].count != 1)
    return NULL;
  row->op = ra_op_name((RaOpKind)ops[0].kind);
  row->shape = shape = ra_op_shape(&ops[0]);
  return shape;
}

static void
add_task(RaTrace *trace, const RaSim *sim, const RaTaskGraph *graph,
         char **ranks, const Amount *amounts, RaTaskId task)
{
  const RaSimResult *result = ra_sim_result(sim);
  RaTraceRow row = row_of(graph, task, ranks);
  g_autofree char *shape = NULL;
  char name[NAME_BYTES];

  ra_task_name(graph, task, name, sizeof name);
  row.name = name;
  row.begin_s = result->begin_s[task];
  row.end_s = result->end_s[task];
  if (graph->work[task] != RA_NONE) {
    row.flop = amounts[graph->work[task]].flop;
    row.bytes = amounts[graph->work[task]].bytes;
  }
  if (graph->fidelity == RA_FIDELITY_OP)
    shape = set_op(graph, task, &row);
  ra_trace_add(trace, &row);
}

/* All tasks, or those without steps. */
static void
add_tasks(RaTrace *trace, const RaSim *sim, const RaTaskGraph *graph,
          char **ranks, gboolean have_steps)
{
  g_autofree Amount *amounts = amounts_of(graph);

  for (RaTaskId i = 0; i < graph->n_tasks; i++)
    if (graph->kind[i] != RA_TASK_JOIN &&
        !(have_steps && ra_sim_has_steps(sim, i)))
      add_task(trace, sim, graph, ranks, amounts, i);
  ra_trace_sort(trace);
  set_head(trace, graph, graph->fidelity == RA_FIDELITY_OP);
}

RaTrace *
ra_record_path(const RaSim *sim, const RaTaskGraph *graph)
{
  g_autofree Amount *amounts = amounts_of(graph);
  g_auto(GStrv) ranks = ranks_of(graph);
  RaTrace *trace = ra_trace_new();
  uint32_t n;
  g_autofree RaTaskId *tasks = ra_critical_tasks(sim, graph, &n);
  const RaSimResult *result = ra_sim_result(sim);

  while (n-- > 0)
    if (graph->kind[tasks[n]] != RA_TASK_JOIN &&
        result->end_s[tasks[n]] > result->begin_s[tasks[n]])
      add_task(trace, sim, graph, ranks, amounts, tasks[n]);
  return trace;
}

RaTrace *
ra_record(const RaSim *sim, const RaTaskGraph *graph)
{
  RaTrace *trace;
  g_auto(GStrv) ranks = NULL;

  g_return_val_if_fail(sim != NULL && graph != NULL, NULL);
  trace = ra_trace_new();
  ranks = ranks_of(graph);
  add_tasks(trace, sim, graph, ranks, FALSE);
  return trace;
}

struct _RaRecorder {
  const RaSim *sim;         /* borrowed */
  const RaTaskGraph *graph; /* borrowed */
  RaTrace *trace;           /* owned */
  char **ranks;             /* owned: of the groups */
  RaTaskId task;            /* whose name was asked for last */
  char name[NAME_BYTES];    /* its, and the step's behind it */
  gsize n_name;             /* bytes of the task's */
};

static void
add_step(RaTaskId task, const RaOpCursor *cursor, double begin_s, double end_s,
         void *data)
{
  RaRecorder *r = data;
  const RaOp *op = &cursor->program->ops[cursor->op];
  RaStream stream = (RaStream)r->graph->stream[task];
  RaTraceRow row = row_of(r->graph, task, r->ranks);
  g_autofree char *shape = ra_op_shape(op);

  if (task != r->task) {
    ra_task_name(r->graph, task, r->name, sizeof r->name / 2);
    r->n_name = strlen(r->name);
    r->name[r->n_name++] = '/';
    r->task = task;
  }
  ra_op_step_name(cursor, r->name + r->n_name, sizeof r->name - r->n_name);
  if (ra_op_class((RaOpKind)op->kind) != RA_OP_CLASS_COMPUTE)
    stream = RA_STREAM_TP;
  row.name = r->name;
  row.stream = ra_stream_name(stream);
  row.op = ra_op_name((RaOpKind)op->kind);
  row.shape = shape;
  row.begin_s = begin_s;
  row.end_s = end_s;
  row.flop = ra_op_flop(op);
  row.bytes = ra_op_bytes(op);
  ra_trace_add(r->trace, &row);
}

RaRecorder *
ra_recorder_new(RaSim *sim, const RaTaskGraph *graph)
{
  RaRecorder *r;

  g_return_val_if_fail(sim != NULL && graph != NULL, NULL);
  r = g_new0(RaRecorder, 1);
  r->sim = sim;
  r->graph = graph;
  r->trace = ra_trace_new();
  r->ranks = ranks_of(graph);
  r->task = RA_NONE;
  ra_sim_set_visit(sim, add_step, r);
  return r;
}

void
ra_recorder_free(RaRecorder *r)
{
  if (!r)
    return;
  ra_trace_free(r->trace);
  g_strfreev(r->ranks);
  g_free(r);
}

/* A row of a decode step: with what it has of its task. */
static void
add_decode(RaTaskId task, const RaTraceRow *op, void *data)
{
  const RaRecorder *r = data;
  RaTraceRow row = row_of(r->graph, task, r->ranks);

  row.name = op->name;
  row.op = op->op;
  row.shape = op->shape;
  row.begin_s = op->begin_s;
  row.end_s = op->end_s;
  row.flop = op->flop;
  row.bytes = op->bytes;
  if (op->stream)
    row.stream = op->stream;
  ra_trace_add(r->trace, &row);
}

RaTrace *
ra_recorder_finish(RaRecorder *r, const RaEstimator *decode)
{
  RaTrace *trace;

  if (decode)
    ra_record_decode(r->sim, r->graph, decode, add_decode, r);
  trace = g_steal_pointer(&r->trace);
  add_tasks(trace, r->sim, r->graph, r->ranks, TRUE);
  ra_recorder_free(r);
  return trace;
}
