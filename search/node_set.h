/* Sets of whole nodes that are no runs, as meshes of a search.
 *
 *     RaNodeSets *sets = ra_node_sets_new(cluster, TRUE);
 *     const RaMesh *of = ra_node_sets_of(sets, n_nodes, &n);
 *
 * Only where the fabric makes no difference between nodes: no oversubscription,
 * no links of their own, no graph of links, nodes of one kind.  There an
 * exchange of equal nodes changes no time and no byte, so plans that are images
 * of each other are one, and what counts of a plan is how many nodes each set
 * of its calls has to itself.  Nodes in a row say all of that as long as meshes
 * are nested, disjoint or overlap in a chain; they cannot say that three calls
 * overlap pairwise around a ring, or that one has what two ends of another
 * leave.  For that there are the sets here: the cluster is cut into
 * RA_NODE_SET_BLOCKS blocks of nodes in a row (fewer nodes: each by itself),
 * and every union of blocks that is no run is a set.  Up to that many nodes
 * that is every set of nodes; beyond, every plan whose calls share nodes by
 * multiples of a block is an image of one that the sets and runs can say.
 *
 * What is left out is counted (ra_node_sets_n_merged()), never silently cut.
 *
 * Typical sizes: 219 sets of 8 blocks, 35 KB.
 */
#ifndef RA_SEARCH_NODE_SET_H
#define RA_SEARCH_NODE_SET_H

#include "graph/cluster.h"

/* Eighths: 2^8 unions; a mesh of them has four runs at most. */
#define RA_NODE_SET_BLOCKS 8
#define RA_NODE_SET_RUNS (RA_NODE_SET_BLOCKS / 2)

typedef struct _RaNodeSets RaNodeSets;

/**
 * ra_node_sets_new:
 * @cluster: borrowed during the call
 * @wanted: %FALSE: no sets
 *
 * Cost: O(2^RA_NODE_SET_BLOCKS).
 *
 * Returns: (transfer full): ra_node_sets_free() it
 */
RaNodeSets *ra_node_sets_new(const RaCluster *cluster, gboolean wanted);
void ra_node_sets_free(RaNodeSets *sets);

/* (array length=out_n) (nullable): the sets of @n_nodes nodes. */
const RaMesh *ra_node_sets_of(const RaNodeSets *sets, uint32_t n_nodes,
                              uint32_t *out_n);

/* Why there are none; %NULL: there are, or the cluster has too few nodes. */
const char *ra_node_sets_why_none(const RaNodeSets *sets);

/* Sets of @n_nodes nodes in all, binomial(nodes, n_nodes), less runs and the
 * sets here: by itself each is an image of a run under an exchange of equal
 * nodes.  Exact below 2^53. */
double ra_node_sets_n_merged(const RaNodeSets *sets, uint32_t n_nodes);

#endif
