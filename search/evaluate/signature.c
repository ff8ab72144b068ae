/* Signatures: plans that share a program, and the small plan of one. */
#include "config.h"

#include <string.h>

#include "graph/input/plan_service.h"
#include "search/evaluate/flat_graph_impl.h"

gboolean
ra_flat_graph_has_host(const RaSpace *space, const RaPoint *point)
{
  const RaWorkload *w = space->workload;

  for (guint m = 0; m < w->n_models; m++)
    if (point->residency[m] == RA_RESIDENCY_HOST)
      return TRUE;
  for (guint c = 0; space->pins && c < w->n_calls; c++) {
    const RaCandidate *k = ra_space_candidate(space, c, point->calls[c]);

    if (k->pins && (k->plan.residency == RA_RESIDENCY_HOST ||
                    k->plan.optimizer_residency == RA_RESIDENCY_HOST))
      return TRUE;
  }
  return FALSE;
}

/* Where parameters, optimizer and gradients of @call are between calls. */
static uint32_t
places_of(const RaSpace *space, const RaPoint *point, uint32_t call)
{
  const RaCandidate *k = ra_space_candidate(space, call, point->calls[call]);

  return (uint32_t)(k->pins && k->plan.releases_grads) << 4 |
         (uint32_t)ra_space_residency(space, point, call) << 2 |
         (uint32_t)k->plan.optimizer_residency;
}

static const RaCandidate *
candidate_of(const RaSpace *space, const RaPoint *point, uint32_t call)
{
  return ra_space_candidate(space, call, point->calls[call]);
}

static uint32_t
begin_of(const RaSpace *space, const RaPoint *point, uint32_t call)
{
  return ra_candidate_begin(candidate_of(space, point, call),
                            point->calls[call].position);
}

static const RaMesh *
set_of(const RaSpace *space, const RaPoint *point, uint32_t call)
{
  return ra_candidate_set(candidate_of(space, point, call),
                          point->calls[call].position);
}

static gboolean
same_set(const RaMesh *a, const RaMesh *b)
{
  return a == b || (a && b && ra_mesh_equal(a, b));
}

static gboolean
same_layout(const RaSpace *space, const RaPoint *point, uint32_t a, uint32_t b)
{
  const RaCall *calls = space->workload->calls;

  return calls[a].model != RA_NONE && calls[a].model == calls[b].model &&
         candidate_of(space, point, a)->n_gpus > 0 &&
         candidate_of(space, point, a)->layout ==
             candidate_of(space, point, b)->layout &&
         begin_of(space, point, a) == begin_of(space, point, b) &&
         same_set(set_of(space, point, a), set_of(space, point, b));
}

/* The first call that reads the copy that @call reads.  Where nothing is in
 * host memory, a reader in the training layout has a node of its own, whose
 * reallocation is off. */
static uint32_t
stand_of(const RaSpace *space, const RaPoint *point, uint32_t call,
         gboolean is_host)
{
  uint32_t model = space->workload->calls[call].model, trainer;

  if (model == RA_NONE)
    return call;
  trainer = ra_workload_trainer(space->workload, model);
  if (!is_host && trainer != RA_NONE &&
      same_layout(space, point, trainer, call))
    return call;
  for (uint32_t v = 0; v < call; v++)
    if (same_layout(space, point, v, call))
      return v;
  return call;
}

uint32_t
ra_flat_graph_n_behind(const RaSpace *space, const RaPoint *point,
                       uint32_t call)
{
  const RaWorkload *w = space->workload;
  uint32_t model = w->calls[call].model, trainer;

  trainer = model == RA_NONE ? RA_NONE : ra_workload_trainer(w, model);
  if (trainer == RA_NONE || !same_layout(space, point, trainer, call))
    return 0;
  return w->calls[call].staleness +
         (ra_workload_place(w, call) > ra_workload_place(w, trainer) ? 1 : 0);
}

/* Runs of GPUs of the mesh of @call, begin and end each; returns how many
 * numbers. */
static uint32_t
runs_of(const RaSpace *space, const RaPoint *point, uint32_t call,
        uint32_t *out)
{
  const RaCandidate *c = candidate_of(space, point, call);
  const RaMesh *set = set_of(space, point, call);
  uint32_t n = 0;

  for (uint32_t i = 0; set && i < set->n_runs; i++) {
    out[n++] = set->runs[i].first * set->gpus_per_node;
    out[n++] = (set->runs[i].first + set->runs[i].n) * set->gpus_per_node;
  }
  if (!set && c->n_gpus > 0 && space->workload->calls[call].model != RA_NONE) {
    out[n++] = begin_of(space, point, call);
    out[n++] = out[0] + c->n_gpus;
  }
  return n;
}

/* How many runs begin or end before @gpu: its place in their order. */
static uint32_t
place_of(const RaSpace *space, const RaPoint *point, uint32_t gpu)
{
  uint32_t seen[2 * RA_POINT_MAX * RA_NODE_SET_RUNS], n = 0, place = 0;

  for (guint c = 0; c < space->workload->n_calls; c++)
    n += runs_of(space, point, c, &seen[n]);
  for (uint32_t i = 0; i < n; i++) {
    gboolean is_new = seen[i] < gpu;
    for (uint32_t k = 0; k < i; k++)
      is_new = is_new && seen[k] != seen[i];
    place += is_new;
  }
  return place;
}

void
ra_flat_graph_signature(const RaSpace *space, const RaPoint *point,
                        uint8_t *out)
{
  const RaWorkload *w = space->workload;
  gboolean is_host = ra_flat_graph_has_host(space, point);
  uint32_t models = 0;
  uint64_t places = 0;

  uint8_t *at = out + 5 + RA_POINT_MAX;

  memset(out, 0, RA_SIGNATURE_BYTES);
  for (guint m = 0; m < w->n_models; m++)
    models |= (uint32_t)point->residency[m] << 2 * m;
  memcpy(out, &models, sizeof models);
  for (guint c = 0; space->pins && c < w->n_calls; c++)
    if (w->calls[c].model != RA_NONE)
      places |= (uint64_t)places_of(space, point, c) << 4 * c;
  if (space->pins) {
    memcpy(at, &places, sizeof places);
    at += sizeof places;
  }
  for (guint c = 0; space->services && c < w->n_calls; c++)
    if (space->most_sync[c] > 1) {
      uint16_t sync =
          (uint16_t)ra_plan_sync_interval(&candidate_of(space, point, c)->plan);

      memcpy(at, &sync, sizeof sync);
      at += sizeof sync;
    }
  for (guint c = 0; c < w->n_calls; c++) {
    uint32_t runs[2 * RA_NODE_SET_RUNS], n;
    out[4 + c] = (uint8_t)stand_of(space, point, c, is_host);
    if (ra_flat_graph_n_behind(space, point, c) > 0)
      out[4 + c] |= 0x80; /* calls are fewer: RA_POINT_MAX */
    if (ra_space_is_shared(space, point, c))
      out[4 + c] |= 0x40;
    if (!is_host)
      continue;
    n = runs_of(space, point, c, runs);
    *at++ = (uint8_t)n;
    for (uint32_t i = 0; i < n; i++)
      *at++ = (uint8_t)place_of(space, point, runs[i]);
  }
  out[4 + RA_POINT_MAX] = (uint8_t)(at - out);
}

/* --- a small plan of the signature --- */

void
ra_flat_graph_place_call(const RaSpace *space, const RaPoint *point,
                         uint32_t call, gboolean is_host, RaCallPlan *out)
{
  uint32_t stand = stand_of(space, point, call, is_host);
  uint32_t runs[2 * RA_NODE_SET_RUNS], n;

  *out = (RaCallPlan){.set = TRUE,
                      .mesh = {.n_runs = 1, .n_nodes = 1, .gpus_per_node = 1},
                      .dp = 1 + stand,
                      .tp = 1,
                      .pp = 1,
                      .cp = 1,
                      .n_virtual = 1,
                      .optimizer_residency = RA_RESIDENCY_KEEP};
  if (candidate_of(space, point, call)->pins) {
    const RaCallPlan *pinned = &candidate_of(space, point, call)->plan;

    out->optimizer_residency = pinned->optimizer_residency;
    out->releases_grads = pinned->releases_grads;
    out->service = pinned->service;
    out->sync_interval = pinned->sync_interval;
  }
  out->mesh.runs[0] = (RaNodeRun){stand, 1};
  if (space->workload->calls[call].model == RA_NONE)
    return;
  out->residency = ra_space_residency(space, point, call);
  if (!is_host)
    return;
  n = runs_of(space, point, call, runs);
  out->mesh.n_runs = n / 2;
  out->mesh.n_nodes = 0;
  for (uint32_t i = 0; i < n; i += 2) {
    uint32_t begin = place_of(space, point, runs[i]);
    uint32_t end = place_of(space, point, runs[i + 1]);

    out->mesh.runs[i / 2] = (RaNodeRun){begin, end - begin};
    out->mesh.n_nodes += end - begin;
  }
}
