/* Memory that a run has used, by its own allocators. */
#include "config.h"

#include "exec/accelerator.h"
#include "exec/run_impl.h"

void
ra_rank_look_at_memory(RaRank *rank)
{
  const RaBackend *b = rank->run->backend;
  const RaAccelerator *a = rank->run->options.accelerator;
  uint64_t free_bytes = 0, all_bytes = 0;

  if (b->held_bytes)
    rank->ops_bytes = MAX(rank->ops_bytes, b->held_bytes());
  if (a && a->probe && a->probe->memory &&
      a->probe->memory(&free_bytes, &all_bytes))
    rank->device_bytes = MAX(rank->device_bytes, all_bytes - free_bytes);
}

void
ra_run_memory(const RaRun *run, uint32_t gpu, RaRunMemory *out_memory)
{
  uint32_t rank = run->rank_of_gpu[gpu];
  const RaRank *r;

  *out_memory = (RaRunMemory){0};
  if (rank == RA_NONE)
    return;
  r = &run->ranks[rank];
  if (!ra_run_is_here(run, rank)) {
    *out_memory = r->memory;
    return;
  }
  *out_memory = (RaRunMemory){.states_bytes = r->most_states_bytes,
                              .passes_bytes = ra_slabs_most_bytes(r->slabs),
                              .account_bytes = r->account_bytes,
                              .slab_bytes = r->slab_bytes,
                              .ops_bytes = r->ops_bytes,
                              .device_bytes = r->device_bytes,
                              .beyond_bytes = ra_slabs_bytes(r->slabs)};
  for (guint i = 0; i < r->params->len; i++)
    for (int state = 0; state < RA_STATE_GRADS; state++) {
      const RaParams *p = r->params->pdata[i];

      if (p->away[state])
        out_memory->host_bytes +=
            ra_params_state_bytes(p, (RaParamsState)state);
    }
}
