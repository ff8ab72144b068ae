/* Logs of nccl-tests: a table of a collective by size as (op, seconds).
 *
 * The input is the output of all_reduce_perf and its sisters, also through
 * mpirun or srun, which put `[1,0]<stdout>:` or `0: ` before lines, and with
 * lines of NCCL in between.  One file may have several tests.  Columns are
 * found by the head of the table.  Each size is a row: the geometric mean of
 * its two samples, out of place and in place.  The log names the collective, or
 * else the file name does.  Ranks and nodes are those of the devices that the
 * log lists.
 *
 *     g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
 *     ra_nccl_log_load("all_reduce_perf.log", rows, notes, &error);
 *
 * Sizes count as in nccl-tests:
 *
 *     all-reduce      the whole vector
 *     reduce-scatter  the input
 *     all-gather      the output
 *     all-to-all      what a rank sends
 *     sendrecv        a ring with one send a rank
 */
#ifndef RA_TRACES_NCCL_LOG_H
#define RA_TRACES_NCCL_LOG_H

#include "traces/measured.h"

/* TRUE if @path is named `.log`, or has a table of nccl-tests. */
gboolean ra_nccl_log_is(const char *path);

/**
 * ra_nccl_log_load:
 * @path: path of the log
 * @rows: (element-type RaMeasured): appended to
 * @notes: (element-type utf8): notes for the user, appended to
 * @error: %RA_ERROR_INPUT `file:line: ...`: a row without all fields, a
 *   malformed number, a rate that does not follow from size and time, wrong
 *   values, unknown ranks, nodes with different numbers of ranks, or a file
 *   without rows
 */
gboolean ra_nccl_log_load(const char *path, GArray *rows, GPtrArray *notes,
                          GError **error);

#endif
