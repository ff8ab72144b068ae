/* Plans that isolate one call. */
#include "config.h"

#include "search/space/isolated_call.h"

static RaCallPlan
trivial(uint32_t *layers)
{
  RaCallPlan plan = {.set = TRUE,
                     .mesh = {.n_runs = 1, .n_nodes = 1, .gpus_per_node = 1},
                     .dp = 1,
                     .tp = 1,
                     .pp = 1,
                     .cp = 1,
                     .ep = 1,
                     .n_micro_batches = 1,
                     .n_virtual = 1,
                     .zero_group = 1,
                     .stage_layers = layers};

  plan.mesh.runs[0].n = 1;
  for (guint axis = 0; axis < RA_N_AXES; axis++)
    plan.axis[axis] = (uint8_t)axis;
  return plan;
}

RaIsolatedCall *
ra_isolated_call_new(const RaWorkload *workload, const RaCluster *cluster,
                     uint32_t call, const RaCallPlan *plan)
{
  RaIsolatedCall *lone = g_new0(RaIsolatedCall, 1);

  g_return_val_if_fail(workload->calls[call].model != RA_NONE, lone);
  lone->cluster = *cluster;
  lone->cluster.n_nodes = plan->mesh.n_nodes;
  lone->layers = g_new0(uint32_t, workload->n_calls);
  lone->plan = g_new0(RaPlan, 1);
  lone->plan->workload = workload;
  lone->plan->cluster = &lone->cluster;
  lone->plan->calls = g_new0(RaCallPlan, workload->n_calls);
  for (guint c = 0; c < workload->n_calls; c++) {
    uint32_t model = workload->calls[c].model;

    if (model == RA_NONE)
      continue;
    lone->layers[c] = workload->models[model].model->n_layers;
    lone->plan->calls[c] = trivial(&lone->layers[c]);
  }
  lone->plan->calls[call] = *plan;
  if (cluster->kinds) {
    /* Kinds go by the node, so the nodes before are cut off. */
    uint32_t first = plan->mesh.runs[0].first;
    RaMesh *mesh = &lone->plan->calls[call].mesh;

    lone->cluster.kind_of_node += first;
    lone->cluster.n_nodes = mesh->runs[mesh->n_runs - 1].first +
                            mesh->runs[mesh->n_runs - 1].n - first;
    for (uint32_t i = 0; i < mesh->n_runs; i++)
      mesh->runs[i].first -= first;
  }
  return lone;
}

void
ra_isolated_call_free(RaIsolatedCall *lone)
{
  if (!lone)
    return;
  g_free(lone->plan->calls);
  g_free(lone->plan);
  g_free(lone->layers);
  g_free(lone);
}
