/* A GPU as the machine of a probe. */
#include "config.h"

#include <time.h>

#include "exec/backend_cuda_impl.h"
#include "exec/cuda_measure.h"
#include "exec/probe_machine.h"

/* Pools: what the largest product of a model's head reads (128 Ki x 8 Ki), but
 * never more of the device than a 16th. */
#define POOL_BYTES ((gsize)2 << 30)
#define POOL_SHARE 16
/* Zeroes that go through a cache until nothing of before is in it. */
#define FLUSH_CACHES 4

typedef struct {
  RaDeviceTimer *events; /* owned */
  gboolean by_host;      /* of the stretch at hand */
  double begin_s;        /* of it, by the host's clock */
} Timer;

static double
host_s(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
poison(void *to, gsize n_bytes)
{
  ra_cuda_did(ra_device_poison(to, n_bytes), "a poison");
}

/* Of the program. */
static void
flush(void)
{
  static void *zeroes;
  static gsize n_bytes;

  if (!zeroes) {
    n_bytes = FLUSH_CACHES * MAX(ra_device_cache_bytes(), (size_t)1 << 16);
    zeroes = ra_backend_cuda()->alloc(n_bytes);
  }
  ra_cuda_did(ra_device_zero(zeroes, n_bytes), "zeroes");
}

static gpointer
timer_new(void)
{
  Timer *t = g_new0(Timer, 1);

  t->events = ra_device_timer_new();
  if (!t->events)
    g_error("the device has no events");
  return t;
}

static void
timer_free(gpointer timer)
{
  Timer *t = timer;

  ra_device_timer_free(t->events);
  g_free(t);
}

/* What the host does would hide behind what empties the caches. */
static gboolean
is_hosts(const RaOp *op)
{
  return op->kind == RA_OP_SAMPLE || op->kind == RA_OP_LOSS;
}

static void
timer_start(gpointer timer, const RaOp *op)
{
  Timer *t = timer;

  t->by_host = is_hosts(op);
  if (t->by_host) {
    ra_cuda_did(ra_device_wait(), "an op");
    t->begin_s = host_s();
    return;
  }
  ra_cuda_did(ra_device_timer_start(t->events), "an event");
}

static double
timer_stop_s(gpointer timer)
{
  Timer *t = timer;
  float ms = 0;

  if (t->by_host)
    return host_s() - t->begin_s;
  ra_cuda_did(ra_device_timer_stop(t->events, &ms), "an event");
  return 1e-3 * (double)ms;
}

const RaProbeMachine *
ra_probe_machine_cuda(void)
{
  static RaProbeMachine machine = {.dtype = RA_DTYPE_BF16,
                                   .poison = poison,
                                   .flush = flush,
                                   .timer_new = timer_new,
                                   .timer_free = timer_free,
                                   .timer_start = timer_start,
                                   .timer_stop_s = timer_stop_s};
  size_t free_bytes = 0, all_bytes = 0;

  machine.backend = ra_backend_cuda();
  ra_cuda_did(ra_device_memory(&free_bytes, &all_bytes), "its memory");
  machine.pool_bytes = MIN(POOL_BYTES, all_bytes / POOL_SHARE / 4096 * 4096);
  machine.lap_bytes = machine.pool_bytes;
  return &machine;
}
