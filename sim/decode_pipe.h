/* Generation over several pipeline stages, step by step.
 *
 * Internal to sim/decode*.c.  Visits (step t, group g) pass every stage in the
 * lexicographic order of (t, g):
 *
 *     arrive(t, g, 0) = leave(t - 1, g, last)           0 for the first step
 *     arrive(t, g, s) = sent(t, g, s - 1)
 *     begin(t, g, s)  = max(arrive(t, g, s), leave of the visit before on s)
 *     leave(t, g, s)  = begin + the stage's step
 *     sent(t, g, s)   = max(leave(t, g, s), sent of the visit before) + send
 *
 * so a send holds the link to the next stage but no stage.  Where a stage waits
 * while its activations come in or its last ones go out, that is exposed
 * communication; any other wait is bubble.
 */
#ifndef RA_SIM_DECODE_PIPE_H
#define RA_SIM_DECODE_PIPE_H

#include "sim/decode_group.h"
#include "sim/decode_source.h"

/**
 * ra_decode_pipe:
 * @groups: (array length=n_groups): of @dynamic
 * @ends: (array length=n_parts): of @dynamic
 * @inout_result: part_end_s, part_cost and n_evaluated are set
 *
 * Cost: O(steps x groups x stages).
 */
void ra_decode_pipe(const RaDecodeSource *source, const RaDynamic *dynamic,
                    const RaDecodeGroup *groups, const RaDecodeEnd *ends,
                    RaDecodeResult *inout_result);

#endif
