/* Sets of nodes that are no runs, as meshes of a search. */
#include "config.h"

#include "search/mcmc.h"
#include "tests/support/search_case.h"

static const char *const five[] = {"cluster.nodes=5", "workload.prompts=40",
                                   NULL};

/* TRUE if some call of @point is on a set. */
static gboolean
has_set(const SearchCase *c, const RaPoint *point)
{
  for (guint k = 0; k < c->setup->workload->n_calls; k++)
    if (ra_candidate_set(ra_space_candidate(c->space, k, point->calls[k]),
                         point->calls[k].position))
      return TRUE;
  return FALSE;
}

static RaCluster
flat(uint32_t n_nodes)
{
  return (RaCluster){.n_nodes = n_nodes,
                     .gpus_per_node = 8,
                     .fabric = {.oversubscription = 1}};
}

/* With 5 nodes: 2^5 - 1 = 31 sets that are not empty, 5 + 4 + 3 + 2 + 1 = 15 of
 * them runs; nothing is merged away. With 16 nodes in blocks of 2: 2^8 - 1 =
 * 255 unions, 36 of them runs; of size 4, that is 2 blocks: 28 - 7 = 21 sets,
 * and C(16, 4) - 13 runs - 21 = 1820 - 34 = 1786 merged. */
START_TEST(counted)
{
  RaCluster cluster = flat(5);
  RaNodeSets *sets = ra_node_sets_new(&cluster, TRUE);
  uint32_t n, sum = 0;

  for (uint32_t k = 1; k <= 5; k++) {
    ra_node_sets_of(sets, k, &n);
    sum += n;
    ck_assert_double_eq(ra_node_sets_n_merged(sets, k), 0);
  }
  ck_assert_uint_eq(sum, 31 - 15);
  ra_node_sets_free(sets);

  cluster = flat(16);
  sets = ra_node_sets_new(&cluster, TRUE);
  sum = 0;
  for (uint32_t k = 1; k <= 16; k++) {
    const RaMesh *all = ra_node_sets_of(sets, k, &n);

    sum += n;
    for (uint32_t i = 0; i < n; i++) {
      g_autofree char *text = ra_mesh_format(&all[i], &cluster);
      RaMesh again;

      /* It is a mesh as plans write it. */
      ck_assert(ra_mesh_parse(text, &cluster, &again, NULL));
      ck_assert(ra_mesh_equal(&all[i], &again) && again.n_runs > 1);
      ck_assert_uint_eq(again.n_nodes, k);
    }
  }
  ck_assert_uint_eq(sum, 255 - 36);
  ra_node_sets_of(sets, 4, &n);
  ck_assert_uint_eq(n, 21);
  ck_assert_double_eq(ra_node_sets_n_merged(sets, 4), 1786);
  ra_node_sets_free(sets);
}
END_TEST

/* Nodes that the fabric tells apart are in no set, and why is said. */
START_TEST(unlike_nodes)
{
  RaCluster cluster = flat(8);
  RaNodeSets *sets;
  uint32_t n;

  cluster.fabric.oversubscription = 2;
  sets = ra_node_sets_new(&cluster, TRUE);
  ck_assert_ptr_nonnull(ra_node_sets_why_none(sets));
  ck_assert_ptr_null(ra_node_sets_of(sets, 2, &n));
  ck_assert_uint_eq(n, 0);
  ra_node_sets_free(sets);
  cluster.fabric.oversubscription = 1;
  sets = ra_node_sets_new(&cluster, TRUE);
  ck_assert_ptr_null(ra_node_sets_why_none(sets));
  ck_assert_ptr_nonnull(ra_node_sets_of(sets, 2, &n));
  ra_node_sets_free(sets);
}
END_TEST

/* Plans with sets cost what the simulator says, to the last bit.  The fault:
 * the same plans with their sets taken for the runs that begin there. */
static void
compare(const char *workload, const char *const *sets, guint n)
{
  SearchCase c;
  guint n_sets = 0, n_unlike = 0;

  search_case_init(&c, workload, "h100-16n.cluster", sets, RA_SPACE_FULL, NULL);
  for (guint i = 0; i < n; i++) {
    RaPoint point = search_case_point(&c, i % 2), wrong = point;
    RaScore score, other;

    if (!has_set(&c, &point))
      continue;
    n_sets++;
    search_case_compare(&c, &point);
    for (guint k = 0; k < c.setup->workload->n_calls; k++) {
      const RaCandidate *like = ra_space_candidate(c.space, k, point.calls[k]);

      if (ra_candidate_set(like, point.calls[k].position))
        wrong.calls[k].position = 0;
    }
    ra_evaluate(c.evaluator, &point, &score);
    ra_evaluate(c.evaluator, &wrong, &other);
    n_unlike += !search_case_same(&score, &other);
  }
  ck_assert_uint_gt(n_sets, n / 4);
  ck_assert_uint_gt(n_unlike, n_sets / 4);
  search_case_clear(&c);
}

START_TEST(simulator)
{
  compare("ppo-llama2-7b.workload", five, 80);
}
END_TEST

START_TEST(simulator_grpo)
{
  const char *sets[] = {"cluster.nodes=4", "workload.prompts=8",
                        "workload.prompt-length=fixed(256)",
                        "workload.response-length=uniform(255,256)", NULL};

  compare("grpo-qwen2.5-7b.workload", sets, 40);
}
END_TEST

/* A change of one call is the plan set anew. */
START_TEST(moves)
{
  SearchCase c;
  RaPoint point;

  search_case_init(&c, "ppo-llama2-7b.workload", "h100-16n.cluster", five,
                   RA_SPACE_FULL, NULL);
  point = search_case_point(&c, FALSE);
  ra_evaluator_set(c.evaluator, 1, &point);
  for (guint i = 0; i < 3000; i++) {
    uint32_t call = search_case_below(&c, c.setup->workload->n_calls);
    RaScore scores[2];

    if (i % 500 == 0)
      ra_evaluator_move_residency(
          c.evaluator, 1, search_case_below(&c, c.setup->workload->n_models),
          (int)search_case_below(&c, 3));
    ra_evaluator_move(c.evaluator, 1, call, search_case_choice(&c, call));
    point = *ra_evaluator_point(c.evaluator, 1);
    ra_evaluator_set(c.evaluator, 0, &point);
    ra_evaluator_run(c.evaluator, 2, scores);
    for (guint k = 0; k < 2; k++)
      if (!scores[k].is_exact)
        ra_evaluator_exact_peak(c.evaluator, k, &scores[k]);
    ck_assert_msg(search_case_same(&scores[0], &scores[1]), "step %u", i);
  }
  search_case_clear(&c);
}
END_TEST

/* An exchange of equal nodes changes nothing: what is on nodes [0,2-4] of 5,
 * node 1 free, is on [1-4] with node 0 free. */
START_TEST(relabelled)
{
  SearchCase c;
  guint n = 0;

  search_case_init(&c, "ppo-llama2-7b.workload", "h100-16n.cluster", five,
                   RA_SPACE_FULL, NULL);
  for (guint i = 0; i < 50; i++) {
    RaPoint point = search_case_point(&c, FALSE), other;
    RaMesh gap = {.n_runs = 2,
                  .n_nodes = 4,
                  .gpus_per_node = 8,
                  .runs = {{0, 1}, {2, 3}}};
    RaScore score, same;

    for (guint k = 0; k < c.setup->workload->n_calls; k++)
      while (c.space->calls[k].candidates[point.calls[k].candidate].n_gpus !=
             32)
        point.calls[k] = search_case_choice(&c, k);
    other = point;
    for (guint k = 0; k < c.setup->workload->n_calls; k++) {
      const RaCandidate *like = ra_space_candidate(c.space, k, point.calls[k]);

      point.calls[k].position = ra_candidate_position(like, 0, &gap);
      other.calls[k].position = ra_candidate_position(like, 8, NULL);
      ck_assert_uint_ne(point.calls[k].position, RA_NONE);
      ck_assert_uint_ne(other.calls[k].position, RA_NONE);
    }
    ra_evaluate(c.evaluator, &point, &score);
    ra_evaluate(c.evaluator, &other, &same);
    ck_assert(search_case_same(&score, &same));
    /* The fault: one call on other nodes. */
    other.calls[0].position = 0;
    ra_evaluate(c.evaluator, &other, &same);
    n += !search_case_same(&score, &same);
  }
  ck_assert_uint_gt(n, 0);
  search_case_clear(&c);
}
END_TEST

/* A set can be asked for, and chains may leave what is pinned no more than
 * elsewhere. */
START_TEST(pinned)
{
  static const char *const limits[] = {"actor_generate.mesh=node[0,2-3]",
                                       "actor_generate.tp=8", NULL};
  RaMcmcOptions options = {.n_steps = 2000, .n_threads = 1, .seed = 1};
  SearchCase c;
  RaMcmcResult result;
  uint32_t call;
  g_autofree char *text = NULL;
  RaPlan *plan;

  search_case_init(&c, "ppo-llama2-7b.workload", "h100-16n.cluster", five,
                   RA_SPACE_FULL, limits);
  call = ra_workload_find_call(c.setup->workload, "actor_generate");
  ra_mcmc_search(c.costs, &options, &result);
  ck_assert(result.found);
  plan = ra_space_plan_new(c.space, &result.point);
  text = ra_mesh_format(&plan->calls[call].mesh, c.setup->cluster);
  ck_assert_str_eq(text, "node[0,2-3]");
  ck_assert_uint_eq(plan->calls[call].tp, 8);
  ra_space_plan_free(plan);
  search_case_compare(&c, &result.point);
  ra_mcmc_result_clear(&result);
  search_case_clear(&c);
}
END_TEST

/* A plan on a set is a point, also of a space that has no sets. */
START_TEST(added)
{
  SearchCase c, real;
  guint n = 0;

  search_case_init(&c, "ppo-llama2-7b.workload", "h100-16n.cluster", five,
                   RA_SPACE_FULL, NULL);
  for (guint i = 0; i < 20; i++) {
    RaPoint point = search_case_point(&c, FALSE), again;
    RaSpaceOptions options = {.kind = RA_SPACE_REAL, .n_iterations = 3};
    RaPlan *plan, *other;

    if (!has_set(&c, &point))
      continue;
    n++;
    memset(&real, 0, sizeof real);
    real.space =
        ra_space_new(c.setup->workload, c.setup->cluster, &options, NULL);
    plan = ra_space_plan_new(c.space, &point);
    ck_assert(ra_space_add(real.space, plan, &again));
    other = ra_space_plan_new(real.space, &again);
    ck_assert(ra_plan_equal(plan, other));
    ra_space_plan_free(plan);
    ra_space_plan_free(other);
    ra_space_free(real.space);
  }
  ck_assert_uint_gt(n, 3);
  search_case_clear(&c);
}
END_TEST

static Suite *
node_set_suite(void)
{
  Suite *s = suite_create("node_set");
  TCase *core = tcase_create("core");

  tcase_set_timeout(core, 600);
  tcase_add_test(core, counted);
  tcase_add_test(core, unlike_nodes);
  tcase_add_test(core, simulator);
  tcase_add_test(core, simulator_grpo);
  tcase_add_test(core, moves);
  tcase_add_test(core, relabelled);
  tcase_add_test(core, pinned);
  tcase_add_test(core, added);
  suite_add_tcase(s, core);
  return s;
}

RA_CHECK_MAIN(node_set_suite)
