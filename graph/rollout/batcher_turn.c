/* Pauses of a batcher's sequences between two turns. */
#include "config.h"

#include "graph/rollout/batcher_impl.h"

void
ra_batcher_set_turns(RaBatcher *b, const RaBatchTurns *turns)
{
  g_return_if_fail(b->n_arrived == 0 && !b->pauses);
  if (!turns->begin)
    return;
  g_return_if_fail(!b->batching.reserve);
  b->turns = *turns;
  b->pauses = g_new0(RaBatchPause, MAX(b->n, 1u));
  for (uint32_t i = 0; i < b->n; i++)
    b->pauses[i].prompt = b->prompt[i];
}

gboolean
ra_batcher_has_turn(const RaBatcher *b, uint32_t i)
{
  return b->pauses &&
         b->turns.begin[i] + b->pauses[i].turn + 1 < b->turns.begin[i + 1];
}

void
ra_batcher_pause(RaBatcher *b, uint32_t i, uint64_t held, uint64_t group_blocks)
{
  RaBatchPause *pause = &b->pauses[i];
  RaBatchGroup *group = ra_batcher_group(b, i);

  b->sequences[i].state = RA_BATCH_PAUSES;
  g_array_append_val(b->paused, i);
  if (!b->turns.keeps)
    return;
  /* Takes again what leaving gave back; the sequence counts in its group. */
  if (group->n_running++ == 0) {
    group->n_blocks = group_blocks;
    b->used_blocks += group_blocks;
  }
  b->used_blocks += ra_batcher_own_blocks(b, i, held);
  pause->kept = held;
  pause->kept_at = b->kept->len;
  g_array_append_val(b->kept, i);
}

uint64_t
ra_batcher_unkeep(RaBatcher *b, uint32_t i)
{
  uint64_t kept = b->pauses[i].kept;

  if (kept > 0)
    ra_batcher_group(b, i)->n_running--;
  b->pauses[i].kept = 0;
  return kept;
}

gboolean
ra_batcher_evict(RaBatcher *b, uint32_t but)
{
  for (guint at = b->kept_first; at < b->kept->len; at++) {
    uint32_t i = g_array_index(b->kept, uint32_t, at);
    RaBatchPause *pause = &b->pauses[i];
    RaBatchGroup *group = ra_batcher_group(b, i);
    gboolean stale = pause->kept == 0 || pause->kept_at != at;

    if (stale && at == b->kept_first)
      b->kept_first++;
    if (stale || i == but)
      continue;
    b->used_blocks -= ra_batcher_own_blocks(b, i, pause->kept);
    if (--group->n_running == 0) {
      b->used_blocks -= group->n_blocks;
      group->n_blocks = 0;
    }
    pause->kept = 0;
    b->work.n_evicted++;
    return TRUE;
  }
  return FALSE;
}

const uint32_t *
ra_batcher_paused(const RaBatcher *b, guint *out_n)
{
  *out_n = b->paused->len;
  return (const uint32_t *)(const void *)b->paused->data;
}

double
ra_batcher_pause_s(const RaBatcher *b, uint32_t i)
{
  return b->turns.latency_s[b->turns.begin[i] + b->pauses[i].turn + 1];
}

void
ra_batcher_resume(RaBatcher *b, uint32_t i)
{
  RaBatchPause *pause = &b->pauses[i];

  g_return_if_fail(b->sequences[i].state == RA_BATCH_PAUSES);
  pause->prompt += ra_batcher_response(b, i);
  pause->turn++;
  pause->prompt += b->turns.tool_tokens[b->turns.begin[i] + pause->turn];
  b->sequences[i].generated = 0;
  b->sequences[i].state = RA_BATCH_WAITS;
  g_array_append_val(b->returned, i);
}
