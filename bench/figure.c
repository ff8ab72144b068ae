/* Medians, quantiles, clocks and bars of benchmarks. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/rng.h"
#include "bench/figure.h"

static int
compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

void
bench_sort(double *values, guint n)
{
  if (n > 1)
    qsort(values, n, sizeof *values, compare);
}

double
bench_median(double *values, guint n)
{
  if (n == 0)
    return (double)NAN;
  bench_sort(values, n);
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

double
bench_quantile(double *values, guint n, double q)
{
  guint at = (guint)ceil(q * n);

  if (n == 0)
    return (double)NAN;
  bench_sort(values, n);
  return values[CLAMP(at, 1, n) - 1];
}

double
bench_wall_s(void)
{
  return (double)g_get_monotonic_time() * 1e-6;
}

double
bench_cpu_s(void)
{
  struct timespec time;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

enum { UNIT_EVENTS = 1024, UNIT_STEPS = 1 << 20, UNIT_TABLE = 1 << 20 };

/* Replaces the earliest of @heap by @end_s. */
static void
replace_first(double *heap, double end_s)
{
  guint at = 0, child;

  while ((child = 2 * at + 1) < UNIT_EVENTS) {
    if (child + 1 < UNIT_EVENTS && heap[child + 1] < heap[child])
      child++;
    if (heap[child] >= end_s)
      break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = end_s;
}

double
bench_unit_s(void)
{
  static double least_s;
  g_autofree double *table = NULL;
  RaRng rng = ra_rng_init(1, 0);

  if (least_s > 0)
    return least_s;
  table = g_new(double, UNIT_TABLE);
  for (guint i = 0; i < UNIT_TABLE; i++)
    table[i] = ra_rng_uniform(&rng);
  least_s = (double)INFINITY;
  for (guint run = 0; run < 9; run++) {
    double heap[UNIT_EVENTS] = {0}, begin_s = bench_cpu_s();
    uint32_t at = run;

    for (guint i = 0; i < UNIT_STEPS; i++) {
      replace_first(heap, heap[0] + table[at]);
      at = (at * 1664525u + 1013904223u) % UNIT_TABLE;
    }
    least_s = heap[0] > 0 ? fmin(least_s, bench_cpu_s() - begin_s) : 0;
  }
  return least_s;
}

void
bench_bar(const char *name, double value, BenchSide side, double limit)
{
  gboolean most = side == BENCH_AT_MOST;
  gboolean ok = most ? value <= limit : value >= limit; /* of NAN neither */

  if (isnan(value))
    printf("bar\t%s\t-", name);
  else
    printf("bar\t%s\t%.6g", name, value);
  printf("\t%s%g\t%s\n", most ? "<=" : ">=", limit, ok ? "ok" : "short");
}

char *
bench_data_folder(const char *given)
{
  const char *path = g_getenv("RA_DATA_PATH");
  g_auto(GStrv) folders = g_strsplit(path ? path : "share", ":", 2);

  return given
             ? g_strdup(given)
             : g_build_filename(folders[0], "..", "..", "shared", "data", NULL);
}
