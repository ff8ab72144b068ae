/* The page of a tuning: what stands in it, in which order. */
#include "config.h"

#include <math.h>

#include "study/report/report_impl.h"
#include "study/report/tune_page.h"

#define ITERATIONS 3
#define GIB 1073741824.0

/* `68.6 s, then 57.3 s`, large. */
static void
put_figures(GString *out, const RaTune *tune)
{
  const RaTuneScore *now = &tune->now, *then = &tune->then;
  double memory_bytes = tune->setup->cluster->device.memory_bytes;
  g_autofree char *seconds = g_strdup_printf(
      "%.4g s, then %.4g s", now->worth.iteration_s, then->worth.iteration_s);
  g_autofree char *tokens = g_strdup_printf(
      "%.4g, then %.4g", now->worth.tokens_per_s / now->worth.n_gpus,
      then->worth.tokens_per_s / then->worth.n_gpus);
  g_autofree char *left = g_strdup_printf(
      "%.1f GiB, then %.1f GiB", (memory_bytes - now->peak_bytes) / GIB,
      (memory_bytes - then->peak_bytes) / GIB);
  g_autofree char *usd = g_strdup_printf("%.2f USD, then %.2f USD",
                                         now->worth.usd, then->worth.usd);

  g_string_append(out, "<div class=\"row\">\n");
  ra_report_figure(out, seconds, "an iteration");
  ra_report_figure(out, tokens, "tokens/s a GPU");
  ra_report_figure(out, left, "left of the GPU with the highest peak");
  if (isfinite(now->worth.usd))
    ra_report_figure(out, usd, "an iteration");
  g_string_append(out, "</div>\n");
}

static gboolean
put_run(GString *out, const RaSetup *base, const char *title, const char *plan,
        uint64_t seed, GError **error)
{
  RaSetup setup = *base; /* with this plan */
  RaReplayOptions options = {.n_iterations = ITERATIONS,
                             .fidelity = RA_FIDELITY_STAGE,
                             .seed = seed,
                             .record = TRUE};
  g_autoptr(RaReplay) run = NULL;
  g_autoptr(RaOutcome) outcome = NULL;
  gboolean ok;

  setup.plan = NULL;
  setup.plan_path = NULL;
  if (ra_setup_read_plan(&setup, title, plan, error))
    run = ra_replay_new(&setup, &options, error);
  ok = run != NULL;
  if (ok) {
    outcome = ra_outcome_new(&setup, run->graph, run->sim);
    g_string_append_printf(out, "<h1>%s</h1>\n<p>", title);
    ra_report_escape(out, outcome->sentence);
    g_string_append(out, ".</p>\n");
    ok = ra_report_pictures(out, &setup, run, outcome, error);
  }
  g_clear_pointer(&outcome, ra_outcome_free);
  g_clear_pointer(&run, ra_replay_free);
  ra_plan_free(setup.plan);
  g_free(setup.plan_path);
  return ok;
}

char *
ra_report_tuning(const RaTune *tune, const char *config, const char *diff,
                 uint64_t seed, GError **error)
{
  g_autoptr(GString) out = g_string_new(NULL);
  g_autofree char *sentence = ra_tune_sentence(tune);
  g_autofree char *name = g_path_get_basename(config);
  g_autoptr(RaTable) table = ra_tune_table(tune);
  g_autoptr(RaTable) changes = ra_tune_changes_table(tune);
  g_autoptr(RaTable) path = ra_tune_path_table(tune);

  ra_report_open(out, name);
  put_figures(out, tune);
  g_string_append(out, "<p>");
  ra_report_escape(out, sentence);
  g_string_append(out, ".</p>\n");
  ra_report_table(out, table);
  if (tune->changes->len > 0) {
    ra_report_heading(out, "Keys to change",
                      "Each with what it gains by itself: by how much longer "
                      "an iteration is without it.");
    ra_report_table(out, changes);
  }
  if (diff && *diff) {
    ra_report_heading(out, "The same as a difference of files", "");
    g_string_append(out, "<pre>");
    ra_report_escape(out, diff);
    g_string_append(out, "</pre>\n");
  }
  ra_report_heading(out, "Why",
                    "The critical path of an iteration by cause, op by op, now "
                    "and then: what saves or costs most first.");
  ra_report_table(out, path);
  if (!put_run(out, tune->setup, "Now", tune->now.plan, seed, error) ||
      (tune->changes->len > 0 &&
       !put_run(out, tune->changed ? tune->changed : tune->setup, "Then",
                tune->then.plan, seed, error)))
    return NULL;
  ra_report_close(out);
  return g_string_free(g_steal_pointer(&out), FALSE);
}
