/* Branch and bound against every point of small spaces. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "search/exact.h"
#include "study/setup.h"
#include "tests/support/search_case.h"

enum { N_ITERATIONS = 3, SEED = 3 };

typedef struct {
  RaSetup *setup;
  RaSpace *space;
  RaCostTable *costs;
  RaCostStore *store; /* of those costs; owned */
} Case;

/* @limits: NULL-terminated, of ra_limits_add(). */
static void
case_init(Case *c, const char *workload, const char *const *sets,
          const char *const *limits, RaSpaceKind kind, double memory_frac)
{
  RaSetupFlags flags = {
      .workload = workload, .cluster = "h100-16n.cluster", .sets = sets};
  g_autoptr(GArray) parsed = g_array_new(FALSE, FALSE, sizeof(RaLimit));
  RaSpaceOptions options = {
      .kind = kind, .n_iterations = N_ITERATIONS, .seed = SEED};
  GError *error = NULL;

  c->setup = ra_setup_load_pair(&flags, &error);
  ck_assert_msg(c->setup != NULL, "%s", error ? error->message : "");
  c->setup->cluster->device.memory_bytes *= memory_frac;
  for (guint i = 0; limits[i]; i++)
    ck_assert(ra_limits_add(parsed, limits[i], c->setup->workload,
                            c->setup->cluster, &error));
  options.limits = (const RaLimit *)(void *)parsed->data;
  options.n_limits = parsed->len;
  c->space =
      ra_space_new(c->setup->workload, c->setup->cluster, &options, &error);
  ck_assert_msg(c->space != NULL, "%s", error ? error->message : "");
  c->store = ra_cost_store_new(NULL, 0);
  c->costs = ra_cost_table_new_from(c->space, c->setup->estimator, c->store, 1,
                                    &error);
  ck_assert_msg(c->costs != NULL, "%s", error ? error->message : "");
}

static void
case_clear(Case *c)
{
  ra_cost_table_free(c->costs);
  ra_cost_store_free(c->store);
  ra_space_free(c->space);
  ra_setup_free(c->setup);
}

/* The least time of a point that fits, of all of them. */
static double
brute_force_s(const Case *c, guint *out_n)
{
  RaEvaluator *e = ra_evaluator_new(c->costs);
  RaPoint point = {.residency = {0}};
  double best_s = (double)INFINITY;

  *out_n = 0;
  do {
    RaScore score;
    ra_evaluate(e, &point, &score);
    if (!(score.over_bytes > 0))
      best_s = MIN(best_s, score.run_s);
    ++*out_n;
  } while (search_next_point(c->space, c->setup->workload->n_calls, &point));
  ra_evaluator_free(e);
  return best_s;
}

static gboolean
same_real(double a, double b)
{
  return memcmp(&a, &b, sizeof a) == 0;
}

/* Without starts and descents the tree alone must find it. */
static void
compare(const char *workload, const char *const *sets,
        const char *const *limits, RaSpaceKind kind, double memory_frac)
{
  Case c;
  RaExactOptions options = {.seed = SEED};
  RaExactResult result;
  double best_s;
  guint n;

  case_init(&c, workload, sets, limits, kind, memory_frac);
  best_s = brute_force_s(&c, &n);
  ck_assert_uint_gt(n, 1000);
  for (guint descents = 0; descents < 2; descents++) {
    options.n_descents = descents;
    ra_exact_search(c.costs, &options, &result);
    ck_assert(result.is_proven);
    ck_assert_int_eq(result.found, isfinite(best_s));
    if (!result.found)
      continue;
    ck_assert_msg(same_real(result.score.run_s, best_s), "%.17g, %.17g s",
                  result.score.run_s, best_s);
    ck_assert(same_real(result.bound_s, best_s));
    /* It does not look at all of them. */
    ck_assert_uint_lt(result.n_scored, n);
  }
  case_clear(&c);
}

static const char *const few[] = {
    "actor_generate.tp=4,8", "ref_inference.tp=2,4",
    "reward_inference.tp=4", "critic_inference.tp=4,8",
    "critic_inference.pp=1", "actor_train.tp=4,8",
    "critic_train.tp=4,8",   NULL};

/* 80 GB, and so little that most points do not fit. */
START_TEST(ppo)
{
  const char *sets[] = {"cluster.nodes=1", "workload.prompts=64", NULL};

  compare("ppo-llama2-7b.workload", sets, few, RA_SPACE_REAL, 1);
  compare("ppo-llama2-7b.workload", sets, few, RA_SPACE_REAL, 0.7);
}
END_TEST

/* Readers of a trained model that may share a layout, a host call.  A sanitized
 * program looks at a part of the points. */
START_TEST(grpo)
{
  const char *sets[] = {"cluster.nodes=2", "workload.prompts=32",
                        "workload.prompt-length=fixed(128)",
                        "workload.response-length=fixed(128)", NULL};
  const char *limits[] = {"actor_generate.tp=1,2", "actor_inference.tp=1,2",
                          RA_CHECK_SHARE > 1 ? "ref_inference.gpus=16"
                                             : "ref_inference.tp=2,4",
                          NULL};

  compare("grpo-qwen2.5-7b.workload", sets, limits, RA_SPACE_REAL, 1);
}
END_TEST

/* --- sampled lengths --- */

/* TRUE if some call has this bound on as many GPUs as in @point. */
static gboolean
is_of_size(const Case *c, const RaPoint *point, double bound_s)
{
  for (uint32_t call = 0; call < c->setup->workload->n_calls; call++) {
    const RaSpaceCall *k = &c->space->calls[call];
    uint32_t n_gpus = k->candidates[point->calls[call].candidate].n_gpus;

    for (uint32_t i = 0; i < k->n && n_gpus > 0; i++)
      if (k->candidates[i].n_gpus == n_gpus &&
          same_real(ra_cost_table_bound_s(c->costs, call, i), bound_s))
        return TRUE;
  }
  return FALSE;
}

/* The costs of @c for another table; @wrong: (nullable): bounds of its numbers
 * of GPUs are ten times as high.  A bound has two numbers, a cost one an
 * iteration. */
static RaCostStore *
store_of(const Case *c, const RaPoint *wrong)
{
  g_autoptr(GByteArray) all = ra_cost_store_bytes(c->store);
  guint8 *at = all->data, *end = at + all->len;

  while (at < end) {
    uint64_t head[2]; /* name, numbers */
    double bound_s, high_s;

    memcpy(head, at, sizeof head);
    at += sizeof head;
    memcpy(&bound_s, at, sizeof bound_s);
    high_s = 10 * bound_s;
    if (wrong && head[1] == 2 && is_of_size(c, wrong, bound_s))
      memcpy(at, &high_s, sizeof high_s);
    at += head[1] * sizeof(double);
  }
  return ra_cost_store_new(all->data, all->len);
}

/* With a table that knows no cost before the tree asks for it. */
static void
search_drawn(const Case *c, const RaPoint *wrong, RaExactResult *out,
             guint *out_known)
{
  g_autoptr(RaCostStore) store = store_of(c, wrong);
  g_autoptr(RaCostTable) costs =
      ra_cost_table_new_from(c->space, c->setup->estimator, store, 1, NULL);
  RaExactOptions options = {.seed = SEED};

  ra_exact_search(costs, &options, out);
  *out_known = ra_cost_table_n_known(costs);
}

/* Where lengths are sampled the tree knows bounds alone, and simulates calls in
 * the order in which it asks.  It proves what all plans together show, and a
 * part of the calls stays a bound.  The fault: bounds that do not hold hide the
 * best plan. */
static void
compare_drawn(const char *workload, const char *const *sets,
              const char *const *limits, double memory_frac)
{
  Case c;
  RaExactResult result, wrong;
  double best_s;
  guint n, n_known;

  case_init(&c, workload, sets, limits, RA_SPACE_COMMON, memory_frac);
  best_s = brute_force_s(&c, &n);
  ck_assert_uint_gt(n, 1000);
  ck_assert(isfinite(best_s));
  search_drawn(&c, NULL, &result, &n_known);
  ck_assert(result.found && result.is_proven);
  ck_assert_msg(same_real(result.score.run_s, best_s), "%.17g, %.17g s",
                result.score.run_s, best_s);
  ck_assert(same_real(result.bound_s, best_s));
  ck_assert_uint_lt(result.n_scored, n);
  ck_assert_uint_lt(n_known, ra_cost_table_n_known(c.costs));
  search_drawn(&c, &result.point, &wrong, &n_known);
  ck_assert(!wrong.found || wrong.score.run_s > best_s);
  case_clear(&c);
}

#define SHORT_ANSWERS "workload.response-length=lognormal(60, 40, 256)"

/* Continuous and static batches. */
START_TEST(grpo_drawn)
{
  const char *sets[] = {"cluster.nodes=1", "workload.prompts=16", SHORT_ANSWERS,
                        NULL};
  const char *limits[] = {"actor_generate.tp=1,2", "actor_inference.tp=1,2",
                          "ref_inference.gpus=8",  "actor_train.tp=2,4",
                          "ref_inference.tp=1,2",  NULL};

  compare_drawn("grpo-qwen2.5-7b.workload", sets, limits, 1);
}
END_TEST

/* Two models are trained; what they leave of a GPU decides. */
START_TEST(ppo_drawn)
{
  const char *sets[] = {"cluster.nodes=1", "workload.prompts=32", SHORT_ANSWERS,
                        NULL};
  const char *limits[] = {"actor_generate.tp=4,8",
                          "ref_inference.gpus=8",
                          "reward_inference.gpus=8",
                          "critic_inference.gpus=8",
                          "ref_inference.tp=4,8",
                          "reward_inference.tp=4,8",
                          "critic_inference.tp=4",
                          "critic_train.tp=4,8",
                          "critic_train.gpus=8",
                          "actor_train.tp=4,8",
                          NULL};

  compare_drawn("ppo-llama2-7b.workload", sets, limits, 1);
  compare_drawn("ppo-llama2-7b.workload", sets, limits, 0.8);
}
END_TEST

/* The fault: a bound that is too high, here that of a space without the best
 * choice of a call, would be seen. */
START_TEST(worse_space)
{
  const char *sets[] = {"cluster.nodes=1", "workload.prompts=64", NULL};
  const char *less[G_N_ELEMENTS(few) + 1];
  Case c, d;
  guint n;

  memcpy(less, few, sizeof few);
  less[G_N_ELEMENTS(few) - 1] = "actor_generate.gpus=4";
  less[G_N_ELEMENTS(few)] = NULL;
  case_init(&c, "ppo-llama2-7b.workload", sets, few, RA_SPACE_REAL, 1);
  case_init(&d, "ppo-llama2-7b.workload", sets, less, RA_SPACE_REAL, 1);
  ck_assert(brute_force_s(&c, &n) < brute_force_s(&d, &n));
  case_clear(&c);
  case_clear(&d);
}
END_TEST

/* All candidates that fit a GPU fit a larger one, so the best is no worse. */
START_TEST(more_memory)
{
  const char *sets[] = {"cluster.nodes=1", "workload.prompts=16", NULL};
  const char *limits[] = {
      "actor_generate.gpus=8",   "ref_inference.gpus=8",
      "reward_inference.gpus=8", "critic_inference.gpus=4,8",
      "actor_train.gpus=8",      "critic_train.gpus=8",
      "ref_inference.tp=4,8",    "reward_inference.tp=4,8",
      "critic_inference.tp=4",   "critic_train.tp=4",
      "actor_train.tp=2,4",      NULL};
  double before_s = (double)INFINITY;
  guint n = 0, n_found = 0;

  for (double frac = 0.25; frac <= 0.75; frac += 0.125) {
    Case c;
    RaExactOptions options = {.seed = SEED, .n_descents = 2};
    RaExactResult result;

    case_init(&c, "ppo-llama2-7b.workload", sets, limits, RA_SPACE_FULL, frac);
    ra_exact_search(c.costs, &options, &result);
    ck_assert(result.is_proven);
    if (result.found) {
      ck_assert_msg(result.score.run_s <= before_s, "%g: %g > %g s", frac,
                    result.score.run_s, before_s);
      before_s = result.score.run_s;
      n_found++;
    }
    n++;
    case_clear(&c);
  }
  /* The fault: were memory not looked at, a plan would always be found. */
  ck_assert_uint_gt(n_found, 0);
  ck_assert_uint_lt(n_found, n);
}
END_TEST

/* --- faster links --- */

static const char *const nics[] = {"100", "200", "400", "800"};

/* A plan drawn from the space; @chain: all calls on all GPUs, one after the
 * other. */
static RaPoint
draw_point(const Case *c, RaRng *rng, gboolean chain)
{
  uint32_t n_gpus = ra_cluster_n_gpus(c->setup->cluster);
  RaPoint point = {.residency = {0}};

  for (guint i = 0; i < c->setup->workload->n_calls; i++) {
    const RaSpaceCall *call = &c->space->calls[i];
    RaChoice *choice = &point.calls[i];
    do
      choice->candidate = (uint32_t)ra_rng_below(rng, call->n);
    while (chain && call->candidates[choice->candidate].n_gpus != n_gpus);
    choice->position = (uint32_t)ra_rng_below(
        rng, call->candidates[choice->candidate].n_positions);
  }
  return point;
}

/* How many of @n plans take longer than with slower links, and (@out_less) how
 * many less. */
static guint
count_worse(Case cases[G_N_ELEMENTS(nics)], gboolean chain, guint n,
            guint *out_less)
{
  RaRng rng = ra_rng_init(SEED, chain);
  guint n_worse = 0;

  *out_less = 0;
  for (guint i = 0; i < n; i++) {
    RaPoint point = draw_point(&cases[0], &rng, chain);
    double before_s = (double)INFINITY;
    for (guint k = 0; k < G_N_ELEMENTS(nics); k++) {
      g_autoptr(RaEvaluator) e = ra_evaluator_new(cases[k].costs);
      RaScore score;
      ra_evaluate(e, &point, &score);
      n_worse += score.run_s > before_s;
      *out_less += k > 0 && score.run_s < before_s;
      before_s = score.run_s;
    }
  }
  return n_worse;
}

/* The order of every queue is in the plan and not in the times
 * (graph/expand/task.h), so a part that is faster delays nothing: of chains no
 * plan gets slower, nor does the optimum.  What could is inside of a call,
 * where a reduction that starts earlier slows other computations
 * (sim/interfere.h): of plans with calls side by side, too, none is found.  The
 * fault: taken the other way, many get slower. */
START_TEST(faster_links)
{
  const char *limits[] = {"actor_generate.tp=4,8",
                          "ref_inference.tp=4,8",
                          "reward_inference.tp=8",
                          "critic_inference.tp=8",
                          "actor_train.tp=4,8",
                          "critic_train.tp=4,8",
                          "ref_inference.gpus=8,16",
                          "critic_train.gpus=8,16",
                          NULL};
  Case cases[G_N_ELEMENTS(nics)];
  double before_s = (double)INFINITY;
  guint n_less;

  for (guint k = 0; k < G_N_ELEMENTS(nics); k++) {
    g_autofree char *nic = g_strdup_printf("cluster.nic=%s Gbit/s", nics[k]);
    const char *sets[] = {"cluster.nodes=2", "workload.prompts=64", nic, NULL};
    RaExactOptions options = {.seed = SEED, .n_descents = 4};
    RaExactResult result;

    case_init(&cases[k], "ppo-llama2-7b.workload", sets, limits, RA_SPACE_REAL,
              1);
    ra_exact_search(cases[k].costs, &options, &result);
    ck_assert(result.is_proven && result.found);
    ck_assert_msg(result.score.run_s <= before_s, "%s: %.17g > %.17g s",
                  nics[k], result.score.run_s, before_s);
    before_s = result.score.run_s;
  }
  ck_assert_uint_eq(count_worse(cases, TRUE, 100, &n_less), 0);
  ck_assert_uint_gt(n_less, 100);
  ck_assert_uint_eq(count_worse(cases, FALSE, 100, &n_less), 0);
  ck_assert_uint_gt(n_less, 100);
  for (guint k = 0; k < G_N_ELEMENTS(nics); k++)
    case_clear(&cases[k]);
}
END_TEST

static Suite *
exact_suite(void)
{
  Suite *s = suite_create("exact");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 600);
  tcase_add_test(tcase, ppo);
  tcase_add_test(tcase, grpo);
  tcase_add_test(tcase, grpo_drawn);
  tcase_add_test(tcase, ppo_drawn);
  tcase_add_test(tcase, worse_space);
  tcase_add_test(tcase, more_memory);
  tcase_add_test(tcase, faster_links);
  suite_add_tcase(s, tcase);
  return s;
}

RA_CHECK_MAIN(exact_suite)
