/* Odds of plans over the worlds that the model's errors allow. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "base/text.h"
#include "study/odds.h"
#include "tests/support/check_main.h"

#define LAW 3
#define SEED 11

/* The standard normal law. */
static double
below(double x)
{
  return 0.5 * erfc(-x / sqrt(2));
}

static RaDoubt
doubt_of(double whole_frac, double law_frac)
{
  RaDoubt doubt = {.parts = g_array_new(FALSE, FALSE, sizeof(RaErrorPart))};

  doubt.error = (RaModelError){
      .whole_frac = whole_frac, .frac = hypot(whole_frac, law_frac), .gpu = 7};
  doubt.error.law_frac[LAW] = law_frac;
  return doubt;
}

static void
add_part(RaDoubt *doubt, uint64_t key, double weight)
{
  RaErrorPart part = {key, weight};

  g_array_append_val(doubt->parts, part);
}

/* Two plans that use one law, 10 % and 2 % of whose time it is off: their ratio
 * has a deviation of s = (0.10 - 0.02) / 0.6745, as the law is off by the same
 * factor for both.  Where the second takes exp(s) times as long it is ahead
 * with a probability of Phi(-1) = 15.9 %.  The first loses exp(x) - 1, x normal
 * about -s: on average exp(-s + s^2 / 2) Phi(s - 1) - Phi(-1), and in 95 % of
 * worlds at most exp(1.645 s - s) - 1.  1,000 worlds give the share to 3 x
 * 1.2 %.  The fault: of two GPUs, whose laws are off by themselves, the
 * deviation is that of 0.102, and the share 21.6 %. */
START_TEST(one_law)
{
  const double s = 0.08 * RA_ERROR_SIGMA;

  for (guint fault = 0; fault < 2; fault++) {
    g_auto(RaDoubt) a = doubt_of(0, 0.10), b = doubt_of(0, 0.02);
    const RaOddsPlan plans[] = {{1, &a}, {exp(s), &b}};
    double loss = exp(-s + s * s / 2) * below(s - 1) - below(-1.0);
    RaOdds odds[2];

    b.error.gpu += fault;
    ra_odds_draw(plans, 2, SEED, odds);
    ck_assert_uint_eq(odds[0].n_best + odds[1].n_best, RA_ODDS_WORLDS);
    ck_assert_uint_eq(odds[0].n_best, ra_odds_wins(&plans[0], &plans[1], SEED));
    ck_assert_int_eq(fabs((double)odds[1].n_best / RA_ODDS_WORLDS - below(-1)) <
                         0.036,
                     !fault);
    if (fault)
      continue;
    ck_assert_double_eq_tol(odds[0].regret_frac, loss, 0.2 * loss);
    ck_assert_double_eq_tol(odds[0].regret_p95_frac, exp(0.6449 * s) - 1, 0.02);
  }
}
END_TEST

/* The same share of the law: one is ahead by 0.1 % in every world.  No error at
 * all: every world has the times that were predicted, to the last bit. */
START_TEST(all_in_common)
{
  g_auto(RaDoubt) a = doubt_of(0, 0.1), b = doubt_of(0, 0.1);
  g_auto(RaDoubt) sure = doubt_of(0, 0);
  const RaOddsPlan plans[] = {{1.001, &a}, {1, &b}};
  const RaOddsPlan certain[] = {{16.13, &sure}, {17.31, &sure}};
  RaOdds odds[2];

  ra_odds_draw(plans, 2, SEED, odds);
  ck_assert_uint_eq(odds[1].n_best, RA_ODDS_WORLDS);
  ck_assert_double_eq_tol(odds[0].regret_frac, 0.001, 1e-9);
  add_part(&sure, 5, 1);
  ra_odds_draw(certain, 2, SEED, odds);
  for (guint world = 0; world < RA_ODDS_WORLDS; world++)
    ck_assert(ra_exp(ra_model_error_draw(&sure.error, NULL, 0, SEED, world)) ==
              1);
  ck_assert_uint_eq(odds[0].n_best, RA_ODDS_WORLDS);
  ck_assert(odds[0].regret_p95_frac == 0);
  ck_assert(odds[1].regret_p95_frac == 17.31 / 16.13 - 1);
}
END_TEST

/* Plans with a call in common (0.8 of the weight) and one laid out in two ways
 * (0.6): the deviation of their ratio is s = 6 % x 1.48 x 0.6 x sqrt(2), and
 * the second, exp(s) times as long, is ahead in Phi(-1) of the worlds.  The
 * fault: with nothing in common it is so in Phi(-0.6) = 27 %. */
START_TEST(one_call)
{
  const double s = 0.06 * RA_ERROR_SIGMA * 0.6 * sqrt(2);

  for (guint fault = 0; fault < 2; fault++) {
    g_auto(RaDoubt) a = doubt_of(0.06, 0), b = doubt_of(0.06, 0);
    const RaOddsPlan first = {1, &a}, second = {exp(s), &b};
    double share;

    add_part(&a, 1, 0.8);
    add_part(&a, 2, 0.6);
    add_part(&b, 1 + 10 * fault, 0.8);
    add_part(&b, 3, 0.6);
    share = (double)ra_odds_wins(&second, &first, SEED) / RA_ODDS_WORLDS;
    ck_assert_int_eq(fabs(share - below(-1)) < 0.036, !fault);
  }
}
END_TEST

/* The closed form of the ratio against draws.  Two steps on one chip have a law
 * of 10 % and 2 % in common (0.08 apart), parts of 6 % in common (0.8 of the
 * weight) and apart (0.6): the squares of their ratio are 0.08^2 + 2 (0.06 x
 * 0.6)^2.  On two GPUs of one chip the law is apart, 0.10^2 + 0.02^2; on two
 * chips so is all: + 2 x 0.06^2.  4,000 draws give a deviation to 3 x 1.1 %. */
START_TEST(ratio)
{
  for (guint what = 0; what < 3; what++) {
    g_auto(RaDoubt) a = doubt_of(0.06, 0.10), b = doubt_of(0.06, 0.02);
    double law = what == 0 ? 0.08 * 0.08 : 0.10 * 0.10 + 0.02 * 0.02;
    double rest = 2 * 0.06 * 0.06 * (what == 2 ? 1 : 0.36);
    double squares = 0, apart;

    add_part(&a, 1, 0.8);
    add_part(&a, 2, 0.6);
    add_part(&b, 1, 0.8);
    add_part(&b, 3, 0.6);
    b.error.gpu += what > 0;
    b.error.chip += what == 2;
    apart = ra_model_error_apart(&a.error, a.parts, &b.error, b.parts);
    ck_assert_double_eq_tol(apart, sqrt(law + rest), 1e-12);
    for (guint draw = 0; draw < 4000; draw++) {
      double e =
          ra_model_error_draw(&a.error, (RaErrorPart *)(void *)a.parts->data, 2,
                              SEED, draw) -
          ra_model_error_draw(&b.error, (RaErrorPart *)(void *)b.parts->data, 2,
                              SEED, draw);

      squares += e * e / 4000;
    }
    ck_assert_double_eq_tol(sqrt(squares) / apart, 1, 0.034);
    ck_assert(ra_model_error_apart(&a.error, a.parts, &a.error, a.parts) == 0);
  }
}
END_TEST

/* 1,000 throws of a coin have 500 +- 1.96 x sqrt(1000) / 2 = 31.0 heads in 95 %
 * of cases. */
START_TEST(tell_apart)
{
  ck_assert(!ra_odds_tell_apart(500));
  ck_assert(!ra_odds_tell_apart(530));
  ck_assert(ra_odds_tell_apart(531));
  ck_assert(!ra_odds_tell_apart(470));
  ck_assert(ra_odds_tell_apart(469));
}
END_TEST

static char *
plan_text(const char *name)
{
  g_autofree char *path = ra_share_find("plans", name, NULL, NULL);
  char *text = NULL;

  ck_assert(g_file_get_contents(path, &text, NULL, NULL));
  return text;
}

/* A plan instead of itself is never slower.  Of two that differ, each is slower
 * than the other in the worlds in which the other is not; and the one that
 * takes three times as long in nearly all.  Of one workload: PPO of 7B on 8
 * GPUs. */
START_TEST(risk)
{
  const RaSetupFlags flags = {.workload = "ppo-llama2-7b.workload",
                              .cluster = "h100-1n.cluster"};
  g_autoptr(RaSetup) setup = ra_setup_load_pair(&flags, NULL);
  g_autofree char *plan = plan_text("ppo-llama2-7b-8.plan");
  g_autofree char *slow = plan_text("ppo-llama2-7b-8-colocated-zero3.plan");
  double same, worse, better;

  ck_assert(ra_odds_risk(setup, plan, plan, 0, NULL, &same, NULL));
  ck_assert(ra_odds_risk(setup, plan, slow, 0, NULL, &worse, NULL));
  ck_assert(ra_odds_risk(setup, slow, plan, 0, NULL, &better, NULL));
  ck_assert(same == 0);
  ck_assert_double_eq_tol(worse + better, 1, 1e-12);
  ck_assert_double_gt(worse, 0.9);
}
END_TEST

static Suite *
odds_suite(void)
{
  Suite *suite = suite_create("odds");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, one_law);
  tcase_add_test(tcase, all_in_common);
  tcase_add_test(tcase, one_call);
  tcase_add_test(tcase, ratio);
  tcase_add_test(tcase, tell_apart);
  tcase_add_test(tcase, risk);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(odds_suite)
