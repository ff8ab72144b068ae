/* Scores of plans from a replay: times, and memory. */
#include "config.h"

#include <math.h>

#include "search/evaluate/evaluate_impl.h"

/* As ra_memory_total(). */
static double
total_bytes(const RaEvaluator *e, double used)
{
  RaPlan plan = {.cluster = e->space->cluster};
  RaMemory memory = {.plan = &plan};

  return ra_memory_total(&memory, used);
}

static void
fill_score(const RaEvaluator *e, guint lane, RaScore *out)
{
  uint32_t n = e->n_iterations;
  double first = e->iteration_s[0].of[lane];
  double last = first;

  /* An iteration ends no later than one that ends after it. */
  for (uint32_t k = 1; k < n; k++)
    last = MAX(last, e->iteration_s[k].of[lane]);
  out->run_s = last / n;
  out->iteration_s =
      n > 1 ? (e->iteration_s[n - 1].of[lane] - first) / (n - 1) : out->run_s;
  out->makespan_s = e->makespan_s->of[lane];
  out->peak_bytes = total_bytes(e, e->most_bytes->of[lane]);
  out->over_bytes = 0;
  out->is_exact = FALSE;
  out->is_bound = FALSE;
}

void
ra_evaluator_relaxed(RaEvaluator *evaluator, guint n, double *out_run_s)
{
  guint done = 0;

  g_return_if_fail(n <= RA_LANES);
  ra_evaluator_memory_bound(evaluator);
  for (guint first = 0; first < n; first++) {
    const RaFlatGraphUse *use = evaluator->lanes[first].use;
    if (done >> first & 1)
      continue;
    ra_evaluator_replay(evaluator, use);
    for (guint lane = first; lane < n; lane++) {
      RaScore score;
      if (evaluator->lanes[lane].use != use)
        continue;
      done |= 1u << lane;
      fill_score(evaluator, lane, &score);
      out_run_s[lane] = score.run_s;
    }
  }
}

double
ra_evaluator_realloc_s(const RaEvaluator *evaluator, guint lane, uint32_t call)
{
  return evaluator->realloc_s[call].of[lane];
}

uint16_t
ra_evaluator_meets(const RaEvaluator *evaluator, guint lane, uint32_t call)
{
  uint16_t meets = 0;

  for (uint32_t d = 0; d < evaluator->n_calls; d++)
    if (d != call && evaluator->overlap[call * evaluator->n_calls + d].of[lane])
      meets |= (uint16_t)(1u << d);
  return meets;
}

/* TRUE if a call has GPUs of a rollout service, which shares none. */
static gboolean
disturbs_service(const RaEvaluator *e, guint lane)
{
  const RaLane1 *l = &e->lanes[lane];

  for (uint32_t c = 0; e->space->services && c < e->n_calls; c++)
    for (uint32_t d = 0; l->candidate[c]->plan.service && d < e->n_calls; d++)
      if (d != c && l->layout[d] != RA_NONE &&
          e->overlap[c * e->n_calls + d].of[lane])
        return TRUE;
  return FALSE;
}

gboolean
ra_evaluator_certainly_over(RaEvaluator *evaluator, guint lane)
{
  double limit = evaluator->limit_bytes;

  if (disturbs_service(evaluator, lane))
    return TRUE;
  return total_bytes(evaluator, evaluator->most_bytes->of[lane]) > limit &&
         total_bytes(evaluator,
                     (double)ra_evaluator_least_bytes(evaluator, lane)) > limit;
}

void
ra_evaluator_exact_peak(RaEvaluator *evaluator, guint lane,
                        RaScore *inout_score)
{
  double limit = evaluator->limit_bytes;
  uint32_t kind;
  uint64_t used = ra_evaluator_most_bytes(evaluator, lane, &kind);

  if (evaluator->n_kind_sets > 1) {
    used -= evaluator->lack_bytes[kind];
    limit = ra_cluster_memory_bytes(evaluator->space->cluster, 1u << kind);
  }
  inout_score->peak_bytes = total_bytes(evaluator, (double)used);
  inout_score->over_bytes = disturbs_service(evaluator, lane)
                                ? limit
                                : MAX(inout_score->peak_bytes - limit, 0.0);
  inout_score->is_exact = TRUE;
}

/* A GPU that is over by all of itself costs so many times the plan. */
#define OVER_FACTOR 10

double
ra_evaluator_penalised_s(const RaEvaluator *evaluator, const RaScore *score)
{
  return score->run_s *
         (1 + OVER_FACTOR * score->over_bytes / evaluator->limit_bytes);
}

/* Computes the exact peak, unless the bytes that are certainly on a GPU are
 * already too many for @limit_s. */
static void
weigh_peak(RaEvaluator *e, guint lane, double limit_s, RaScore *score)
{
  double limit = e->limit_bytes;
  double least = total_bytes(e, (double)ra_evaluator_least_bytes(e, lane));

  score->over_bytes = MAX(least - limit, 0.0);
  if (ra_evaluator_penalised_s(e, score) <= limit_s)
    ra_evaluator_exact_peak(e, lane, score);
}

void
ra_evaluator_run(RaEvaluator *evaluator, guint n, RaScore *out_scores)
{
  for (guint lane = 0; lane < n; lane++)
    ra_simd_learn(evaluator, lane);
  ra_evaluator_run_asked(evaluator, (1u << n) - 1, NULL, out_scores);
}

void
ra_evaluator_run_asked(RaEvaluator *evaluator, guint lanes,
                       const double *limit_s, RaScore *out_scores)
{
  double limit = evaluator->limit_bytes;

  g_return_if_fail(lanes < 1u << RA_LANES);
  ra_evaluator_memory_bound(evaluator);
  while (lanes) {
    guint first = (guint)g_bit_nth_lsf(lanes, -1);
    const RaFlatGraphUse *use = evaluator->lanes[first].use;

    ra_evaluator_replay(evaluator, use);
    for (guint lane = first; lane < RA_LANES; lane++) {
      const RaLane1 *l = &evaluator->lanes[lane];
      RaScore *score = &out_scores[lane];
      if (!(lanes >> lane & 1) || l->use != use)
        continue;
      lanes &= ~(1u << lane);
      fill_score(evaluator, lane, score);
      score->is_bound = (l->unknown | l->unasked) != 0;
      if (limit_s && score->run_s > limit_s[lane])
        score->over_bytes = MAX(score->peak_bytes - limit, 0.0);
      else if (score->peak_bytes > limit && limit_s)
        weigh_peak(evaluator, lane, limit_s[lane], score);
      else if (score->peak_bytes > limit || disturbs_service(evaluator, lane))
        ra_evaluator_exact_peak(evaluator, lane, score);
    }
  }
}

void
ra_evaluate(RaEvaluator *evaluator, const RaPoint *point, RaScore *out_score)
{
  ra_evaluator_set(evaluator, 0, point);
  ra_evaluator_run(evaluator, 1, out_score);
  if (!out_score->is_exact)
    ra_evaluator_exact_peak(evaluator, 0, out_score);
}

const RaFlatGraph *
ra_evaluator_program(const RaEvaluator *evaluator, guint lane)
{
  return evaluator->lanes[lane].use->program;
}

uint32_t
ra_evaluator_n_nodes(const RaEvaluator *evaluator, guint lane)
{
  return evaluator->lanes[lane].use->program->n_nodes;
}

const RaEvaluatorWork *
ra_evaluator_work(const RaEvaluator *evaluator)
{
  return &evaluator->work;
}
