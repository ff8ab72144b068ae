/* The lanes of a trace: runs of consecutive GPUs that no row tells apart.
 *
 * Every row runs on whole lanes, so what is drawn or listed a lane is true of
 * each GPU in it, and 1,024 GPUs are as many lanes as the trace has something
 * different to say of.  Lanes are ascending and disjoint; GPUs that no row
 * names are in none.  Rows without GPUs (host work) have one lane of their own,
 * the last.
 *
 *     RaLanes *lanes = ra_lanes_new(trace, 8);
 *     const uint32_t *on = ra_lanes_of(lanes, row->ranks, &n);
 *
 * Typical sizes: 1 to 128 lanes, 10 to 10^3 different sets of ranks.
 */
#ifndef RA_TRACES_LANES_H
#define RA_TRACES_LANES_H

#include "traces/trace.h"

typedef struct _RaLanes RaLanes;

/**
 * ra_lanes_new:
 * @trace: borrowed: its rows' strings must outlive the lanes
 * @gpus_per_node: lanes are cut at the borders of nodes; 0: they are not
 *
 * Cost: O(rows + sets of ranks x lanes).
 *
 * Returns: (transfer full): ra_lanes_free() it
 */
RaLanes *ra_lanes_new(const RaTrace *trace, guint gpus_per_node);
void ra_lanes_free(RaLanes *lanes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaLanes, ra_lanes_free)

guint ra_lanes_n(const RaLanes *lanes);

/* First and last GPU of @lane; %FALSE, both untouched, for the host's. */
gboolean ra_lanes_gpus(const RaLanes *lanes, guint lane, uint32_t *out_first,
                       uint32_t *out_last);

/* (array length=out_n): the lanes, ascending, of a row of the trace whose
 * `ranks` pointer this is. */
const uint32_t *ra_lanes_of(const RaLanes *lanes, const char *ranks,
                            guint *out_n);

#endif
