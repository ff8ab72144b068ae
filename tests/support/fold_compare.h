/* Comparison of a folded graph with the unfolded one, to the last bit.
 *
 *     FoldRun folded = {graph, sim}, plain = {unfolded_graph, its_sim};
 *     ck_assert_ptr_null(fold_compare(&folded, &plain));
 *
 * It compares the times of every task of the unfolded graph on each of its
 * lanes with those of the folded task that represents it.  It also compares the
 * number of tasks, ends of iterations, every number of the breakdown, the
 * critical path step by step, and the peak memory of every lane.
 */
#ifndef RA_TESTS_SUPPORT_FOLD_COMPARE_H
#define RA_TESTS_SUPPORT_FOLD_COMPARE_H

#include "sim/sim.h"

/* A graph and its simulation. */
typedef struct {
  RaTaskGraph *graph; /* borrowed */
  RaSim *sim;         /* has run */
} FoldRun;

/* A description of the first difference; NULL: none. */
const char *fold_compare(const FoldRun *folded, const FoldRun *plain);

#endif
