/* A plan replayed: from the files to the end of the last event.
 *
 *     g_autoptr(RaReplay) replay = ra_replay_new(setup, &options, &error);
 *     if (replay)
 *       use(ra_sim_result(replay->sim)->makespan_s);
 *
 * The one way from a setup to a result, for `simulate`, `plot` and whatever
 * composes runs.
 */
#ifndef RA_STUDY_REPLAY_H
#define RA_STUDY_REPLAY_H

#include "sim/record.h"
#include "sim/sim.h"
#include "study/setup.h"
#include "traces/trace.h"

typedef struct {
  uint32_t n_iterations; /* >= 1 */
  RaFidelity fidelity;   /* CALL or STAGE; CALL where the estimator is ReaL's */
  uint64_t seed;         /* of the sampled lengths */
  gboolean unfolded;     /* every replica by itself; the numbers are the same */
  gboolean flows;        /* communication contends (sim/flows.h); unfolded */
  gboolean record;       /* ra_replay_trace() will be asked for, and at op
                            fidelity has every step */
  gboolean record_decode; /* and every op of a decode step */
} RaReplayOptions;

typedef struct {
  RaEstimator *estimator; /* owned: a fork of the setup's */
  RaAugmented *augmented; /* owned */
  RaTaskGraph *graph;     /* owned */
  RaSim *sim;             /* owned; has run */
  RaRecorder *recorder;   /* owned, nullable: of its steps */
  gboolean record_decode; /* of its options */
} RaReplay;

/**
 * ra_replay_new:
 * @setup: with a plan; borrowed, outlives the replay
 * @options: what to replay
 * @error: as ra_expand(), ra_sim_new(), ra_sim_use_network(), ra_sim_run(); a
 *   cluster's links have rates of their own and @options has no flows; led by
 * the plan's path
 *
 * Returns: (transfer full): ra_replay_free() it
 */
RaReplay *ra_replay_new(const RaSetup *setup, const RaReplayOptions *options,
                        GError **error);
void ra_replay_free(RaReplay *replay);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaReplay, ra_replay_free)

/**
 * ra_replay_trace:
 * @setup: of the replay
 * @replay: what ran; asked once where it was recorded
 *
 * ra_record() with what the setup and this program add to its head: software,
 * profile, system if there is one, fidelity.  No date: equal runs give equal
 * files.
 *
 * Returns: (transfer full): ra_trace_free() it
 */
RaTrace *ra_replay_trace(const RaSetup *setup, RaReplay *replay);

#endif
