/* Plans side by side: their cost, each call, and what their files say
 * differently.
 *
 *     g_autoptr(GArray) runs = ra_seeds_run(setups, 2, &options, 1, 0, &error);
 *     g_autoptr(RaTable) plans = ra_beside_table(runs, setups, 2);
 *
 * Every run is of one plan and the first seed.  In the tables of calls and of
 * differences a plan is a column, named by its file.
 *
 * Typical sizes: 2 to 5 plans, 6 calls, 10 to 30 keys that differ.
 */
#ifndef RA_STUDY_SWEEP_BESIDE_H
#define RA_STUDY_SWEEP_BESIDE_H

#include "study/sweep/seeds.h"

/* Rows by plan (transfer full): GPUs, time of a step with the error of the
 * model, its ratio to the fastest plan that fits (to the fastest, where none
 * does), price, highest peak of memory, and if that fits. */
RaTable *ra_beside_table(const GArray *runs, RaSetup *const *setups,
                         uint32_t n_setups);

/* Rows by call (transfer full): time of the call in every plan; missing where
 * the plan's workload has no call of the name. */
RaTable *ra_beside_calls(const GArray *runs, RaSetup *const *setups,
                         uint32_t n_setups);

/* Rows by key of the plans, workloads and clusters that differs in any two
 * (transfer full): as --set writes it, and its value as written; missing where
 * the file leaves it out.  `format` and the names of files are left out. */
RaTable *ra_beside_differences(RaSetup *const *setups, uint32_t n_setups);

/* One sentence (transfer full): the fastest plan that fits, beside the next. */
char *ra_beside_sentence(const GArray *runs, RaSetup *const *setups,
                         uint32_t n_setups);

#endif
