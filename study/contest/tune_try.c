/* One configuration of a tuning: imported, replayed, and its cost. */
#include "config.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "graph/input/plan_service.h"
#include "sim/breakdown.h"
#include "sim/path_share.h"
#include "study/contest/tune_impl.h"
#include "study/memory_verdict.h"

#define ITERATIONS 3

RaTuneValues
ra_tuner_copy(const RaTuner *t, const RaTuneValues values)
{
  RaTuneValues copy = g_new0(char *, t->n_keys + 1);

  for (guint i = 0; i < t->n_keys; i++)
    copy[i] = g_strdup(values[i]);
  return copy;
}

void
ra_tuner_drop(const RaTuner *t, RaTuneValues values)
{
  for (guint i = 0; values && i < t->n_keys; i++)
    g_free(values[i]);
  g_free(values);
}

/* (transfer full) (element-type utf8): the user's overrides and @values. */
static GPtrArray *
list_sets(const RaTuner *t, const RaTuneValues values)
{
  GPtrArray *sets = g_ptr_array_new_with_free_func(g_free);

  for (guint i = 0; t->options->sets && t->options->sets[i]; i++)
    g_ptr_array_add(sets, g_strdup(t->options->sets[i]));
  for (guint i = 0; i < t->tune->n_sizes; i++) {
    const RaTuneChange *c = &g_array_index(t->tune->changes, RaTuneChange, i);

    g_ptr_array_add(sets, g_strdup_printf("%s=%s", c->key, c->after));
  }
  for (guint i = 0; values && i < t->n_keys; i++)
    if (values[i])
      g_ptr_array_add(
          sets, g_strdup_printf("%s=%s", ra_tuner_key(t, i)->key, values[i]));
  g_ptr_array_add(sets, NULL);
  return sets;
}

RaImported *
ra_tuner_import(const RaTuner *t, const RaTuneValues values,
                RaSettings **out_settings, GError **error)
{
  const char *path = t->options->config;
  RaRecipeOptions options = t->options->recipe;
  g_autoptr(GPtrArray) sets = list_sets(t, values);
  g_autoptr(RaSettings) settings =
      ra_settings_load_with(path, (const char *const *)sets->pdata, error);
  g_autoptr(RaRecipe) recipe = NULL;
  RaImported *files = NULL;

  if (t->tune->setup) /* its profile need not be read again */
    options.gpu_bytes = t->tune->setup->cluster->device.memory_bytes;
  if (!settings || !ra_settings_compose(settings, path, error))
    return NULL;
  if (t->tune->framework == RA_N_FRAMEWORKS)
    t->tune->framework = ra_framework_guess(settings);
  if (t->tune->framework == RA_N_FRAMEWORKS) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: unknown framework, expected --from=NAME", path);
    return NULL;
  }
  recipe = ra_recipe_read(settings, t->tune->framework, error);
  if (recipe)
    files = ra_recipe_make(recipe, &options, error);
  if (files && out_settings)
    *out_settings = g_steal_pointer(&settings);
  return files;
}

/* (transfer full): the line that names the system of a plan; "" without. */
char *
ra_tuner_system(const char *plan)
{
  const char *at = strstr(plan, "\nsystem =");

  return at ? g_strndup(at + 1, strcspn(at + 1, "\n")) : g_strdup("");
}

gboolean
ra_tuner_allows(const RaTuner *t, RaTuneLearning what)
{
  return t->options->allows >> what & 1;
}

/* The part of a plan that decides learning, but for what may change. */
static char *
learning_of(const RaTuner *t, const RaPlan *plan)
{
  GString *out = g_string_new(NULL);

  for (guint c = 0; c < plan->workload->n_calls; c++) {
    const RaCallPlan *p = &plan->calls[c];

    if (!ra_tuner_allows(t, RA_TUNE_MINI_BATCHES))
      g_string_append_printf(out, "%u ", p->n_mini_batches);
    if (!ra_tuner_allows(t, RA_TUNE_STALENESS))
      g_string_append_printf(out, "%u ", ra_plan_sync_interval(p));
    if (!ra_tuner_allows(t, RA_TUNE_ROLLOUT_DTYPE))
      g_string_append_printf(out, "%d %d ", p->dtype, p->kv_dtype);
    if (!ra_tuner_allows(t, RA_TUNE_TRAINING_DTYPE))
      g_string_append_printf(out, "%d %d %u %u ", p->fp8_gemms, p->fp8_scaling,
                             p->bf16_first, p->bf16_last);
    g_string_append_printf(out, "%d %g,", p->service, p->tail.over_sample);
  }
  return g_string_free(out, FALSE);
}

/* (transfer full): @text without the lines of keys that may change. */
static char *
without_allowed(const RaTuner *t, const char *text)
{
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  GString *out = g_string_new(NULL);

  for (guint i = 0; lines[i]; i++) {
    if ((ra_tuner_allows(t, RA_TUNE_STALENESS) &&
         g_str_has_prefix(lines[i], "staleness =")) ||
        (ra_tuner_allows(t, RA_TUNE_MINI_BATCHES) &&
         g_str_has_prefix(lines[i], "mini-batches =")))
      continue;
    g_string_append_printf(out, "%s\n", lines[i]);
  }
  return g_string_free(out, FALSE);
}

/* TRUE if @files train as the configuration as given does, on its hardware and
 * with its engine. */
static gboolean
is_same_training(const RaTuner *t, const RaImported *files)
{
  g_autofree char *system = NULL, *a = NULL, *b = NULL;

  if (strcmp(files->cluster, t->cluster) != 0)
    return FALSE;
  system = ra_tuner_system(files->plan);
  if (strcmp(system, t->system) != 0)
    return FALSE;
  if (strcmp(files->workload, t->workload) == 0)
    return TRUE;
  a = without_allowed(t, files->workload);
  b = without_allowed(t, t->workload);
  return strcmp(a, b) == 0;
}

/* The critical path by cause, scaled to an iteration of the steady state. */
static GArray *
path_of(const RaSetup *setup, const RaReplay *run, double iteration_s)
{
  GArray *shares =
      ra_critical_path_shares(run->sim, run->graph, setup->estimator);
  double scale = iteration_s / ra_sim_result(run->sim)->makespan_s;

  for (guint i = 0; i < shares->len; i++)
    g_array_index(shares, RaPathShare, i).time_s *= scale;
  return shares;
}

gboolean
ra_tuner_replay(const RaTuner *t, const RaSetup *base, const char *text,
                RaFidelity fidelity, char **out_learning, RaTuneScore *out,
                GError **error)
{
  RaSetup setup = *base;
  RaReplayOptions options = {
      .n_iterations = ITERATIONS,
      .fidelity = fidelity,
      .until = fidelity == RA_FIDELITY_OP ? &t->options->until : NULL,
      .seed = t->options->seed};
  RaReplay *run = NULL;

  setup.plan = NULL;
  setup.plan_path = NULL;
  if (ra_setup_read_plan(&setup, "the plan", text, error))
    run = ra_replay_new(&setup, &options, error);
  if (run) {
    g_autoptr(RaBreakdown) b = ra_breakdown_new(run->sim, run->graph);
    g_autoptr(RaMemoryVerdict) fit = ra_memory_verdict_new(&setup, NULL, run);

    out->worth = (RaWorth){b->iteration_s, b->tokens_per_s, b->usd, b->n_gpus};
    out->peak_bytes = fit->peak_bytes;
    out->fits = fit->fits;
    g_clear_pointer(&out->path, g_array_unref);
    if (!out_learning)
      out->path = path_of(&setup, run, b->iteration_s);
    if (out_learning)
      *out_learning = learning_of(t, setup.plan);
  }
  ra_replay_free(run);
  ra_plan_free(setup.plan);
  g_free(setup.plan_path);
  return run != NULL;
}

double
ra_tuner_cost(const RaTuneScore *score)
{
  return score->fits ? score->worth.iteration_s
                     : RA_TUNE_LACKS_S + score->peak_bytes;
}

/* Workload, cluster and system of the import, from a folder that is gone
 * afterwards. */
RaSetup *
ra_tuner_load(const RaImported *files, GError **error)
{
  static const char *const names[] = {"tune.workload", "tune.cluster",
                                      "tune.plan"};
  const char *texts[] = {files->workload, files->cluster, files->plan};
  g_autofree char *folder = g_dir_make_tmp("reallot-XXXXXX", error);
  g_autofree char *paths[G_N_ELEMENTS(names)] = {NULL};
  RaSetupFlags flags = {0};
  RaSetup *setup = NULL;
  gboolean ok = folder != NULL;

  for (guint i = 0; ok && i < G_N_ELEMENTS(names); i++) {
    paths[i] = g_build_filename(folder, names[i], NULL);
    ok = g_file_set_contents(paths[i], texts[i], -1, error);
  }
  if (ok)
    setup = ra_setup_load(paths[2], RA_FILE_PLAN, &flags, error);
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    if (paths[i])
      g_unlink(paths[i]);
    if (i > 0)
      g_free(paths[i]);
  }
  if (folder)
    g_rmdir(folder);
  return setup;
}

/* The setup that @files' plan is of: that as given, but for the workload where
 * it may be another.  %NULL: it is none. */
static const RaSetup *
setup_of(RaTuner *t, const RaImported *files)
{
  RaSetup *setup;

  if (strcmp(files->workload, t->workload) == 0)
    return t->tune->setup;
  g_mutex_lock(&t->lock);
  setup = g_hash_table_lookup(t->setups, files->workload);
  if (!setup && (setup = ra_tuner_load(files, NULL)))
    g_hash_table_insert(t->setups, g_strdup(files->workload), setup);
  g_mutex_unlock(&t->lock);
  return setup;
}

/* Cost of @values: infinite where they are no configuration, or another
 * training. */
double
ra_tuner_try(RaTuner *t, const RaTuneValues values)
{
  g_autoptr(RaImported) files = ra_tuner_import(t, values, NULL, NULL);
  g_autofree char *learning = NULL, *name = NULL;
  RaTuneScore score = {0};
  const RaSetup *setup;
  double cost = (double)INFINITY;
  double *known;

  if (!files || !is_same_training(t, files))
    return cost;
  name = g_strconcat(files->plan, files->workload, NULL);
  g_mutex_lock(&t->lock);
  known = g_hash_table_lookup(t->known, name);
  if (known)
    cost = *known;
  g_mutex_unlock(&t->lock);
  if (known)
    return cost;
  setup = setup_of(t, files);
  if (setup &&
      ra_tuner_replay(t, setup, files->plan, RA_FIDELITY_STAGE, &learning,
                      &score, NULL) &&
      strcmp(learning, t->learning) == 0)
    cost = ra_tuner_cost(&score);
  g_mutex_lock(&t->lock);
  t->tune->n_tried++;
  g_hash_table_insert(t->known, g_steal_pointer(&name),
                      g_memdup2(&cost, sizeof cost));
  g_mutex_unlock(&t->lock);
  return cost;
}
