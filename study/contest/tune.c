/* Tuning of a configuration: attempts, descent, and what each change gains. */
#include "config.h"

#include <glib/gstdio.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/jobs.h"
#include "base/text.h"
#include "graph/input/plan_service.h"
#include "sim/breakdown.h"
#include "sim/path_share.h"
#include "study/contest/tune.h"
#include "study/contest/tune_key.h"
#include "study/memory_verdict.h"
#include "study/odds.h"
#include "study/replay.h"

#define ITERATIONS 3
/* Less is no gain: a digit that the tables do not show. */
#define GAIN_FRAC 1e-3
/* Cost of a plan that does not fit: above any time in seconds. */
#define LACKS_S 1e9

/* Values of the keys that are changed; NULL: as in the configuration. */
typedef char **Values;

typedef struct {
  Values values; /* (n_keys) owned */
  double cost;   /* seconds, or what is lacking; infinite: refused */
} Attempt;

typedef struct {
  const RaTuneOptions *options;
  RaTune *tune;
  const RaTuneKey *keys; /* (n_keys) */
  guint n_keys;
  char **now;       /* (n_keys) values in the configuration, owned; NULL:
                            not tried */
  gboolean *is_set; /* (n_keys) the configuration has the key */
  char *workload, *cluster; /* texts of the import as given, owned */
  char *learning;           /* of its plan, owned */
  uint32_t n_nodes;         /* wanted */
  RaUntil until;            /* the options', or before it while nothing fits */
  Attempt best;
  GMutex lock;       /* of: */
  GHashTable *known; /* plan text -> cost (double), owned */
} Tuner;

static Values
values_copy(const Tuner *t, const Values values)
{
  Values copy = g_new0(char *, t->n_keys + 1);

  for (guint i = 0; i < t->n_keys; i++)
    copy[i] = g_strdup(values[i]);
  return copy;
}

static void
values_free(const Tuner *t, Values values)
{
  for (guint i = 0; values && i < t->n_keys; i++)
    g_free(values[i]);
  g_free(values);
}

/* --- one configuration --- */

/* (transfer full) (element-type utf8): the user's overrides and @values. */
static GPtrArray *
list_sets(const Tuner *t, const Values values)
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
      g_ptr_array_add(sets,
                      g_strdup_printf("%s=%s", t->keys[i].key, values[i]));
  g_ptr_array_add(sets, NULL);
  return sets;
}

static RaImported *
import(const Tuner *t, const Values values, RaSettings **out_settings,
       GError **error)
{
  const char *path = t->options->config;
  g_autoptr(GPtrArray) sets = list_sets(t, values);
  g_autoptr(RaSettings) settings =
      ra_settings_load_with(path, (const char *const *)sets->pdata, error);
  g_autoptr(RaRecipe) recipe = NULL;
  RaImported *files;

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
  files = recipe ? ra_recipe_make(recipe, &t->options->recipe, error) : NULL;
  if (files && out_settings)
    *out_settings = g_steal_pointer(&settings);
  return files;
}

/* The part of a plan that decides learning. */
static char *
learning_of(const RaPlan *plan)
{
  GString *out = g_string_new(NULL);

  for (guint c = 0; c < plan->workload->n_calls; c++) {
    const RaCallPlan *p = &plan->calls[c];

    g_string_append_printf(out, "%u %d %u %g,", p->n_mini_batches, p->service,
                           ra_plan_sync_interval(p), p->tail.over_sample);
  }
  return g_string_free(out, FALSE);
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

/* Reads @text into a setup that shares all but the plan, and replays it;
 * @out_learning: (nullable).  Op by op it has its critical path. */
static gboolean
replay(const Tuner *t, const char *text, RaFidelity fidelity, uint64_t seed,
       char **out_learning, RaTuneScore *out, GError **error)
{
  RaSetup setup = *t->tune->setup;
  RaReplayOptions options = {
      .n_iterations = ITERATIONS, .fidelity = fidelity, .seed = seed};
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
    if (fidelity == RA_FIDELITY_OP)
      out->path = path_of(&setup, run, b->iteration_s);
    if (out_learning)
      *out_learning = learning_of(setup.plan);
  }
  ra_replay_free(run);
  ra_plan_free(setup.plan);
  g_free(setup.plan_path);
  return run != NULL;
}

static double
cost_of(const RaTuneScore *score)
{
  return score->fits ? score->worth.iteration_s : LACKS_S + score->peak_bytes;
}

/* Cost of @values: infinite where they are no configuration, or another
 * training. */
static double
try_values(Tuner *t, const Values values)
{
  g_autoptr(RaImported) files = import(t, values, NULL, NULL);
  g_autofree char *learning = NULL;
  RaTuneScore score = {0};
  double cost = (double)INFINITY;
  double *known;

  if (!files || strcmp(files->workload, t->workload) != 0 ||
      strcmp(files->cluster, t->cluster) != 0)
    return cost;
  g_mutex_lock(&t->lock);
  known = g_hash_table_lookup(t->known, files->plan);
  if (known)
    cost = *known;
  g_mutex_unlock(&t->lock);
  if (known)
    return cost;
  if (replay(t, files->plan, RA_FIDELITY_STAGE, t->options->seed, &learning,
             &score, NULL) &&
      strcmp(learning, t->learning) == 0)
    cost = cost_of(&score);
  g_mutex_lock(&t->lock);
  t->tune->n_tried++;
  g_hash_table_insert(t->known, g_strdup(files->plan),
                      g_memdup2(&cost, sizeof cost));
  g_mutex_unlock(&t->lock);
  return cost;
}

/* --- attempts --- */

static gboolean
stays(const Tuner *t, guint i)
{
  const char *const *keeps = t->options->keeps;

  for (guint k = 0; keeps && keeps[k]; k++)
    if (g_pattern_match_simple(keeps[k], t->keys[i].key))
      return TRUE;
  return FALSE;
}

static const char *
value_of(const Tuner *t, guint i)
{
  return t->best.values[i] ? t->best.values[i] : t->now[i];
}

static void
add_attempt(const Tuner *t, GArray *attempts, guint i, const char *value,
            guint k, const char *other)
{
  Attempt one = {values_copy(t, t->best.values), (double)INFINITY};

  g_free(one.values[i]);
  one.values[i] = g_strdup(value);
  if (k < t->n_keys) {
    g_free(one.values[k]);
    one.values[k] = g_strdup(other);
  }
  g_array_append_val(attempts, one);
}

/* Keys beside each other in the configuration. */
static gboolean
are_neighbours(const char *a, const char *b)
{
  const char *dot_a = strrchr(a, '.'), *dot_b = strrchr(b, '.');
  gsize n = dot_a ? (gsize)(dot_a - a) : 0;

  return (dot_b ? (gsize)(dot_b - b) : 0) == n && strncmp(a, b, n) == 0;
}

/* Degree @i doubled and degree @k halved. */
static void
add_pair(const Tuner *t, GArray *attempts, guint i, guint k)
{
  gint64 a = g_ascii_strtoll(value_of(t, i), NULL, 10);
  gint64 b = g_ascii_strtoll(value_of(t, k), NULL, 10);
  g_autofree char *twice = g_strdup_printf("%" G_GINT64_FORMAT, 2 * a);
  g_autofree char *half = g_strdup_printf("%" G_GINT64_FORMAT, b / 2);

  if (a > 0 && b > 1 && b % 2 == 0)
    add_attempt(t, attempts, i, twice, k, half);
}

static GArray *
list_attempts(const Tuner *t)
{
  GArray *attempts = g_array_new(FALSE, FALSE, sizeof(Attempt));

  for (guint i = 0; i < t->n_keys; i++) {
    g_autoptr(GPtrArray) values = NULL;

    if (!t->now[i])
      continue;
    values = ra_tune_key_values(&t->keys[i], value_of(t, i));
    for (guint v = 0; v < values->len; v++)
      add_attempt(t, attempts, i, values->pdata[v], t->n_keys, NULL);
    for (guint k = 0; k < t->n_keys; k++)
      if (k != i && t->now[k] && t->keys[i].kind == RA_TUNE_DEGREE &&
          t->keys[k].kind == RA_TUNE_DEGREE &&
          are_neighbours(t->keys[i].key, t->keys[k].key))
        add_pair(t, attempts, i, k);
  }
  return attempts;
}

/* --- the descent --- */

typedef struct {
  Tuner *tuner;
  GArray *attempts;
} Round;

static void
say(const Tuner *t)
{
  if (t->options->progress)
    t->options->progress(t->tune->n_tried, t->tune->now.worth.iteration_s,
                         t->best.cost < LACKS_S ? t->best.cost : (double)NAN,
                         t->options->data);
}

static void
try_one(guint i, guint thread, gpointer data)
{
  Round *round = data;
  Attempt *one = &g_array_index(round->attempts, Attempt, i);

  if (!ra_until_is_over(&round->tuner->until))
    one->cost = try_values(round->tuner, one->values);
  if (thread == 0)
    say(round->tuner);
}

static int
compare_attempts(const void *a, const void *b)
{
  const Attempt *x = a, *y = b;

  return (x->cost > y->cost) - (x->cost < y->cost);
}

static gboolean
is_gain(double cost, double before)
{
  return cost < before &&
         (before >= LACKS_S || cost < before * (1 - GAIN_FRAC));
}

static void
take(Tuner *t, const Values values, double cost)
{
  values_free(t, t->best.values);
  t->best = (Attempt){values_copy(t, values), cost};
}

/* The best so far with what @one changes of @base; (transfer full). */
static Values
merge(const Tuner *t, const Values base, const Values one)
{
  Values merged = values_copy(t, t->best.values);

  for (guint i = 0; i < t->n_keys; i++)
    if (g_strcmp0(base[i], one[i]) != 0) {
      g_free(merged[i]);
      merged[i] = g_strdup(one[i]);
    }
  return merged;
}

/* Takes what helps, the best first, each if it still does.  FALSE: nothing. */
static gboolean
take_attempts(Tuner *t, GArray *attempts)
{
  Values base = values_copy(t, t->best.values);
  double before = t->best.cost;

  g_array_sort(attempts, compare_attempts);
  for (guint i = 0; i < attempts->len; i++) {
    const Attempt *one = &g_array_index(attempts, Attempt, i);
    Values merged;
    double cost;

    if (!is_gain(one->cost, before) || (i > 0 && ra_until_is_over(&t->until)))
      break;
    merged = merge(t, base, one->values);
    cost = i == 0 ? one->cost : try_values(t, merged);
    if (is_gain(cost, t->best.cost))
      take(t, merged, cost);
    values_free(t, merged);
    say(t);
  }
  values_free(t, base);
  return t->best.cost < before;
}

/* While nothing fits, half of the time: the rest is for more hardware. */
static void
set_until(Tuner *t, gint64 begin_us)
{
  gint64 end_us = t->options->until.end_us;

  t->until = t->options->until;
  if (t->best.cost >= LACKS_S && end_us > 0)
    t->until.end_us = begin_us + (end_us - begin_us) / 2;
}

static void
descend(Tuner *t)
{
  gboolean helps = TRUE;
  gint64 begin_us = g_get_monotonic_time();

  set_until(t, begin_us);
  while (helps && !ra_until_is_over(&t->until) &&
         !(t->options->until_fits && t->best.cost < LACKS_S)) {
    GArray *attempts = list_attempts(t);
    Round round = {t, attempts};

    ra_jobs_run(attempts->len, t->options->n_threads, try_one, &round);
    helps = take_attempts(t, attempts);
    for (guint i = 0; i < attempts->len; i++)
      values_free(t, g_array_index(attempts, Attempt, i).values);
    g_array_unref(attempts);
    set_until(t, begin_us);
  }
}

/* --- what is left of it --- */

/* The key back at its value, if it is as good without; else its own gain. */
static gboolean
weigh(Tuner *t, guint i, double *out_gain)
{
  g_autofree char *value = g_steal_pointer(&t->best.values[i]);
  double without = try_values(t, t->best.values);

  if (without <= t->best.cost * (1 + GAIN_FRAC / 2) && without < LACKS_S)
    return FALSE;
  t->best.values[i] = g_steal_pointer(&value);
  *out_gain = without < LACKS_S ? without / t->best.cost - 1 : (double)NAN;
  return TRUE;
}

/* A key that grew with the nodes and was then changed is one change. */
static gboolean
set_again(Tuner *t, const char *key, const char *value)
{
  for (guint i = 0; i < t->tune->n_sizes; i++) {
    RaTuneChange *c = &g_array_index(t->tune->changes, RaTuneChange, i);

    if (!g_str_equal(c->key, key))
      continue;
    g_free(c->after);
    c->after = g_strdup(value);
    return TRUE;
  }
  return FALSE;
}

static void
list_changes(Tuner *t)
{
  for (guint i = 0; i < t->n_keys; i++) {
    RaTuneChange change = {.gain_frac = (double)NAN};

    if (!t->best.values[i] || !weigh(t, i, &change.gain_frac))
      continue;
    if (set_again(t, t->keys[i].key, t->best.values[i]))
      continue;
    change.key = g_strdup(t->keys[i].key);
    change.before = t->is_set[i] ? g_strdup(t->now[i]) : NULL;
    change.after = g_strdup(t->best.values[i]);
    g_array_append_val(t->tune->changes, change);
  }
}

/* --- the configuration as given --- */

/* Workload, cluster and system of the import, from a folder that is gone
 * afterwards. */
static RaSetup *
load_setup(const RaImported *files, GError **error)
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

/* Values of the keys that may be tried. */
static void
read_values(Tuner *t, RaSettings *settings)
{
  t->keys = ra_tune_keys(t->tune->framework, &t->n_keys);
  t->now = g_new0(char *, t->n_keys + 1);
  t->is_set = g_new0(gboolean, t->n_keys + 1);
  t->best.values = g_new0(char *, t->n_keys + 1);
  for (guint i = 0; i < t->n_keys; i++) {
    const char *value = ra_settings_get(settings, t->keys[i].key);

    t->is_set[i] = value != NULL;
    if (!stays(t, i))
      t->now[i] = g_strdup(value ? value : t->keys[i].standard);
  }
}

static gboolean
fail_nodes(const Tuner *t, const char *why, GError **error)
{
  uint32_t n_gpus = t->options->n_gpus;

  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: %u %s cannot be said: %s, expected another number",
              t->options->config, n_gpus > 0 ? n_gpus : t->options->n_nodes,
              n_gpus > 0 ? "GPUs" : "nodes", why);
  return FALSE;
}

/* Nodes that are wanted; all of them whole. */
static gboolean
read_size(Tuner *t, GError **error)
{
  const RaCluster *cluster = t->tune->setup->cluster;
  uint32_t n_gpus = t->options->n_gpus, each = cluster->gpus_per_node;
  g_autofree char *why = g_strdup_printf("a node has %u", each);

  t->n_nodes = n_gpus > 0                ? n_gpus / each
               : t->options->n_nodes > 0 ? t->options->n_nodes
                                         : cluster->n_nodes;
  return n_gpus % each == 0 || fail_nodes(t, why, error);
}

/* Keys of nodes times the nodes that are wanted over those that it has. */
static gboolean
list_sizes(Tuner *t, RaSettings *settings, GError **error)
{
  uint32_t n_now = t->tune->setup->cluster->n_nodes;
  gboolean has_standard;
  const char *const *keys =
      ra_tune_size_keys(t->tune->framework, &has_standard);

  for (guint i = 0; keys && keys[i]; i++) {
    const char *value = ra_settings_get(settings, keys[i]);
    RaTuneChange change = {.gain_frac = (double)NAN};
    uint64_t n;

    if (!ra_text_uint64(value ? value : i == 0 && has_standard ? "1" : "", &n))
      continue;
    if (n > UINT32_MAX || n * t->n_nodes % n_now != 0) {
      g_autofree char *why = g_strdup_printf("%s is %s on %u", keys[i],
                                             value ? value : "1", n_now);

      return fail_nodes(t, why, error);
    }
    change.key = g_strdup(keys[i]);
    change.before = g_strdup(value);
    change.after = g_strdup_printf("%" PRIu64, n * t->n_nodes / n_now);
    g_array_append_val(t->tune->changes, change);
  }
  t->tune->n_sizes = t->tune->changes->len;
  return TRUE;
}

/* The import with as many nodes as are wanted, and its setup. */
static RaImported *
import_sized(Tuner *t, RaSettings **out_settings, GError **error)
{
  g_autoptr(RaSettings) settings = NULL;
  g_autoptr(RaImported) files = import(t, NULL, &settings, error);
  RaTune *tune = t->tune;

  if (files)
    tune->setup = load_setup(files, error);
  if (!tune->setup || !read_size(t, error))
    return NULL;
  if (t->n_nodes != tune->setup->cluster->n_nodes) {
    if (!list_sizes(t, settings, error))
      return NULL;
    g_clear_pointer(&files, ra_imported_free);
    g_clear_pointer(&settings, ra_settings_free);
    g_clear_pointer(&tune->setup, ra_setup_free);
    files = import(t, NULL, &settings, error);
    if (files)
      tune->setup = load_setup(files, error);
    if (!tune->setup)
      return NULL;
    if (tune->setup->cluster->n_nodes != t->n_nodes) {
      fail_nodes(t, "no key of its nodes is set", error);
      return NULL;
    }
  }
  *out_settings = g_steal_pointer(&settings);
  return g_steal_pointer(&files);
}

static gboolean
begin(Tuner *t, GError **error)
{
  g_autoptr(RaSettings) settings = NULL;
  g_autoptr(RaImported) files = import_sized(t, &settings, error);

  if (!files)
    return FALSE;
  t->workload = g_strdup(files->workload);
  t->cluster = g_strdup(files->cluster);
  if (!replay(t, files->plan, RA_FIDELITY_STAGE, t->options->seed, &t->learning,
              &t->tune->now, error))
    return FALSE;
  t->tune->now.plan = g_strdup(files->plan);
  t->tune->n_tried = 1;
  read_values(t, settings);
  t->best.cost = cost_of(&t->tune->now);
  say(t);
  return TRUE;
}

static void
score_clear(RaTuneScore *score)
{
  g_free(score->plan);
  g_clear_pointer(&score->path, g_array_unref);
}

/* Both ends op by op.  What then does not fit, or is not faster, is none. */
/* The share of worlds in which the changed configuration is slower. */
static double
slower_frac(Tuner *t)
{
  const RaTune *tune = t->tune;
  RaSetup setup = *tune->setup;
  double frac = (double)NAN;

  setup.plan = NULL;
  setup.plan_path = NULL;
  if (!tune->now.fits || tune->changes->len == tune->n_sizes ||
      !ra_odds_risk(&setup, tune->now.plan, tune->then.plan, t->options->seed,
                    NULL, &frac, NULL))
    frac = (double)NAN;
  ra_plan_free(setup.plan);
  g_free(setup.plan_path);
  return frac;
}

static gboolean
finish(Tuner *t, GError **error)
{
  RaTune *tune = t->tune;
  g_autoptr(RaImported) files = import(t, t->best.values, NULL, error);

  if (!files ||
      !replay(t, tune->now.plan, RA_FIDELITY_OP, t->options->seed, NULL,
              &tune->now, error) ||
      !replay(t, files->plan, RA_FIDELITY_OP, t->options->seed, NULL,
              &tune->then, error))
    return FALSE;
  tune->then.plan = g_strdup(files->plan);
  if (cost_of(&tune->then) <= cost_of(&tune->now)) {
    tune->slower_frac = slower_frac(t);
    return TRUE;
  }
  g_array_set_size(tune->changes, tune->n_sizes);
  score_clear(&tune->then);
  tune->then = tune->now;
  tune->then.plan = g_strdup(tune->now.plan);
  tune->then.path = g_array_ref(tune->now.path);
  return TRUE;
}

static void
change_clear(gpointer data)
{
  RaTuneChange *change = data;

  g_free(change->key);
  g_free(change->before);
  g_free(change->after);
}

static void
tuner_clear(Tuner *t)
{
  for (guint i = 0; i < t->n_keys; i++)
    g_free(t->now[i]);
  values_free(t, t->best.values);
  g_free(t->now);
  g_free(t->is_set);
  g_free(t->workload);
  g_free(t->cluster);
  g_free(t->learning);
  g_hash_table_unref(t->known);
  g_mutex_clear(&t->lock);
}

RaTune *
ra_tune_new(const RaTuneOptions *options, GError **error)
{
  RaTune *tune = g_new0(RaTune, 1);
  Tuner t = {.options = options, .tune = tune};
  gboolean ok;

  tune->framework = (RaFramework)options->framework;
  tune->slower_frac = (double)NAN;
  tune->changes = g_array_new(FALSE, FALSE, sizeof(RaTuneChange));
  g_array_set_clear_func(tune->changes, change_clear);
  g_mutex_init(&t.lock);
  t.known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  ok = begin(&t, error);
  if (ok) {
    descend(&t);
    list_changes(&t);
    ok = finish(&t, error);
  }
  tuner_clear(&t);
  if (ok)
    return tune;
  ra_tune_free(tune);
  return NULL;
}

void
ra_tune_free(RaTune *tune)
{
  if (!tune)
    return;
  ra_setup_free(tune->setup);
  g_array_unref(tune->changes);
  score_clear(&tune->now);
  score_clear(&tune->then);
  g_free(tune);
}
