/* A GPU as the machine of a probe. */
#include "config.h"

#include <stdlib.h>
#include <time.h>

#include "exec/backend/backend_cuda_impl.h"
#include "exec/backend/cuda_measure.h"
#include "exec/measure/probe_machine.h"

/* Pools: the input of the largest GEMM of a model's head (128 Ki x 8 Ki), but
 * at most a 16th of the device. */
#define POOL_BYTES ((gsize)2 << 30)
#define POOL_SHARE 16
/* Zeroes that go through a cache until nothing of before is in it, and for long
 * enough that the host has launched the op behind them: 400 MB are 0.13 ms of
 * an H100, ten launches. */
#define FLUSH_CACHES 8

typedef struct {
  RaDeviceTimer *events; /* owned */
  gboolean by_host;      /* the current interval is timed by the host */
  double begin_s;        /* its start, by the host's clock */
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
  ra_cuda_check(ra_device_poison(to, n_bytes), "a poison");
}

/* Flushes the caches, for the whole program. */
static void
flush(void)
{
  static void *zeroes;
  static gsize n_bytes;

  if (!zeroes) {
    n_bytes = FLUSH_CACHES * ra_probe_machine_cuda()->cache_bytes;
    zeroes = ra_backend_cuda()->alloc(n_bytes);
  }
  ra_cuda_check(ra_device_zero(zeroes, n_bytes), "zeroes");
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

/* Work of the host would be hidden by the flush of the caches. */
static gboolean
is_hosts(const RaOp *op)
{
  return op->kind == RA_OP_LOSS;
}

static void
timer_start(gpointer timer, const RaOp *op)
{
  Timer *t = timer;

  t->by_host = is_hosts(op);
  if (t->by_host) {
    ra_cuda_check_wait(ra_device_wait(), "an op");
    t->begin_s = host_s();
    return;
  }
  ra_cuda_check_event(ra_device_timer_start(t->events));
}

static double
timer_stop_s(gpointer timer)
{
  Timer *t = timer;
  float ms = 0;

  if (t->by_host)
    return host_s() - t->begin_s;
  ra_cuda_check_event(ra_device_timer_stop(t->events, &ms));
  return 1e-3 * (double)ms;
}

/* ---- Launches --------------------------------------------------------------
 */

/* Elements of the smallest sum, and how many of them are begun at a time: more
 * than a queue of launches is deep would be the device's time. */
#define SMALL 8
#define N_EAGER 512
#define N_SHORT 64
#define N_LONG 1024
#define N_TIMES 21

typedef struct {
  RaElem *x, *y; /* (SMALL) of the device */
  guint n;       /* sums to begin */
} Sums;

static void
begin_sums(const Sums *s)
{
  for (guint i = 0; i < s->n; i++)
    ra_backend_cuda()->add(SMALL, s->x, s->y);
}

static int
compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* Median seconds from the host's begin of @graph (NULL: of the sums one by one)
 * to the end of all. */
static double
begun_s(Sums *sums, RaDeviceGraph *graph)
{
  double s[N_TIMES];

  for (int i = -2; i < N_TIMES; i++) {
    double begin_s;

    ra_cuda_check_wait(ra_device_wait(), "an op");
    begin_s = host_s();
    if (graph)
      ra_cuda_check(ra_device_graph_begin(graph), "a graph");
    else
      begin_sums(sums);
    ra_cuda_check_wait(ra_device_wait(), "an op");
    if (i >= 0) /* the first make the graph ready */
      s[i] = host_s() - begin_s;
  }
  qsort(s, N_TIMES, sizeof *s, compare_doubles);
  return s[N_TIMES / 2];
}

static double
graph_s(Sums *sums, guint n)
{
  RaDeviceGraph *graph = NULL;
  double s;

  sums->n = n;
  ra_cuda_check(ra_device_capture_begin(), "a graph");
  begin_sums(sums);
  ra_cuda_check(ra_device_capture_end(&graph), "a graph");
  if (!graph)
    return 0;
  s = begun_s(sums, graph);
  ra_device_graph_free(graph);
  return s;
}

/* Graphs of two lengths: the line through both is a launch and, of each kernel,
 * what it takes with its gap.  The timer says @op_s of one alone: more, as the
 * interval begins before the kernel does (2 us on an H100). */
static gboolean
measure_launch(double op_s, RaProbeLaunch *out)
{
  const RaBackend *b = ra_backend_cuda();
  RaElem *x = b->alloc(2 * SMALL * b->elem_bytes);
  Sums sums = {x, ra_elem_at(b, x, SMALL), N_EAGER};
  double short_s, long_s, kernel_s;

  b->zero(x, 2 * SMALL * b->elem_bytes);
  out->eager_s = begun_s(&sums, NULL) / N_EAGER;
  short_s = graph_s(&sums, N_SHORT);
  long_s = graph_s(&sums, N_LONG);
  kernel_s = (long_s - short_s) / (N_LONG - N_SHORT);
  out->graph_s = MAX(short_s - N_SHORT * kernel_s, 0);
  out->gap_s = MAX(kernel_s - op_s, 0);
  out->timer_s = MAX(op_s - kernel_s, 0);
  b->free(x);
  return b->failure() == NULL;
}

static gboolean
memory(uint64_t *out_free, uint64_t *out_all)
{
  size_t free_bytes = 0, all_bytes = 0;

  ra_cuda_check(ra_device_memory(&free_bytes, &all_bytes), "its memory");
  *out_free = free_bytes;
  *out_all = all_bytes;
  return all_bytes > 0;
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
                                   .timer_stop_s = timer_stop_s,
                                   .host_s = host_s,
                                   .launch = measure_launch,
                                   .memory = memory};
  uint64_t free_bytes = 0, all_bytes = 0;

  machine.backend = ra_backend_cuda();
  memory(&free_bytes, &all_bytes);
  machine.cache_bytes = MAX(ra_device_cache_bytes(), (size_t)1 << 16);
  machine.clock_hz = ra_device_clock_hz();
  machine.pool_bytes = MIN(POOL_BYTES, all_bytes / POOL_SHARE / 4096 * 4096);
  machine.lap_bytes = machine.pool_bytes;
  return &machine;
}
