/* reallot list: the files that other commands find by their names. */
#include "config.h"

#include "cli/commands.h"
#include "cli/output.h"
#include "study/report/catalog.h"

static int
run(int argc, char **argv, GError **error)
{
  g_auto(RaOptions) options = RA_OPTIONS_INIT;
  g_autoptr(GPtrArray) tables = NULL;
  int kind = -1;

  if (!ra_options_parse(&options, &ra_command_list, NULL, argc, argv, error) ||
      options.help ||
      !ra_option_word("KIND", options.files ? options.files[0] : NULL,
                      ra_catalog_kinds, &kind, error))
    return 0;
  tables = ra_catalog(kind < 0 ? NULL : ra_catalog_kinds[kind], error);
  if (tables)
    ra_output_tables(tables, options.format, error);
  return 0;
}

const RaCommand ra_command_list = {
    .name = "list",
    .arguments = "[KIND]",
    .summary =
        "List GPUs, models, clusters, workloads, plans, studies, systems",
    .details = "KIND is gpus, models, clusters, workloads, plans, studies or "
               "systems (default: all).\n"
               "Names are those that files and options take. Folders of "
               "RA_DATA_PATH come first.\n\n"
               "Examples:\n"
               "  reallot list gpus\n"
               "  reallot list models --format=tsv\n",
    .groups = RA_OPTIONS_FORMAT,
    .n_optional = 1,
    .run = run,
};
