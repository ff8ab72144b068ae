/* The estimator of ReaL (arXiv 2406.14088), beside this one: what its search
 * believes a call, a reallocation and a GPU's memory cost.
 *
 * With n sequences of s tokens, G of them generated, on tp x pp x dp GPUs:
 *
 *     op        (embedding + L block + head) / pp of a micro-batch, where a
 *               layer's time is read off a grid (below)
 *     batch     of training n / (2 pp dp), or n / dp where pp = 1; of
 *               inference and generation n / (pp dp)
 *     train     ((fwd + bwd (+ fwd with recompute)) (pp + M - 1) + optimizer)
 *               x (1 - 0.04 tp) where pp dp = 1, x (1 - 0.03 tp) where tp > 1;
 *               M = 2 pp, or 1 where pp = 1
 *     inference fwd (2 pp - 1), x (1 - 0.03 tp) where tp > 1
 *     generate  (fwd (2 pp - 1) + decode (G - 1) pp)
 *               x (1 - 0.03 min(dp tp, 8)) where dp tp > 1
 *     all       x (1 + 0.01 pp) where pp > 8
 *
 * Mini-batches are not known to it, and what its stages send to each other and
 * its replicas reduce is free.  Every model has its whole vocabulary as head.
 *
 * The grid: 1, 2, 4 ... 128 sequences of 128, 256 or 512 tokens, each layer of
 * which is timed by itself on a tp group, its collectives included.  What
 * stands on it is read, else the mean of the points with as many tokens (of
 * decode: sequences) is interpolated linearly, and beyond the ends the last
 * point is scaled in proportion.  Here a layer takes what the laws of this
 * estimator say that it takes, launched eagerly, under the system's constants
 * if there are any (ReaL times its own).
 *
 * Source: openpsi-project/ReaLHF, realhf/search_engine/estimate.py (formulas,
 * memory), realhf/apps/profile_layers.py (grid), param_realloc.py there
 * (reallocation), of 2024.  Its experiments pass the longest prompt as s, of
 * training and inference too; where nothing is generated, the sequence.
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

/* A call and its strategy, as ReaL's formulas see them. */
typedef struct {
  const RaModel *model; /* borrowed */
  int kind;             /* RaCallKind, not HOST */
  int dtype;            /* RaDtype */
  double n_sequences;   /* n, > 0 */
  double seq_tokens;    /* s, > 0 */
  double gen_tokens;    /* G, >= 1 */
  gboolean recompute;   /* of training */
  uint32_t tp, pp, dp;  /* >= 1 */
  uint32_t tp_per_node; /* tp ranks that share a node */
  double n_epochs;      /* training: how often it runs; 1 elsewhere */
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
 * @plan: checked
 * @index: of a call
 *
 * s is the longest prompt of the workload, G the longest response; where no
 * call generates, s is their sum.
 *
 * Returns: %FALSE for a host call, which ReaL has not
 */
gboolean ra_real_call_init(RaRealCall *call, const RaPlan *plan,
                           uint32_t index);

/* The ops of @call from the grid. */
void ra_real_ops(const RaEstimator *estimator, const RaRealCall *call,
                 RaRealOps *out_ops);

/* The formulas above. */
double ra_real_time_s(const RaRealCall *call, const RaRealOps *ops);

/* Both: seconds of the call, >= 0. */
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
 * i is the width of a dense layer's MLP, of a mixture all experts' together.
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
 * @model: whose parameters move
 * @from: layout that has them
 * @to: layout that needs them
 * @cluster: borrowed
 *
 * A piece that a stage and tensor-parallel rank of @from has and one of @to
 * needs is broadcast by each of its sources to the destinations that it
 * serves: a GPU that has it serves itself, else a source of its node does,
 * else the source with fewest destinations serves the whole node.  A broadcast
 * of e elements of 2 bytes takes
 *
 *     16 e bit / (1800 Gbit/s)              within a node
 *     16 e bit / (200 Gbit/s) x nodes       with destinations on so many
 *
 * at the sender and at every receiver, and every receive step 0.03 s more; a
 * Gbit of ReaL's has 2^30 bit.  A GPU takes the sum of its steps, the
 * reallocation the most of any GPU.  (ReaL takes 0 between equal strategies,
 * wherever they are; here that is only so on one mesh.)
 *
 * Returns: seconds, >= 0
 */
double ra_real_realloc_s(const RaModel *model, const RaCallPlan *from,
                         const RaCallPlan *to, const RaCluster *cluster);

#endif
