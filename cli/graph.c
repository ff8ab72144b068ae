/* reallot graph: the dataflow and the augmented graph, for Graphviz. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "graph/expand/dot.h"

/* The dataflow of a workload or of a plan's; the augmented graph of a plan. */
static char *
draw(const RaOptions *options, gboolean dataflow, GError **error)
{
  RaSetupFlags flags = ra_options_setup(options);
  const char *path = options->files[0];
  g_autoptr(RaSetup) setup = NULL;
  g_autoptr(RaAugmented) augmented = NULL;
  RaFileKind kind;

  if (!ra_file_kind(path, &kind, error))
    return NULL;
  if (kind != RA_FILE_PLAN && kind != RA_FILE_WORKLOAD) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: a %s has no graph, expected a plan or a workload", path,
                ra_file_kind_name(kind));
    return NULL;
  }
  setup = ra_setup_load(path, kind, &flags, error);
  if (!setup)
    return NULL;
  if (dataflow || kind == RA_FILE_WORKLOAD)
    return ra_dot_workload(setup->workload);
  augmented = ra_augment(setup->plan, options->n_iterations);
  return ra_dot_augmented(augmented);
}

static int
run(int argc, char **argv, GError **error)
{
  g_auto(RaOptions) options = RA_OPTIONS_INIT;
  gboolean dataflow = FALSE;
  const GOptionEntry own[] = {{"dataflow", 0, 0, G_OPTION_ARG_NONE, &dataflow,
                               "Calls and data of the plan's workload only",
                               NULL},
                              {.long_name = NULL}};
  g_autofree char *text = NULL;

  if (!ra_options_parse(&options, &ra_command_graph, own, argc, argv, error) ||
      options.help)
    return 0;
  text = draw(&options, dataflow, error);
  if (text)
    ra_output_write(options.output, text, strlen(text), error);
  return 0;
}

const RaCommand ra_command_graph = {
    .name = "graph",
    .arguments = "PLAN|WORKLOAD",
    .summary = "Write the graph of a workload or a plan for Graphviz",
    .details =
        "The graph of a workload shows its calls and data.  That of a plan "
        "shows what runs\n"
        "in --iterations iterations, and the parameters and data that move.\n\n"
        "Examples:\n"
        "  reallot graph ppo-llama3-70b.workload | dot -Tsvg >ppo.svg\n"
        "  reallot graph ppo-llama3-70b-128.plan -o plan.dot\n",
    .groups = RA_OPTIONS_OUTPUT | RA_OPTIONS_ITERATIONS | RA_OPTIONS_SETUP,
    .n_files = 1,
    .n_iterations = 2,
    .run = run,
};
