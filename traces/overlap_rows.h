/* Measured interference: kernels and collectives that run together.
 *
 * Two kinds of rows in @data/overlap, by file name:
 *
 *     echo_kernel_slowdown_GPU*.csv   kernels alone and beside collectives
 *     aicb_insitu_comm_GPU*.csv       collectives within an iteration
 *
 *     GArray *kernels = ra_overlap_rows_kernels("../shared/data", "a100",
 *     &error);
 *     GArray *messages = ra_overlap_rows_messages("../shared/data", "a100",
 *     &error);
 *
 * Typical sizes: 442 kernels of 25 names, 20 messages.
 */
#ifndef RA_TRACES_OVERLAP_ROWS_H
#define RA_TRACES_OVERLAP_ROWS_H

#include <glib.h>

#include "traces/measured.h"

/* A kernel in one run of its program. */
typedef struct {
  double alone_s;      /* > 0 */
  double beside_s;     /* in the run with collectives, > 0 */
  double overlap_frac; /* share of it that ran beside one */
  gboolean by_memory;  /* busies the memory more than the multiprocessors */
  const char *name;    /* interned: of the kernel */
  const char *file;    /* interned: where it stands */
  guint file_line;     /* there, from 1 */
  uint64_t kernel;     /* its name, numbered in the order found */
} RaOverlapRowsKernel;

/**
 * ra_overlap_rows_kernels:
 * @data: folder of measurements by others
 * @gpu: "a100"
 * @error: %RA_ERROR_INPUT `file:line: ...`
 *
 * Returns: (transfer full) (element-type RaOverlapRowsKernel): empty where
 * @data has
 *   none; %NULL on error
 */
GArray *ra_overlap_rows_kernels(const char *data, const char *gpu,
                                GError **error);

/**
 * ra_overlap_rows_messages:
 * @data: as above
 * @gpu: as above
 * @error: as above
 *
 * Collectives in a node, each with the median of its times; those whose ranks
 * the source does not say are left out.
 *
 * Returns: (transfer full) (element-type RaMeasured): empty where @data has
 *   none; %NULL on error
 */
GArray *ra_overlap_rows_messages(const char *data, const char *gpu,
                                 GError **error);

#endif
