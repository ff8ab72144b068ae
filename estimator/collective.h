/* The laws of communication: collectives, sends, reallocation, and copies to
 * and from the host.
 *
 * Rates are shares of the cluster's links: `intra-node` of its device, and its
 * NICs.  The dimensions of an op tell how many share the NICs of a node.
 *
 * Invariant: a message of 0 bytes and a group of one rank cost nothing.  A cost
 * never falls as bytes grow and never rises as a link gets faster.
 */
#ifndef RA_ESTIMATOR_COLLECTIVE_H
#define RA_ESTIMATOR_COLLECTIVE_H

#include "estimator/collective_model.h"
#include "estimator/residual.h"
#include "graph/input/cluster.h"
#include "graph/op/op.h"
#include "traces/law.h"
#include "traces/profile.h"

#define RA_LINES 3
/* Largest number of ranks of a node that was measured. */
#define RA_NODE_RANKS 8

/* Seconds of a message: the minimum of three lines, one for each protocol that
 * is the fastest at some size (LL, LL128, Simple of NCCL, or what the fit
 * found). */
typedef struct {
  double latency_s[RA_LINES];  /* of each line */
  double s_per_byte[RA_LINES]; /* of each line */
} RaLines;

/* Most numbers of ranks in a table. */
#define RA_COUNTS 8
/* Octaves of bytes: 1 B to 512 GiB. */
#define RA_OCTAVES 40

/* One kind of collective in a node; [n - 2] for n = 2 .. 8 ranks. */
typedef struct {
  RaLines ranks[RA_NODE_RANKS - 1]; /* bytes on the bus, not of the vector */
  RaResidual residual;              /* over bytes and ranks */
  guint n_counts;                   /* measured numbers of ranks; below 2: no
                                       ratio between them is known */
  uint32_t count[RA_COUNTS];        /* measured numbers of ranks, ascending */
  /* By octave of bytes: seconds at the second count / at the first, and at the
   * last / at the last but one; see ra_collective_s(). */
  double first_ratio[RA_OCTAVES], last_ratio[RA_OCTAVES];
  gboolean is_power; /* over PCIe: a power of the ranks between two counts */
  /* If only one number of ranks was measured: */
  double base_s, hop_s; /* time of a message without bytes, and of each step */
} RaCollectiveLaw;

/* Collectives across nodes. */
typedef struct {
  double latency_s[2];      /* small and large messages */
  double hop_s[2];          /* added for each doubling of nodes */
  double per_frac[2];       /* 1 / share of the NICs */
  double hierarchical_frac; /* 1: reduced in the node first; 0: one ring */
  RaResidual residual;      /* of all-reduce, over bytes and nodes */
} RaInterNodeLaw;

/* All-to-alls across nodes: lines for small and large messages at 2 and at 8
 * nodes. */
typedef struct {
  gboolean measured;      /* else like the other collectives */
  double latency_s[2][2]; /* (2 or 8 nodes, line) */
  double frac[2][2];      /* share of the NICs */
  double net_s;           /* the cluster's nic-latency */
} RaInterExchangeLaw;

/* Kernels that exchange tokens over NVLink: DeepEP's in a node, and those that
 * reach all of a wider domain (TensorRT-LLM's NVLinkTwoSided). */
typedef enum {
  RA_TOKENS_NORMAL,
  RA_TOKENS_LOW, /* of low latency */
  RA_TOKENS_DOMAIN,
  RA_N_TOKEN_KERNELS
} RaTokenKernels;

/* Tokens to the ranks of their experts, or back. */
typedef struct {
  gboolean measured; /* else like any all-to-all */
  double floor_s;
  double token_s;    /* each token of a rank, RA_OP_EXCHANGE_SMS SMs */
  double s_per_byte; /* likewise */
  double row_frac;   /* bytes of a token beside those sent, in rows */
  RaResidual residual;
} RaTokenLaw;

typedef struct {
  RaLines intra;       /* in a node */
  RaResidual residual; /* over bytes, in a node */
  double latency_s;    /* between nodes */
  double per_frac;     /* 1 / share of the NIC */
} RaSendLaw;

typedef struct {
  double step_s;           /* each step of the schedule */
  double net_s;            /* added between nodes: the cluster's nic-latency */
  double s_per_intra_byte; /* link of the node */
  double s_per_inter_byte; /* one GPU's share of the NICs */
} RaReallocLaw;

typedef struct {
  double latency_s;  /* each copy */
  double s_per_byte; /* link to the host */
} RaHostCopyLaw;

/* The laws of communication on one cluster. */
typedef struct {
  RaCollectiveModel here;        /* the cluster in closed form */
  RaCollectiveModel own;         /* the cluster that inter-node was fitted on */
  gboolean is_foreign;           /* here and own differ */
  RaCollectiveLaw collective[5]; /* by op kind minus RA_OP_ALL_REDUCE */
  RaCollectiveLaw sums[RA_N_KERNELS];       /* an engine's own all-reduces */
  uint32_t sum_ranks[RA_N_KERNELS];         /* most ranks of these; 0: none */
  RaInterNodeLaw inter;                     /* across nodes */
  RaInterExchangeLaw exchange;              /* all-to-alls across nodes */
  RaTokenLaw tokens[2][RA_N_TOKEN_KERNELS]; /* dispatch, combine over NVLink */
  RaSendLaw send;                           /* point to point */
  RaReallocLaw realloc;                     /* parameter reallocation */
  RaHostCopyLaw host_copy;                  /* offload and reload */
  double s_per_node_byte;      /* all NICs of a node, one direction */
  double s_per_share_byte;     /* one GPU's share of them */
  double own_s_per_node_byte;  /* as s_per_node_byte, on the fabric of own */
  double own_s_per_share_byte; /* as s_per_share_byte, on the fabric of own */
} RaLinkLaws;

/* @error: %RA_ERROR_INPUT: a law is missing. */
gboolean ra_link_laws_init(RaLinkLaws *laws, const RaProfile *profile,
                           const RaCluster *cluster, GError **error);

/* The kernels that @op, an exchange of tokens over NVLink, takes; without a law
 * of %RA_TOKENS_DOMAIN %RA_TOKENS_NORMAL. */
RaTokenKernels ra_collective_token_kernels(const RaOp *op);

/* Law of kernels that exchange tokens: "tokens.dispatch" and so on; static. */
const char *ra_collective_token_law(gboolean combine, RaTokenKernels kernels);

/* (nullable) (transfer none): that of @op, if it is such an exchange and the
 * profile has its law. */
const RaTokenLaw *ra_collective_tokens(const RaLinkLaws *laws, const RaOp *op);

/**
 * ra_collective_s:
 * @op: %RA_OP_ALL_REDUCE to %RA_OP_BROADCAST: bytes, ranks, ranks_per_node,
 *   groups_per_node
 * @kernels: of the engine that runs it, %RA_KERNELS_COMMON outside generation:
 *   an all-reduce in a node has its law, up to the most ranks that it was
 *   measured with
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
 * All-to-all: F = r (n - r) / n, the share that the ranks of a node send out.
 * If the op has node_bytes, F bytes is r node_bytes.  If the profile has the
 * law inter-node.all-to-all, that law gives latency_j and bandwidth_frac_j at 2
 * and 8 nodes: linear in log2 N between them, constant above 8, without hops.
 *
 * Coefficients are given at n = 2, 4, 8, interpolated in log2 n between them,
 * and constant above 8.  log2 is linear between powers of two.
 *
 * On a fabric that differs from the law's own (the profile's law
 * inter-node.fabric: other NIC rates; SHARP), t is the law's time on its own
 * fabric, times the ratio of the best closed forms
 * (estimator/collective_model.h) here and there.
 *
 * If the law has a table, other numbers of ranks than the table's follow from
 * the two nearest in it, a < b:
 *
 *     t(n) = t(a) + (t(b) - t(a)) (x (n - a) / (b - a)
 *                      + (1 - x) (g(n) - g(a)) / (g(b) - g(a)))
 *     x    = min(1, 2 latency(a) / t(a))
 *
 *     small message  costs a step a rank
 *     large message  costs g(n) = (n - 1) / n of f(n), on top of what each rank
 *                    does with the whole vector; all-to-all: g = log2 n, as the
 *                    share of each rank shrinks while its peers grow in number
 *     extrapolation  t(b) / t(a) is then the geometric mean over four octaves,
 *                    so that one size's change of protocol is not carried on;
 *                    t is at least half of the nearest measured time
 *     PCIe           t(n) is a power of n: each doubling of ranks crosses
 *                    another bridge (switch, host bridge, link between
 *                    sockets), which no ring describes
 *
 * If only one number of ranks m was measured:
 *
 *     t(n) = L (base + k(n) hop) / (base + k(m) hop)
 *            + (t(m) - L) (c + g(n)) / (c + g(m)),  L = min(t(m), latency(m))
 *
 *     k    steps of a ring: 2 (n - 1) for an all-reduce; log2 n for an
 *          all-to-all
 *     hop  (latency(m) of all-reduces - that of gathers and scatters) / (m - 1)
 *     c    bytes of the vector that pass a rank for any n: see collective.c
 *
 * Valid: 512 B..512 MiB in a node, 2 to 8 nodes across.
 * Source: bus bandwidth, NVIDIA nccl-tests doc/PERFORMANCE.md; coefficients,
 * the profile.  Cost: about 10 ns, no allocation.
 *
 * Returns: seconds, >= 0; 0 for one rank or no bytes
 */
double ra_collective_s(const RaLinkLaws *laws, const RaOp *op,
                       RaKernels kernels);

/* Seconds of @n ranks in a node, from lines and table alone. */
double ra_collective_count_s(const RaCollectiveLaw *law, const RaOp *op,
                             uint64_t n);

/**
 * ra_send_s:
 * @op: an %RA_OP_SEND: bytes, inter_node, pairs_per_node
 *
 *     in a node: the minimum of three lines, latency_i + bytes / rate_i
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
 * @bytes: bytes of one GPU
 *
 *     t = latency + bytes / (host link frac)
 *
 * Returns: seconds, >= 0; 0 for no bytes
 */
double ra_host_copy_s(const RaLinkLaws *laws, double bytes);

/**
 * ra_collective_formula:
 * @op: any op
 * @out_choice: (out): the algorithm and protocol that the closed form chooses
 *
 * Tells if the cost of @op rests on the closed forms: for a number of ranks in
 * a node that was not measured, another fabric than the law's, or SHARP.
 *
 * Returns: %FALSE if measurements, or a law fitted on them, cover all of @op
 */
gboolean ra_collective_formula(const RaLinkLaws *laws, const RaOp *op,
                               RaCollectiveChoice *out_choice);

/* Use of the links of each GPU by an op. */
typedef struct {
  double total_s; /* time of the op alone */
  double intra_s; /* part with a full link to the peers of the node */
  double inter_s; /* part with the GPU's share of the NICs full */
  double host_s;  /* part with a full link to the host */
} RaLinkUse;

/**
 * ra_link_use:
 * @op: a collective, send, reallocation, offload or reload
 * @kernels: as for ra_collective_s()
 * @out_use: (out): seconds at the best rate of the law for this kind; each is
 *   at most total_s, the time by the law; the rest is latency
 *
 * The use of links that the network of sim/flows.h simulates.
 */
void ra_link_use(const RaLinkLaws *laws, const RaOp *op, RaKernels kernels,
                 RaLinkUse *out_use);

#endif
