/* Barriers of replicas that exchange tokens in every layer. */
#include "config.h"

#include "graph/expand/expand_experts.h"

/* The step that follows the @k-th of stage @stage in each of the @n replicas
 * from @first on waits for that step of all of them. */
static void
meet(const RaCallContext *x, RaPipeline *const *pipelines, uint32_t first,
     uint32_t n, uint32_t stage, guint k)
{
  for (uint32_t a = first; a < first + n; a++)
    for (uint32_t b = first; b < first + n; b++) {
      const RaPipelineStep *from, *to;
      if (a == b || !pipelines[a] || !pipelines[b])
        continue;
      from = &g_array_index(pipelines[a]->steps[stage], RaPipelineStep, k);
      to = &g_array_index(pipelines[b]->steps[stage], RaPipelineStep, k + 1);
      ra_builder_edge(x->builder, from->task, to->task);
    }
}

void
ra_experts_meet(RaCallContext *x, RaPipeline *const *pipelines)
{
  uint32_t n = ra_call_plan_ep_replicas(x->plan);

  for (uint32_t first = 0; n > 1 && first < x->plan->dp; first += n) {
    const RaPipeline *any = NULL;
    for (uint32_t d = first; d < first + n; d++)
      any = pipelines[d] ? pipelines[d] : any;
    for (uint32_t s = 0; any && s < x->plan->pp; s++)
      for (guint k = 0; k + 1 < any->steps[s]->len; k++)
        meet(x, pipelines, first, n, s, k);
  }
}
