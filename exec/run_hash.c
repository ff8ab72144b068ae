/* The hash by which processes agree on their task graph and options. */
#include "config.h"

#include <string.h>

#include "base/hash.h"
#include "exec/run.h"

static uint64_t
hash_real(uint64_t hash, double value)
{
  uint64_t bits;

  memcpy(&bits, &value, sizeof bits);
  return ra_hash_u64(hash, bits);
}

static uint64_t
hash_adamw(uint64_t hash, const RaCpuAdamw *a)
{
  hash = hash_real(hash, (double)a->rate);
  hash = hash_real(hash, (double)a->beta1);
  hash = hash_real(hash, (double)a->beta2);
  hash = hash_real(hash, (double)a->eps);
  return hash_real(hash, (double)a->decay);
}

static uint64_t
hash_options(uint64_t hash, const RaRunOptions *o)
{
  hash = ra_hash_u64(hash, o->seed);
  hash = hash_real(hash, (double)o->sampling.temperature);
  hash = hash_real(hash, (double)o->sampling.top_p);
  hash = ra_hash_u64(hash, o->sampling.top_k);
  hash = hash_adamw(hash, &o->policy);
  hash = hash_adamw(hash, &o->value);
  hash = hash_real(hash, (double)o->max_grad_norm);
  hash = hash_real(hash, (double)o->clip);
  hash = hash_real(hash, (double)o->value_clip);
  hash = hash_real(hash, (double)o->kl_weight);
  hash = hash_real(hash, (double)o->gamma);
  hash = hash_real(hash, (double)o->lambda);
  hash = ra_hash_u64(hash, o->checkpoint != NULL);
  hash = ra_hash_u64(hash, o->every);
  hash = ra_hash_u64(hash, (o->check ? 2 : 0) + (o->ops ? 1 : 0));
  return hash;
}

static uint64_t
hash_works(uint64_t hash, const RaTaskGraph *g)
{
  RaOp ops[RA_OP_LIST_MAX];

  for (uint32_t w = 0; w < g->n_works; w++) {
    guint n = ra_work_ops(g, w, ops);

    hash = ra_hash_u64(hash, n);
    for (guint i = 0; i < n; i++) {
      hash = ra_hash_u64(hash, ops[i].kind);
      for (guint d = 0; d < G_N_ELEMENTS(ops[i].dim); d++)
        hash = ra_hash_u64(hash, ops[i].dim[d]);
    }
  }
  return hash;
}

/* Hashes the sequences to generate. */
static uint64_t
hash_dynamics(uint64_t hash, const RaTaskGraph *g)
{
  for (uint32_t i = 0; i < g->n_dynamics; i++) {
    const RaDynamic *d = &g->dynamics[i];

    hash = ra_hash_u64(hash, d->n_sequences);
    for (uint32_t s = 0; s < d->n_sequences; s++)
      hash = ra_hash_u64(hash, (uint64_t)d->prompt[s] << 32 | d->response[s]);
  }
  return hash;
}

uint64_t
ra_run_hash(const RaTaskGraph *graph, const RaRunOptions *options)
{
  const RaTaskGraph *g = graph;
  uint64_t hash = ra_hash_u64(RA_HASH_INIT, g->n_tasks);

  for (RaTaskId t = 0; t < g->n_tasks; t++) {
    hash = ra_hash_u64(hash, ra_task_name_hash(g, t));
    hash = ra_hash_u64(hash, (uint64_t)g->group[t] << 32 | g->work[t]);
    for (uint32_t e = g->succ_begin[t]; e < g->succ_begin[t + 1]; e++)
      hash = ra_hash_u64(hash, g->succ[e]);
  }
  for (uint32_t i = 0; i < g->group_begin[g->n_groups]; i++)
    hash = ra_hash_u64(hash, g->group_lane[i]);
  for (uint32_t i = 0; i < g->n_lanes; i++)
    hash = ra_hash_u64(hash, (uint64_t)g->lanes[i].first_gpu << 32 |
                                 g->lanes[i].n_gpus);
  hash = hash_works(hash, g);
  return hash_options(hash_dynamics(hash, g), options);
}
