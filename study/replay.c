/* Replay of a plan: augmented graph, tasks, simulation, trace. */
#include "config.h"

#include "base/error.h"
#include "graph/expand/expand.h"
#include "sim/record.h"
#include "study/replay.h"

/* Ranks that differ by jitter are no twins. */
static gboolean
ranks_differ(const RaSetup *setup)
{
  return ra_cluster_ranks_differ(setup->cluster);
}

/* The leaves of a fabric carry less up than down, and nodes lie below several
 * of them: without flows that would cost nothing. */
static gboolean
has_narrow_fabric(const RaCluster *cluster)
{
  const RaFabric *fabric = &cluster->fabric;

  return fabric->oversubscription > 1 && fabric->n_leaf_nodes > 0 &&
         cluster->n_nodes > fabric->n_leaf_nodes;
}

static gboolean
run(RaReplay *replay, const RaSetup *setup, const RaReplayOptions *options,
    GError **error)
{
  gboolean real = ra_estimator_is_real(setup->estimator);
  RaExpandOptions expand = {.fidelity =
                                real ? RA_FIDELITY_CALL : options->fidelity,
                            .seed = options->seed,
                            .fold = !options->unfolded,
                            .until = options->until};

  if ((setup->cluster->n_links > 0 || setup->cluster->graph) &&
      !options->flows) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "links of the cluster have rates of their own, expected "
                "--network=flows, which takes them into account");
    return FALSE;
  }
  if (has_narrow_fabric(setup->cluster) && !options->flows) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "the cluster's fabric is oversubscribed %g:1, expected "
                "--network=flows (network = flows in a study), which takes it "
                "into account, or fabric = flat",
                setup->cluster->fabric.oversubscription);
    return FALSE;
  }
  if (setup->cluster->kinds && real) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "ReaL's estimator supports one kind of GPU, the cluster has "
                "several, expected one kind (--cluster, or its file without "
                "[kind] groups) or no --estimator=real");
    return FALSE;
  }
  if (options->flows ||
      (expand.fidelity == RA_FIDELITY_OP && ranks_differ(setup)))
    expand.fold = FALSE;

  replay->augmented =
      ra_augment_drawn(setup->plan, options->n_iterations, options->seed);
  replay->graph = ra_expand_with(replay->augmented, &expand, error);
  if (!replay->graph)
    return FALSE;
  replay->estimator = ra_estimator_fork(setup->estimator);
  replay->sim = ra_sim_new(replay->graph, replay->estimator, error);
  if (!replay->sim ||
      (options->flows &&
       !ra_sim_use_network(replay->sim, replay->estimator, error)))
    return FALSE;
  replay->record_decode =
      options->record_decode && options->fidelity == RA_FIDELITY_OP;
  if (options->record)
    replay->recorder = ra_recorder_new(replay->sim, replay->graph);
  return ra_sim_run(replay->sim, error);
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
  ra_recorder_free(replay->recorder);
  ra_sim_free(replay->sim);
  ra_task_graph_free(replay->graph);
  ra_augmented_free(replay->augmented);
  ra_estimator_free(replay->estimator);
  g_free(replay);
}

RaTrace *
ra_replay_trace(const RaSetup *setup, RaReplay *replay)
{
  RaTrace *trace =
      replay->recorder
          ? ra_recorder_finish(g_steal_pointer(&replay->recorder),
                               replay->record_decode ? replay->estimator : NULL)
          : ra_record(replay->sim, replay->graph);
  g_autofree char *profile = g_path_get_basename(setup->profile_path);

  ra_trace_set_head(trace, "software", PACKAGE_NAME " " PACKAGE_VERSION);
  ra_trace_set_head(trace, "profile", profile);
  if (setup->profile && setup->profile->pace.n_draws > 0) {
    g_autofree char *pace =
        g_strdup_printf("%.4f", setup->profile->pace.wall_per_cpu);

    ra_trace_set_head(trace, RA_TRACE_WALL_PER_CPU, pace);
  }
  if (setup->system_path) {
    g_autofree char *system = g_path_get_basename(setup->system_path);

    ra_trace_set_head(trace, "system", system);
  }
  ra_trace_set_head(trace, "fidelity",
                    ra_fidelity_name(replay->graph->fidelity));
  return trace;
}
