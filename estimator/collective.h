/* The laws of what GPUs send to each other: collectives, sends, reallocation,
 * copies to and from the host.
 *
 * Rates are shares of the cluster's links: `intra-node` of its device, its
 * NICs.  Who shares a node's NICs stands in the op's dimensions.
 *
 * Invariant: a message of 0 bytes and a group of one take no time; a cost
 * never falls as bytes grow and never rises as a link gets faster.
 */
#ifndef RA_ESTIMATOR_COLLECTIVE_H
#define RA_ESTIMATOR_COLLECTIVE_H

#include "estimator/collective_model.h"
#include "estimator/residual.h"
#include "graph/input/cluster.h"
#include "graph/op/op.h"
#include "traces/profile.h"

#define RA_LINES 3
/* Most ranks of a node that were measured. */
#define RA_NODE_RANKS 8

/* Seconds of a message: the least of three lines, one for each protocol that
 * pays at its size (LL, LL128, Simple of NCCL, or whatever the fit found). */
typedef struct {
  double latency_s[RA_LINES];  /* of each line */
  double s_per_byte[RA_LINES]; /* of each line */
} RaLines;

/* How many numbers of ranks a table may tell apart. */
#define RA_COUNTS 8
/* Of bytes: 1 B to 512 GiB. */
#define RA_OCTAVES 40

/* One kind of collective in a node; [n - 2] for n = 2 .. 8 ranks. */
typedef struct {
  RaLines ranks[RA_NODE_RANKS - 1]; /* bytes on the bus, not of the vector */
  RaResidual residual;              /* over bytes and ranks */
  guint n_counts;                   /* below 2: no step between them is known */
  uint32_t count[RA_COUNTS];        /* of ranks that were measured, ascending */
  /* By octave of bytes: seconds of the second over those of the first count,
   * and of the last over those of the last but one; see ra_collective_s(). */
  double first_ratio[RA_OCTAVES], last_ratio[RA_OCTAVES];
  gboolean is_power; /* over PCIe: a power of ranks between two of them */
  /* Where but one number of ranks was measured. */
  double base_s, hop_s; /* of a message without bytes, and each step of it */
} RaCollectiveLaw;

/* Collectives across nodes. */
typedef struct {
  double latency_s[2];      /* small and large messages */
  double hop_s[2];          /* and for each doubling of nodes */
  double per_frac[2];       /* 1 / share of the NICs */
  double hierarchical_frac; /* 1: reduced in the node first; 0: one ring */
  RaResidual residual;      /* over bytes and nodes, of all-reduce */
} RaInterNodeLaw;

/* All-to-alls across nodes: lines for small and large messages at 2 and at 8
 * nodes. */
typedef struct {
  gboolean measured;      /* else as the other collectives */
  double latency_s[2][2]; /* (2 or 8 nodes, line) */
  double frac[2][2];      /* share of the NICs */
  double net_s;           /* the cluster's nic-latency */
} RaInterExchangeLaw;

typedef struct {
  RaLines intra;       /* in a node */
  RaResidual residual; /* over bytes, in a node */
  double latency_s;    /* between nodes */
  double per_frac;     /* 1 / share of the NIC */
} RaSendLaw;

typedef struct {
  double step_s;           /* each step of the schedule */
  double net_s;            /* and between nodes: the cluster's nic-latency */
  double s_per_intra_byte; /* link of the node */
  double s_per_inter_byte; /* one GPU's share of the NICs */
} RaReallocLaw;

typedef struct {
  double latency_s;  /* each copy */
  double s_per_byte; /* link to the host */
} RaHostCopyLaw;

/* What all of the above know of the cluster. */
typedef struct {
  RaCollectiveModel here;        /* the cluster in closed form */
  RaCollectiveModel own;         /* the one that inter-node was fitted on */
  gboolean is_foreign;           /* they differ */
  RaCollectiveLaw collective[5]; /* by op kind less RA_OP_ALL_REDUCE */
  RaInterNodeLaw inter;          /* across nodes */
  RaInterExchangeLaw exchange;   /* all-to-alls across nodes */
  RaSendLaw send;                /* point to point */
  RaReallocLaw realloc;          /* parameter reallocation */
  RaHostCopyLaw host_copy;       /* offload and reload */
  double s_per_node_byte;        /* all NICs of a node, one direction */
  double s_per_share_byte;       /* one GPU's part of them */
  double own_s_per_node_byte;    /* the same of the fabric of `own` */
  double own_s_per_share_byte;
} RaLinkLaws;

/* @error: %RA_ERROR_INPUT: a law is missing. */
gboolean ra_link_laws_init(RaLinkLaws *laws, const RaProfile *profile,
                           const RaCluster *cluster, GError **error);

/**
 * ra_collective_s:
 * @op: %RA_OP_ALL_REDUCE to %RA_OP_BROADCAST: bytes, ranks, ranks_per_node,
 *   groups_per_node
 *
 * Device seconds of one collective of n ranks, r on each of N = n / r nodes.
 * A ring's traffic per rank is f(n) bytes: 2 (n-1)/n for an all-reduce,
 * (n-1)/n for all-gather, reduce-scatter and all-to-all, 1 for a broadcast.
 *
 *     in a node:  t = min over 3 lines of  latency_i(n)
 *                     + f(n) bytes / (link bandwidth_frac_i(n))
 *     across:     t = max(in a node with r ranks,
 *                         min over 2 lines of  latency_j + hop_j log2(N)
 *                         + F bytes / (B bandwidth_frac_j))
 *     F = h f(N) + (1 - h) f(n),  h = hierarchical_frac
 *     B = min(node's NICs / groups_per_node, r one GPU's share)
 *
 * For an all-to-all F = r (n - r) / n: what a node's ranks send out (F bytes is
 * r node_bytes where the op says those), and where
 * the profile has the law inter-node.all-to-all, latency_j and bandwidth_frac_j
 * are its own at 2 and 8 nodes, linear in log2 N between and those of 8 beyond,
 * without hops.
 * Coefficients stand at n = 2, 4, 8; between, they are interpolated in log2 n,
 * beyond, those of 8 hold.  log2 is linear between powers of two.
 * Another fabric than the law's own (its profile's law inter-node.fabric: other
 * rates of NICs; SHARP): t is what the law says of its own, times the ratio of
 * the closed forms' best (estimator/collective_model.h) here and there.
 *
 * Where the law has a table, other numbers of ranks than the table's follow
 * from its two nearest, a < b:
 *
 *     t(n) = t(a) + (t(b) - t(a)) (x (n - a) / (b - a)
 *                      + (1 - x) (g(n) - g(a)) / (g(b) - g(a)))
 *     x    = min(1, 2 latency(a) / t(a))
 *
 * a small message costs a step a rank, a large one f(n)'s (n - 1) / n = g(n)
 * on top of what each rank does with the whole vector (all-to-all: g = log2 n,
 * as each rank's share shrinks and its peers grow).  Outside of them t(b) /
 * t(a) is the geometric mean over four octaves, as what is carried on must not
 * be one size's change of protocol; never below half of the nearest.  Over PCIe
 * each doubling of ranks passes another bridge (switch, host bridge, link
 * between sockets), which no ring describes: t(n) is a power of n there.
 *
 * Of one number of ranks m alone,
 *
 *     t(n) = L (base + k(n) hop) / (base + k(m) hop)
 *            + (t(m) - L) (c + g(n)) / (c + g(m)),  L = min(t(m), latency(m))
 *
 * k: steps of a ring, 2 (n - 1) of an all-reduce, log2 n of an all-to-all;
 * hop = (latency(m) of all-reduces less that of gathers and scatters) / (m -
 * 1); c, the bytes of the vector that pass a rank whatever n, in collective.c.
 * Valid: 512
 * B..512 MiB in a node, 2 to 8 nodes across. Source: bus bandwidth, NVIDIA
 * nccl-tests doc/PERFORMANCE.md; coefficients, the profile.   Cost: about 10
 * ns, no allocation.
 *
 * Returns: seconds, >= 0; 0 for one rank or no bytes
 */
double ra_collective_s(const RaLinkLaws *laws, const RaOp *op);

/* Seconds in a node of @n ranks by lines and table alone. */
double ra_collective_count_s(const RaCollectiveLaw *law, const RaOp *op,
                             uint64_t n);

/**
 * ra_send_s:
 * @op: an %RA_OP_SEND: bytes, inter_node, pairs_per_node
 *
 *     in a node: the least of three lines, latency_i + bytes / rate_i
 *     between:   latency + bytes / (B bandwidth_frac),
 *                B = min(one GPU's share, node's NICs / pairs_per_node)
 *
 * Returns: seconds, >= 0; 0 for no bytes
 */
double ra_send_s(const RaLinkLaws *laws, const RaOp *op);

/**
 * ra_realloc_s:
 * @op: an %RA_OP_REALLOC: intra_bytes, inter_bytes, steps
 *
 *     t = steps step_s + max(intra_bytes / (link frac),
 *                            inter_bytes / (one GPU's share frac))
 *
 * Returns: seconds, >= 0; 0 for no bytes
 */
double ra_realloc_s(const RaLinkLaws *laws, const RaOp *op);

/**
 * ra_host_copy_s:
 * @bytes: of one GPU
 *
 *     t = latency + bytes / (host link frac)
 *
 * Returns: seconds, >= 0; 0 for no bytes
 */
double ra_host_copy_s(const RaLinkLaws *laws, double bytes);

/**
 * ra_collective_formula:
 * @op: any
 * @out_choice: (out): the algorithm and protocol that the closed form takes
 *
 * Whether @op's cost rests on the closed forms: a number of ranks of a node
 * that was not measured, another fabric than the law's, SHARP.
 *
 * Returns: %FALSE where measurements, or a law fitted on them, have it all
 */
gboolean ra_collective_formula(const RaLinkLaws *laws, const RaOp *op,
                               RaCollectiveChoice *out_choice);

/* What an op takes of the links of each of its GPUs. */
typedef struct {
  double total_s; /* alone */
  double intra_s; /* of it, the link to the peers of the node is full */
  double inter_s; /* the GPU's share of the NICs is */
  double host_s;  /* the link to the host is */
} RaLinkUse;

/**
 * ra_link_use:
 * @op: a collective, send, reallocation, offload or reload
 * @out_use: (out): seconds at the best rate that the law has for its kind, so
 *   each at most total_s, which is what the law says; the rest is latency
 *
 * What the network of sim/flows.h makes of an op.
 */
void ra_link_use(const RaLinkLaws *laws, const RaOp *op, RaLinkUse *out_use);

#endif
