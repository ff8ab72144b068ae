/* Event queue: allocation. */
#include "config.h"

#include <string.h>

#include "sim/network/queue.h"

#define LINE_BYTES 64

/* Event 1, the first child, starts a cache line, and so does every fourth
 * after it: event 0 stands in the last 16 bytes of the line before. */
static RaEvent *
aligned_events(void *block)
{
  uintptr_t first_child = (uintptr_t)block + sizeof(RaEvent);

  first_child = (first_child + LINE_BYTES - 1) & ~(uintptr_t)(LINE_BYTES - 1);
  return (RaEvent *)first_child - 1;
}

static void *
new_block(gsize capacity)
{
  g_assert(capacity < G_MAXSIZE / sizeof(RaEvent) - LINE_BYTES);
  return g_malloc((capacity * sizeof(RaEvent)) + LINE_BYTES + sizeof(RaEvent));
}

void
ra_queue_init(RaQueue *queue, gsize capacity)
{
  queue->n = 0;
  queue->capacity = MAX(capacity, 4);
  queue->block = new_block(queue->capacity);
  queue->events = aligned_events(queue->block);
}

void
ra_queue_grow(RaQueue *queue)
{
  gsize capacity = 2 * queue->capacity;
  void *block = new_block(capacity);
  RaEvent *events = aligned_events(block);

  memcpy(events, queue->events, queue->n * sizeof *events);
  g_free(queue->block);
  queue->block = block;
  queue->events = events;
  queue->capacity = capacity;
}

void
ra_queue_clear(RaQueue *queue)
{
  g_free(queue->block);
  memset(queue, 0, sizeof *queue);
}
