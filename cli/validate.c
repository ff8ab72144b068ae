/* reallot validate: predictions beside what others measured. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "study/plot/validate_plot.h"
#include "study/validate/validate_report.h"
#include "study/validate/validate_short.h"

#define WORST_MAX 1000
#define FOLDERS_MAX 16

/* The level that has just ended, where a person watches. */
static void
show_level(const RaValidateLevel *level, gpointer user_data)
{
  guint *n_done = user_data;

  fprintf(stderr, "\r\033[K%u benchmark sets scored, last %s ...", ++*n_done,
          level->id);
}

/* The folders that are scored: as given, or $RA_DATA. */
static gboolean
choose_data(const RaOptions *options, RaValidateOptions *what, GError **error)
{
  what->data = options->files ? options->files[0] : g_getenv("RA_DATA");
  if (options->files && options->files[0])
    what->more = (const char *const *)options->files + 1;
  if (what->data && *what->data)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "no folder of measurements, expected 'reallot validate DIR' or "
              "RA_DATA=DIR in the environment");
  return FALSE;
}

static gboolean
print_text(const RaValidation *v, guint64 n_worst, gboolean cross,
           GError **error)
{
  g_autoptr(GString) out = g_string_new(NULL);
  g_autoptr(RaTable) scores = ra_validation_scores(v, TRUE);
  g_autoptr(RaTable) missed = ra_validation_short(v);
  g_autoptr(RaTable) worst = ra_validation_worst(v, (guint)n_worst);
  g_autoptr(RaTable) notes = ra_validation_notes(v);
  g_autofree char *verdict = ra_validation_verdict(v);

  ra_output_titled(out, scores,
                   cross ? "errors on held-out groups"
                         : "errors of the shipped profiles");
  if (ra_table_n_rows(missed) > 0) {
    g_string_append_c(out, '\n');
    ra_output_titled(out, missed,
                     "missed error limits, and the rows beyond them");
  }
  if (ra_table_n_rows(worst) > 0) {
    g_string_append_c(out, '\n');
    ra_output_titled(out, worst,
                     n_worst > 0 ? "worst rows" : "worst rows of these");
  }
  if (ra_table_n_rows(notes) > 0) {
    g_string_append_c(out, '\n');
    ra_output_titled(out, notes, "notes");
  }
  g_string_append_printf(out, "\n%s\n", verdict);
  return ra_output_print(out->str, out->len, error);
}

static gboolean
print_data(const RaValidation *v, guint64 n_worst, RaFormat format,
           GError **error)
{
  g_autoptr(GPtrArray) tables =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_table_free);
  g_autoptr(GString) bars = g_string_new(NULL);

  g_ptr_array_add(tables, ra_validation_scores(v, FALSE));
  g_ptr_array_add(tables, ra_validation_levels(v));
  g_ptr_array_add(tables, ra_validation_short(v));
  g_ptr_array_add(tables, ra_validation_worst(v, (guint)n_worst));
  g_ptr_array_add(tables, ra_validation_notes(v));
  if (!ra_output_tables(tables, format, error))
    return FALSE;
  if (format == RA_FORMAT_TSV)
    ra_validation_bars(v, bars);
  return ra_output_print(bars->str, bars->len, error);
}

static gboolean
validate(const RaOptions *options, RaValidateOptions *what, guint64 n_worst,
         const char *plot, GError **error)
{
  guint n_done = 0;
  g_autoptr(RaValidation) v = NULL;

  if (!choose_data(options, what, error))
    return FALSE;
  if (isatty(STDERR_FILENO)) {
    what->progress = show_level;
    what->progress_data = &n_done;
  }
  v = ra_validate(what, error);
  if (what->progress)
    fprintf(stderr, "\r\033[K");
  if (!v || (plot && !ra_validation_plot(v, plot, error)))
    return FALSE;
  if (options->format == RA_FORMAT_TEXT
          ? !print_text(v, n_worst, what->cross, error)
          : !print_data(v, n_worst, options->format, error))
    return FALSE;
  if (!v->fault)
    return TRUE;
  g_propagate_error(error, g_steal_pointer(&v->fault));
  return FALSE;
}

static int
run(int argc, char **argv, GError **error)
{
  g_auto(RaOptions) options = RA_OPTIONS_INIT;
  g_autofree char *level = NULL, *worst = NULL, *plot = NULL;
  RaValidateOptions what = {.data = NULL};
  uint64_t n_worst = 0;
  const GOptionEntry own[] = {
      {"cross", 0, 0, G_OPTION_ARG_NONE, &what.cross,
       "Refit the laws without the groups that they predict", NULL},
      {"level", 0, 0, G_OPTION_ARG_FILENAME, &level,
       "Benchmark sets to score, a pattern such as 'gemm-*'", "GLOB"},
      {"worst", 0, 0, G_OPTION_ARG_FILENAME, &worst,
       "Number of rows shown of each set, largest error first", "N"},
      {"plot", 0, 0, G_OPTION_ARG_FILENAME, &plot,
       "Picture of measured against predicted: FILE.svg, .png or .pdf", "FILE"},
      {"quick", 0, 0, G_OPTION_ARG_NONE, &what.quick,
       "Fewer held-out groups, for a first look", NULL},
      {.long_name = NULL}};

  if (!ra_options_parse(&options, &ra_command_validate, own, argc, argv,
                        error) ||
      options.help ||
      !ra_option_uint64("--worst", worst, 0, WORST_MAX, &n_worst, error) ||
      (plot && !ra_validation_plot_check(plot, error)))
    return 0;
  what.pattern = level;
  validate(&options, &what, n_worst, plot, error);
  return 0;
}

const RaCommand ra_command_validate = {
    .name = "validate",
    .arguments = "[DIR...]",
    .summary = "Score predictions against measurements",
    .details =
        "DIR (default: $RA_DATA) is laid out like the project's data:\n"
        "kernels_gemm/gemm_h100_bf16*.csv and the like.  All rows found are "
        "scored, those\n"
        "of one kind and GPU in several folders together.\n"
        "Errors are predicted / measured - 1.\n\n"
        "Examples:\n"
        "  reallot validate measurements\n"
        "  reallot validate measurements more --cross --format=tsv\n"
        "  reallot validate measurements --cross --level='gemm-*' --worst=5\n",
    .groups = RA_OPTIONS_FORMAT,
    .n_optional = FOLDERS_MAX,
    .run = run,
};
