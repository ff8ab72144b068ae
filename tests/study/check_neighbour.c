/* Plans next to a plan, against all of them. */
#include "config.h"

#include <math.h>

#include "search/family/strategy.h"
#include "study/contest/neighbour.h"
#include "study/setup.h"
#include "tests/support/check_main.h"

#define SAME_FRAC 1e-9

typedef struct {
  RaSetup *setup;
  RaSpace *space;
  RaCostTable *costs;
  RaPoint start; /* the plan of the family megatron: every call on all GPUs */
} Case;

static void
case_init(Case *c)
{
  RaSetupFlags flags = {.workload = "ppo-llama2-7b.workload",
                        .cluster = "h100-1n.cluster"};
  RaSpaceOptions space = {.kind = RA_SPACE_REAL, .n_iterations = 3};
  RaStrategyOptions strategy = {.kind = RA_STRATEGY_MEGATRON};
  g_autoptr(RaDraft) draft = NULL;
  g_autofree char *text = NULL;

  c->setup = ra_setup_load_pair(&flags, NULL);
  ck_assert_ptr_nonnull(c->setup);
  c->space = ra_space_new(c->setup->workload, c->setup->cluster, &space, NULL);
  draft = ra_strategy_plan(c->setup->workload, c->setup->cluster,
                           c->setup->estimator, &strategy, NULL);
  text = ra_draft_write(draft, "w", "c", NULL, NULL);
  ck_assert(ra_setup_read_plan(c->setup, "megatron", text, NULL));
  ck_assert(ra_space_add(c->space, c->setup->plan, &c->start));
  c->costs = ra_cost_table_new(c->space, c->setup->estimator, 1, NULL);
  ck_assert_ptr_nonnull(c->costs);
}

static void
case_clear(Case *c)
{
  ra_cost_table_free(c->costs);
  ra_space_free(c->space);
  ra_setup_free(c->setup);
}

/* The least run_s of a plan that differs from @point in one call, fits and
 * takes another time: every candidate at every position, each scored from
 * nothing. */
static double
least_of_all(const Case *c, const RaPoint *point)
{
  RaEvaluator *e = ra_evaluator_new(c->costs);
  double least_s = (double)INFINITY;
  RaScore own, score;

  ra_evaluate(e, point, &own);
  for (uint32_t call = 0; call < c->setup->workload->n_calls; call++)
    for (uint32_t i = 0; i < c->space->calls[call].n; i++)
      for (uint32_t p = 0; ra_cost_table_known_s(c->costs, call, i) &&
                           p < c->space->calls[call].candidates[i].n_positions;
           p++) {
        RaPoint other = *point;

        other.calls[call] = (RaChoice){i, p};
        ra_evaluate(e, &other, &score);
        if (score.over_bytes <= 0 &&
            fabs(score.run_s - own.run_s) > own.run_s * SAME_FRAC)
          least_s = MIN(least_s, score.run_s);
      }
  ra_evaluator_free(e);
  return least_s;
}

/* In one node a mesh begins at GPU 0 or 4, which is where list_positions()
 * looks, so the first neighbour is the quickest of all; the others follow in
 * order and are other plans.  A neighbour's score is that of its point
 * evaluated from nothing, and it differs from the plan in one call.  The fault:
 * least_of_all() of another plan, the neighbour itself, is another time. */
START_TEST(quickest)
{
  Case c;
  g_autoptr(GArray) near = NULL;
  const RaNeighbour *first;
  RaEvaluator *e;

  case_init(&c);
  e = ra_evaluator_new(c.costs);
  near = ra_neighbours(c.costs, &c.start, 4);
  ck_assert_uint_eq(near->len, 4);
  first = &g_array_index(near, RaNeighbour, 0);
  ck_assert_double_eq(first->score.run_s, least_of_all(&c, &c.start));
  ck_assert_double_ne(first->score.run_s, least_of_all(&c, &first->point));
  for (guint i = 0; i < near->len; i++) {
    const RaNeighbour *n = &g_array_index(near, RaNeighbour, i);
    guint n_other = 0;
    RaScore score;

    ra_evaluate(e, &n->point, &score);
    ck_assert_double_eq(score.run_s, n->score.run_s);
    ck_assert(n->score.over_bytes <= 0);
    for (uint32_t call = 0; call < c.setup->workload->n_calls; call++)
      n_other +=
          n->point.calls[call].candidate != c.start.calls[call].candidate ||
          n->point.calls[call].position != c.start.calls[call].position;
    ck_assert_uint_eq(n_other, 1);
    if (i > 0)
      ck_assert_double_gt(n->score.run_s, n[-1].score.run_s);
  }
  ra_evaluator_free(e);
  case_clear(&c);
}
END_TEST

/* At the end of a descent no neighbour is quicker, by trying all; at its begin
 * one was. */
START_TEST(descent)
{
  Case c;
  RaPoint point;
  RaScore score;

  case_init(&c);
  point = c.start;
  ck_assert_uint_ge(ra_neighbours_descend(c.costs, &point, FALSE, &score), 2);
  ck_assert_double_ge(least_of_all(&c, &point), score.run_s * (1 - SAME_FRAC));
  ck_assert_double_lt(score.run_s, least_of_all(&c, &c.start));
  case_clear(&c);
}
END_TEST

/* The same with residencies: at its end no model's parameters are better
 * elsewhere.  The fault: from the start they are, where it holds what it need
 * not hold: host memory costs copies. */
START_TEST(residencies)
{
  Case c;
  RaPoint point;
  RaScore score, other;
  RaEvaluator *e;

  case_init(&c);
  e = ra_evaluator_new(c.costs);
  point = c.start;
  for (uint32_t m = 0; m < c.setup->workload->n_models; m++)
    point.residency[m] = RA_RESIDENCY_HOST;
  ra_evaluate(e, &point, &other);
  ra_neighbours_descend(c.costs, &point, TRUE, &score);
  ck_assert_double_lt(score.run_s, other.run_s);
  for (uint32_t m = 0; m < c.setup->workload->n_models; m++)
    for (uint8_t r = RA_RESIDENCY_RELEASE; r <= RA_RESIDENCY_HOST; r++) {
      RaPoint moved = point;

      moved.residency[m] = r;
      ra_evaluate(e, &moved, &other);
      ck_assert(other.over_bytes > 0 ||
                other.run_s >= score.run_s * (1 - SAME_FRAC));
    }
  ra_evaluator_free(e);
  case_clear(&c);
}
END_TEST

static Suite *
neighbour_suite(void)
{
  Suite *s = suite_create("neighbour");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 600);
  tcase_add_test(tcase, quickest);
  tcase_add_test(tcase, descent);
  tcase_add_test(tcase, residencies);
  suite_add_tcase(s, tcase);
  return s;
}

RA_CHECK_MAIN(neighbour_suite)
