/* Copies in pinned host memory: reloaded before the calls that read them,
 * offloaded after those that changed them.
 *
 * Data that a call leaves on its GPUs stays there if the next call on any of
 * them reads the same copy and version.  A reload starts when the call before
 * the preceding one has ended on all GPUs of the mesh, that is when that call's
 * memory is free.  It overlaps the preceding call.  Under a system whose
 * generation has an engine of its own, copies run between the calls.
 */
#include "config.h"

#include <string.h>

#include "graph/augment/augment_impl.h"
#include "graph/augment/layout.h"
#include "graph/input/residency.h"

struct _RaAugmentHost {
  const RaPlan *plan;  /* borrowed */
  uint8_t *what;       /* (n_calls) RaCopyWhat bits, in host memory between */
  uint32_t *place;     /* (n_calls) in program order */
  uint32_t *prev;      /* (n_calls) call on some of its GPUs before it, perhaps
                          of the iteration before, perhaps itself */
  uint32_t *next;      /* (n_calls) and after it */
  uint32_t *pinned;    /* (n_iterations, n_calls) OFFLOAD node that brought the
                          call's copy of what was trained then */
  uint32_t *trained;   /* (n_calls) by the copy's first call: iteration of what
                          is on the GPUs and not in host memory, or RA_NONE */
  uint32_t *state;     /* (n_calls) last OFFLOAD node of the optimizer state */
  uint32_t (*user)[2]; /* (cluster GPUs) nodes that end the use of memory by
                          the last call and by the one before */
};

static gboolean
runs_on_gpus(const RaPlan *plan, uint32_t call)
{
  return plan->workload->calls[call].model != RA_NONE;
}

/* From @call by @step through program order, round and round, to the first
 * call that shares a GPU with it. */
static uint32_t
neighbour(const RaAugmentHost *h, uint32_t call, uint32_t step)
{
  const RaWorkload *w = h->plan->workload;
  uint32_t at = h->place[call], other;

  do {
    at = (at + step) % w->n_calls;
    other = w->order[at];
  } while (!runs_on_gpus(h->plan, other) ||
           !ra_mesh_overlaps(&h->plan->calls[call].mesh,
                             &h->plan->calls[other].mesh));
  return other;
}

static uint8_t
what_of(const RaCallPlan *call)
{
  return (
      uint8_t)((call->residency == RA_RESIDENCY_HOST ? RA_COPY_PARAMETERS : 0) |
               (call->optimizer_residency == RA_RESIDENCY_HOST
                    ? RA_COPY_OPTIMIZER
                    : 0));
}

static uint32_t *
new_ids(gsize n)
{
  uint32_t *ids = g_new(uint32_t, n);

  memset(ids, 0xff, n * sizeof *ids);
  return ids;
}

RaAugmentHost *
ra_augment_host_new(const RaPlan *plan, uint32_t n_iterations)
{
  const RaWorkload *w = plan->workload;
  RaAugmentHost *h = g_new0(RaAugmentHost, 1);
  uint32_t n_gpus = ra_cluster_n_gpus(plan->cluster);
  uint8_t all = 0;

  h->plan = plan;
  h->what = g_new0(uint8_t, w->n_calls);
  h->place = g_new0(uint32_t, w->n_calls);
  for (uint32_t i = 0; i < w->n_calls; i++) {
    h->place[w->order[i]] = i;
    if (runs_on_gpus(plan, i))
      h->what[i] = what_of(&plan->calls[i]);
    all |= h->what[i];
  }
  if (!all) {
    ra_augment_host_free(h);
    return NULL;
  }
  h->prev = g_new0(uint32_t, w->n_calls);
  h->next = g_new0(uint32_t, w->n_calls);
  for (uint32_t i = 0; i < w->n_calls; i++)
    if (runs_on_gpus(plan, i)) {
      h->prev[i] = neighbour(h, i, w->n_calls - 1);
      h->next[i] = neighbour(h, i, 1);
    }
  h->pinned = new_ids((gsize)n_iterations * w->n_calls);
  h->trained = new_ids(w->n_calls);
  h->state = new_ids(w->n_calls);
  h->user = (uint32_t(*)[2])(gpointer)new_ids((gsize)n_gpus * 2);
  return h;
}

void
ra_augment_host_free(RaAugmentHost *host)
{
  if (!host)
    return;
  g_free(host->what);
  g_free(host->place);
  g_free(host->prev);
  g_free(host->next);
  g_free(host->pinned);
  g_free(host->trained);
  g_free(host->state);
  g_free(host->user);
  g_free(host);
}

/* TRUE if the copy of @call has another version before its neighbour @next, in
 * the next iteration, reads it: a reallocation brings that to host memory. */
static gboolean
is_renewed(const RaAugmentHost *h, uint32_t call, uint32_t next)
{
  const RaWorkload *w = h->plan->workload;

  return h->place[next] <= h->place[call] &&
         !ra_residency_is_own(h->plan, call) &&
         ra_workload_trainer(w, w->calls[call].model) != RA_NONE;
}

/* Parts of @call's data that stay on its GPUs until its next neighbour. */
static uint8_t
stays(const RaAugmentHost *h, uint32_t call)
{
  uint32_t next = h->next[call];

  return (uint8_t)((ra_residency_same_copy(h->plan, call, next) &&
                            !is_renewed(h, call, next)
                        ? RA_COPY_PARAMETERS
                        : 0) |
                   (next == call ? RA_COPY_OPTIMIZER : 0));
}

/* Parts that @call finds on its GPUs, left by its preceding neighbour. */
static uint8_t
finds(const RaAugmentHost *h, uint32_t iteration, uint32_t call)
{
  uint32_t prev = h->prev[call];

  return iteration == 0 && h->place[prev] >= h->place[call] ? 0
                                                            : stays(h, prev);
}

/* The copy's first call stands for it. */
static uint32_t
copy_of(const RaAugmentHost *h, uint32_t call)
{
  uint32_t first = 0;

  while (!ra_residency_same_copy(h->plan, first, call))
    first++;
  return first;
}

double
ra_augment_copy_bytes(const RaPlan *plan, uint32_t call, uint8_t what,
                      double *out_most_bytes, double *out_state_bytes)
{
  const RaCallPlan *p = &plan->calls[call];
  const RaWorkloadModel *m =
      &plan->workload->models[plan->workload->calls[call].model];
  gboolean fp32 = m->dtype == RA_DTYPE_FP32 || ra_residency_is_fp32(plan, call);
  g_autoptr(RaTensorTable) all = ra_tensor_table_new(m->model);
  g_autoptr(RaTensorTable) trained =
      ra_tensor_table_new(m->adapters ? m->adapters : m->model);
  double total = 0, state_total = 0;

  *out_most_bytes = *out_state_bytes = 0;
  if (what & RA_COPY_PARAMETERS) {
    double bytes =
        ra_dtype_bytes(fp32 ? RA_DTYPE_FP32 : ra_call_plan_dtype(p, m));

    *out_most_bytes = ra_layout_most_bytes(
        all, p, bytes,
        p->expert_dtype ? ra_call_plan_expert_bytes(p, m) : bytes, &total);
  }
  if (what & RA_COPY_OPTIMIZER)
    *out_state_bytes = ra_layout_most_bytes(
        trained, p, ra_residency_state_bytes(plan, call, FALSE),
        ra_residency_state_bytes(plan, call, TRUE), &state_total);
  *out_most_bytes += *out_state_bytes;
  return total + state_total;
}

static RaNode
copy_node(const RaAugmenter *a, RaNodeKind kind, uint32_t iteration,
          uint32_t call, uint8_t what)
{
  RaNode node = {.kind = (uint8_t)kind,
                 .iteration = iteration,
                 .call = call,
                 .source = RA_NONE,
                 .n_parts = 1,
                 .what = what};

  if (!a->is_bare)
    node.bytes = ra_augment_copy_bytes(
        a->plan, call, what, &node.max_copy_bytes, &node.max_state_bytes);
  return node;
}

/* A version of what is trained is in host memory once it has been offloaded. */
static void
wait_pinned(RaAugmenter *a, uint32_t iteration, uint32_t call)
{
  const RaCall *c = &a->workload->calls[call];
  uint32_t lag = 1 + c->staleness;

  if (iteration >= lag && ra_workload_trainer(a->workload, c->model) != RA_NONE)
    ra_augmenter_pred(
        a, *ra_augmenter_at(a, a->host->pinned, iteration - lag, call));
  if (c->staleness == 0) /* a train call of this iteration before this one */
    ra_augmenter_pred(a, *ra_augmenter_at(a, a->host->pinned, iteration, call));
}

/* TRUE if copies to and from host memory run between the calls and overlap
 * none: frameworks whose generation has an engine of its own move what they
 * move in between (verl, load_fsdp_model_to_gpu() in fsdp_utils.py; NeMo-RL,
 * move_model()). */
static gboolean
is_in_order(const RaPlan *plan)
{
  return plan->cluster->habits.engine;
}

uint32_t
ra_augment_reload(RaAugmenter *a, uint32_t iteration, uint32_t call)
{
  RaAugmentHost *h = a->host;
  const RaMesh *mesh = &a->plan->calls[call].mesh;
  uint8_t what;
  RaNode node;

  if (!h || !runs_on_gpus(a->plan, call))
    return RA_NONE;
  what = h->what[call] & (uint8_t)~finds(h, iteration, call);
  if (!what)
    return RA_NONE;
  for (uint32_t rank = 0; rank < ra_mesh_n_gpus(mesh); rank++)
    ra_augmenter_pred(a, h->user[ra_mesh_gpu(mesh, a->plan->cluster, rank)]
                                [is_in_order(a->plan) ? 0 : 1]);
  if (what & RA_COPY_PARAMETERS)
    wait_pinned(a, iteration, call);
  if (what & RA_COPY_OPTIMIZER)
    ra_augmenter_pred(a, h->state[call]);
  node = copy_node(a, RA_NODE_RELOAD, iteration, call, what);
  return ra_augmenter_node(a, &node);
}

void
ra_augment_wait_offloads(RaAugmenter *a, uint32_t call)
{
  const RaMesh *mesh = &a->plan->calls[call].mesh;

  if (!is_in_order(a->plan) || !runs_on_gpus(a->plan, call))
    return;
  for (uint32_t rank = 0; a->host && rank < ra_mesh_n_gpus(mesh); rank++)
    ra_augmenter_pred(
        a, a->host->user[ra_mesh_gpu(mesh, a->plan->cluster, rank)][0]);
}

/* Waits for all that still reads what is on the GPUs of @call: itself, and the
 * reallocations of what was trained in iteration @trained. */
static void
wait_readers(RaAugmenter *a, uint32_t iteration, uint32_t trained,
             uint32_t call)
{
  ra_augmenter_pred(a, ra_augmenter_last_part(a, iteration, call));
  for (uint32_t i = 0; trained != RA_NONE && i < a->workload->n_calls; i++) {
    uint32_t node = *ra_augmenter_at(a, a->version, trained, i);
    if (node != RA_NONE &&
        ra_residency_same_copy(
            a->plan, g_array_index(a->nodes, RaNode, node).source, call))
      ra_augmenter_pred(a, node);
  }
}

static void
set_pinned(RaAugmenter *a, uint32_t iteration, uint32_t call, uint32_t node)
{
  for (uint32_t v = 0; v < a->workload->n_calls; v++)
    if (ra_residency_same_copy(a->plan, call, v))
      *ra_augmenter_at(a, a->host->pinned, iteration, v) = node;
}

/* The call's memory is free again once @node has ended. */
static void
set_user(RaAugmenter *a, uint32_t iteration, uint32_t call, uint32_t node)
{
  RaAugmentHost *h = a->host;
  const RaMesh *mesh = &a->plan->calls[call].mesh;
  gboolean same = (finds(h, iteration, call) & RA_COPY_PARAMETERS) != 0;

  for (uint32_t rank = 0; rank < ra_mesh_n_gpus(mesh); rank++) {
    uint32_t *user = h->user[ra_mesh_gpu(mesh, a->plan->cluster, rank)];
    if (!same)
      user[1] = user[0];
    user[0] = node;
  }
}

void
ra_augment_offload(RaAugmenter *a, uint32_t iteration, uint32_t call)
{
  RaAugmentHost *h = a->host;
  uint32_t copy, end, model = a->workload->calls[call].model;
  uint8_t what, changed = 0;

  if (!h || model == RA_NONE)
    return;
  copy = copy_of(h, call);
  if (a->workload->calls[call].kind == RA_CALL_TRAIN) {
    h->trained[copy] = iteration;
    changed |= RA_COPY_OPTIMIZER;
  }
  if (h->trained[copy] != RA_NONE)
    changed |= RA_COPY_PARAMETERS;
  what = h->what[call] & changed & (uint8_t)~stays(h, call);
  end = ra_augmenter_last_part(a, iteration, call);
  if (what) {
    RaNode node = copy_node(a, RA_NODE_OFFLOAD, iteration, call, what);
    wait_readers(a, iteration, h->trained[copy], call);
    end = ra_augmenter_node(a, &node);
  }
  if (what & RA_COPY_OPTIMIZER)
    h->state[call] = end;
  if (what & RA_COPY_PARAMETERS) {
    set_pinned(a, h->trained[copy], call, end);
    h->trained[copy] = RA_NONE;
  }
  set_user(a, iteration, call, end);
}

void
ra_augment_offload_version(RaAugmenter *a, uint32_t realloc)
{
  RaNode from = g_array_index(a->nodes, RaNode, realloc), node;

  if (a->plan->calls[from.call].residency != RA_RESIDENCY_HOST)
    return;
  node = copy_node(a, RA_NODE_OFFLOAD, from.iteration, from.call,
                   RA_COPY_PARAMETERS);
  node.source = from.source;
  ra_augmenter_pred(a, realloc);
  set_pinned(a, from.iteration, from.call, ra_augmenter_node(a, &node));
}
