/* A folded graph against the unfolded one, to the last bit.
 *
 *     FoldRun folded = {graph, sim}, plain = {unfolded_graph, its_sim};
 *     ck_assert_ptr_null(fold_compare(&folded, &plain));
 *
 * Compared are the times of every task of the unfolded graph on each of its
 * lanes with those of the folded task that stands for it, the number of tasks,
 * ends of iterations, every number of the breakdown, the critical path step by
 * step, and the peak of memory on every lane.
 */
#ifndef RA_TESTS_SUPPORT_FOLD_COMPARE_H
#define RA_TESTS_SUPPORT_FOLD_COMPARE_H

#include "sim/sim.h"

/* A graph and what came of it. */
typedef struct {
  RaTaskGraph *graph; /* owned by whoever made it */
  RaSim *sim;         /* has run */
} FoldRun;

/* What differs, in words; NULL: nothing. */
const char *fold_compare(const FoldRun *folded, const FoldRun *plain);

#endif
