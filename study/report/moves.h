/* What moves between calls: reallocations, transfers, offloads and reloads of
 * an iteration, how long they take and how much of that a call waits for.
 *
 *     RaTable *table = ra_moves_table(graph, sim, breakdown->first_iteration);
 *
 * move           realloc, transfer, offload or reload
 * from, to       calls; `host` is pinned host memory
 * bytes          that travel, an iteration
 * per_gpu_bytes  of the busiest GPU; reallocations and transfers: in or out,
 *                within its node and beyond
 * begin_s        of the first
 * wall_s         an iteration
 * exposed_s      of it, what the calls behind it begin later for: from the end
 *                of all else that they wait for to the end of the move
 *
 * Rows are those of the iterations from @first on, and the ones before where
 * these have none (a reallocation is of the iteration that trained); longest
 * first.
 */
#ifndef RA_STUDY_REPORT_MOVES_H
#define RA_STUDY_REPORT_MOVES_H

#include "base/table.h"
#include "sim/sim.h"

/**
 * ra_moves_table:
 * @graph: the tasks; borrowed
 * @sim: has run
 * @first: iteration
 *
 * Cost: O(tasks + edges + moves^2).
 *
 * Returns: (transfer full): ra_table_free() it
 */
RaTable *ra_moves_table(const RaTaskGraph *graph, const RaSim *sim,
                        uint32_t first);

#endif
