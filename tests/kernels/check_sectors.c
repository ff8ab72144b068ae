/* Accesses of warps to memory: of kernels whose counts are known by hand, and
 * of every kernel that is bound by bytes, against the bars of sector_cases.h.
 */
#include "config.h"

#include "tests/device/sector_cases.h"
#include "tests/support/check_main.h"

static uint32_t in[1024] __attribute__((aligned(256)));
static uint32_t out[1024] __attribute__((aligned(256)));

static RaSectors
counted(void (*pattern)(const uint32_t *, uint32_t *))
{
  ra_sectors_begin();
  ra_sectors_array(in, sizeof in);
  pattern(in, out);
  return ra_sectors_end();
}

/* Two warps a kernel.  16 bytes a lane: 512 bytes of 16 sectors, all of them
 * wanted.  A word of every eighth: 32 sectors a warp for 128 bytes.  One word
 * for all: not counted.  One word on: 256 bytes of both warps that touch nine
 * sectors.  The strided one is the fault that the bars are to catch. */
START_TEST(test_patterns)
{
  RaSectors s = counted(emu_read_vectors);

  ck_assert_uint_eq(s.n_accesses, 2);
  ck_assert_uint_eq(s.sector_bytes, 2 * 16 * 32);
  ck_assert_uint_eq(s.useful_bytes, 2 * 16 * 32);
  ck_assert_double_eq(ra_sectors_lane_bytes(&s), 16);
  s = counted(emu_read_strided);
  ck_assert_uint_eq(s.sector_bytes, 2 * 32 * 32);
  ck_assert_uint_eq(s.useful_bytes, 2 * 32 * 4);
  ck_assert_double_lt(ra_sectors_useful_frac(&s), RA_SECTORS_USEFUL_FRAC);
  s = counted(emu_read_one);
  ck_assert_uint_eq(s.n_accesses, 0);
  s = counted(emu_read_shifted);
  ck_assert_uint_eq(s.sector_bytes, 9 * 32);
  ck_assert_uint_eq(s.useful_bytes, 2 * 32 * 4);
}
END_TEST

/* Words next to each other: a bank each; every second: two lanes a bank; every
 * 32nd: all lanes at one; all the same word: one round. */
START_TEST(test_banks)
{
  static const struct {
    int stride;
    guint rounds;
  } cases[] = {{1, 1}, {2, 2}, {8, 8}, {32, 32}, {33, 1}, {0, 1}};

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    RaSectors s;

    ra_sectors_begin();
    emu_banks(out, cases[i].stride);
    s = ra_sectors_end();
    ck_assert_uint_eq(s.n_least, 2);
    ck_assert_uint_eq(s.n_rounds, 2 * cases[i].rounds);
  }
}
END_TEST

START_TEST(test_kernel)
{
  const RaSectorCase *one = &ra_sector_cases[_i];
  RaSectors s;

  ck_assert(ra_sector_run(one, &s));
  ck_assert_msg(s.n_accesses > 0, "%s: nothing was seen", one->name);
  if (!one->moves)
    return;
  ck_assert_msg(ra_sectors_useful_frac(&s) >= RA_SECTORS_USEFUL_FRAC,
                "%s: %.3f of its sectors is useful", one->name,
                ra_sectors_useful_frac(&s));
  ck_assert_msg(ra_sectors_lane_bytes(&s) >= RA_SECTORS_LANE_BYTES,
                "%s: %.1f bytes a lane", one->name, ra_sectors_lane_bytes(&s));
  ck_assert_msg(ra_sectors_rounds(&s) <= RA_SECTORS_ROUNDS,
                "%s: %.2f rounds of shared memory for one", one->name,
                ra_sectors_rounds(&s));
}
END_TEST

static Suite *
sectors_suite(void)
{
  Suite *suite = suite_create("sectors");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  if (ra_sectors_count()) {
    tcase_add_test(tcase, test_patterns);
    tcase_add_test(tcase, test_banks);
    tcase_add_loop_test(tcase, test_kernel, 0, (int)ra_sector_n_cases());
  }
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(sectors_suite)
