/* Inside the rollout; only graph/rollout*.c include this.
 *
 * graph/rollout_pick.c says which sequences are begun, and which are trained
 * on; graph/rollout.c has them run.
 */
#ifndef RA_GRAPH_ROLLOUT_IMPL_H
#define RA_GRAPH_ROLLOUT_IMPL_H

#include "graph/rollout.h"

/* A sequence that an iteration begins or goes on with. */
typedef struct {
  uint32_t prompt, response; /* tokens in all */
  uint32_t done;             /* generated in earlier iterations */
  uint32_t end;              /* token of the clock at which it ends or is
                                stopped; 0: it was complete before */
  uint32_t replica;
  gboolean is_fresh;   /* no earlier iteration had it */
  gboolean recomputes; /* of the phase in hand: it has just been moved so */
} RaCandidate;

/* The candidates of an iteration. */
typedef struct {
  RaCandidate *all; /* (n) samples of a prompt stand together; owned */
  uint32_t n;
  uint32_t *completed; /* (n / samples) when all of a prompt's are, owned */
  gboolean *is_kept;   /* (n / samples) trained on, owned */
  uint32_t stop;       /* the clock's last token */
} RaCandidates;

/* (transfer full): `end`s and what is kept are set, replicas are not. */
RaCandidates *ra_candidates_new(const RaPlan *plan, uint32_t call,
                                uint32_t iteration, uint64_t seed,
                                RaRolloutDraw draw);
void ra_candidates_free(RaCandidates *candidates);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaCandidates, ra_candidates_free)

/* Gives every candidate that has something to generate its replica. */
void ra_candidates_assign(RaCandidates *candidates, const RaCallPlan *plan,
                          uint64_t seed, uint64_t stream);

#endif
