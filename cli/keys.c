/* reallot keys: the keys of files, from the tables that read them. */
#include "config.h"

#include <string.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "study/report/key_table.h"

static int
run(int argc, char **argv, GError **error)
{
  g_auto(RaOptions) options = RA_OPTIONS_INIT;
  g_autoptr(GPtrArray) tables = NULL;
  gboolean markdown = FALSE;
  int kind = -1;
  const GOptionEntry own[] = {{"markdown", 0, 0, G_OPTION_ARG_NONE, &markdown,
                               "Page docs/keys.md, with all keys", NULL},
                              {.long_name = NULL}};

  if (!ra_options_parse(&options, &ra_command_keys, own, argc, argv, error) ||
      options.help ||
      !ra_option_word("KIND", options.files ? options.files[0] : NULL,
                      ra_key_kinds, &kind, error))
    return 0;
  if (markdown) {
    g_autofree char *text = ra_key_markdown();

    ra_output_print(text, strlen(text), error);
    return 0;
  }
  tables = ra_key_tables(kind < 0 ? NULL : ra_key_kinds[kind]);
  ra_output_tables(tables, options.format, error);
  return 0;
}

const RaCommand ra_command_keys = {
    .name = "keys",
    .arguments = "[KIND]",
    .summary = "List the keys of a kind of file",
    .details = "KIND is workload, cluster, plan, study, system or profile "
               "(default: all).\n\n"
               "Examples:\n"
               "  reallot keys plan\n"
               "  reallot keys --markdown\n",
    .groups = RA_OPTIONS_FORMAT,
    .n_optional = 1,
    .run = run,
};
