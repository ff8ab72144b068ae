/* Tuning of a configuration: attempts, descent, and what each change gains. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/jobs.h"
#include "base/text.h"
#include "study/contest/tune_impl.h"
#include "study/contest/tune_search.h"
#include "study/odds.h"

/* Less is no gain: a digit that the tables do not show. */
#define GAIN_FRAC 1e-3
/* Share of the time for the first descent, and of what is left then for the
 * search; plans of the search that are tried: chosen. */
#define DESCENT_FRAC 0.5
#define SEARCH_FRAC 0.7
#define FOUND_MAX 4
/* Time at the end, in replays at stage fidelity: two op by op take some ten of
 * these, and each change is weighed by one; and its largest share: chosen. */
#define LAST_REPLAYS 20
#define LAST_FRAC 0.25

/* --- attempts --- */

static gboolean
is_kept(const RaTuner *t, const char *key)
{
  const char *const *keeps = t->options->keeps;

  for (guint k = 0; keeps && keeps[k]; k++)
    if (g_pattern_match_simple(keeps[k], key))
      return TRUE;
  return FALSE;
}

static gboolean
stays(const RaTuner *t, guint i)
{
  return is_kept(t, ra_tuner_key(t, i)->key);
}

/* A pattern of stars alone, as no other takes an empty name. */
static gboolean
all_stays(const RaTuner *t)
{
  return is_kept(t, "");
}

/* FALSE: it changes what is learned. */
static gboolean
may_change(const RaTuner *t, const char *key)
{
  RaTuneLearning learning = ra_tune_learns(key);

  return learning == RA_TUNE_LEARNS_ALIKE || ra_tuner_allows(t, learning);
}

static const char *
value_of(const RaTuner *t, guint i)
{
  return t->best.values[i] ? t->best.values[i] : t->now[i];
}

static void
add_attempt(const RaTuner *t, GArray *attempts, guint i, const char *value,
            guint k, const char *other)
{
  RaTuneAttempt one = {ra_tuner_copy(t, t->best.values), (double)INFINITY};

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
add_pair(const RaTuner *t, GArray *attempts, guint i, guint k)
{
  gint64 a = g_ascii_strtoll(value_of(t, i), NULL, 10);
  gint64 b = g_ascii_strtoll(value_of(t, k), NULL, 10);
  g_autofree char *twice = g_strdup_printf("%" G_GINT64_FORMAT, 2 * a);
  g_autofree char *half = g_strdup_printf("%" G_GINT64_FORMAT, b / 2);

  if (a > 0 && b > 1 && b % 2 == 0)
    add_attempt(t, attempts, i, twice, k, half);
}

static GArray *
list_attempts(const RaTuner *t)
{
  GArray *attempts = g_array_new(FALSE, FALSE, sizeof(RaTuneAttempt));

  for (guint i = 0; i < t->n_keys; i++) {
    g_autoptr(GPtrArray) values = NULL;

    if (!t->now[i])
      continue;
    values = ra_tune_key_values(ra_tuner_key(t, i), value_of(t, i));
    for (guint v = 0; v < values->len; v++)
      add_attempt(t, attempts, i, values->pdata[v], t->n_keys, NULL);
    for (guint k = 0; k < t->n_keys; k++)
      if (k != i && t->now[k] && ra_tuner_key(t, i)->kind == RA_TUNE_DEGREE &&
          ra_tuner_key(t, k)->kind == RA_TUNE_DEGREE &&
          are_neighbours(ra_tuner_key(t, i)->key, ra_tuner_key(t, k)->key))
        add_pair(t, attempts, i, k);
  }
  return attempts;
}

/* --- the descent --- */

typedef struct {
  RaTuner *tuner;
  GArray *attempts;
} Round;

static void
say(const RaTuner *t)
{
  RaTuneNews news = {t->phase, t->tune->n_tried, t->tune->now.worth.iteration_s,
                     t->best.cost < RA_TUNE_LACKS_S ? t->best.cost
                                                    : (double)NAN};

  if (t->options->progress)
    t->options->progress(&news, t->options->data);
}

static void
try_one(guint i, guint thread, gpointer data)
{
  Round *round = data;
  RaTuneAttempt *one = &g_array_index(round->attempts, RaTuneAttempt, i);

  if (!ra_until_is_over(&round->tuner->until))
    one->cost = ra_tuner_try(round->tuner, one->values);
  if (thread == 0)
    say(round->tuner);
}

static int
compare_attempts(const void *a, const void *b)
{
  const RaTuneAttempt *x = a, *y = b;

  return (x->cost > y->cost) - (x->cost < y->cost);
}

static gboolean
is_gain(double cost, double before)
{
  return cost < before &&
         (before >= RA_TUNE_LACKS_S || cost < before * (1 - GAIN_FRAC));
}

static void
take(RaTuner *t, const RaTuneValues values, double cost)
{
  ra_tuner_drop(t, t->best.values);
  t->best = (RaTuneAttempt){ra_tuner_copy(t, values), cost};
}

/* The best so far with what @one changes of @base; (transfer full). */
static RaTuneValues
merge(const RaTuner *t, const RaTuneValues base, const RaTuneValues one)
{
  RaTuneValues merged = ra_tuner_copy(t, t->best.values);

  for (guint i = 0; i < t->n_keys; i++)
    if (g_strcmp0(base[i], one[i]) != 0) {
      g_free(merged[i]);
      merged[i] = g_strdup(one[i]);
    }
  return merged;
}

/* Takes what helps, the best first, each if it still does.  FALSE: nothing. */
static gboolean
take_attempts(RaTuner *t, GArray *attempts)
{
  RaTuneValues base = ra_tuner_copy(t, t->best.values);
  double before = t->best.cost;

  g_array_sort(attempts, compare_attempts);
  for (guint i = 0; i < attempts->len; i++) {
    const RaTuneAttempt *one = &g_array_index(attempts, RaTuneAttempt, i);
    RaTuneValues merged;
    double cost;

    if (!is_gain(one->cost, before) || (i > 0 && ra_until_is_over(&t->until)))
      break;
    merged = merge(t, base, one->values);
    cost = i == 0 ? one->cost : ra_tuner_try(t, merged);
    if (is_gain(cost, t->best.cost))
      take(t, merged, cost);
    ra_tuner_drop(t, merged);
    say(t);
  }
  ra_tuner_drop(t, base);
  return t->best.cost < before;
}

/* While nothing fits, half of the time: the rest is for more hardware. */
static void
set_until(RaTuner *t, gint64 begin_us)
{
  t->until = (RaUntil){t->options->until.stop, t->end_us};
  if (t->best.cost >= RA_TUNE_LACKS_S && t->end_us > 0)
    t->until.end_us = begin_us + (t->end_us - begin_us) / 2;
}

static void
attempts_free(const RaTuner *t, GArray *attempts)
{
  for (guint i = 0; i < attempts->len; i++)
    ra_tuner_drop(t, g_array_index(attempts, RaTuneAttempt, i).values);
  g_array_unref(attempts);
}

/* From the best so far, until @end_us. */
static void
descend(RaTuner *t, gint64 end_us)
{
  gboolean helps = TRUE;
  gint64 begin_us = g_get_monotonic_time();

  t->phase = "tuning";
  t->end_us = end_us;
  set_until(t, begin_us);
  while (helps && !ra_until_is_over(&t->until) &&
         !(t->options->until_fits && t->best.cost < RA_TUNE_LACKS_S)) {
    GArray *attempts = list_attempts(t);
    Round round = {t, attempts};

    ra_jobs_run(attempts->len, t->options->n_threads, try_one, &round);
    helps = take_attempts(t, attempts);
    attempts_free(t, attempts);
    set_until(t, begin_us);
  }
}

/* --- what a search finds --- */

/* Index of @key, which is added where it is not among the keys. */
static guint
enter_key(RaTuner *t, RaSettings *settings, const char *key)
{
  gboolean is_added = g_str_has_prefix(key, "++");
  RaTuneKey one = {.key = g_intern_string(key + (is_added ? 2 : 0)),
                   .kind = RA_TUNE_WHOLE};
  const char *value;
  guint i = 0;

  while (i < t->n_keys && !g_str_equal(ra_tuner_key(t, i)->key, one.key))
    i++;
  if (i < t->n_keys) {
    t->is_added[i] |= is_added;
    return i;
  }
  value = ra_settings_get(settings, one.key);
  g_array_append_val(t->keys, one);
  t->n_keys++;
  t->now = g_renew(char *, t->now, t->n_keys + 1);
  t->is_set = g_renew(gboolean, t->is_set, t->n_keys + 1);
  t->is_added = g_renew(gboolean, t->is_added, t->n_keys + 1);
  t->best.values = g_renew(char *, t->best.values, t->n_keys + 1);
  t->now[i] = stays(t, i) || !may_change(t, one.key)
                  ? NULL
                  : g_strdup(value ? value : "");
  t->is_set[i] = value != NULL;
  t->is_added[i] = is_added;
  t->best.values[i] = NULL;
  return i;
}

/* Sets what @sets says, but for keys that stay and those that say so already.
 */
static void
apply_sets(RaTuner *t, char *const *sets, RaTuneValues values)
{
  for (guint k = 0; sets[k]; k++) {
    const char *value = strchr(sets[k], '=');
    g_autofree char *key = g_strndup(sets[k], (gsize)(value - sets[k]));
    guint i = enter_key(t, NULL, key);

    if (!t->now[i])
      continue;
    g_free(values[i]);
    values[i] = t->is_set[i] && g_str_equal(t->now[i], value + 1)
                    ? NULL
                    : g_strdup(value + 1);
  }
}

static void
say_found(double best_s, void *data)
{
  RaTuner *t = data;

  if (best_s < t->best.cost || t->best.cost >= RA_TUNE_LACKS_S) {
    RaTuneNews news = {t->phase, t->tune->n_tried,
                       t->tune->now.worth.iteration_s, best_s};

    t->options->progress(&news, t->options->data);
    return;
  }
  say(t);
}

/* Tries what a search until @end_us finds beside the best so far, and takes the
 * best of it. */
static void
search(RaTuner *t, RaSettings *settings, gint64 end_us)
{
  RaUntil until = {t->options->until.stop, end_us};
  g_autoptr(RaImported) files = ra_tuner_import(t, t->best.values, NULL, NULL);
  g_autoptr(GPtrArray) found = NULL;
  RaTuneValues base;

  t->phase = "searching";
  say(t);
  found =
      ra_tune_search(t->options, t->tune, files ? files->plan : NULL, &until,
                     FOUND_MAX, t->options->progress ? say_found : NULL, t);
  for (guint i = 0; i < found->len; i++)
    for (char **set = found->pdata[i]; *set; set++) {
      g_autofree char *key = g_strndup(*set, strcspn(*set, "="));

      enter_key(t, settings, key);
    }
  base = ra_tuner_copy(t, t->best.values);
  for (guint i = 0; i < found->len; i++) {
    RaTuneValues values = ra_tuner_copy(t, base);
    double cost;

    apply_sets(t, found->pdata[i], values);
    cost = ra_tuner_try(t, values);
    if (is_gain(cost, t->best.cost))
      take(t, values, cost);
    ra_tuner_drop(t, values);
  }
  ra_tuner_drop(t, base);
}

/* A part of the time that is left for this; 0: there is no end. */
static gint64
part_us(const RaTuner *t, double frac)
{
  gint64 now_us = g_get_monotonic_time(), end_us = t->options->until.end_us;

  return end_us == 0
             ? 0
             : now_us + (gint64)(frac * (double)(end_us - t->last_us - now_us));
}

/* Down, then wherever a search leads, and down from there. */
static void
find(RaTuner *t, RaSettings *settings)
{
  gboolean searches =
      !t->options->until_fits && t->options->until.end_us > 0 && !all_stays(t);

  descend(t, part_us(t, searches ? DESCENT_FRAC : 1));
  if (!searches || ra_until_is_over(&t->options->until))
    return;
  search(t, settings, part_us(t, SEARCH_FRAC));
  descend(t, part_us(t, 1)); /* the first may have been cut short, too */
}

/* --- what is left of it --- */

/* The key back at its value, if it is as good without; else its own gain. */
static gboolean
weigh(RaTuner *t, guint i, double *out_gain)
{
  g_autofree char *value = NULL;
  double without;

  if (ra_until_is_over(&t->options->until))
    return TRUE;
  value = g_steal_pointer(&t->best.values[i]);
  without = ra_tuner_try(t, t->best.values);
  if (without <= t->best.cost * (1 + GAIN_FRAC / 2) &&
      without < RA_TUNE_LACKS_S)
    return FALSE;
  t->best.values[i] = g_steal_pointer(&value);
  *out_gain =
      without < RA_TUNE_LACKS_S ? without / t->best.cost - 1 : (double)NAN;
  return TRUE;
}

/* A key that grew with the nodes and was then changed is one change. */
static gboolean
set_again(RaTuner *t, const char *key, const char *value)
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
list_changes(RaTuner *t)
{
  for (guint i = 0; i < t->n_keys; i++) {
    RaTuneChange change = {.gain_frac = (double)NAN};

    if (!t->best.values[i] || !weigh(t, i, &change.gain_frac))
      continue;
    if (set_again(t, ra_tuner_key(t, i)->key, t->best.values[i]))
      continue;
    change.key = g_strdup(ra_tuner_key(t, i)->key);
    change.before = t->is_set[i] ? g_strdup(t->now[i]) : NULL;
    change.after = g_strdup(t->best.values[i]);
    change.is_added = t->is_added[i];
    g_array_append_val(t->tune->changes, change);
  }
}

/* --- the configuration as given --- */

/* RaTuneValues of the keys that may be tried. */
static void
read_values(RaTuner *t, RaSettings *settings)
{
  const RaTuneKey *keys = ra_tune_keys(t->tune->framework, &t->n_keys);

  t->keys = g_array_new(FALSE, FALSE, sizeof(RaTuneKey));
  g_array_append_vals(t->keys, keys, t->n_keys);
  t->is_added = g_new0(gboolean, t->n_keys + 1);
  t->now = g_new0(char *, t->n_keys + 1);
  t->is_set = g_new0(gboolean, t->n_keys + 1);
  t->best.values = g_new0(char *, t->n_keys + 1);
  for (guint i = 0; i < t->n_keys; i++) {
    RaTuneKey *key = &g_array_index(t->keys, RaTuneKey, i);
    const char *value;

    t->is_added[i] = g_str_has_prefix(key->key, "++");
    key->key += t->is_added[i] ? 2 : 0;
    value = ra_settings_get(settings, key->key);
    t->is_set[i] = value != NULL;
    if (!stays(t, i) && may_change(t, key->key))
      t->now[i] = g_strdup(value ? value : key->standard);
  }
}

static gboolean
fail_nodes(const RaTuner *t, const char *why, GError **error)
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
read_size(RaTuner *t, GError **error)
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
list_sizes(RaTuner *t, RaSettings *settings, GError **error)
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
import_sized(RaTuner *t, RaSettings **out_settings, GError **error)
{
  g_autoptr(RaSettings) settings = NULL;
  g_autoptr(RaImported) files = ra_tuner_import(t, NULL, &settings, error);
  RaTune *tune = t->tune;

  if (files)
    tune->setup = ra_tuner_load(files, error);
  if (!tune->setup || !read_size(t, error))
    return NULL;
  if (t->n_nodes != tune->setup->cluster->n_nodes) {
    if (!list_sizes(t, settings, error))
      return NULL;
    g_clear_pointer(&files, ra_imported_free);
    g_clear_pointer(&settings, ra_settings_free);
    g_clear_pointer(&tune->setup, ra_setup_free);
    files = ra_tuner_import(t, NULL, &settings, error);
    if (files)
      tune->setup = ra_tuner_load(files, error);
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
begin(RaTuner *t, RaSettings **out_settings, GError **error)
{
  g_autoptr(RaImported) files = import_sized(t, out_settings, error);
  gint64 begin_us, end_us, left_us;

  if (!files)
    return FALSE;
  t->workload = g_strdup(files->workload);
  t->cluster = g_strdup(files->cluster);
  t->system = ra_tuner_system(files->plan);
  begin_us = g_get_monotonic_time();
  if (!ra_tuner_replay(t, t->tune->setup, files->plan, RA_FIDELITY_STAGE,
                       &t->learning, &t->tune->now, error))
    return FALSE;
  end_us = g_get_monotonic_time();
  left_us = t->options->until.end_us - end_us;
  t->last_us = MIN(LAST_REPLAYS * (end_us - begin_us),
                   (gint64)(LAST_FRAC * (double)MAX(0, left_us)));
  t->tune->now.plan = g_strdup(files->plan);
  t->tune->n_tried = 1;
  read_values(t, *out_settings);
  t->best.cost = ra_tuner_cost(&t->tune->now);
  /* Not to be tried again. */
  g_hash_table_insert(t->known, g_strconcat(files->plan, files->workload, NULL),
                      g_memdup2(&t->best.cost, sizeof t->best.cost));
  say(t);
  return TRUE;
}

static void
score_clear(RaTuneScore *score)
{
  g_free(score->plan);
  g_clear_pointer(&score->path, g_array_unref);
}

/* The share of worlds in which the changed configuration is slower. */
static double
slower_frac(RaTuner *t)
{
  const RaTune *tune = t->tune;
  RaSetup setup = *tune->setup;
  double frac = (double)NAN;

  setup.plan = NULL;
  setup.plan_path = NULL;
  if (!tune->now.fits || tune->changes->len == tune->n_sizes || tune->changed ||
      !ra_odds_risk(&setup, tune->now.plan, tune->then.plan, t->options->seed,
                    &t->options->until, &frac, NULL))
    frac = (double)NAN;
  ra_plan_free(setup.plan);
  g_free(setup.plan_path);
  return frac;
}

/* Both ends at @fidelity. */
static gboolean
replay_both(RaTuner *t, const char *then, RaFidelity fidelity, GError **error)
{
  RaTune *tune = t->tune;

  return ra_tuner_replay(t, tune->setup, tune->now.plan, fidelity, NULL,
                         &tune->now, error) &&
         ra_tuner_replay(t, tune->changed ? tune->changed : tune->setup, then,
                         fidelity, NULL, &tune->then, error);
}

/* Both ends op by op, or as they were tried if the time is up.  What then does
 * not fit, or is not faster, is none. */
static gboolean
finish(RaTuner *t, GError **error)
{
  RaTune *tune = t->tune;
  g_autoptr(RaImported) files = ra_tuner_import(t, t->best.values, NULL, error);
  g_autoptr(GError) cause = NULL;

  if (files && strcmp(files->workload, t->workload) != 0)
    tune->changed = ra_tuner_load(files, NULL);
  if (!files)
    return FALSE;
  if (!replay_both(t, files->plan, RA_FIDELITY_OP, &cause)) {
    tune->is_stage = ra_until_is_over(&t->options->until);
    if (!tune->is_stage) {
      g_propagate_error(error, g_steal_pointer(&cause));
      return FALSE;
    }
    if (!replay_both(t, files->plan, RA_FIDELITY_STAGE, error))
      return FALSE;
  }
  tune->then.plan = g_strdup(files->plan);
  if (ra_tuner_cost(&tune->then) <= ra_tuner_cost(&tune->now)) {
    tune->slower_frac = slower_frac(t);
    return TRUE;
  }
  g_array_set_size(tune->changes, tune->n_sizes);
  g_clear_pointer(&tune->changed, ra_setup_free);
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
tuner_clear(RaTuner *t)
{
  for (guint i = 0; i < t->n_keys; i++)
    g_free(t->now[i]);
  ra_tuner_drop(t, t->best.values);
  g_free(t->now);
  g_free(t->is_set);
  g_free(t->is_added);
  if (t->keys)
    g_array_unref(t->keys);
  g_free(t->workload);
  g_free(t->cluster);
  g_free(t->system);
  g_free(t->learning);
  g_hash_table_unref(t->known);
  g_hash_table_unref(t->setups);
  g_mutex_clear(&t->lock);
}

RaTune *
ra_tune_new(const RaTuneOptions *options, GError **error)
{
  RaTune *tune = g_new0(RaTune, 1);
  RaTuner t = {.options = options, .tune = tune};
  g_autoptr(RaSettings) settings = NULL;
  gboolean ok;

  tune->framework = (RaFramework)options->framework;
  tune->slower_frac = (double)NAN;
  tune->changes = g_array_new(FALSE, FALSE, sizeof(RaTuneChange));
  g_array_set_clear_func(tune->changes, change_clear);
  g_mutex_init(&t.lock);
  t.known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
  t.setups = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                   (GDestroyNotify)ra_setup_free);
  t.phase = "importing";
  ok = begin(&t, &settings, error);
  if (ok) {
    find(&t, settings);
    t.phase = "comparing";
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
  ra_setup_free(tune->changed);
  g_array_unref(tune->changes);
  score_clear(&tune->now);
  score_clear(&tune->then);
  g_free(tune);
}
