/* Replay of generation over several pipeline stages, step by step.
 *
 * Private to sim/generate/decode*.c.  Visits (step t, group g) pass every stage
 * in the lexicographic order of (t, g), by the clock of
 * sim/generate/stage_clock.h: lap (t, g) may enter when (t - 1, g) has left.
 */
#ifndef RA_SIM_GENERATE_DECODE_PIPE_H
#define RA_SIM_GENERATE_DECODE_PIPE_H

#include "sim/generate/decode_group.h"
#include "sim/generate/decode_source.h"

/**
 * ra_decode_pipe:
 * @groups: (array length=n_groups): groups of @dynamic
 * @ends: (array length=n_parts): ends of @dynamic's parts
 * @inout_result: part_end_s, part_cost and n_evaluated are set
 *
 * Cost: O(steps x groups x stages).
 */
void ra_decode_pipe(const RaDecodeSource *source, const RaDynamic *dynamic,
                    const RaDecodeGroup *groups, const RaDecodeEnd *ends,
                    RaDecodeResult *inout_result);

#endif
