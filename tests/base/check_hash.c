#include "config.h"

#include <glib.h>

#include "base/hash.h"
#include "tests/support/check_main.h"

/* By an independent Python program, with integers modulo 2^64. */
START_TEST(test_golden)
{
  ck_assert(ra_hash_u64(RA_HASH_INIT, 1) == UINT64_C(0x2c12cdfccbad5f26));
  ck_assert(ra_hash_text(RA_HASH_INIT, "actor_generate") ==
            UINT64_C(0xd08b4bea25db7eca));
  ck_assert(ra_hash_text(RA_HASH_INIT, "") == UINT64_C(0x1c31fb1cb2acc066));
}
END_TEST

/* Where one text ends and the next begins counts, and so do zero bytes. */
START_TEST(test_length)
{
  uint64_t one = ra_hash_text(ra_hash_text(RA_HASH_INIT, "ab"), "c");
  uint64_t two = ra_hash_text(ra_hash_text(RA_HASH_INIT, "a"), "bc");

  ck_assert(one != two);
  ck_assert(ra_hash_bytes(RA_HASH_INIT, "\0", 1) !=
            ra_hash_bytes(RA_HASH_INIT, "\0\0", 2));
}
END_TEST

/* Mean share of output bits that flip with one input bit, over all 64 input
 * bits of 1000 values; a half if the hash mixes: 64 * 64000 fair bits have a
 * sd of 0.5 / sqrt(4e6) = 0.00025.  @mix FALSE is the fault, a hash that only
 * multiplies. */
static double
avalanche(gboolean mix)
{
  guint64 n_flipped = 0;

  for (uint64_t value = 0; value < 1000; value++) {
    for (int bit = 0; bit < 64; bit++) {
      uint64_t other = value ^ UINT64_C(1) << bit;
      uint64_t change = mix ? ra_hash_u64(RA_HASH_INIT, value) ^
                                  ra_hash_u64(RA_HASH_INIT, other)
                            : value * UINT64_C(0x3c79ac492ba7b653) ^
                                  other * UINT64_C(0x3c79ac492ba7b653);

      n_flipped += (guint)__builtin_popcountll(change);
    }
  }
  return (double)n_flipped / (64. * 64000);
}

START_TEST(test_avalanche)
{
  ck_assert_double_eq_tol(avalanche(TRUE), 0.5, 0.005);
  ck_assert_double_lt(avalanche(FALSE), 0.45);
}
END_TEST

static Suite *
hash_suite(void)
{
  Suite *suite = suite_create("hash");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_golden);
  tcase_add_test(tcase, test_length);
  tcase_add_test(tcase, test_avalanche);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(hash_suite)
