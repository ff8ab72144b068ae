/* Output of `reallot simulate` for several seeds or plans. */
#include "config.h"

#include "cli/output.h"
#include "cli/progress.h"
#include "cli/seeds.h"
#include "study/sweep/seeds.h"

gboolean
ra_simulate_seeds(const RaOptions *options, gboolean unfolded, uint32_t n_seeds,
                  guint n_threads, GError **error)
{
  RaSetupFlags flags = ra_options_setup(options);
  RaReplayOptions wanted = {.n_iterations = options->n_iterations,
                            .fidelity = options->fidelity,
                            .flows = options->flows,
                            .seed = options->seed,
                            .unfolded = unfolded};
  g_autoptr(GPtrArray) setups =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_setup_free);
  g_autoptr(GPtrArray) tables =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_table_free);
  g_autoptr(GArray) runs = NULL;
  RaSetup *const *list;
  RaProgress *progress = ra_progress_begin("simulating");
  gboolean ok = TRUE;

  for (guint i = 0; options->files[i] && ok; i++) {
    RaSetup *setup = NULL;

    if (ra_file_kind_expect(options->files[i], RA_FILE_PLAN, error))
      setup = ra_setup_load(options->files[i], RA_FILE_PLAN, &flags, error);
    ok = setup != NULL;
    if (setup)
      g_ptr_array_add(setups, setup);
  }
  list = (RaSetup *const *)(void *)setups->pdata;
  if (ok)
    runs = ra_seeds_run(list, setups->len, &wanted, n_seeds, n_threads, error);
  ra_progress_end(progress);
  if (!runs)
    return FALSE;
  g_ptr_array_add(tables, ra_seeds_spread(runs, list, setups->len));
  g_ptr_array_add(tables, ra_seeds_table(runs, list));
  return ra_output_tables(tables, options->format, error);
}
