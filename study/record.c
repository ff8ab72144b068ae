/* Tasks and their times as rows. */
#include "config.h"

#include <string.h>

#include "graph/op.h"
#include "study/record.h"

#define NAME_BYTES 512 /* of a task's name: call names are at most 64 each */

/* What a work does on one GPU. */
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

static void
set_head(RaTrace *trace, const RaTaskGraph *graph)
{
  const RaPlan *plan = graph->augmented->plan;
  g_autofree char *seed = g_strdup_printf("%" G_GUINT64_FORMAT, graph->seed);
  g_autofree char *gpus = g_strdup_printf("%u", plan->cluster->gpus_per_node);

  ra_trace_set_head(trace, "source", "simulate");
  ra_trace_set_head(trace, "seed", seed);
  set_file(trace, "workload", plan->workload->file);
  set_file(trace, "cluster", plan->cluster->file);
  set_file(trace, "plan", plan->file);
  ra_trace_set_head(trace, "gpus-per-node", gpus);
}

RaTrace *
ra_record(const RaSim *sim, const RaTaskGraph *graph)
{
  g_return_val_if_fail(sim != NULL && graph != NULL, NULL);

  const RaSimResult *result = ra_sim_result(sim);
  RaTrace *trace = ra_trace_new();
  g_autofree Amount *amounts = amounts_of(graph);
  g_auto(GStrv) ranks = g_new0(char *, (gsize)graph->n_groups + 1);
  char name[NAME_BYTES];

  for (uint32_t i = 0; i < graph->n_groups; i++) {
    ranks[i] = ra_group_ranks(graph, i);
    if (strcmp(ranks[i], "-") == 0)
      ranks[i][0] = '\0';
  }
  for (RaTaskId i = 0; i < graph->n_tasks; i++) {
    const RaNode *node = &graph->augmented->nodes[graph->node[i]];
    RaTraceRow row = {
        .name = name,
        .iteration = node->iteration,
        .call = call_of(graph, node),
        .kind = ra_task_kind_name((RaTaskKind)graph->kind[i]),
        .ranks = ranks[graph->group[i]],
        .stream = ra_stream_name((RaStream)graph->stream[i]),
        .begin_s = result->begin_s[i],
        .end_s = result->end_s[i],
    };

    if (graph->kind[i] == RA_TASK_JOIN)
      continue;
    ra_task_name(graph, i, name, sizeof name);
    if (graph->work[i] != RA_NONE) {
      row.flop = amounts[graph->work[i]].flop;
      row.bytes = amounts[graph->work[i]].bytes;
    }
    ra_trace_add(trace, &row);
  }
  ra_trace_sort(trace);
  set_head(trace, graph);
  return trace;
}
