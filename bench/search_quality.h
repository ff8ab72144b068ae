/* Quality of the plans that the search finds, and its time. */
#ifndef RA_BENCH_SEARCH_QUALITY_H
#define RA_BENCH_SEARCH_QUALITY_H

#include <glib.h>

/* The seeds that reached the target in time. */
typedef struct {
  guint n_reached, n_seeds;
  double worst_s; /* longest time of such a seed, CPU seconds */
} RaReached;

/* 8 and 64 GPUs of one workload, then of another; with the candidates of the
 * peer, then with ours. */
#define RA_N_REACHED 8

typedef struct {
  double exact_cpu_s[RA_N_REACHED]; /* time to prove the optimum */
  gboolean is_proven[RA_N_REACHED];
  RaReached reached[RA_N_REACHED]; /* target: the optimum for the peer on 8
                                      GPUs, else within 0.5 % of it */
  double replicated; /* 1,024 GPUs: result of chains from scratch, relative to
                           the 64-GPU optimum with dp x 16; 0: not run */
} RaSearchQuality;

/* Prints a table each; @is_quick: few seeds, ours only on 8 GPUs. */
gboolean ra_search_quality(gboolean is_quick, RaSearchQuality *out,
                           GError **error);

/**
 * ra_search_gaps:
 *
 * Branch and bound of 60 s on two threads for 8 GPUs.  Prints a line and a bar
 * a case: what is not proven of the best time.
 */
gboolean ra_search_gaps(GError **error);

/**
 * ra_search_warm:
 *
 * Prepares a search twice: candidates, bounds, and the times of all strategies;
 * the second time with the costs of the first.  Prints a line and a bar a case:
 * CPU time of the second over that of the first.
 */
gboolean ra_search_warm(GError **error);

#endif
