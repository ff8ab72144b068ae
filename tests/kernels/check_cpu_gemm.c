#include "config.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/cpu_gemm.h"
#include "kernels/cpu/cpu_gemm_avx512.h"
#include "tests/support/check_main.h"
#include "tests/support/cpu_random.h"

#define PAD 3        /* floats between rows that nobody may touch */
#define POISON 12345 /* what they hold */

/* A product with its operands, rows PAD floats further apart than they are
 * long. */
typedef struct {
  RaCpuOrder order_a, order_b;
  gsize m, n, k, lda, ldb, ldc;
  float *a, *b, *before, *c;
} Product;

static Product
product_new(RaCpuOrder order_a, RaCpuOrder order_b, gsize m, gsize n, gsize k)
{
  Product p = {.order_a = order_a, .order_b = order_b, .m = m, .n = n, .k = k};

  p.lda = (order_a == RA_CPU_PLAIN ? k : m) + PAD;
  p.ldb = (order_b == RA_CPU_PLAIN ? n : k) + PAD;
  p.ldc = n + PAD;
  p.a = cpu_random(1, (order_a == RA_CPU_PLAIN ? m : k) * p.lda, 1);
  p.b = cpu_random(2, (order_b == RA_CPU_PLAIN ? k : n) * p.ldb, 1);
  p.before = cpu_random(3, m * p.ldc, 1);
  for (gsize i = 0; i < m; i++)
    for (gsize j = n; j < p.ldc; j++)
      p.before[i * p.ldc + j] = POISON;
  p.c = g_memdup2(p.before, m * p.ldc * sizeof *p.c);
  return p;
}

static void
product_clear(Product *p)
{
  g_free(p->a);
  g_free(p->b);
  g_free(p->before);
  g_free(p->c);
}

static double
term(const Product *p, gsize i, gsize j, gsize l)
{
  float a =
      p->order_a == RA_CPU_PLAIN ? p->a[i * p->lda + l] : p->a[l * p->lda + i];
  float b =
      p->order_b == RA_CPU_PLAIN ? p->b[l * p->ldb + j] : p->b[j * p->ldb + l];

  return (double)a * (double)b;
}

/* Elements of @p->c that are further from the exact sum than the header's (k +
 * 1) u sum |a| |b| + 2 u |c|, and numbers between rows that were touched. */
static guint
n_wrong(const Product *p, float beta)
{
  guint n = 0;

  for (gsize i = 0; i < p->m; i++) {
    for (gsize j = 0; j < p->n; j++) {
      double was = (double)beta * (double)p->before[i * p->ldc + j], sum = was;
      double size = 0;

      for (gsize l = 0; l < p->k; l++) {
        sum += term(p, i, j, l);
        size += fabs(term(p, i, j, l));
      }
      n += fabs((double)p->c[i * p->ldc + j] - sum) >
           RA_CPU_U * ((double)(p->k + 1) * size + 2 * fabs(sum));
    }
    for (gsize j = p->n; j < p->ldc; j++)
      n += p->c[i * p->ldc + j] < POISON || p->c[i * p->ldc + j] > POISON;
  }
  return n;
}

/* Shapes below, at and above every edge of the packed product: tiles of 14 x
 * 32, registers of 16, blocks of 512 terms (513 are two, 1030 three) and 512
 * columns, 8 strips of 14 rows together. */
static const gsize shapes[][3] = {{1, 1, 1},     {4, 16, 1},     {14, 32, 16},
                                  {15, 33, 17},  {13, 31, 15},   {29, 48, 64},
                                  {113, 97, 5},  {33, 513, 40},  {28, 512, 512},
                                  {30, 65, 513}, {57, 17, 1030}, {140, 544, 31},
                                  {64, 64, 200}};

static const RaCpuOrder orders[][2] = {{RA_CPU_PLAIN, RA_CPU_PLAIN},
                                       {RA_CPU_PLAIN, RA_CPU_TRANSPOSED},
                                       {RA_CPU_TRANSPOSED, RA_CPU_PLAIN},
                                       {RA_CPU_TRANSPOSED, RA_CPU_TRANSPOSED}};

static void
run(Product *p, float beta)
{
  ra_cpu_gemm(p->order_a, p->order_b, p->m, p->n, p->k, p->a, p->lda, p->b,
              p->ldb, beta, p->c, p->ldc);
}

/* Whatever ra_cpu_gemm() takes, and the packed product also where it would
 * not. */
START_TEST(test_shapes)
{
  const gsize *s = shapes[_i];

  ck_assert(ra_cpu_gemm_open());
  for (guint o = 0; o < G_N_ELEMENTS(orders); o++)
    for (int beta = 0; beta <= 1; beta++) {
      Product p = product_new(orders[o][0], orders[o][1], s[0], s[1], s[2]);

      run(&p, (float)beta);
      ck_assert_uint_eq(n_wrong(&p, (float)beta), 0);
      if (ra_cpu_gemm_has_avx512()) {
        memcpy(p.c, p.before, p.m * p.ldc * sizeof *p.c);
        ra_cpu_gemm_avx512(p.order_a, p.order_b, p.m, p.n, p.k, p.a, p.lda, p.b,
                           p.ldb, (float)beta, p.c, p.ldc);
        ck_assert_uint_eq(n_wrong(&p, (float)beta), 0);
      }
      product_clear(&p);
    }
}
END_TEST

/* The oracle sees one term that was left out, and one float too many. */
START_TEST(test_oracle)
{
  Product p = product_new(RA_CPU_PLAIN, RA_CPU_PLAIN, 30, 65, 513);

  ck_assert(ra_cpu_gemm_open());
  run(&p, 0);
  p.c[29 * p.ldc + 64] -= (float)term(&p, 29, 64, 512);
  ck_assert_uint_eq(n_wrong(&p, 0), 1);
  p.c[29 * p.ldc + 65] = 0;
  ck_assert_uint_eq(n_wrong(&p, 0), 2);
  product_clear(&p);
}
END_TEST

/* Where a product says that its parts may be any, rows and columns cut at 37
 * and 50 give the bits of the whole; a thin one alike, rows cut at 3. */
START_TEST(test_split)
{
  for (guint o = 0; o < G_N_ELEMENTS(orders); o++) {
    Product p = product_new(orders[o][0], orders[o][1], 90, 130, 1030);
    gsize rows[3] = {0, 37, 90}, cols[3] = {0, 50, 130};
    g_autofree float *whole = NULL;

    ck_assert(ra_cpu_gemm_open());
    run(&p, 1);
    whole = g_memdup2(p.c, p.m * p.ldc * sizeof *whole);
    memcpy(p.c, p.before, p.m * p.ldc * sizeof *p.c);
    for (guint i = 0; i < 2 && ra_cpu_gemm_is_splittable(37, 50); i++)
      for (guint j = 0; j < 2; j++)
        ra_cpu_gemm(
            p.order_a, p.order_b, rows[i + 1] - rows[i], cols[j + 1] - cols[j],
            p.k, p.a + rows[i] * (p.order_a == RA_CPU_PLAIN ? p.lda : 1), p.lda,
            p.b + cols[j] * (p.order_b == RA_CPU_PLAIN ? 1 : p.ldb), p.ldb, 1,
            p.c + rows[i] * p.ldc + cols[j], p.ldc);
    if (ra_cpu_gemm_is_splittable(37, 50))
      ck_assert_mem_eq(p.c, whole, p.m * p.ldc * sizeof *whole);
    product_clear(&p);
  }
}
END_TEST

/* A row of a thin product has the same bits whatever rows are beside it: what
 * a sequence generates does not depend on who is generated with it. */
START_TEST(test_thin_rows)
{
  Product p = product_new(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, 13, 70, 300);

  if (!ra_cpu_gemm_has_avx512()) {
    product_clear(&p);
    return;
  }
  ra_cpu_gemm_thin_avx512(p.m, p.n, p.k, p.a, p.lda, p.b, p.ldb, p.c, p.ldc);
  ck_assert_uint_eq(n_wrong(&p, 0), 0);
  for (gsize i = 0; i < p.m; i++) {
    float row[70];

    ra_cpu_gemm_thin_avx512(1, p.n, p.k, p.a + i * p.lda, p.lda, p.b, p.ldb,
                            row, p.n);
    ck_assert_mem_eq(row, p.c + i * p.ldc, sizeof row);
  }
  product_clear(&p);
}
END_TEST

static Suite *
cpu_gemm_suite(void)
{
  Suite *suite = suite_create("cpu_gemm");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60); /* sums of doubles, under sanitizers too */
  tcase_add_loop_test(tcase, test_shapes, 0, G_N_ELEMENTS(shapes));
  tcase_add_test(tcase, test_oracle);
  tcase_add_test(tcase, test_split);
  tcase_add_test(tcase, test_thin_rows);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(cpu_gemm_suite)
