/* Plans for a framework: each plan that a search for it finds is exported as a
 * script, composed from the file, and imported back equal.
 *
 * The trip is made here once more, over files, with the importer's own reader:
 * expected is ra_plan_equal() with the plan found.  The fault: the same plan
 * with one more micro-batch is not equal. */
#include "config.h"

#include <glib/gstdio.h>
#include <string.h>

#include "base/error.h"
#include "graph/input/plan_write.h"
#include "study/contest/contest.h"
#include "study/convert/export.h"
#include "tests/support/check_main.h"

#define STEPS 1 /* a search by steps has no clock */

static char *folder; /* of a test */

static void
set_up(void)
{
  folder = g_dir_make_tmp("sayable-XXXXXX", NULL);
  ck_assert_ptr_nonnull(folder);
}

static void
tear_down(void)
{
  static const char *const names[] = {"x.sh"};

  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *path = g_build_filename(folder, names[i], NULL);

    g_unlink(path);
  }
  g_rmdir(folder);
  g_free(folder);
}

typedef struct {
  const char *workload, *cluster, *change; /* change: nullable */
  const char *target;
  uint64_t seed;
  guint least; /* plans that are found */
} Case;

static const Case cases[] = {
    {"grpo-tiny.workload", "h100-1n.cluster", NULL, "verl", 0, 3},
    {"grpo-tiny.workload", "h100-4n.cluster", "cluster.nodes=2", "verl", 1, 3},
    {"ppo-tiny.workload", "h100-1n.cluster", NULL, "verl", 2, 3},
    {"grpo-tiny.workload", "h100-1n.cluster", NULL, "nemo-rl", 3, 3},
    {"grpo-qwen2.5-7b.workload", "h100-1n.cluster", NULL, "verl@2025-07", 4, 3},
    {"grpo-qwen2.5-7b.workload", "h100-1n.cluster", NULL, "openrlhf", 5, 1},
    {"grpo-qwen2.5-7b.workload", "h100-1n.cluster", NULL, "slime", 6, 1},
};

static RaSetup *
load(const Case *one)
{
  const char *sets[] = {one->change, NULL};
  RaSetupFlags flags = {.workload = one->workload,
                        .cluster = one->cluster,
                        .sets = one->change ? sets : NULL};
  GError *error = NULL;
  RaSetup *setup = ra_setup_load_pair(&flags, &error);

  ck_assert_msg(setup != NULL, "%s", error ? error->message : "");
  return setup;
}

/* The law that the workload's file has for @key. */
static const char *
law_of(const RaSetup *setup, const char *key)
{
  const RaKeyFile *file = setup->workload->file;
  int at = ra_key_file_find_group(file, "workload", "");

  return ra_key_file_get(file, (guint)at, key);
}

/* (transfer full): the plan that the script at @path is. */
static char *
import(const RaSetup *setup, const char *path, RaFramework framework)
{
  GError *error = NULL;
  g_autofree char *models = g_strdup(setup->workload->models[0].config);
  RaRecipeOptions options = {.name = "x",
                             .source = "x.sh",
                             .gpu = setup->cluster->gpu,
                             .models = models,
                             .prompt_length = law_of(setup, "prompt-length"),
                             .response_length =
                                 law_of(setup, "response-length"),
                             .script = path};
  g_autoptr(RaSettings) settings = ra_settings_load(path, &error);
  g_autoptr(RaRecipe) recipe = NULL;
  g_autoptr(RaImported) files = NULL;

  if (settings && ra_settings_compose(settings, path, &error))
    recipe = ra_recipe_read(settings, framework, &error);
  if (recipe)
    files = ra_recipe_make(recipe, &options, &error);
  ck_assert_msg(files != NULL, "%s", error ? error->message : "");
  return g_strdup(files->plan);
}

/* TRUE if the calls with a model are equal: those of the host have no plan in a
 * configuration. */
static gboolean
is_equal(RaPlan *a, const RaPlan *b)
{
  for (uint32_t c = 0; c < a->workload->n_calls; c++)
    if (a->workload->calls[c].model == RA_NONE) {
      a->calls[c].set = b->calls[c].set;
      a->calls[c].mesh = b->calls[c].mesh;
    }
  return ra_plan_equal(a, b);
}

/* @text out and back. */
static void
check_trip(RaSetup *setup, const Case *one, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename(folder, "x.sh", NULL);
  g_autofree char *script = NULL, *back = NULL;
  RaExportSource source = {.plan_path = name,
                           .workload_path = setup->workload_path};
  GError *error = NULL;
  g_autoptr(RaExport) export = NULL;
  RaPlan *found;

  ck_assert_msg(ra_setup_read_plan(setup, name, text, &error), "%s",
                error ? error->message : "");
  found = g_steal_pointer(&setup->plan);
  source.plan = found;
  export = ra_export_plan(&source, one->target, &error);
  ck_assert_msg(export != NULL, "%s", error ? error->message : "");
  script = ra_export_script(export);
  ck_assert(g_file_set_contents(path, script, -1, NULL));
  back = import(setup, path, ra_export_check(one->target, NULL));
  ck_assert_msg(ra_setup_read_plan(setup, "back", back, &error), "%s",
                error ? error->message : "");
  ck_assert_msg(is_equal(found, setup->plan),
                "%s of %s for %s comes back otherwise:\n%s\n%s\n%s", name,
                one->workload, one->target, text, script, back);
  setup->plan->calls[setup->workload->order[0]].n_micro_batches += 1;
  ck_assert(!is_equal(found, setup->plan));
  ra_plan_free(found);
}

START_TEST(found)
{
  const Case *one = &cases[_i * RA_CHECK_SHARE];
  g_autoptr(RaSetup) setup = load(one);
  RaContestOptions options = {.kind = RA_SPACE_COMMON,
                              .target = one->target,
                              .n_iterations = 2,
                              .seed = one->seed,
                              .n_steps = STEPS,
                              .n_threads = 2,
                              .n_near = 2,
                              .workload = one->workload,
                              .cluster = one->cluster};
  GError *error = NULL;
  g_autoptr(RaContest) contest = ra_contest_new(setup, &options, &error);
  guint n = 0;

  ck_assert_msg(contest != NULL, "%s", error ? error->message : "");
  for (guint i = 0; i < contest->contenders->len; i++) {
    const RaContender *c = &g_array_index(contest->contenders, RaContender, i);

    if (c->unsaid || !c->text || (!c->is_found && !c->fits)) {
      ck_assert_uint_ne(i, contest->winner);
      continue;
    }
    check_trip(setup, one, c->name, c->text);
    n++;
  }
  ck_assert_uint_ge(n, one->least);
  ck_assert_uint_ne(contest->winner, RA_NONE);
}
END_TEST

static Suite *
sayable_suite(void)
{
  Suite *suite = suite_create("sayable");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 600);
  tcase_add_checked_fixture(tcase, set_up, tear_down);
  tcase_add_loop_test(tcase, found, 0, RA_CHECK_SOME(G_N_ELEMENTS(cases)));
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(sayable_suite)
