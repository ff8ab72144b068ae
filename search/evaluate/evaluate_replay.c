/* The replay: additions and maxima on all lanes at once.
 *
 * Loops over RA_LANES are written out as such: compilers make vector
 * instructions of them.  A maximum and an addition have one result whatever
 * the width, so results do not depend on it. */
#include "config.h"

#include <string.h>

#include "search/evaluate/evaluate_impl.h"

/* Fills the queues of each switch's node: those of the calls that share a GPU
 * with either of its meshes, where the switch is on. */
RA_INTO void
fill_reach(RaEvaluator *e, const RaFlatGraph *p)
{
  uint32_t n = e->n_calls;

  for (uint32_t s = 0; s < p->n_switches; s++)
    for (uint32_t d = 0; d < n; d++) {
      const RaLaneMask *a = &e->overlap[p->switches[s].call * n + d];
      const RaLaneMask *b = &e->overlap[p->switches[s].source * n + d];
      RaLaneMask *out = &e->reach[s * n + d];
      RA_EACH_LANE(i)
      out->of[i] = (a->of[i] | b->of[i]) & e->on[s].of[i];
    }
}

/* A node that is always there. */
RA_INTO void
run_fixed(RaEvaluator *e, const RaFlatGraph *p, uint32_t id)
{
  const RaFlatGraphNode *node = &p->nodes[id];
  const uint16_t *pred = &p->preds[node->pred];
  uint32_t n = e->n_calls, a = node->mesh_a, b = node->mesh_b;
  RaLaneReal *queue = &e->queue[node->queue * n];
  const RaLaneReal *duration = &e->duration_s[node->slot];
  RaLaneReal begin = {{0}};
  RaLaneReal end;

  for (uint32_t k = 0; k < node->n_always; k++)
    ra_simd_max(&begin, &e->end_s[pred[k]]);
  if (a != RA_FLAT_GRAPH_NONE)
    ra_simd_max(&begin, &queue[a]);
  if (b != RA_FLAT_GRAPH_NONE)
    ra_simd_max(&begin, &queue[b]);
  RA_EACH_LANE(i) end.of[i] = begin.of[i] + duration->of[i];
  e->begin_s[id] = begin;
  e->end_s[id] = end;
  for (uint32_t d = 0; d < n && a != RA_FLAT_GRAPH_NONE; d++)
    ra_simd_max_where(&queue[d], &end, &e->overlap[a * n + d]);
  for (uint32_t d = 0; d < n && b != RA_FLAT_GRAPH_NONE; d++)
    ra_simd_max_where(&queue[d], &end, &e->overlap[b * n + d]);
}

/* A node that may be off, always with two meshes. */
RA_INTO void
run_switched(RaEvaluator *e, const RaFlatGraph *p, uint32_t id)
{
  const RaFlatGraphNode *node = &p->nodes[id];
  const uint16_t *pred = &p->preds[node->pred];
  uint32_t n = e->n_calls;
  RaLaneReal *queue = &e->queue[node->queue * n];
  const RaLaneMask *on = &e->on[node->switch_at];
  const RaLaneReal *duration = &e->duration_s[node->slot];
  RaLaneReal begin = {{0}}, late;
  RaLaneReal end;

  for (uint32_t k = 0; k < node->n_always; k++)
    ra_simd_max(&begin, &e->end_s[pred[k]]);
  late = queue[node->mesh_a];
  ra_simd_max(&late, &queue[node->mesh_b]);
  for (uint32_t k = 0; k < node->n_on; k++)
    ra_simd_max(&late, &e->end_s[pred[node->n_always + k]]);
  ra_simd_max_where(&begin, &late, on);
  RA_EACH_LANE(i)
  end.of[i] = begin.of[i] + ra_simd_masked(duration->of[i], on->of[i]);
  e->begin_s[id] = begin;
  e->end_s[id] = end;
  for (uint32_t d = 0; d < n; d++)
    ra_simd_max_where(&queue[d], &end, &e->reach[node->switch_at * n + d]);
}

RA_WIDEST static void
replay(RaEvaluator *e, const RaFlatGraph *p)
{
  memset(e->queue, 0, RA_N_QUEUES * e->n_calls * sizeof *e->queue);
  memset(e->iteration_s, 0, e->n_iterations * sizeof *e->iteration_s);
  memset(e->makespan_s, 0, sizeof *e->makespan_s);
  fill_reach(e, p);
  for (uint32_t id = 0; id < p->n_nodes; id++) {
    const RaFlatGraphNode *node = &p->nodes[id];

    if (node->switch_at == RA_FLAT_GRAPH_NONE)
      run_fixed(e, p, id);
    else
      run_switched(e, p, id);
    if (node->is_call)
      ra_simd_max(&e->iteration_s[node->iteration], &e->end_s[id]);
    ra_simd_max(e->makespan_s, &e->end_s[id]);
  }
}

void
ra_evaluator_replay(RaEvaluator *e, const RaFlatGraphUse *use)
{
  replay(e, use->program);
  e->work.n_replays++;
  e->work.n_nodes += use->program->n_nodes;
}

/* At the first GPU of some mesh as much is held as anywhere: the calls that a
 * GPU is in all have the GPU at which the last of them begins.  With a set
 * among them, no more than by all that share a GPU with it. */
RA_WIDEST static void
memory_bound(RaEvaluator *e)
{
  uint32_t n = e->n_calls;

  memset(e->most_bytes, 0, sizeof *e->most_bytes);
  for (uint32_t c = 0; c < n; c++) {
    RaLaneReal sum = {{0}}, most = {{0}};
    for (uint32_t d = 0; d < n; d++) {
      const RaLaneMask *share = &e->share[c * n + d];
      RA_EACH_LANE(i)
      sum.of[i] += ra_simd_masked(e->standing[d].of[i], share->of[i]);
      ra_simd_max_where(&most, &e->transient[d], share);
    }
    RA_EACH_LANE(i) sum.of[i] += most.of[i];
    ra_simd_max(e->most_bytes, &sum);
  }
}

void
ra_evaluator_memory_bound(RaEvaluator *e)
{
  memory_bound(e);
}

/* --- the bound of the time --- */

/* Ends of call @c in iteration @k, of calls alone. */
RA_INTO void
bound_call(RaEvaluator *e, uint32_t c, uint32_t k)
{
  const RaCall *call = &e->workload->calls[c];
  uint32_t n = e->n_calls, like = e->n_like == 1 ? 0 : k, lag;
  const RaLaneReal *whole = &e->call_s[c * e->n_like + like];
  const RaLaneReal *last = &e->last_s[c * e->n_like + like];
  RaLaneReal *out = &e->bound_s[k * n + c];
  RaLaneReal begin = {{0}}, chunk = {{0}};

  for (guint i = 0; i < call->n_inputs; i++) {
    uint32_t from = call->inputs[i].producer;
    if (from == RA_NONE)
      continue;
    ra_simd_max(call->inputs[i].n_chunks > 1 ? &chunk : &begin,
                &e->bound_s[k * n + from]);
  }
  lag = ra_space_lag(e->space, c);
  if (e->trainer[c] != RA_NONE && k >= lag) {
    const RaLaneReal *made = &e->bound_s[(k - lag) * n + e->trainer[c]];
    RaLaneReal here;
    RA_EACH_LANE(i) here.of[i] = made->of[i] + e->realloc_s[c].of[i];
    ra_simd_max(&begin, &here);
  }
  if (k > 0 && call->model != RA_NONE)
    ra_simd_max(&begin, &e->bound_s[(k - 1) * n + c]);
  RA_EACH_LANE(i)
  {
    double a = begin.of[i] + whole->of[i], b = chunk.of[i] + last->of[i];
    out->of[i] = a > b ? a : b;
  }
}

RA_WIDEST static void
bound(RaEvaluator *e, RaLaneReal *most)
{
  uint32_t n = e->n_calls;

  for (uint32_t k = 0; k < e->n_iterations; k++)
    for (uint32_t c = 0; c < n; c++)
      bound_call(e, e->workload->order[c], k);
  for (uint32_t c = 0; c < n; c++)
    ra_simd_max(most, &e->bound_s[(e->n_iterations - 1) * n + c]);
  /* Time of a call in all iterations, and of all calls of a GPU. */
  for (uint32_t c = 0; c < n; c++) {
    RaLaneReal *sum = &e->bound_s[c];
    *sum = e->call_s[c * e->n_like];
    for (uint32_t k = 1; k < e->n_like; k++)
      RA_EACH_LANE(i) sum->of[i] += e->call_s[c * e->n_like + k].of[i];
    if (e->n_like == 1)
      RA_EACH_LANE(i) sum->of[i] *= e->n_iterations;
  }
  for (uint32_t c = 0; c < n; c++) {
    RaLaneReal sum = {{0}};
    for (uint32_t d = 0; d < n; d++)
      RA_EACH_LANE(i)
    sum.of[i] += ra_simd_masked(e->bound_s[d].of[i], e->cover[c * n + d].of[i]);
    ra_simd_max(most, &sum);
  }
}

/* Rounding error of a thousand terms is some 10^-13 of them. */
#define ROUNDING (1 - 1e-9)

void
ra_evaluator_bound(RaEvaluator *evaluator, guint n, double *out_run_s)
{
  RaLaneReal most = {{0}};

  g_return_if_fail(n <= RA_LANES);
  bound(evaluator, &most);
  for (guint i = 0; i < n; i++)
    out_run_s[i] = most.of[i] * ROUNDING / evaluator->n_iterations;
}
