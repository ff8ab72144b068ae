/* Costs that an earlier table computed. */
#include "config.h"

#include <string.h>

#include "search/mcmc.h"
#include "tests/support/search_case.h"

#define FEW_TOKENS "workload.response-length=lognormal(60, 40, 256)"

static RaCostTable *
table_from(const SearchCase *c, const RaSpace *space, RaCostStore *store)
{
  GError *error = NULL;
  RaCostTable *table =
      ra_cost_table_new_from(space, c->setup->estimator, store, 1, &error);

  ck_assert_msg(table != NULL, "%s", error ? error->message : "");
  return table;
}

/* Costs that are put are taken, the first of a name, also from the bytes. */
START_TEST(bytes)
{
  const double numbers[] = {1, 2.5, -0.0};
  g_autoptr(RaCostStore) store = ra_cost_store_new(NULL, 0);
  g_autoptr(GByteArray) all = NULL;
  double out[3] = {0};

  ck_assert(!ra_cost_store_get(store, 7, out, 3));
  ra_cost_store_put(store, 7, numbers, 3);
  ra_cost_store_put(store, 7, numbers + 1, 1);
  ra_cost_store_put(store, 8, numbers, 1);
  ck_assert_uint_eq(ra_cost_store_n_put(store), 2);
  ck_assert(!ra_cost_store_get(store, 7, out, 1));
  ck_assert(ra_cost_store_get(store, 7, out, 3));
  ck_assert_mem_eq(out, numbers, sizeof numbers);
  all = ra_cost_store_bytes(store);
  /* Cut anywhere, what is whole before that is there. */
  for (guint n = 0; n <= all->len; n++) {
    g_autoptr(RaCostStore) other = ra_cost_store_new(all->data, n);

    ck_assert_int_eq(ra_cost_store_get(other, 7, out, 3), n >= 16 + 24);
    ck_assert_int_eq(ra_cost_store_get(other, 8, out, 1), n == all->len);
    ck_assert_uint_eq(ra_cost_store_n_put(other), 0);
  }
  memset(all->data + 8, 0xff, 8); /* so many numbers no entry has */
  {
    g_autoptr(RaCostStore) other = ra_cost_store_new(all->data, all->len);
    ck_assert(!ra_cost_store_get(other, 8, out, 1));
  }
}
END_TEST

/* All that a table knows of, asked for in its order. */
static void
ask_all(RaCostTable *costs, const SearchCase *c)
{
  for (uint32_t call = 0; call < c->setup->workload->n_calls; call++)
    for (uint32_t i = 0; i < c->space->calls[call].n; i += 3)
      ra_cost_table_call_s(costs, call, i);
}

static void
compare(RaCostTable *a, RaCostTable *b, const SearchCase *c)
{
  for (uint32_t call = 0; call < c->setup->workload->n_calls; call++)
    for (uint32_t i = 0; i < c->space->calls[call].n; i++) {
      const double *x = ra_cost_table_known_s(a, call, i);
      const double *y = ra_cost_table_known_s(b, call, i);
      double bounds[2] = {ra_cost_table_bound_s(a, call, i),
                          ra_cost_table_bound_s(b, call, i)};

      ck_assert_mem_eq(&bounds[0], &bounds[1], sizeof *bounds);
      ck_assert(!x == !y);
      if (x)
        ck_assert_mem_eq(x, y,
                         sizeof *x * ra_cost_table_n_like(a) *
                             c->setup->workload->calls[call].n_parts);
    }
}

/* The second table computes nothing, knows nothing before it is asked, and has
 * the same numbers to the bit.  The fault: of a plan that differs in one key
 * nothing is taken. */
START_TEST(tables)
{
  const char *sets[] = {"cluster.nodes=1", "workload.prompts=8", FEW_TOKENS,
                        NULL};
  g_autoptr(RaCostStore) store = ra_cost_store_new(NULL, 0);
  g_autoptr(RaCostStore) again = NULL;
  g_autoptr(GByteArray) all = NULL;
  RaCostTable *first, *second, *other;
  RaCandidate *changed;
  SearchCase c;

  search_case_init(&c, "grpo-qwen2.5-7b.workload", "h100-16n.cluster", sets,
                   RA_SPACE_COMMON, NULL);
  first = table_from(&c, c.space, store);
  ask_all(first, &c);
  ck_assert_uint_gt(ra_cost_store_n_put(store), 100);
  all = ra_cost_store_bytes(store);
  again = ra_cost_store_new(all->data, all->len);
  second = table_from(&c, c.space, again);
  ck_assert_uint_eq(ra_cost_table_n_known(second),
                    ra_cost_table_n_known(c.costs));
  ask_all(second, &c);
  compare(first, second, &c);
  ck_assert_uint_eq(ra_cost_store_n_put(again), 0);

  changed = &c.space->calls[0].candidates[0];
  changed->plan.launch = !changed->plan.launch;
  other = table_from(&c, c.space, again);
  ra_cost_table_call_s(other, 0, 0);
  ck_assert_uint_eq(ra_cost_store_n_put(again), 2); /* bound and cost */
  ra_cost_table_free(first);
  ra_cost_table_free(second);
  ra_cost_table_free(other);
  search_case_clear(&c);
}
END_TEST

static RaMcmcResult
search_with(const SearchCase *c, RaCostStore *store)
{
  g_autoptr(RaCostTable) costs = table_from(c, c->space, store);
  RaMcmcOptions options = {
      .n_threads = 1, .n_chains = 8, .n_steps = 3000, .seed = 3};
  RaMcmcResult result;

  ra_mcmc_search(costs, &options, &result);
  return result;
}

/* Chains make the same proposals and replays without a store, with an empty
 * one, and with that of an earlier search, which asks them for nothing new, not
 * even for a reallocation. */
START_TEST(chains)
{
  const char *sets[] = {"cluster.nodes=2", "workload.prompts=32", NULL};
  const char *drawn[] = {"cluster.nodes=1", "workload.prompts=8", FEW_TOKENS,
                         NULL};

  for (guint k = 0; k < 2; k++) {
    g_autoptr(RaCostStore) store = ra_cost_store_new(NULL, 0);
    RaMcmcResult results[3];
    SearchCase c;
    guint n_put;

    search_case_init(
        &c, k ? "grpo-qwen2.5-7b.workload" : "ppo-llama2-7b.workload",
        "h100-16n.cluster", k ? drawn : sets, RA_SPACE_COMMON, NULL);
    results[0] = search_with(&c, NULL);
    results[1] = search_with(&c, store);
    n_put = ra_cost_store_n_put(store);
    results[2] = search_with(&c, store);
    ck_assert_uint_eq(ra_cost_store_n_put(store), n_put);
    for (guint i = 0; i < 3; i++) {
      ck_assert(results[i].found);
      ck_assert_mem_eq(&results[i].point, &results[0].point, sizeof(RaPoint));
      ck_assert_mem_eq(&results[i].score.run_s, &results[0].score.run_s,
                       sizeof(double));
      ck_assert_uint_eq(results[i].n_steps, results[0].n_steps);
      ck_assert_uint_eq(results[i].n_replayed, results[0].n_replayed);
      ck_assert_uint_eq(results[i].n_asked, results[0].n_asked);
    }
    for (guint i = 0; i < 3; i++)
      ra_mcmc_result_clear(&results[i]);
    search_case_clear(&c);
  }
}
END_TEST

/* Another space has other numbers for its layouts, and what both have is taken:
 * of plans of the smaller one nothing is computed. */
START_TEST(other_space)
{
  const char *sets[] = {"cluster.nodes=2", "workload.prompts=32", NULL};
  const char *const limits[] = {"actor_train.tp=4,8", NULL};
  g_autoptr(RaCostStore) store = ra_cost_store_new(NULL, 0);
  SearchCase few, all;
  RaMcmcResult found;
  RaPoint point;
  RaPlan *plan;
  RaScore scores[2];
  guint n_put;

  search_case_init(&few, "ppo-llama2-7b.workload", "h100-16n.cluster", sets,
                   RA_SPACE_COMMON, limits);
  search_case_init(&all, "ppo-llama2-7b.workload", "h100-16n.cluster", sets,
                   RA_SPACE_COMMON, NULL);
  found = search_with(&few, store);
  plan = ra_space_plan_new(few.space, &found.point);
  ck_assert(ra_space_add(all.space, plan, &point));
  {
    g_autoptr(RaCostTable) costs = table_from(&all, all.space, store);
    g_autoptr(RaEvaluator) e = ra_evaluator_new(costs);

    n_put = ra_cost_store_n_put(store);
    ra_evaluate(e, &point, &scores[0]);
    ck_assert_uint_eq(ra_cost_store_n_put(store), n_put);
  }
  ck_assert_mem_eq(&scores[0].run_s, &found.score.run_s, sizeof(double));
  ra_space_plan_free(plan);
  ra_mcmc_result_clear(&found);
  search_case_clear(&few);
  search_case_clear(&all);
}
END_TEST

static Suite *
cost_store_suite(void)
{
  Suite *s = suite_create("cost_store");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 600);
  tcase_add_test(tcase, bytes);
  tcase_add_test(tcase, tables);
  tcase_add_test(tcase, chains);
  tcase_add_test(tcase, other_space);
  suite_add_tcase(s, tcase);
  return s;
}

RA_CHECK_MAIN(cost_store_suite)
