/* Measured interference: kernels and collectives that overlap.
 *
 * @data/overlap has two kinds of rows, by file name:
 *
 *     echo_kernel_slowdown_GPU*.csv   kernels alone and during collectives
 *     aicb_insitu_comm_GPU*.csv       collectives within an iteration
 *
 *     GArray *kernels = ra_overlap_rows_kernels("../shared/data", "a100",
 *     &error);
 *     const char *data[] = {"../shared/data", NULL};
 *     GArray *messages = ra_overlap_rows_messages(data, "a100", &error);
 *
 * Typical sizes: 442 kernels of 25 names, 20 messages.
 */
#ifndef RA_TRACES_OVERLAP_ROWS_H
#define RA_TRACES_OVERLAP_ROWS_H

#include <glib.h>

#include "traces/measured.h"

/* A kernel in one run of its program. */
typedef struct {
  double alone_s;      /* time without collectives, > 0 */
  double beside_s;     /* time in the run with collectives, > 0 */
  double overlap_frac; /* share of that time during which a collective ran */
  gboolean by_memory;  /* uses the memory more than the multiprocessors */
  const char *name;    /* name of the kernel, interned */
  const char *file;    /* file of the row, interned */
  guint file_line;     /* line of that file, from 1 */
  uint64_t kernel;     /* number of the name, in order of appearance */
} RaOverlapRowsKernel;

/**
 * ra_overlap_rows_kernels:
 * @data: (array zero-terminated=1): folders of published measurements
 * @gpu: "a100"
 * @error: %RA_ERROR_INPUT `file:line: ...`
 *
 * Returns: (transfer full) (element-type RaOverlapRowsKernel): empty if @data
 * has
 *   none; %NULL on error
 */
GArray *ra_overlap_rows_kernels(const char *const *data, const char *gpu,
                                GError **error);

/**
 * ra_overlap_rows_messages:
 * @data: as above
 * @gpu: as above
 * @error: as above
 *
 * Collectives within a node, each with the median of its times.  Those without
 * a stated number of ranks are left out.
 *
 * Returns: (transfer full) (element-type RaMeasured): empty if @data has none;
 *   %NULL on error
 */
GArray *ra_overlap_rows_messages(const char *const *data, const char *gpu,
                                 GError **error);

#endif
