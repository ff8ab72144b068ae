/* Output of `reallot simulate --sensitivity`. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/sensitivity.h"
#include "study/plot/tornado.h"

#define GPUS_SHOWN 8
#define COLUMNS 80
#define MAX_FACTOR 1000

static gboolean
read_factor(const char *text, double *out_factor, GError **error)
{
  if (!text)
    return TRUE;
  if (ra_text_double(text, out_factor) && *out_factor > 1 &&
      *out_factor <= MAX_FACTOR)
    return TRUE;
  g_set_error(
      error, RA_ERROR, RA_ERROR_INPUT,
      "--factor: '%s' is out of range, expected a number above 1, up to %d",
      text, MAX_FACTOR);
  return FALSE;
}

static gboolean
print_text(const RaSensitivity *s, GError **error)
{
  g_autoptr(GString) out = g_string_new(NULL);
  g_autofree char *sentence = ra_sensitivity_sentence(s);
  g_autofree char *base =
      ra_quantity_format(s->base.iteration_s, RA_UNIT_SECONDS);
  g_autofree char *title =
      g_strdup_printf("Iteration of %s, with each resource times %.3g (more) "
                      "and divided by %.3g (less)",
                      base, s->factor, s->factor);

  if (!ra_trial_fits(&s->base)) {
    g_autofree char *why = g_strdup_printf(
        "The plan does not fit as it is: it needs %.0f %% of the memory",
        100 * s->base.peak_bytes / s->base.capacity_bytes);

    ra_output_wrapped(out, why);
    ra_output_verdict(out, 0, FALSE);
    g_string_append_c(out, '\n');
  }
  ra_output_titled(out, s->table, title);
  g_string_append_c(out, '\n');
  ra_output_top(out, s->gpu_table, "The same plan on other GPUs", GPUS_SHOWN,
                "slower");
  if (*sentence) {
    g_string_append_c(out, '\n');
    ra_output_wrapped(out, sentence);
  }
  return ra_output_print(out->str, out->len, error);
}

static gboolean
print(const RaSensitivity *s, RaFormat format, GError **error)
{
  g_autoptr(GPtrArray) tables = g_ptr_array_new();

  if (format == RA_FORMAT_TEXT)
    return print_text(s, error);
  g_ptr_array_add(tables, s->summary);
  g_ptr_array_add(tables, s->table);
  g_ptr_array_add(tables, s->gpu_table);
  return ra_output_tables(tables, format, error);
}

static gboolean
draw(const RaSensitivity *s, const char *path, GError **error)
{
  g_autofree char *text = NULL, *spaced = NULL;

  if (strcmp(path, "-") != 0)
    return ra_tornado_plot(s, path, error);
  text = ra_tornado_text(s, COLUMNS);
  spaced = g_strconcat("\n", text, NULL);
  return ra_output_print(spaced, strlen(spaced), error);
}

int
ra_simulate_sensitivity(const RaOptions *options, const char *factor,
                        const char *plot, guint n_threads, GError **error)
{
  RaSetupFlags flags = ra_options_setup(options);
  RaSensitivityOptions wanted = {.factor = 2,
                                 .n_threads = n_threads,
                                 .replay = ra_options_replay(options)};
  g_autoptr(RaSensitivity) s = NULL;
  RaTrialCount count = {0, 0};
  RaProgress *progress;

  if (!read_factor(factor, &wanted.factor, error) ||
      (plot && strcmp(plot, "-") != 0 && !ra_tornado_check(plot, error)) ||
      !ra_file_kind_expect(options->files[0], RA_FILE_PLAN, error))
    return 0;
  wanted.count = &count;
  progress = ra_progress_begin("simulating");
  ra_progress_count(progress, &count.n_done, &count.n);
  s = ra_sensitivity_new(options->files[0], &flags, &wanted, error);
  ra_progress_end(progress);
  if (!s || !print(s, options->format, error) ||
      (plot && !draw(s, plot, error)))
    return 0;
  return ra_trial_fits(&s->base) ? 0 : 1;
}
