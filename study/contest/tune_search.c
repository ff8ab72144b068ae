/* A search for the framework of a configuration. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "study/contest/contest.h"
#include "study/contest/tune_search.h"
#include "study/convert/export.h"

#define ITERATIONS 3

/* (transfer full) (nullable): settings of the plan @text, `KEY=VALUE`. */
static GPtrArray *
settings_of(RaSetup *setup, RaFramework framework, const char *text)
{
  RaExportSource source = {.plan_path = "the plan",
                           .workload_path = setup->workload_path,
                           .system_path = setup->system_path};
  g_autoptr(RaExport) export = NULL;

  if (!ra_setup_read_plan(setup, "the plan", text, NULL))
    return NULL;
  source.plan = setup->plan;
  export = ra_export_plan(&source, ra_framework_names[framework], NULL);
  return export ? ra_export_sets(export) : NULL;
}

/* (nullable): the value of @key in @sets. */
static const char *
value_in(const GPtrArray *sets, const char *key, gsize n)
{
  for (guint i = 0; i < sets->len; i++) {
    const char *text = sets->pdata[i];

    if (strncmp(text, key, n) == 0 && text[n] == '=')
      return text + n + 1;
  }
  return NULL;
}

/* (transfer full): what makes @now @then.  A switch that is on, and is not
 * there any more, is off. */
static char **
difference(const GPtrArray *now, const GPtrArray *then)
{
  g_autoptr(GPtrArray) out = g_ptr_array_new();

  for (guint i = 0; i < then->len; i++) {
    const char *text = then->pdata[i];
    gsize n = strcspn(text, "=");

    if (g_strcmp0(value_in(now, text, n), text + n + 1) != 0)
      g_ptr_array_add(out, g_strdup(text));
  }
  for (guint i = 0; i < now->len; i++) {
    const char *text = now->pdata[i];
    gsize n = strcspn(text, "=");

    if (g_ascii_strcasecmp(text + n + 1, "true") == 0 &&
        !value_in(then, text, n))
      g_ptr_array_add(out,
                      g_strdup_printf("%.*s=%s", (int)n, text,
                                      text[n + 1] == 'T' ? "False" : "false"));
  }
  g_ptr_array_add(out, NULL);
  return (char **)g_ptr_array_free(g_steal_pointer(&out), FALSE);
}

typedef struct {
  void (*progress)(double best_s, void *data);
  void *data;
} Listener;

static void
tell(const RaContestNews *news, void *data)
{
  const Listener *listener = data;

  listener->progress(news->best_s, listener->data);
}

/* Those that may win, the fastest first. */
static int
compare_contenders(const void *a, const void *b)
{
  const RaContender *const *x = a, *const *y = b;
  double by_x = (*x)->worth.iteration_s, by_y = (*y)->worth.iteration_s;

  return (by_x > by_y) - (by_x < by_y);
}

static GPtrArray *
list_winners(const RaContest *contest)
{
  GPtrArray *out = g_ptr_array_new();

  for (guint i = 0; i < contest->contenders->len; i++)
    if (ra_contest_may_win(contest, i))
      g_ptr_array_add(out, &g_array_index(contest->contenders, RaContender, i));
  g_ptr_array_sort(out, compare_contenders);
  return out;
}

static RaContest *
hold(const RaTuneOptions *options, const RaTune *tune, const char *from,
     RaSetup *setup, const RaUntil *until, Listener *listener)
{
  g_autofree char *system =
      setup->system_path ? g_path_get_basename(setup->system_path) : NULL;
  gint64 left_us = until->end_us - g_get_monotonic_time();
  RaContestOptions contest = {.kind = RA_SPACE_COMMON,
                              .target = ra_framework_names[tune->framework],
                              .given = from,
                              .n_near = 2,
                              .n_iterations = ITERATIONS,
                              .seed = options->seed,
                              .time_limit_s = 1e-6 * (double)left_us,
                              .n_threads = options->n_threads,
                              .workload = "tune.workload",
                              .cluster = "tune.cluster",
                              .system = system,
                              .whole = until,
                              .stop = until->stop,
                              .give_up = until->stop,
                              .progress = listener->progress ? tell : NULL,
                              .data = listener};

  return left_us > 0 ? ra_contest_new(setup, &contest, NULL) : NULL;
}

GPtrArray *
ra_tune_search(const RaTuneOptions *options, const RaTune *tune,
               const char *from, const RaUntil *until, guint n,
               void (*progress)(double best_s, void *data), void *data)
{
  GPtrArray *out = g_ptr_array_new_with_free_func((GDestroyNotify)g_strfreev);
  RaSetup setup = *tune->setup;
  Listener listener = {progress, data};
  g_autoptr(GPtrArray) now = NULL, winners = NULL;
  g_autoptr(RaContest) contest = NULL;

  if (!from)
    from = tune->now.plan;
  setup.plan = NULL;
  setup.plan_path = NULL;
  if (ra_export_check(ra_framework_names[tune->framework], NULL) !=
      RA_N_FRAMEWORKS)
    now = settings_of(&setup, tune->framework, from);
  if (now)
    contest = hold(options, tune, from, &setup, until, &listener);
  if (contest)
    winners = list_winners(contest);
  for (guint i = 0; winners && i < winners->len && out->len < n; i++) {
    const RaContender *c = winners->pdata[i];
    g_autoptr(GPtrArray) then = settings_of(&setup, tune->framework, c->text);

    if (then)
      g_ptr_array_add(out, difference(now, then));
  }
  ra_plan_free(setup.plan);
  g_free(setup.plan_path);
  return out;
}
