/* Event queue: a 4-ary heap ordered by (time, sequence number).
 *
 * The order is total: events of equal time come out in the order of their
 * sequence numbers, which the caller assigns and never repeats.  There is no
 * epsilon.  Times are finite and not negative.
 *
 * An event has 16 bytes and the four children of a node fill one cache line, so
 * a level costs one line.  Pushing allocates only if the heap has to grow.
 *
 *     RaQueue queue;
 *     ra_queue_init(&queue, 1024);
 *     ra_queue_push(&queue, (RaEvent){.time_s = 1.5, .seq = 0, .task = 7});
 *     while (ra_queue_pop(&queue, &event)) ...
 *     ra_queue_clear(&queue);
 *
 * Typical sizes: one event per busy stream, 10^2 to 10^5; 10^7 pushes per run.
 */
#ifndef RA_SIM_NETWORK_QUEUE_H
#define RA_SIM_NETWORK_QUEUE_H

#include <glib.h>
#include <stdint.h>

typedef struct {
  double time_s; /* time of the event, >= 0 */
  uint32_t seq;  /* breaks ties: the smaller comes first */
  uint32_t task; /* payload */
} RaEvent;

typedef struct {
  RaEvent *events; /* (capacity) heap; children of i are 4 i + 1 .. 4 i + 4 */
  gsize n;         /* events in the heap */
  gsize capacity;  /* events that fit */
  void *block;     /* allocation into which `events` points, 64-byte aligned;
                      owned */
} RaQueue;

/* Initializes an empty queue with room for @capacity events; ra_queue_clear()
 * it. */
void ra_queue_init(RaQueue *queue, gsize capacity);
void ra_queue_clear(RaQueue *queue);

/* Doubles the room; only ra_queue_push() calls it. */
void ra_queue_grow(RaQueue *queue);

static inline gboolean
ra_event_before(const RaEvent *a, const RaEvent *b)
{
  return a->time_s < b->time_s || (a->time_s == b->time_s && a->seq < b->seq);
}

/* Adds @event. O(log4 n). */
static inline void
ra_queue_push(RaQueue *queue, RaEvent event)
{
  gsize hole;

  if (queue->n == queue->capacity)
    ra_queue_grow(queue);
  hole = queue->n++;
  while (hole > 0) {
    gsize parent = (hole - 1) / 4;

    if (!ra_event_before(&event, &queue->events[parent]))
      break;
    queue->events[hole] = queue->events[parent];
    hole = parent;
  }
  queue->events[hole] = event;
}

/* Index of the first event among the children first .. end - 1. */
static inline gsize
ra_queue_least(const RaEvent *events, gsize first, gsize end)
{
  gsize least = first;

  for (gsize child = first + 1; child < end; child++)
    if (ra_event_before(&events[child], &events[least]))
      least = child;
  return least;
}

/**
 * ra_queue_pop:
 * @queue: the queue
 * @out_event: (out): the first event, removed; untouched if there is none
 *
 * Cost: O(log4 n).
 *
 * Returns: %FALSE if the queue is empty
 */
static inline gboolean
ra_queue_pop(RaQueue *queue, RaEvent *out_event)
{
  RaEvent *events = queue->events;
  RaEvent last;
  gsize hole = 0, n;

  if (queue->n == 0)
    return FALSE;
  *out_event = events[0];
  n = --queue->n;
  last = events[n];
  for (;;) {
    gsize first = 4 * hole + 1, least;

    if (first >= n)
      break;
    least = ra_queue_least(events, first, MIN(first + 4, n));
    if (!ra_event_before(&events[least], &last))
      break;
    events[hole] = events[least];
    hole = least;
  }
  events[hole] = last;
  return TRUE;
}

#endif
