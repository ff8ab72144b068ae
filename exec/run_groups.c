/* The groups of ranks: made from the graph, the same on every process. */
#include "config.h"

#include "exec/run_impl.h"

/* Within a process or over several. */
struct _RaRunGroup {
  RaLocalGroup *local;  /* owned; NULL: members in several processes */
  RaWorldGroup *apart;  /* owned; NULL: none, or no member is here */
  const RaWorld *world; /* borrowed */
};

void
ra_run_group_free(RaRunGroup *group)
{
  ra_local_group_free(group->local);
  if (group->apart)
    group->world->table->group_free(group->apart);
  g_free(group);
}

RaRunGroup *
ra_run_group_new(RaRun *run, uint32_t n, const uint32_t *members)
{
  RaRunGroup *g = g_new0(RaRunGroup, 1);
  g_autofree uint32_t *process_of = g_new(uint32_t, n);
  gboolean is_local = TRUE, is_here = FALSE;

  g_ptr_array_add(run->groups, g);
  g->world = run->world;
  for (uint32_t i = 0; i < n; i++) {
    process_of[i] = ra_world_process(run->world, members[i], run->n_ranks);
    is_local = is_local && process_of[i] == process_of[0];
    is_here = is_here || ra_run_is_here(run, members[i]);
  }
  if (is_here && is_local)
    g->local = ra_local_group_new(n, run->has_cores);
  else if (is_here)
    g->apart = run->world->table->group_new(run->world, n, process_of);
  return g;
}

RaComm *
ra_run_comm_new(const RaRun *run, RaRunGroup *g, uint32_t rank, uint32_t i)
{
  if (!ra_run_is_here(run, rank))
    return NULL;
  return g->local ? ra_local_comm_new(g->local, i)
                  : run->world->table->comm_new(g->apart, i);
}

uint32_t
ra_run_mesh_rank(const RaRun *run, const RaCallPlan *p, uint32_t i)
{
  return run->rank_of_gpu[ra_mesh_gpu(&p->mesh, run->plan->cluster, i)];
}

/* The end of a call's rank in a group of one kind. */
typedef RaComm **(*PlaceFunc)(RaRankCall *call);

static RaComm **
tp_of(RaRankCall *call)
{
  return &call->tp;
}

static RaComm **
cp_of(RaRankCall *call)
{
  return &call->cp;
}

static RaComm **
mesh_of(RaRankCall *call)
{
  return &call->mesh;
}

/* The groups of one kind of a call: ranks whose coordinates agree but for those
 * along @axis; with RA_N_AXES all ranks. */
static void
add_groups(RaRun *run, uint32_t call, uint32_t axis, PlaceFunc place)
{
  const RaCallPlan *p = &run->plan->calls[call];
  uint32_t n = ra_mesh_n_gpus(&p->mesh);
  uint32_t size = axis < RA_N_AXES ? ra_call_plan_degree(p, (RaAxis)axis) : n;
  g_autofree uint32_t *members = g_new(uint32_t, size);

  for (uint32_t first = 0; first < n; first++) {
    RaCoord coord = ra_call_plan_coord(p, first);
    RaRunGroup *g;

    if (axis < RA_N_AXES ? coord.at[axis] > 0 : first > 0)
      continue;
    for (uint32_t i = 0; i < size; i++) {
      if (axis < RA_N_AXES)
        coord.at[axis] = i;
      members[i] = ra_run_mesh_rank(
          run, p, axis < RA_N_AXES ? ra_call_plan_rank(p, &coord) : i);
    }
    g = ra_run_group_new(run, size, members);
    for (uint32_t i = 0; i < size; i++)
      *place(&run->ranks[members[i]].calls[call]) =
          ra_run_comm_new(run, g, members[i], i);
  }
}

/* Ranks that have the same part of the model: dp x cp. */
static void
add_data_groups(RaRun *run, uint32_t call)
{
  const RaCallPlan *p = &run->plan->calls[call];
  uint32_t size = p->dp * p->cp;
  g_autofree uint32_t *members = g_new(uint32_t, size);

  for (uint32_t first = 0; first < ra_mesh_n_gpus(&p->mesh); first++) {
    RaCoord coord = ra_call_plan_coord(p, first);
    RaRunGroup *g;

    if (ra_call_plan_data_rank(p, &coord) > 0)
      continue;
    for (uint32_t i = 0; i < size; i++) {
      RaCoord at = ra_call_plan_data_coord(p, coord, i);

      members[i] = ra_run_mesh_rank(run, p, ra_call_plan_rank(p, &at));
    }
    g = ra_run_group_new(run, size, members);
    for (uint32_t i = 0; i < size; i++)
      run->ranks[members[i]].calls[call].dp =
          ra_run_comm_new(run, g, members[i], i);
  }
}

/* The first and the last stage: of the pipeline's groups two ranks each. */
static void
add_ends(RaRun *run, uint32_t call)
{
  const RaCallPlan *p = &run->plan->calls[call];

  for (uint32_t i = 0; p->pp > 1 && i < run->n_ranks; i++) {
    RaRankCall *first = &run->ranks[i].calls[call];
    RaCoord coord = first->coord;
    uint32_t members[2] = {i, 0};
    RaRunGroup *g;

    if (!first->is_in || coord.at[RA_AXIS_PP] > 0)
      continue;
    coord.at[RA_AXIS_PP] = p->pp - 1;
    members[1] = ra_run_rank_at(run, call, &coord);
    g = ra_run_group_new(run, 2, members);
    first->ends = ra_run_comm_new(run, g, members[0], 0);
    run->ranks[members[1]].calls[call].ends =
        ra_run_comm_new(run, g, members[1], 1);
  }
}

void
ra_run_add_comms(RaRun *run, uint32_t call)
{
  const RaCallPlan *p = &run->plan->calls[call];

  for (uint32_t i = 0; i < ra_mesh_n_gpus(&p->mesh); i++) {
    RaRankCall *c = &run->ranks[ra_run_mesh_rank(run, p, i)].calls[call];

    c->is_in = TRUE;
    c->coord = ra_call_plan_coord(p, i);
  }
  add_groups(run, call, RA_AXIS_TP, tp_of);
  if (p->cp > 1)
    add_groups(run, call, RA_AXIS_CP, cp_of);
  add_data_groups(run, call);
  add_groups(run, call, RA_N_AXES, mesh_of);
  add_ends(run, call);
  ra_run_add_experts(run, call);
}

void
ra_run_add_shared_comms(RaRun *run)
{
  g_autofree uint32_t *all = g_new(uint32_t, run->n_ranks);
  RaRunGroup *world, *forward, *backward;

  for (uint32_t i = 0; i < run->n_ranks; i++)
    all[i] = i;
  world = ra_run_group_new(run, run->n_ranks, all);
  forward = ra_run_group_new(run, run->n_ranks, all);
  backward = ra_run_group_new(run, run->n_ranks, all);
  for (uint32_t i = 0; i < run->n_ranks; i++) {
    run->ranks[i].world = ra_run_comm_new(run, world, i, i);
    run->ranks[i].forward = ra_run_comm_new(run, forward, i, i);
    run->ranks[i].backward = ra_run_comm_new(run, backward, i, i);
  }
}
