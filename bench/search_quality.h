/* How good what the search finds is, and how soon. */
#ifndef RA_BENCH_SEARCH_QUALITY_H
#define RA_BENCH_SEARCH_QUALITY_H

#include <glib.h>

/* Of some seeds those that got there in time. */
typedef struct {
  guint n_reached, n_seeds;
  double worst_s; /* of a seed that did, CPU */
} RaReached;

/* 8 and 64 GPUs of one workload, then of another. */
#define RA_N_REACHED 4

typedef struct {
  double exact_cpu_s[RA_N_REACHED]; /* the optimum proven */
  gboolean is_proven[RA_N_REACHED];
  RaReached reached[RA_N_REACHED]; /* 8: the optimum; 64: within 0.5 % of it */
  double replicated;   /* 1,024 GPUs: what chains find from nothing, of the
                           64-GPU optimum dp x 16; 0: not run */
  double long_s;       /* full set, 64 GPUs: how long runs are */
  double best_of_long; /* the worst of 20 runs of 10 s, of the best of 20 of
                           these; 0: not run */
} RaSearchQuality;

/* Prints a table each; @is_quick: few seeds; @long_s: CPU seconds of each of 20
 * long runs, ten minutes to be what the bar is about; 0: none. */
gboolean ra_search_quality(gboolean is_quick, double long_s,
                           RaSearchQuality *out, GError **error);

#endif
