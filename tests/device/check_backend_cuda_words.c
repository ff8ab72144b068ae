/* Tests of words that the host passes to ops of the CUDA back end which run
 * late: their buffer is written again before all of them have been read. */
#include "config.h"

#include <string.h>

#include "exec/backend/backend_cuda.h"
#include "tests/emulator/memory.h"
#include "tests/emulator/queue.h"
#include "tests/support/check_main.h"

enum { WIDTH = 8, ROWS = 64, TOKENS = 20000, ROUNDS = 9 };

/* 9 times 80,000 bytes go through two halves of 256 KiB, three to a half: the
 * fourth turns and the seventh is in the place of the first.  Rows of a table
 * are what was asked for, though nobody waits in between; the caller's words
 * are other ones by then.  (The fault, by hand: halves that turn without a wait
 * end the program, as the device was still to read them.) */
START_TEST(test_words)
{
  const RaBackend *b = ra_backend_cuda();
  gsize n_bytes = (gsize)TOKENS * WIDTH * b->elem_bytes;
  float table[ROWS * WIDTH];
  g_autofree float *made = g_new(float, (gsize)TOKENS *WIDTH);
  g_autofree uint32_t *tokens = g_new(uint32_t, TOKENS);
  RaElem *rows = b->alloc(ROWS * WIDTH * b->elem_bytes), *out[ROUNDS];
  guint n_wrong = 0, n_same = 0;

  for (guint i = 0; i < ROWS * WIDTH; i++)
    table[i] = (float)(i % 256); /* 8 bits, as bf16 has */
  b->write_elems(ROWS * WIDTH, table, rows);
  ra_emu_seed_queues(7 + (uint64_t)_i, _i % 2);
  ra_emu_late_ops(1);
  for (guint k = 0; k < ROUNDS; k++) {
    out[k] = b->alloc(n_bytes);
    for (guint i = 0; i < TOKENS; i++)
      tokens[i] = (i * 31 + k * 17) % ROWS;
    b->embedding(TOKENS, WIDTH, 0, ROWS, tokens, rows, out[k]);
    memset(tokens, 0xff, TOKENS * sizeof *tokens);
  }
  for (guint k = 0; k < ROUNDS; k++) {
    b->read_elems((gsize)TOKENS * WIDTH, out[k], made);
    for (guint i = 0; i < TOKENS * WIDTH; i++) {
      guint token = (i / WIDTH * 31 + k * 17) % ROWS;
      guint other = (i / WIDTH * 31 + (k + 1) * 17) % ROWS;

      n_wrong += made[i] < table[token * WIDTH + i % WIDTH] ||
                 made[i] > table[token * WIDTH + i % WIDTH];
      n_same += made[i] >= table[other * WIDTH + i % WIDTH] &&
                made[i] <= table[other * WIDTH + i % WIDTH];
    }
    b->free(out[k]);
  }
  ra_emu_late_ops(0);
  b->free(rows);
  ck_assert_msg(!b->failure(), "%s", b->failure());
  ck_assert_uint_eq(n_wrong, 0);
  ck_assert_uint_eq(n_same, 0); /* rounds differ */
}
END_TEST

/* More words than a half has go in pieces, in turn through both: 200,000 words,
 * the last 3,392 of them a piece of their own, at the rows of a table that has
 * the number of its row. */
START_TEST(test_pieces)
{
  enum { MANY = 200000 };
  const RaBackend *b = ra_backend_cuda();
  float table[ROWS * WIDTH];
  g_autofree float *made = g_new(float, (gsize)MANY *WIDTH);
  g_autofree uint32_t *tokens = g_new(uint32_t, MANY);
  RaElem *rows = b->alloc(ROWS * WIDTH * b->elem_bytes);
  RaElem *out = b->alloc((gsize)MANY * WIDTH * b->elem_bytes);
  guint n_wrong = 0;

  for (guint i = 0; i < ROWS * WIDTH; i++)
    table[i] = (float)(i / WIDTH);
  b->write_elems(ROWS * WIDTH, table, rows);
  ra_emu_seed_queues(3, TRUE);
  ra_emu_late_ops(1);
  for (guint i = 0; i < MANY; i++)
    tokens[i] = (i * 31 + i / 1000) % ROWS;
  b->embedding(MANY, WIDTH, 0, ROWS, tokens, rows, out);
  b->read_elems((gsize)MANY * WIDTH, out, made);
  ra_emu_late_ops(0);
  for (guint i = 0; i < MANY; i++)
    n_wrong += made[i * WIDTH] < (float)tokens[i] ||
               made[i * WIDTH] > (float)tokens[i];
  ck_assert_uint_eq(n_wrong, 0);
  b->free(out);
  b->free(rows);
}
END_TEST

/* A buffer that is too small stays: to free it waits for every stream, also for
 * a receive whose sender waits for this rank.  20,000 words take the place of
 * 2,000, and what is held grows by all of a new buffer, of twice their 80,000
 * bytes. */
START_TEST(test_outgrown)
{
  const RaBackend *b = ra_backend_cuda();
  g_autofree uint32_t *words = g_new0(uint32_t, 20000);
  size_t before;

  b->keep_words(2000, words);
  before = ra_emu_held_bytes();
  b->keep_words(20000, words);
  ck_assert_uint_ge(ra_emu_held_bytes() - before, 160000);
  ck_assert_uint_ge(b->held_bytes(), 160000 + 16000);
  b->keep_words(0, NULL);
}
END_TEST

static Suite *
backend_cuda_words_suite(void)
{
  Suite *suite = suite_create("backend_cuda_words");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_words, 0, 4);
  tcase_add_test(tcase, test_pieces);
  tcase_add_test(tcase, test_outgrown);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(backend_cuda_words_suite)
