/* Schedulers of a replica's micro-batches. */
#include "config.h"

#include "graph/expand/dynamic.h"

uint32_t
ra_dynamic_begin(const RaDynamic *d, uint32_t group)
{
  return d->group_begin
             ? d->group_begin[group]
             : (uint32_t)((uint64_t)group * d->n_sequences / d->n_groups);
}

uint32_t
ra_dynamic_size(const RaDynamic *d, uint32_t group)
{
  return ra_dynamic_begin(d, group + 1) - ra_dynamic_begin(d, group);
}

RaBatcher *
ra_dynamic_batcher_new(const RaDynamic *d, uint32_t group)
{
  uint32_t first = ra_dynamic_begin(d, group);
  RaBatchTurns turns = d->turns;
  RaBatcher *b;

  g_return_val_if_fail(d->batching.max_sequences > 0, NULL);
  b = ra_batcher_new(&d->batching, d->prompt + first, d->response + first,
                     ra_dynamic_size(d, group));
  if (turns.begin)
    turns.begin += first;
  ra_batcher_set_turns(b, &turns);
  if (d->starts)
    ra_batcher_set_start(b, &d->starts[group]);
  return b;
}
