/* The groups of ranks: all processes make those of the plan
 * (exec/comm/comm_groups.h) in the same order, and each rank's ends of them. */
#include "config.h"

#include "exec/run_impl.h"

/* Within a process or over several. */
struct _RaRunGroup {
  RaLocalGroup *local;  /* owned; NULL: members in several processes */
  RaWorldGroup *apart;  /* owned; NULL: none, or no member is here */
  const RaWorld *world; /* borrowed */
};

static void
group_free(RaRunGroup *group)
{
  ra_local_group_free(group->local);
  if (group->apart)
    group->world->table->group_free(group->apart);
  g_free(group);
}

/* (transfer none): by all processes, in the same order. */
static RaRunGroup *
group_new(RaRun *run, uint32_t n, const uint32_t *members)
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

/* (transfer full) (nullable): the end of member @i, which is @rank, if here. */
static RaComm *
comm_new(const RaRun *run, RaRunGroup *g, uint32_t rank, uint32_t i)
{
  if (!ra_run_is_here(run, rank))
    return NULL;
  return g->local ? ra_local_comm_new(g->local, i)
                  : run->world->table->comm_new(g->apart, i);
}

/* ---- whose they are -------------------------------------------------------*/

/* Where a call of a rank has its end of a group; NULL: nowhere. */
static RaComm **
place_of(RaRankCall *c, RaGroupKind kind)
{
  switch (kind) {
  case RA_GROUP_TP:
    return &c->tp;
  case RA_GROUP_CP:
    return &c->cp;
  case RA_GROUP_DATA:
    return &c->dp;
  case RA_GROUP_MESH:
    return &c->mesh;
  case RA_GROUP_ENDS:
    return &c->ends;
  case RA_GROUP_EP:
    return &c->ep;
  case RA_GROUP_EXPERTS:
    return &c->experts;
  default:
    return NULL;
  }
}

static void
place_end(RaRank *rank, const RaCommGroupUse *use)
{
  RaComm **place;

  if (use->kind == RA_GROUP_WORLD)
    rank->world = rank->ends[use->group];
  if (use->call == RA_NONE)
    return;
  place = place_of(&rank->calls[use->call], (RaGroupKind)use->kind);
  if (place)
    *place = rank->ends[use->group];
}

/* Sets the communicators in which a rank is the only member. */
static void
place_alone(RaRank *rank, uint32_t call)
{
  RaRankCall *c = &rank->calls[call];

  if (!c->is_in)
    return;
  c->tp = c->tp ? c->tp : rank->alone;
  c->dp = c->dp ? c->dp : rank->alone;
  c->mesh = c->mesh ? c->mesh : rank->alone;
  if (ra_call_plan_ep(&rank->run->plan->calls[call]) > 1 && !c->experts)
    c->experts = rank->alone;
}

static void
place_ends(RaRun *run)
{
  for (guint i = 0; i < run->splits->uses->len; i++) {
    const RaCommGroupUse *use =
        &g_array_index(run->splits->uses, RaCommGroupUse, i);
    const RaCommGroup *g =
        &g_array_index(run->splits->groups, RaCommGroup, use->group);

    for (uint32_t k = 0; k < g->n; k++)
      place_end(&run->ranks[g_array_index(run->splits->members, uint32_t,
                                          g->first + k)],
                use);
  }
  for (uint32_t i = 0; i < run->n_ranks; i++) {
    RaRank *rank = &run->ranks[i];

    rank->world = rank->world ? rank->world : rank->alone;
    for (uint32_t call = 0; call < run->workload->n_calls; call++)
      place_alone(rank, call);
  }
}

/* ---- making ---------------------------------------------------------------*/

static void
make_group(RaRun *run, uint32_t number)
{
  const RaCommGroup *s =
      &g_array_index(run->splits->groups, RaCommGroup, number);
  const uint32_t *members =
      &g_array_index(run->splits->members, uint32_t, s->first);
  RaRunGroup *g;

  if (s->kind == RA_GROUP_PAIR)
    return; /* all pairs have one group a direction, whose sends never wait */
  g = group_new(run, s->n, members);
  for (uint32_t i = 0; i < s->n; i++)
    run->ranks[members[i]].ends[number] = comm_new(run, g, members[i], i);
}

/* A group of all ranks, for messages of @ranks. */
static void
make_pairs(RaRun *run, gboolean back)
{
  g_autofree uint32_t *all = g_new(uint32_t, run->n_ranks);
  RaRunGroup *g;

  for (uint32_t i = 0; i < run->n_ranks; i++)
    all[i] = i;
  g = group_new(run, run->n_ranks, all);
  for (uint32_t i = 0; i < run->n_ranks; i++) {
    RaComm *comm = comm_new(run, g, i, i);

    if (back)
      run->ranks[i].messages.backward = comm;
    else
      run->ranks[i].messages.forward = comm;
  }
}

static void
find_places(RaRun *run)
{
  for (uint32_t call = 0; call < run->workload->n_calls; call++) {
    const RaCallPlan *p = &run->plan->calls[call];

    if (run->workload->calls[call].kind == RA_CALL_HOST)
      continue;
    for (uint32_t i = 0; i < ra_mesh_n_gpus(&p->mesh); i++) {
      uint32_t gpu = ra_mesh_gpu(&p->mesh, run->plan->cluster, i);
      RaRankCall *c = &run->ranks[run->rank_of_gpu[gpu]].calls[call];

      c->is_in = TRUE;
      c->coord = ra_call_plan_coord(p, i);
    }
  }
}

/* Those of threads of a process, or of the world's. */
static void
make_groups(RaRun *run)
{
  for (uint32_t i = 0; i < run->splits->groups->len; i++)
    make_group(run, i);
  make_pairs(run, FALSE);
  make_pairs(run, TRUE);
}

gboolean
ra_run_add_groups(RaRun *run, GError **error)
{
  run->groups = g_ptr_array_new_with_free_func((GDestroyNotify)group_free);
  run->splits = ra_comm_groups_new(run->n_ranks);
  ra_comm_groups_add_plan(run->splits, run->plan, run->rank_of_gpu);
  if (run->options.nccl)
    ra_run_add_rounds(run);
  find_places(run);
  for (uint32_t i = 0; i < run->n_ranks; i++)
    run->ranks[i].ends = g_new0(RaComm *, run->splits->groups->len + 1);
  if (!run->options.nccl)
    make_groups(run);
  else if (!ra_run_join_nccl(run, error))
    return FALSE;
  for (uint32_t i = 0; i < run->n_ranks; i++)
    if (!run->ranks[i].alone)
      run->ranks[i].alone = comm_new(run, group_new(run, 1, &i), i, 0);
  place_ends(run);
  return TRUE;
}

void
ra_rank_clear_ends(RaRank *rank)
{
  for (guint i = 0; rank->ends && i < rank->run->splits->groups->len; i++)
    ra_comm_free(rank->ends[i]);
  ra_comm_free(rank->alone);
  ra_comm_free(rank->peer);
  ra_comm_free(rank->messages.forward);
  ra_comm_free(rank->messages.backward);
  g_free(rank->ends);
  ra_nccl_leave(rank->nccl);
}
