/* reallot compare: a simulation's trace beside a run's. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "study/run/compare.h"
#include "study/run/log_compare.h"
#include "traces/kineto.h"

#define WORST 8 /* rows shown unless --worst says otherwise */
#define WORST_MAX 1000

static gboolean
print_text(const RaComparison *c, const char *picture, GError **error)
{
  g_autoptr(GString) out = g_string_new(NULL);

  ra_output_titled(out, c->summary, "Tasks in both traces");
  g_string_append_c(out, '\n');
  ra_output_titled(out, c->iterations,
                   "Iterations (error: simulated / measured - 1)");
  g_string_append_c(out, '\n');
  ra_output_titled(out, c->calls, "Calls, without the first iteration");
  g_string_append_c(out, '\n');
  ra_output_titled(out, c->kinds, "Task kinds, summed over all tasks");
  if (c->ops) {
    g_string_append_c(out, '\n');
    ra_output_titled(out, c->ops, "Ops in both traces, by kind");
    g_string_append_c(out, '\n');
    ra_output_titled(
        out, c->lacks,
        "Time that the model lacks, by call: measured less simulated");
  }
  if (ra_table_n_rows(c->worst) > 0) {
    g_string_append_c(out, '\n');
    ra_output_titled(out, c->worst, "Largest errors");
  }
  if (isfinite(c->iteration_error_frac) && isfinite(c->call_error_frac))
    g_string_append_printf(
        out,
        "\n"
        "Median absolute error: %.1f %% of iterations, %.1f %% of calls\n",
        100 * c->iteration_error_frac, 100 * c->call_error_frac);
  if (picture)
    g_string_append_printf(out, "\n%s", picture);
  return ra_output_print(out->str, out->len, error);
}

/* To a file, or with `-` as text. */
static gboolean
plot(const RaTrace *simulated, const RaTrace *measured, const char *path,
     char **out_text, GError **error)
{
  gboolean is_text = strcmp(path, "-") == 0;

  return ra_compare_plot(simulated, measured, is_text ? NULL : path, out_text,
                         error);
}

static gboolean
print(const RaComparison *c, RaFormat format, const char *picture,
      GError **error)
{
  g_autoptr(GPtrArray) tables = g_ptr_array_new();

  if (format == RA_FORMAT_TEXT)
    return print_text(c, picture, error);
  g_ptr_array_add(tables, c->summary);
  g_ptr_array_add(tables, c->iterations);
  g_ptr_array_add(tables, c->calls);
  g_ptr_array_add(tables, c->kinds);
  g_ptr_array_add(tables, c->worst);
  if (c->ops) {
    g_ptr_array_add(tables, c->ops);
    g_ptr_array_add(tables, c->lacks);
  }
  return ra_output_tables(tables, format, error);
}

/* Load of the cores that were measured, and when their profile was made. */
static void
print_load(const RaTrace *simulated, const RaTrace *measured, GError **error)
{
  const char *pace = ra_trace_head(measured, RA_TRACE_WALL_PER_CPU);
  const char *share = ra_trace_head(measured, RA_TRACE_THREADS_PER_CORE);
  const char *calibrated = ra_trace_head(simulated, RA_TRACE_WALL_PER_CPU);
  g_autoptr(GString) out = g_string_new(NULL), line = g_string_new(NULL);
  double n_threads = 0, now = 0, then = 0;

  if (!share && !pace)
    return;
  if (pace)
    g_string_append_printf(out,
                           "Load while measured: %s s passed for each second "
                           "of a core (1: an idle machine)",
                           pace);
  else
    g_string_append(out, "Load while measured: not known of ranks with several "
                         "threads");
  if (calibrated)
    g_string_append_printf(out, "; when the profile was made: %s s",
                           calibrated);
  if (calibrated && pace && ra_text_double(pace, &now) &&
      ra_text_double(calibrated, &then) && now > then)
    g_string_append_printf(out, "; that alone explains an error of %.1f %%",
                           100 * (then / now - 1));
  if (share && ra_text_double(share, &n_threads) && n_threads > 1)
    g_string_append_printf(out,
                           ". %s threads shared a core, and waited for it, "
                           "which the model does not include",
                           share);
  ra_output_wrapped(line, out->str);
  ra_output_print(line->str, line->len, error);
}

/* A plan beside a trainer's log. */
static void
compare_log(const RaOptions *options, gboolean anyway, GError **error)
{
  g_autoptr(RaStepLog) log = ra_step_log_load(options->files[1], error);
  g_autoptr(RaTable) phases =
      log ? ra_step_log_compare(options->files[0], log, anyway, error) : NULL;
  g_autoptr(GPtrArray) tables = g_ptr_array_new();

  if (!phases)
    return;
  g_ptr_array_add(tables, phases);
  ra_output_tables(tables, options->format, error);
}

static int
run(int argc, char **argv, GError **error)
{
  g_auto(RaOptions) options = RA_OPTIONS_INIT;
  g_autofree char *worst = NULL;
  g_autofree char *path = NULL;
  uint64_t n_worst = WORST;
  gboolean anyway = FALSE;
  const GOptionEntry own[] = {
      {"worst", 0, 0, G_OPTION_ARG_FILENAME, &worst,
       "Number of tasks shown, largest error first (default: 8)", "N"},
      {"plot", 0, 0, G_OPTION_ARG_FILENAME, &path,
       "Picture of both timelines: FILE.svg, .png or .pdf; - prints text",
       "FILE"},
      {"anyway", 0, 0, G_OPTION_ARG_NONE, &anyway,
       "Compare a log of other GPUs or another batch too", NULL},
      {.long_name = NULL}};
  g_autoptr(RaTrace) simulated = NULL;
  g_autoptr(RaTrace) measured = NULL;
  g_autoptr(RaComparison) c = NULL;
  g_autofree char *picture = NULL;

  if (!ra_options_parse(&options, &ra_command_compare, own, argc, argv,
                        error) ||
      options.help || !ra_option_file("--plot", path, error) ||
      !ra_option_uint64("--worst", worst, 0, WORST_MAX, &n_worst, error))
    return 0;
  if (g_str_has_suffix(options.files[0], ".plan")) {
    compare_log(&options, anyway, error);
    return 0;
  }
  simulated = ra_trace_load_any(options.files[0], error);
  if (simulated)
    measured = ra_trace_load_any(options.files[1], error);
  if (measured)
    c = ra_compare(simulated, measured, (guint)n_worst, error);
  if (c && (!path || plot(simulated, measured, path, &picture, error))) {
    if (print(c, options.format, picture, error) &&
        options.format == RA_FORMAT_TEXT)
      print_load(simulated, measured, error);
  } else if (measured && !c)
    g_prefix_error(error, "%s, %s: ", options.files[0], options.files[1]);
  return 0;
}

const RaCommand ra_command_compare = {
    .name = "compare",
    .arguments = "SIMULATED MEASURED|PLAN LOG",
    .summary = "Compare a simulated trace with a measured one",
    .details =
        "Both traces are of one plan; tasks are joined by name.  A PLAN is "
        "compared\n"
        "with a trainer's LOG (see import-log), phase by phase.\n\n"
        "Examples:\n"
        "  reallot simulate ppo-tiny-8.plan --no-fold -t sim.trace.tsv\n"
        "  reallot run ppo-tiny-8.plan -t run.trace.tsv\n"
        "  reallot compare sim.trace.tsv run.trace.tsv\n\n"
        "and op by op:\n"
        "  reallot simulate ppo-tiny-8.plan --no-fold --fidelity=op "
        "--decode-ops -t sim.trace.tsv\n"
        "  reallot run ppo-tiny-8.plan --ops -t run.trace.tsv\n"
        "  reallot compare sim.trace.tsv run.trace.tsv --plot both.svg\n",
    .groups = RA_OPTIONS_FORMAT,
    .n_files = 2,
    .run = run,
};
