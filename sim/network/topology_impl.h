/* Internals of the topology; private to sim/network/topology*.c. */
#ifndef RA_SIM_NETWORK_TOPOLOGY_IMPL_H
#define RA_SIM_NETWORK_TOPOLOGY_IMPL_H

#include "sim/network/topology.h"

/* Links of a lane. */
enum { GPU_OUT, GPU_IN, HOST_OUT, HOST_IN, N_LANE_LINKS };

struct _RaTopology {
  const RaTaskGraph *graph; /* borrowed */
  const RaCluster *cluster; /* borrowed */
  uint32_t *gpu_begin;      /* (n_lanes + 1) CSR into gpu */
  uint32_t *gpu;            /* cluster-wide numbers, lane by lane */
  uint32_t n_ports;         /* of a node: its NICs, at most its GPUs */
  double *port_frac;        /* (nodes x n_ports) fraction of the nominal rate */
  uint32_t *port;           /* (GPUs) port that each GPU uses */
  uint32_t *port_class;     /* (nodes x n_ports) RA_NONE: not used */
  GArray *class_n;          /* (uint32_t) ports of each class */
  GArray *class_port;       /* (uint32_t) one port of each class */
  double gpu_share;         /* share of a port that one GPU has */
  uint32_t n_leaf_nodes;    /* nodes below a leaf */
  uint32_t n_leaves, n_rails, n_spines;
  double uplink_share; /* share of an uplink, all spines, that one GPU has */
  uint32_t first_port_link, first_leaf_link, first_graph_link, n_links;
  GHashTable *distances; /* of a graph: vertex -> (uint16_t *) */
  double *capacity;      /* (n_links) */
  GHashTable *paths;     /* (uint64_t) -> RaPath */
  double latency_s;      /* scratch: latency of the current path */
  double *sum;           /* (n_links x uses) scratch: of the current path */
  GArray *touched;       /* (uint32_t) scratch: entries of sum */
};

/* Path through the topology. */
typedef struct {
  GArray *links;    /* RaPathLink; owned */
  double latency_s; /* largest latency that a graph's links add to a message */
} RaPath;

/* Routes @part of a GPU's share of its NIC from @from to @to over the graph:
 * calls @take for the links of the path and returns its latency.  Within a node
 * there are none. */
typedef void (*RaTakeLink)(RaTopology *t, uint32_t link, double share);
double ra_topology_cross_graph(RaTopology *t, uint32_t from, uint32_t to,
                               double part, RaTakeLink take);

static inline uint32_t
ra_topology_node(const RaTopology *t, uint32_t gpu)
{
  return gpu / t->cluster->gpus_per_node;
}

static inline uint32_t
ra_topology_port_link(const RaTopology *t, uint32_t port, gboolean in)
{
  return t->first_port_link + 2 * t->port_class[port] + (in != FALSE);
}

static inline uint32_t
ra_topology_leaf_link(const RaTopology *t, uint32_t leaf, uint32_t rail,
                      uint32_t spine, gboolean down)
{
  return t->first_leaf_link +
         2 * ((leaf * t->n_rails + rail) * t->n_spines + spine) +
         (down != FALSE);
}

#endif
