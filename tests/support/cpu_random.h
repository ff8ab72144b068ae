/* Random inputs for tests of CPU kernels, reproducible. */
#ifndef RA_TESTS_SUPPORT_CPU_RANDOM_H
#define RA_TESTS_SUPPORT_CPU_RANDOM_H

#include <glib.h>

#include "base/rng.h"

/* (transfer full): @n floats, uniform in (-@scale, @scale). */
static inline float *
cpu_random(uint64_t seed, gsize n, double scale)
{
  RaRng rng = ra_rng_init(seed, n);
  float *values = g_new(float, n + 1);

  for (gsize i = 0; i < n; i++)
    values[i] = (float)(scale * (2 * ra_rng_uniform(&rng) - 1));
  return values;
}

#endif
