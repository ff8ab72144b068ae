/* Copies of the GPU's table that overlap with ops: two queues per thread, in
 * and out; each copy follows what the thread has begun.  They use neither the
 * thread's scratch buffers nor its GEMM workspace, which only its own stream
 * orders. */
#include "config.h"

#include <time.h>

#include "exec/backend/backend_cuda_impl.h"
#include "exec/backend/cuda_queue.h"

struct _RaBackendCopy {
  RaDeviceEvent *ready;       /* event of the thread's ops before it, owned */
  RaDeviceEvent *begin, *end; /* events of its queue, owned */
};

/* --- what a thread has --- */

/* By RaBackendQueue, that of the ops left out; owned; NULL: not yet. */
typedef struct {
  RaDeviceQueue *queues[RA_BACKEND_N_QUEUES];
  RaDeviceQueue *idle; /* that never has anything, for the time it is now */
} Mine;

static void
mine_free(gpointer data)
{
  Mine *m = data;

  for (int i = 0; i < RA_BACKEND_N_QUEUES; i++)
    ra_device_queue_free(m->queues[i]);
  ra_device_queue_free(m->idle);
  g_free(m);
}

static Mine *
mine(void)
{
  static GPrivate of_thread = G_PRIVATE_INIT(mine_free);
  Mine *m = g_private_get(&of_thread);

  if (!m) {
    m = g_new0(Mine, 1);
    g_private_set(&of_thread, m);
  }
  return m;
}

static RaDeviceQueue *
made(RaDeviceQueue **queue)
{
  if (!*queue)
    *queue = ra_device_queue_new();
  if (!*queue)
    g_error("the device has no stream for copies");
  return *queue;
}

/* (nullable): of the ops */
static RaDeviceQueue *
my_queue(RaBackendQueue which)
{
  return which == RA_BACKEND_OPS ? NULL : made(&mine()->queues[which]);
}

static RaDeviceEvent *
new_event(void)
{
  RaDeviceEvent *event = ra_device_event_new();

  if (!event)
    g_error("the device has no event");
  return event;
}

/* --- entries of the table --- */

RaBackendCopy *
ra_cuda_begin_copy(void *to, const void *from, gsize n_bytes, gboolean to_host)
{
  RaDeviceQueue *queue = my_queue(to_host ? RA_BACKEND_OUT : RA_BACKEND_IN);
  RaBackendCopy *copy = g_new(RaBackendCopy, 1);

  *copy = (RaBackendCopy){new_event(), new_event(), new_event()};
  ra_cuda_check_event(ra_device_event_record(copy->ready, NULL));
  ra_cuda_check_event(ra_device_queue_follow(queue, copy->ready));
  ra_cuda_check_event(ra_device_event_record(copy->begin, queue));
  ra_cuda_check(ra_device_queue_copy(queue, to, from, n_bytes, to_host),
                to_host ? "an offload" : "a reload");
  ra_cuda_check_event(ra_device_event_record(copy->end, queue));
  return copy;
}

void
ra_cuda_follow_copy(RaBackendQueue queue, const RaBackendCopy *copy)
{
  ra_cuda_check_event(ra_device_queue_follow(my_queue(queue), copy->end));
}

/* Events are of the device's clock: an event of now says what it is on the
 * host's. */
void
ra_cuda_end_copy(RaBackendCopy *copy, double *out_begin_s, double *out_end_s)
{
  RaDeviceEvent *now = new_event();
  double since_begin_s = 0, since_end_s = 0, now_s;
  struct timespec t;

  ra_cuda_check(ra_device_event_wait(copy->end), "a copy concurrent with ops");
  ra_cuda_check_event(ra_device_event_record(now, made(&mine()->idle)));
  ra_cuda_check_event(ra_device_event_wait(now));
  clock_gettime(CLOCK_MONOTONIC, &t);
  now_s = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
  ra_cuda_check_event(ra_device_event_s(copy->begin, now, &since_begin_s));
  ra_cuda_check_event(ra_device_event_s(copy->end, now, &since_end_s));
  *out_begin_s = now_s - since_begin_s;
  *out_end_s = now_s - since_end_s;
  ra_device_event_free(now);
  ra_device_event_free(copy->ready);
  ra_device_event_free(copy->begin);
  ra_device_event_free(copy->end);
  g_free(copy);
}
