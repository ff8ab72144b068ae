/* exec/cuda_measure.h where there is no GPU: its clock is a test's, a graph is
 * what begins its ops, begun again. */
#include "config.h"

#include <string.h>

#include "exec/cuda_measure.h"
#include "tests/emulator/measure.h"
#include "tests/emulator/memory.h"

struct RaDeviceTimer {
  bool runs;
};

struct RaDeviceGraph {
  void (*begin)(void *data);
  void *data;
};

static float (*stop_ms)(void *data);
static void *stop_data;

void
ra_emu_set_timer(float (*stop)(void *data), void *data)
{
  stop_ms = stop;
  stop_data = data;
}

RaDeviceTimer *
ra_device_timer_new(void)
{
  return new RaDeviceTimer();
}

void
ra_device_timer_free(RaDeviceTimer *timer)
{
  delete timer;
}

int
ra_device_timer_start(RaDeviceTimer *timer)
{
  timer->runs = true;
  return 0;
}

/* A timer that was not started is an error, as an event that was not recorded.
 */
int
ra_device_timer_stop(RaDeviceTimer *timer, float *out_ms)
{
  if (!timer->runs)
    return 1;
  timer->runs = false;
  *out_ms = stop_ms ? stop_ms(stop_data) : 1;
  return 0;
}

int
ra_device_graph_new(void (*begin)(void *data), void *data,
                    RaDeviceGraph **out_graph)
{
  *out_graph = new RaDeviceGraph{begin, data};
  return 0;
}

void
ra_device_graph_free(RaDeviceGraph *graph)
{
  delete graph;
}

int
ra_device_graph_begin(RaDeviceGraph *graph)
{
  graph->begin(graph->data);
  return 0;
}

int
ra_device_poison(void *to, size_t n_bytes)
{
  ra_emu_enter();
  memset(to, 0xff, n_bytes);
  ra_emu_leave();
  return 0;
}

size_t
ra_device_cache_bytes(void)
{
  return 65536;
}

/* As a process that has nothing but its context. */
int
ra_device_memory(size_t *out_free, size_t *out_all)
{
  *out_all = (size_t)1 << 30;
  *out_free = *out_all - ((size_t)64 << 20);
  return 0;
}

double
ra_device_clock_hz(void)
{
  return 1e9;
}
