/* Constants of a system by least squares: for the programs that print what
 * share/systems says.
 *
 *     static const char *const keys[] = {"decode-layer", "compute-factor",
 *                                        NULL};
 *     SystemFit fit = {.keys = keys, .start = {1e-3, 1}, .n_residuals = 3,
 *                      .residuals = residuals, .data = settings};
 *     constants = system_fit(&fit);
 *
 * The constants are searched as logarithms, so each stays above 0; a residual
 * is log(predicted / measured).
 */
#ifndef RA_BENCH_SYSTEM_FIT_H
#define RA_BENCH_SYSTEM_FIT_H

#include "traces/system.h"

#define SYSTEM_FIT_RESIDUALS_MAX 8

typedef struct {
  const char *const *keys; /* constants to find, NULL-terminated, at most
                              RA_SYSTEM_CONSTANTS_MAX */
  double start[RA_SYSTEM_CONSTANTS_MAX]; /* of each, > 0 */
  guint n_residuals;                     /* at most SYSTEM_FIT_RESIDUALS_MAX */
  void (*residuals)(const RaSystemConstants *constants, double *out,
                    gpointer data);
  gpointer data; /* of residuals */
} SystemFit;

/* Levenberg and Marquardt's method, slopes by differences; the same on every
 * machine but for rounding. */
RaSystemConstants system_fit(const SystemFit *fit);

/* Prints a `KEY = VALUE` line of a .system file for each of @keys. */
void system_fit_print(const char *const *keys,
                      const RaSystemConstants *constants);

#endif
