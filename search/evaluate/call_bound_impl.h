/* Private parts of the bounds of calls; only search/evaluate/call_bound*.c
 * include this.
 */
#ifndef RA_SEARCH_EVALUATE_CALL_BOUND_IMPL_H
#define RA_SEARCH_EVALUATE_CALL_BOUND_IMPL_H

#include "graph/expand/expand_call.h"
#include "graph/input/plan_batching.h"
#include "search/evaluate/call_bound.h"

/* A call while it is bounded. */
typedef struct {
  const RaEstimator *estimator;
  const RaWorkload *workload;
  uint32_t kinds; /* of the nodes of the mesh */
  const RaCluster *cluster;
  const RaMemory *memory;
  uint32_t call;
  const RaCallMemory *c; /* of the call */
  RaShard shard;         /* of passes: without gathers */
  const RaCallPlan *plan;
  const RaCallLoad *load;
  RaBatch batch;       /* of the passes asked for */
  RaBatching batching; /* of a micro-batch's scheduler */
  RaCallContext x;     /* ranks that reduce and gather; pieces are those of c */
} RaBoundSubject;

/* Time of the batch's pass through a piece, without gathers. */
double ra_bound_pass_s(const RaBoundSubject *s, const RaPiece *piece,
                       RaPhase phase);

/* TRUE if @piece has the op lists of the one before. */
gboolean ra_bound_is_like_before(const RaBoundSubject *s, uint32_t piece);

/* Sends of the batch from each stage to the next, one way. */
void ra_bound_sends(const RaBoundSubject *s, double *out_s);

/* Reduction of the first stage's last bucket, which its whole last backward
 * precedes. */
double ra_bound_last_reduce_s(const RaBoundSubject *s);

/* The work behind a mini-batch's last backward: in @reduce_s the first
 * stage's gradients are reduced, then all meet to clip, then its parameters are
 * stepped and, in all but the last part, gathered. */
double ra_bound_update_s(const RaBoundSubject *s, double reduce_s,
                         uint32_t n_parts);

/* Time of a stage's queue of collectives for a micro-batch with zero 3: its
 * buckets' gathers for every pass, and the reductions behind backwards. */
double ra_bound_collectives_s(const RaBoundSubject *s, gboolean trains);

/* --- search/evaluate/call_bound_drawn.c --- */

/* Bound of @call with the sequences of @set. */
double ra_bound_drawn_s(RaBoundSubject *s, const RaCall *call,
                        const RaSequenceSet *set);

/* Approximate number of tasks that simulating such a call takes, if it takes
 * @n_tasks a replica. */
double ra_bound_drawn_tasks(const RaBoundSubject *s, const RaCall *call,
                            double n_tasks);

#endif
