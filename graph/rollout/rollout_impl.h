/* Internals of the rollout; private to graph/rollout/rollout*.c.
 *
 * graph/rollout/rollout_pick.c chooses the sequences that are started and those
 * that training uses; graph/rollout/rollout.c runs them.
 */
#ifndef RA_GRAPH_ROLLOUT_ROLLOUT_IMPL_H
#define RA_GRAPH_ROLLOUT_ROLLOUT_IMPL_H

#include "graph/rollout/rollout.h"

/* Sequence that an iteration starts or continues. */
typedef struct {
  uint32_t prompt, response; /* tokens in all */
  uint32_t done;             /* generated in earlier iterations */
  uint32_t end;              /* token of the clock at which it ends or is
                                stopped; 0: it was complete before */
  uint32_t replica;
  uint32_t made;       /* tokens generated in this iteration */
  uint32_t place;      /* position in its replica's order of service */
  gboolean recomputes; /* computes its keys again in the current phase, after a
                          move */
} RaCandidate;

/* Candidates of an iteration. */
typedef struct {
  RaCandidate *all; /* (n) samples of a prompt are adjacent; owned */
  uint32_t n;
  uint32_t *completed; /* (n / samples) clock at which all samples of a prompt
                          are complete, owned */
  gboolean *is_kept;   /* (n / samples) training uses the prompt, owned */
  uint32_t stop;       /* the clock's last token */
} RaCandidates;

/* (transfer full): candidates with `end` and `is_kept`, without replicas.  With
 * continuous batching `end` is the number of tokens to generate, and `is_kept`
 * is not set yet. */
RaCandidates *ra_candidates_new(const RaPlan *plan, uint32_t call,
                                uint32_t iteration, uint64_t seed,
                                RaRolloutDraw draw);

/* Sets when prompts are complete, keeps the first @n_wanted of them, and stops
 * all candidates.  On entry `end` is the clock at which each would end. */
void ra_candidates_stop(RaCandidates *candidates, uint32_t samples,
                        uint32_t n_wanted);
void ra_candidates_free(RaCandidates *candidates);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaCandidates, ra_candidates_free)

/* Assigns a replica to every candidate that has tokens to generate. */
void ra_candidates_assign(RaCandidates *candidates, const RaCallPlan *plan,
                          uint64_t seed, uint64_t stream);

/* Stream of random numbers for the errors of predicted lengths. */
static inline uint64_t
ra_prediction_stream(uint32_t call, uint32_t iteration)
{
  return (uint64_t)iteration << 32 | ((UINT32_C(3) << 30) + call);
}

/* --- graph/rollout/rollout.c, used by graph/rollout/rollout_serve.c --- */

/* Move of one sequence. */
typedef struct {
  uint32_t from, to;
  uint64_t tokens; /* tokens sent: of keys and values, or of text */
  uint64_t held;   /* capacity of its keys and values, tokens */
} RaTravel;

/* State of a rollout. */
typedef struct {
  RaArena *arena;
  const RaPlan *plan;
  const RaCallPlan *call;
  RaCandidates *c;
  uint32_t n_replicas, n_parts, part; /* part: the current one */
  uint32_t *part_end;                 /* (n_parts) token of the clock, owned */
  uint32_t migrate_at;                /* token of the clock; 0: never */
  uint32_t n_respreads;               /* number still allowed */
  uint32_t *n_running;  /* (n_replicas) at the end of the phase, owned */
  GArray *spells;       /* RaSpell, owned */
  GArray *moves;        /* RaSpellMove, owned */
  uint32_t *part_begin; /* (n_parts + 1) arena */
  RaSpellMove next;     /* moves before the next phase */
  uint64_t generated, recomputed; /* tokens */
} RaRolloutRun;

/* Initializes the run of @candidates, borrowed, at clock 0; clear it. */
void ra_rollout_run_init(RaRolloutRun *run, RaArena *arena, const RaPlan *plan,
                         uint32_t call, RaCandidates *candidates);
void ra_rollout_run_clear(RaRolloutRun *run);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RaRolloutRun, ra_rollout_run_clear)

/* Sets the ends of parts and the clock of the migration. */
void ra_rollout_set_clock(RaRolloutRun *run, uint32_t samples);

/* Clock of the next event after @at; 0: nothing runs. */
uint32_t ra_rollout_next(const RaRolloutRun *run, uint32_t at);

/* Closes the parts that end at @at; the next part begins with a new phase. */
void ra_rollout_close_parts(RaRolloutRun *run, uint32_t at);

/* Replica with the most (@most) or fewest sequences among the first
 * @n_replicas; ties to the lowest. */
uint32_t ra_rollout_replica_with(const RaRolloutRun *run, uint32_t n_replicas,
                                 gboolean most);

/* TRUE if some replica has no sequence while another has at least two. */
gboolean ra_rollout_is_dry(const RaRolloutRun *run);

/* Adds up the moves (element-type RaTravel) before the next phase. */
void ra_rollout_close_moves(RaRolloutRun *run, GArray *travels);

/* Runs all phases with continuous batching. */
void ra_rollout_serve(RaRolloutRun *run, uint32_t call, uint32_t samples);

#endif
