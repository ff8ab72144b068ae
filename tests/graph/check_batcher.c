/* The schedule of continuous batching against the same told step by step. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "tests/support/batcher_reference.h"
#include "tests/support/check_main.h"

/* Two prompts of 4 tokens, 3 tokens each to make, steps of at most 6 tokens,
 * two at a time.
 *
 *     step 1  prompt 0 whole (4), 2 of prompt 1      first token of 0
 *     step 2  0 at K = 5; the other 2 of prompt 1    first of 1
 *     step 3  0 at 6, 1 at 5: 11                     0 ends
 *     step 4  1 at 6                                 1 ends
 */
START_TEST(test_by_hand)
{
  static const uint32_t prompt[] = {4, 4}, response[] = {3, 3};
  RaBatching batching = {
      .max_sequences = 2, .step_tokens = 6, .block_tokens = 16, .group = 1};
  g_autoptr(RaBatcher) b = ra_batcher_new(&batching, prompt, response, 2);
  RaBatchStretch s;
  guint n;

  ck_assert(!ra_batcher_next(b, &s));
  ra_batcher_arrive(b, 2);
  ck_assert(ra_batcher_next(b, &s));
  ck_assert(s.n_steps == 1 && s.n_decoding == 0 && s.n_chunks == 2);
  ck_assert(s.n_whole == 1 && s.chunk_tokens == 6 && s.chunk_kv_tokens == 6);
  ck_assert_uint_eq(s.chunk_pairs, 10 + 3);
  ra_batcher_take(b, 1);
  ck_assert_uint_eq(ra_batcher_first(b, &n)[0], 0);
  ck_assert_uint_eq(n, 1);
  ck_assert(ra_batcher_next(b, &s));
  ck_assert(s.n_decoding == 1 && s.kv_tokens == 5 && s.n_chunks == 1);
  ck_assert(s.chunk_tokens == 2 && s.chunk_kv_tokens == 4);
  ck_assert_uint_eq(s.chunk_pairs, 3 + 4);
  ra_batcher_take(b, 1);
  ck_assert(ra_batcher_next(b, &s));
  ck_assert(s.n_steps == 1 && s.n_decoding == 2 && s.kv_tokens == 11);
  ra_batcher_take(b, 1);
  ck_assert_uint_eq(ra_batcher_ended(b, &n)[0], 0);
  ck_assert(ra_batcher_next(b, &s));
  ck_assert(s.n_steps == 1 && s.n_decoding == 1 && s.kv_tokens == 6);
  ra_batcher_take(b, 1);
  ck_assert(!ra_batcher_next(b, &s));
  ck_assert_uint_eq(ra_batcher_work(b)->n_steps, 4);
  ck_assert_uint_eq(ra_batcher_blocks(b), 0);
}
END_TEST

/* Four samples of a prompt of 33 tokens in blocks of 16: two whole blocks are
 * shared, the other three compute one token each.  33 + 3 tokens in one step;
 * 2 + 4 blocks. */
START_TEST(test_shared)
{
  static const uint32_t prompt[] = {33, 33, 33, 33}, response[] = {2, 2, 2, 2};
  RaBatching batching = {.max_sequences = 8,
                         .step_tokens = 64,
                         .block_tokens = 16,
                         .n_blocks = 6,
                         .group = 4};
  g_autoptr(RaBatcher) b = ra_batcher_new(&batching, prompt, response, 4);
  RaBatchStretch s;

  ra_batcher_arrive(b, 4);
  ck_assert(ra_batcher_next(b, &s));
  ck_assert(s.n_chunks == 4 && s.n_whole == 4);
  ck_assert_uint_eq(s.chunk_tokens, 36);
  ck_assert_uint_eq(s.chunk_pairs, 33 * 34 / 2 + 3 * 33);
  ra_batcher_take(b, 1);
  ck_assert_uint_eq(ra_batcher_blocks(b), 6);
  ck_assert_uint_eq(ra_batcher_work(b)->n_shared, 3 * 32);
}
END_TEST

/* Two sequences of 15 tokens in three blocks of 16: at token 17 each needs a
 * second block and one is left.  The second goes, its 17 tokens are computed
 * again once the first has ended. */
START_TEST(test_preempted)
{
  static const uint32_t prompt[] = {15, 15}, response[] = {8, 8};
  RaBatching batching = {.max_sequences = 2,
                         .step_tokens = 64,
                         .block_tokens = 16,
                         .n_blocks = 3,
                         .group = 1};
  g_autoptr(RaBatcher) b = ra_batcher_new(&batching, prompt, response, 2);
  RaBatchStretch s;

  ra_batcher_arrive(b, 2);
  ck_assert(ra_batcher_next(b, &s));
  ra_batcher_take(b, 1);
  /* Keys 16, then 17: the first step of these finds its blocks. */
  ck_assert(ra_batcher_next(b, &s));
  ck_assert(s.n_decoding == 2 && s.n_steps == 1);
  ra_batcher_take(b, 1);
  ck_assert(ra_batcher_next(b, &s));
  ck_assert_uint_eq(ra_batcher_work(b)->n_preempted, 1);
  ck_assert(s.n_decoding == 1 && s.n_chunks == 0 && s.n_steps == 1);
  ra_batcher_take(b, 1);
  ck_assert(ra_batcher_next(b, &s));
  /* Two blocks for 17 tokens: one is free. */
  ck_assert(s.n_decoding == 1 && s.n_chunks == 0 && s.n_steps == 5);
  ra_batcher_take(b, 5);
  ck_assert(ra_batcher_next(b, &s));
  ck_assert(s.n_decoding == 0 && s.n_chunks == 1 && s.chunk_tokens == 17);
}
END_TEST

/* A random case, small enough that blocks run out. */
static void
random_case(RaRng *rng, Reference *r)
{
  uint64_t most = 0;

  *r = (Reference){.n = 1 + (uint32_t)ra_rng_below(rng, 24)};
  r->batching.max_sequences = 1 + (uint32_t)ra_rng_below(rng, 10);
  r->batching.step_tokens =
      r->batching.max_sequences + (uint32_t)ra_rng_below(rng, 40);
  r->batching.block_tokens = 1 + (uint32_t)ra_rng_below(rng, 8);
  r->batching.group = 1 + (uint32_t)ra_rng_below(rng, 4);
  r->batching.reserve = ra_rng_below(rng, 4) == 0;
  r->batching.state_blocks = ra_rng_below(rng, 3);
  for (uint32_t i = 0; i < r->n; i++) {
    r->prompt[i] = i % r->batching.group ? r->prompt[i - 1]
                                         : 1 + (uint32_t)ra_rng_below(rng, 30);
    r->response[i] = 1 + (uint32_t)ra_rng_below(rng, 40);
    most = MAX(most,
               ra_batching_blocks(&r->batching, r->prompt[i], r->response[i]));
  }
  if (ra_rng_below(rng, 4) > 0)
    r->batching.n_blocks = most + ra_rng_below(rng, 3 * most);
}

static int
compare_numbers(const void *a, const void *b)
{
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

  return (x > y) - (x < y);
}

static gboolean
same_set(const uint32_t *a, guint n, uint32_t *b, guint m)
{
  g_autofree uint32_t *sorted = g_memdup2(a, n * sizeof *a);

  if (n != m)
    return FALSE;
  if (n > 0) {
    qsort(sorted, n, sizeof *sorted, compare_numbers);
    qsort(b, n, sizeof *b, compare_numbers);
  }
  return n == 0 || memcmp(sorted, b, n * sizeof *b) == 0;
}

static gboolean
same_step(const RaBatchStretch *a, const RaBatchStretch *b)
{
  return a->n_steps == b->n_steps && a->n_decoding == b->n_decoding &&
         a->kv_tokens == b->kv_tokens && a->n_chunks == b->n_chunks &&
         a->n_whole == b->n_whole && a->chunk_tokens == b->chunk_tokens &&
         a->chunk_kv_tokens == b->chunk_kv_tokens &&
         a->chunk_pairs == b->chunk_pairs;
}

/* TRUE if the batcher's run is the reference's, step by step, where sequences
 * arrive in threes every 7 steps and stretches are taken in random pieces. */
static gboolean
agrees(Reference *r, uint64_t seed)
{
  RaRng rng = ra_rng_init(seed, 1);
  g_autoptr(RaBatcher) b =
      ra_batcher_new(&r->batching, r->prompt, r->response, r->n);
  gboolean fills[REFERENCE_MAX] = {FALSE};
  RaBatchStretch s;
  uint64_t step = 0;

  for (;;) {
    uint32_t n_arrived = (uint32_t)MIN(3 * (step / 7 + 1), r->n);
    uint64_t until_arrival = 7 - step % 7, n_steps;
    const uint32_t *first, *ended;
    guint n_first, n_ended;

    ra_batcher_arrive(b, n_arrived);
    reference_arrive(r, n_arrived);
    if (!ra_batcher_next(b, &s)) {
      if (r->n_running + r->n_waiting > 0)
        return FALSE;
      if (n_arrived == r->n)
        break;
      step = (step / 7 + 1) * 7;
      continue;
    }
    n_steps = 1 + ra_rng_below(&rng, MIN(s.n_steps, until_arrival));
    for (uint64_t k = 0; k < n_steps; k++) {
      RaBatchStretch one = s;

      one.n_steps = 1;
      one.kv_tokens += k * s.n_decoding;
      if (!reference_step(r, fills) || !same_step(&one, &r->step))
        return FALSE;
      if (k + 1 < n_steps && r->n_ended > 0)
        return FALSE;
    }
    ra_batcher_take(b, n_steps);
    step += n_steps;
    first = ra_batcher_first(b, &n_first);
    ended = ra_batcher_ended(b, &n_ended);
    if (!same_set(first, n_first, r->first, r->n_first) ||
        !same_set(ended, n_ended, r->ended, r->n_ended) ||
        ra_batcher_blocks(b) != reference_blocks(r, r->computed))
      return FALSE;
  }
  return ra_batcher_blocks(b) == 0 &&
         ra_batcher_work(b)->n_preempted == r->n_preempted &&
         ra_batcher_work(b)->peak_blocks == r->peak_blocks;
}

/* 10^4 random cases: every step's batch, who ends when, blocks in use after it.
 * A reference with a fault does not agree with some. */
START_TEST(test_reference)
{
  guint n_preempted = 0, n_found[N_FAULTS] = {0};

  for (uint64_t i = 0; i < 10000; i++)
    for (int fault = 0; fault < (i < 1000 ? N_FAULTS : 1); fault++) {
      RaRng rng = ra_rng_init(i, 0);
      Reference r;
      gboolean same;

      random_case(&rng, &r);
      r.fault = (ReferenceFault)fault;
      same = agrees(&r, i);
      ck_assert_msg(same || fault, "case %u", (guint)i);
      n_found[fault] += !same;
      n_preempted += fault == 0 && r.n_preempted > 0;
    }
  ck_assert_uint_gt(n_preempted, 1000);
  for (int fault = 1; fault < N_FAULTS; fault++)
    ck_assert_uint_gt(n_found[fault], 50);
}
END_TEST

static Suite *
batcher_suite(void)
{
  Suite *suite = suite_create("batcher");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60);
  tcase_add_test(tcase, test_by_hand);
  tcase_add_test(tcase, test_shared);
  tcase_add_test(tcase, test_preempted);
  tcase_add_test(tcase, test_reference);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(batcher_suite)
