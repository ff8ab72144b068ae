/* How much a graph computes, a call: FLOP and tokens.
 *
 * Model FLOP are those of the model's definition (ra_model_forward_flop()):
 * every token once forward, three times where the call trains, without
 * recomputation, padding or what tensor parallelism repeats.  A micro-batch
 * is counted where its last stage runs it forward; generated tokens from the
 * lengths.  Hardware FLOP are the sum over all GPUs of the op lists.
 *
 *     g_autofree RaFlopShare *shares = ra_flop_count(graph, 1);
 *     shares[call].model_flop / (n_iterations - 1) ...
 */
#ifndef RA_SIM_FLOP_H
#define RA_SIM_FLOP_H

#include "graph/expand/task.h"

/* Of one call, summed over iterations. */
typedef struct {
  double model_flop;    /* of the definition */
  double hardware_flop; /* done by all GPUs */
  double tokens;        /* prompt and response tokens of the sequences that the
                           call works on, a sequence once however many epochs */
} RaFlopShare;

/**
 * ra_flop_count:
 * @graph: at stage fidelity: a call-fidelity task counts nothing
 * @first_iteration: iterations before it are left out
 *
 * Cost: O(tasks + works x ops + distinct ends).
 *
 * Returns: (transfer full) (array length=n_calls): g_free() it
 */
RaFlopShare *ra_flop_count(const RaTaskGraph *graph, uint32_t first_iteration);

#endif
