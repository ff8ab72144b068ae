/* Several seeds or plans: `reallot simulate` of them, and `reallot diff`. */
#include "config.h"

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/seeds.h"
#include "study/sweep/beside.h"

/* Text ends with @sentence, if there is one. */
static gboolean
print(const GPtrArray *tables, const char *sentence, RaFormat format,
      GError **error)
{
  g_autoptr(GString) out = g_string_new(NULL);

  if (format != RA_FORMAT_TEXT || !sentence)
    return ra_output_tables(tables, format, error);
  for (guint i = 0; i < tables->len; i++) {
    if (ra_table_n_rows(tables->pdata[i]) == 0)
      continue;
    ra_table_write(tables->pdata[i], RA_FORMAT_TEXT, out);
    g_string_append_c(out, '\n');
  }
  ra_output_wrapped(out, sentence);
  return ra_output_print(out->str, out->len, error);
}

/* The plans of @options (transfer full) (element-type RaSetup). */
static GPtrArray *
load_plans(const RaOptions *options, GError **error)
{
  RaSetupFlags flags = ra_options_setup(options);
  g_autoptr(GPtrArray) setups =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_setup_free);

  for (guint i = 0; options->files[i]; i++) {
    RaSetup *setup = NULL;

    if (ra_file_kind_expect(options->files[i], RA_FILE_PLAN, error))
      setup = ra_setup_load(options->files[i], RA_FILE_PLAN, &flags, error);
    if (!setup)
      return NULL;
    g_ptr_array_add(setups, setup);
  }
  return g_steal_pointer(&setups);
}

gboolean
ra_simulate_seeds(const RaOptions *options, gboolean unfolded, uint32_t n_seeds,
                  guint n_threads, gboolean *out_fits, GError **error)
{
  RaReplayOptions wanted = ra_options_replay(options);
  g_autoptr(GPtrArray) setups = NULL;
  g_autoptr(GPtrArray) tables =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_table_free);
  g_autoptr(GArray) runs = NULL;
  RaSetup *const *list;
  RaProgress *progress = ra_progress_begin("simulating");
  g_autofree char *sentence = NULL;

  *out_fits = TRUE;
  wanted.unfolded = unfolded;
  setups = load_plans(options, error);
  list = setups ? (RaSetup *const *)(void *)setups->pdata : NULL;
  if (setups)
    runs = ra_seeds_run(list, setups->len, &wanted, n_seeds, n_threads, error);
  ra_progress_end(progress);
  if (!runs)
    return FALSE;
  if (n_seeds == 1 && setups->len > 1) {
    g_ptr_array_add(tables, ra_beside_table(runs, list, setups->len));
    g_ptr_array_add(tables, ra_beside_calls(runs, list, setups->len));
    g_ptr_array_add(tables, ra_beside_differences(list, setups->len));
    sentence = ra_beside_sentence(runs, list, setups->len);
  } else {
    g_ptr_array_add(tables, ra_seeds_spread(runs, list, setups->len));
    g_ptr_array_add(tables, ra_seeds_table(runs, list));
  }
  if (!print(tables, sentence, options->format, error))
    return FALSE;
  for (guint i = 0; i < runs->len; i++)
    *out_fits &= ra_seed_run_fits(&g_array_index(runs, RaSeedRun, i));
  return TRUE;
}

/* ---- reallot diff -------------------------------------------------------- */

/* The exit status: 1 where a key differs. */
static int
run_diff(int argc, char **argv, GError **error)
{
  g_auto(RaOptions) options = RA_OPTIONS_INIT;
  g_autoptr(GPtrArray) setups = NULL;
  g_autoptr(GPtrArray) tables =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_table_free);
  RaTable *table;

  if (!ra_options_parse(&options, &ra_command_diff, NULL, argc, argv, error) ||
      options.help)
    return 0;
  setups = load_plans(&options, error);
  if (!setups)
    return 0;
  table = ra_beside_differences((RaSetup *const *)(void *)setups->pdata,
                                setups->len);
  g_ptr_array_add(tables, table);
  ra_output_tables(tables, options.format, error);
  return ra_table_n_rows(table) > 0 ? 1 : 0;
}

const RaCommand ra_command_diff = {
    .name = "diff",
    .arguments = "PLAN PLAN",
    .summary =
        "Show what two plans, their workloads and clusters say differently",
    .details = "Each row is a key as --set writes it. The exit status is 0 if "
               "no key differs, 1 if any does.\n\n"
               "Examples:\n"
               "  reallot diff ppo-llama2-7b-8.plan "
               "ppo-llama2-7b-8-colocated-zero3.plan\n",
    .groups = RA_OPTIONS_FORMAT | RA_OPTIONS_SETUP,
    .n_files = 2,
    .run = run_diff,
};
