/* Shipped cluster of a GPU: whose nodes, network and price stand for it.
 *
 *     g_autofree char *name = NULL;
 *     g_autoptr(RaKeyFile) file = ra_gpu_cluster("h200", &name);
 *     if (file)
 *       printf("%s\n", name); // "h200-16n.cluster"
 */
#ifndef RA_STUDY_GPU_CLUSTER_H
#define RA_STUDY_GPU_CLUSTER_H

#include "base/keyfile.h"

/* Name of the profile that @gpu, which may be an alias, stands for (transfer
 * full): "h100-sxm" of "h100"; %NULL: there is none. */
char *ra_gpu_name(const char *gpu);

/**
 * ra_gpu_cluster:
 * @out_name: (out): its name without folder; owned
 *
 * Cost: reads the clusters that are shipped or that RA_DATA_PATH adds.
 *
 * Returns: (transfer full) (nullable): the first by name whose nodes are of
 *   @gpu; %NULL: none, or no such GPU
 */
RaKeyFile *ra_gpu_cluster(const char *gpu, char **out_name);

#endif
