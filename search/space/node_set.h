/* Sets of whole nodes that are no runs, as meshes of a search.
 *
 *     RaNodeSets *sets = ra_node_sets_new(cluster, TRUE);
 *     const RaMesh *of = ra_node_sets_of(sets, n_nodes, &n);
 *
 * Only where the fabric makes no difference between nodes: no oversubscription,
 * no links of their own, no graph of links.  There an exchange of equal nodes
 * changes no time and no byte, so plans that are images of each other are one,
 * and what counts of a plan is how many nodes each set of its calls has to
 * itself.  Nodes in a row say all of that as long as meshes are nested,
 * disjoint or overlap in a chain; they cannot say that three calls overlap
 * pairwise around a ring, or that one has what two ends of another leave.  For
 * that there are the sets here: the cluster is cut into RA_NODE_SET_BLOCKS
 * blocks of nodes in a row (fewer nodes: each by itself), and every union of
 * blocks that is no run is a set.  Up to that many nodes that is every set of
 * nodes; beyond, every plan whose calls share nodes by multiples of a block is
 * an image of one that the sets and runs can say.
 *
 * Where nodes are of several kinds, equal ones are those of a kind: every block
 * is of one kind, shared out by their numbers, and two sets cost the same if
 * they have the same kinds node by node (ra_node_sets_alike()), which is the
 * order that sets of a size come in.  What a set is an image of must have as
 * many nodes of each kind; where no run and no union has such a mix, its first
 * nodes of each kind are a set.
 *
 * What is left out is counted (ra_node_sets_n_merged(), ra_node_sets_n_left()),
 * never silently cut.
 *
 * Typical sizes: 219 sets of 8 blocks, 35 KB.
 */
#ifndef RA_SEARCH_SPACE_NODE_SET_H
#define RA_SEARCH_SPACE_NODE_SET_H

#include "graph/input/cluster.h"

/* Eighths: 2^8 unions; of nodes that are alike a mesh of them has four runs at
 * most. */
#define RA_NODE_SET_BLOCKS 8
#define RA_NODE_SET_RUNS (RA_NODE_SET_BLOCKS / 2)

typedef struct _RaNodeSets RaNodeSets;

/**
 * ra_node_sets_new:
 * @cluster: borrowed during the call
 * @wanted: %FALSE: no sets
 *
 * Cost: O(2^RA_NODE_SET_BLOCKS nodes), and of several kinds O(nodes^2 + mixes).
 *
 * Returns: (transfer full): ra_node_sets_free() it
 */
RaNodeSets *ra_node_sets_new(const RaCluster *cluster, gboolean wanted);
void ra_node_sets_free(RaNodeSets *sets);

/* (array length=out_n) (nullable): the sets of @n_nodes nodes, those that have
 * the same kinds node by node after each other. */
const RaMesh *ra_node_sets_of(const RaNodeSets *sets, uint32_t n_nodes,
                              uint32_t *out_n);

/* Why there are none; %NULL: there are, or the cluster has too few nodes. */
const char *ra_node_sets_why_none(const RaNodeSets *sets);

/* Whether meshes of whole nodes have the same kinds of nodes, in order. */
gboolean ra_node_sets_alike(const RaCluster *cluster, const RaMesh *a,
                            const RaMesh *b);

/* Sets of @n_nodes nodes in all, binomial(nodes, n_nodes), less runs, the sets
 * here and those of ra_node_sets_n_left(): by itself each is an image of a run
 * or set under an exchange of equal nodes.  Exact below 2^53. */
double ra_node_sets_n_merged(const RaNodeSets *sets, uint32_t n_nodes);

/* Sets of @n_nodes nodes of which no image is here, as it would be of more than
 * RA_NODE_SET_RUNS runs: of kinds that alternate on more than
 * RA_NODE_SET_BLOCKS nodes. */
double ra_node_sets_n_left(const RaNodeSets *sets, uint32_t n_nodes);

#endif
