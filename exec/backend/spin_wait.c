/* Spin-wait on a condition. */
#include "config.h"

#include <time.h>

#include "exec/backend/spin_wait.h"

/* Looks before the clock is read for the first time: some 0.1 us. */
#define AT_ONCE 100

static double
now_s(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

gboolean
ra_spin_until(RaSpinFunc is_there, gconstpointer data)
{
  double until_s;

  for (guint i = 0; i < AT_ONCE; i++)
    if (is_there(data))
      return TRUE;
  until_s = now_s() + RA_SPIN_MAX_S;
  do
    if (is_there(data))
      return TRUE;
  while (now_s() < until_s);
  return FALSE;
}
