/* Plans as points of the space, and back: whatever a shipped plan, a strategy
 * or a framework's configuration says, a search may begin there.
 *
 * The expected plan is the given one.  A copy that training writes, or a frozen
 * one, may say `release` for `keep`: nothing could restore it, so both mean
 * that it stays (graph/input/residency.h). */
#include "config.h"

#include <string.h>

#include "graph/input/plan_write.h"
#include "graph/input/residency.h"
#include "search/family/strategy.h"
#include "search/space/space.h"
#include "study/convert/recipe.h"
#include "study/setup.h"
#include "tests/support/check_main.h"
#include "tests/support/search_case.h"

/* Counted in the folders: a configuration that is no longer imported is
 * noticed. */
enum { N_SHIPPED = 41, N_IMPORTED = 27 };

/* TRUE if a tail decides which of the sampled sequences other calls have. */
static gboolean
chooses(const RaPlan *plan)
{
  for (guint c = 0; c < plan->workload->n_calls; c++)
    if (plan->calls[c].tail.over_sample > 1)
      return TRUE;
  return FALSE;
}

/* (transfer full) (element-type utf8): names of the files in @folder that end
 * like @suffix, in their order. */
static GPtrArray *
list_files(const char *folder, const char *suffix)
{
  g_autofree char *path = g_build_filename(g_getenv("srcdir"), folder, NULL);
  GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
  GDir *dir = g_dir_open(path, 0, NULL);
  const char *name;

  ck_assert_ptr_nonnull(dir);
  while ((name = g_dir_read_name(dir)))
    if (g_str_has_suffix(name, suffix))
      g_ptr_array_add(names, g_strdup(name));
  g_dir_close(dir);
  g_ptr_array_sort(names, (GCompareFunc)(void (*)(void))g_strcmp0);
  return names;
}

static char *
write_plan(RaPlan *plan)
{
  RaPlanWords words = {.workload = "x.workload", .cluster = "x.cluster"};
  GError *error = NULL;
  char *text;

  for (guint c = 0; c < plan->workload->n_calls; c++)
    if (plan->workload->calls[c].model != RA_NONE &&
        plan->calls[c].residency == RA_RESIDENCY_KEEP &&
        ra_residency_is_own(plan, c))
      plan->calls[c].residency = RA_RESIDENCY_RELEASE;
  text = ra_plan_write(plan, &words, &error);
  ck_assert_msg(text != NULL, "%s", error ? error->message : "");
  return text;
}

/* Where a host call's data are gathered on a mesh, the plan of a framework: its
 * time is the simulator's (other plans: tests/search/check_evaluate.c). */
static void
check_time(RaSetup *setup, RaSpace *space, const RaPoint *point)
{
  SearchCase c = {.setup = setup, .space = space};
  RaScore expected, score;
  GError *error = NULL;

  if (!space->host_meshes || ra_cluster_n_gpus(setup->cluster) > 16)
    return;
  c.costs = ra_cost_table_new(space, setup->estimator, 1, &error);
  ck_assert_msg(c.costs != NULL, "%s", error ? error->message : "");
  c.evaluator = ra_evaluator_new(c.costs);
  expected = search_case_simulate(&c, point);
  ra_evaluate(c.evaluator, point, &score);
  ck_assert(search_case_same_real(score.run_s, expected.run_s) &&
            search_case_same_real(score.iteration_s, expected.iteration_s) &&
            search_case_same_real(score.makespan_s, expected.makespan_s));
  ra_evaluator_free(c.evaluator);
  ra_cost_table_free(c.costs);
}

/* The setup's plan through a space without candidates of its own. */
static void
check_plan(const char *name, RaSetup *setup)
{
  RaWorkload even = *setup->workload;
  RaUntil over = {NULL, 1};
  RaSpaceOptions options = {.kind = RA_SPACE_COMMON,
                            .n_iterations = SEARCH_CASE_ITERATIONS,
                            .seed = SEARCH_CASE_SEED,
                            .until = &over};
  g_autofree char *want = NULL;
  g_autofree char *got = NULL;
  GError *error = NULL;
  g_autoptr(RaSpace) space = NULL;
  RaPoint point;
  RaPlan *plan;

  /* As a search does, where it is not known which sequences come when. */
  if (!ra_space_accepts(&even, NULL) || chooses(setup->plan)) {
    even.prompt_length = ra_length_at_mean(&even.prompt_length);
    even.response_length = ra_length_at_mean(&even.response_length);
  }
  space = ra_space_new(&even, setup->cluster, &options, &error);
  ck_assert_msg(space != NULL, "%s: %s", name, error ? error->message : "");
  ck_assert_msg(ra_space_add(space, setup->plan, &point), "%s is no point",
                name);
  plan = ra_space_plan_new(space, &point);
  got = write_plan(plan);
  want = write_plan(setup->plan);
  ck_assert_msg(strcmp(got, want) == 0, "%s:\n%s\nexpected\n%s", name, got,
                want);
  /* The fault: another plan has another text. */
  plan->calls[setup->workload->order[0]].n_micro_batches += 1;
  g_free(got);
  got = write_plan(plan);
  ck_assert_str_ne(got, want);
  ra_space_plan_free(plan);
  check_time(setup, space, &point);
}

START_TEST(shipped)
{
  g_autoptr(GPtrArray) names = list_files("share/plans", ".plan");

  for (guint i = 0; i < names->len; i++) {
    RaSetupFlags flags = {NULL};
    GError *error = NULL;
    const char *name = g_ptr_array_index(names, i);
    g_autofree char *path =
        g_build_filename(g_getenv("srcdir"), "share", "plans", name, NULL);
    g_autoptr(RaSetup) setup =
        ra_setup_load(path, RA_FILE_PLAN, &flags, &error);

    ck_assert_msg(setup != NULL, "%s", error ? error->message : "");
    check_plan(name, setup);
  }
  ck_assert_uint_ge(names->len, N_SHIPPED);
}
END_TEST

/* --- strategies --- */

static void
check_strategies(const char *workload, const char *cluster, guint nodes)
{
  g_autofree char *change = g_strdup_printf("cluster.nodes=%u", nodes);
  const char *sets[] = {change, NULL};
  RaSetupFlags flags = {.workload = workload, .cluster = cluster, .sets = sets};
  GError *error = NULL;
  g_autoptr(RaSetup) setup = ra_setup_load_pair(&flags, &error);

  ck_assert_msg(setup != NULL, "%s", error ? error->message : "");
  for (guint kind = 0; kind < RA_N_STRATEGIES; kind++) {
    RaStrategyOptions strategy = {.kind = (RaStrategyKind)kind};
    g_autoptr(RaDraft) draft = ra_strategy_plan(
        setup->workload, setup->cluster, setup->estimator, &strategy, NULL);
    g_autofree char *name = g_strdup_printf("%s %s %u %s", workload, cluster,
                                            nodes, ra_strategy_names[kind]);
    g_autofree char *text = NULL;

    if (!draft)
      continue;
    text = ra_draft_write(draft, workload, cluster, NULL, &error);
    ck_assert_msg(text && ra_setup_read_plan(setup, name, text, &error), "%s",
                  error ? error->message : "");
    check_plan(name, setup);
  }
}

/* All that `reallot plan` writes are points. */
START_TEST(strategies)
{
  g_autoptr(GPtrArray) names = list_files("share/workloads", ".workload");

  for (guint i = (guint)_i; i < names->len; i += RA_CHECK_SHARE) {
    const char *name = g_ptr_array_index(names, i);

    check_strategies(name, "h100-16n.cluster", _i == 0 ? 1 : 4);
  }
}
END_TEST

/* --- configurations of frameworks --- */

/* (transfer full) (nullable): the three files of @name, an example. */
static RaImported *
import(const char *path, const char *name)
{
  g_autoptr(RaSettings) settings = ra_settings_load_with(path, NULL, NULL);
  RaRecipeOptions options = {.name = "x", .source = name, .script = path};
  g_autoptr(RaRecipe) recipe = NULL;
  RaFramework framework;

  if (!settings || !ra_settings_compose(settings, path, NULL))
    return NULL;
  framework = ra_framework_guess(settings);
  recipe = framework == RA_N_FRAMEWORKS
               ? NULL
               : ra_recipe_read(settings, framework, NULL);
  return recipe ? ra_recipe_make(recipe, &options, NULL) : NULL;
}

static void
put(const char *folder, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename(folder, name, NULL);

  ck_assert(g_file_set_contents(path, text, -1, NULL));
}

START_TEST(imported)
{
  g_autoptr(GPtrArray) names = list_files("tests/data/import", "");
  g_autofree char *folder = g_dir_make_tmp("point-XXXXXX", NULL);
  guint n = 0;

  for (guint i = 0; i < names->len; i++) {
    const char *name = g_ptr_array_index(names, i);
    g_autofree char *from = g_build_filename(g_getenv("srcdir"), "tests/data",
                                             "import", name, NULL);
    g_autofree char *plan = g_build_filename(folder, "x.plan", NULL);
    g_autoptr(RaImported) files = import(from, name);
    RaSetupFlags flags = {NULL};
    GError *error = NULL;
    g_autoptr(RaSetup) setup = NULL;

    if (!files)
      continue;
    put(folder, "x.workload", files->workload);
    put(folder, "x.cluster", files->cluster);
    put(folder, "x.plan", files->plan);
    setup = ra_setup_load(plan, RA_FILE_PLAN, &flags, &error);
    ck_assert_msg(setup != NULL, "%s: %s", name, error ? error->message : "");
    check_plan(name, setup);
    n++;
  }
  ck_assert_uint_ge(n, N_IMPORTED);
}
END_TEST

/* --- rollout services --- */

enum { N_SYNCS = 3, SERVICE_ITERATIONS = 8 };

/* Versions after every first, second or third training: eight iterations have
 * the times and peaks of simulate --fidelity=call.  Over a network of a
 * hundredth a version takes some 27 s, which generation waits for, so fewer are
 * faster.  (The fault: of one program for all of them, as of one signature, all
 * times are those of the first.)  On GPUs of the training a service is no plan:
 * all of a GPU is lacking. */
START_TEST(services)
{
  const char *sets[] = {"cluster.nic=4 Gbit/s", NULL};
  RaSetupFlags flags = {.sets = sets};
  RaUntil over = {NULL, 1};
  RaSpaceOptions options = {.kind = RA_SPACE_COMMON,
                            .n_iterations = SERVICE_ITERATIONS,
                            .seed = SEARCH_CASE_SEED,
                            .until = &over};
  GError *error = NULL;
  g_autofree char *path =
      g_build_filename(g_getenv("srcdir"), "share", "plans",
                       "grpo-qwen2.5-32b-128-service.plan", NULL);
  SearchCase c = {.setup = ra_setup_load(path, RA_FILE_PLAN, &flags, &error)};
  uint32_t call = ra_workload_find_call(c.setup->workload, "actor_generate");
  RaScore scores[N_SYNCS], expected;
  RaPoint points[N_SYNCS], other;

  c.space = ra_space_new(c.setup->workload, c.setup->cluster, &options, &error);
  for (uint32_t s = 0; s < N_SYNCS; s++) {
    c.setup->plan->calls[call].sync_interval = 1 + s;
    ck_assert(ra_space_add(c.space, c.setup->plan, &points[s]));
  }
  c.costs = ra_cost_table_new(c.space, c.setup->estimator, 1, &error);
  ck_assert_msg(c.costs != NULL, "%s", error ? error->message : "");
  c.evaluator = ra_evaluator_new(c.costs);
  for (uint32_t s = 0; s < N_SYNCS; s++) {
    expected = search_case_simulate(&c, &points[s]);
    ra_evaluate(c.evaluator, &points[s], &scores[s]);
    ck_assert(search_case_same(&scores[s], &expected));
    ck_assert_double_eq(scores[s].over_bytes, 0);
    ck_assert(s == 0 || scores[s].run_s < scores[s - 1].run_s);
  }
  other = points[0];
  other.calls[call].position++;
  ra_evaluate(c.evaluator, &other, &scores[0]);
  ck_assert_double_eq(scores[0].over_bytes,
                      (double)c.setup->cluster->device.memory_bytes);
  ra_evaluator_free(c.evaluator);
  ra_cost_table_free(c.costs);
  ra_space_free(c.space);
  ra_setup_free(c.setup);
}
END_TEST

/* --- precisions --- */

enum { N_PRECISIONS = 4 };

typedef void (*ChangeFunc)(RaPlan *plan, guint i);

/* Four changes of a shipped plan have the times and peaks of simulate
 * --fidelity=call, and bounds that are no longer. */
static void
compare_changes(const char *name, ChangeFunc change, RaScore *out_scores)
{
  RaSetupFlags flags = {NULL};
  RaUntil over = {NULL, 1};
  RaSpaceOptions options = {.kind = RA_SPACE_COMMON,
                            .n_iterations = SEARCH_CASE_ITERATIONS,
                            .seed = SEARCH_CASE_SEED,
                            .until = &over};
  GError *error = NULL;
  g_autofree char *path =
      g_build_filename(g_getenv("srcdir"), "share", "plans", name, NULL);
  SearchCase c = {.setup = ra_setup_load(path, RA_FILE_PLAN, &flags, &error)};
  RaPoint points[N_PRECISIONS];
  RaScore expected;
  double bound_s;

  c.space = ra_space_new(c.setup->workload, c.setup->cluster, &options, &error);
  for (guint i = 0; i < N_PRECISIONS; i++) {
    change(c.setup->plan, i);
    ck_assert(ra_space_add(c.space, c.setup->plan, &points[i]));
  }
  c.costs = ra_cost_table_new(c.space, c.setup->estimator, 1, &error);
  ck_assert_msg(c.costs != NULL, "%s", error ? error->message : "");
  c.evaluator = ra_evaluator_new(c.costs);
  for (guint i = 0; i < N_PRECISIONS; i++) {
    expected = search_case_simulate(&c, &points[i]);
    ra_evaluate(c.evaluator, &points[i], &out_scores[i]);
    ra_evaluator_bound(c.evaluator, 1, &bound_s);
    ck_assert_msg(search_case_same(&out_scores[i], &expected),
                  "%s, change %u: %.17g s, expected %.17g s", name, i,
                  out_scores[i].run_s, expected.run_s);
    ck_assert(bound_s <= expected.run_s);
  }
  ra_evaluator_free(c.evaluator);
  ra_cost_table_free(c.costs);
  ra_space_free(c.space);
  ra_setup_free(c.setup);
}

static void
change_rollout(RaPlan *plan, guint i)
{
  RaCallPlan *p =
      &plan->calls[ra_workload_find_call(plan->workload, "actor_generate")];

  p->dtype = i & 1 ? 1 + RA_DTYPE_FP8 : 0;
  p->tp = i & 2 ? 4 : 2;
  p->dp = 32 / p->tp;
}

/* Generation in the layout of training and in another one, of 16 bits and of 8.
 * In training's own layout nothing travels, but 8 bits are a copy of its own,
 * which is cast at each version.  (The fault: a layout is the same whatever its
 * type, so that nothing is filled.) */
START_TEST(rollouts_of_8_bits)
{
  RaScore scores[N_PRECISIONS];

  compare_changes("grpo-qwen2.5-7b-32.plan", change_rollout, scores);
  ck_assert(scores[1].peak_bytes != scores[0].peak_bytes);
}
END_TEST

static void
change_experts(RaPlan *plan, guint i)
{
  RaCallPlan *p =
      &plan->calls[ra_workload_find_call(plan->workload, "actor_generate")];

  p->expert_dtype = (int)MIN(i, RA_EXPERT_DTYPE_NVFP4);
  p->dtype = i == 3 ? 1 + RA_DTYPE_FP8 : 0;
}

/* Experts of a rollout in 16 bits, in MXFP4, in NVFP4, and these beside weights
 * of 8 bits: four layouts of one mesh.  (The fault: a layout is the same
 * whatever its experts' type.) */
START_TEST(experts_of_4_bits)
{
  RaScore scores[N_PRECISIONS];

  compare_changes("grpo-qwen3-30b-a3b-32.plan", change_experts, scores);
  for (guint i = 1; i < N_PRECISIONS; i++)
    ck_assert(scores[i].run_s != scores[i - 1].run_s);
}
END_TEST

static void
change_ends(RaPlan *plan, guint i)
{
  RaCallPlan *p =
      &plan->calls[ra_workload_find_call(plan->workload, "actor_train")];

  p->fp8_gemms = TRUE;
  p->bf16_first = i & 1 ? 3 : 0;
  p->bf16_last = i & 2 ? 30 : 0;
}

/* Training in fp8 in a pipeline of four, with layers in bf16 at either end: 30
 * at the last, more than a stage has, are longer than the critic's training
 * beside it, which hides 3 at the first.  (The fault: all layers in fp8.) */
START_TEST(ends_in_bf16)
{
  RaScore scores[N_PRECISIONS];

  compare_changes("ppo-llama3-70b-128.plan", change_ends, scores);
  for (guint i = 2; i < N_PRECISIONS; i++)
    ck_assert(scores[i].run_s > scores[0].run_s);
}
END_TEST

static Suite *
plan_point_suite(void)
{
  Suite *suite = suite_create("plan-point");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 600);
  tcase_add_test(tcase, shipped);
  tcase_add_loop_test(tcase, strategies, 0, 2);
  tcase_add_test(tcase, imported);
  tcase_add_test(tcase, services);
  tcase_add_test(tcase, rollouts_of_8_bits);
  tcase_add_test(tcase, experts_of_4_bits);
  tcase_add_test(tcase, ends_in_bf16);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(plan_point_suite)
