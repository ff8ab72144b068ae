/* How good what the search finds is, and how soon. */
#ifndef RA_BENCH_SEARCH_QUALITY_H
#define RA_BENCH_SEARCH_QUALITY_H

#include <glib.h>

/* Of some seeds those that got there in time. */
typedef struct {
  guint n_reached, n_seeds;
  double worst_s; /* of a seed that did, CPU */
} RaReached;

/* 8 and 64 GPUs of one workload, then of another; of that peer's candidates,
 * then of ours. */
#define RA_N_REACHED 8

typedef struct {
  double exact_cpu_s[RA_N_REACHED]; /* the optimum proven */
  gboolean is_proven[RA_N_REACHED];
  RaReached reached[RA_N_REACHED]; /* the peer's, 8 GPUs: the optimum; else
                                      within 0.5 % of it */
  double replicated; /* 1,024 GPUs: what chains find from nothing, of the
                           64-GPU optimum dp x 16; 0: not run */
} RaSearchQuality;

/* Prints a table each; @is_quick: few seeds, ours on 8 GPUs alone. */
gboolean ra_search_quality(gboolean is_quick, RaSearchQuality *out,
                           GError **error);

#endif
