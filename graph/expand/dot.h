/* Graphviz pictures of the two graphs that people reason about.
 *
 * The dataflow graph of a workload: data and calls, shaped by kind, an edge a
 * name; versions of parameters dashed.  The augmented graph of a plan: one
 * cluster an iteration, calls with their mesh and strategy, reallocations and
 * transfers with their bytes.
 *
 *     g_autofree char *text = ra_dot_workload(workload);
 *     reallot graph x.workload | dot -Tsvg > x.svg
 *
 * Typical sizes: 6 calls, 12 edges; 60 nodes for three iterations.
 */
#ifndef RA_GRAPH_EXPAND_DOT_H
#define RA_GRAPH_EXPAND_DOT_H

#include "graph/augment/augment.h"

/**
 * ra_dot_workload:
 * @workload: borrowed
 *
 * Returns: (transfer full): a digraph in the DOT language
 */
char *ra_dot_workload(const RaWorkload *workload);

/**
 * ra_dot_augmented:
 * @augmented: borrowed
 *
 * Returns: (transfer full): a digraph in the DOT language
 */
char *ra_dot_augmented(const RaAugmented *augmented);

#endif
