/* What the readers of a cluster file share; private to graph/. */
#ifndef RA_GRAPH_INPUT_CLUSTER_IMPL_H
#define RA_GRAPH_INPUT_CLUSTER_IMPL_H

#include "graph/input/cluster.h"

/* The `[link NAME]` groups of @cluster's file into it. */
gboolean ra_cluster_read_links(RaCluster *cluster, GError **error);
const RaKeySpec *ra_cluster_link_key_specs(gsize *out_n);

/* The `[kind NAME]` groups of @cluster's file into it. */
gboolean ra_cluster_read_kinds(RaCluster *cluster, GError **error);
const RaKeySpec *ra_cluster_kind_key_specs(gsize *out_n);

#endif
