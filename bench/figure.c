/* Medians, quantiles, clocks and bars of benchmarks. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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
