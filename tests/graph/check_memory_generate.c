/* Room for keys and values of generation, in whole blocks. */
#include "config.h"

#include "base/rng.h"
#include "graph/input/plan_batching.h"
#include "graph/memory/memory_generate.h"
#include "tests/support/check_main.h"

/* Prompts 10, 20, 30 with responses 5, 3, 9: decode steps 4, 2, 8.
 *   after step 2: 60 + 3 x 2 = 66, the second ends: 40 + 2 x 2 = 44 left
 *   after step 4: 40 + 2 x 4 = 48, the first ends: 30 + 4 = 34 left
 *   after step 8: 30 + 8 = 38, then nothing
 * Whole: 66.  In 3 parts the peaks are 66, 48, 38 and 44, 34, 0 are left.
 * In blocks of 16: 16 + 32 + 32 = 80, and 16 + 32 left; the first ends with 14;
 * the third needs a third block for 33 tokens, of step 3. */
START_TEST(test_kv_peak)
{
  uint32_t prompt[] = {10, 20, 30}, response[] = {5, 3, 9};
  uint64_t peak[3], left[3];

  ra_kv_peak_tokens(3, prompt, response, 1, 1, peak, left);
  ck_assert_uint_eq(peak[0], 66);
  ck_assert_uint_eq(left[0], 0);
  ra_kv_peak_tokens(3, prompt, response, 1, 3, peak, left);
  ck_assert_uint_eq(peak[0], 66);
  ck_assert_uint_eq(left[0], 44);
  ck_assert_uint_eq(peak[1], 48);
  ck_assert_uint_eq(left[1], 34);
  ck_assert_uint_eq(peak[2], 38);
  ck_assert_uint_eq(left[2], 0);
  ra_kv_peak_tokens(3, prompt, response, 16, 3, peak, left);
  ck_assert_uint_eq(peak[0], 80);
  ck_assert_uint_eq(left[0], 48);
  ck_assert_uint_eq(peak[1], 64);
  ck_assert_uint_eq(left[1], 48);
  ck_assert_uint_eq(peak[2], 48);
  ck_assert_uint_eq(left[2], 0);
}
END_TEST

enum { MOST = 12 };

/* Room after decode step @step of those that take it; with @beyond of those
 * alone that go on. */
static uint64_t
room_after(uint32_t n, const uint32_t *prompt, const uint32_t *response,
           uint32_t block, uint32_t step, gboolean beyond)
{
  uint64_t blocks = 0;

  for (uint32_t i = 0; i < n; i++)
    if ((step == 0 && !beyond) || response[i] > step + beyond)
      for (uint32_t tokens = 0; tokens < prompt[i] + step; tokens += block)
        blocks++;
  return blocks * block;
}

static uint32_t
n_ended(uint32_t n, const uint32_t *response, uint32_t step)
{
  uint32_t ended = 0;

  for (uint32_t i = 0; i < n; i++)
    ended += response[i] <= step + 1;
  return ended;
}

/* Step by step, block by block: no end is looked for.  The fault: what a block
 * of one token has. */
START_TEST(test_steps)
{
  static const uint32_t blocks[] = {1, 2, 3, 16, 100};
  RaRng rng = ra_rng_init(15, (uint64_t)_i);
  uint32_t block = blocks[_i % 5], n_wrong = 0;

  for (uint32_t k = 0; k < 200; k++) {
    uint32_t prompt[MOST], response[MOST], step = 0;
    uint32_t n = 1 + (uint32_t)ra_rng_below(&rng, MOST);
    uint32_t n_parts = 1 + (uint32_t)ra_rng_below(&rng, n);
    uint64_t peak[MOST], left[MOST], fault[MOST], rest[MOST];

    for (uint32_t i = 0; i < n; i++) {
      prompt[i] = (uint32_t)ra_rng_below(&rng, 40);
      response[i] = 1 + (uint32_t)ra_rng_below(&rng, 40);
    }
    ra_kv_peak_tokens(n, prompt, response, block, n_parts, peak, left);
    ra_kv_peak_tokens(n, prompt, response, 1, n_parts, fault, rest);
    for (uint32_t c = 0; c < n_parts; c++) {
      uint32_t end = ((c + 1) * n + n_parts - 1) / n_parts;
      uint64_t most =
          c ? left[c - 1] : room_after(n, prompt, response, block, 0, FALSE);

      while (n_ended(n, response, step) < end) {
        step++;
        most = MAX(most, room_after(n, prompt, response, block, step, FALSE));
      }
      ck_assert_uint_eq(peak[c], most);
      if (n_ended(n, response, step) == end) /* else some wait for a part */
        ck_assert_uint_eq(left[c],
                          room_after(n, prompt, response, block, step, TRUE));
      n_wrong += fault[c] != most;
    }
    ck_assert_uint_eq(left[n_parts - 1], 0);
  }
  ck_assert(block == 1 ? n_wrong == 0 : n_wrong > 200);
}
END_TEST

/* A prompt of nothing has no room; 16 tokens fill a block. */
START_TEST(test_room)
{
  RaCallPlan call = {0};

  ck_assert_uint_eq(ra_call_plan_kv_room(&call, 0), 0);
  ck_assert_uint_eq(ra_call_plan_kv_room(&call, 1), 16);
  ck_assert_uint_eq(ra_call_plan_kv_room(&call, 16), 16);
  ck_assert_uint_eq(ra_call_plan_kv_room(&call, 17), 32);
  call.kv_block = 1;
  ck_assert_uint_eq(ra_call_plan_kv_room(&call, 17), 17);
}
END_TEST

static Suite *
memory_generate_suite(void)
{
  Suite *suite = suite_create("memory_generate");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_kv_peak);
  tcase_add_loop_test(tcase, test_steps, 0, 10);
  tcase_add_test(tcase, test_room);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(memory_generate_suite)
