/* Arrays for CUDA kernels under test: bf16 on 16-byte boundaries, random or
 * poisoned, and how far a result is from what it should be.
 *
 * The same test runs twice.  With tests/emulator a kernel runs on the CPU and
 * these arrays are the heap's.  With RA_ON_GPU defined it runs on the device,
 * the arrays are managed memory, which both sides read, and a test must hand
 * its kernels nothing else: no array of the stack, none that is static.
 *
 *     RaRng rng = ra_rng_init(1, 0);
 *     uint16_t *x = device_bf16(&rng, n, 2), *y = device_poisoned(2 * n);
 *
 *     ck_assert_int_eq(device_done(ra_k_add(n, x, y, NULL)), 0);
 *     device_assert_near(device_at(y, 0), ...);
 *     device_free(x);
 *     ...
 *     RA_DEVICE_MAIN(add_suite)
 */
#ifndef RA_TESTS_DEVICE_DEVICE_ARRAY_H
#define RA_TESTS_DEVICE_DEVICE_ARRAY_H

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "kernels/cpu/bf16.h"
#include "tests/support/check_main.h"

#ifdef RA_ON_GPU

#include "tests/device/gpu_array.h"
#include "tests/support/check_points.h"

#else

void ra_emu_seed(uint64_t seed); /* tests/emulator */

/* The order in which threads and blocks run from now on. */
static inline void
device_seed(uint64_t seed)
{
  ra_emu_seed(seed);
}

/* Never NULL, 16-byte aligned. */
static inline void *
device_new(gsize n_bytes)
{
  void *p = aligned_alloc(16, (n_bytes + 15) / 16 * 16 + 16);

  ck_assert_ptr_nonnull(p);
  return p;
}

static inline void
device_free(void *p)
{
  free(p);
}

/* Waits for what was launched.  Returns: @status, the kernel's own, or what
 * went wrong since. */
static inline int
device_done(int status)
{
  return status;
}

#define RA_DEVICE_MAIN(make_suite) RA_CHECK_MAIN(make_suite)

#endif

/* NaN in bf16, in fp32 and in fp64. */
static inline void *
device_poisoned(gsize n_bytes)
{
  void *p = device_new(n_bytes);

  memset(p, 0xff, n_bytes);
  return p;
}

static inline void *
device_copy(const void *from, gsize n_bytes)
{
  void *p = device_new(n_bytes);

  memcpy(p, from, n_bytes);
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
