/* Internals of a rollout with continuous batching; private to
 * graph/rollout/rollout_serve.c, which runs it, and rollout_move.c. */
#ifndef RA_GRAPH_ROLLOUT_ROLLOUT_SERVE_IMPL_H
#define RA_GRAPH_ROLLOUT_ROLLOUT_SERVE_IMPL_H

#include "graph/rollout/batcher.h"
#include "graph/rollout/rollout_impl.h"

/* Batch slot: progress of a candidate that has not ended. */
typedef struct {
  uint32_t candidate;
  uint32_t generated; /* in all iterations */
  uint64_t computed;  /* tokens with keys, if it runs */
  gboolean runs, fills;
} RaSeat;

typedef struct {
  RaRolloutRun *run;
  uint32_t samples, n_groups;
  RaBatching batching;
  GArray **seats; /* (n_replicas, n_groups) RaSeat, owned */
  uint64_t *left; /* (n_replicas) tokens of keys and values present, owned */
  uint32_t *group_name; /* (prompts) scratch: number among a scheduler's */
} RaRolloutServe;

/* (array length=n_groups) (element-type RaSeat): the slots of a replica. */
static inline GArray **
ra_seats_of(const RaRolloutServe *s, uint32_t replica)
{
  return s->seats + (gsize)replica * s->n_groups;
}

/* TRUE if the scheduler can run all sequences that run in @seats. */
gboolean ra_seats_fit(const RaRolloutServe *s, const GArray *seats);

/* Computes the ends of all sequences that have not ended by @at, and the
 * clock's events. */
void ra_rollout_predict(RaRolloutServe *s, uint32_t at);

/* Apply the moves at step @at. */
void ra_rollout_migrate(RaRolloutServe *s, uint32_t at);
void ra_rollout_respread(RaRolloutServe *s, uint32_t at);

#endif
