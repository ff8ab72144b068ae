/* Private parts of a comparison: tasks and ops of one trace.
 *
 * compare.c joins tasks, compare_task.c finds them where a trace has only their
 * ops, compare_op.c joins ops, compare_plot.c draws both traces.
 */
#ifndef RA_STUDY_RUN_COMPARE_IMPL_H
#define RA_STUDY_RUN_COMPARE_IMPL_H

#include "study/run/compare.h"

/* The tasks of a trace, a row each. */
typedef struct {
  GArray *rows;        /* RaTraceRow, in order of the trace; owned */
  GHashTable *by_name; /* name -> index + 1 into rows; owned */
  GStringChunk *names; /* names of tasks that have no row of their own; owned */
} RaTaskRows;

/**
 * ra_task_rows_new:
 * @trace: borrowed, outlives the rows
 * @error: %RA_ERROR_INPUT: a task occurs twice
 *
 * A task with only ops in the trace lasts from its first op's begin to its last
 * one's end.
 *
 * Returns: (transfer full): free with ra_task_rows_free()
 */
RaTaskRows *ra_task_rows_new(const RaTrace *trace, GError **error);
void ra_task_rows_free(RaTaskRows *rows);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaTaskRows, ra_task_rows_free)

/* Finds the task @name (nullable). */
const RaTraceRow *ra_task_rows_find(const RaTaskRows *rows, const char *name);

/* Length of the task's name at the start of an op row's name, in bytes: all of
 * it where the task is one op (ra_op_place_name() formats what may follow). */
gsize ra_op_row_task(const RaTraceRow *row);

/* Append the columns simulated_s, measured_s, error_frac, and their cells. */
void ra_compare_time_columns(RaTable *table);
void ra_compare_times(RaTable *table, double simulated_s, double measured_s);

/* Relative error, simulated / measured - 1; NAN: nothing was measured. */
double ra_compare_error(double simulated_s, double measured_s);
/* Median absolute value of the numbers in @values, which it sorts; NAN: none.
 */
double ra_compare_median_size(GArray *values);

/* Fills @comparison's `ops` and `lacks`, where both traces have ops. */
void ra_compare_ops(RaComparison *comparison, const RaTrace *const *traces,
                    RaTaskRows *const *tasks);

#endif
