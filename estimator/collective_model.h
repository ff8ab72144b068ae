/* Collectives in closed form: the algorithms and protocols of NCCL.
 *
 * Measured tables come first (estimator/collective.h).  The closed forms extend
 * them to unmeasured cases: another fabric, other rails, reduction in the
 * switches of the network, another number of GPUs.  Only ratios of their times
 * are used, so measurements set the absolute time.
 *
 *     RaCollectiveChoice c;
 *     if (ra_collective_model_choose(&model, &op, &c))
 *       c.algorithm, c.protocol, c.s
 *
 * n ranks, r on each of N nodes; S bytes (of the vector); L the rate of a ring
 * in a node, W that of the group's NICs in a node, both bytes/s.  The time of a
 * candidate is latency + S / rate, and the library takes the fastest:
 *
 *     ring       rate     n / k  min(L, W),  k = 2 (n - 1) for an all-reduce,
 *                         n - 1 for gathers and scatters, n for a broadcast
 *                latency  base + (k - k') hop + k' net,  k' = k of N nodes
 *     tree       rate     0.92 / 2  min(L, W), with 2 W on two nodes: the root
 *                         of a tree sends half of what others send in both
 *                         directions
 *                latency  base + 2 ((r - 1) hop + log2 N net)
 *     NVLS       rate     2 x 0.85 x 15/16 L  n / k; for gathers and scatters
 *                         (n - 1) / n of that, without the 2
 *                latency  hop
 *     NVLSTree   rate     n / k  min(2 x 0.85 x 15/16 L, W or 2 W of two nodes)
 *                latency  hop + 2 log2 N net
 *     SHARP      rate     min(0.9 W, rate of reduce and gather in the node):
 *                         every byte leaves a node once and enters it once
 *                latency  that in the node, and one net for any N
 *     direct     rate     n / (n - 1) L,  n / (r (n - r)) W across: all-to-all
 *                latency  base + log2 n hop (+ net)
 *
 * Protocols:
 *
 *     LL      half of the rate (each datum has a flag; trees: 1 / 3.8), below a
 *             cap
 *     LL128   120 of 128 bytes are data (0.92; trees 7/9 in a node, 15/16
 *             across); each channel has a cap
 *     Simple  no cap except for trees; needs synchronisation
 *
 * Trees do not reach their rate at medium sizes.
 * A network with a higher latency than InfiniBand adds it to each net, twice
 * under Simple, whose receiver flushes.
 * Without NVLink, hops are PCIe's, and LL128 and NVLS do not exist.
 *
 * Source: NCCL 2.27 (BSD), src/graph/tuning.cc: baseLatencies, hwLatencies,
 * llMaxBws, perChMax*Bws, nvlsEfficiency, treeCorrectionFactor.  log2 is linear
 * between powers of two, and the correction linear between its sizes, so that
 * times are continuous.  The plateau of rings across nodes, a step, is left
 * out.  SHARP: NCCL's CollNetDirect, and NVLS with it.  Direct: NCCL does not
 * tune it.  An all-to-all costs one step a doubling of ranks: MEASURED,
 * comm_nccl: 512 B on 2, 4, 8 H100 6.2, 6.8, 7.8 us, where an all-gather takes
 * 5.5, 7.1, 10.3.
 *
 * Invariant: a time never falls as bytes grow and never rises with a rate.
 */
#ifndef RA_ESTIMATOR_COLLECTIVE_MODEL_H
#define RA_ESTIMATOR_COLLECTIVE_MODEL_H

#include "graph/op/op.h"

typedef enum {
  RA_ALGORITHM_RING,
  RA_ALGORITHM_TREE,
  RA_ALGORITHM_NVLS,
  RA_ALGORITHM_NVLS_TREE,
  RA_ALGORITHM_SHARP,
  RA_ALGORITHM_DIRECT,
  RA_N_ALGORITHMS
} RaAlgorithm;

typedef enum {
  RA_PROTOCOL_LL,
  RA_PROTOCOL_LL128,
  RA_PROTOCOL_SIMPLE,
  RA_N_PROTOCOLS
} RaProtocol;

/* Generation of NVLink, which sets the caps; rate of a GPU, one direction. */
typedef enum {
  RA_LINK_AMPERE,    /* 300 GB/s */
  RA_LINK_HOPPER,    /* 450 GB/s */
  RA_LINK_BLACKWELL, /* 900 GB/s */
  RA_N_LINK_GENERATIONS
} RaLinkGeneration;

/* The quantities of a cluster in the closed forms. */
typedef struct {
  gboolean nvlink;             /* else PCIe connects the GPUs of a node */
  gboolean nvls;               /* the switches of a node reduce */
  gboolean sharp;              /* the switches of the network reduce */
  RaLinkGeneration generation; /* generation of NVLink */
  double ring_bytes_per_s;     /* L: rate of a ring in a node */
  double node_bytes_per_s;     /* all NICs of a node, one direction */
  double path_bytes_per_s;     /* limit of the path from the GPUs to the NICs */
  guint gpus_per_node;
  guint nics_per_node;
  double net_latency_s; /* a step between nodes, in excess of InfiniBand's */
} RaCollectiveModel;

/* One algorithm under one protocol. */
typedef struct {
  RaAlgorithm algorithm;
  RaProtocol protocol;
  double latency_s;
  double bytes_per_s; /* bytes of the vector (all-to-all: of a rank's sends) */
  double s;           /* time */
} RaCollectiveChoice;

#define RA_COLLECTIVE_CHOICES (RA_N_ALGORITHMS * RA_N_PROTOCOLS)

/* "ring", "tree", "LL128" and so on; static. */
const char *ra_algorithm_name(RaAlgorithm algorithm);
const char *ra_protocol_name(RaProtocol protocol);

/**
 * ra_collective_model_init:
 * @intra_bytes_per_s: to peers of the node, one direction, data sheet
 * @host_bytes_per_s: to the host; a node whose peers are not faster to reach
 *   has no NVLink
 *
 * Sets up a node without NICs, without a limit of the path and without SHARP:
 * the caller sets those.  Switches reduce since the NVLink of the H100 (NCCL:
 * nvlsEfficiency).  A ring has 0.8 of the rate of NVLink (NCCL's topo.h: 20 of
 * the 25 GB/s of a link of an A100 or H100) and 0.75 of PCIe (12 of 16 GB/s).
 */
void ra_collective_model_init(RaCollectiveModel *model, guint gpus_per_node,
                              double intra_bytes_per_s,
                              double host_bytes_per_s);

/**
 * ra_collective_model_candidates:
 * @op: %RA_OP_ALL_REDUCE to %RA_OP_BROADCAST
 * @out_choices: (array length=%RA_COLLECTIVE_CHOICES)
 *
 * Cost: about 10 ns each, no allocation.   Thread: any.
 *
 * Returns: number of candidates that can run @op, in the order of the enums; 0
 *   for one rank
 */
guint ra_collective_model_candidates(const RaCollectiveModel *model,
                                     const RaOp *op,
                                     RaCollectiveChoice *out_choices);

/**
 * ra_collective_model_choose:
 * @out_choice: (out): the fastest candidate, the first of equals
 *
 * Returns: %FALSE for one rank or no bytes, as nothing is sent
 */
gboolean ra_collective_model_choose(const RaCollectiveModel *model,
                                    const RaOp *op,
                                    RaCollectiveChoice *out_choice);

#endif
