/* Residency: sharing of copies by calls, and its checks. */
#include "config.h"

#include "graph/input/residency.h"

const char *const ra_residency_words[] = {"release", "keep", "host", NULL};

static gboolean
same_layout(const RaPlan *plan, uint32_t a, uint32_t b)
{
  const RaCall *calls = plan->workload->calls;

  return calls[a].model != RA_NONE && calls[a].model == calls[b].model &&
         ra_call_plan_same_layout(&plan->calls[a], &plan->calls[b]);
}

gboolean
ra_residency_is_own(const RaPlan *plan, uint32_t call)
{
  uint32_t model = plan->workload->calls[call].model;
  uint32_t trainer;

  g_return_val_if_fail(model != RA_NONE, FALSE);
  trainer = ra_workload_trainer(plan->workload, model);
  return trainer == RA_NONE || same_layout(plan, trainer, call);
}

gboolean
ra_residency_same_copy(const RaPlan *plan, uint32_t a, uint32_t b)
{
  const RaCall *calls = plan->workload->calls;

  return same_layout(plan, a, b) &&
         (plan->calls[a].residency != RA_RESIDENCY_KEEP ||
          calls[a].staleness == calls[b].staleness ||
          ra_residency_is_own(plan, a));
}

gboolean
ra_residency_is_shared(const RaPlan *plan, uint32_t call)
{
  const RaWorkload *w = plan->workload;
  const RaWorkloadModel *m = &w->models[w->calls[call].model];
  uint32_t of = m->base_of ? ra_workload_find_model(w, m->base_of) : RA_NONE;

  if (of == RA_NONE || plan->calls[call].residency == RA_RESIDENCY_HOST)
    return FALSE;
  for (uint32_t v = 0; v < w->n_calls; v++)
    if (w->calls[v].model == of && plan->calls[v].set &&
        plan->calls[v].residency != RA_RESIDENCY_HOST &&
        ra_call_plan_same_layout(&plan->calls[v], &plan->calls[call]) &&
        (plan->calls[v].residency == RA_RESIDENCY_KEEP ||
         ra_residency_is_own(plan, v)))
      return TRUE;
  return FALSE;
}

gboolean
ra_residency_is_after(const RaPlan *plan, uint32_t call)
{
  const RaWorkload *w = plan->workload;
  uint32_t trainer = ra_workload_trainer(w, w->calls[call].model);

  return trainer != RA_NONE &&
         ra_workload_place(w, call) > ra_workload_place(w, trainer);
}

uint32_t
ra_residency_n_behind(const RaPlan *plan, uint32_t call)
{
  const RaWorkload *w = plan->workload;
  uint32_t n = 0;

  if (ra_workload_trainer(w, w->calls[call].model) == RA_NONE ||
      !ra_residency_is_own(plan, call))
    return 0;
  for (uint32_t u = 0; u < w->n_calls; u++)
    if (ra_residency_same_copy(plan, u, call))
      n = MAX(n, w->calls[u].staleness +
                     (ra_residency_is_after(plan, u) ? 1u : 0u));
  return n;
}

gboolean
ra_residency_is_fp32(const RaPlan *plan, uint32_t call)
{
  const RaWorkload *w = plan->workload;
  uint32_t model = w->calls[call].model;

  return plan->cluster->habits.fp32_shards && plan->calls[call].zero == 3 &&
         plan->calls[call].master_weights != RA_MASTER_NONE &&
         ra_dtype_bytes((RaDtype)w->models[model].dtype) == 2 &&
         ra_workload_trainer(w, model) != RA_NONE;
}

gboolean
ra_residency_has_remainders(const RaPlan *plan, uint32_t call)
{
  const RaWorkload *w = plan->workload;

  return plan->calls[call].master_weights == RA_MASTER_REMAINDERS &&
         plan->calls[call].zero < 3 &&
         w->models[w->calls[call].model].dtype == RA_DTYPE_BF16;
}

uint32_t
ra_residency_master_bytes(const RaPlan *plan, uint32_t call)
{
  const RaWorkload *w = plan->workload;

  if (w->models[w->calls[call].model].dtype == RA_DTYPE_FP32 ||
      plan->calls[call].master_weights == RA_MASTER_NONE ||
      ra_residency_is_fp32(plan, call))
    return 0;
  return ra_residency_has_remainders(plan, call) ? 2 : 4;
}

uint32_t
ra_residency_moments_bytes(const RaPlan *plan, uint32_t call)
{
  int dtype = plan->calls[call].moments_dtype;

  return 2 * ra_dtype_bytes(dtype ? (RaDtype)(dtype - 1) : RA_DTYPE_FP32);
}

double
ra_residency_state_bytes(const RaPlan *plan, uint32_t call, gboolean of_experts)
{
  const RaCallPlan *p = &plan->calls[call];
  double bytes = ra_residency_moments_bytes(plan, call) +
                 ra_residency_master_bytes(plan, call);

  return bytes / ra_call_plan_state_ranks(p, of_experts) *
         (of_experts ? ra_call_plan_n_expert_shards(p)
                     : ra_call_plan_n_shards(p));
}

gboolean
ra_residency_drops_gradients(const RaPlan *plan, uint32_t call)
{
  return plan->cluster->habits.drop_gradients ||
         plan->calls[call].residency == RA_RESIDENCY_HOST ||
         plan->calls[call].releases_grads;
}

uint32_t
ra_residency_holder(const RaPlan *plan, uint32_t call)
{
  const RaWorkload *w = plan->workload;
  uint32_t trainer = ra_workload_trainer(w, w->calls[call].model);

  return plan->cluster->habits.engine && trainer != RA_NONE &&
                 ra_residency_is_own(plan, call)
             ? trainer
             : call;
}

gboolean
ra_residency_is_engine(const RaPlan *plan, uint32_t call)
{
  return plan->cluster->habits.engine &&
         plan->workload->calls[call].kind == RA_CALL_GENERATE;
}

/* Call that states @key among two that disagree; the later one if both do. */
static uint32_t
stating(const RaPlan *plan, uint32_t a, uint32_t b, const char *key)
{
  return ra_key_file_get(plan->file, plan->calls[b].group, key) ? b : a;
}

static gboolean
check_agreement(const RaPlan *plan, uint32_t a, uint32_t b, GError **error)
{
  uint32_t blamed = stating(plan, a, b, "residency");
  uint32_t other = blamed == a ? b : a;
  const RaCall *calls = plan->workload->calls;

  if (!same_layout(plan, a, b) ||
      plan->calls[a].residency == plan->calls[b].residency)
    return TRUE;
  return ra_key_file_fail(
      plan->file, plan->calls[blamed].group, "residency", error,
      "'residency' of '%s' is %s, expected %s, that of '%s', which has the "
      "same model and layout",
      calls[blamed].name, ra_residency_words[plan->calls[blamed].residency],
      ra_residency_words[plan->calls[other].residency], calls[other].name);
}

/* A shadow model that lags is refitted behind a later reader, so training must
 * still have its parameters then. */
static gboolean
check_refit(const RaPlan *plan, uint32_t call, GError **error)
{
  const RaCall *c = &plan->workload->calls[call];
  uint32_t trainer = ra_workload_trainer(plan->workload, c->model);

  if (plan->calls[call].residency != RA_RESIDENCY_KEEP || c->staleness == 0 ||
      trainer == RA_NONE || plan->calls[trainer].residency != RA_RESIDENCY_HOST)
    return TRUE;
  return ra_key_file_fail(
      plan->file, plan->calls[trainer].group, "residency", error,
      "'residency' of '%s' is host, expected release or keep, as '%s' keeps a "
      "copy that is updated long after training",
      plan->workload->calls[trainer].name, c->name);
}

static gboolean
check_optimizer(const RaPlan *plan, uint32_t call, GError **error)
{
  const RaCall *c = &plan->workload->calls[call];
  const RaWorkloadModel *model = &plan->workload->models[c->model];

  if (c->kind != RA_CALL_TRAIN || model->optimizer != RA_OPTIMIZER_NONE ||
      plan->calls[call].optimizer_residency == RA_RESIDENCY_KEEP)
    return TRUE;
  return ra_key_file_fail(
      plan->file, plan->calls[call].group, "optimizer-residency", error,
      "'optimizer-residency' of '%s' is %s, expected an optimizer with a "
      "state, '%s' has none",
      c->name,
      plan->calls[call].optimizer_residency == RA_RESIDENCY_CPU ? "cpu"
                                                                : "host",
      model->name);
}

/* Refuses host residency in trips: the next trip needs what one trip drops. */
static gboolean
check_trips(const RaPlan *plan, uint32_t call, GError **error)
{
  return !plan->workload->calls[call].each_trip ||
         plan->calls[call].residency != RA_RESIDENCY_HOST ||
         ra_key_file_fail(plan->file, plan->calls[call].group, "residency",
                          error,
                          "'residency' of '%s', which runs in each round, is "
                          "host, expected release or keep",
                          plan->workload->calls[call].name);
}

gboolean
ra_residency_check(const RaPlan *plan, GError **error)
{
  uint32_t n = plan->workload->n_calls;

  for (uint32_t b = 0; b < n; b++) {
    if (plan->workload->calls[b].model == RA_NONE)
      continue;
    for (uint32_t a = 0; a < b; a++)
      if (!check_agreement(plan, a, b, error))
        return FALSE;
    if (!check_refit(plan, b, error) || !check_trips(plan, b, error) ||
        !check_optimizer(plan, b, error))
      return FALSE;
  }
  return TRUE;
}
