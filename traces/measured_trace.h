/* Measured ops of a trace: its op rows as (op, seconds).
 *
 * A row counts by its own time, begin to end, never by that of its task, since
 * a task with several ops does not tell the time of any one.  Rows of one
 * collective (same name and iteration) on several ranks are one op.  Its time
 * runs from the arrival of the last member to the end of the last, so that
 * waiting for others is not a cost.  (A single row on the ranks of all members
 * begins with the last of them, by the definition of a trace.)  Another row on
 * the same GPUs slows a row that it overlaps with; such rows are left out and
 * counted.
 *
 * All samples of one op make one row: the median, and the number, mean and
 * deviation of ln(sample / median).  A sample that is further from the median
 * than both 4.685 robust deviations and a factor of e is an outlier.  Outliers
 * are counted but have no weight.
 *
 *     g_autoptr(RaTrace) trace = ra_trace_load("ops.trace.tsv", &error);
 *     GArray *rows = ra_measured_trace(trace, "ops.trace.tsv", &left, &error);
 *
 * Head fields, with their values if missing: `gpus-per-node` (8),
 * `nics-per-node` (8), `nic-bytes-per-s` of one NIC (50e9), `nic-latency-s`
 * (0, InfiniBand's).
 *
 * Typical sizes: 10^5 op rows, 10^2 ops; 0.3 s a million rows.
 */
#ifndef RA_TRACES_MEASURED_TRACE_H
#define RA_TRACES_MEASURED_TRACE_H

#include "traces/measured.h"
#include "traces/trace.h"

/* Counts of the op rows of a trace, by their use. */
typedef struct {
  guint n_ops;        /* rows with an op */
  guint n_samples;    /* samples used; the rows of a collective are one */
  guint n_beside;     /* left out: overlapped with another row on its GPUs */
  guint n_short;      /* left out: begin and end are the same nanosecond */
  guint n_outliers;   /* samples without weight */
  RaOp worst;         /* op of the worst outlier */
  double worst_ratio; /* worst outlier / median of its op */
} RaMeasuredTally;

/**
 * ra_measured_trace:
 * @trace: sorted, as ra_trace_load() gives it
 * @name: name of its file, for messages and the rows' `file`
 * @rows: (element-type RaMeasured): appended to, ordered by op, so that the
 *   order of the trace does not matter
 * @out_tally: (out): numbers of rows used and left out
 * @error: %RA_ERROR_INPUT `name:line: ...`: an invalid op or shape
 *
 * Appends a row for every op, with the groups of its kind (traces/measured.h).
 * Ops that no law is fitted on, such as host work, have rows too.
 */
gboolean ra_measured_trace(const RaTrace *trace, const char *name, GArray *rows,
                           RaMeasuredTally *out_tally, GError **error);

#endif
