/* The CUDA emulator of the tests: that right kernels give what they should, and
 * that the faults it is there for are seen.
 */
#include "config.h"

#include <signal.h>

#include "tests/check_main.h"
#include "tests/device_array.h"
#include "tests/emulator/faults.h"

enum { N = 64, N_SEEDS = 20 };

static void
count(int in[N])
{
  for (int i = 0; i < N; i++)
    in[i] = i + 1;
}

/* Whether @out is 1 to N turned round. */
static gboolean
is_turned(const int out[N])
{
  for (int i = 0; i < N; i++)
    if (out[i] != N - i)
      return FALSE;
  return TRUE;
}

/* With its barrier a kernel is right in every order of the threads; without, in
 * none of twenty, since some thread would have to run after its opposite
 * everywhere. */
START_TEST(test_barrier)
{
  int in[N], out[N];

  count(in);
  for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
    ra_emu_seed(seed);
    emu_turn(in, out, 1);
    ck_assert(is_turned(out));
    emu_turn(in, out, 0);
    ck_assert(!is_turned(out));
  }
}
END_TEST

/* A copy that nobody waited for is not there: 16 bytes of poison. */
START_TEST(test_copy)
{
  static int in[N] __attribute__((aligned(16)));
  int out[N];

  count(in);
  for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
    ra_emu_seed(seed);
    emu_copy(in, out, 1);
    ck_assert(is_turned(out));
    emu_copy(in, out, 0);
    for (int i = 0; i < N; i++)
      ck_assert_int_eq(out[i], -1);
  }
}
END_TEST

START_TEST(test_lonely_barrier)
{
  emu_lonely_barrier();
}
END_TEST

START_TEST(test_split_warp)
{
  int out[N];

  emu_split_warp(out);
}
END_TEST

START_TEST(test_lost_copy)
{
  static int in[N] __attribute__((aligned(16)));

  emu_lost_copy(in);
}
END_TEST

/* Small whole numbers, whose products and sums are exact in bf16 and fp32: the
 * product is that of three loops.  A fault in one lane's place of a fragment
 * puts a number in another cell. */
START_TEST(test_product)
{
  static uint16_t a[256] __attribute__((aligned(16)));
  static uint16_t b[128] __attribute__((aligned(16)));
  float d[128];

  for (int i = 0; i < 256; i++)
    a[i] = ra_bf16_from_f32((float)(i * 7 % 31 - 15));
  for (int i = 0; i < 128; i++)
    b[i] = ra_bf16_from_f32((float)(i * 11 % 29 - 14));
  emu_product(a, b, d);
  for (int row = 0; row < 16; row++)
    for (int col = 0; col < 8; col++) {
      int sum = 0;

      for (int k = 0; k < 16; k++)
        sum += ((row * 16 + k) * 7 % 31 - 15) * ((k * 8 + col) * 11 % 29 - 14);
      ck_assert_msg((int)d[row * 8 + col] == sum, "[%d, %d]: %g, expected %d",
                    row, col, (double)d[row * 8 + col], sum);
    }
}
END_TEST

static Suite *
emulator_suite(void)
{
  Suite *suite = suite_create("emulator");
  TCase *tcase = tcase_create("emulator");

  tcase_add_test(tcase, test_barrier);
  tcase_add_test(tcase, test_copy);
  tcase_add_test_raise_signal(tcase, test_lonely_barrier, SIGABRT);
  tcase_add_test_raise_signal(tcase, test_split_warp, SIGABRT);
  tcase_add_test_raise_signal(tcase, test_lost_copy, SIGABRT);
  tcase_add_test(tcase, test_product);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(emulator_suite)
