/* Experts that ranks share: their groups. */
#include "config.h"

#include "exec/run_impl.h"

/* The rank that leads a group of one kind that @coord is in. */
static uint32_t
leader_of(const RaCallPlan *p, const RaCoord *coord, gboolean same)
{
  uint32_t ep = ra_call_plan_ep(p), data = ra_call_plan_data_rank(p, coord);
  RaCoord first =
      ra_call_plan_data_coord(p, *coord, same ? data % ep : data / ep * ep);

  return ra_call_plan_rank(p, &first);
}

void
ra_run_add_experts(RaRun *run, uint32_t call)
{
  const RaCallPlan *p = &run->plan->calls[call];
  uint32_t n = ra_mesh_n_gpus(&p->mesh), ep = ra_call_plan_ep(p);
  g_autofree RaLocalGroup **groups = g_new0(RaLocalGroup *, 2 * n);

  if (ep == 1)
    return;
  for (uint32_t rank = 0; rank < n; rank++) {
    uint32_t gpu = ra_mesh_gpu(&p->mesh, run->plan->cluster, rank);
    RaRankCall *c = &run->ranks[run->rank_of_gpu[gpu]].calls[call];
    uint32_t data = ra_call_plan_data_rank(p, &c->coord);

    for (uint32_t same = 0; same < 2; same++) {
      RaLocalGroup **group =
          &groups[2 * leader_of(p, &c->coord, same == 1) + same];

      if (!*group) {
        *group =
            ra_local_group_new(same ? p->dp * p->cp / ep : ep, run->has_cores);
        g_ptr_array_add(run->groups, *group);
      }
      if (same)
        c->experts = ra_local_comm_new(*group, data / ep);
      else
        c->ep = ra_local_comm_new(*group, data % ep);
    }
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
