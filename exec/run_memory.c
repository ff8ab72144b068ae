/* What a run has held, by its own allocators. */
#include "config.h"

#include "exec/run_impl.h"

/* Weights, and of what is trained its gradients and two moments. */
static void
add_params(const RaParams *p, RaRunMemory *memory)
{
  guint64 n_bytes = p->n * p->backend->elem_bytes;

  memory->states_bytes += n_bytes;
  if (p->master)
    memory->states_bytes += p->n_moments * sizeof *p->master;
  if (p->grads)
    memory->states_bytes +=
        p->n * sizeof *p->grads + 2 * p->n_moments * sizeof *p->first;
  memory->host_bytes += p->pinned ? n_bytes : 0;
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
  for (guint i = 0; i < r->params->len; i++)
    add_params(r->params->pdata[i], out_memory);
  out_memory->passes_bytes = ra_slabs_most_bytes(r->slabs);
}
