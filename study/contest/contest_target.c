/* A contest for a framework: only plans that it can be told whole. */
#include "config.h"

#include <math.h>

#include "study/contest/contest_impl.h"
#include "study/convert/export.h"

static RaPlanWords
words_of(const RaContestOptions *options)
{
  return (RaPlanWords){.workload = options->workload,
                       .cluster = options->cluster,
                       .system = options->system};
}

void
ra_contest_target_ask(RaContest *contest, RaSetup *setup,
                      const RaContestOptions *options)
{
  RaPlanWords words = words_of(options);

  for (guint i = 0; i < contest->contenders->len; i++) {
    RaContender *c = &g_array_index(contest->contenders, RaContender, i);
    RaExportSource source = {.plan_path = c->name,
                             .workload_path = setup->workload_path,
                             .system_path = setup->system_path};
    g_autoptr(GError) error = NULL;
    g_autofree char *differs = NULL, *text = NULL;

    if (!c->text || !ra_setup_read_plan(setup, c->name, c->text, NULL))
      continue;
    source.plan = setup->plan;
    text =
        ra_export_closest(&source, options->target, &words, &differs, &error);
    c->unsaid = text ? g_steal_pointer(&differs) : g_strdup(error->message);
  }
}

gboolean
ra_contest_target_open(const RaContest *contest, RaField *field,
                       const RaContestOptions *options, GError **error)
{
  guint n = contest->contenders->len;
  g_autofree const char **texts = g_new0(const char *, n + 1);
  RaSayableOptions says = {.setup = field->setup,
                           .cluster = field->cluster,
                           .target = options->target,
                           .words = words_of(options),
                           .starts = texts,
                           .n_starts = n + 1,
                           .n_threads = options->n_threads,
                           .until = &field->until};
  RaContestNews news = {.phase = "preparing what can be exported",
                        .best_s = (double)NAN};

  if (options->progress)
    options->progress(&news, options->data);
  texts[0] = options->given;
  for (guint i = 0; i < n; i++)
    texts[i + 1] = g_array_index(contest->contenders, RaContender, i).text;
  field->says = ra_sayable_new(field->space, &says, error);
  return field->says != NULL;
}

void
ra_contest_target_descend(const RaField *field, double limit_s,
                          const RaContestOptions *options,
                          void (*progress)(double best_s, uint64_t n_steps,
                                           void *data),
                          void *data, RaMcmcResult *out_result)
{
  RaUntil until = {options->stop, 0};

  if (limit_s > 0)
    until.end_us = g_get_monotonic_time() + (gint64)(1e6 * limit_s);
  ra_sayable_descend(field->says, field->costs, &until, progress, data,
                     out_result);
}
