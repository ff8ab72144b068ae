/* Tests of tokens sampled on the device, against the host's. */
#include "config.h"

#include "base/rng.h"
#include "exec/backend/backend_cuda.h"
#include "kernels/cpu/bf16.h"
#include "kernels/sample.h"
#include "tests/support/check_main.h"

enum { ROWS = 40, VOCABULARY = 300 };

/* Tokens that the table of a GPU draws from logits in its own memory are those
 * that the host draws from the same numbers, but where its margin says that a
 * rounding may decide, and their margins are the host's.  The fault: each row
 * with the uniform number of the next. */
START_TEST(test_drawn)
{
  static const RaCpuSampling hows[] = {
      {0, 0, 1}, {0.7f, 0, 1}, {1, 20, 1}, {1, 0, 0.6f}, {1.3f, 50, 0.8f}};
  const RaBackend *b = ra_backend_cuda();
  RaRng rng = ra_rng_init(60, (uint64_t)_i);
  float logits[ROWS * VOCABULARY], workspace[2 * VOCABULARY];
  RaElem *there = b->alloc(sizeof logits);
  RaCpuSample out[ROWS], wrong[ROWS];
  double u[ROWS + 1];
  guint n_other = 0;

  for (guint i = 0; i <= ROWS; i++)
    u[i] = ra_rng_uniform(&rng);
  for (guint i = 0; i < ROWS * VOCABULARY; i++)
    logits[i] =
        ra_bf16_to_f32(ra_bf16_from_f32((float)(8 * ra_rng_uniform(&rng) - 4)));
  b->write_elems(ROWS * VOCABULARY, logits, there);
  b->sample(ROWS, VOCABULARY, there, &hows[_i], u, out);
  b->sample(ROWS, VOCABULARY, there, &hows[_i], u + 1, wrong);
  ck_assert_msg(!b->failure(), "%s", b->failure());
  for (guint i = 0; i < ROWS; i++) {
    RaCpuSample at = ra_cpu_sample(VOCABULARY, logits + i * VOCABULARY,
                                   &hows[_i], u[i], workspace);
    double off = (double)out[i].margin - (double)at.margin;

    n_other += wrong[i].token != at.token;
    if (at.margin < RA_K_SAMPLE_MARGIN)
      continue;
    ck_assert_uint_eq(out[i].token, at.token);
    ck_assert_double_le(off * off, (double)RA_K_SAMPLE_MARGIN *
                                       (double)RA_K_SAMPLE_MARGIN);
  }
  ck_assert_uint_ge(n_other, hows[_i].temperature > 0 ? ROWS / 2 : 0);
  b->free(there);
}
END_TEST

static Suite *
backend_cuda_sample_suite(void)
{
  Suite *suite = suite_create("backend_cuda_sample");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60);
  tcase_add_loop_test(tcase, test_drawn, 0, 5);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(backend_cuda_sample_suite)
