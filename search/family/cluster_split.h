/* Division of a cluster into disjoint meshes by weights.
 *
 *     double weights[] = {4, 4, 1, 1};
 *     RaMesh meshes[4];
 *     ra_cluster_split(cluster, weights, 4, NULL, NULL, meshes);
 *
 * A mesh is 1, 2, 4 ... GPUs of a node, or whole nodes in a row, so every mesh
 * is aligned.  Meshes grow from the smallest usable size.  The mesh furthest
 * behind its weight grows next, until no GPU is left or no mesh may grow.
 * Typical sizes: 2 to 6 parts.
 */
#ifndef RA_SEARCH_FAMILY_CLUSTER_SPLIT_H
#define RA_SEARCH_FAMILY_CLUSTER_SPLIT_H

#include "graph/input/cluster.h"

/* TRUE if part @part can work on @mesh. */
typedef gboolean (*RaSplitMay)(void *user, guint part, const RaMesh *mesh);

/**
 * ra_cluster_split:
 * @cluster: borrowed
 * @weights: (array length=n): > 0
 * @n: parts, >= 1
 * @may: (nullable): decides which meshes a part can work on; %NULL: any
 * @user: argument of @may
 * @out_meshes: (out) (array length=n): disjoint.  On failure the parts placed
 *   so far have their smallest mesh; n_nodes is 0 for the others.
 *
 * Cost: O(n x nodes) calls of @may.
 *
 * Returns: %TRUE; %FALSE if the smallest meshes do not fit into the cluster, or
 * some part can work on no mesh
 */
gboolean ra_cluster_split(const RaCluster *cluster, const double *weights,
                          guint n, RaSplitMay may, void *user,
                          RaMesh *out_meshes);

#endif
