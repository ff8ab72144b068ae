/* A cluster divided into disjoint meshes by weights.
 *
 *     double weights[] = {4, 4, 1, 1};
 *     RaMesh meshes[4];
 *     ra_cluster_split(cluster, weights, 4, NULL, NULL, meshes);
 *
 * A mesh is 1, 2, 4 ... GPUs of a node, or whole nodes in a row, so that every
 * one is aligned.  Meshes grow from the least that will do, always the one
 * that is furthest behind its weight, until no GPU is left or none may grow.
 * Typical sizes: 2 to 6 parts.
 */
#ifndef RA_SEARCH_FAMILY_CLUSTER_SPLIT_H
#define RA_SEARCH_FAMILY_CLUSTER_SPLIT_H

#include "graph/input/cluster.h"

/* Whether part @part can work on @mesh. */
typedef gboolean (*RaSplitMay)(void *user, guint part, const RaMesh *mesh);

/**
 * ra_cluster_split:
 * @cluster: borrowed
 * @weights: (array length=n): > 0
 * @n: parts, >= 1
 * @may: (nullable): what a part can work on; %NULL: anything
 * @user: of @may
 * @out_meshes: (out) (array length=n): disjoint; on failure those that had
 *   their least one so far, of the others n_nodes is 0
 *
 * Cost: O(n x nodes) calls of @may.
 *
 * Returns: %TRUE; %FALSE if the least meshes do not fit into the cluster, or
 *   some part can work on none
 */
gboolean ra_cluster_split(const RaCluster *cluster, const double *weights,
                          guint n, RaSplitMay may, void *user,
                          RaMesh *out_meshes);

#endif
