/* Fit of a system's constants by least squares, for the programs that print the
 * values in share/systems.
 *
 *     static const char *const keys[] = {"decode-layer", "compute-factor",
 *                                        NULL};
 *     SystemFit fit = {.keys = keys, .start = {1e-3, 1}, .n_residuals = 3,
 *                      .residuals = residuals, .data = settings};
 *     constants = system_fit(&fit);
 *
 * The search is over logarithms of the constants, so each stays above 0.  A
 * residual is log(predicted / measured).
 */
#ifndef RA_BENCH_SYSTEM_FIT_H
#define RA_BENCH_SYSTEM_FIT_H

#include "traces/system.h"

#define SYSTEM_FIT_RESIDUALS_MAX 64

typedef struct {
  const char *const *keys; /* constants to find, NULL-terminated, at most
                              RA_SYSTEM_CONSTANTS_MAX */
  double start[RA_SYSTEM_CONSTANTS_MAX]; /* start of each, > 0 */
  guint n_residuals;                     /* at most SYSTEM_FIT_RESIDUALS_MAX */
  void (*residuals)(const RaSystemConstants *constants, double *out,
                    gpointer data);
  gpointer data; /* passed to residuals */
} SystemFit;

/* The Levenberg-Marquardt method with slopes by differences; equal on every
 * machine up to rounding. */
RaSystemConstants system_fit(const SystemFit *fit);

/* Prints a `KEY = VALUE` line of a .system file for each of @keys. */
void system_fit_print(const char *const *keys,
                      const RaSystemConstants *constants);

#endif
