/* Arrays for CUDA kernels under test: bf16 on 16-byte boundaries, random or
 * poisoned, and assertions on the error of a result.
 *
 * The same test runs twice.  With tests/emulator a kernel runs on the CPU, and
 * these arrays are on the heap.  With RA_ON_GPU defined it runs on the device,
 * and the arrays are managed memory, which both sides read.  A test must pass
 * no other arrays to its kernels, neither from the stack nor static ones.
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
uint64_t ra_emu_n_multiplied(void);

/* Sets the order in which threads and blocks run from now on. */
static inline void
device_seed(uint64_t seed)
{
  ra_emu_seed(seed);
}

/* Allocates an array: never NULL, 16-byte aligned. */
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

/* Waits for all launches.  Returns: @status, that of the launch, or a later
 * error. */
static inline int
device_done(int status)
{
  return status;
}

#define RA_DEVICE_MAIN(make_suite) RA_CHECK_MAIN(make_suite)

#endif

/* An array of bytes that are NaN in bf16, fp32 and fp64. */
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

/* An array (n), uniform in (-@scale, @scale). */
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

/* Asserts |got - exact| <= @bound, and that @got is not NaN. */
#define device_assert_near(got, exact, bound, what, i)                         \
  ck_assert_msg(fabs((got) - (exact)) <= (bound),                              \
                "%s[%zu] is %.9g, expected %.9g within %.3g", what,            \
                (gsize)(i), got, exact, bound)

#endif
