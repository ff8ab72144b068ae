/* Timers, marks and captured graphs, by the CUDA runtime. */
#include "config.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>

#include "exec/backend/cuda_measure.h"
#include "exec/backend/cuda_wait.h"

struct RaDeviceTimer {
  cudaEvent_t begin, end;
};

struct RaDeviceMarks {
  unsigned n, n_events, n_most;
  cudaEvent_t events[]; /* (n_most), of which n_events are made */
};

struct RaDeviceGraph {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
};

RaDeviceTimer *
ra_device_timer_new(void)
{
  RaDeviceTimer *t = calloc(1, sizeof *t);

  if (!t)
    return NULL;
  if (cudaEventCreate(&t->begin) == cudaSuccess &&
      cudaEventCreate(&t->end) == cudaSuccess)
    return t;
  ra_device_timer_free(t);
  return NULL;
}

void
ra_device_timer_free(RaDeviceTimer *timer)
{
  if (!timer)
    return;
  if (timer->begin)
    cudaEventDestroy(timer->begin);
  if (timer->end)
    cudaEventDestroy(timer->end);
  free(timer);
}

int
ra_device_timer_start(RaDeviceTimer *timer)
{
  return (int)cudaEventRecord(timer->begin, cudaStreamPerThread);
}

int
ra_device_timer_stop(RaDeviceTimer *timer, float *out_ms)
{
  cudaError_t code = cudaEventRecord(timer->end, cudaStreamPerThread);

  if (code == cudaSuccess)
    code = (cudaError_t)ra_device_until(timer->end);
  if (code == cudaSuccess)
    code = cudaEventElapsedTime(out_ms, timer->begin, timer->end);
  return (int)code;
}

RaDeviceMarks *
ra_device_marks_new(unsigned n_most)
{
  RaDeviceMarks *m = calloc(1, sizeof *m + n_most * sizeof *m->events);

  if (m)
    m->n_most = n_most;
  return m;
}

void
ra_device_marks_free(RaDeviceMarks *marks)
{
  if (!marks)
    return;
  for (unsigned i = 0; i < marks->n_events; i++)
    cudaEventDestroy(marks->events[i]);
  free(marks);
}

int
ra_device_mark(RaDeviceMarks *marks, unsigned *out_mark)
{
  cudaError_t code = cudaSuccess;

  if (marks->n >= marks->n_most)
    return (int)cudaErrorInvalidValue;
  if (marks->n == marks->n_events) {
    code = cudaEventCreate(&marks->events[marks->n]);
    marks->n_events += code == cudaSuccess;
  }
  if (code == cudaSuccess)
    code = cudaEventRecord(marks->events[marks->n], cudaStreamPerThread);
  if (code == cudaSuccess)
    *out_mark = marks->n++;
  return (int)code;
}

/* From mark to mark, as a float of milliseconds is exact to the clock's tick
 * over an op and not over a minute. */
int
ra_device_marks_read(RaDeviceMarks *marks, double *out_s)
{
  unsigned n = marks->n;
  cudaError_t code = cudaSuccess;
  double s = 0;

  marks->n = 0;
  if (n > 0)
    code = (cudaError_t)ra_device_until(marks->events[n - 1]);
  for (unsigned i = 0; i < n && code == cudaSuccess; i++) {
    float ms = 0;

    if (i > 0)
      code = cudaEventElapsedTime(&ms, marks->events[i - 1], marks->events[i]);
    s += 1e-3 * (double)ms;
    out_s[i] = s;
  }
  return (int)code;
}

int
ra_device_capture_begin(void)
{
  return (int)cudaStreamBeginCapture(cudaStreamPerThread,
                                     cudaStreamCaptureModeThreadLocal);
}

int
ra_device_capture_end(RaDeviceGraph **out_graph)
{
  RaDeviceGraph *g = calloc(1, sizeof *g);
  cudaGraph_t none;
  cudaError_t code =
      cudaStreamEndCapture(cudaStreamPerThread, g ? &g->graph : &none);

  *out_graph = NULL;
  if (!g)
    return (int)cudaErrorMemoryAllocation;
  if (code == cudaSuccess)
    code = cudaGraphInstantiate(&g->ready, g->graph, 0);
  if (code == cudaSuccess)
    *out_graph = g;
  else
    ra_device_graph_free(g);
  return (int)code;
}

void
ra_device_graph_free(RaDeviceGraph *graph)
{
  if (!graph)
    return;
  if (graph->ready)
    cudaGraphExecDestroy(graph->ready);
  if (graph->graph)
    cudaGraphDestroy(graph->graph);
  free(graph);
}

int
ra_device_graph_begin(RaDeviceGraph *graph)
{
  return (int)cudaGraphLaunch(graph->ready, cudaStreamPerThread);
}

int
ra_device_poison(void *to, size_t n_bytes)
{
  return (int)cudaMemsetAsync(to, 0xff, n_bytes, cudaStreamPerThread);
}

static int
attribute(enum cudaDeviceAttr which)
{
  int value = 0, device = 0;

  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&value, which, device) != cudaSuccess)
    return 0;
  return value;
}

size_t
ra_device_cache_bytes(void)
{
  return (size_t)attribute(cudaDevAttrL2CacheSize);
}

int
ra_device_memory(size_t *out_free, size_t *out_all)
{
  return (int)cudaMemGetInfo(out_free, out_all);
}

double
ra_device_clock_hz(void)
{
  return 1e3 * attribute(cudaDevAttrClockRate);
}
