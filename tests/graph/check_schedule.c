#include "config.h"

#include "graph/expand/schedule.h"
#include "graph/input/plan.h"
#include "tests/support/check_main.h"

/* Checks one stage's program: every chunk of every micro-batch once forward
 * and once backward, forward first.  Returns the most activations held at once,
 * or 0 if the program is wrong. */
static guint
held_at_most(const RaSlot *slots, guint n, uint32_t v, uint32_t m)
{
  g_autofree uint8_t *state = g_new0(uint8_t, v * m);
  guint held = 0, most = 0;

  for (guint i = 0; i < n; i++) {
    uint8_t *s = &state[slots[i].chunk * m + slots[i].micro_batch];
    if (slots[i].chunk >= v || slots[i].micro_batch >= m ||
        *s != slots[i].backward)
      return 0;
    (*s)++;
    held += slots[i].backward ? -1u : 1u;
    most = MAX(most, held);
  }
  for (guint i = 0; i < v * m; i++)
    if (state[i] != 2)
      return 0;
  return most;
}

/* In flight: GPipe keeps all m, 1F1B min(p - s, m), interleaved the warm-up
 * and one more, min(2 (p - s - 1) + (v - 1) p + 1, v m) (arXiv 2104.04473,
 * section 2.2). */
START_TEST(test_in_flight)
{
  RaSlot slots[2 * 4 * 32];

  for (uint32_t p = 1; p <= 8; p++)
    for (uint32_t s = 0; s < p; s++)
      for (uint32_t m = 1; m <= 32; m++) {
        guint n = ra_schedule_fill(RA_SCHEDULE_GPIPE, p, 1, m, s, slots);
        ck_assert_uint_eq(n, 2 * m);
        ck_assert_uint_eq(held_at_most(slots, n, 1, m), m);
        n = ra_schedule_fill(RA_SCHEDULE_1F1B, p, 1, m, s, slots);
        ck_assert_uint_eq(held_at_most(slots, n, 1, m), MIN(p - s, m));
        for (uint32_t v = 2; v <= 4 && m % p == 0 && p > 1; v++) {
          n = ra_schedule_fill(RA_SCHEDULE_INTERLEAVED, p, v, m, s, slots);
          ck_assert_uint_eq(held_at_most(slots, n, v, m),
                            MIN(2 * (p - s - 1) + (v - 1) * p + 1, v * m));
        }
      }
}
END_TEST

/* By hand, p = 2, v = 2, m = 2, stage 0: warm-up 2 + 2 = 4 = all; forwards
 * chunk 0 of both micro-batches, chunk 1 of both; backwards chunk 1 first. */
START_TEST(test_interleaved_by_hand)
{
  static const RaSlot expected[8] = {{0, 0, 0}, {0, 0, 1}, {0, 1, 0},
                                     {0, 1, 1}, {1, 1, 0}, {1, 1, 1},
                                     {1, 0, 0}, {1, 0, 1}};
  RaSlot slots[8];

  ck_assert_uint_eq(
      ra_schedule_fill(RA_SCHEDULE_INTERLEAVED, 2, 2, 2, 0, slots), 8);
  for (guint i = 0; i < 8; i++) {
    ck_assert_uint_eq(slots[i].backward, expected[i].backward);
    ck_assert_uint_eq(slots[i].chunk, expected[i].chunk);
    ck_assert_uint_eq(slots[i].micro_batch, expected[i].micro_batch);
  }
}
END_TEST

/* The checker itself: a backward before its forward, and a slot run twice. */
START_TEST(test_checker_finds_faults)
{
  RaSlot slots[8], swap;

  ra_schedule_fill(RA_SCHEDULE_1F1B, 4, 1, 4, 0, slots);
  ck_assert_uint_ne(held_at_most(slots, 8, 1, 4), 0);
  swap = slots[0];
  slots[0] = slots[7];
  slots[7] = swap;
  ck_assert_uint_eq(held_at_most(slots, 8, 1, 4), 0);
  ra_schedule_fill(RA_SCHEDULE_1F1B, 4, 1, 4, 0, slots);
  slots[1] = slots[0];
  ck_assert_uint_eq(held_at_most(slots, 8, 1, 4), 0);
}
END_TEST

static Suite *
schedule_suite(void)
{
  Suite *suite = suite_create("schedule");
  TCase *tcase = tcase_create("core");
  tcase_add_test(tcase, test_in_flight);
  tcase_add_test(tcase, test_interleaved_by_hand);
  tcase_add_test(tcase, test_checker_finds_faults);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(schedule_suite)
