/* Output of `reallot simulate --sensitivity`. */
#ifndef RA_CLI_SENSITIVITY_H
#define RA_CLI_SENSITIVITY_H

#include "cli/options.h"

/**
 * ra_simulate_sensitivity:
 * @options: of `reallot simulate`
 * @factor: (nullable): value of --factor
 * @plot: (nullable): value of --plot
 * @n_threads: 0: as many as processors
 *
 * Prints the tables, and draws the tornado if requested.
 *
 * Returns: the exit status: 1 if the plan does not fit
 */
int ra_simulate_sensitivity(const RaOptions *options, const char *factor,
                            const char *plot, guint n_threads, GError **error);

#endif
