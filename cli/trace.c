/* reallot trace: what can be done with a trace that is there. */
#include "config.h"

#include "base/error.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "study/report/inspect.h"
#include "traces/kineto.h"

static const char *const actions[] = {"info", "export", NULL};
enum { ACTION_INFO, ACTION_EXPORT };

static void
export_chrome(const RaTrace *trace, const RaOptions *options, GError **error)
{
  g_autofree char *text = NULL;
  guint gpus_per_node = ra_trace_gpus_per_node(trace);
  gsize n_bytes;

  if (gpus_per_node == 0) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: 'gpus-per-node' is '%s', expected a whole number of at "
                "least 1",
                options->files[1], ra_trace_head(trace, "gpus-per-node"));
    return;
  }
  text = ra_trace_to_chrome(trace, gpus_per_node, &n_bytes);
  ra_output_write(options->output, text, n_bytes, error);
}

static gboolean
check_flags(const RaOptions *options, int action, gboolean chrome,
            gboolean format, GError **error)
{
  const char *message = NULL;

  if (action == ACTION_EXPORT && format)
    message = "--format: expected 'trace info'";
  else if (action == ACTION_INFO && chrome)
    message = "--chrome: expected 'trace export'";
  else if (action == ACTION_INFO && options->output)
    message = "--output: expected 'trace export'";
  if (message)
    g_set_error_literal(error, RA_ERROR, RA_ERROR_INPUT, message);
  return !message;
}

static int
run(int argc, char **argv, GError **error)
{
  g_auto(RaOptions) options = RA_OPTIONS_INIT;
  gboolean chrome = FALSE;
  const GOptionEntry own[] = {
      {"chrome", 0, 0, G_OPTION_ARG_NONE, &chrome,
       "Trace Event JSON for Perfetto and chrome://tracing: the default of "
       "export",
       NULL},
      {.long_name = NULL}};
  g_autoptr(RaTrace) trace = NULL;
  g_autoptr(GPtrArray) tables = NULL;
  int action = -1;

  if (!ra_options_parse(&options, &ra_command_trace, own, argc, argv, error) ||
      options.help ||
      !ra_option_word("trace", options.files[0], actions, &action, error) ||
      !check_flags(&options, action, chrome, options.format != RA_FORMAT_TEXT,
                   error) ||
      !ra_file_kind_expect(options.files[1], RA_FILE_TRACE, error))
    return 0;
  trace = ra_trace_load_any(options.files[1], error);
  if (trace && action == ACTION_EXPORT) {
    export_chrome(trace, &options, error);
  } else if (trace) {
    tables = ra_inspect_trace(trace);
    ra_output_tables(tables, options.format, error);
  }
  return 0;
}

const RaCommand ra_command_trace = {
    .name = "trace",
    .arguments = "info|export TRACE",
    .summary = "Summarise a trace, or export it to other viewers",
    .details = "Examples:\n"
               "  reallot trace info ppo.trace.tsv\n"
               "  reallot trace export ppo.trace.tsv -o ppo.json\n",
    .groups = RA_OPTIONS_FORMAT | RA_OPTIONS_OUTPUT,
    .n_files = 2,
    .run = run,
};
