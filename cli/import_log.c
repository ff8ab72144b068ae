/* reallot import-log: a trainer's log as a table of steps. */
#include "config.h"

#include "cli/commands.h"
#include "cli/output.h"
#include "study/run/step_log.h"

static int
run(int argc, char **argv, GError **error)
{
  g_auto(RaOptions) options = RA_OPTIONS_INIT;
  const GOptionEntry own[] = {{.long_name = NULL}};
  g_autoptr(RaStepLog) log = NULL;
  g_autoptr(RaTable) table = NULL;
  g_autoptr(GPtrArray) tables = g_ptr_array_new();

  if (!ra_options_parse(&options, &ra_command_import_log, own, argc, argv,
                        error) ||
      options.help)
    return 0;
  log = ra_step_log_load(options.files[0], error);
  if (!log)
    return 0;
  table = ra_step_log_table(log);
  g_ptr_array_add(tables, table);
  if (ra_output_tables(tables, options.format, error)) {
    for (guint i = 0; i < log->notes->len; i++)
      g_printerr("reallot: %s: left out: %s\n", log->path,
                 (const char *)log->notes->pdata[i]);
  }
  return 0;
}

const RaCommand ra_command_import_log = {
    .name = "import-log",
    .arguments = "LOG",
    .summary = "Print the steps of a trainer's log as a table",
    .details =
        "LOG: console output of verl or NeMo-RL; lines of JSON or of Python\n"
        "dictionaries (W&B's history, slime, OpenRLHF, SkyRL); W&B's CSV "
        "export.\n"
        "What is cut, out of order or no number is left out and told on "
        "standard error.\n\n"
        "Examples:\n"
        "  reallot import-log train.log\n"
        "  reallot import-log wandb.csv --format=tsv > steps.tsv\n"
        "  reallot compare run.plan train.log\n"
        "  reallot calibrate --log train.log --plan run.plan -o mine.system\n",
    .groups = RA_OPTIONS_FORMAT,
    .n_files = 1,
    .run = run,
};
