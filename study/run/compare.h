/* A prediction beside what happened: two traces of one plan, task by task.
 *
 *     g_autoptr(RaComparison) c = ra_compare(simulated, run, 10, &error);
 *     if (c)
 *       ra_table_write(c->calls, RA_FORMAT_TEXT, out);
 *
 * Tasks are joined by name, which simulator and executor share.  An error is
 * simulated / measured - 1: positive where the prediction is too long.  A
 * task's time is from its begin to its end; that of a call from its first
 * task's begin to its last one's end in an iteration; that of an iteration from
 * the end of the one before.  With several iterations the first is left out of
 * means: it warms caches up.
 *
 *   summary     tasks, the two makespans, the share of GPU time in tasks
 *   iterations  a row an iteration
 *   calls       a row a call: means over iterations, median size of the error
 *   kinds       a row a kind of task: sums over all its tasks, and the median
 *               size of the error of one
 *   worst       the tasks that are furthest off, in seconds
 *   ops         where both traces have ops (a simulation at op fidelity, a run
 *               with --ops): a row a kind of op, sums over all that both have,
 *               by name, and how many only one has
 *   lacks       likewise, a row a call: what its tasks took longer than was
 *               simulated, in ops that both have, in ops of one trace alone,
 *               and outside of ops, between them; these add up
 *
 * Tasks that only one trace has are left out; the summary counts them.  An op
 * that several ranks have rows of takes the mean of them, a collective from the
 * arrival of its last rank to its end.
 */
#ifndef RA_STUDY_RUN_COMPARE_H
#define RA_STUDY_RUN_COMPARE_H

#include "base/table.h"
#include "traces/trace.h"

typedef struct {
  RaTable *summary; /* owned, as all */
  RaTable *iterations;
  RaTable *calls;
  RaTable *kinds;
  RaTable *worst;
  RaTable *ops; /* nullable, as the next: no ops */
  RaTable *lacks;
  double iteration_error_frac; /* median size; NAN: none */
  double call_error_frac;      /* median size over calls; NAN */
} RaComparison;

/**
 * ra_compare:
 * @simulated: borrowed
 * @run: borrowed
 * @n_worst: rows of the worst
 * @error: %RA_ERROR_INPUT: no task is in both; a name twice in one
 *
 * Cost: O(rows log rows).
 *
 * Returns: (transfer full): ra_comparison_free() it
 */
RaComparison *ra_compare(const RaTrace *simulated, const RaTrace *run,
                         guint n_worst, GError **error);
void ra_comparison_free(RaComparison *comparison);

/**
 * ra_compare_plot:
 * @simulated: borrowed
 * @run: borrowed
 * @path: (nullable): of the picture, .svg, .png or .pdf; %NULL: text
 * @out_text: (out) (nullable): the text; g_free() it
 * @error: as ra_plot_timeline(); a task twice
 *
 * Both timelines on one axis: the GPUs of the simulation, below them those of
 * the run, calls in the same colours.  Host work is left out.
 *
 * Returns: %TRUE where it was drawn
 */
gboolean ra_compare_plot(const RaTrace *simulated, const RaTrace *run,
                         const char *path, char **out_text, GError **error);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaComparison, ra_comparison_free)

#endif
