/* Logs of nccl-tests: a table of a collective by size as (op, seconds).
 *
 * What all_reduce_perf and its sisters print, as mpirun or srun pass it on
 * (with `[1,0]<stdout>:` or `0: ` before the lines, and the library's own lines
 * between); several tests may follow each other in one file.  Columns are found
 * by the table's head.  Each size is a row: the geometric mean of out of place
 * and in place, which are two samples of it.  The collective is what the log
 * says, else what the file is called; the ranks and their nodes are the
 * devices that it lists.
 *
 *     g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
 *     ra_nccl_log_load("all_reduce_perf.log", rows, notes, &error);
 *
 * Sizes count as nccl-tests do: the whole vector of an all-reduce, of a
 * reduce-scatter what goes in, of an all-gather what comes out, of an
 * all-to-all what a rank sends; sendrecv_perf is a ring, a send each.
 */
#ifndef RA_TRACES_NCCL_LOG_H
#define RA_TRACES_NCCL_LOG_H

#include "traces/measured.h"

/**
 * ra_nccl_log_load:
 * @path: of the log
 * @rows: (element-type RaMeasured): appended to
 * @notes: (element-type utf8): what a person should know, appended to
 * @error: %RA_ERROR_INPUT `file:line: ...`: a row that has not its fields, a
 *   number that is none, a rate that its size and time do not make, wrong
 *   values, ranks that are not known or not as many on each node; a file
 *   without rows
 */
gboolean ra_nccl_log_load(const char *path, GArray *rows, GPtrArray *notes,
                          GError **error);

#endif
