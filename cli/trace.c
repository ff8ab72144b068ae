/* reallot trace: what can be done with a trace, or with that of a plan. */
#include "config.h"

#include "base/error.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "study/report/inspect.h"
#include "study/report/viewer.h"
#include "traces/chrome.h"
#include "traces/kineto.h"

static const char *const actions[] = {"info", "export", NULL};
enum { ACTION_INFO, ACTION_EXPORT };

static void
export_trace(const RaOptions *options, GError **error)
{
  const char *path = options->files[1];
  g_autoptr(RaTrace) trace = NULL;
  g_autofree char *text = NULL;
  guint gpus_per_node;
  gsize n_bytes;

  if (!ra_file_kind_expect(path, RA_FILE_TRACE, error) ||
      !ra_options_trace(options, error))
    return;
  trace = ra_trace_load_any(path, error);
  if (!trace)
    return;
  gpus_per_node = ra_trace_gpus_per_node(trace);
  if (gpus_per_node == 0) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: 'gpus-per-node' is '%s', expected a whole number of at "
                "least 1",
                path, ra_trace_head(trace, "gpus-per-node"));
    return;
  }
  text = ra_trace_to_chrome(trace, gpus_per_node, NULL, &n_bytes);
  ra_output_write(options->output, text, n_bytes, error);
}

/* Replays a plan, which also knows its critical path and memory. */
static void
export_plan(const RaOptions *options, GError **error)
{
  RaSetupFlags flags = ra_options_setup(options);
  RaReplayOptions wanted = ra_options_replay(options);
  g_autoptr(RaSetup) setup =
      ra_setup_load(options->files[1], RA_FILE_PLAN, &flags, error);
  g_autoptr(RaReplay) replay = NULL;
  g_autoptr(RaTrace) trace = NULL;
  g_autofree char *text = NULL;
  gsize n_bytes;

  wanted.record = TRUE;
  if (setup)
    replay = ra_replay_new(setup, &wanted, error);
  if (!replay)
    return;
  trace = ra_replay_trace(setup, replay);
  ra_trace_set_head(trace, "command", "reallot trace export");
  text = ra_viewer_text(replay, trace, &n_bytes);
  ra_output_write(options->output, text, n_bytes, error);
}

static void
info(const RaOptions *options, GError **error)
{
  g_autoptr(RaTrace) trace = NULL;
  g_autoptr(GPtrArray) tables = NULL;

  if (!ra_file_kind_expect(options->files[1], RA_FILE_TRACE, error) ||
      !ra_options_trace(options, error))
    return;
  trace = ra_trace_load_any(options->files[1], error);
  if (!trace)
    return;
  tables = ra_inspect_trace(trace);
  ra_output_tables(tables, options->format, error);
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
  RaFileKind kind;
  int action = -1;

  if (!ra_options_parse(&options, &ra_command_trace, own, argc, argv, error) ||
      options.help ||
      !ra_option_word("trace", options.files[0], actions, &action, error) ||
      !check_flags(&options, action, chrome, options.format != RA_FORMAT_TEXT,
                   error))
    return 0;
  if (action == ACTION_INFO)
    info(&options, error);
  else if (ra_file_kind(options.files[1], &kind, NULL) && kind == RA_FILE_PLAN)
    export_plan(&options, error);
  else
    export_trace(&options, error);
  return 0;
}

const RaCommand ra_command_trace = {
    .name = "trace",
    .arguments = "info TRACE|export TRACE|export PLAN",
    .summary = "Summarise a trace, or export it to other viewers",
    .details = "A plan is replayed first.  Its export also has the critical "
               "path, with\n"
               "arrows from task to task, and the memory of GPUs over time.\n\n"
               "Examples:\n"
               "  reallot trace info ppo.trace.tsv\n"
               "  reallot trace export ppo.trace.tsv -o ppo.json\n"
               "  reallot trace export ppo-llama3-70b-128.plan -o ppo.json\n",
    .groups = RA_OPTIONS_FORMAT | RA_OPTIONS_OUTPUT | RA_OPTIONS_ITERATIONS |
              RA_OPTIONS_RUN | RA_OPTIONS_SETUP,
    .n_files = 2,
    .run = run,
};
