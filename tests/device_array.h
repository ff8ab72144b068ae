/* Arrays for kernels that run on the emulator: bf16 on 16-byte boundaries,
 * random or poisoned, and how far a result is from what it should be.
 */
#ifndef RA_TESTS_DEVICE_ARRAY_H
#define RA_TESTS_DEVICE_ARRAY_H

#include <check.h>
#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "kernels/bf16.h"

void ra_emu_seed(uint64_t seed); /* tests/emulator */

/* Freed with free(); NaN in bf16 and in fp32. */
static inline void *
device_poisoned(gsize n_bytes)
{
  void *p = aligned_alloc(16, (n_bytes + 15) / 16 * 16 + 16);

  ck_assert_ptr_nonnull(p);
  memset(p, 0xff, n_bytes);
  return p;
}

/* (n), uniform in (-@scale, @scale). */
static inline uint16_t *
device_bf16(RaRng *rng, gsize n, double scale)
{
  uint16_t *values = (uint16_t *)device_poisoned(n * sizeof *values);

  for (gsize i = 0; i < n; i++)
    values[i] =
        ra_bf16_from_f32((float)(scale * (2 * ra_rng_uniform(rng) - 1)));
  return values;
}

static inline float *
device_f32(RaRng *rng, gsize n, double low, double high)
{
  float *values = (float *)device_poisoned(n * sizeof *values);

  for (gsize i = 0; i < n; i++)
    values[i] = (float)(low + (high - low) * ra_rng_uniform(rng));
  return values;
}

static inline double
device_at(const uint16_t *values, gsize i)
{
  return (double)ra_bf16_to_f32(values[i]);
}

/* |got - exact| <= @bound, and @got a number. */
#define device_assert_near(got, exact, bound, what, i)                         \
  ck_assert_msg(fabs((got) - (exact)) <= (bound),                              \
                "%s[%zu] is %.9g, expected %.9g within %.3g", what,            \
                (gsize)(i), got, exact, bound)

#endif
