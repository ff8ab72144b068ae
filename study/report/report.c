/* Reports: what stands in one, in which order. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "sim/record.h"
#include "study/memory_verdict.h"
#include "study/model_error.h"
#include "study/plot/plot_memory.h"
#include "study/report/advice.h"
#include "study/report/inspect.h"
#include "study/report/outcome.h"
#include "study/report/report_impl.h"

#define TEXT_BYTES_MAX (1u << 20) /* of an input that is shown */
#define MEMORY_ROWS 240
#define FACTOR 2     /* of the sensitivity */
#define MAX_LANES 16 /* of the timeline */
#define GIB 1073741824.0

/* The numbers that people look for first. */
static void
put_figures(GString *out, const RaOutcome *outcome, const RaTrial *base,
            const RaReplayOptions *replay)
{
  const RaBreakdown *b = outcome->breakdown;
  double error_frac = base->error.frac * RA_ERROR_NINE_OF_TEN;
  g_autofree char *time = ra_quantity_format(b->iteration_s, RA_UNIT_SECONDS);
  g_autofree char *with =
      g_strdup_printf("%s ± %.1f %%", time, 100 * error_frac);
  g_autofree char *tokens = g_strdup_printf("%.0f", b->tokens_per_s);
  g_autofree char *mfu = g_strdup_printf("%.1f %%", 100 * b->mfu_frac);
  g_autofree char *peak = g_strdup_printf(
      "%.1f of %.1f GiB", base->peak_bytes / GIB, base->capacity_bytes / GIB);
  g_autofree char *usd = g_strdup_printf("%.2f USD", b->usd);
  g_autofree char *gpus = g_strdup_printf("%u", b->n_gpus);

  g_string_append(out, "<div class=\"row\">\n");
  ra_report_figure(out, isfinite(error_frac) ? with : time, "an iteration");
  ra_report_figure(out, gpus, "GPUs");
  ra_report_figure(out, tokens, "tokens/s");
  if (isfinite(b->mfu_frac))
    ra_report_figure(out, mfu, "of the peak FLOP/s (MFU)");
  ra_report_figure(out, peak,
                   ra_trial_fits(base)
                       ? "highest peak of GPU memory: fits"
                       : "highest peak of GPU memory: does not fit");
  if (isfinite(b->usd))
    ra_report_figure(out, usd, "an iteration");
  g_string_append(out, "</div>\n<p>");
  ra_report_escape(out, outcome->sentence);
  g_string_append_printf(
      out,
      ".</p>\n<p class=\"of\">One replay of %u iteration%s with seed %" PRIu64
      "; an iteration is the mean of %u.</p>\n",
      replay->n_iterations, replay->n_iterations == 1 ? "" : "s", replay->seed,
      b->n_iterations);
  if (isfinite(error_frac))
    g_string_append(out,
                    "<p class=\"of\">&plusmn; holds in nine of ten "
                    "cases: held-out errors of the GPU's laws by their "
                    "share of the critical path, and of frameworks.</p>\n");
}

/* ---- Families -------------------------------------------------------- */

static void
put_family(GString *out, const char *name, const RaTrial *t, double base_s,
           double error_frac)
{
  double lo = t->iteration_s * (1 - error_frac);
  double hi = t->iteration_s * (1 + error_frac);

  g_string_append_printf(out, "<tr><td>%s</td>", name);
  if (t->refusal) {
    g_string_append(out, "<td colspan=\"5\" style=\"text-align:left\">");
    ra_report_escape(out, t->refusal);
    g_string_append(out, "</td></tr>\n");
    return;
  }
  g_string_append_printf(out,
                         "<td>%.4g</td><td>%.4g &ndash; %.4g</td><td>%+.1f %%"
                         "</td><td>%.0f</td><td>%.1f%s</td></tr>\n",
                         t->iteration_s, lo, hi,
                         100 * (t->iteration_s / base_s - 1), t->tokens_per_s,
                         t->peak_bytes / GIB,
                         ra_trial_fits(t) ? "" : " (does not fit)");
}

/* This plan and what the writers of plans make of its files. */
static void
put_families(GString *out, const RaSetup *setup, const RaSetupFlags *flags,
             const RaReportOptions *options, const RaTrial *base)
{
  RaTrial trials[RA_N_STRATEGIES];
  double error_frac = base->error.frac * RA_ERROR_NINE_OF_TEN;

  memset(trials, 0, sizeof trials);
  if (!isfinite(error_frac))
    error_frac = 0;
  ra_advice_trials(setup, flags, &options->replay, options->n_threads,
                   options->count, trials);
  g_string_append(
      out, "<table><tr><th>plan</th><th>iteration (s)</th><th>range of the "
           "model's error</th><th>vs. this plan</th><th>tokens/s</th><th>peak "
           "memory (GiB)</th></tr>\n");
  put_family(out, "<b>this plan</b>", base, base->iteration_s, error_frac);
  for (guint i = 0; i < RA_N_STRATEGIES; i++) {
    put_family(out, ra_strategy_names[i], &trials[i], base->iteration_s,
               error_frac);
    ra_trial_clear(&trials[i]);
  }
  g_string_append(out, "</table>\n");
}

/* ---- Inputs ---------------------------------------------------------- */

static void
put_file(GString *out, const char *path)
{
  g_autofree char *text = NULL, *name = NULL;
  gsize n_bytes;

  if (!path || !ra_file_read(path, TEXT_BYTES_MAX, &text, &n_bytes, NULL))
    return;
  name = g_path_get_basename(path);
  g_string_append(out, "<details><summary>");
  ra_report_escape(out, name);
  g_string_append(out, "</summary><pre>");
  ra_report_escape(out, text);
  g_string_append(out, "</pre></details>\n");
}

static void
put_inputs(GString *out, const RaSetup *setup, const RaSetupFlags *flags)
{
  put_file(out, setup->plan_path);
  put_file(out, setup->workload_path);
  put_file(out, setup->cluster_path);
  put_file(out, setup->system_path);
  for (guint i = 0; flags->sets && flags->sets[i]; i++) {
    g_string_append(out, "<pre>--set '");
    ra_report_escape(out, flags->sets[i]);
    g_string_append(out, "'</pre>\n");
  }
}

static void
put_errors(GString *out, const RaSetup *setup)
{
  g_autoptr(GPtrArray) tables = ra_inspect_profile(setup->profile);

  g_string_append(out, "<details><summary>Laws of the GPU: sources and "
                       "held-out errors</summary>\n");
  for (guint i = 0; i < tables->len; i++)
    ra_report_table(out, tables->pdata[i]);
  g_string_append(out, "</details>\n");
}

/* ---- All of it ------------------------------------------------------- */

gboolean
ra_report_pictures(GString *out, const RaSetup *setup, RaReplay *replay,
                   const RaOutcome *outcome, GError **error)
{
  RaTimelineOptions look = RA_TIMELINE_OPTIONS_INIT;
  g_autoptr(RaTrace) trace = ra_replay_trace(setup, replay);
  g_autoptr(RaTrace) path = ra_record_path(replay->sim, replay->graph);
  g_autoptr(RaTimeline) timeline = NULL;
  g_autofree char *memory = NULL, *title = NULL;
  uint32_t gpu = 0;

  look.gpus_per_node = setup->cluster->gpus_per_node;
  look.max_lanes = MAX_LANES;
  look.iteration = outcome->breakdown->first_iteration;
  timeline = ra_timeline_new(trace, &look, error);
  if (!timeline)
    return FALSE;
  ra_report_heading(
      out, "Timeline",
      "One iteration of the steady state. Each row is a group of GPUs "
      "that do the same: computation above, communication below; the "
      "red line is the critical path. Point at a box to see what it is.");
  ra_report_timeline(out, timeline, path);
  ra_report_heading(
      out, "Where GPU time goes",
      "Shares of all GPU-seconds of an iteration, by call and cause.");
  ra_report_causes(out, outcome->breakdown, setup->workload);
  memory = ra_plot_memory_data(replay, MEMORY_ROWS, &gpu);
  if (memory) {
    title = g_strdup_printf("GPU %u, which has the highest peak, over the "
                            "whole run. The dashed line is its memory.",
                            gpu);
    ra_report_heading(out, "Memory by component", title);
    ra_report_memory(out, memory, setup->cluster->device.memory_bytes / GIB);
  }
  return TRUE;
}

static void
put_tables(GString *out, const RaOutcome *outcome)
{
  ra_report_heading(out, "Tables", "Tables of reallot simulate.");
  ra_report_table(out, outcome->calls);
  ra_report_table(out, outcome->gpu_time);
  ra_report_table(out, outcome->critical_path);
  if (ra_table_n_rows(outcome->moves) > 0)
    ra_report_table(out, outcome->moves);
}

char *
ra_report_new(const char *plan, const RaSetupFlags *flags,
              const RaReportOptions *options, GError **error)
{
  RaSensitivityOptions wanted = {.factor = FACTOR,
                                 .replay = options->replay,
                                 .n_threads = options->n_threads,
                                 .count = options->count};
  g_autoptr(RaSetup) setup = ra_setup_load(plan, RA_FILE_PLAN, flags, error);
  g_autoptr(RaReplay) replay =
      setup ? ra_replay_new(setup, &options->replay, error) : NULL;
  g_autoptr(RaSensitivity) sensitivity =
      replay ? ra_sensitivity_new(plan, flags, &wanted, error) : NULL;
  g_autoptr(RaOutcome) outcome = NULL;
  g_autoptr(GString) out = g_string_new(NULL);
  g_autofree char *name = NULL, *sentence = NULL, *text = NULL;

  if (!sensitivity)
    return NULL;
  outcome = ra_outcome_new(setup, replay->graph, replay->sim);
  name = g_path_get_basename(setup->plan_path);
  sentence = ra_sensitivity_sentence(sensitivity);
  ra_report_open(out, name);
  put_figures(out, outcome, &sensitivity->base, &options->replay);
  if (!ra_report_pictures(out, setup, replay, outcome, error))
    return NULL;
  text = g_strdup_printf(
      "%s. The picture and the table rest on %u replays with the same seed.",
      *sentence ? sentence : "No resource changes the iteration time",
      sensitivity->n_replays);
  ra_report_heading(out, "Sensitivity", text);
  ra_report_tornado(out, sensitivity);
  ra_report_table(out, sensitivity->gpu_table);
  ra_report_heading(
      out, "Placement strategies",
      "Plans that reallot plan makes for the same workload and cluster, with "
      "one replay each, of the same seed.");
  put_families(out, setup, flags, options, &sensitivity->base);
  put_tables(out, outcome);
  ra_report_heading(out, "Model errors and inputs",
                    outcome->extrapolated && *outcome->extrapolated
                        ? outcome->extrapolated
                        : "No cost is extrapolated.");
  put_errors(out, setup);
  put_inputs(out, setup, flags);
  ra_report_close(out);
  return g_string_free(g_steal_pointer(&out), FALSE);
}
