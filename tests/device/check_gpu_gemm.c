/* GEMMs of exec/backend/cuda_gemm.h on a device against double: every order of
 * the operands, every kind of result, a bias, rows with padding.
 */
#include "config.h"

#include "exec/backend/cuda_gemm.h"
#include "tests/device/device_array.h"

enum { M = 72, N = 136, K = 264, BEHIND = 8 };

static const struct {
  RaCpuOrder a, b;
  RaCudaResult result;
  RaCudaBias bias;
} products[] = {
    {RA_CPU_PLAIN, RA_CPU_TRANSPOSED, RA_CUDA_STORE,
     RA_CUDA_NO_BIAS}, /* x W' */
    {RA_CPU_PLAIN, RA_CPU_TRANSPOSED, RA_CUDA_STORE,
     RA_CUDA_BIAS}, /* x W' + b */
    {RA_CPU_PLAIN, RA_CPU_TRANSPOSED, RA_CUDA_ADD, RA_CUDA_NO_BIAS},
    {RA_CPU_PLAIN, RA_CPU_TRANSPOSED, RA_CUDA_STORE_F32, RA_CUDA_NO_BIAS},
    {RA_CPU_PLAIN, RA_CPU_PLAIN, RA_CUDA_STORE, RA_CUDA_NO_BIAS}, /* dy W */
    {RA_CPU_TRANSPOSED, RA_CPU_PLAIN, RA_CUDA_ADD_F32,
     RA_CUDA_NO_BIAS}, /* dy' x */
    {RA_CPU_TRANSPOSED, RA_CPU_PLAIN, RA_CUDA_ADD_F32, RA_CUDA_BIAS_GRADIENT},
    {RA_CPU_TRANSPOSED, RA_CPU_TRANSPOSED, RA_CUDA_STORE, RA_CUDA_NO_BIAS},
};

/* Exact element (@row, @col) of a b, and the sum of magnitudes. */
static double
exact(const RaCudaProduct *p, const uint16_t *a, const uint16_t *b, gsize row,
      gsize col, double *out_magnitude)
{
  double sum = 0;

  *out_magnitude = 0;
  for (gsize i = 0; i < K; i++) {
    gsize at_a =
        p->order_a == RA_CPU_PLAIN ? row * p->lda + i : i * p->lda + row;
    gsize at_b =
        p->order_b == RA_CPU_PLAIN ? i * p->ldb + col : col * p->ldb + i;
    double term = device_at(a, at_a) * device_at(b, at_b);

    sum += term;
    *out_magnitude += fabs(term);
  }
  return sum;
}

static RaCudaProduct
product_of(int i)
{
  RaCpuOrder order_a = products[i].a, order_b = products[i].b;

  return (RaCudaProduct){order_a,
                         order_b,
                         products[i].result,
                         products[i].bias,
                         M,
                         N,
                         K,
                         (order_a == RA_CPU_PLAIN ? K : M) + BEHIND,
                         (order_b == RA_CPU_PLAIN ? N : K) + BEHIND,
                         N + BEHIND};
}

/* Bias that the GEMM is given. */
static void *
bias_of(const RaCudaProduct *p, uint16_t *bias, float *sums)
{
  return p->bias == RA_CUDA_BIAS            ? (void *)bias
         : p->bias == RA_CUDA_BIAS_GRADIENT ? sums
                                            : NULL;
}

/* (M) sums of the rows of @a, stored whatever was there. */
static void
check_sums(const RaCudaProduct *p, const uint16_t *a, const float *sums)
{
  for (gsize row = 0; row < M; row++) {
    double sum = 0, size = 0;

    for (gsize i = 0; i < K; i++) {
      double x = device_at(a, p->order_a == RA_CPU_PLAIN ? row * p->lda + i
                                                         : i * p->lda + row);

      sum += x;
      size += fabs(x);
    }
    device_assert_near((double)sums[row], sum, K * 0x1p-22 * size, "sum", row);
  }
}

/* Numbers behind a row must stay; a row is never taken for a column, as no two
 * of the sizes are the same. Twice: the second is of the table. */
START_TEST(test_product)
{
  RaCudaProduct p = product_of(_i);
  gboolean wide = p.result == RA_CUDA_ADD_F32 || p.result == RA_CUDA_STORE_F32;
  gboolean adds = p.result == RA_CUDA_ADD || p.result == RA_CUDA_ADD_F32;
  RaRng rng = ra_rng_init(1, (uint64_t)_i);
  uint16_t *a = device_bf16(&rng, (gsize)(M + K) * (K + M), 1);
  uint16_t *b = device_bf16(&rng, (gsize)(N + K) * (K + N), 1);
  uint16_t *bias = device_bf16(&rng, N, 4);
  float *sums = device_poisoned(M * sizeof *sums);
  gsize n_c = M * p.ldc;
  uint16_t *narrow = device_bf16(&rng, n_c, 4);
  float *full = device_f32(&rng, n_c, -4, 4);
  double *before = g_new(double, n_c);
  GError *error = NULL;
  RaCudaGemm *gemm = ra_cuda_gemm_new(&error);

  ck_assert_ptr_nonnull(gemm);
  ck_assert(ra_cuda_gemm_fuses(gemm, &p)); /* FALSE is mended, but told here */
  for (int turn = 0; turn < 2; turn++) {
    for (gsize i = 0; i < n_c; i++)
      before[i] = wide ? (double)full[i] : device_at(narrow, i);
    ck_assert(ra_cuda_gemm(gemm, &p, a, b, bias_of(&p, bias, sums),
                           wide ? (void *)full : narrow, NULL, &error));
    ck_assert_int_eq(device_done(0), 0);
    for (gsize i = 0; i < n_c; i++) {
      double got = wide ? (double)full[i] : device_at(narrow, i), size, wanted;
      double rounded; /* to bf16 before the last rounding: cuda_gemm.h */

      if (i % p.ldc >= N) {
        ck_assert_double_eq(got, before[i]);
        continue;
      }
      wanted = exact(&p, a, b, i / p.ldc, i % p.ldc, &size);
      rounded = p.result == RA_CUDA_ADD ? fabs(wanted) : 0;
      if (p.bias == RA_CUDA_BIAS) {
        wanted += device_at(bias, i % p.ldc);
        size += fabs(device_at(bias, i % p.ldc));
      }
      if (adds) {
        wanted += before[i];
        size += fabs(before[i]);
      }
      device_assert_near(got, wanted,
                         K * 0x1p-22 * size +
                             (wide ? 0 : 0x1p-8 * (fabs(wanted) + rounded)),
                         "c", i);
    }
  }
  if (p.bias == RA_CUDA_BIAS_GRADIENT)
    check_sums(&p, a, sums);
  ck_assert_uint_ge(ra_cuda_gemm_candidates(gemm, &p, 8, &error), 1);
  ra_cuda_gemm_free(gemm);
  g_free(before);
  device_free(a);
  device_free(b);
  device_free(bias);
  device_free(sums);
  device_free(narrow);
  device_free(full);
}
END_TEST

/* More shapes than the table keeps: it is begun anew, and the first shape runs
 * again with the bits that it had. */
START_TEST(test_many_shapes)
{
  RaRng rng = ra_rng_init(1, 99);
  RaCudaProduct p = {.order_b = RA_CPU_TRANSPOSED,
                     .n = N,
                     .k = K,
                     .lda = K,
                     .ldb = K,
                     .ldc = N};
  gsize most = RA_CUDA_GEMM_SHAPES + 1;
  uint16_t *a = device_bf16(&rng, most * K, 1),
           *b = device_bf16(&rng, N * K, 1);
  uint16_t *c = device_bf16(&rng, most * N, 1);
  g_autofree uint16_t *first = g_new(uint16_t, N);
  GError *error = NULL;
  RaCudaGemm *gemm = ra_cuda_gemm_new(&error);

  ck_assert_ptr_nonnull(gemm);
  for (gsize i = 0; i <= most; i++) {
    p.m = i % most + 1;
    ck_assert(ra_cuda_gemm(gemm, &p, a, b, NULL, c, NULL, &error));
    if (i > 0 && i < most)
      continue;
    ck_assert_int_eq(device_done(0), 0);
    if (i == 0)
      memcpy(first, c, N * sizeof *c);
    else
      ck_assert_mem_eq(first, c, N * sizeof *c);
  }
  ra_cuda_gemm_free(gemm);
  device_free(a);
  device_free(b);
  device_free(c);
}
END_TEST

static Suite *
gpu_gemm_suite(void)
{
  Suite *suite = suite_create("gpu_gemm");
  TCase *tcase = tcase_create("products");

  tcase_add_loop_test(tcase, test_product, 0, (int)G_N_ELEMENTS(products));
  tcase_add_test(tcase, test_many_shapes);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_DEVICE_MAIN(gpu_gemm_suite)
