/* Tests of words that the host passes to ops of the CUDA back end which run
 * late: their buffer is written again before all of them have been read. */
#include "config.h"

#include <string.h>

#include "exec/backend/backend_cuda.h"
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

static Suite *
backend_cuda_words_suite(void)
{
  Suite *suite = suite_create("backend_cuda_words");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_words, 0, 4);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(backend_cuda_words_suite)
