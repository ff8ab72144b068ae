#include "config.h"

#include "graph/expand.h"
#include "study/record.h"
#include "study/replay.h"

static gboolean
run(RaReplay *replay, const RaSetup *setup, const RaReplayOptions *options,
    GError **error)
{
  gboolean real = ra_estimator_is_real(setup->estimator);
  RaExpandOptions expand = {.fidelity =
                                real ? RA_FIDELITY_CALL : options->fidelity,
                            .seed = options->seed,
                            .fold = !options->unfolded};

  replay->augmented = ra_augment(setup->plan, options->n_iterations);
  replay->graph = ra_expand_with(replay->augmented, &expand, error);
  if (!replay->graph)
    return FALSE;
  replay->sim = ra_sim_new(replay->graph, setup->estimator, error);
  return replay->sim && ra_sim_run(replay->sim, error);
}

RaReplay *
ra_replay_new(const RaSetup *setup, const RaReplayOptions *options,
              GError **error)
{
  g_autoptr(RaReplay) replay = g_new0(RaReplay, 1);

  g_return_val_if_fail(setup && setup->plan && setup->estimator, NULL);
  g_return_val_if_fail(options && options->n_iterations > 0, NULL);
  if (run(replay, setup, options, error))
    return g_steal_pointer(&replay);
  g_prefix_error(error, "%s: ", setup->plan_path);
  return NULL;
}

void
ra_replay_free(RaReplay *replay)
{
  if (!replay)
    return;
  ra_sim_free(replay->sim);
  ra_task_graph_free(replay->graph);
  ra_augmented_free(replay->augmented);
  g_free(replay);
}

RaTrace *
ra_replay_trace(const RaSetup *setup, const RaReplay *replay)
{
  RaTrace *trace = ra_record(replay->sim, replay->graph);
  g_autofree char *profile = g_path_get_basename(setup->profile_path);

  ra_trace_set_head(trace, "software", PACKAGE_NAME " " PACKAGE_VERSION);
  ra_trace_set_head(trace, "profile", profile);
  if (setup->system_path) {
    g_autofree char *system = g_path_get_basename(setup->system_path);

    ra_trace_set_head(trace, "system", system);
  }
  ra_trace_set_head(trace, "fidelity",
                    replay->graph->fidelity == RA_FIDELITY_CALL ? "call"
                                                                : "stage");
  return trace;
}
