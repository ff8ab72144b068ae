/* exec/backend/cuda_measure.h without a GPU: its clock is set by a test; graphs
 * are in graph.cc. */
#include "config.h"

#include <string.h>
#include <time.h>
#include <vector>

#include "exec/backend/cuda_measure.h"
#include "tests/emulator/graph.h"
#include "tests/emulator/measure.h"
#include "tests/emulator/memory.h"

struct RaDeviceTimer {
  bool runs;
};

struct RaDeviceMarks {
  unsigned n_most;
  std::vector<double> s;
};

static float (*stop_ms)(void *data);
static void *stop_data;

void
ra_emu_set_timer(float (*stop)(void *data), void *data)
{
  stop_ms = stop;
  stop_data = data;
}

static double
host_s(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double (*now_s)(void) = host_s;

void
ra_emu_set_clock(double (*now)(void))
{
  now_s = now ? now : host_s;
}

double
ra_emu_now_s(void)
{
  return now_s();
}

RaDeviceMarks *
ra_device_marks_new(unsigned n_most)
{
  return new RaDeviceMarks{n_most, {}};
}

void
ra_device_marks_free(RaDeviceMarks *marks)
{
  delete marks;
}

int
ra_device_mark(RaDeviceMarks *marks, unsigned *out_mark)
{
  ra_emu_no_capture("a mark");
  if (marks->s.size() >= marks->n_most)
    return 1;
  *out_mark = (unsigned)marks->s.size();
  marks->s.push_back(now_s());
  return 0;
}

int
ra_device_marks_read(RaDeviceMarks *marks, double *out_s)
{
  for (size_t i = 0; i < marks->s.size(); i++)
    out_s[i] = marks->s[i] - marks->s[0];
  marks->s.clear();
  return 0;
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
ra_device_poison(void *to, size_t n_bytes)
{
  ra_emu_no_capture("poison");
  if (ra_emu_note([=] { ra_device_poison(to, n_bytes); }))
    return 0;
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

/* Memory of a process that has 64 MiB of its own beside its arrays. */
int
ra_device_memory(size_t *out_free, size_t *out_all)
{
  *out_all = RA_EMU_MEMORY_BYTES;
  *out_free = *out_all - ((size_t)64 << 20) - ra_emu_held_bytes();
  return 0;
}

double
ra_device_clock_hz(void)
{
  return 1e9;
}
