/* Tasks of ranks that share experts. */
#include "config.h"

#include "exec/run_impl.h"

/* Among the two tasks of a reduction, that of experts has fewer ranks. */
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
