/* The decode attention kernel, one token at a time over pages, run thread by
 * thread on the CPU (tests/emulator) or on a device, against the formula in
 * double on the same bf16 inputs, within the bound of its header.
 */
#include "config.h"

#include "kernels/cpu/cpu_attention.h"
#include "kernels/decode_attention.h"
#include "tests/device/device_array.h"

enum { N_PAGES = 160, PAGE = 16, PER_SEQUENCE = 40 };
enum { KV_HEADS = 2, GROUP = 5 };

static const uint32_t cached[] = {1, 0, 130, 517};

enum { COUNTS = G_N_ELEMENTS(cached) * KV_HEADS };

/* Element 0 of @token of sequence @s in the cache. */
static gsize
page_row(const uint32_t *pages, uint32_t s, uint32_t token, uint32_t head,
         uint32_t hd)
{
  return (((gsize)pages[s * PER_SEQUENCE + token / PAGE] * PAGE +
           token % PAGE) *
              KV_HEADS +
          head) *
         hd;
}

static void
check_decode_row(const RaKDecode *d, const uint16_t *q, const uint16_t *k,
                 const uint16_t *v, const uint16_t *out, uint32_t s,
                 uint32_t head)
{
  uint32_t hd = d->head_dim, n = cached[s], kv = head / GROUP;
  gsize row = ((gsize)s * d->q_heads + head) * hd;
  gsize query = s * d->q_stride + (gsize)head * hd;
  double p[517], most = -INFINITY, sum = 0, largest = 0, e_i;

  for (uint32_t j = 0; j < n; j++) {
    double far = 0, magnitude;

    if (d->slopes)
      far = (double)d->slopes[head] * ((double)j - (double)(n - 1));
    p[j] = far;
    magnitude = fabs(far);
    for (uint32_t e = 0; e < hd; e++) {
      double x = device_at(q, query + e) *
                 device_at(k, page_row(d->pages, s, j, kv, hd) + e);

      p[j] += x / sqrt((double)hd);
      magnitude += fabs(x) / sqrt((double)hd);
    }
    most = fmax(most, p[j]);
    largest = fmax(largest, magnitude);
  }
  for (uint32_t j = 0; j < n; j++)
    sum += exp(p[j] - most);
  e_i = ((double)hd * 0x1p-22 + 0x1p-21) * largest;
  for (uint32_t e = 0; e < hd; e++) {
    double exact = 0, magnitude = 0;

    for (uint32_t j = 0; j < n; j++) {
      double x = exp(p[j] - most) / sum *
                 device_at(v, page_row(d->pages, s, j, kv, hd) + e);

      exact += x;
      magnitude += fabs(x);
    }
    device_assert_near(device_at(out, row + e), exact,
                       (2 * e_i + 2 * 0x1p-8 + n * 0x1p-22 + 0x1p-19) *
                           magnitude,
                       "out", row + e);
  }
}

/* One to three parts; pages in no order; a group of five heads, not a power of
 * two; a sequence of one token and one of none, whose output is 0; the second
 * half of the cases with ALiBi.  The faults that this catches: parts that
 * forget their maxima, slopes of another group's heads. */
START_TEST(test_decode)
{
  uint32_t hd = _i % 2 ? 128 : 64;
  float *slopes = device_new(GROUP * KV_HEADS * sizeof *slopes);
  uint32_t *pages = device_new(N_PAGES * sizeof *pages);
  uint32_t *lengths = device_copy(cached, sizeof cached);
  RaRng rng = ra_rng_init(10, (uint64_t)_i);
  gsize n_cache = (gsize)N_PAGES * PAGE * KV_HEADS * hd;
  RaKDecode d = {.n_sequences = G_N_ELEMENTS(cached),
                 .lengths = lengths,
                 .pages = pages,
                 .max_pages = PER_SEQUENCE,
                 .page_tokens = PAGE,
                 .page_rows = PAGE,
                 .q_heads = GROUP * KV_HEADS,
                 .kv_heads = KV_HEADS,
                 .head_dim = hd,
                 .q_stride = (GROUP + 2) * KV_HEADS * (gsize)hd,
                 .n_parts = 1 + (uint32_t)_i % 3,
                 .counts = device_new(COUNTS * sizeof *d.counts),
                 .slopes = _i >= 3 ? slopes : NULL};
  gsize n = (gsize)d.n_sequences * d.q_heads * hd;
  uint16_t *q = device_bf16(&rng, d.n_sequences * d.q_stride, 4);
  uint16_t *out = device_poisoned(2 * n);
  uint16_t *k = device_bf16(&rng, n_cache, 1);
  uint16_t *v = device_bf16(&rng, n_cache, 1);
  float *workspace = device_poisoned(4 * ra_k_decode_workspace(&d) + 4);

  for (uint32_t i = 0; i < N_PAGES; i++)
    pages[i] = i * 37 % N_PAGES;
  for (uint32_t h = 0; h < d.q_heads; h++)
    slopes[h] = ra_cpu_alibi_slope(h, d.q_heads);
  memset(d.counts, 0, COUNTS * sizeof *d.counts);
  device_seed((uint64_t)_i);
  ck_assert_int_eq(
      device_done(ra_k_decode_attention(&d, q, k, v, out, workspace, NULL)), 0);
  for (uint32_t i = 0; i < COUNTS; i++)
    ck_assert_uint_eq(d.counts[i], 0);
  for (uint32_t s = 0; s < d.n_sequences; s++)
    for (uint32_t head = 0; head < d.q_heads; head++)
      check_decode_row(&d, q, k, v, out, s, head);
  device_free(q);
  device_free(k);
  device_free(v);
  device_free(out);
  device_free(workspace);
  device_free(d.counts);
  device_free(pages);
  device_free(lengths);
  device_free(slopes);
}
END_TEST

/* A key that is not a number is one of the result, in any order of blocks: of
 * its key head's group alone, whatever part it is in; so the logits have it. */
START_TEST(test_odd)
{
  static const uint32_t length = 517, hd = 64, group = 2;
  static uint32_t pages[PER_SEQUENCE], counts[KV_HEADS];
  uint32_t token = (uint32_t)_i * 258;
  RaRng rng = ra_rng_init(11, (uint64_t)_i);
  RaKDecode d = {.n_sequences = 1,
                 .lengths = device_copy(&length, sizeof length),
                 .max_pages = PER_SEQUENCE,
                 .page_tokens = PAGE,
                 .page_rows = PAGE,
                 .q_heads = group * KV_HEADS,
                 .kv_heads = KV_HEADS,
                 .head_dim = hd,
                 .q_stride = group * KV_HEADS * hd,
                 .n_parts = 3,
                 .counts = device_copy(counts, sizeof counts)};
  gsize n = d.q_stride, n_cache = PER_SEQUENCE * PAGE * KV_HEADS * hd;
  uint16_t *q = device_bf16(&rng, n, 1), *out = device_poisoned(2 * n);
  uint16_t *k = device_bf16(&rng, n_cache, 1);
  uint16_t *v = device_bf16(&rng, n_cache, 1);
  float *workspace = device_poisoned(4 * ra_k_decode_workspace(&d));

  for (uint32_t i = 0; i < PER_SEQUENCE; i++)
    pages[i] = i;
  d.pages = device_copy(pages, sizeof pages);
  k[page_row(pages, 0, token, 1, hd)] = 0x7fc0;
  device_seed((uint64_t)_i);
  ck_assert_int_eq(
      device_done(ra_k_decode_attention(&d, q, k, v, out, workspace, NULL)), 0);
  for (uint32_t e = 0; e < n; e++)
    ck_assert_int_eq(isnan(device_at(out, e)) != 0, e >= n / 2);
  device_free(q);
  device_free(k);
  device_free(v);
  device_free(out);
  device_free(workspace);
  device_free((void *)d.lengths);
  device_free((void *)d.pages);
  device_free(d.counts);
}
END_TEST

/* 132 processors want 264 blocks, with heads of 64 528: 33 and 66 for each of 8
 * heads, were 16 parts of 128 tokens not the most that 2,048 have; 256
 * sequences of 8 heads are enough alone. */
START_TEST(test_parts)
{
  ck_assert_uint_eq(ra_k_decode_parts(1, 8, 128, 2048, 132), 16);
  ck_assert_uint_eq(ra_k_decode_parts(1, 8, 128, 1 << 20, 132), 33);
  ck_assert_uint_eq(ra_k_decode_parts(1, 8, 64, 1 << 20, 132), 66);
  ck_assert_uint_eq(ra_k_decode_parts(256, 8, 128, 8192, 132), 1);
  ck_assert_uint_eq(ra_k_decode_parts(1, 8, 64, 16, 132), 1);
}
END_TEST

static Suite *
device_decode_suite(void)
{
  Suite *suite = suite_create("device_decode");
  TCase *tcase = tcase_create("decode");

  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_decode, 0, 6);
  tcase_add_loop_test(tcase, test_odd, 0, 3);
  tcase_add_test(tcase, test_parts);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_DEVICE_MAIN(device_decode_suite)
