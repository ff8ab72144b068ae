/* Inside the rollout; only graph/rollout/rollout*.c include this.
 *
 * graph/rollout/rollout_pick.c says which sequences are begun, and which are
 * trained on; graph/rollout/rollout.c has them run.
 */
#ifndef RA_GRAPH_ROLLOUT_ROLLOUT_IMPL_H
#define RA_GRAPH_ROLLOUT_ROLLOUT_IMPL_H

#include "graph/rollout/rollout.h"

/* A sequence that an iteration begins or goes on with. */
typedef struct {
  uint32_t prompt, response; /* tokens in all */
  uint32_t done;             /* generated in earlier iterations */
  uint32_t end;              /* token of the clock at which it ends or is
                                stopped; 0: it was complete before */
  uint32_t replica;
  uint32_t made;       /* tokens generated in this iteration */
  uint32_t place;      /* in the order in which its replica serves them */
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

/* (transfer full): `end`s and what is kept are set, replicas are not.  With
 * continuous batching ends are what there is to generate, and nothing is kept
 * yet. */
RaCandidates *ra_candidates_new(const RaPlan *plan, uint32_t call,
                                uint32_t iteration, uint64_t seed,
                                RaRolloutDraw draw);

/* With `end` the clock at which each would end, sets when prompts are complete,
 * the @n_wanted that are first, and the end of all. */
void ra_candidates_stop(RaCandidates *candidates, uint32_t samples,
                        uint32_t n_wanted);
void ra_candidates_free(RaCandidates *candidates);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaCandidates, ra_candidates_free)

/* Gives every candidate that has something to generate its replica. */
void ra_candidates_assign(RaCandidates *candidates, const RaCallPlan *plan,
                          uint64_t seed, uint64_t stream);

/* Of random numbers: what an assignment mistakes. */
static inline uint64_t
ra_prediction_stream(uint32_t call, uint32_t iteration)
{
  return (uint64_t)iteration << 32 | ((UINT32_C(3) << 30) + call);
}

/* --- What graph/rollout/rollout.c and graph/rollout/rollout_serve.c share ---
 *  */

/* A sequence that moves. */
typedef struct {
  uint32_t from, to;
  uint64_t tokens; /* that travel: of keys and values, or of text */
  uint64_t held;   /* room that its keys and values have, tokens */
} RaTravel;

/* The rollout under way. */
typedef struct {
  RaArena *arena;
  const RaPlan *plan;
  const RaCallPlan *call;
  RaCandidates *c;
  uint32_t n_replicas, n_parts, part; /* that runs */
  uint32_t *part_end;                 /* (n_parts) token of the clock, owned */
  uint32_t migrate_at;                /* token, 0: never */
  uint32_t n_respreads;               /* left */
  uint32_t *n_running;  /* (n_replicas) at the end of the phase, owned */
  GArray *spells;       /* RaSpell, owned */
  GArray *moves;        /* RaSpellMove, owned */
  uint32_t *part_begin; /* (n_parts + 1) arena */
  RaSpellMove next;     /* before the next phase */
  uint64_t generated, recomputed; /* tokens */
} RaRolloutRun;

/* A run of @candidates, borrowed, where nothing has happened yet; clear it. */
void ra_rollout_run_init(RaRolloutRun *run, RaArena *arena, const RaPlan *plan,
                         uint32_t call, RaCandidates *candidates);
void ra_rollout_run_clear(RaRolloutRun *run);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RaRolloutRun, ra_rollout_run_clear)

/* Where parts end, and where the last sequences move. */
void ra_rollout_set_clock(RaRolloutRun *run, uint32_t samples);

/* The next of the clock after @at at which something happens; 0: nothing runs.
 */
uint32_t ra_rollout_next(const RaRolloutRun *run, uint32_t at);

/* The parts that end at @at begin and end with phases. */
void ra_rollout_close_parts(RaRolloutRun *run, uint32_t at);

/* Of the first @n_replicas the one with @most or fewest sequences. */
uint32_t ra_rollout_replica_with(const RaRolloutRun *run, uint32_t n_replicas,
                                 gboolean most);

/* Whether some replica has nothing while another has two at least. */
gboolean ra_rollout_is_dry(const RaRolloutRun *run);

/* What the moves (element-type RaTravel) come to, before the next phase. */
void ra_rollout_close_moves(RaRolloutRun *run, GArray *travels);

/* All phases, with continuous batching. */
void ra_rollout_serve(RaRolloutRun *run, uint32_t call, uint32_t samples);

#endif
