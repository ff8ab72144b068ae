/* Readers of the groups of a cluster file, for graph/input/cluster.c. */
#ifndef RA_GRAPH_INPUT_CLUSTER_IMPL_H
#define RA_GRAPH_INPUT_CLUSTER_IMPL_H

#include "graph/input/cluster.h"

/* Reads the `[link NAME]` groups of @cluster's file into @cluster. */
gboolean ra_cluster_read_links(RaCluster *cluster, GError **error);
const RaKeySpec *ra_cluster_link_key_specs(gsize *out_n);

/* Reads the `[kind NAME]` groups of @cluster's file into @cluster. */
gboolean ra_cluster_read_kinds(RaCluster *cluster, GError **error);
const RaKeySpec *ra_cluster_kind_key_specs(gsize *out_n);

#endif
