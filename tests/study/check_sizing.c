/* Objectives of a plan, sizes of a cluster, and the final. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "graph/input/plan_write.h"
#include "sim/breakdown.h"
#include "study/contest/final.h"
#include "study/contest/swap.h"
#include "study/plot/convergence.h"
#include "study/replay.h"
#include "study/report/forecast.h"
#include "tests/support/check_main.h"

/* USD of an hour of a GPU of h100-4n.cluster. */
static const double PRICE = 6.155;

static const RaSetupFlags small = {.workload = "ppo-llama2-7b.workload",
                                   .cluster = "h100-4n.cluster"};
static const RaSetupFlags drawn = {.workload = "rloo-llama3-8b.workload",
                                   .cluster = "h100-4n.cluster"};

static RaSizing *
size_up(const RaSetupFlags *flags, RaObjective objective, GError **error)
{
  RaSizingOptions options = {.contest = {.kind = RA_SPACE_REAL,
                                         .objective = objective,
                                         .n_near = 1,
                                         .n_iterations = 3,
                                         .n_steps = 1024}};

  return ra_sizing_new(flags, &options, error);
}

static const RaSize *
size_at(const RaSizing *sizing, uint32_t i)
{
  return &g_array_index(sizing->sizes, RaSize, i);
}

static const RaContender *
winner_of(const RaSize *size)
{
  return &g_array_index(size->contest->contenders, RaContender,
                        size->contest->winner);
}

static double
replayed_s(RaSetup *setup, const char *text, RaFidelity fidelity, uint64_t seed)
{
  RaReplayOptions options = {
      .n_iterations = 3, .fidelity = fidelity, .seed = seed};
  g_autoptr(RaReplay) replay = NULL;
  g_autoptr(RaBreakdown) breakdown = NULL;

  ck_assert(ra_setup_read_plan(setup, "plan", text, NULL));
  replay = ra_replay_new(setup, &options, NULL);
  ck_assert_ptr_nonnull(replay);
  breakdown = ra_breakdown_new(replay->sim, replay->graph);
  return breakdown->iteration_s;
}

/* a: 10 s, 1000 tokens/s, 4 USD, 8 GPUs; b: 6 s, 1600 tokens/s, 5 USD, 16 GPUs.
 * Time: b.  GPU-seconds of a token: 8/1000 against 16/1600: a.  Cost and GPUs:
 * a.  Regret and the percentile go by time.  Within 8 s a will not do, and b
 * wins all.  Of equal GPUs the time decides.  Without a price nothing has a
 * cost. */
START_TEST(values)
{
  const RaWorth a = {10, 1000, 4, 8}, b = {6, 1600, 5, 16};
  const RaWorth c = {9, 1000, (double)NAN, 8};

  for (int kind = 0; kind < RA_N_OBJECTIVES; kind++) {
    RaObjective free = {.kind = kind}, tight = {.kind = kind, .within_s = 8};

    ck_assert_int_eq(ra_objective_better(&free, &a, &b),
                     kind == RA_OBJECTIVE_TOKENS_PER_GPU ||
                         kind == RA_OBJECTIVE_COST ||
                         kind == RA_OBJECTIVE_GPUS);
    ck_assert(ra_objective_better(&tight, &b, &a));
    ck_assert(isinf(ra_objective_value(&tight, &a)));
  }
  ck_assert(
      ra_objective_better(&(RaObjective){.kind = RA_OBJECTIVE_GPUS}, &c, &a));
  ck_assert(
      isinf(ra_objective_value(&(RaObjective){.kind = RA_OBJECTIVE_COST}, &c)));
}
END_TEST

/* On 1, 2, 3 and 4 nodes: the price of an iteration is GPUs x PRICE / 3600 s
 * x its time, the winner is the cheapest of the four, and dearer ones are
 * faster (were the cheapest the fastest too, this would show nothing).  A plan
 * for fewer nodes is a plan for all: replayed on the whole cluster it takes the
 * same, to the last bit. */
START_TEST(cost)
{
  g_autoptr(RaSizing) sizing =
      size_up(&small, (RaObjective){.kind = RA_OBJECTIVE_COST}, NULL);
  g_autoptr(RaSetup) whole = ra_setup_load_pair(&small, NULL);
  const RaWorth *best;
  guint n_faster = 0;

  ck_assert_ptr_nonnull(sizing);
  ck_assert_uint_eq(sizing->sizes->len, 4);
  best = &winner_of(size_at(sizing, sizing->winner))->worth;
  for (guint i = 0; i < sizing->sizes->len; i++) {
    const RaContender *c = winner_of(size_at(sizing, i));

    ck_assert_uint_eq(size_at(sizing, i)->n_nodes, i + 1);
    ck_assert_uint_le(c->worth.n_gpus, 8 * (i + 1));
    ck_assert_double_eq_tol(
        c->worth.usd, c->worth.n_gpus * PRICE / 3600 * c->worth.iteration_s,
        1e-12);
    ck_assert_double_le(best->usd, c->worth.usd);
    n_faster += c->worth.iteration_s < best->iteration_s;
    ck_assert_double_eq(replayed_s(whole, c->text, RA_FIDELITY_STAGE, 0),
                        c->worth.iteration_s);
  }
  ck_assert_uint_ge(n_faster, 1);
}
END_TEST

/* Slices come first, 1, 2 and 4 GPUs of a node, and these four models fit into
 * none of them.
 * The fewest GPUs that meet a time between what one node takes and what two
 * take: sizes end with the second, the first has no winner.  A time that none
 * meets: no winner anywhere.  Without a time, without a price: errors. */
START_TEST(gpus)
{
  g_autoptr(RaSizing) costs =
      size_up(&small, (RaObjective){.kind = RA_OBJECTIVE_COST}, NULL);
  double one_s = winner_of(size_at(costs, 0))->worth.iteration_s;
  double two_s = winner_of(size_at(costs, 1))->worth.iteration_s;
  RaObjective between = {RA_OBJECTIVE_GPUS, (one_s + two_s) / 2};
  g_autoptr(RaSizing) sizing = size_up(&small, between, NULL);
  g_autoptr(RaSizing) none =
      size_up(&small, (RaObjective){RA_OBJECTIVE_GPUS, 1e-3}, NULL);
  g_autoptr(GError) untimed = NULL, unpriced = NULL;

  ck_assert_double_lt(two_s, one_s);
  ck_assert_uint_eq(sizing->sizes->len, 5);
  ck_assert_uint_eq(sizing->winner, 4);
  ck_assert_uint_eq(size_at(sizing, 3)->contest->winner, RA_NONE);
  ck_assert_double_le(winner_of(size_at(sizing, 4))->worth.iteration_s,
                      between.within_s);
  ck_assert_uint_eq(none->winner, RA_NONE);
  ck_assert_uint_eq(none->sizes->len, 7);
  ck_assert_ptr_null(
      size_up(&small, (RaObjective){.kind = RA_OBJECTIVE_GPUS}, &untimed));
  ck_assert(g_error_matches(untimed, RA_ERROR, RA_ERROR_INPUT));
  ck_assert(!ra_objective_check(&(RaObjective){.kind = RA_OBJECTIVE_COST},
                                (double)NAN, "c", &unpriced));
  ck_assert(g_error_matches(unpriced, RA_ERROR, RA_ERROR_INPUT));
}
END_TEST

/* Lengths are drawn: a finalist's mean is that of replays at op fidelity with
 * seeds 5, 6 and 7, to rounding; its deviation sqrt(sum (x - mean)^2 / 2); the
 * winner has the least mean and is ahead of all, by the mean of 1 - x / y over
 * the draws.  The faults: replays at stage fidelity, and of the seeds before,
 * have other means. */
START_TEST(final)
{
  RaObjective objective = {.kind = RA_OBJECTIVE_TIME};
  RaFinalOptions options = {.n_top = 2, .n_iterations = 3, .seed = 5};
  g_autoptr(RaSizing) sizing = size_up(&drawn, objective, NULL);
  g_autoptr(RaFinal) finals = NULL;
  const RaFinalist *best;
  guint n_families = 0;

  ck_assert_ptr_nonnull(sizing);
  finals = ra_final_new(sizing, &objective, &options, NULL);
  ck_assert_ptr_nonnull(finals);
  ck_assert_uint_eq(finals->n_draws, 3);
  ck_assert_uint_ge(finals->finalists->len, 2);
  best = &g_array_index(finals->finalists, RaFinalist, finals->winner);
  for (guint i = 0; i < finals->finalists->len; i++) {
    const RaFinalist *f = &g_array_index(finals->finalists, RaFinalist, i);
    const RaContender *c = ra_finalist_contender(finals, i);
    RaSetup *setup = ra_finalist_size(finals, i)->setup;
    double x_s[3], mean_s = 0, squares = 0, ahead = 0, stage_s = 0, other_s = 0;

    n_families += !c->is_found;
    for (guint d = 0; d < 3; d++) {
      x_s[d] = replayed_s(setup, c->text, RA_FIDELITY_OP, 5 + d);
      mean_s += x_s[d] / 3;
      stage_s += replayed_s(setup, c->text, RA_FIDELITY_STAGE, 5 + d) / 3;
      other_s += replayed_s(setup, c->text, RA_FIDELITY_OP, 4 + d) / 3;
      ahead += (1 - best->draws[d].iteration_s / x_s[d]) / 3;
    }
    for (guint d = 0; d < 3; d++)
      squares += (x_s[d] - mean_s) * (x_s[d] - mean_s);
    ck_assert_double_eq_tol(f->mean.iteration_s, mean_s, 1e-9 * mean_s);
    ck_assert_double_eq_tol(f->deviation_s, sqrt(squares / 2), 1e-6 * mean_s);
    ck_assert_double_eq_tol(f->ahead_frac, ahead, 1e-9);
    ck_assert(fabs(stage_s - mean_s) > 1e-9 * mean_s);
    ck_assert(fabs(other_s - mean_s) > 1e-9 * mean_s);
    ck_assert_double_ge(f->mean.iteration_s, best->mean.iteration_s);
  }
  ck_assert_uint_ge(n_families, 1);
}
END_TEST

/* The longest of two samples is the least that 95 % do not exceed: p95 takes
 * the plan of which that is the least, and regret the one that loses the least
 * on average over the worlds, unless it cannot be told apart from a simpler
 * one. */
START_TEST(robust)
{
  RaObjective time = {.kind = RA_OBJECTIVE_TIME};
  g_autoptr(RaSizing) sizing = size_up(&drawn, time, NULL);

  for (int kind = RA_OBJECTIVE_REGRET; kind <= RA_OBJECTIVE_P95; kind++) {
    RaObjective objective = {.kind = kind};
    RaFinalOptions options = {.n_top = 2, .n_iterations = 3, .n_draws = 2};
    g_autoptr(RaFinal) finals =
        ra_final_new(sizing, &objective, &options, NULL);
    const RaFinalist *best;

    ck_assert_ptr_nonnull(finals);
    ck_assert(finals->has_odds);
    best = &g_array_index(finals->finalists, RaFinalist, finals->best);
    for (guint i = 0; i < finals->finalists->len; i++) {
      const RaFinalist *f = &g_array_index(finals->finalists, RaFinalist, i);
      double longest_s = 0;

      for (guint d = 0; d < 2; d++)
        longest_s = fmax(longest_s, f->draws[d].iteration_s);
      ck_assert_double_eq(f->p95_s, longest_s);
      if (kind == RA_OBJECTIVE_P95)
        ck_assert_double_ge(f->p95_s, best->p95_s);
      else
        ck_assert_double_ge(f->odds.regret_frac, best->odds.regret_frac);
    }
    if (finals->winner != finals->best)
      ck_assert(!ra_odds_tell_apart(
          ra_final_wins(finals, finals->best, finals->winner)));
  }
}
END_TEST

/* search and search.2 of one node differ by 0.03 %, in one call, so neither
 * wins more worlds than a coin would.  If the second were a strategy's plan it
 * would be the simpler one, and wins; it is behind, so its lead is negative. */
START_TEST(simpler)
{
  const RaSetupFlags one = {.workload = "ppo-llama2-7b.workload",
                            .cluster = "h100-1n.cluster"};
  RaObjective objective = {.kind = RA_OBJECTIVE_TIME};
  RaFinalOptions options = {.n_top = 2, .n_iterations = 3};
  g_autoptr(RaSizing) sizing = size_up(&one, objective, NULL);
  GArray *contenders = size_at(sizing, 0)->contest->contenders;
  g_autoptr(RaFinal) as_is = ra_final_new(sizing, &objective, &options, NULL);
  g_autoptr(RaFinal) finals = NULL;
  const RaFinalist *f;
  uint32_t behind;

  ck_assert(as_is->has_odds);
  behind = as_is->best == 0 ? 1 : 0;
  f = &g_array_index(as_is->finalists, RaFinalist, behind);
  ck_assert(!ra_odds_tell_apart(ra_final_wins(as_is, as_is->best, behind)));
  g_array_index(contenders, RaContender, f->contender).is_found = FALSE;
  finals = ra_final_new(sizing, &objective, &options, NULL);
  ck_assert_uint_eq(finals->best, as_is->best);
  ck_assert_uint_eq(finals->winner, behind);
  ck_assert_double_lt(
      g_array_index(finals->finalists, RaFinalist, finals->best).ahead_frac, 0);
}
END_TEST

/* search.2 differs from search in one call, so there is one change, and with it
 * the loser is the winner and takes its time, to the last bit; of a plan with
 * itself there is none.  Against a family every change but what cannot be says
 * what it saves: the loser's time less the time with it. */
START_TEST(swap)
{
  g_autoptr(RaSizing) sizing =
      size_up(&small, (RaObjective){.kind = RA_OBJECTIVE_TIME}, NULL);
  const RaSize *size = size_at(sizing, 0);
  const RaContender *found = NULL, *near = NULL, *family = NULL;
  g_autoptr(RaSwaps) one = NULL, none = NULL, many = NULL;

  for (guint i = 0; i < size->contest->contenders->len; i++) {
    const RaContender *c =
        &g_array_index(size->contest->contenders, RaContender, i);

    if (g_str_equal(c->name, "search"))
      found = c;
    else if (g_str_equal(c->name, "search.2"))
      near = c;
    else if (g_str_equal(c->name, "megatron"))
      family = c;
  }
  ck_assert(found && near && family);
  one = ra_swaps_new(size->setup, near->text, found->text, 3, 0, NULL);
  ck_assert_uint_eq(one->n, 1);
  ck_assert_double_eq(one->iteration_s, near->worth.iteration_s);
  ck_assert_double_eq(one->rows[0].iteration_s, found->worth.iteration_s);
  ck_assert(one->rows[0].fits);
  none = ra_swaps_new(size->setup, near->text, near->text, 3, 0, NULL);
  ck_assert_uint_eq(none->n, 0);
  many = ra_swaps_new(size->setup, family->text, found->text, 3, 0, NULL);
  ck_assert_uint_ge(many->n, 4);
  for (guint i = 0; i < many->n; i++) {
    const RaSwap *s = &many->rows[i];

    ck_assert_str_ne(s->mine, s->theirs);
    ck_assert(s->refusal || s->saved_s == many->iteration_s - s->iteration_s);
    if (i > 0 && s->fits && !s->refusal)
      ck_assert_double_le(s->saved_s, s[-1].saved_s);
  }
}
END_TEST

/* The text with comments reads as the same plan, begins with the head, and has
 * a prediction above each of the 6 calls. The curve's text has as many lines as
 * were asked for and a title and an axis, and the best at its end. */
START_TEST(texts)
{
  g_autoptr(RaSizing) sizing =
      size_up(&small, (RaObjective){.kind = RA_OBJECTIVE_TIME}, NULL);
  const RaSize *size = size_at(sizing, 0);
  const RaContender *c = winner_of(size);
  g_autofree char *text =
      ra_forecast_text(size->setup, c->text, "# Head.\n", 3, 0, NULL, NULL);
  g_autofree char *curve = ra_convergence_text(size->contest, 60, 8);
  g_auto(GStrv) parts = NULL, lines = NULL;
  RaPlan *plan;

  ck_assert_ptr_nonnull(text);
  ck_assert(g_str_has_prefix(text, "# Head.\n"));
  parts = g_strsplit(text, "# Predicted: ", -1);
  ck_assert_uint_eq(g_strv_length(parts), 1 + 6);
  ck_assert(ra_setup_read_plan(size->setup, "a", c->text, NULL));
  plan = g_steal_pointer(&size->setup->plan);
  ck_assert(ra_setup_read_plan(size->setup, "b", text, NULL));
  ck_assert(ra_plan_equal(plan, size->setup->plan));
  ra_plan_free(plan);
  lines = g_strsplit(curve, "\n", -1);
  ck_assert_uint_eq(g_strv_length(lines), 8 + 2 + 1);
  ck_assert_ptr_nonnull(strchr(curve, '*'));
  ck_assert_ptr_nonnull(strchr(lines[8], '-'));
  ck_assert_double_le(size->contest->round.bound_s,
                      size->contest->round.best_s);
}
END_TEST

static Suite *
sizing_suite(void)
{
  Suite *s = suite_create("sizing");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 600);
  tcase_add_test(tcase, values);
  tcase_add_test(tcase, cost);
  tcase_add_test(tcase, gpus);
  tcase_add_test(tcase, final);
  tcase_add_test(tcase, robust);
  tcase_add_test(tcase, simpler);
  tcase_add_test(tcase, swap);
  tcase_add_test(tcase, texts);
  suite_add_tcase(s, tcase);
  return s;
}

RA_CHECK_MAIN(sizing_suite)
