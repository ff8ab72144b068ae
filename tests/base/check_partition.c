/* Partitions against comparing all pairs. */
#include "config.h"

#include "base/partition.h"
#include "base/rng.h"
#include "tests/support/check_main.h"

enum { N = 60, ROUNDS = 4 };

/* TRUE if equal colours are equal keys in every round so far, colours are
 * numbered by first appearance, and @n_classes counts them. */
static gboolean
agrees(uint32_t keys[ROUNDS][N], guint n_rounds, const uint32_t *colour,
       uint32_t n_classes)
{
  uint32_t n_seen = 0;

  for (guint i = 0; i < N; i++) {
    if (colour[i] > n_seen)
      return FALSE;
    n_seen += colour[i] == n_seen;
    for (guint j = 0; j < i; j++) {
      gboolean alike = TRUE;
      for (guint r = 0; r < n_rounds; r++)
        alike = alike && keys[r][i] == keys[r][j];
      if (alike != (colour[i] == colour[j]))
        return FALSE;
    }
  }
  return n_seen == n_classes;
}

/* 300 times four splits by keys of few values, so that some agree; and the
 * fault: one thing moved into another's class. */
START_TEST(test_refine)
{
  RaRng rng = ra_rng_init(61, 0);

  for (int c = 0; c < 300; c++) {
    uint32_t keys[ROUNDS][N], colour[N] = {0}, n = 1;
    for (guint r = 0; r < ROUNDS; r++) {
      uint32_t n_values = 1 + (uint32_t)ra_rng_below(&rng, 5);
      for (guint i = 0; i < N; i++)
        keys[r][i] = (uint32_t)ra_rng_below(&rng, n_values) * 0x40000001u;
      n = ra_partition_refine(colour, keys[r], N);
      ck_assert(agrees(keys, r + 1, colour, n));
    }
    if (n > 1) {
      colour[N - 1] = (colour[N - 1] + 1) % n;
      ck_assert(!agrees(keys, ROUNDS, colour, n));
    }
  }
}
END_TEST

START_TEST(test_nothing)
{
  uint32_t none = 0;
  ck_assert_uint_eq(ra_partition_refine(&none, &none, 0), 0);
}
END_TEST

static Suite *
partition_suite(void)
{
  Suite *suite = suite_create("partition");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_refine);
  tcase_add_test(tcase, test_nothing);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(partition_suite)
