/* Cluster: nodes, GPUs, links and price; and a mesh of its GPUs.
 *
 * A cluster is read from a `.cluster` key file:
 *
 *     [cluster]
 *     format = 1
 *     nodes = 16
 *     gpus-per-node = 8
 *     gpu = h100-sxm                 name of the profile that fills `device`
 *     nics-per-node = 8
 *     nic = 400 Gbit/s               per NIC, one direction
 *     fabric = rail(leaf=32, oversubscription=1, spines=16)
 *     price = 2.5 USD/gpu/h          optional
 *     framework-memory = 4 GiB       per GPU; this is the default
 *     allocator-slack = 0.1          this is the default
 *     jitter = 0.02                  relative, of an op's time; default 0
 *     stragglers = 0.01              fraction of GPUs that are slow; default 0
 *     straggler-slowdown = 1.2       factor, >= 1; this is the default
 *     sharp = true                   the network's switches reduce; default
 *                                    false
 *     nic-latency = 60 us            of a message between nodes, in addition
 *                                    to InfiniBand's; default 0
 *     gpus-per-host-link = 2         behind one PCIe switch; default 1
 *     host-memory = 2048 GiB         of a node's hosts; default not known
 *
 * A node is what NVLink joins: a rack of 18 trays of 4 GPUs (NVL72) is a node
 * of 72, and racks meet through their NICs.
 *
 * Links with other rates have a group each (sim/network/topology.h):
 *
 *     [link node3/nic2]              also node3/gpu2, leaf0/rail2
 *     rate = 200 Gbit/s              0 B/s: it has failed
 *
 * Nodes of another kind have a group per kind:
 *
 *     [kind a100]
 *     nodes = node[8-15]             all other nodes are as [cluster] says
 *     gpu = a100-sxm                 keys that are absent are [cluster]'s
 *     nic = 200 Gbit/s
 *
 * GPUs are numbered node by node: gpu g of node n is n * gpus_per_node + g.
 * Typical sizes: 1 to 2,048 nodes of 8.
 */
#ifndef RA_GRAPH_INPUT_CLUSTER_H
#define RA_GRAPH_INPUT_CLUSTER_H

#include <glib.h>
#include <stdint.h>

#include "base/keyfile.h"
#include "graph/input/link_graph.h"

/* Data-sheet values of one GPU, filled from its profile (traces/profile.h). */
typedef struct {
  double memory_bytes;       /* device memory */
  double memory_bytes_per_s; /* HBM, peak */
  double bf16_flop_per_s;    /* dense peak; fp16 is the same */
  double fp8_flop_per_s;     /* dense peak; 0: none */
  double fp32_flop_per_s;    /* dense peak; 0: half of bf16 */
  double intra_bytes_per_s;  /* to peers in the node, one direction */
  double host_bytes_per_s;   /* to the host, one direction */
  gboolean groups_experts;   /* an expert layer is one op, with its own law */
} RaDevice;

typedef enum {
  RA_FABRIC_FLAT,     /* every node reaches every other at full rate */
  RA_FABRIC_RAIL,     /* NIC i of the nodes below a leaf share one switch */
  RA_FABRIC_FAT_TREE, /* all NICs of a node hang on one leaf */
  RA_FABRIC_GRAPH     /* links as listed in the file (RaLinkGraph) */
} RaFabricKind;

typedef struct {
  int kind; /* RaFabricKind: `flat`, `rail(...)`, `fat-tree(...)`, `graph` */
  uint32_t
      n_leaf_nodes; /* nodes below one leaf (switch or rail group); 0: all */
  double oversubscription; /* down over up bandwidth of a leaf, >= 1 */
  uint32_t n_spines; /* spines over which a leaf's flows are hashed; 0: spread
                        evenly over as many as needed */
} RaFabric;

typedef enum {
  RA_LINK_NIC,   /* node / NIC */
  RA_LINK_GPU,   /* node / GPU: to its peers */
  RA_LINK_UPLINK /* leaf / rail (0 without rails): to all spines */
} RaClusterLinkKind;

/* A link with a rate of its own. */
typedef struct {
  RaClusterLinkKind kind;
  uint32_t where;     /* node or leaf */
  uint32_t index;     /* of the link in that node or leaf */
  double bytes_per_s; /* each direction; 0: failed */
} RaClusterLink;

/* Kinds of nodes, the [cluster]'s own first. */
#define RA_NODE_KINDS_MAX 4
/* Changes of kind from one node to the next, at most. */
#define RA_KIND_RUNS_MAX 16

typedef struct {
  const char *name; /* "cluster", or its group's; borrowed from the file */
  guint group;      /* in the file, for messages */
  const char *gpu;  /* name of its profile */
  uint32_t nics_per_node;
  double nic_bytes_per_s;
  double usd_per_gpu_h; /* NAN: no price */
  RaDevice device;      /* zero until a profile fills it */
} RaMachineKind;

/* Memory habits: what the software that runs plans holds on a GPU and in host
 * memory, and when.
 * A system profile (traces/system.h, [memory]) says it; without one they are
 * those of the executor (exec/), all zero.  graph/input/residency.h says what
 * they mean for a call of a plan.  0 or 1 each:
 *
 *                     the executor               others
 *     fp32_shards     parameters in the model's  with zero = 3 fp32 shards
 *                     dtype, and fp32 master     alone, which the optimizer
 *                     weights in the optimizer   updates
 *     drop_gradients  gradients are kept         they are freed when their
 *                     between training calls     call ends
 *     engine          generation shares memory   generation has an engine of
 *                     with training              its own in a fixed part of
 *                                                the GPU
 *     in_place_loss   the fp32 softmax of the    with zero = 3 the 16-bit
 *                     logits is kept for the     logits are kept, and their
 *                     backward                   gradient overwrites them
 *     expandable      an allocator of fixed      its segments grow page by
 *                     segments, with slack       page, and no memory is slack
 *     host_blocks     copies in host memory      each tensor has a block of a
 *                     have their own size        power of two
 *     asleep_in_host  an engine that sleeps      it keeps them in host memory
 *                     drops its weights
 */
typedef struct {
  int fp32_shards;
  int drop_gradients;
  int engine;
  int in_place_loss;
  int expandable;
  int host_blocks;
  int asleep_in_host;
} RaMemoryHabits;

typedef struct {
  RaKeyFile *file;        /* kept for names and messages; owned reference */
  uint32_t n_nodes;       /* 1 to 10^6 */
  uint32_t gpus_per_node; /* 1 to 1,024 */
  uint32_t nics_per_node; /* 0 only where n_nodes is 1 */
  const char *gpu;        /* name of its profile, borrowed from the file */
  double nic_bytes_per_s; /* of one NIC, one direction; 0 without NICs */
  RaFabric fabric;        /* between the nodes */
  RaClusterLink *links;   /* (n_links) owned: links with rates of their own */
  uint32_t n_links;
  RaLinkGraph *graph;      /* owned; NULL unless the fabric is one */
  double usd_per_gpu_h;    /* NAN: no price given */
  double framework_bytes;  /* per GPU, outside the allocator: context, kernels,
                              buffers of the communication library */
  double slack_frac;       /* allocator's reserve, relative to memory in use */
  gboolean second_stream;  /* its engine overlaps small ops of latent attention
                              with others */
  RaMemoryHabits habits;   /* of the system that runs the plans; zero: the
                              executor's.  ra_cluster_load() leaves it zero */
  double jitter_frac;      /* relative standard deviation of an op's time on one
                              GPU */
  double step_jitter_frac; /* the same for an iteration, common to all GPUs */
  double straggler_frac;   /* fraction of the GPUs that compute slower */
  double straggler_slowdown;   /* factor of their slowdown, >= 1 */
  gboolean sharp;              /* the network's switches reduce */
  double nic_latency_s;        /* of a message between nodes, added to that of
                                  the fabric on which laws were measured */
  uint32_t gpus_per_host_link; /* neighbouring GPUs that share one link to the
                                  host; 0 counts as 1 */
  double host_memory_bytes;    /* of a node's hosts; 0: not known */
  RaDevice device;             /* zero until a profile fills it */
  RaMachineKind *kinds;        /* (n_kinds) owned; NULL: one kind of nodes */
  uint32_t n_kinds;            /* 0: one kind of nodes */
  uint8_t *kind_of_node;       /* (n_nodes) owned; NULL: one kind of nodes */
} RaCluster;

/**
 * ra_cluster_load:
 * @file: (transfer none): referenced; a caller may have ra_key_file_set() it
 * @error: %RA_ERROR_INPUT `file:line: ...`: whatever ra_key_file_read_group()
 *   refuses, several nodes without NICs, NICs without a rate or the reverse,
 *   a fabric that cannot be read
 *
 * The device stays zero: profiles belong to a floor above this one.
 *
 * Returns: (transfer full): ra_cluster_free() it
 */
RaCluster *ra_cluster_load(RaKeyFile *file, GError **error);
/* (array length=out_n) (nullable): the keys that `[noun]` of a cluster may
 * have, static; %NULL if a cluster has no group `[noun]`. */
const RaKeySpec *ra_cluster_key_specs(const char *noun, gsize *out_n);

void ra_cluster_free(RaCluster *cluster);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaCluster, ra_cluster_free)

/* TRUE if, at op fidelity, some GPUs deviate from the law's speed: by jitter or
 * as stragglers. */
static inline gboolean
ra_cluster_ranks_differ(const RaCluster *cluster)
{
  return cluster->jitter_frac > 0 || cluster->step_jitter_frac > 0 ||
         cluster->straggler_frac > 0;
}

/* nodes x gpus_per_node, at most 1.024 x 10^9. */
uint32_t ra_cluster_n_gpus(const RaCluster *cluster);

/* NIC bandwidth per GPU when all GPUs of a node send, bytes/s: nics_per_node x
 * nic / gpus_per_node; 0 without NICs. */
double ra_cluster_nic_share_bytes_per_s(const RaCluster *cluster);

/* Switches that connect the nodes below one leaf: one per rail, 1 without
 * rails. */
uint32_t ra_cluster_n_rails(const RaCluster *cluster);

/* Kind of the node of GPU @gpu; 0 where all are alike. */
static inline uint32_t
ra_cluster_kind(const RaCluster *cluster, uint32_t gpu)
{
  return cluster->kind_of_node
             ? cluster->kind_of_node[gpu / cluster->gpus_per_node]
             : 0;
}

/* View of the cluster as if all of its nodes were of @kind, one of its kinds;
 * the view owns nothing. */
RaCluster ra_cluster_of_kind(const RaCluster *cluster, uint32_t kind);

/* (transfer full): names of its GPUs' profiles, "h100-sxm/a100-sxm". */
char *ra_cluster_gpu_names(const RaCluster *cluster);

/* Smallest memory of a GPU of @kinds, a bit mask; the device's where all nodes
 * are of one kind. */
double ra_cluster_memory_bytes(const RaCluster *cluster, uint32_t kinds);

/* Price of @gpus_by_kind, (n_kinds) numbers of GPUs; NAN if one kind has no
 * price. */
double ra_cluster_usd_per_h(const RaCluster *cluster,
                            const uint32_t *gpus_by_kind);

#define RA_MESH_RUNS_MAX 16

/* A run of nodes, [first, first + n). */
typedef struct {
  uint32_t first; /* node */
  uint32_t n;     /* nodes, >= 1 */
} RaNodeRun;

/* A set of GPUs: whole nodes, or the same aligned slice of one or more nodes.
 *
 * Written `node[0-3]`, `node[0-3,8-11]`, `node0:gpu[0-3]`,
 * `node[0-1]:gpu[4-7]`, `node5`, `node5:gpu2`, `all`.
 * The slice is the whole node, or its length is a power of two that divides
 * gpus_per_node and its start is a multiple of its length.  Runs are sorted,
 * disjoint and not adjacent; at most RA_MESH_RUNS_MAX.
 * GPU i of the mesh (its rank) counts node by node in ascending order. */
typedef struct {
  RaNodeRun runs[RA_MESH_RUNS_MAX]; /* (n_runs), the rest 0 */
  uint32_t n_runs;                  /* >= 1 */
  uint32_t n_nodes;                 /* sum of the runs */
  uint32_t first_gpu;               /* of the slice, within each node */
  uint32_t gpus_per_node;           /* length of the slice */
} RaMesh;

/**
 * ra_mesh_parse:
 * @text: syntax as above
 * @cluster: cluster that contains the mesh
 * @out_mesh: (out): untouched on error
 * @error: %RA_ERROR_INPUT without file and line, which the caller prefixes:
 *   wrong syntax, a node or GPU outside the cluster, a slice that is not
 *   aligned, a node named twice, too many runs
 *
 * Cost: O(length of @text).   Thread: any.
 *
 * Returns: %TRUE on success
 */
gboolean ra_mesh_parse(const char *text, const RaCluster *cluster,
                       RaMesh *out_mesh, GError **error);

/* (transfer full): canonical text for ra_mesh_parse(): `node...` rather than
 * `all`, runs as short as possible, `:gpu` only where a node is not whole. */
char *ra_mesh_format(const RaMesh *mesh, const RaCluster *cluster);

/* GPUs of the mesh that share one link to the host; equal for all links. */
uint32_t ra_mesh_n_sharing_host(const RaMesh *mesh, const RaCluster *cluster);

/* nodes x slice. */
uint32_t ra_mesh_n_gpus(const RaMesh *mesh);

/* Cluster-wide number of the mesh's GPU @rank, < ra_mesh_n_gpus(). O(runs). */
uint32_t ra_mesh_gpu(const RaMesh *mesh, const RaCluster *cluster,
                     uint32_t rank);

/* Kinds of the nodes of @mesh, a bit mask; 1 where all are of one kind. */
uint32_t ra_cluster_kinds(const RaCluster *cluster, const RaMesh *mesh);

gboolean ra_mesh_equal(const RaMesh *a, const RaMesh *b);

/* TRUE if the meshes share a GPU.  O(runs). */
gboolean ra_mesh_overlaps(const RaMesh *a, const RaMesh *b);

#endif
