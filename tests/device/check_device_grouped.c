/* CUDA kernels of grouped GEMMs, run thread by thread on the CPU
 * (tests/emulator) or on a device, against the sums in double on the same
 * inputs, within the bound of kernels/grouped.h.
 */
#include "config.h"

#include "kernels/grouped.h"
#include "tests/device/device_array.h"

#define UB 0x1p-8 /* bf16 */

enum { MOST_GROUPS = 40 };

/* Results are cut at 64 rows and 128 columns, sums at 64 terms. */
typedef struct {
  uint32_t n_groups, n_processors;
  size_t n, k;
  uint32_t counts[MOST_GROUPS]; /* the others have none */
} Shape;

static const Shape shapes[] = {
    /* Nothing, one row, a tile and one row more or less; each width and each
     * sum has a remainder of 8. */
    {7, 1, 136, 200, {0, 1, 64, 65, 0, 63, 7}},
    /* More groups than lanes, the last ones empty; blocks with several tiles;
     * sums of more steps than are on their way. */
    {MOST_GROUPS, 3, 72, 264, {2, 0, 130, [30] = 1, 40, 17, 3}},
    /* Sums that fill their steps, a tile as wide as it may be. */
    {2, 2, 128, 128, {128, 64}},
    {3, 2, 8, 8, {1, 1, 1}},
    {1, 4, 64, 8, {200}},
    /* No row at all: nothing is launched, or written. */
    {5, 2, 16, 16, {0}},
};

/* A product's arrays, the counts where the kernel reads them. */
typedef struct {
  const Shape *s;
  RaKGroups groups;
  uint16_t *x, *y, *weight; /* (rows, k), (rows, n), (n_groups, n, k) */
  uint32_t *counts;
} Case;

static Case
case_new(const Shape *s, RaRng *rng)
{
  Case c = {.s = s, .counts = device_copy(s->counts, sizeof s->counts)};

  c.groups = (RaKGroups){.n_groups = s->n_groups,
                         .counts = c.counts,
                         .n = s->n,
                         .k = s->k,
                         .n_processors = s->n_processors};
  for (uint32_t g = 0; g < s->n_groups; g++)
    c.groups.n_rows += s->counts[g];
  c.x = device_bf16(rng, c.groups.n_rows * s->k, 1);
  c.y = device_bf16(rng, c.groups.n_rows * s->n, 1);
  c.weight = device_bf16(rng, s->n_groups * s->n * s->k, 1);
  return c;
}

static void
case_clear(Case *c)
{
  device_free(c->x);
  device_free(c->y);
  device_free(c->weight);
  device_free(c->counts);
}

/* sum_t a[t a_step] b[t b_step] of @n terms; @out_size: of their sizes. */
static double
sum_of(size_t n, const uint16_t *a, size_t a_step, const uint16_t *b,
       size_t b_step, double *out_size)
{
  double sum = 0;

  *out_size = 0;
  for (size_t t = 0; t < n; t++) {
    double term = device_at(a, t * a_step) * device_at(b, t * b_step);

    sum += term;
    *out_size += fabs(term);
  }
  return sum;
}

/* Bound of a sum of @n terms. */
static double
bound_of(size_t n, double size)
{
  return (double)n * 0x1p-22 * size;
}

/* Rows through the matrices of their groups, or back: @wide columns out of
 * sums of @n_terms, element t of column c of a matrix at t @t_step + c
 * @c_step.  The deliberate faults: the next group's matrix, the last eight
 * terms left out. */
static void
check_rows(const Case *c, const uint16_t *in, size_t n_terms, size_t wide,
           size_t t_step, size_t c_step, const uint16_t *got)
{
  const Shape *s = c->s;
  size_t row = 0, n_seen[2] = {0};

  for (uint32_t g = 0; g < s->n_groups; g++)
    for (size_t end = row + s->counts[g]; row < end; row++)
      for (size_t column = 0; column < wide; column++) {
        const uint16_t *weight = c->weight + g * s->n * s->k + column * c_step;
        const uint16_t *next =
            c->weight + (g + 1) % s->n_groups * s->n * s->k + column * c_step;
        double size, other;
        double exact =
            sum_of(n_terms, in + row * n_terms, 1, weight, t_step, &size);
        double bound = UB * fabs(exact) + bound_of(n_terms, size);

        device_assert_near(device_at(got, row * wide + column), exact, bound,
                           "element", row * wide + column);
        n_seen[0] +=
            fabs(sum_of(n_terms, in + row * n_terms, 1, next, t_step, &other) -
                 exact) > 2 * bound;
        n_seen[1] += fabs(sum_of(n_terms - 8, in + row * n_terms, 1, weight,
                                 t_step, &other) -
                          exact) > 2 * bound;
      }
  for (int i = 0; i < 2; i++) /* nine of ten elements would show either */
    ck_assert_uint_ge(10 * n_seen[i], s->n_groups > 1 ? 9 * row * wide : 0);
}

START_TEST(test_output)
{
  RaRng rng = ra_rng_init(1, (uint64_t)_i);
  Case c = case_new(&shapes[_i], &rng);
  size_t n = c.s->n, k = c.s->k;
  uint16_t *got = device_poisoned(c.groups.n_rows * n * sizeof *got);

  device_seed((uint64_t)_i);
  ck_assert_int_eq(
      device_done(ra_k_grouped(&c.groups, c.x, c.weight, got, NULL)), 0);
  check_rows(&c, c.x, k, n, 1, k, got);
  device_free(got);
  case_clear(&c);
}
END_TEST

START_TEST(test_input)
{
  RaRng rng = ra_rng_init(2, (uint64_t)_i);
  Case c = case_new(&shapes[_i], &rng);
  size_t n = c.s->n, k = c.s->k;
  uint16_t *got = device_poisoned(c.groups.n_rows * k * sizeof *got);

  device_seed((uint64_t)_i);
  ck_assert_int_eq(
      device_done(ra_k_grouped_input(&c.groups, c.y, c.weight, got, NULL)), 0);
  check_rows(&c, c.y, n, k, k, 1, got);
  device_free(got);
  case_clear(&c);
}
END_TEST

/* Beside what is there, which of groups without rows stays to the bit.  The
 * deliberate fault: a row of the next group. */
START_TEST(test_weight)
{
  RaRng rng = ra_rng_init(3, (uint64_t)_i);
  Case c = case_new(&shapes[_i], &rng);
  size_t n = c.s->n, k = c.s->k, row = 0, n_seen = 0, n_looked = 0;
  size_t n_all = c.s->n_groups * n * k;
  float *before = device_f32(&rng, n_all, -4, 4);
  float *got = device_copy(before, n_all * sizeof *got);

  device_seed((uint64_t)_i);
  ck_assert_int_eq(
      device_done(ra_k_grouped_weight(&c.groups, c.y, c.x, got, NULL)), 0);
  for (uint32_t g = 0; g < c.s->n_groups; g++) {
    size_t count = c.s->counts[g];
    const uint16_t *x = c.x + row * k, *y = c.y + row * n;

    for (size_t i = 0; i < n * k; i++) {
      size_t at = g * n * k + i;
      double size, sum = sum_of(count, y + i / k, n, x + i % k, k, &size);
      double exact = (double)before[at] + sum;
      double bound =
          bound_of(count, size) + 0x1p-24 * fabs(exact) * (count > 0);

      device_assert_near((double)got[at], exact, bound, "gradient", at);
      if (count > 0 && row + count < c.groups.n_rows) {
        n_looked++;
        n_seen += fabs(device_at(y, count * n + i / k) *
                       device_at(x, count * k + i % k)) > 2 * bound;
      }
    }
    row += count;
  }
  ck_assert_uint_ge(10 * n_seen, 9 * n_looked);
  device_free(before);
  device_free(got);
  case_clear(&c);
}
END_TEST

/* Arguments that are refused. */
START_TEST(test_refused)
{
  RaRng rng = ra_rng_init(4, 0);
  Case c = case_new(&shapes[3], &rng);
  uint16_t *got = device_poisoned(64 * sizeof *got);
  RaKGroups odd[4] = {c.groups, c.groups, c.groups, c.groups};

  odd[0].n_groups = RA_K_GROUPS + 1;
  odd[1].n = 12;
  odd[2].k = 12;
  odd[3].n_processors = 0;
  for (int i = 0; i < 4; i++)
    ck_assert_int_eq(
        device_done(ra_k_grouped(&odd[i], c.x, c.weight, got, NULL)), 1);
  ck_assert_int_eq(
      device_done(ra_k_grouped(&c.groups, c.x, c.weight, got + 1, NULL)), 1);
  for (int i = 0; i < 64; i++)
    ck_assert_uint_eq(got[i], 0xffff);
  device_free(got);
  case_clear(&c);
}
END_TEST

static Suite *
device_grouped_suite(void)
{
  Suite *suite = suite_create("device_grouped");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_output, 0, G_N_ELEMENTS(shapes));
  tcase_add_loop_test(tcase, test_input, 0, G_N_ELEMENTS(shapes));
  tcase_add_loop_test(tcase, test_weight, 0, G_N_ELEMENTS(shapes));
  tcase_add_test(tcase, test_refused);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_DEVICE_MAIN(device_grouped_suite)
