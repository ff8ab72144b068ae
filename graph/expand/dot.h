/* Graphviz pictures of the dataflow graph and the augmented graph.
 *
 * The dataflow graph of a workload has data and calls, shaped by kind, and one
 * edge per name; versions of parameters are dashed.  The augmented graph of a
 * plan has one cluster per iteration, calls with their mesh and strategy, and
 * reallocations and transfers with their bytes.
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
