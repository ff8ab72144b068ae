/* Plans as points of the space. */
#include "config.h"

#include <string.h>

#include "graph/input/plan_batching.h"
#include "graph/input/plan_service.h"
#include "graph/input/plan_tail.h"
#include "graph/input/residency.h"
#include "graph/input/trips.h"
#include "search/space/space_impl.h"

/* TRUE if it is a slice of a node or whole nodes, in at most @n_runs runs. */
static gboolean
is_regular_mesh(const RaCluster *cluster, const RaMesh *mesh, uint32_t n_runs)
{
  return mesh->n_runs <= n_runs &&
         (mesh->n_nodes == 1 || mesh->gpus_per_node == cluster->gpus_per_node);
}

/* TRUE if rank order and mesh are those that candidates have. */
static gboolean
is_regular(const RaCluster *cluster, const RaCallPlan *p)
{
  uint32_t last = 0;

  for (guint k = 0; k < RA_N_AXES; k++) {
    if (ra_call_plan_degree(p, (RaAxis)p->axis[k]) == 1)
      continue;
    if (p->axis[k] < last)
      return FALSE;
    last = p->axis[k];
  }
  return is_regular_mesh(cluster, &p->mesh, RA_NODE_SET_RUNS);
}

/* The same but for mesh, stages and residency. */
static gboolean
same_strategy(const RaCallPlan *a, const RaCallPlan *b)
{
  return a->dp == b->dp && a->tp == b->tp && a->pp == b->pp && a->cp == b->cp &&
         ra_call_plan_ep(a) == ra_call_plan_ep(b) &&
         ra_call_plan_expert_tp(a) == ra_call_plan_expert_tp(b) &&
         a->dispatch == b->dispatch &&
         a->n_micro_batches == b->n_micro_batches &&
         a->n_mini_batches == b->n_mini_batches && a->schedule == b->schedule &&
         a->n_virtual == b->n_virtual &&
         a->sequence_parallel == b->sequence_parallel &&
         a->recompute == b->recompute && a->zero == b->zero &&
         a->zero_group == b->zero_group && a->gathers == b->gathers &&
         a->grad_dtype == b->grad_dtype && a->dtype == b->dtype &&
         a->kv_dtype == b->kv_dtype && a->expert_dtype == b->expert_dtype &&
         ra_call_plan_same_fp8(a, b) &&
         a->overlap_grad_reduce == b->overlap_grad_reduce &&
         a->launch == b->launch && a->realloc == b->realloc &&
         a->attention == b->attention && a->cross_entropy == b->cross_entropy &&
         a->scatter_sends == b->scatter_sends && a->balance == b->balance &&
         a->padding == b->padding && a->padded_length == b->padded_length &&
         a->master_weights == b->master_weights &&
         a->moments_dtype == b->moments_dtype &&
         ra_plan_same_batching(a, b) && ra_plan_same_tail(&a->tail, &b->tail) &&
         a->service == b->service &&
         ra_plan_sync_interval(a) == ra_plan_sync_interval(b) &&
         memcmp(a->stage_layers, b->stage_layers,
                a->pp * a->n_virtual * sizeof(uint32_t)) == 0;
}

uint32_t
ra_candidate_position(const RaCandidate *candidate, uint32_t begin,
                      const RaMesh *set)
{
  uint32_t n_runs = candidate->n_positions - candidate->n_sets;
  uint32_t at = begin - candidate->first;

  if (!set)
    return begin >= candidate->first && candidate->step > 0 &&
                   at % candidate->step == 0 && at / candidate->step < n_runs
               ? at / candidate->step
               : RA_NONE;
  for (uint32_t i = 0; i < candidate->n_sets; i++)
    if (ra_mesh_equal(set, &candidate->sets[i]))
      return n_runs + i;
  return RA_NONE;
}

RaMesh
ra_space_mesh_at(const RaSpace *space, const RaCandidate *candidate,
                 uint32_t position)
{
  const RaMesh *set = ra_candidate_set(candidate, position);

  if (candidate->layout == RA_NONE)
    return candidate->plan.mesh; /* a host call's */
  return set ? *set
             : ra_space_mesh(space->cluster,
                             ra_candidate_begin(candidate, position),
                             candidate->n_gpus);
}

/* A candidate for @plan: all places of its size; a set, or kinds: its own. */
static void
add_candidate(RaSpace *space, uint32_t call, const RaCallPlan *plan,
              gboolean pins, uint32_t n_gpus, const RaMesh *set)
{
  RaSpaceCall *to = &space->calls[call];
  const RaCluster *cluster = space->cluster;
  RaCandidate c = {.plan = *plan, .n_gpus = n_gpus, .pins = pins};

  c.step = ra_space_step(cluster, n_gpus);
  c.n_positions = (ra_space_n_gpus(space) - n_gpus) / c.step + 1;
  if (cluster->kinds && !set) {
    c.first = ra_mesh_gpu(&plan->mesh, cluster, 0);
    c.n_positions = 1;
  }
  if (set) {
    RaMesh *kept = g_memdup2(set, sizeof *set);

    g_ptr_array_add(space->added, kept);
    c.sets = kept;
    c.n_sets = c.n_positions = 1;
  }
  c.plan.mesh =
      set && cluster->kinds ? *set : ra_space_mesh(cluster, c.first, n_gpus);
  c.kinds = ra_cluster_kinds(cluster, &c.plan.mesh);
  if (!pins)
    c.plan.residency = RA_RESIDENCY_RELEASE;
  space->pins |= pins;
  space->services |= plan->service != RA_SERVICE_NONE;
  space->most_sync[call] =
      MAX(space->most_sync[call], ra_plan_sync_interval(plan));
  c.plan.stage_layers = g_memdup2(
      plan->stage_layers, plan->pp * plan->n_virtual * sizeof(uint32_t));
  ra_footprint_init(&c.footprint, space->loads, cluster, call, &c.plan);
  to->candidates = g_renew(RaCandidate, to->candidates, to->n + 1);
  to->candidates[to->n++] = c;
}

static void
choose(RaSpace *space, uint32_t call, const RaCallPlan *plan, gboolean pins,
       RaChoice *out)
{
  uint32_t n_gpus = ra_mesh_n_gpus(&plan->mesh);
  uint32_t begin = ra_mesh_gpu(&plan->mesh, space->cluster, 0);
  RaSpaceCall *to = &space->calls[call];
  const RaMesh *set = plan->mesh.n_runs > 1 ? &plan->mesh : NULL;

  for (uint32_t i = 0; i < to->n; i++) {
    const RaCandidate *c = &to->candidates[i];
    uint32_t position;

    if (c->n_gpus != n_gpus || c->pins != pins ||
        (pins && (c->plan.residency != plan->residency ||
                  c->plan.optimizer_residency != plan->optimizer_residency ||
                  c->plan.releases_grads != plan->releases_grads)) ||
        !same_strategy(&c->plan, plan))
      continue;
    position = ra_candidate_position(c, begin, set);
    if (position == RA_NONE)
      continue;
    *out = (RaChoice){i, position};
    return;
  }
  add_candidate(space, call, plan, pins, n_gpus, set);
  *out = (RaChoice){
      to->n - 1, ra_candidate_position(&to->candidates[to->n - 1], begin, set)};
}

/* The mesh on which the data of a host call are gathered.  It runs on its first
 * GPU's node, beside what the GPUs do. */
static void
choose_host(RaSpace *space, uint32_t call, const RaCallPlan *plan,
            RaChoice *out)
{
  RaSpaceCall *to = &space->calls[call];
  RaCandidate c = {.plan = *plan, .n_gpus = 1, .step = 1, .layout = RA_NONE};
  RaMesh first;
  uint32_t i = 1; /* after that without a mesh */

  while (i < to->n && !ra_mesh_equal(&to->candidates[i].plan.mesh, &plan->mesh))
    i++;
  *out = (RaChoice){i, 0};
  if (i < to->n)
    return;
  c.first = ra_mesh_gpu(&plan->mesh, space->cluster, 0);
  c.n_positions = 1;
  c.plan.stage_layers = NULL;
  first = ra_space_mesh(space->cluster, c.first, 1);
  c.kinds = ra_cluster_kinds(space->cluster, &first);
  to->candidates = g_renew(RaCandidate, to->candidates, to->n + 1);
  to->candidates[to->n++] = c;
  space->host_meshes = TRUE;
}

/* TRUE if nothing could restore the parameters of @call, or host memory. */
static gboolean
is_firm(const RaPlan *plan, uint32_t call)
{
  return plan->calls[call].residency != RA_RESIDENCY_HOST &&
         ra_residency_is_own(plan, call);
}

/* The residency of a model's copies, and whether some call's is another. */
static void
find_residency(const RaPlan *plan, uint32_t model, uint8_t *out,
               gboolean *out_differ)
{
  const RaWorkload *w = plan->workload;
  gboolean seen = FALSE;

  *out = RA_RESIDENCY_RELEASE;
  *out_differ = FALSE;
  for (guint c = 0; c < w->n_calls; c++) {
    if (w->calls[c].model != model || is_firm(plan, c))
      continue;
    *out_differ |= seen && *out != plan->calls[c].residency;
    if (!seen)
      *out = (uint8_t)plan->calls[c].residency;
    seen = TRUE;
  }
  /* Copies that stay on the GPUs do not go into host memory. */
  for (guint c = 0; c < w->n_calls && *out == RA_RESIDENCY_HOST; c++)
    *out_differ |= w->calls[c].model == model && is_firm(plan, c);
  if (*out_differ)
    *out = RA_RESIDENCY_RELEASE;
}

/* TRUE if the tail of @call decides nothing of other calls: which sequences
 * they have, or in which order, where lengths differ. */
static gboolean
is_own_tail(const RaWorkload *w, uint32_t call, const RaTail *tail)
{
  return (ra_workload_is_even(w) && !ra_trips_are_set(w)) ||
         (tail->over_sample <= 1 && w->calls[call].n_parts == 1);
}

/* TRUE if the calls of @plan can be chosen. */
static gboolean
can_add(const RaSpace *space, const RaPlan *plan)
{
  const RaWorkload *w = space->workload;

  for (guint c = 0; c < w->n_calls; c++) {
    const RaCallPlan *p = &plan->calls[c];

    if (w->calls[c].model == RA_NONE) {
      if (p->set && (!is_regular_mesh(space->cluster, &p->mesh, 1) ||
                     !ra_space_has_gpus(space, &p->mesh)))
        return FALSE;
      continue;
    }
    if (!is_regular(space->cluster, p) || !ra_space_has_gpus(space, &p->mesh) ||
        (ra_tail_is_set(&p->tail) && !is_own_tail(w, c, &p->tail)))
      return FALSE;
  }
  return TRUE;
}

gboolean
ra_space_add(RaSpace *space, const RaPlan *plan, RaPoint *out_point)
{
  const RaWorkload *w = space->workload;
  gboolean differ[RA_POINT_MAX];
  RaPoint point = {.residency = {0}};

  if (!can_add(space, plan))
    return FALSE;
  for (guint m = 0; m < w->n_models; m++) {
    find_residency(plan, m, &point.residency[m], &differ[m]);
    if (differ[m] && w->models[m].adapters)
      return FALSE;
  }
  space->carries |= ra_plan_carries(plan);
  for (guint c = 0; c < w->n_calls; c++) {
    const RaCallPlan *p = &plan->calls[c];
    uint32_t model = w->calls[c].model;

    if (p->set && model == RA_NONE)
      choose_host(space, c, p, &point.calls[c]);
    else if (p->set)
      choose(space, c, p,
             (differ[model] && !is_firm(plan, c)) ||
                 p->service != RA_SERVICE_NONE ||
                 (w->calls[c].kind == RA_CALL_TRAIN &&
                  (p->optimizer_residency > RA_RESIDENCY_KEEP ||
                   p->releases_grads)),
             &point.calls[c]);
  }
  ra_space_number_layouts(space);
  *out_point = point;
  return TRUE;
}

/* --- what is beside a plan --- */

/* TRUE if the sequences of @call divide into the plan's micro-batches. */
static gboolean
divides(const RaSpace *space, uint32_t call, const RaCallPlan *p)
{
  const RaCall *c = &space->workload->calls[call];
  uint32_t pieces = ra_call_plan_n_pieces(c, p);
  uint64_t batch = c->n_sequences / ((uint64_t)pieces * p->dp);

  return p->n_micro_batches > 0 && batch % p->n_micro_batches == 0 &&
         (p->schedule != RA_SCHEDULE_INTERLEAVED ||
          p->n_micro_batches % p->pp == 0);
}

/* Twice and half as many micro-batches, or (0) as many. */
static uint32_t
other_micro_batches(uint32_t n, guint way)
{
  return way == 0 ? n : way == 1 ? 2 * n : n % 2 == 0 ? n / 2 : 0;
}

/* Plans that differ from @point in @call, with @balance and @zero, become
 * points. */
static void
add_beside(RaSpace *space, const RaPoint *point, uint32_t call, int balance,
           int zero, GArray *out)
{
  const RaCandidate own = *ra_space_candidate(space, call, point->calls[call]);
  gboolean trains = space->workload->calls[call].kind == RA_CALL_TRAIN;

  for (int r = RA_RECOMPUTE_NONE; r <= RA_RECOMPUTE_FULL; r++)
    for (guint way = 0; way < 3; way++) {
      RaCallPlan plan = own.plan;
      RaPoint other = *point;

      plan.mesh = ra_space_mesh_at(space, &own, point->calls[call].position);
      plan.n_micro_batches = other_micro_batches(plan.n_micro_batches, way);
      plan.recompute = trains ? r : plan.recompute;
      plan.balance = plan.n_micro_batches > 1 ? balance : own.plan.balance;
      plan.zero = zero;
      if ((!trains && r > RA_RECOMPUTE_NONE) || !divides(space, call, &plan) ||
          (plan.cp > 1 && way > 0) || same_strategy(&plan, &own.plan))
        continue;
      choose(space, call, &plan, own.pins, &other.calls[call]);
      g_array_append_val(out, other);
    }
}

/* The same, with each balance and sharding that frameworks have beside
 * another. */
static void
add_details(RaSpace *space, const RaPoint *point, uint32_t call, GArray *out)
{
  const RaCallPlan *p =
      &ra_space_candidate(space, call, point->calls[call])->plan;
  int balance = p->balance, zero = p->zero;
  gboolean is_even =
      ra_workload_is_even(space->workload) || p->padding != RA_PADDING_NONE;
  gboolean shards = space->workload->calls[call].kind == RA_CALL_TRAIN &&
                    p->pp == 1 && p->zero_group > 1 &&
                    ra_call_plan_ep(p) == 1 && (zero == 1 || zero == 3);

  for (guint more = 0; more < (is_even ? 1u : 2u); more++)
    for (guint other = 0; other < (shards ? 2u : 1u); other++)
      add_beside(space, point, call,
                 more == 0                         ? balance
                 : balance == RA_BALANCE_SEQUENCES ? RA_BALANCE_TOKENS
                                                   : RA_BALANCE_SEQUENCES,
                 other == 0 ? zero : 4 - zero, out);
}

static GArray *
add_all(RaSpace *space, const RaPoint *point, gboolean details)
{
  const RaWorkload *w = space->workload;
  GArray *out = g_array_new(FALSE, FALSE, sizeof(RaPoint));

  for (guint c = 0; c < w->n_calls; c++) {
    const RaCandidate *own = ra_space_candidate(space, c, point->calls[c]);

    if (w->calls[c].model == RA_NONE || w->calls[c].kind == RA_CALL_GENERATE)
      continue;
    if (details)
      add_details(space, point, c, out);
    else
      add_beside(space, point, c, own->plan.balance, own->plan.zero, out);
  }
  ra_space_number_layouts(space);
  return out;
}

GArray *
ra_space_add_beside(RaSpace *space, const RaPoint *point)
{
  return add_all(space, point, FALSE);
}

GArray *
ra_space_add_details(RaSpace *space, const RaPoint *point)
{
  return add_all(space, point, TRUE);
}

/* --- residencies --- */

/* The residency that a call in the layout of @call pins, or the model's. */
static int
stated(const RaSpace *space, const RaPoint *point, uint32_t call)
{
  const RaWorkload *w = space->workload;
  const RaCandidate *own = ra_space_candidate(space, call, point->calls[call]);

  if (own->pins)
    return own->plan.residency;
  for (uint32_t v = 0; v < w->n_calls; v++)
    if (w->calls[v].model == w->calls[call].model &&
        ra_space_candidate(space, v, point->calls[v])->pins &&
        ra_space_lies_alike(space, point, v, call))
      return ra_space_candidate(space, v, point->calls[v])->plan.residency;
  return point->residency[w->calls[call].model];
}

int
ra_space_residency(const RaSpace *space, const RaPoint *point, uint32_t call)
{
  const RaWorkload *w = space->workload;
  uint32_t model = w->calls[call].model;
  uint32_t trainer = ra_workload_trainer(w, model);
  int residency;

  if (!space->pins)
    return point->residency[model];
  residency = stated(space, point, call);
  return residency == RA_RESIDENCY_KEEP && w->calls[call].staleness > 0 &&
                 trainer != RA_NONE &&
                 stated(space, point, trainer) == RA_RESIDENCY_HOST
             ? RA_RESIDENCY_RELEASE
             : residency;
}
