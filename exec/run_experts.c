/* Experts that ranks share: their groups. */
#include "config.h"

#include "exec/run_impl.h"

/* The group that the rank of number @data, among those with the same part of
 * the model, leads: with @same of those that hold the same experts, else of
 * those that share them. */
static void
add_group(RaRun *run, uint32_t call, const RaCoord *coord, uint32_t data,
          gboolean same)
{
  const RaCallPlan *p = &run->plan->calls[call];
  uint32_t ep = ra_call_plan_ep(p);
  uint32_t n = same ? p->dp * p->cp / ep : ep, step = same ? ep : 1;
  g_autofree uint32_t *members = g_new(uint32_t, n);
  RaRunGroup *group;

  for (uint32_t i = 0; i < n; i++) {
    RaCoord at = ra_call_plan_data_coord(p, *coord, data + i * step);

    members[i] = ra_run_mesh_rank(run, p, ra_call_plan_rank(p, &at));
  }
  group = ra_run_group_new(run, n, members);
  for (uint32_t i = 0; i < n; i++) {
    RaRankCall *c = &run->ranks[members[i]].calls[call];
    RaComm *comm = ra_run_comm_new(run, group, members[i], i);

    if (same)
      c->experts = comm;
    else
      c->ep = comm;
  }
}

void
ra_run_add_experts(RaRun *run, uint32_t call)
{
  const RaCallPlan *p = &run->plan->calls[call];
  uint32_t ep = ra_call_plan_ep(p);

  for (uint32_t rank = 0; ep > 1 && rank < ra_mesh_n_gpus(&p->mesh); rank++) {
    RaCoord coord = ra_call_plan_coord(p, rank);
    uint32_t data = ra_call_plan_data_rank(p, &coord);

    if (data % ep == 0)
      add_group(run, call, &coord, data, FALSE);
    if (data < ep)
      add_group(run, call, &coord, data, TRUE);
  }
}

/* Of the two tasks of a reduction that of experts has fewer ranks. */
gboolean
ra_run_is_experts(const RaRun *run, RaTaskId task)
{
  const RaTaskGraph *g = run->graph;
  const RaCallPlan *p = &run->plan->calls[ra_run_node(run, task)->call];

  return ra_call_plan_ep(p) > 1 &&
         g->works[g->work[task]].op.dim[1] != (uint64_t)p->dp * p->cp;
}

RaSpan
ra_run_replicas_met(const RaRun *run, uint32_t call, uint32_t replica)
{
  const RaCallPlan *p = &run->plan->calls[call];
  uint32_t n = ra_call_plan_ep(p) > 1 ? ra_call_plan_ep_replicas(p) : 1;

  return (RaSpan){replica / n * n, replica / n * n + n};
}
