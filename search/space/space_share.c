/* Weights that a model lends another. */
#include "config.h"

#include "search/space/space_impl.h"

gboolean
ra_space_lies_alike(const RaSpace *space, const RaPoint *point, uint32_t a,
                    uint32_t b)
{
  const RaCandidate *x = ra_space_candidate(space, a, point->calls[a]);
  const RaCandidate *y = ra_space_candidate(space, b, point->calls[b]);
  RaCallPlan p = x->plan, q = y->plan;

  if (x->n_gpus == 0 || x->n_gpus != y->n_gpus)
    return FALSE;
  p.mesh = ra_space_mesh_at(space, x, point->calls[a].position);
  q.mesh = ra_space_mesh_at(space, y, point->calls[b].position);
  return ra_call_plan_same_layout(&p, &q);
}

gboolean
ra_space_is_shared(const RaSpace *space, const RaPoint *point, uint32_t call)
{
  const RaWorkload *w = space->workload;
  uint32_t model = w->calls[call].model, of;

  if (model == RA_NONE || !w->models[model].base_of)
    return FALSE;
  of = ra_workload_find_model(w, w->models[model].base_of);
  if (ra_space_residency(space, point, call) == RA_RESIDENCY_HOST)
    return FALSE;
  for (uint32_t v = 0; v < w->n_calls; v++)
    if (w->calls[v].model == of && ra_space_lies_alike(space, point, v, call) &&
        ra_space_residency(space, point, v) != RA_RESIDENCY_HOST &&
        (ra_space_residency(space, point, v) == RA_RESIDENCY_KEEP ||
         ra_space_lies_alike(space, point, ra_workload_trainer(w, of), v)))
      return TRUE;
  return FALSE;
}
