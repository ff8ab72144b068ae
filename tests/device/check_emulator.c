/* Tests of the CUDA emulator: correct kernels give correct results, and it
 * detects the faults that it is meant for.
 */
#include "config.h"

#include <signal.h>

#include "exec/backend/cuda_device.h"
#include "tests/device/device_array.h"
#include "tests/emulator/faults.h"
#include "tests/support/check_main.h"

enum { N = 64, N_SEEDS = 20 };

static void
count(int in[N])
{
  for (int i = 0; i < N; i++)
    in[i] = i + 1;
}

/* TRUE if @out is 1 to N turned round. */
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

/* A kernel that may begin before the one in front has ended waits for it. */
START_TEST(test_eager)
{
  emu_eager();
}
END_TEST

/* A build for 8.0 and 10.0 runs text for 8.0 on a 9.0, which waits for no
 * kernel in front: a launch must not overlap there, whatever the device could
 * do. */
START_TEST(test_text)
{
  static const int old[] = {800, 1000}, all[] = {900, 800};

  ck_assert_int_eq(emu_text(old, 2, 90), 800);
  ck_assert_int_eq(emu_text(old, 2, 100), 1000);
  ck_assert_int_eq(emu_text(old, 2, 75), 0);
  ck_assert_int_eq(emu_text(all, 2, 90), 900);
  ck_assert_int_eq(emu_text(all, 2, 89), 800);
}
END_TEST

/* Launches that a device takes, at its limits. */
START_TEST(test_allowed)
{
  static uint16_t in[16] __attribute__((aligned(16)));

  emu_launch(1, 65535, 32);
  emu_launch(1, 1, 1024);
  ck_assert_int_eq(emu_dynamic(48 << 10, 0), 0);
  ck_assert_int_eq(emu_dynamic(227 << 10, 1), 0);
  ck_assert_int_eq(emu_dynamic((227 << 10) + 1, 1), 1);
  emu_address(in, 0, 0, 0);
  emu_address(in, 8, 8, 0);
}
END_TEST

/* Launches that it refuses: each ends the program. */
START_TEST(test_refused)
{
  static uint16_t in[16] __attribute__((aligned(16)));

  switch (_i) {
  case 0:
    emu_launch(0, 1, 32);
    break;
  case 1:
    emu_launch(1, 65536, 32);
    break;
  case 2:
    emu_launch(1, 1, 1056);
    break;
  case 3:
    emu_dynamic((48 << 10) + 16, 0);
    break;
  case 4:
    emu_static();
    break;
  case 5:
    emu_address(in, 1, 0, 0);
    break;
  case 6:
    emu_address(in, 0, 1, 0);
    break;
  default:
    emu_address(in, 0, 0, 1);
  }
}
END_TEST

/* A copy from pinned memory, which is written once it has been waited for, or
 * before: the fault.  From other memory of the host it may be at once. */
START_TEST(test_pinned)
{
  char *pinned = ra_device_alloc_host(16), *device = ra_device_alloc(16);
  char other[16] = "of the stack";

  memset(pinned, 1, 16);
  ck_assert_int_eq(ra_device_write(device, other, 16), 0);
  other[0] = 'O';
  ck_assert_int_eq(ra_device_write(device, pinned, 16), 0);
  if (_i == 0)
    ck_assert_int_eq(ra_device_wait(), 0);
  pinned[15] = 2;
  ck_assert_int_eq(ra_device_wait(), 0);
  ck_assert_int_eq(ra_device_read(other, device, 16), 0);
  ck_assert_int_eq(other[15], 1);
  ra_device_free_host(pinned);
  ra_device_free(device);
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

enum { ROWS = 64, COLS = 128, SUM = 64 };

typedef struct {
  uint16_t a[ROWS * SUM], b[COLS * SUM], c[SUM * COLS]; /* 16-byte aligned */
  float scores[ROWS * COLS], sums[ROWS * COLS];
} Hopper;

static int
small(int i, int factor)
{
  return i * factor % 31 - 15;
}

/* Small whole numbers as in test_product. */
static Hopper *
hopper_run(uint64_t seed, EmuHopperFault fault)
{
  static Hopper h __attribute__((aligned(16)));

  for (int i = 0; i < ROWS * SUM; i++)
    h.a[i] = ra_bf16_from_f32((float)small(i, 7));
  for (int i = 0; i < COLS * SUM; i++) {
    h.b[i] = ra_bf16_from_f32((float)small(i, 11));
    h.c[i] = ra_bf16_from_f32((float)small(i, 13));
  }
  ra_emu_seed(seed);
  emu_hopper(h.a, h.b, h.c, h.scores, h.sums, fault);
  return &h;
}

static gboolean
hopper_is_right(const Hopper *h)
{
  for (int row = 0; row < ROWS; row++)
    for (int col = 0; col < COLS; col++) {
      int score = 0, sum = 0;

      for (int k = 0; k < SUM; k++) {
        score += small(row * SUM + k, 7) * small(col * SUM + k, 11);
        sum += small(row * SUM + k, 7) * small(k * COLS + col, 13);
      }
      if (h->scores[row * COLS + col] != (float)(col ? score : 0) ||
          h->sums[row * COLS + col] != (float)sum)
        return FALSE;
    }
  return TRUE;
}

/* A warpgroup's products through descriptors, and those of wrong descriptors:
 * in every order of the threads and of the copies. */
START_TEST(test_hopper)
{
  for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
    ck_assert(hopper_is_right(hopper_run(seed, EMU_NO_FAULT)));
    for (int fault = EMU_WRONG_SWIZZLE; fault <= EMU_WRONG_LEADING; fault++)
      ck_assert_msg(!hopper_is_right(hopper_run(seed, (EmuHopperFault)fault)),
                    "fault %d, seed %d", fault, (int)seed);
  }
}
END_TEST

START_TEST(test_hopper_fault)
{
  for (uint64_t seed = 0; seed < N_SEEDS; seed++)
    hopper_run(seed, (EmuHopperFault)_i);
}
END_TEST

/* Maps that the driver makes, and those that it refuses: boxes of up to 256
 * rows; addresses and rows of whole 16 bytes; something in each dimension. */
START_TEST(test_map)
{
  static uint16_t in[64] __attribute__((aligned(16)));

  ck_assert_int_eq(emu_map(in, 0, 8, 2, 256), 0);
  ck_assert_int_eq(emu_map(in, 8, 16, 1, 1), 0);
  ck_assert_int_eq(emu_map(in, 0, 8, 2, 257), 1);
  ck_assert_int_eq(emu_map(in, 4, 8, 2, 64), 1);
  ck_assert_int_eq(emu_map(in, 0, 12, 2, 64), 1);
  ck_assert_int_eq(emu_map(in, 0, 8, 0, 64), 1);
}
END_TEST

static gboolean
turns_are_right(uint64_t seed, EmuTurnsFault fault)
{
  float sum[4] __attribute__((aligned(16)));
  uint32_t counts[2] = {0};

  ra_emu_seed(seed);
  emu_turns(sum, counts, fault);
  return sum[0] == (1 << EMU_N_TURNS) - 1 && sum[3] == sum[0];
}

/* Blocks that run together and add in turns: right with every seed.  One that
 * adds before the first has stored loses its part, which some seed shows. */
START_TEST(test_turns)
{
  guint n_wrong[2] = {0};

  for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
    ck_assert(turns_are_right(seed, EMU_TURNS));
    n_wrong[0] += !turns_are_right(seed, EMU_NO_TURN);
    n_wrong[1] += !turns_are_right(seed, EMU_EARLY_TURN);
  }
  ck_assert_uint_gt(n_wrong[0], 0);
  ck_assert_uint_gt(n_wrong[1], 0);
}
END_TEST

START_TEST(test_turns_fault)
{
  for (uint64_t seed = 0; seed < N_SEEDS; seed++)
    turns_are_right(seed, (EmuTurnsFault)_i);
}
END_TEST

static Suite *
emulator_suite(void)
{
  Suite *suite = suite_create("emulator");
  TCase *tcase = tcase_create("emulator");

  tcase_set_timeout(tcase, 120); /* under sanitizers */
  tcase_add_test(tcase, test_barrier);
  tcase_add_test(tcase, test_copy);
  tcase_add_test_raise_signal(tcase, test_lonely_barrier, SIGABRT);
  tcase_add_test_raise_signal(tcase, test_split_warp, SIGABRT);
  tcase_add_test_raise_signal(tcase, test_lost_copy, SIGABRT);
  tcase_add_test_raise_signal(tcase, test_eager, SIGABRT);
  tcase_add_test(tcase, test_text);
  tcase_add_test(tcase, test_allowed);
  tcase_add_loop_test_raise_signal(tcase, test_refused, SIGABRT, 0, 8);
  tcase_add_loop_test(tcase, test_pinned, 0, 1);
  tcase_add_loop_test_raise_signal(tcase, test_pinned, SIGABRT, 1, 2);
  tcase_add_test(tcase, test_product);
  tcase_add_test(tcase, test_hopper);
  tcase_add_loop_test_raise_signal(tcase, test_hopper_fault, SIGABRT,
                                   EMU_NO_BARRIER_WAIT, EMU_N_FAULTS);
  tcase_add_test(tcase, test_map);
  tcase_add_test(tcase, test_turns);
  tcase_add_loop_test_raise_signal(tcase, test_turns_fault, SIGABRT,
                                   EMU_NO_TICKET, EMU_EARLY_WRITE + 1);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(emulator_suite)
