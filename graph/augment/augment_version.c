/* Versions of parameters: waiting for them, and their reallocation to the
 * layouts of their readers. */
#include "config.h"

#include "graph/augment/augment_impl.h"
#include "graph/input/lora.h"
#include "graph/input/plan_service.h"
#include "graph/input/residency.h"

void
ra_augment_wait_version(RaAugmenter *a, uint32_t iteration, uint32_t call)
{
  const RaCall *c = &a->workload->calls[call];
  const RaCallPlan *p = &a->plan->calls[call];
  uint32_t trainer, made;

  if (c->model == RA_NONE)
    return;
  trainer = ra_workload_trainer(a->workload, c->model);
  if (trainer == RA_NONE || !ra_plan_version(p, c->staleness, iteration, &made))
    return;
  if (*ra_augmenter_at(a, a->version, made, call) != RA_NONE)
    ra_augmenter_pred(a, *ra_augmenter_at(a, a->version, made, call));
  else
    ra_augmenter_pred(a, ra_augmenter_last_part(a, made, trainer));
  if (call != trainer)
    return;
  /* Training writes over what a reallocation may still read. */
  for (guint i = 0; i < a->workload->n_calls; i++)
    ra_augmenter_pred(a, *ra_augmenter_at(a, a->version, made, i));
}

/* Load of filling @user's layout from its model's trainer; computed once. */
static const RaReallocLoad *
load_of(RaAugmenter *a, uint32_t trainer, uint32_t user)
{
  if (!a->has_load[user] && !a->is_bare) {
    const RaWorkloadModel *m =
        &a->workload->models[a->workload->calls[user].model];
    g_autoptr(RaRealloc) r = ra_realloc_new(
        ra_lora_moved_model(m, a->plan->calls[user].residency),
        ra_dtype_bytes((RaDtype)m->dtype), &a->plan->calls[trainer],
        &a->plan->calls[user], a->plan->cluster,
        (RaReallocScheme)a->plan->calls[user].realloc);
    a->load[user] = r->load;
    a->has_load[user] = TRUE;
  }
  return &a->load[user];
}

/* A kept copy whose readers lag takes a version between two of them. */
static gboolean
is_late(const RaAugmenter *a, uint32_t user)
{
  return a->plan->calls[user].residency == RA_RESIDENCY_KEEP &&
         a->workload->calls[user].staleness > 0;
}

/* Brings what training wrote in @iteration to the copy of @user; the writes
 * begin when the readers of @readers have ended, if they are of this copy. */
static void
add_realloc(RaAugmenter *a, uint32_t iteration, uint32_t trainer, uint32_t user,
            uint32_t readers)
{
  const RaWorkload *w = a->workload;
  const RaReallocLoad *load = load_of(a, trainer, user);
  RaNode node = {.kind = RA_NODE_REALLOC,
                 .iteration = iteration,
                 .call = user,
                 .source = trainer,
                 .n_parts = 1,
                 .bytes = (double)load->total_bytes,
                 .max_intra_bytes = (double)load->max_intra_bytes,
                 .max_inter_bytes = (double)load->max_inter_bytes,
                 .n_steps = load->n_steps,
                 .cast_elements = load->cast_elements};
  uint32_t id;

  ra_augmenter_pred(a, ra_augmenter_last_part(a, iteration, trainer));
  for (guint v = 0; v < w->n_calls; v++)
    if (ra_residency_same_copy(a->plan, user, v) &&
        (w->calls[v].staleness == 0 || is_late(a, v)))
      ra_augmenter_pred(a, ra_augmenter_last_part(a, readers, v));
  id = ra_augmenter_node(a, &node);
  for (guint v = 0; v < w->n_calls; v++)
    if (ra_residency_same_copy(a->plan, user, v))
      *ra_augmenter_at(a, a->version, iteration, v) = id;
  ra_augment_offload_version(a, id);
}

/* TRUE if a later call of the run reads, in the layout of @user, what training
 * wrote in @iteration, and no node has brought it yet. */
static gboolean
is_wanted(const RaAugmenter *a, uint32_t iteration, uint32_t user)
{
  const RaCallPlan *p = &a->plan->calls[user];
  uint32_t s = ra_plan_sync_interval(p);

  return *ra_augmenter_at(a, a->version, iteration, user) == RA_NONE &&
         ra_plan_is_synced(p, iteration) &&
         iteration + 1 + s * a->workload->calls[user].staleness <
             a->n_iterations &&
         !ra_residency_is_own(a->plan, user);
}

/* TRUE if an engine of its own sleeps, without weights, while others train: its
 * call may not lag behind training. */
static gboolean
sleeps(const RaAugmenter *a, uint32_t user)
{
  return ra_residency_is_engine(a->plan, user) &&
         a->workload->calls[user].staleness == 0;
}

/* Version @iteration, just trained, goes to every other layout that a later
 * iteration runs it in: pushed at once, so that the next training need not wait
 * for its reader, but to an engine that sleeps.  A call that may lag has a
 * second copy to write into; one that may not must have ended. */
static void
push(RaAugmenter *a, uint32_t iteration, uint32_t trainer)
{
  const RaWorkload *w = a->workload;

  for (guint u = 0; u < w->n_calls; u++)
    if (u != trainer && w->calls[u].model == w->calls[trainer].model &&
        !is_late(a, u) && !sleeps(a, u) && is_wanted(a, iteration, u))
      add_realloc(a, iteration, trainer, u, iteration);
}

void
ra_augment_wake(RaAugmenter *a, uint32_t iteration, uint32_t call)
{
  const RaWorkload *w = a->workload;
  uint32_t model = w->calls[call].model, trainer;

  if (model == RA_NONE || iteration == 0 || !sleeps(a, call))
    return;
  trainer = ra_workload_trainer(w, model);
  if (trainer == RA_NONE || !is_wanted(a, iteration - 1, call))
    return;
  for (guint v = 0; v < w->n_calls; v++)
    if (w->calls[v].kind == RA_CALL_TRAIN)
      ra_augmenter_pred(a, ra_augmenter_last_part(a, iteration - 1, v));
  ra_augment_wait_offloads(a, call);
  add_realloc(a, iteration - 1, trainer, call, iteration - 1);
}

/* TRUE if @call is the last of an iteration that reads its copy. */
static gboolean
is_last_reader(const RaAugmenter *a, uint32_t call)
{
  const RaWorkload *w = a->workload;

  for (guint i = w->n_calls; i-- > 0;)
    if (ra_residency_same_copy(a->plan, call, w->order[i]))
      return w->order[i] == call;
  return FALSE;
}

void
ra_augment_push_versions(RaAugmenter *a, uint32_t iteration, uint32_t call)
{
  uint32_t model = a->workload->calls[call].model, trainer;

  if (model == RA_NONE)
    return;
  trainer = ra_workload_trainer(a->workload, model);
  if (trainer == call)
    push(a, iteration, call);
  else if (trainer != RA_NONE && iteration > 0 && is_late(a, call) &&
           is_wanted(a, iteration - 1, call) && is_last_reader(a, call))
    add_realloc(a, iteration - 1, trainer, call, iteration);
}
