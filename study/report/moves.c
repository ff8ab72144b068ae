/* Table of the moves between calls. */
#include "config.h"

#include <string.h>

#include "study/report/moves.h"

#define HOST_NAME "host" /* pinned memory of the nodes */

/* The moves of one kind between two calls. */
typedef struct {
  uint8_t kind;          /* RaNodeKind */
  uint32_t source, call; /* of the nodes */
  uint32_t iteration;    /* of the last one seen */
  uint32_t n_iterations; /* in which there are any */
  gboolean early;        /* all before the first iteration asked for */
  double bytes, wall_s, exposed_s; /* sums */
  double per_gpu_bytes, begin_s;
} Row;

/* Times that tell how much of a move is exposed. */
typedef struct {
  const RaTaskGraph *graph;
  const RaSimResult *result;
  double *other_s; /* (n_tasks) last end of what a task waits for that is no
                      move; 0 for nothing */
} Ends;

static gboolean
is_move(const RaTaskGraph *g, RaTaskId t)
{
  return g->augmented->nodes[g->node[t]].kind != RA_NODE_CALL;
}

static Ends
ends_of(const RaTaskGraph *g, const RaSimResult *result)
{
  Ends ends = {g, result, g_new0(double, g->n_tasks)};

  for (RaTaskId t = 0; t < g->n_tasks; t++)
    for (uint32_t e = g->succ_begin[t];
         !is_move(g, t) && e < g->succ_begin[t + 1]; e++)
      ends.other_s[g->succ[e]] =
          MAX(ends.other_s[g->succ[e]], result->end_s[t]);
  return ends;
}

/* Delay of the tasks of calls that wait for move @t. */
static double
exposed_s(const Ends *ends, RaTaskId t)
{
  const RaTaskGraph *g = ends->graph;
  double end_s = ends->result->end_s[t], most_s = 0;

  for (uint32_t e = g->succ_begin[t]; e < g->succ_begin[t + 1]; e++)
    if (!is_move(g, g->succ[e]))
      most_s = MAX(most_s, end_s - ends->other_s[g->succ[e]]);
  return MIN(most_s, end_s - ends->result->begin_s[t]);
}

/* A copy's bytes, or as the task has them those within a node and beyond. */
static double
busiest_bytes(const RaTaskGraph *g, RaTaskId t)
{
  const RaOp *op = &g->works[g->work[t]].op;

  return op->kind == RA_OP_REALLOC
             ? (double)op->dim[0] + (double)op->dim[1]
             : g->augmented->nodes[g->node[t]].max_copy_bytes;
}

static Row *
row_of(GArray *rows, const RaNode *node)
{
  Row row = {.kind = node->kind,
             .source = node->source,
             .call = node->call,
             .iteration = RA_NONE,
             .early = TRUE};

  for (guint i = 0; i < rows->len; i++) {
    Row *at = &g_array_index(rows, Row, i);
    if (at->kind == node->kind && at->source == node->source &&
        at->call == node->call)
      return at;
  }
  g_array_append_val(rows, row);
  return &g_array_index(rows, Row, rows->len - 1);
}

static void
add(Row *row, const Ends *ends, RaTaskId t, uint32_t first)
{
  uint32_t node_id = ends->graph->node[t];
  const RaNode *node = &ends->graph->augmented->nodes[node_id];
  double begin_s = ends->result->begin_s[t];

  if (row->early && node->iteration >= first)
    *row = (Row){.kind = row->kind,
                 .source = row->source,
                 .call = row->call,
                 .iteration = RA_NONE};
  else if (!row->early && node->iteration < first)
    return;
  if (row->n_iterations == 0)
    row->begin_s = begin_s;
  row->n_iterations += row->iteration != node->iteration;
  row->iteration = node->iteration;
  row->bytes += node->kind == RA_NODE_TRANSFER
                    ? (double)ends->graph->transfer_bytes[node_id]
                    : node->bytes;
  row->per_gpu_bytes = MAX(row->per_gpu_bytes, busiest_bytes(ends->graph, t));
  row->wall_s += ends->result->end_s[t] - begin_s;
  row->exposed_s += exposed_s(ends, t);
}

static int
compare_rows(gconstpointer a, gconstpointer b)
{
  const Row *p = a, *q = b;
  double p_s = p->wall_s / p->n_iterations, q_s = q->wall_s / q->n_iterations;

  if (p_s != q_s)
    return p_s < q_s ? 1 : -1;
  if (p->kind != q->kind)
    return p->kind < q->kind ? -1 : 1;
  if (p->source != q->source)
    return p->source < q->source ? -1 : 1;
  return p->call < q->call ? -1 : p->call > q->call;
}

static void
write_row(RaTable *table, const RaWorkload *workload, const Row *row)
{
  const char *call = workload->calls[row->call].name;
  const char *from = row->source != RA_NONE && row->kind != RA_NODE_OFFLOAD
                         ? workload->calls[row->source].name
                         : call;

  ra_table_row(table);
  ra_table_text(table, ra_node_kind_name((RaNodeKind)row->kind));
  ra_table_text(table, row->kind == RA_NODE_RELOAD ? HOST_NAME : from);
  ra_table_text(table, row->kind == RA_NODE_OFFLOAD ? HOST_NAME : call);
  ra_table_real(table, row->bytes / row->n_iterations);
  ra_table_real(table, row->per_gpu_bytes);
  ra_table_real(table, row->begin_s);
  ra_table_real(table, row->wall_s / row->n_iterations);
  ra_table_real(table, row->exposed_s / row->n_iterations);
}

RaTable *
ra_moves_table(const RaTaskGraph *graph, const RaSim *sim, uint32_t first)
{
  RaTable *table = ra_table_new("moves");
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(Row));
  Ends ends = ends_of(graph, ra_sim_result(sim));

  ra_table_column(table, "move", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "from", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "to", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "bytes", RA_UNIT_BYTES, RA_CELL_REAL);
  ra_table_column(table, "per_gpu_bytes", RA_UNIT_BYTES, RA_CELL_REAL);
  ra_table_column(table, "begin_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "wall_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "exposed_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  for (RaTaskId t = 0; t < graph->n_tasks; t++)
    if (is_move(graph, t) && graph->kind[t] != RA_TASK_JOIN)
      add(row_of(rows, &graph->augmented->nodes[graph->node[t]]), &ends, t,
          first);
  g_array_sort(rows, compare_rows);
  for (guint i = 0; first > 0 && i < rows->len; i++)
    g_array_index(rows, Row, i).begin_s -=
        ra_sim_result(sim)->iteration_end_s[first - 1];
  for (guint i = 0; i < rows->len; i++)
    write_row(table, graph->augmented->plan->workload,
              &g_array_index(rows, Row, i));
  g_free(ends.other_s);
  return table;
}
