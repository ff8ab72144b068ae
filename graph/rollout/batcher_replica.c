/* Batchers of a replica's micro-batches, and the capacity that they use. */
#include "config.h"

#include "graph/rollout/batcher_replica.h"

/* A part ends when ceil((c + 1) n / n_parts) sequences have. */
static uint32_t
part_end(uint32_t n, uint32_t part, uint32_t n_parts)
{
  return (uint32_t)(((uint64_t)(part + 1) * n + n_parts - 1) / n_parts);
}

/* --- The schedulers of a replica, step by step --- */

typedef struct {
  RaBatcher *batcher;
  uint32_t first;         /* its first sequence */
  uint64_t step;          /* taken */
  RaBatchStretch stretch; /* in hand; n_steps 0: none */
  uint32_t part;          /* in which it began */
} Scheduler;

static Scheduler *
schedulers_new(const RaBatching *batching, uint32_t n_groups, uint32_t n,
               const uint32_t *prompt, const uint32_t *response)
{
  Scheduler *all = g_new0(Scheduler, n_groups);

  for (uint32_t g = 0; g < n_groups; g++) {
    uint32_t first = (uint32_t)((uint64_t)g * n / n_groups);
    uint32_t size = (uint32_t)((uint64_t)(g + 1) * n / n_groups) - first;

    all[g].batcher =
        ra_batcher_new(batching, prompt + first, response + first, size);
    all[g].first = first;
    ra_batcher_arrive(all[g].batcher, size);
  }
  return all;
}

static void
schedulers_free(Scheduler *all, uint32_t n_groups)
{
  for (uint32_t g = 0; g < n_groups; g++)
    ra_batcher_free(all[g].batcher);
  g_free(all);
}

/* Takes the stretch that ends first, in order of (step, scheduler): as they go
 * round.  NULL: all are over. */
static Scheduler *
schedulers_take(Scheduler *all, uint32_t n_groups, uint32_t part)
{
  Scheduler *next = NULL;

  for (uint32_t g = 0; g < n_groups; g++) {
    Scheduler *s = &all[g];

    if (s->stretch.n_steps == 0) {
      if (!ra_batcher_next(s->batcher, &s->stretch))
        continue;
      s->part = part;
    }
    if (!next ||
        s->step + s->stretch.n_steps < next->step + next->stretch.n_steps)
      next = s;
  }
  if (!next)
    return NULL;
  ra_batcher_take(next->batcher, next->stretch.n_steps);
  next->step += next->stretch.n_steps;
  next->stretch.n_steps = 0;
  return next;
}

/* A pool is taken as an engine starts and given back as it stops. */
static void
pool_tokens(const RaBatching *batching, uint32_t n_groups, uint32_t n_parts,
            uint64_t *out_peak, uint64_t *out_left)
{
  for (uint32_t c = 0; c < n_parts; c++) {
    out_peak[c] = n_groups * batching->n_blocks * batching->block_tokens;
    out_left[c] = c + 1 < n_parts ? out_peak[c] : 0;
  }
}

void
ra_batching_kv_tokens(const RaBatching *batching, uint32_t n_groups, uint32_t n,
                      const uint32_t *prompt, const uint32_t *response,
                      uint32_t n_parts, uint64_t *out_peak, uint64_t *out_left)
{
  g_autofree uint64_t *most = NULL; /* (n_parts, n_groups) blocks */
  uint32_t part = 0, n_ended = 0;
  Scheduler *all, *s;

  if (batching->n_blocks > 0) {
    pool_tokens(batching, n_groups, n_parts, out_peak, out_left);
    return;
  }
  most = g_new0(uint64_t, ((gsize)n_parts + 1) * n_groups);
  all = schedulers_new(batching, n_groups, n, prompt, response);
  while ((s = schedulers_take(all, n_groups, part))) {
    guint n_now;
    uint32_t g = (uint32_t)(s - all);

    /* Before ends give theirs back; the parts that the stretch is in. */
    for (uint32_t c = s->part; c <= part; c++)
      most[c * n_groups + g] =
          MAX(most[c * n_groups + g], ra_batcher_work(s->batcher)->last_blocks);
    ra_batcher_ended(s->batcher, &n_now);
    n_ended += n_now;
    for (; part < n_parts && n_ended >= part_end(n, part, n_parts); part++) {
      out_left[part] = 0;
      for (g = 0; g < n_groups; g++) {
        out_left[part] +=
            ra_batcher_blocks(all[g].batcher) * batching->block_tokens;
        most[(part + 1) * n_groups + g] = ra_batcher_blocks(all[g].batcher);
      }
    }
  }
  for (part = 0; part < n_parts; part++) {
    out_peak[part] = 0;
    for (uint32_t g = 0; g < n_groups; g++)
      out_peak[part] += most[part * n_groups + g] * batching->block_tokens;
  }
  schedulers_free(all, n_groups);
}

RaBatch
ra_batching_largest_step(const RaBatching *batching, RaBatch prompts)
{
  uint32_t n = MIN(batching->max_sequences, prompts.n_sequences);
  uint64_t tokens = MIN(batching->step_tokens, prompts.q_tokens + n);

  return (RaBatch){n, tokens, prompts.kv_tokens, prompts.pairs};
}

void
ra_batching_order(const RaBatching *batching, uint32_t n_groups, uint32_t n,
                  const uint32_t *prompt, const uint32_t *response,
                  uint32_t *out_order)
{
  Scheduler *all = schedulers_new(batching, n_groups, n, prompt, response), *s;
  uint32_t at = 0;

  while ((s = schedulers_take(all, n_groups, 0))) {
    guint n_ended;
    const uint32_t *ended = ra_batcher_ended(s->batcher, &n_ended);

    for (guint i = 0; i < n_ended; i++)
      out_order[at++] = s->first + ended[i];
  }
  g_assert(at == n);
  schedulers_free(all, n_groups);
}
