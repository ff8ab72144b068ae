/* reallot export: a plan as another framework's configuration. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/quote.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "study/convert/export.h"
#include "study/setup.h"

/* The table behind `# ` on each line, where both go to standard output. */
static char *
as_comment(const RaTable *table)
{
  g_autoptr(GString) text = g_string_new(NULL);
  g_auto(GStrv) lines = NULL;
  GString *out = g_string_new(NULL);

  ra_table_write(table, RA_FORMAT_TEXT, text);
  lines = g_strsplit(g_strchomp(text->str), "\n", -1);
  for (guint i = 0; lines[i]; i++)
    ra_quote_comment(out, "%s", lines[i]);
  return g_string_free(out, FALSE);
}

static gboolean
write_out(const RaExport *export, const RaOptions *options, GError **error)
{
  const char *path = options->output;
  gboolean yaml = path && (g_str_has_suffix(path, ".yaml") ||
                           g_str_has_suffix(path, ".yml"));
  g_autofree char *text =
      yaml ? ra_export_yaml(export) : ra_export_script(export);
  RaTable *table = ra_export_table(export);
  g_autoptr(GPtrArray) tables =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_table_free);

  g_ptr_array_add(tables, table);
  if (!path || g_str_equal(path, "-")) {
    g_autofree char *lost =
        ra_table_n_rows(table) > 0 ? as_comment(table) : g_strdup("");
    g_autofree char *all = g_strconcat(text, lost, NULL);

    return ra_output_print(all, strlen(all), error);
  }
  return ra_output_write(path, text, strlen(text), error) &&
         ra_output_tables(tables, options->format, error);
}

static int
run(int argc, char **argv, GError **error)
{
  g_auto(RaOptions) options = RA_OPTIONS_INIT;
  g_autofree char *to = NULL;
  g_autoptr(RaSetup) setup = NULL;
  g_autoptr(RaExport) export = NULL;
  RaSetupFlags flags;
  const GOptionEntry own[] = {{"to", 0, 0, G_OPTION_ARG_FILENAME, &to,
                               "Target framework: nemo-rl, openrlhf, "
                               "slime, verl@2026-01 (default: verl)",
                               "NAME"},
                              {.long_name = NULL}};

  if (!ra_options_parse(&options, &ra_command_export, own, argc, argv, error) ||
      options.help)
    return 0;
  flags = ra_options_setup(&options);
  if (to && ra_export_check(to, error) == RA_N_FRAMEWORKS) {
    g_prefix_error(error, "--to: ");
    return 0;
  }
  if (ra_file_kind_expect(options.files[0], RA_FILE_PLAN, error))
    setup = ra_setup_load(options.files[0], RA_FILE_PLAN, &flags, error);
  if (setup)
    export =
        ra_export_plan(&(RaExportSource){.plan = setup->plan,
                                         .plan_path = setup->plan_path,
                                         .workload_path = setup->workload_path,
                                         .system_path = setup->system_path},
                       to ? to : "verl", error);
  if (export)
    write_out(export, &options, error);
  return 0;
}

const RaCommand ra_command_export = {
    .name = "export",
    .arguments = "PLAN",
    .summary = "Convert a plan into another framework's configuration",
    .details =
        "FILE.yaml gets YAML, any other file a launch script.  Settings that "
        "the framework\n"
        "cannot represent are printed key by key, as comments if the script is "
        "too.\n\n"
        "The version of the framework follows after @: keys change their "
        "names.\n\n"
        "Examples:\n"
        "  reallot export grpo-qwen2.5-7b-32.plan --to=verl@2026-01\n"
        "  reallot export grpo-qwen2.5-7b-32.plan --to=verl -o run.yaml\n",
    .groups = RA_OPTIONS_FORMAT | RA_OPTIONS_OUTPUT | RA_OPTIONS_SETUP,
    .n_files = 1,
    .run = run,
};
