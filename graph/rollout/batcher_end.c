/* Future ends of a batcher's sequences: a binary heap. */
#include "config.h"

#include "graph/rollout/batcher_impl.h"

static gboolean
ends_before(const RaBatchEnd *a, const RaBatchEnd *b)
{
  return a->step < b->step || (a->step == b->step && a->sequence < b->sequence);
}

void
ra_batcher_push_end(RaBatcher *b, RaBatchEnd end)
{
  GArray *ends = b->ends;
  RaBatchEnd *heap;
  guint at = ends->len;

  g_array_append_val(ends, end);
  heap = (RaBatchEnd *)(void *)ends->data;
  for (; at > 0 && ends_before(&end, &heap[(at - 1) / 2]); at = (at - 1) / 2)
    heap[at] = heap[(at - 1) / 2];
  heap[at] = end;
}

void
ra_batcher_pop_end(RaBatcher *b)
{
  GArray *ends = b->ends;
  RaBatchEnd *heap = (RaBatchEnd *)(void *)ends->data,
             last = heap[ends->len - 1];
  guint n = ends->len - 1, at = 0;

  g_array_set_size(ends, n);
  for (;;) {
    guint child = 2 * at + 1;

    if (child >= n)
      break;
    if (child + 1 < n && ends_before(&heap[child + 1], &heap[child]))
      child++;
    if (!ends_before(&heap[child], &last))
      break;
    heap[at] = heap[child];
    at = child;
  }
  if (n > 0)
    heap[at] = last;
}

/* The next end of a sequence that still decodes to it; NULL: none. */
const RaBatchEnd *
ra_batcher_first_end(RaBatcher *b)
{
  while (b->ends->len > 0) {
    const RaBatchEnd *end = &g_array_index(b->ends, RaBatchEnd, 0);
    const RaBatchSequence *s = &b->sequences[end->sequence];

    if (s->state == RA_BATCH_DECODES && s->end_step == end->step)
      return end;
    ra_batcher_pop_end(b);
  }
  return NULL;
}
