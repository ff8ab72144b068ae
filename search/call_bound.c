#include "config.h"

#include "search/call_bound.h"

/* Of a thousand terms; rounding is some 10^-13 of them. */
#define ROUNDING (1 - 1e-9)

/* A call while it is bounded. */
typedef struct {
  const RaEstimator *estimator;
  const RaCallMemory *c;
  RaShard shard; /* without gathers, which only add */
  const RaCallPlan *plan;
  const RaCallLoad *load;
} Subject;

/* What a pass of a micro-batch computes on a piece. */
static double
pass_s(const Subject *s, const RaPiece *piece, RaPhase phase)
{
  RaWork work = {.shard = 0,
                 .phase = (uint8_t)phase,
                 .piece = *piece,
                 .batch = s->load->batch};
  RaTaskGraph graph = {
      .n_works = 1, .works = &work, .n_shards = 1, .shards = &s->shard};
  RaCost cost;

  ra_estimator_work(s->estimator, &graph, 0, &cost);
  return cost.compute_s;
}

/* Pieces between the first and the last are alike if they have as many layers
 * of a dense model: asked once. */
static gboolean
is_like_before(const Subject *s, uint32_t piece)
{
  return piece >= 2 && piece + 1 < s->c->n_pieces &&
         s->c->shard.model->n_experts == 0 &&
         s->c->pieces[piece].n_layers == s->c->pieces[piece - 1].n_layers;
}

/* The most that a stage computes for one micro-batch. */
static double
slowest_stage_s(const Subject *s, gboolean backward)
{
  g_autofree double *stage_s = g_new0(double, s->plan->pp);
  double most_s = 0, piece_s = 0;

  for (uint32_t u = 0; u < s->c->n_pieces; u++) {
    if (!is_like_before(s, u)) {
      piece_s = pass_s(s, &s->c->pieces[u], RA_PHASE_FORWARD);
      if (backward)
        piece_s += pass_s(s, &s->c->pieces[u], RA_PHASE_BACKWARD);
    }
    stage_s[u % s->plan->pp] += piece_s;
  }
  for (uint32_t p = 0; p < s->plan->pp; p++)
    most_s = MAX(most_s, stage_s[p]);
  return most_s;
}

/* A decode step of all groups with the least that can be in the cache; 0 where
 * groups are not alike. */
static double
step_s(const Subject *s, uint32_t n_sequences, uint32_t prompt)
{
  uint32_t share = n_sequences / s->plan->dp;
  uint32_t n_groups = s->plan->n_micro_batches, n = share / n_groups;
  double most_s = 0, sum_s = 0, piece_s = 0;

  if (n == 0 || share % n_groups != 0)
    return 0;
  for (uint32_t u = 0; u < s->c->n_pieces; u++) {
    RaDecodeLine line;
    if (!is_like_before(s, u)) {
      ra_estimator_decode(s->estimator, &s->shard, &s->c->pieces[u], n,
                          (uint64_t)n * prompt, &line);
      piece_s = line.cost.total_s;
    }
    most_s = MAX(most_s, piece_s);
    sum_s += piece_s;
  }
  return MAX(most_s * n_groups, sum_s);
}

double
ra_call_bound_s(const RaEstimator *estimator, const RaMemory *memory,
                uint32_t call, const RaCallLoad *load, double *out_n_tasks)
{
  const RaWorkload *w = memory->plan->workload;
  const RaCall *c = &w->calls[call];
  Subject s = {.estimator = estimator,
               .c = &memory->calls[call],
               .shard = memory->calls[call].shard,
               .plan = &memory->plan->calls[call],
               .load = load};
  gboolean trains = c->kind == RA_CALL_TRAIN;
  double m = s.plan->n_micro_batches, n = m, bound_s;
  uint32_t response = w->response_length.kind == RA_LENGTH_FIXED
                          ? (uint32_t)ra_length_mean(&w->response_length)
                          : 0;

  s.shard.zero_ranks = 0;
  if (trains)
    n *= c->n_mini_batches * c->n_epochs;
  else if (c->kind == RA_CALL_INFERENCE)
    n *= c->n_parts;
  *out_n_tasks = n * s.c->n_pieces * (trains ? 4 : 2);
  if (c->kind == RA_CALL_GENERATE && s.plan->pp > 1)
    *out_n_tasks += m * s.plan->pp * response;
  if (w->prompt_length.kind != RA_LENGTH_FIXED || response == 0)
    return 0;
  bound_s = n * slowest_stage_s(&s, trains);
  if (c->kind == RA_CALL_GENERATE)
    bound_s +=
        (response - 1) *
        step_s(&s, c->n_sequences, (uint32_t)ra_length_mean(&w->prompt_length));
  return bound_s * ROUNDING;
}
