/* Numbers of mini-batches as candidates: only where a limit allows them, all
 * of those that divide, evaluated as they are simulated. */
#include "config.h"

#include "base/error.h"
#include "tests/support/check_main.h"
#include "tests/support/search_case.h"

static const char *const sets[] = {"cluster.nodes=1", "workload.prompts=64",
                                   NULL};

/* How many candidates of @call have @n mini-batches. */
static guint
n_with(const SearchCase *c, uint32_t call, uint32_t n)
{
  const RaCall *of = &c->setup->workload->calls[call];
  guint found = 0;

  for (uint32_t i = 0; i < c->space->calls[call].n; i++)
    found += ra_call_plan_n_pieces(
                 of, &c->space->calls[call].candidates[i].plan) == n;
  return found;
}

/* Candidates for 64 sequences in 4 mini-batches: without a limit 4 alone; with
 * 1, 2 and 8 these three and no other; with at least 20 those that divide 64,
 * 32 and 64. 4 is the workload's own, so it stands as 0 and plans with it are
 * the old ones. */
START_TEST(candidates)
{
  static const struct {
    const char *limit;
    uint32_t has[5], sum;
  } cases[] = {
      {NULL, {4, 4, 4, 4, 4}, 1},
      {"actor_train.mini-batches=1,2,8", {1, 2, 8, 8, 8}, 3},
      {"actor_train.mini-batches>=20", {32, 64, 64, 64, 64}, 2},
      {"actor_train.mini-batches=4", {4, 4, 4, 4, 4}, 1},
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    const char *limits[] = {cases[i].limit, NULL};
    SearchCase c;
    uint32_t train, other;
    guint n = 0;

    search_case_init(&c, "ppo-llama2-7b.workload", "h100-16n.cluster", sets,
                     RA_SPACE_REAL, cases[i].limit ? limits : NULL);
    train = ra_workload_find_call(c.setup->workload, "actor_train");
    other = ra_workload_find_call(c.setup->workload, "critic_train");
    ck_assert_uint_eq(c.setup->workload->calls[train].n_mini_batches, 4);
    for (guint k = 0; k < cases[i].sum; k++) {
      guint found = n_with(&c, train, cases[i].has[k]);

      ck_assert_uint_gt(found, 0);
      n += found;
    }
    ck_assert_uint_eq(n, c.space->calls[train].n);
    ck_assert_uint_eq(n_with(&c, other, 4), c.space->calls[other].n);
    for (uint32_t k = 0; k < c.space->calls[train].n; k++)
      ck_assert_uint_ne(c.space->calls[train].candidates[k].plan.n_mini_batches,
                        4);
    search_case_clear(&c);
  }
}
END_TEST

/* Times and peaks as simulated, to the last bit, and a plan file can say it;
 * the fault: the same point with the workload's number takes another time. */
START_TEST(as_simulated)
{
  static const char *const limits[] = {"actor_train.mini-batches=1,2,8",
                                       "critic_train.mini-batches=1,16", NULL};
  guint n_other = 0;

  for (int kind = RA_SPACE_REAL; kind <= RA_SPACE_FULL; kind++) {
    SearchCase c;
    uint32_t train;

    search_case_init(&c, "ppo-llama2-7b.workload", "h100-16n.cluster", sets,
                     (RaSpaceKind)kind, limits);
    train = ra_workload_find_call(c.setup->workload, "actor_train");
    for (guint i = 0; i < 60; i++) {
      RaPoint point = search_case_point(&c, kind == RA_SPACE_FULL);
      RaCallPlan *plan =
          &c.space->calls[train].candidates[point.calls[train].candidate].plan;
      uint32_t n = plan->n_mini_batches;
      RaScore own = search_case_simulate(&c, &point), other;

      search_case_compare(&c, &point);
      if (64 % (4 * plan->dp * plan->n_micro_batches) != 0)
        continue;
      plan->n_mini_batches = 0;
      other = search_case_simulate(&c, &point);
      plan->n_mini_batches = n;
      n_other += !search_case_same(&own, &other);
    }
    search_case_clear(&c);
  }
  ck_assert_uint_gt(n_other, 20);
}
END_TEST

/* Numbers that no plan may have are refused as they are read. */
START_TEST(bad)
{
  static const struct {
    const char *text, *says;
  } cases[] = {
      {"actor_train.mini-batches=3", "'actor_train' cannot have 3 mini-"},
      {"actor_train.mini-batches=0", "'actor_train' cannot have 0 mini-"},
      {"all.mini-batches=128", "'actor_train' cannot have 128 mini-"},
      {"actor_generate.mini-batches=2", "'actor_generate' does not train"},
      {"actor_train.mini-batches=few", "'few' is not a value of mini-batches"},
  };
  RaSetupFlags flags = {.workload = "ppo-llama2-7b.workload",
                        .cluster = "h100-16n.cluster",
                        .sets = sets};
  RaSetup *setup = ra_setup_load_pair(&flags, NULL);

  ck_assert(setup != NULL);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GArray) limits = g_array_new(FALSE, FALSE, sizeof(RaLimit));
    GError *error = NULL;

    ck_assert(!ra_limits_add(limits, cases[i].text, setup->workload,
                             setup->cluster, &error));
    ck_assert_int_eq(error->code, RA_ERROR_INPUT);
    ck_assert_msg(strstr(error->message, cases[i].says) != NULL, "%s",
                  error->message);
    g_error_free(error);
  }
  ra_setup_free(setup);
}
END_TEST

static Suite *
mini_batches_suite(void)
{
  Suite *s = suite_create("mini_batches");
  TCase *core = tcase_create("core");

  tcase_set_timeout(core, 300);
  tcase_add_test(core, candidates);
  tcase_add_test(core, as_simulated);
  tcase_add_test(core, bad);
  suite_add_tcase(s, core);
  return s;
}

RA_CHECK_MAIN(mini_batches_suite)
