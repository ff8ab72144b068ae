/* Moves between calls: reallocations, transfers, offloads and reloads of an
 * iteration, their time, and the part of it that a call waits for.
 *
 *     RaTable *table = ra_moves_table(graph, sim, breakdown->first_iteration);
 *
 *   move           realloc, transfer, offload or reload
 *   from, to       calls; `host` is pinned host memory
 *   bytes          moved per iteration
 *   per_gpu_bytes  of the busiest GPU; for reallocations and transfers in or
 *                  out, within its node and across nodes
 *   begin_s        begin of the first, in its iteration
 *   wall_s         per iteration
 *   exposed_s      the part of it by which the calls that follow are delayed:
 *                  from the end of everything else that they wait for to the
 *                  end of the move
 *
 * Rows cover the iterations from @first on, or the previous ones if these have
 * none (a reallocation belongs to the iteration that trained); longest first.
 */
#ifndef RA_STUDY_REPORT_MOVES_H
#define RA_STUDY_REPORT_MOVES_H

#include "base/table.h"
#include "sim/sim.h"

/**
 * ra_moves_table:
 * @graph: the tasks; borrowed
 * @sim: has run
 * @first: first iteration
 *
 * Cost: O(tasks + edges + moves^2).
 *
 * Returns: (transfer full): free with ra_table_free()
 */
RaTable *ra_moves_table(const RaTaskGraph *graph, const RaSim *sim,
                        uint32_t first);

#endif
