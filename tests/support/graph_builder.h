/* Small handmade task graphs, for tests of their replay.
 *
 * A graph has n_calls calls (c0, c1, ...) in n_iterations iterations, a node
 * for each call and iteration, and more on demand.  Tasks run on lanes given as
 * a bit mask.  The records of the graph (plan, workload, cluster) are open, so
 * a test can fill them further.
 *
 *     TestGraph *g = test_graph_new(2, 8, 1, 1);    2 lanes of 8 GPUs
 *     RaTaskId a = test_graph_task(g, RA_TASK_FORWARD, 0, 1 << 0);
 *     RaTaskId b = test_graph_task(g, RA_TASK_FORWARD, 0, 1 << 1);
 *     test_graph_edge(g, a, b);
 *     ra_sim_new_with_durations(test_graph_finish(g), durations);
 *     test_graph_free(g);
 */
#ifndef RA_TESTS_SUPPORT_GRAPH_BUILDER_H
#define RA_TESTS_SUPPORT_GRAPH_BUILDER_H

#include <math.h>

#include "graph/expand/task.h"

#define TEST_GRAPH_MAX_CALLS 8
#define TEST_GRAPH_MAX_NODES 128
#define TEST_GRAPH_MAX_LANES 32

typedef struct {
  RaTaskGraph graph; /* valid after test_graph_finish() */
  RaAugmented augmented;
  RaPlan plan;
  RaWorkload workload;
  RaCluster cluster;
  RaCall calls[TEST_GRAPH_MAX_CALLS];
  RaNode nodes[TEST_GRAPH_MAX_NODES];
  RaLane lanes[TEST_GRAPH_MAX_LANES];
  uint32_t lane_of_gpu[TEST_GRAPH_MAX_LANES * 8];
  GArray *kind;        /* (uint8_t) */
  GArray *node;        /* (uint32_t) */
  GArray *lane_mask;   /* (uint32_t) */
  GArray *work;        /* (uint32_t) */
  GArray *from, *to;   /* (RaTaskId) edges in the order added */
  GPtrArray *finished; /* blocks of the finished graph */
} TestGraph;

static inline TestGraph *
test_graph_new(uint32_t n_lanes, uint32_t gpus_per_lane, uint32_t n_calls,
               uint32_t n_iterations)
{
  static const char *const names[TEST_GRAPH_MAX_CALLS] = {
      "c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"};
  TestGraph *g = g_new0(TestGraph, 1);

  g_assert(n_lanes <= TEST_GRAPH_MAX_LANES && gpus_per_lane <= 8);
  g_assert(n_calls <= TEST_GRAPH_MAX_CALLS);
  g_assert(n_calls * n_iterations <= TEST_GRAPH_MAX_NODES);
  g->cluster.n_nodes = n_lanes;
  g->cluster.gpus_per_node = gpus_per_lane;
  g->cluster.usd_per_gpu_h = (double)NAN;
  g->workload.calls = g->calls;
  g->workload.n_calls = n_calls;
  for (uint32_t c = 0; c < n_calls; c++)
    g->calls[c] = (RaCall){.name = names[c],
                           .kind = RA_CALL_INFERENCE,
                           .model = RA_NONE,
                           .set = c,
                           .n_mini_batches = 1,
                           .n_epochs = 1,
                           .n_parts = 1};
  g->plan.workload = &g->workload;
  g->plan.cluster = &g->cluster;
  g->augmented.plan = &g->plan;
  g->augmented.n_iterations = n_iterations;
  g->augmented.nodes = g->nodes;
  for (uint32_t i = 0; i < n_iterations; i++)
    for (uint32_t c = 0; c < n_calls; c++)
      g->nodes[g->augmented.n_nodes++] = (RaNode){.kind = RA_NODE_CALL,
                                                  .iteration = i,
                                                  .call = c,
                                                  .source = RA_NONE,
                                                  .n_parts = 1};
  for (uint32_t l = 0; l < n_lanes; l++) {
    g->lanes[l] = (RaLane){l * gpus_per_lane, gpus_per_lane};
    for (uint32_t i = 0; i < gpus_per_lane; i++)
      g->lane_of_gpu[l * gpus_per_lane + i] = l;
  }
  g->graph.n_lanes = n_lanes;
  g->graph.lanes = g->lanes;
  g->graph.lane_of_gpu = g->lane_of_gpu;
  g->graph.augmented = &g->augmented;
  g->graph.fidelity = RA_FIDELITY_STAGE;
  g->kind = g_array_new(FALSE, FALSE, sizeof(uint8_t));
  g->node = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  g->lane_mask = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  g->work = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  g->from = g_array_new(FALSE, FALSE, sizeof(RaTaskId));
  g->to = g_array_new(FALSE, FALSE, sizeof(RaTaskId));
  g->finished = g_ptr_array_new_with_free_func(g_free);
  return g;
}

/* Adds a node of the same call and iteration as node @like. */
static inline uint32_t
test_graph_node(TestGraph *g, RaNodeKind kind, uint32_t like)
{
  RaNode *node = &g->nodes[g->augmented.n_nodes];

  g_assert(g->augmented.n_nodes < TEST_GRAPH_MAX_NODES);
  *node = g->nodes[like];
  node->kind = (uint8_t)kind;
  node->source = node->call;
  return g->augmented.n_nodes++;
}

static inline RaTaskId
test_graph_task(TestGraph *g, RaTaskKind kind, uint32_t node,
                uint32_t lane_mask)
{
  uint8_t k = (uint8_t)kind;
  uint32_t none = RA_NONE;

  g_array_append_val(g->kind, k);
  g_array_append_val(g->node, node);
  g_array_append_val(g->lane_mask, lane_mask);
  g_array_append_val(g->work, none);
  return g->kind->len - 1;
}

static inline void
test_graph_edge(TestGraph *g, RaTaskId from, RaTaskId to)
{
  g_array_append_val(g->from, from);
  g_array_append_val(g->to, to);
}

static inline void *
test_graph_block(TestGraph *g, gsize n, gsize element_bytes)
{
  void *block = g_malloc0(MAX(n, 1) * element_bytes);

  g_ptr_array_add(g->finished, block);
  return block;
}

/* Adds an edge; edges of a task keep their order. */
static inline void
test_graph_edges(TestGraph *g)
{
  uint32_t n = g->graph.n_tasks, n_edges = g->from->len;
  const RaTaskId *from = (const RaTaskId *)(void *)g->from->data;
  const RaTaskId *to = (const RaTaskId *)(void *)g->to->data;
  uint32_t *begin = test_graph_block(g, n + 1, sizeof *begin);
  uint32_t *n_pred = test_graph_block(g, n, sizeof *n_pred);
  RaTaskId *succ = test_graph_block(g, n_edges, sizeof *succ);
  g_autofree uint32_t *next = g_new0(uint32_t, n + 1);

  for (uint32_t e = 0; e < n_edges; e++) {
    begin[from[e] + 1]++;
    n_pred[to[e]]++;
  }
  for (uint32_t t = 0; t < n; t++)
    next[t + 1] = begin[t + 1] += begin[t];
  for (uint32_t e = 0; e < n_edges; e++)
    succ[next[from[e]]++] = to[e];
  g->graph.succ_begin = begin;
  g->graph.succ = succ;
  g->graph.n_pred = n_pred;
}

/* Gives every task a group of its own, and its number as micro-batch, so that
 * names differ. */
static inline void
test_graph_groups(TestGraph *g)
{
  uint32_t n = g->graph.n_tasks;
  uint32_t *group = test_graph_block(g, n, sizeof *group);
  uint32_t *begin = test_graph_block(g, n + 1, sizeof *begin);
  uint32_t *lane =
      test_graph_block(g, (gsize)n * TEST_GRAPH_MAX_LANES, sizeof *lane);
  uint32_t *n_gpus = test_graph_block(g, n, sizeof *n_gpus);
  uint16_t *micro_batch = test_graph_block(g, n, sizeof *micro_batch);
  uint32_t n_lanes = 0;

  for (uint32_t t = 0; t < n; t++) {
    group[t] = t;
    micro_batch[t] = (uint16_t)t;
    begin[t] = n_lanes;
    for (uint32_t l = 0; l < g->graph.n_lanes; l++) {
      if (!(g_array_index(g->lane_mask, uint32_t, t) >> l & 1))
        continue;
      lane[n_lanes++] = l;
      n_gpus[t] += g->lanes[l].n_gpus;
    }
  }
  begin[n] = n_lanes;
  g->graph.group = group;
  g->graph.micro_batch = micro_batch;
  g->graph.n_groups = n;
  g->graph.group_begin = begin;
  g->graph.group_lane = lane;
  g->graph.group_n_gpus = n_gpus;
}

/* The present graph; may be called again after additions. */
static inline const RaTaskGraph *
test_graph_finish(TestGraph *g)
{
  RaTaskGraph *graph = &g->graph;
  uint32_t n = g->kind->len;

  graph->n_tasks = n;
  graph->kind = (const uint8_t *)g->kind->data;
  graph->node = (const uint32_t *)(void *)g->node->data;
  graph->work = (const uint32_t *)(void *)g->work->data;
  graph->stream = test_graph_block(g, n, 1);
  graph->stage = test_graph_block(g, n, sizeof(uint16_t));
  graph->mini_batch = test_graph_block(g, n, sizeof(uint16_t));
  graph->bucket = test_graph_block(g, n, sizeof(uint16_t));
  graph->replica = test_graph_block(g, n, sizeof(uint32_t));
  test_graph_edges(g);
  test_graph_groups(g);
  return graph;
}

static inline void
test_graph_free(TestGraph *g)
{
  g_array_unref(g->kind);
  g_array_unref(g->node);
  g_array_unref(g->lane_mask);
  g_array_unref(g->work);
  g_array_unref(g->from);
  g_array_unref(g->to);
  g_ptr_array_unref(g->finished);
  g_free(g);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TestGraph, test_graph_free)

#endif
