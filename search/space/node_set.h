/* Node sets: sets of whole nodes that are not in a row, as meshes of a search.
 *
 *     RaNodeSets *sets = ra_node_sets_new(cluster, TRUE);
 *     const RaMesh *of = ra_node_sets_of(sets, n_nodes, &n);
 *
 * They are used only where the fabric treats all nodes alike: no
 * oversubscription, no per-node links, no link graph.  There, exchanging equal
 * nodes changes no time and no byte, so plans that are images of each other
 * count as one.  A plan is then characterised by how many nodes each set of its
 * calls has to itself.
 *
 * Runs (nodes in a row) express all such plans as long as meshes are nested,
 * disjoint or overlap in a chain.  They cannot express three calls that overlap
 * pairwise around a ring, or a call that has the nodes left by two ends of
 * another.  For these cases the cluster is cut into RA_NODE_SET_BLOCKS blocks
 * of nodes in a row (fewer nodes: each by itself), and every union of blocks
 * that is no run is a set.  Up to that many nodes, these are all sets of nodes.
 * Beyond, sets and runs express an image of every plan whose calls share nodes
 * by multiples of a block.
 *
 * Where nodes are of several kinds, only nodes of one kind are equal.  Every
 * block then has one kind, with blocks shared out by the numbers of nodes.  Two
 * sets cost the same if they have the same kinds node by node
 * (ra_node_sets_alike()); sets of a size are ordered by this.  A set and its
 * image must have as many nodes of each kind.  Where no run and no union has
 * such a mix, the first nodes of each kind form a set.
 *
 * Sets that are left out are counted (ra_node_sets_n_merged(),
 * ra_node_sets_n_left()), never silently cut.
 *
 * Typical sizes: 219 sets of 8 blocks, 35 KB.
 */
#ifndef RA_SEARCH_SPACE_NODE_SET_H
#define RA_SEARCH_SPACE_NODE_SET_H

#include "graph/input/cluster.h"

/* Eighths of a cluster: 2^8 unions.  Of nodes that are alike, a mesh of blocks
 * has at most four runs. */
#define RA_NODE_SET_BLOCKS 8
#define RA_NODE_SET_RUNS (RA_NODE_SET_BLOCKS / 2)

typedef struct _RaNodeSets RaNodeSets;

/**
 * ra_node_sets_new:
 * @cluster: borrowed during the call
 * @wanted: %FALSE: no sets
 *
 * Cost: O(2^RA_NODE_SET_BLOCKS nodes); with several kinds also O(nodes^2 +
 * mixes).
 *
 * Returns: (transfer full): free with ra_node_sets_free()
 */
RaNodeSets *ra_node_sets_new(const RaCluster *cluster, gboolean wanted);
void ra_node_sets_free(RaNodeSets *sets);

/* Sets of @n_nodes nodes (array length=out_n) (nullable); sets with the same
 * kinds node by node are adjacent. */
const RaMesh *ra_node_sets_of(const RaNodeSets *sets, uint32_t n_nodes,
                              uint32_t *out_n);

/* Reason why there are no sets; %NULL: there are some, or the cluster has too
 * few nodes. */
const char *ra_node_sets_why_none(const RaNodeSets *sets);

/* TRUE if meshes of whole nodes have the same kinds of nodes, in order. */
gboolean ra_node_sets_alike(const RaCluster *cluster, const RaMesh *a,
                            const RaMesh *b);

/* Number of sets of @n_nodes nodes that are images of a run or of a set here
 * under an exchange of equal nodes: binomial(nodes, n_nodes) less the runs, the
 * sets here and ra_node_sets_n_left(). Exact below 2^53. */
double ra_node_sets_n_merged(const RaNodeSets *sets, uint32_t n_nodes);

/* Number of sets of @n_nodes nodes without an image here, because it would have
 * more than RA_NODE_SET_RUNS runs: kinds that alternate on more than
 * RA_NODE_SET_BLOCKS nodes. */
double ra_node_sets_n_left(const RaNodeSets *sets, uint32_t n_nodes);

#endif
