/* The set of what frameworks run: continuous batches, turns, experts, sampled
 * lengths and plans of others, against the simulator, to the last bit. */
#include "config.h"

#include "graph/input/residency.h"
#include "search/family/strategy.h"
#include "tests/support/search_case.h"

#define SHORT "workload.response-length=lognormal(64, 40, 256)"

/* --- random plans --- */

/* Random points are simulated as they are evaluated; so many of them have
 * continuous batches.  The fault of the oracle is in check_evaluate. */
static void
compare_random(const char *workload, const char *const *sets, guint n,
               guint least_continuous)
{
  SearchCase c;
  guint n_continuous = 0;

  search_case_init(&c, workload, "h100-16n.cluster", sets, RA_SPACE_COMMON,
                   NULL);
  for (guint i = 0; i < n; i++) {
    RaPoint point = search_case_point(&c, TRUE);

    for (guint k = 0; k < c.setup->workload->n_calls; k++)
      n_continuous +=
          ra_space_candidate(c.space, k, point.calls[k])->plan.batching ==
          RA_BATCHING_CONTINUOUS;
    search_case_compare(&c, &point);
  }
  ck_assert_uint_ge(n_continuous, least_continuous);
  search_case_clear(&c);
}

START_TEST(continuous)
{
  const char *sets[] = {"cluster.nodes=2", "workload.prompts=8", SHORT, NULL};
  /* Keys and values of two nodes' share exceed a tenth of a GPU. */
  const char *many[] = {"cluster.nodes=1", "workload.prompts=64", NULL};

  compare_random("grpo-qwen2.5-7b.workload", sets, 40, 10);
  compare_random("grpo-qwen2.5-7b.workload", many, 10, 3);
}
END_TEST

/* All generation is continuous. */
START_TEST(turns)
{
  const char *sets[] = {"cluster.nodes=1", "workload.prompts=4", NULL};

  compare_random("grpo-tools-qwen2.5-7b.workload", sets, 12, 12);
}
END_TEST

START_TEST(experts)
{
  const char *sets[] = {"cluster.nodes=2", "workload.prompts=16", SHORT, NULL};
  guint n_whole = 0;
  SearchCase c;

  search_case_init(&c, "grpo-qwen3-30b-a3b.workload", "h100-16n.cluster", sets,
                   RA_SPACE_COMMON, NULL);
  for (guint call = 0; call < c.setup->workload->n_calls; call++)
    for (uint32_t i = 0; i < c.space->calls[call].n; i++) {
      const RaCallPlan *p = &c.space->calls[call].candidates[i].plan;

      n_whole += p->tp > 1 && p->ep > 1 && ra_call_plan_expert_tp(p) == 1;
    }
  ck_assert_uint_gt(n_whole, 20);
  for (guint i = 0; i < 12; i++) {
    RaPoint point = search_case_point(&c, FALSE);

    search_case_compare(&c, &point);
  }
  search_case_clear(&c);
}
END_TEST

/* --- bounds of sampled lengths --- */

/* Candidates as some frameworks' plans have them: micro-batches of about as
 * many tokens, two of them where there was one. */
static void
balance_tokens(SearchCase *c)
{
  for (guint call = 0; call < c->setup->workload->n_calls; call++)
    for (uint32_t i = 0; i < c->space->calls[call].n; i++) {
      const RaCall *k = &c->setup->workload->calls[call];
      RaCallPlan *p = &c->space->calls[call].candidates[i].plan;

      if (k->kind != RA_CALL_TRAIN && k->kind != RA_CALL_INFERENCE)
        continue;
      p->balance = RA_BALANCE_TOKENS;
      if (k->n_sequences / ra_call_plan_n_pieces(k, p) / p->dp %
              (2 * p->n_micro_batches) ==
          0)
        p->n_micro_batches *= 2;
    }
  ra_evaluator_free(c->evaluator);
  ra_cost_table_free(c->costs);
  c->costs = ra_cost_table_new(c->space, c->setup->estimator, 1, NULL);
  c->evaluator = ra_evaluator_new(c->costs);
}

/* No iteration costs less than the bound, and a third of all candidates hardly
 * twice that.  The fault: a bound of 0 would pass but for that. */
static void
compare_bounds(const char *workload, const char *const *sets,
               gboolean by_tokens)
{
  guint n_close = 0, n = 0;
  SearchCase c;

  search_case_init(&c, workload, "h100-16n.cluster", sets, RA_SPACE_COMMON,
                   NULL);
  if (by_tokens)
    balance_tokens(&c);
  for (guint call = 0; call < c.setup->workload->n_calls; call++)
    for (uint32_t i = 0; i < c.space->calls[call].n; i += 3) {
      const double *parts = ra_cost_table_call_s(c.costs, call, i);
      double bound_s = ra_cost_table_bound_s(c.costs, call, i);

      for (guint k = 0; k < ra_cost_table_n_like(c.costs); k++)
        ck_assert_msg(bound_s <= parts[k], "%s %u: bound %.17g, %.17g s",
                      c.setup->workload->calls[call].name, i, bound_s,
                      parts[k]);
      n_close += bound_s > 0.5 * parts[0];
      n++;
    }
  ck_assert_msg(3 * n_close > n, "%u of %u", n_close, n);
  search_case_clear(&c);
}

START_TEST(bounds)
{
  const char *dense[] = {"cluster.nodes=1", "workload.prompts=16", NULL};
  const char *tools[] = {"cluster.nodes=1", "workload.prompts=4", NULL};
  const char *moe[] = {"cluster.nodes=1", "workload.prompts=8", SHORT, NULL};

  compare_bounds("grpo-qwen2.5-7b.workload", dense, FALSE);
  compare_bounds("grpo-qwen2.5-7b.workload", dense, TRUE);
  compare_bounds("grpo-tools-qwen2.5-7b.workload", tools, FALSE);
  compare_bounds("grpo-qwen3-30b-a3b.workload", moe, FALSE);
}
END_TEST

/* --- plans of others --- */

/* Calls that read the copy that training writes, or a frozen one, have nothing
 * to release. */
static void
release_own(RaPlan *plan)
{
  for (guint c = 0; c < plan->workload->n_calls; c++)
    if (plan->calls[c].set && plan->calls[c].residency == RA_RESIDENCY_KEEP &&
        plan->workload->calls[c].model != RA_NONE &&
        ra_residency_is_own(plan, c))
      plan->calls[c].residency = RA_RESIDENCY_RELEASE;
}

static char *
text_of(const RaPlan *plan)
{
  const RaPlanWords words = {.workload = "x.workload", .cluster = "x.cluster"};
  char *text = ra_plan_write(plan, &words, NULL);

  ck_assert_ptr_nonnull(text);
  return text;
}

static void
check_same(SearchCase *c, RaPlan *plan, RaPoint *out)
{
  g_autofree char *before = NULL, *after = NULL, *wrong = NULL;
  RaPlan *other;

  release_own(plan);
  before = text_of(plan);
  ck_assert(ra_space_add(c->space, plan, out));
  other = ra_space_plan_new(c->space, out);
  after = text_of(other);
  ck_assert_str_eq(before, after);
  /* The fault: another number of micro-batches is another plan. */
  other->calls[0].n_micro_batches++;
  wrong = text_of(other);
  ck_assert_str_ne(before, wrong);
  ra_space_plan_free(other);
}

/* Every strategy's plan comes back equal, and is simulated as evaluated. */
START_TEST(strategies)
{
  static const char *const workloads[] = {
      "grpo-qwen2.5-7b.workload", "grpo-qwen2.5-32b-async.workload",
      "ppo-llama2-7b.workload", "grpo-tools-qwen2.5-7b.workload"};
  const char *sets[] = {"cluster.nodes=4", "workload.prompts=32", NULL};
  guint n_all = 0;

  for (guint w = 0; w < G_N_ELEMENTS(workloads); w++) {
    RaPoint points[2 * RA_N_STRATEGIES];
    guint n = 0;
    SearchCase c;

    search_case_init(&c, workloads[w], "h100-16n.cluster", sets,
                     RA_SPACE_COMMON, NULL);
    for (int kind = 0; kind < 2 * RA_N_STRATEGIES; kind++) {
      RaStrategyOptions options = {
          .kind = (RaStrategyKind)(kind % RA_N_STRATEGIES),
          .batching = kind < RA_N_STRATEGIES ? RA_STRATEGY_BATCHING_AUTO
                                             : RA_STRATEGY_BATCHING_CONTINUOUS};
      g_autoptr(RaDraft) draft =
          ra_strategy_plan(c.setup->workload, c.setup->cluster,
                           c.setup->estimator, &options, NULL);

      if (draft)
        check_same(&c, draft->plan, &points[n++]);
    }
    search_case_compare_added(&c, points, n);
    search_case_clear(&c);
    n_all += n;
  }
  ck_assert_uint_gt(n_all, 24);
}
END_TEST

/* As frameworks have it: training in host memory between calls, its optimizer
 * too, and the engine's copy not. */
START_TEST(offloaded)
{
  enum { N = 40 };
  const char *sets[] = {"cluster.nodes=2", "workload.prompts=8", SHORT, NULL};
  RaPoint points[N];
  guint n = 0;
  SearchCase c;

  search_case_init(&c, "grpo-qwen2.5-7b.workload", "h100-16n.cluster", sets,
                   RA_SPACE_COMMON, NULL);
  for (guint i = 0; i < N; i++) {
    RaPoint point = search_case_point(&c, FALSE);
    RaPlan *plan = ra_space_plan_new(c.space, &point);
    g_autofree char *text = NULL;

    for (guint k = 0; k < c.setup->workload->n_calls; k++)
      if (c.setup->workload->calls[k].kind == RA_CALL_TRAIN) {
        plan->calls[k].residency = RA_RESIDENCY_HOST;
        plan->calls[k].optimizer_residency = RA_RESIDENCY_HOST;
      }
    /* Calls in training's layout would have to agree: not those. */
    text = text_of(plan);
    if (ra_setup_read_plan(c.setup, "x.plan", text, NULL))
      check_same(&c, plan, &points[n++]);
    ra_space_plan_free(plan);
  }
  ck_assert_uint_gt(n, N / 4);
  ck_assert(c.space->pins);
  search_case_compare_added(&c, points, n);
  search_case_clear(&c);
}
END_TEST

/* Details of a point: recomputation 3, micro-batches as many, twice and half,
 * balance 2, sharding 2, without the point itself.  Their costs and peaks are
 * the simulator's. */
START_TEST(details)
{
  enum { N = 12 };
  const char *sets[] = {"cluster.nodes=1", "workload.prompts=256", SHORT, NULL};
  const char *limits[] = {"actor_train.pp=1", "actor_train.tp=1",
                          "actor_train.gpus=8", NULL};
  guint n_train = 0, balances = 0, zeros = 0, recomputes = 0;
  g_autoptr(GArray) points = NULL;
  RaPoint point;
  uint32_t call;
  SearchCase c;

  search_case_init(&c, "grpo-qwen2.5-7b.workload", "h100-16n.cluster", sets,
                   RA_SPACE_COMMON, limits);
  call = ra_workload_find_call(c.setup->workload, "actor_train");
  point = search_case_point(&c, FALSE);
  points = ra_space_add_details(c.space, &point);
  for (guint i = 0; i < points->len; i++) {
    const RaPoint *one = &g_array_index(points, RaPoint, i);
    const RaCallPlan *p =
        &ra_space_candidate(c.space, call, one->calls[call])->plan;

    if (one->calls[call].candidate == point.calls[call].candidate)
      continue;
    n_train++;
    balances |= 1u << p->balance;
    zeros |= 1u << p->zero;
    recomputes |= 1u << p->recompute;
  }
  ck_assert_uint_eq(balances, 3);
  ck_assert_uint_eq(zeros, 1u << 1 | 1u << 3);
  ck_assert_uint_eq(recomputes, 7);
  ck_assert_uint_ge(n_train, 3 * 2 * 2 * 2 - 1); /* half may not divide */
  ck_assert_uint_le(n_train, 3 * 3 * 2 * 2 - 1);
  ck_assert_uint_gt(points->len, 2 * N);
  for (guint i = 0; i < N; i++) /* of all calls */
    g_array_index(points, RaPoint, i) =
        g_array_index(points, RaPoint, i * (points->len / N));
  search_case_compare_added(&c, (const RaPoint *)(gpointer)points->data, N);
  search_case_clear(&c);
}
END_TEST

/* Candidates of training, and those whose optimizer steps on the CPU. */
static void
count_on_cpu(const SearchCase *c, uint32_t *out_n, uint32_t *out_n_on_cpu)
{
  uint32_t call = ra_workload_find_call(c->setup->workload, "actor_train");

  *out_n = c->space->calls[call].n;
  *out_n_on_cpu = 0;
  for (uint32_t i = 0; i < *out_n; i++)
    *out_n_on_cpu +=
        c->space->calls[call].candidates[i].plan.optimizer_residency ==
        RA_RESIDENCY_CPU;
}

/* 70.6e9 parameters have 18 bytes each in training: 148 GiB of each of 8 GPUs,
 * more than there are; with the optimizer's 12 in host memory 49.  Then that
 * is where it is, in all candidates, and their times and peaks are the
 * simulator's; what was rejected is listed as often as it is counted.  On 64
 * GPUs, 18 GiB of each, it stays, as it is faster. */
START_TEST(on_cpu)
{
  const char *one[] = {"cluster.nodes=1", "workload.prompts=16",
                       "workload.response-length=fixed(64)", NULL};
  const char *eight[] = {"cluster.nodes=8", "workload.prompts=128",
                         "workload.response-length=fixed(64)", NULL};
  uint32_t n, n_on_cpu, call;
  g_autoptr(GArray) rejected = NULL;
  SearchCase c;

  search_case_init(&c, "ppo-llama3-70b.workload", "h100-16n.cluster", one,
                   RA_SPACE_COMMON, NULL);
  count_on_cpu(&c, &n, &n_on_cpu);
  ck_assert_uint_gt(n, 0);
  ck_assert_uint_eq(n_on_cpu, n);
  call = ra_workload_find_call(c.setup->workload, "actor_train");
  rejected = ra_space_rejected(c.space, call);
  ck_assert_uint_eq(rejected->len, c.space->calls[call].n_tried - n);
  for (guint i = 0; i < 20; i++) {
    RaPoint point = search_case_point(&c, FALSE);

    search_case_compare(&c, &point);
  }
  search_case_clear(&c);
  search_case_init(&c, "ppo-llama3-70b.workload", "h100-16n.cluster", eight,
                   RA_SPACE_COMMON, NULL);
  count_on_cpu(&c, &n, &n_on_cpu);
  ck_assert_uint_gt(n, 0);
  ck_assert_uint_eq(n_on_cpu, 0);
  search_case_clear(&c);
}
END_TEST

static Suite *
common_suite(void)
{
  Suite *s = suite_create("common");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 600);
  tcase_add_test(tcase, continuous);
  tcase_add_test(tcase, turns);
  tcase_add_test(tcase, experts);
  tcase_add_test(tcase, bounds);
  tcase_add_test(tcase, strategies);
  tcase_add_test(tcase, offloaded);
  tcase_add_test(tcase, on_cpu);
  tcase_add_test(tcase, details);
  suite_add_tcase(s, tcase);
  return s;
}

RA_CHECK_MAIN(common_suite)
