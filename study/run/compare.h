/* Comparison of a prediction with a run: two traces of one plan, task by task.
 *
 *     g_autoptr(RaComparison) c = ra_compare(simulated, run, 10, &error);
 *     if (c)
 *       ra_table_write(c->calls, RA_FORMAT_TEXT, out);
 *
 * Tasks are joined by name, which simulator and executor share.  An error is
 * simulated / measured - 1: positive where the prediction is too long.  The
 * time of a task runs from its begin to its end.  The time of a call in an
 * iteration runs from its first task's begin to its last one's end, that of an
 * iteration from the end of the one before.  With several iterations, means
 * leave out the first, which warms caches up.
 *
 *   summary     tasks, the two makespans, the share of GPU time in tasks
 *   iterations  a row per iteration
 *   calls       a row per call: means over iterations, median absolute error
 *   kinds       a row per kind of task: sums over all its tasks, and the median
 *               absolute error of one
 *   worst       the tasks with the largest error, in seconds
 *   ops         where both traces have ops (a simulation at op fidelity, a run
 *               with --ops): a row per kind of op, with sums over the ops that
 *               both have, by name, and the number of ops that only one has
 *   lacks       likewise, a row per call: how much longer its tasks took than
 *               simulated, split into ops that both have, ops of one trace
 *               alone, and time between ops; the parts add up
 *
 * Tasks that only one trace has are left out; the summary counts them.  An op
 * that several ranks have rows of counts with their mean.  A collective counts
 * from the arrival of its last rank to its end.  Work of the hosts takes what
 * the workload says, so it has no error (NAN) and is none of the worst.
 */
#ifndef RA_STUDY_RUN_COMPARE_H
#define RA_STUDY_RUN_COMPARE_H

#include "base/table.h"
#include "traces/trace.h"

typedef struct {
  RaTable *summary; /* owned, as all tables */
  RaTable *iterations;
  RaTable *calls;
  RaTable *kinds;
  RaTable *worst;
  RaTable *ops; /* nullable, as the next: a trace has no ops */
  RaTable *lacks;
  double iteration_error_frac; /* median absolute error; NAN: none */
  double call_error_frac;      /* median over calls, absolute; NAN: none */
} RaComparison;

/**
 * ra_compare:
 * @simulated: borrowed
 * @run: borrowed
 * @n_worst: number of rows of the worst tasks
 * @error: %RA_ERROR_INPUT: their heads name different plans or workloads; no
 *   task is in both traces; a name occurs twice in
 *   one
 *
 * Cost: O(rows log rows).
 *
 * Returns: (transfer full): free with ra_comparison_free()
 */
RaComparison *ra_compare(const RaTrace *simulated, const RaTrace *run,
                         guint n_worst, GError **error);
void ra_comparison_free(RaComparison *comparison);

/**
 * ra_compare_plot:
 * @simulated: borrowed
 * @run: borrowed
 * @path: (nullable): picture file, .svg, .png or .pdf; %NULL: text
 * @out_text: (out) (nullable): the text; g_free() it
 * @error: as ra_plot_timeline(); a task occurs twice
 *
 * Draws both timelines on one axis: the GPUs of the simulation, below them
 * those of the run, with calls in the same colours.  Host work is left out.
 *
 * Returns: %TRUE on success
 */
gboolean ra_compare_plot(const RaTrace *simulated, const RaTrace *run,
                         const char *path, char **out_text, GError **error);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaComparison, ra_comparison_free)

#endif
