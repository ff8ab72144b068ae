/* The lanes of a trace: runs of consecutive GPUs that have the same rows.
 *
 * Every row runs on whole lanes, so what is plotted or listed for a lane holds
 * for each GPU in it.  1,024 GPUs have only as many lanes as they differ in the
 * trace.  Lanes are ascending and disjoint; GPUs without rows are in none.
 * Rows without GPUs (host work) have one lane of their own, the last.
 *
 *     RaTraceLanes *lanes = ra_trace_lanes_new(trace, 8);
 *     const uint32_t *on = ra_trace_lanes_of(lanes, row->ranks, &n);
 *
 * Typical sizes: 1 to 128 lanes, 10 to 10^3 different sets of ranks.
 */
#ifndef RA_TRACES_TRACE_LANES_H
#define RA_TRACES_TRACE_LANES_H

#include "traces/trace.h"

typedef struct _RaLanes RaTraceLanes;

/**
 * ra_trace_lanes_new:
 * @trace: borrowed; the strings of its rows must outlive the lanes
 * @gpus_per_node: lanes end at the borders of nodes; 0: they do not
 *
 * Cost: O(rows + sets of ranks x lanes).
 *
 * Returns: (transfer full): ra_trace_lanes_free() it
 */
RaTraceLanes *ra_trace_lanes_new(const RaTrace *trace, guint gpus_per_node);
void ra_trace_lanes_free(RaTraceLanes *lanes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaTraceLanes, ra_trace_lanes_free)

guint ra_trace_lanes_n(const RaTraceLanes *lanes);

/* First and last GPU of @lane; %FALSE, both unchanged, for the host's lane. */
gboolean ra_trace_lanes_gpus(const RaTraceLanes *lanes, guint lane,
                             uint32_t *out_first, uint32_t *out_last);

/* (array length=out_n): the lanes, ascending, of a row of the trace; @ranks is
 * the row's `ranks` pointer. */
const uint32_t *ra_trace_lanes_of(const RaTraceLanes *lanes, const char *ranks,
                                  guint *out_n);

#endif
