/* Replay of a plan: from the setup to the end of the last event.
 *
 *     g_autoptr(RaReplay) replay = ra_replay_new(setup, &options, &error);
 *     if (replay)
 *       use(ra_sim_result(replay->sim)->makespan_s);
 *
 * This is the only path from a setup to a result, for `simulate`, `plot` and
 * everything that combines runs.
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
  const RaUntil *until;  /* nullable, outlives the replay: when over, it fails
                            (RA_ERROR_NEGATIVE) */
  gboolean unfolded;     /* replays every replica separately, with the same
                            results */
  gboolean flows;        /* communication contends (sim/flows.h); unfolded */
  gboolean record; /* ra_replay_trace() will be called; at op fidelity it has
                      every step */
  gboolean record_decode; /* also records every op of a decode step */
} RaReplayOptions;

typedef struct {
  RaEstimator *estimator; /* owned: a fork of the setup's */
  RaAugmented *augmented; /* owned */
  RaTaskGraph *graph;     /* owned */
  RaSim *sim;             /* owned; has run */
  RaRecorder *recorder;   /* owned, nullable: recorder of its steps */
  gboolean record_decode; /* from the options */
} RaReplay;

/**
 * ra_replay_new:
 * @setup: with a plan; borrowed, outlives the replay
 * @options: what to replay
 * @error: prefixed with the plan's path: as ra_expand(), ra_sim_new(),
 *   ra_sim_use_network(), ra_sim_run(); the cluster's links have rates of their
 *   own, or its fabric is oversubscribed, but @options has no flows
 *
 * Returns: (transfer full): free with ra_replay_free()
 */
RaReplay *ra_replay_new(const RaSetup *setup, const RaReplayOptions *options,
                        GError **error);
void ra_replay_free(RaReplay *replay);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaReplay, ra_replay_free)

/**
 * ra_replay_trace:
 * @setup: setup of the replay
 * @replay: a finished replay; call once if it was recorded
 *
 * Makes the trace of ra_record(), with additional head fields: software,
 * profile, system if there is one, fidelity.  There is no date, so equal runs
 * give equal files.
 *
 * Returns: (transfer full): free with ra_trace_free()
 */
RaTrace *ra_replay_trace(const RaSetup *setup, RaReplay *replay);

#endif
