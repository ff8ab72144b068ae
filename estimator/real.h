/* The estimator of ReaL (arXiv 2406.14088), for comparison: the costs that
 * ReaL's search assumes for a call, a reallocation and a GPU's memory.
 *
 * With n sequences of s tokens, G of them generated, on tp x pp x dp GPUs:
 *
 *     op        (embedding + L block + head) / pp of a micro-batch, with the
 *               time of a layer from a grid (below)
 *     batch     training: n / (2 pp dp), or n / dp if pp = 1; inference and
 *               generation: n / (pp dp)
 *     train     ((fwd + bwd (+ fwd with recompute)) (pp + M - 1) + optimizer)
 *               x (1 - 0.04 tp) if pp dp = 1, x (1 - 0.03 tp) if tp > 1;
 *               M = 2 pp, or 1 if pp = 1
 *     inference fwd (2 pp - 1), x (1 - 0.03 tp) if tp > 1
 *     generate  (fwd (2 pp - 1) + decode (G - 1) pp)
 *               x (1 - 0.03 min(dp tp, 8)) if dp tp > 1
 *     all       x (1 + 0.01 pp) if pp > 8
 *
 * ReaL's estimator has no mini-batches.  Sends between stages and reductions
 * over replicas are free.  The head of every model is its whole vocabulary.
 *
 * The grid has 1, 2, 4 ... 128 sequences of 128, 256 or 512 tokens.  Each layer
 * is timed by itself on a tp group, with its collectives.  A point of the grid
 * is used as it is.  Otherwise the mean of the points with as many tokens (for
 * decode: sequences) is interpolated linearly, and beyond the ends the last
 * point is scaled in proportion.  Here the time of a layer is that of this
 * estimator's laws, launched eagerly, with the system's constants if there are
 * any (ReaL times its own layers).
 *
 * Source: openpsi-project/ReaLHF, of 2024: realhf/search_engine/estimate.py
 * (formulas, memory), realhf/apps/profile_layers.py (grid), param_realloc.py
 * there (reallocation).  Its experiments pass the longest prompt as s, also for
 * training and inference; if nothing is generated, the sequence.
 *
 *     RaRealCall call;
 *     if (ra_real_call_init(&call, plan, c))
 *       use(ra_real_call_s(estimator, &call), ra_real_call_bytes(&call));
 *
 * Typical cost: 10^2 op lists a call, some 50 us; a reallocation O(pp pp'
 * (tp + tp') GPUs).
 */
#ifndef RA_ESTIMATOR_REAL_H
#define RA_ESTIMATOR_REAL_H

#include "estimator/estimator.h"
#include "graph/input/plan.h"

/* A call and its strategy, in the terms of ReaL's formulas. */
typedef struct {
  const RaModel *model; /* borrowed */
  int kind;             /* RaCallKind, not HOST */
  int dtype;            /* RaDtype */
  double n_sequences;   /* n, > 0 */
  double seq_tokens;    /* s, > 0 */
  double gen_tokens;    /* G, >= 1 */
  gboolean recompute;   /* training recomputes the forward pass */
  uint32_t tp, pp, dp;  /* >= 1 */
  uint32_t tp_per_node; /* tp ranks that share a node */
  double n_epochs;      /* number of runs of training; 1 elsewhere */
} RaRealCall;

/* Seconds of a stage's ops on its micro-batch. */
typedef struct {
  double forward_s;
  double backward_s;  /* training */
  double optimizer_s; /* training */
  double decode_s;    /* generation: a token of each sequence */
} RaRealOps;

/**
 * ra_real_call_init:
 * @call: (out): borrows the plan's model
 * @plan: a checked plan
 * @index: index of a call
 *
 * s is the longest prompt of the workload, G the longest response; if no call
 * generates, s is their sum.
 *
 * Returns: %FALSE for a host call, which ReaL does not have
 */
gboolean ra_real_call_init(RaRealCall *call, const RaPlan *plan,
                           uint32_t index);

/* Times of the ops of @call, from the grid. */
void ra_real_ops(const RaEstimator *estimator, const RaRealCall *call,
                 RaRealOps *out_ops);

/* Seconds of the call by the formulas above. */
double ra_real_time_s(const RaRealCall *call, const RaRealOps *ops);

/* Seconds of the call, >= 0: ra_real_ops() and ra_real_time_s(). */
double ra_real_call_s(const RaEstimator *estimator, const RaRealCall *call);

/**
 * ra_real_call_bytes:
 *
 * Bytes of a GPU, with P = 3 V h + L (3 h i + 4 h^2) parameters of 2 bytes:
 *
 *     train      4 P / (pp tp) + 20 P / (pp tp dp)
 *     inference  4 P / (pp tp)
 *     generate   4 P / (pp tp) + 4 n (G + s) h L / (pp tp dp)
 *
 * i is the width of a dense layer's MLP; for a mixture, that of all experts
 * together.
 */
double ra_real_call_bytes(const RaRealCall *call);

/**
 * ra_real_interpolate:
 * @x: (array length=n): ascending, > 0
 * @y: (array length=n)
 *
 * Returns: linear between points, proportional to @at beyond either end
 */
double ra_real_interpolate(const double *x, const double *y, guint n,
                           double at);

/**
 * ra_real_realloc_s:
 * @model: model whose parameters move
 * @from: layout that has them
 * @to: layout that needs them
 * @cluster: borrowed
 *
 * A piece is what a stage and tensor-parallel rank of @from has and one of @to
 * needs.  Each of its sources broadcasts it to the destinations that it serves:
 * a GPU that has the piece serves itself; else a source in its node does; else
 * the source with the fewest destinations serves the whole node.  A broadcast
 * of e elements of 2 bytes takes
 *
 *     16 e bit / (1800 Gbit/s)              within a node
 *     16 e bit / (200 Gbit/s) x nodes       to destinations on that many nodes
 *
 * at the sender and at every receiver, and every receive step 0.03 s more.  A
 * Gbit in ReaL is 2^30 bit.  The time of a GPU is the sum of its steps, and
 * that of the reallocation the largest of any GPU.  (In ReaL the time is 0
 * between equal strategies on any meshes; here only on one mesh.)
 *
 * Returns: seconds, >= 0
 */
double ra_real_realloc_s(const RaModel *model, const RaCallPlan *from,
                         const RaCallPlan *to, const RaCluster *cluster);

#endif
