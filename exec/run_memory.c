/* Memory that a run has used, by its own allocators. */
#include "config.h"

#include "exec/accelerator.h"
#include "exec/run_impl.h"

guint64
ra_run_device_bytes(const RaRun *run, guint64 *out_free)
{
  const RaAccelerator *a = run->options.accelerator;
  uint64_t all_bytes = 0;

  *out_free = G_MAXUINT64;
  return a && a->probe && a->probe->memory &&
                 a->probe->memory(out_free, &all_bytes)
             ? all_bytes - *out_free
             : 0;
}

void
ra_rank_look_at_memory(RaRankMemory *memory, const RaRun *run)
{
  const RaBackend *b = run->backend;
  guint64 free_bytes;

  if (b->held_bytes)
    memory->ops_bytes = MAX(memory->ops_bytes, b->held_bytes());
  memory->device_bytes =
      MAX(memory->device_bytes, ra_run_device_bytes(run, &free_bytes));
}

void
ra_run_memory(const RaRun *run, uint32_t gpu, RaRunMemory *out_memory)
{
  uint32_t rank = run->rank_of_gpu[gpu];
  const RaRankMemory *m;

  *out_memory = (RaRunMemory){0};
  if (rank == RA_NONE)
    return;
  m = &run->ranks[rank].memory;
  if (!ra_run_is_here(run, rank)) {
    *out_memory = m->remote;
    return;
  }
  *out_memory = (RaRunMemory){.states_bytes = m->most_states_bytes,
                              .passes_bytes = ra_slabs_most_bytes(m->slabs),
                              .account_bytes = m->account_bytes,
                              .slab_bytes = m->slab_bytes,
                              .ops_bytes = m->ops_bytes,
                              .device_bytes = m->device_bytes,
                              .communicators_bytes = m->communicators_bytes,
                              .beyond_bytes = ra_slabs_bytes(m->slabs)};
  for (guint i = 0; i < m->params->len; i++)
    for (int state = 0; state < RA_STATE_GRADS; state++) {
      const RaParams *p = m->params->pdata[i];

      if (p->away[state])
        out_memory->host_bytes +=
            ra_params_state_bytes(p, (RaParamsState)state);
    }
}
