/* Checks of the rollout service keys of a plan. */
#include "config.h"

#include "graph/input/plan_service.h"
#include "graph/input/turns.h"

const char *const ra_service_words[] = {"none", "drain", "interrupt",
                                        "in-flight", NULL};

/* A call on some of the GPUs of @call, or NULL. */
static const char *
neighbour(const RaPlan *plan, uint32_t call)
{
  const RaWorkload *w = plan->workload;

  for (uint32_t i = 0; i < w->n_calls; i++)
    if (i != call && w->calls[i].kind != RA_CALL_HOST &&
        ra_mesh_overlaps(&plan->calls[i].mesh, &plan->calls[call].mesh))
      return w->calls[i].name;
  return NULL;
}

static gboolean
check_call(const RaPlan *plan, uint32_t call, GError **error)
{
  const RaCall *c = &plan->workload->calls[call];
  const RaCallPlan *p = &plan->calls[call];
  const char *other = neighbour(plan, call);
  g_autofree char *wanted = NULL;

  if (c->kind != RA_CALL_GENERATE)
    wanted = g_strdup("it on generate calls only");
  else if (p->batching != RA_BATCHING_CONTINUOUS)
    wanted = g_strdup("'batching = continuous'");
  else if (p->kv_memory_bytes > 0 || p->prefix_sharing)
    wanted = g_strdup("no 'kv-memory' and no 'prefix-sharing'");
  else if (p->residency != RA_RESIDENCY_RELEASE)
    wanted = g_strdup("'residency = release'");
  else if (c->staleness == 0)
    wanted = g_strdup("a 'staleness' of at least 1 in the workload");
  else if (c->each_trip || ra_turns_are_set(plan->workload))
    wanted = g_strdup("a workload without 'trip-prompts' and 'turns'");
  else if (c->n_parts > 1)
    wanted = g_strdup("readers without chunks");
  else if (other)
    wanted = g_strdup_printf("GPUs of its own, not shared with '%s'", other);
  return !wanted ||
         ra_key_file_fail(plan->file, p->group, "service", error,
                          "'service' of '%s', expected %s", c->name, wanted);
}

gboolean
ra_plan_check_service(const RaPlan *plan, GError **error)
{
  for (uint32_t i = 0; i < plan->workload->n_calls; i++)
    if (plan->calls[i].service == RA_SERVICE_NONE &&
        ra_plan_sync_interval(&plan->calls[i]) > 1)
      return ra_key_file_fail(plan->file, plan->calls[i].group, "sync-interval",
                              error,
                              "'sync-interval' of '%s', expected 'service' too",
                              plan->workload->calls[i].name);
    else if (plan->calls[i].service != RA_SERVICE_NONE &&
             !check_call(plan, i, error))
      return FALSE;
  return TRUE;
}
