/* Bound of partly known plans: replay of calls, with energetic reasoning. */
#include "config.h"

#include "search/exact_bound.h"

/* Rounding error of a hundred terms is some 10^-14 of them. */
#define ROUNDING (1 - 1e-9)

/* Nodes are calls of iterations; sets of them are bits. */
#define MAX_NODES 64

struct _RaExactBound {
  const RaWorkload *workload; /* borrowed */
  uint32_t n_calls, n_iterations, n_replayed;
  double n_gpus;
  gboolean is_ordered; /* calls that share GPUs run in program order */
  uint32_t trainer[RA_POINT_MAX];
  uint32_t lag[RA_POINT_MAX]; /* see ra_space_lag() */

  /* of the replay */
  const RaExactCall *calls;
  uint16_t meets[RA_POINT_MAX]; /* bits of calls: share a GPU, all told */
  double begin_s[MAX_NODES], end_s[MAX_NODES];
  uint64_t before[MAX_NODES]; /* what has ended when it ends */
  uint32_t latest[MAX_NODES]; /* nodes, the last to begin first */
  uint32_t n_nodes;
};

RaExactBound *
ra_exact_bound_new(const RaSpace *space, uint32_t n_gpus, uint32_t n_iterations)
{
  const RaWorkload *workload = space->workload;
  RaExactBound *b = g_new0(RaExactBound, 1);

  b->workload = workload;
  b->n_calls = workload->n_calls;
  b->n_gpus = n_gpus;
  b->n_iterations = n_iterations;
  b->n_replayed = MIN(n_iterations, MAX_NODES / b->n_calls);
  b->is_ordered = TRUE;
  for (uint32_t c = 0; c < b->n_calls; c++) {
    const RaCall *call = &workload->calls[c];

    b->is_ordered &= call->n_parts == 1;
    b->lag[c] = ra_space_lag(space, c);
    b->trainer[c] = call->model == RA_NONE
                        ? RA_NONE
                        : ra_workload_trainer(workload, call->model);
  }
  return b;
}

void
ra_exact_bound_free(RaExactBound *bound)
{
  g_free(bound);
}

/* --- a node --- */

typedef struct {
  double begin_s, end_s;
  uint64_t before; /* has ended when it begins */
} Node;

static void
wait_for(const RaExactBound *b, Node *node, uint32_t id, double more_s)
{
  double ready_s = b->end_s[id] + more_s;

  node->begin_s = MAX(node->begin_s, ready_s);
  node->before |= b->before[id] | UINT64_C(1) << id;
}

/* As bound_call() of search/evaluate/evaluate_replay.c.  What is streamed from
 * ends no later than the last part. */
static void
wait_for_all(const RaExactBound *b, Node *node, uint32_t k, uint32_t c)
{
  const RaCall *call = &b->workload->calls[c];
  uint32_t n = b->n_calls, lag = b->lag[c];
  gboolean is_earlier = TRUE;

  for (guint i = 0; i < call->n_inputs; i++) {
    uint32_t from = call->inputs[i].producer;

    if (from != RA_NONE && call->inputs[i].n_chunks <= 1)
      wait_for(b, node, k * n + from, 0);
    else if (from != RA_NONE)
      node->end_s = MAX(node->end_s, b->end_s[k * n + from]);
  }
  if (b->trainer[c] != RA_NONE && k >= lag)
    wait_for(b, node, (k - lag) * n + b->trainer[c], b->calls[c].realloc_s);
  if (k > 0 && call->model != RA_NONE)
    wait_for(b, node, (k - 1) * n + c, 0);
  for (uint32_t i = 0; b->is_ordered && i < n; i++) {
    uint32_t d = b->workload->order[i];

    if (d == c)
      is_earlier = FALSE;
    else if (b->meets[c] >> d & 1 && (is_earlier || k > 0))
      wait_for(b, node, (is_earlier ? k : k - 1) * n + d, 0);
  }
}

/* When all of @set can have ended, as far as GPUs go. */
static double
area_end_s(const RaExactBound *b, uint64_t set)
{
  double gpu_s = 0, most_s = 0;

  for (uint32_t i = 0; i < b->n_nodes; i++) {
    uint32_t id = b->latest[i];
    double end_s;

    if (!(set >> id & 1))
      continue;
    gpu_s += b->calls[id % b->n_calls].gpu_s;
    end_s = b->begin_s[id] + gpu_s / b->n_gpus;
    most_s = MAX(most_s, end_s);
  }
  return most_s;
}

static void
add_node(RaExactBound *b, uint32_t k, uint32_t c)
{
  uint32_t id = k * b->n_calls + c, i;
  Node node = {0, 0, 0};
  double end_s;

  wait_for_all(b, &node, k, c);
  end_s = area_end_s(b, node.before);
  node.begin_s = MAX(node.begin_s, end_s);
  end_s = node.begin_s + b->calls[c].seconds;
  b->begin_s[id] = node.begin_s;
  b->end_s[id] = MAX(node.end_s, end_s);
  b->before[id] = node.before;
  for (i = b->n_nodes++; i > 0; i--) {
    if (b->begin_s[b->latest[i - 1]] >= node.begin_s)
      break;
    b->latest[i] = b->latest[i - 1];
  }
  b->latest[i] = id;
}

/* Whom each call shares GPUs with: by what was said, or as they have more than
 * all between them. */
static void
find_meets(RaExactBound *b)
{
  for (uint32_t c = 0; c < b->n_calls; c++)
    b->meets[c] = 0;
  for (uint32_t c = 0; c < b->n_calls; c++)
    for (uint32_t d = 0; d < b->n_calls; d++) {
      double both = (double)b->calls[c].n_gpus + (double)b->calls[d].n_gpus;

      if (c != d && (both > b->n_gpus || b->calls[c].meets >> d & 1)) {
        b->meets[c] |= (uint16_t)(1u << d);
        b->meets[d] |= (uint16_t)(1u << c);
      }
    }
}

double
ra_exact_bound_s(RaExactBound *bound, const RaExactCall *calls)
{
  double end_s = 0, area_s, gpu_s = 0;

  bound->calls = calls;
  bound->n_nodes = 0;
  find_meets(bound);
  for (uint32_t k = 0; k < bound->n_replayed; k++)
    for (uint32_t i = 0; i < bound->n_calls; i++)
      add_node(bound, k, bound->workload->order[i]);
  for (uint32_t i = 0; i < bound->n_nodes; i++)
    end_s = MAX(end_s, bound->end_s[i]);
  area_s = area_end_s(bound, UINT64_MAX);
  end_s = MAX(end_s, area_s);
  for (uint32_t c = 0; c < bound->n_calls; c++)
    gpu_s += calls[c].gpu_s;
  area_s = gpu_s / bound->n_gpus * bound->n_iterations;
  return MAX(end_s, area_s) * ROUNDING / bound->n_iterations;
}
