/* Times of the ops of works, by kinds of nodes. */
#include "config.h"

#include "estimator/kinds.h"
#include "graph/expand/op_program.h"
#include "sim/op_cost.h"

struct _RaOpCosts {
  const RaTaskGraph *graph;               /* borrowed */
  RaLaunchCost launch[RA_NODE_KINDS_MAX]; /* by kind of node */
  uint32_t *kinds; /* (n_groups) of nodes, bits; NULL: all alike */
  gsize *begin;    /* (n_works, by kinds of nodes) into op_s; G_MAXSIZE: no task
                      of that work is on these */
  uint8_t *slowest; /* (as begin) kind whose times these are */
  double *op_s, *seen_s;
};

/* Where the times of @work on @kinds of nodes begin. */
static gsize
entry_of(const RaOpCosts *c, uint32_t work, uint32_t kinds)
{
  return (gsize)kinds * c->graph->n_works + work;
}

/* The slowest of @kinds for @work. */
static uint8_t
slowest_kind(const RaTaskGraph *graph, const RaEstimator *estimator,
             uint32_t work, uint32_t kinds)
{
  double most_s = -1;
  uint8_t slowest = 0;

  for (guint k = 0; k < ra_estimator_n_kinds(estimator); k++) {
    RaCost cost;

    if (!(kinds >> k & 1))
      continue;
    ra_estimator_work(ra_estimator_kind(estimator, k), graph, work, &cost);
    if (cost.total_s > most_s) {
      most_s = cost.total_s;
      slowest = (uint8_t)k;
    }
  }
  return slowest;
}

/* All ops of @work on @kinds behind the others' times. */
static void
cost_work(RaOpCosts *c, const RaEstimator *estimator, uint32_t work,
          uint32_t kinds, GArray *op_s, GArray *seen_s)
{
  gsize at = entry_of(c, work, kinds);
  guint n = op_s->len;
  RaOpProgram program;

  if (c->begin[at] != G_MAXSIZE || c->graph->works[work].shard == RA_NONE)
    return;
  c->begin[at] = n;
  if (kinds != 0)
    c->slowest[at] = slowest_kind(c->graph, estimator, work, kinds);
  ra_work_program(c->graph, work, &program);
  g_array_set_size(op_s, n + program.n_ops);
  g_array_set_size(seen_s, n + program.n_ops);
  ra_estimator_work_op_s(ra_estimator_kind(estimator, c->slowest[at]), c->graph,
                         work, program.ops, program.n_ops,
                         (double *)(void *)op_s->data + n,
                         (double *)(void *)seen_s->data + n);
}

RaOpCosts *
ra_op_costs_new(const RaTaskGraph *graph, const RaEstimator *estimator)
{
  RaOpCosts *c = g_new0(RaOpCosts, 1);
  guint n_kinds = ra_estimator_n_kinds(estimator);
  gsize n = (gsize)graph->n_works << (n_kinds > 1 ? n_kinds : 0);
  GArray *op_s = g_array_new(FALSE, FALSE, sizeof(double));
  GArray *seen_s = g_array_new(FALSE, FALSE, sizeof(double));

  c->graph = graph;
  for (guint k = 0; k < n_kinds; k++)
    c->launch[k] = ra_estimator_launch(ra_estimator_kind(estimator, k));
  c->begin = g_new(gsize, n + 1);
  c->slowest = g_new0(uint8_t, n + 1);
  for (gsize i = 0; i < n; i++)
    c->begin[i] = G_MAXSIZE;
  if (n_kinds > 1)
    c->kinds = ra_group_kinds_new(graph);
  for (uint32_t work = 0; !c->kinds && work < graph->n_works; work++)
    cost_work(c, estimator, work, 0, op_s, seen_s);
  for (RaTaskId t = 0; c->kinds && t < graph->n_tasks; t++)
    if (graph->work[t] != RA_NONE)
      cost_work(c, estimator, graph->work[t], c->kinds[graph->group[t]], op_s,
                seen_s);
  c->op_s = (double *)(void *)g_array_free(op_s, FALSE);
  c->seen_s = (double *)(void *)g_array_free(seen_s, FALSE);
  return c;
}

void
ra_op_costs_free(RaOpCosts *costs)
{
  if (!costs)
    return;
  g_free(costs->kinds);
  g_free(costs->begin);
  g_free(costs->slowest);
  g_free(costs->op_s);
  g_free(costs->seen_s);
  g_free(costs);
}

RaOpTimes
ra_op_costs_of(const RaOpCosts *c, RaTaskId task)
{
  const RaTaskGraph *g = c->graph;
  gsize at =
      entry_of(c, g->work[task], c->kinds ? c->kinds[g->group[task]] : 0);

  return (RaOpTimes){c->op_s + c->begin[at], c->seen_s + c->begin[at],
                     &c->launch[c->slowest[at]]};
}
