/* FLOP and tokens of each call of a graph.
 *
 * Model FLOP are those of the model's definition (ra_model_forward_flop()):
 * each token counts once forward, three times if the call trains.
 * Recomputation, padding and work that tensor parallelism repeats do not count.
 * A micro-batch counts at its forward on the last stage; generated tokens count
 * from the lengths.  Hardware FLOP are the sum of the op lists over all GPUs.
 *
 *     g_autofree RaFlopShare *shares = ra_flop_count(graph, 1);
 *     shares[call].model_flop / (n_iterations - 1) ...
 */
#ifndef RA_SIM_FLOP_H
#define RA_SIM_FLOP_H

#include "graph/expand/task.h"

/* Sums of one call over iterations. */
typedef struct {
  double model_flop;    /* by the model's definition */
  double hardware_flop; /* done by all GPUs */
  double tokens;        /* prompt and response tokens of the call's sequences;
                           each counts once for any number of epochs */
} RaFlopShare;

/**
 * ra_flop_count:
 * @graph: at stage or op fidelity; call-fidelity tasks count 0
 * @first_iteration: first iteration that counts
 *
 * Cost: O(tasks + works x ops + distinct ends).
 *
 * Returns: (transfer full) (array length=n_calls): g_free() it
 */
RaFlopShare *ra_flop_count(const RaTaskGraph *graph, uint32_t first_iteration);

#endif
