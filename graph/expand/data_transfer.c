/* Load of the busiest replica in a transfer of data between two calls. */
#include "config.h"

#include "graph/expand/data_transfer.h"

/* The first sequence of share @i of @n. */
static uint32_t
share_begin(const RaSequenceSet *set, uint64_t i, uint64_t n)
{
  return (uint32_t)(set->n_sequences * i / n);
}

static uint64_t
busiest_tokens(const RaSequenceSet *set, RaDataEnd end, uint32_t first,
               uint32_t last)
{
  uint64_t n = (uint64_t)end.n_pieces * end.dp, most = 0;

  for (uint32_t d = 0; d < end.dp; d++) {
    uint64_t sum = 0;

    for (uint64_t i = d; i < n; i += end.dp) {
      uint32_t begin = MAX(share_begin(set, i, n), first);
      uint32_t stop = MIN(share_begin(set, i + 1, n), last);
      if (begin < stop)
        sum += set->tokens[stop] - set->tokens[begin];
    }
    most = MAX(most, sum);
  }
  return most;
}

RaDataEnd
ra_data_end(const RaCall *call, const RaCallPlan *plan)
{
  return (RaDataEnd){MAX(ra_call_plan_n_pieces(call, plan), 1u),
                     MAX(plan->dp, 1u)};
}

uint64_t
ra_data_transfer_tokens(const RaDataTransfer *t, const RaSequenceSet *set)
{
  return set->tokens[share_begin(set, (uint64_t)t->part + 1, t->n_parts)] -
         set->tokens[share_begin(set, t->part, t->n_parts)];
}

uint64_t
ra_data_transfer_most_tokens(const RaDataTransfer *t, const RaSequenceSet *set)
{
  uint32_t first = share_begin(set, t->part, t->n_parts);
  uint32_t last = share_begin(set, (uint64_t)t->part + 1, t->n_parts);
  uint64_t out = busiest_tokens(set, t->from, first, last);
  uint64_t in = busiest_tokens(set, t->to, first, last);

  return MAX(out, in);
}
