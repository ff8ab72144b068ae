/* Overlapped ops of a trace: computation during communication on its GPUs, and
 * communication during computation.
 *
 * The time of such an op alone is the median of the samples of the same op, in
 * the same trace, that overlapped with nothing (traces/measured_trace.h).  An
 * op without such samples has no answer.  Rows that overlap with their own
 * kind, with a copy or with the host do not count.  A row without an op can
 * overlap with others; its kind is that of its stream.
 *
 *     GArray *rows = ra_measured_overlap(trace, "ops.trace.tsv", &error);
 *
 * Typical sizes: 10^5 op rows on 10 GPUs, 10^2 answers.
 * Cost: a binary search for each row and GPU.
 */
#ifndef RA_TRACES_MEASURED_OVERLAP_H
#define RA_TRACES_MEASURED_OVERLAP_H

#include "graph/op/op.h"
#include "traces/trace.h"

/* All overlapped samples of an op. */
typedef struct {
  RaOp op;
  guint n;           /* samples */
  double alone_s;    /* time of n samples without overlap */
  double beside_s;   /* measured time of the n samples */
  double together_s; /* part of beside_s with overlap */
} RaMeasuredOverlap;

/**
 * ra_measured_overlap:
 * @trace: sorted, as ra_trace_load() gives it
 * @name: name of its file, for messages
 * @error: as ra_measured_trace()
 *
 * Returns: (transfer full) (element-type RaMeasuredOverlap): ordered by op;
 *   %NULL on error
 */
GArray *ra_measured_overlap(const RaTrace *trace, const char *name,
                            GError **error);

#endif
