/* A search space with its costs, random plans of it, and their simulation, for
 * tests of search against simulate. */
#ifndef RA_TESTS_SUPPORT_SEARCH_CASE_H
#define RA_TESTS_SUPPORT_SEARCH_CASE_H

#include <string.h>

#include "base/rng.h"
#include "graph/expand/expand.h"
#include "graph/input/plan_write.h"
#include "search/evaluate/evaluate.h"
#include "sim/breakdown.h"
#include "sim/memory_replay.h"
#include "study/setup.h"
#include "tests/support/check_main.h"

enum { SEARCH_CASE_ITERATIONS = 3, SEARCH_CASE_SEED = 7 };

typedef struct {
  RaSetup *setup;
  RaSpace *space;
  RaCostTable *costs;
  RaEvaluator *evaluator;
  RaRng rng;
} SearchCase;

/* Advances to the next point, like an odometer; FALSE: that was the last. */
static inline gboolean
search_next_point(const RaSpace *space, uint32_t n_calls, RaPoint *point)
{
  for (uint32_t i = 0; i < n_calls; i++) {
    RaChoice *choice = &point->calls[i];
    const RaSpaceCall *call = &space->calls[i];

    if (++choice->position < call->candidates[choice->candidate].n_positions)
      return TRUE;
    choice->position = 0;
    if (++choice->candidate < call->n)
      return TRUE;
    choice->candidate = 0;
  }
  return FALSE;
}

/* @system: nullable */
static inline void
search_case_init_system(SearchCase *c, const char *workload,
                        const char *cluster, const char *const *sets,
                        RaSpaceKind kind, const char *const *limits,
                        const char *system)
{
  RaSetupFlags flags = {
      .workload = workload, .cluster = cluster, .sets = sets, .system = system};
  RaSpaceOptions options = {.kind = (int)kind,
                            .n_iterations = SEARCH_CASE_ITERATIONS,
                            .seed = SEARCH_CASE_SEED};
  g_autoptr(GArray) parsed = g_array_new(FALSE, FALSE, sizeof(RaLimit));
  GError *error = NULL;

  memset(c, 0, sizeof *c);
  c->setup = ra_setup_load_pair(&flags, &error);
  ck_assert_msg(c->setup != NULL, "%s", error ? error->message : "");
  for (guint i = 0; limits && limits[i]; i++)
    ck_assert_msg(ra_limits_add(parsed, limits[i], c->setup->workload,
                                c->setup->cluster, &error),
                  "%s", error ? error->message : "");
  options.limits = (const RaLimit *)(void *)parsed->data;
  options.n_limits = parsed->len;
  c->space =
      ra_space_new(c->setup->workload, c->setup->cluster, &options, &error);
  ck_assert_msg(c->space != NULL, "%s", error ? error->message : "");
  c->costs = ra_cost_table_new(c->space, c->setup->estimator, 1, &error);
  ck_assert_msg(c->costs != NULL, "%s", error ? error->message : "");
  c->evaluator = ra_evaluator_new(c->costs);
  c->rng = ra_rng_init(SEARCH_CASE_SEED, 0);
}

static inline void
search_case_init(SearchCase *c, const char *workload, const char *cluster,
                 const char *const *sets, RaSpaceKind kind,
                 const char *const *limits)
{
  search_case_init_system(c, workload, cluster, sets, kind, limits, NULL);
}

static inline void
search_case_clear(SearchCase *c)
{
  ra_evaluator_free(c->evaluator);
  ra_cost_table_free(c->costs);
  ra_space_free(c->space);
  ra_setup_free(c->setup);
}

static inline uint32_t
search_case_below(SearchCase *c, uint32_t n)
{
  return (uint32_t)ra_rng_below(&c->rng, n);
}

static inline RaChoice
search_case_choice(SearchCase *c, uint32_t call)
{
  RaChoice choice = {search_case_below(c, c->space->calls[call].n), 0};
  const RaCandidate *k = &c->space->calls[call].candidates[choice.candidate];

  choice.position = search_case_below(c, k->n_positions);
  return choice;
}

/* A random point.  Half of the calls use the GPUs of an earlier call if they
 * can, as equal layouts are rare otherwise. */
static inline RaPoint
search_case_point(SearchCase *c, gboolean with_host)
{
  const RaWorkload *w = c->setup->workload;
  RaPoint point = {.residency = {0}};

  for (guint i = 0; i < w->n_calls; i++) {
    uint32_t other = i > 0 ? search_case_below(c, i) : 0;
    RaChoice like = point.calls[other];
    const RaCandidate *from = ra_space_candidate(c->space, other, like);
    gboolean copy =
        i > 0 && w->calls[other].model != RA_NONE && search_case_below(c, 2);

    point.calls[i] = search_case_choice(c, i);
    for (uint32_t tries = 0; copy && tries < 200; tries++) {
      uint32_t k = search_case_below(c, c->space->calls[i].n);
      uint32_t at =
          ra_candidate_position(&c->space->calls[i].candidates[k],
                                ra_candidate_begin(from, like.position),
                                ra_candidate_set(from, like.position));

      if (c->space->calls[i].candidates[k].n_gpus != from->n_gpus ||
          at == RA_NONE)
        continue;
      point.calls[i] = (RaChoice){k, at};
      break;
    }
  }
  for (guint m = 0; m < w->n_models; m++)
    point.residency[m] = (uint8_t)search_case_below(c, with_host ? 3 : 2);
  return point;
}

/* The simulator's score at call fidelity. */
static inline RaScore
search_case_simulate(SearchCase *c, const RaPoint *point)
{
  uint32_t n_iterations = c->space->options.n_iterations;
  RaPlan *plan = ra_space_plan_new(c->space, point);
  RaExpandOptions options = {
      .fidelity = RA_FIDELITY_CALL, .seed = SEARCH_CASE_SEED, .fold = TRUE};
  g_autoptr(RaAugmented) augmented =
      ra_augment_drawn(plan, n_iterations, SEARCH_CASE_SEED);
  g_autoptr(RaTaskGraph) graph = NULL;
  g_autoptr(RaSim) sim = NULL;
  g_autoptr(RaMemoryTable) table = NULL;
  g_autoptr(RaMemoryReplay) memory = NULL;
  RaBreakdown *breakdown;
  GError *error = NULL;
  RaScore score = {.is_exact = TRUE};

  graph = ra_expand_with(augmented, &options, &error);
  ck_assert_msg(graph != NULL, "%s", error ? error->message : "");
  sim = ra_sim_new(graph, c->setup->estimator, &error);
  ck_assert(sim && ra_sim_run(sim, &error));
  breakdown = ra_breakdown_new(sim, graph);
  table = ra_memory_table_new(graph);
  memory = ra_memory_replay_new(sim, table);
  score.iteration_s = breakdown->iteration_s;
  score.makespan_s = ra_sim_result(sim)->makespan_s;
  for (uint32_t k = 0; k < n_iterations; k++)
    score.run_s = MAX(score.run_s, ra_sim_result(sim)->iteration_end_s[k]);
  score.run_s /= n_iterations;
  score.peak_bytes = memory->lanes[memory->fullest].peak_bytes;
  ra_breakdown_free(breakdown);
  g_clear_pointer(&table, ra_memory_table_free);
  g_clear_pointer(&sim, ra_sim_free);
  g_clear_pointer(&graph, ra_task_graph_free);
  g_clear_pointer(&augmented, ra_augmented_free);
  ra_space_plan_free(plan);
  return score;
}

static inline gboolean
search_case_same_real(double a, double b)
{
  return memcmp(&a, &b, sizeof a) == 0;
}

static inline gboolean
search_case_same(const RaScore *a, const RaScore *b)
{
  return search_case_same_real(a->run_s, b->run_s) &&
         search_case_same_real(a->iteration_s, b->iteration_s) &&
         search_case_same_real(a->makespan_s, b->makespan_s) &&
         search_case_same_real(a->peak_bytes, b->peak_bytes);
}

/* Asserts that the evaluation equals the simulation and is not below its bound,
 * and that a plan file can express the point. */
static inline void
search_case_compare(SearchCase *c, const RaPoint *point)
{
  RaPlanWords words = {.workload = "x.workload", .cluster = "x.cluster"};
  RaScore expected = search_case_simulate(c, point), score;
  RaPlan *plan = ra_space_plan_new(c->space, point);
  GError *error = NULL;
  g_autofree char *text = ra_plan_write(plan, &words, &error);
  double bound_s;

  ck_assert_msg(text && ra_setup_read_plan(c->setup, "x.plan", text, &error),
                "%s\n%s", error ? error->message : "", text ? text : "");
  ra_evaluate(c->evaluator, point, &score);
  ck_assert_msg(search_case_same(&score, &expected),
                "%.17g s %.17g s %.17g s %.17g B, expected %.17g s %.17g s "
                "%.17g s %.17g B of\n%s",
                score.run_s, score.iteration_s, score.makespan_s,
                score.peak_bytes, expected.run_s, expected.iteration_s,
                expected.makespan_s, expected.peak_bytes, text);
  ra_evaluator_bound(c->evaluator, 1, &bound_s);
  ck_assert_msg(bound_s <= score.run_s, "%g > %g", bound_s, score.run_s);
  ra_space_plan_free(plan);
}

/* Costs anew, as candidates were added. */
static inline void
search_case_compare_added(SearchCase *c, const RaPoint *points, guint n)
{
  ra_evaluator_free(c->evaluator);
  ra_cost_table_free(c->costs);
  c->costs = ra_cost_table_new(c->space, c->setup->estimator, 1, NULL);
  c->evaluator = ra_evaluator_new(c->costs);
  for (guint i = 0; i < n; i++)
    search_case_compare(c, &points[i]);
}

#endif
