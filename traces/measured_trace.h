/* Measured ops of a trace: its op rows as (op, seconds).
 *
 * A row counts by its own time, begin to end, never by its task's: a task with
 * several ops says nothing of any of them.  Rows of one name and iteration on
 * several ranks are one op where it is a collective, whose time runs from the
 * arrival of the last member to the end of the last, so that what the others
 * wait is nobody's cost.  (A single row on all members' ranks begins, by the
 * trace's definition, with the last of them.)  What shares GPUs with another
 * row's time is slowed by it and is left out, and counted.
 *
 * All samples of one op make one row: the median, and the number, mean and
 * deviation of ln(sample / median).  A sample further from the median than both
 * 4.685 robust deviations and a factor of e is an outlier: counted and without
 * weight.
 *
 *     g_autoptr(RaTrace) trace = ra_trace_load("ops.trace.tsv", &error);
 *     GArray *rows = ra_measured_trace(trace, "ops.trace.tsv", &left, &error);
 *
 * Head fields that are read, each 8 (bytes: 50e9) where it is missing:
 * `gpus-per-node`, `nics-per-node`, `nic-bytes-per-s` (of one),
 * `nic-latency-s`.
 *
 * Typical sizes: 10^5 op rows, 10^2 ops; 0.3 s a million rows.
 */
#ifndef RA_TRACES_MEASURED_TRACE_H
#define RA_TRACES_MEASURED_TRACE_H

#include "traces/measured.h"
#include "traces/trace.h"

/* What became of the op rows of a trace. */
typedef struct {
  guint n_ops;        /* rows that say an op */
  guint n_samples;    /* of them in the answer; a collective's rows are one */
  guint n_beside;     /* left out: another row ran on its GPUs at the time */
  guint n_short;      /* left out: begin and end are the same nanosecond */
  guint n_outliers;   /* samples without weight */
  RaOp worst;         /* op of the outlier that is furthest off */
  double worst_ratio; /* that sample / its op's median */
} RaMeasuredTally;

/**
 * ra_measured_trace:
 * @trace: sorted, as ra_trace_load() gives it
 * @name: of its file, for messages and the rows' `file`
 * @rows: (element-type RaMeasured): appended to; ordered by op, so that the
 *   order of the trace does not count
 * @out_tally: (out): what was left out
 * @error: %RA_ERROR_INPUT `name:line: ...`: an op or a shape that is none
 *
 * Every op is a row with the lines of its kind (traces/measured.h); rows of ops
 * that no law is fitted on, such as host work, are there too.
 */
gboolean ra_measured_trace(const RaTrace *trace, const char *name, GArray *rows,
                           RaMeasuredTally *out_tally, GError **error);

#endif
