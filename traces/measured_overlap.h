/* Ops of a trace that ran beside the other kind: computations beside
 * communication on their GPUs, and communication beside computation.
 *
 * What such an op takes alone is the median of the samples of the same op, in
 * the same trace, that ran beside nothing (traces/measured_trace.h); an op that
 * never did says nothing.  Rows beside their own kind, or beside a copy or the
 * host, count neither way.  A row without an op is company: of the kind of its
 * stream.
 *
 *     GArray *rows = ra_measured_overlap(trace, "ops.trace.tsv", &error);
 *
 * Typical sizes: 10^5 op rows on 10 GPUs, 10^2 answers; a binary search a row
 * and GPU.
 */
#ifndef RA_TRACES_MEASURED_OVERLAP_H
#define RA_TRACES_MEASURED_OVERLAP_H

#include "graph/op/op.h"
#include "traces/trace.h"

/* All samples of an op that had company. */
typedef struct {
  RaOp op;
  guint n;           /* samples */
  double alone_s;    /* what as many take alone */
  double beside_s;   /* what they took */
  double together_s; /* of beside_s, while there was company */
} RaMeasuredOverlap;

/**
 * ra_measured_overlap:
 * @trace: sorted, as ra_trace_load() gives it
 * @name: of its file, for messages
 * @error: as ra_measured_trace()
 *
 * Returns: (transfer full) (element-type RaMeasuredOverlap): by op; %NULL on
 *   error
 */
GArray *ra_measured_overlap(const RaTrace *trace, const char *name,
                            GError **error);

#endif
