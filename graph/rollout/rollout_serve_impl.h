/* Inside a rollout with continuous batching; only
 * graph/rollout/rollout_serve.c, which has it run, and
 * graph/rollout/rollout_move.c include this. */
#ifndef RA_GRAPH_ROLLOUT_ROLLOUT_SERVE_IMPL_H
#define RA_GRAPH_ROLLOUT_ROLLOUT_SERVE_IMPL_H

#include "graph/rollout/batcher.h"
#include "graph/rollout/rollout_impl.h"

/* Of a candidate that has not ended. */
typedef struct {
  uint32_t candidate;
  uint32_t generated; /* in all iterations */
  uint64_t computed;  /* tokens whose keys are there, RUNS */
  gboolean runs, fills;
} RaSeat;

typedef struct {
  RaRolloutRun *run;
  uint32_t samples, n_groups;
  RaBatching batching;
  GArray **seats; /* (n_replicas, n_groups) RaSeat, owned */
  uint64_t *left; /* (n_replicas) tokens of keys and values there, owned */
  uint32_t *group_name; /* (prompts) scratch: number among a scheduler's */
} RaRolloutServe;

/* (array length=n_groups) (element-type RaSeat): the seats of a replica. */
static inline GArray **
ra_seats_of(const RaRolloutServe *s, uint32_t replica)
{
  return s->seats + (gsize)replica * s->n_groups;
}

/* Whether all that run by @seats find places. */
gboolean ra_seats_fit(const RaRolloutServe *s, const GArray *seats);

/* The ends of all that have not ended by @at, and the clock's marks. */
void ra_rollout_predict(RaRolloutServe *s, uint32_t at);

/* The moves at step @at, and what they change. */
void ra_rollout_migrate(RaRolloutServe *s, uint32_t at);
void ra_rollout_respread(RaRolloutServe *s, uint32_t at);

#endif
