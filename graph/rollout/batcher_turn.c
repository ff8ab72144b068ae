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
  if (turns->n_tools > 0 && turns->n_tools < b->n)
    b->tools_s = g_new0(double, turns->n_tools);
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

/* Replaces the first of the times at which tools are free, a binary heap. */
static void
occupy(RaBatcher *b, double until_s)
{
  double *heap = b->tools_s;
  uint32_t n = b->turns.n_tools, at = 0;

  for (uint32_t child = 1; child < n; child = 2 * at + 1) {
    if (child + 1 < n && heap[child + 1] < heap[child])
      child++;
    if (heap[child] >= until_s)
      break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = until_s;
}

double
ra_batcher_answer_s(RaBatcher *b, uint32_t i, double now_s)
{
  double latency_s =
      b->turns.latency_s[b->turns.begin[i] + b->pauses[i].turn + 1];
  double until_s;

  if (!b->tools_s)
    return now_s + latency_s;
  until_s = MAX(now_s, b->tools_s[0]) + latency_s;
  occupy(b, until_s);
  return until_s;
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
