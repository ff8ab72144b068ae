/* CUDA kernels of grouped GEMMs, run thread by thread on the CPU
 * (tests/emulator) or on a device, against the sums in double on the same
 * inputs, within the bound of kernels/grouped.h.
 */
#include "config.h"

#include "kernels/grouped.h"
#include "tests/device/device_array.h"

#define UB 0x1p-8 /* bf16 */

enum { MOST_GROUPS = 40 };

typedef int (*Variant)(RaKProduct product, const RaKGroups *groups,
                       const uint16_t *left, const uint16_t *right, void *out,
                       void *stream);

static const Variant variants[] = {ra_k_grouped_mma, ra_k_grouped_wgmma};

/* The device is not one that the variant is for. */
enum { NOT_SUPPORTED = 801 };

/* Results are cut at 64 rows and 128 columns, or 128 (in two halves) and 256;
 * sums at 64 terms. */
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
    /* Wide tiles with a remainder of 8 or 72 across; down, one row of a second
     * tile, of a second half, and both; tiles that share no stage's parity. */
    {5, 2, 264, 328, {0, 129, 1, 65, 200}},
    /* Tiles of two steps, one after the other in a block. */
    {3, 1, 72, 72, {1, 130, 40}},
    {1, 4, 64, 8, {200}},
    /* No row at all: nothing is launched, or written. */
    {5, 2, 16, 16, {0}},
};

enum { N_CASES = 2 * G_N_ELEMENTS(shapes) };

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

/* Runs a variant of a product.  Returns: FALSE: it is not for this device. */
static gboolean
run(const Case *c, int variant, RaKProduct product, void *out)
{
  const uint16_t *left = product == RA_K_OUTPUT ? c->x : c->y;
  const uint16_t *right = product == RA_K_WEIGHT ? c->x : c->weight;
  int code = device_done(
      variants[variant](product, &c->groups, left, right, out, NULL));

  if (code == NOT_SUPPORTED)
    return FALSE;
  ck_assert_int_eq(code, 0);
  return TRUE;
}

START_TEST(test_output)
{
  RaRng rng = ra_rng_init(1, (uint64_t)_i);
  Case c = case_new(&shapes[_i / 2], &rng);
  size_t n = c.s->n, k = c.s->k;
  uint16_t *got = device_poisoned(c.groups.n_rows * n * sizeof *got);

  device_seed((uint64_t)_i);
  if (run(&c, _i % 2, RA_K_OUTPUT, got))
    check_rows(&c, c.x, k, n, 1, k, got);
  device_free(got);
  case_clear(&c);
}
END_TEST

START_TEST(test_input)
{
  RaRng rng = ra_rng_init(2, (uint64_t)_i);
  Case c = case_new(&shapes[_i / 2], &rng);
  size_t n = c.s->n, k = c.s->k;
  uint16_t *got = device_poisoned(c.groups.n_rows * k * sizeof *got);

  device_seed((uint64_t)_i);
  if (run(&c, _i % 2, RA_K_INPUT, got))
    check_rows(&c, c.y, n, k, k, 1, got);
  device_free(got);
  case_clear(&c);
}
END_TEST

/* Beside what is there, which of groups without rows stays to the bit.  The
 * deliberate fault: a row of the next group. */
static void
check_gradients(const Case *c, const float *before, const float *got)
{
  size_t n = c->s->n, k = c->s->k, row = 0, n_seen = 0, n_looked = 0;

  for (uint32_t g = 0; g < c->s->n_groups; g++) {
    size_t count = c->s->counts[g];
    const uint16_t *x = c->x + row * k, *y = c->y + row * n;

    for (size_t i = 0; i < n * k; i++) {
      size_t at = g * n * k + i;
      double size, sum = sum_of(count, y + i / k, n, x + i % k, k, &size);
      double exact = (double)before[at] + sum;
      double bound =
          bound_of(count, size) + 0x1p-24 * fabs(exact) * (count > 0);

      device_assert_near((double)got[at], exact, bound, "gradient", at);
      if (count > 0 && row + count < c->groups.n_rows) {
        n_looked++;
        n_seen += fabs(device_at(y, count * n + i / k) *
                       device_at(x, count * k + i % k)) > 2 * bound;
      }
    }
    row += count;
  }
  ck_assert_uint_ge(10 * n_seen, 9 * n_looked);
}

START_TEST(test_weight)
{
  RaRng rng = ra_rng_init(3, (uint64_t)_i);
  Case c = case_new(&shapes[_i / 2], &rng);
  size_t n_all = c.s->n_groups * c.s->n * c.s->k;
  float *before = device_f32(&rng, n_all, -4, 4);
  float *got = device_copy(before, n_all * sizeof *got);

  device_seed((uint64_t)_i);
  if (run(&c, _i % 2, RA_K_WEIGHT, got))
    check_gradients(&c, before, got);
  device_free(before);
  device_free(got);
  case_clear(&c);
}
END_TEST

/* Elements of a product's result, and those of group @group in it. */
static size_t
n_of_result(const Case *c, RaKProduct product)
{
  return product == RA_K_WEIGHT   ? c->s->n_groups * c->s->n * c->s->k
         : product == RA_K_OUTPUT ? c->groups.n_rows * c->s->n
                                  : c->groups.n_rows * c->s->k;
}

static void
group_of_result(const Case *c, RaKProduct product, uint32_t group,
                size_t *out_first, size_t *out_n)
{
  size_t row = 0, wide = product == RA_K_OUTPUT ? c->s->n : c->s->k;

  for (uint32_t g = 0; g < group; g++)
    row += c->s->counts[g];
  *out_n = product == RA_K_WEIGHT ? c->s->n * wide : c->s->counts[group] * wide;
  *out_first = product == RA_K_WEIGHT ? group * *out_n : row * wide;
}

/* Makes NaN of a group's rows, of its matrix and of the one before. */
static void
spoil(Case *c, uint32_t group)
{
  size_t row = 0, n = c->s->n, k = c->s->k, count = c->s->counts[group];

  for (uint32_t g = 0; g < group; g++)
    row += c->s->counts[g];
  memset(c->x + row * k, 0xff, count * k * 2);
  memset(c->y + row * n, 0xff, count * n * 2);
  memset(c->weight + (group - 1) * n * k, 0xff, 2 * n * k * 2);
}

/* The same bits whatever another group has, NaN too, whatever the order of
 * threads, blocks and copies, and however many processors there are: sums have
 * one order, and a tile takes nothing of the groups next to its own.  Group 5
 * of shape 0 is spoilt, and so becomes NaN.  Its rows follow the one row of
 * group 3 that is in a step of its own; the matrix after group 3's, of a group
 * without rows, is NaN too, and n and k end within a step. */
START_TEST(test_same)
{
  RaKProduct product = (RaKProduct)(_i / 2);
  enum { SPOILT = 5 };
  RaRng rng = ra_rng_init(5, (uint64_t)_i);
  Case c = case_new(&shapes[0], &rng);
  size_t n_all = n_of_result(&c, product), first, n;
  /* Room for fp32, of which bf16 take the half. */
  float *zeroes = g_new0(float, n_all);
  float *got[2] = {device_copy(zeroes, n_all * sizeof **got),
                   device_copy(zeroes, n_all * sizeof **got)};
  size_t size = product == RA_K_WEIGHT ? sizeof(float) : sizeof(uint16_t);

  device_seed(1);
  if (run(&c, _i % 2, product, got[0])) {
    spoil(&c, SPOILT);
    c.groups.n_processors = 3;
    device_seed(2);
    ck_assert(run(&c, _i % 2, product, got[1]));
    for (uint32_t g = 0; g < c.s->n_groups; g++) {
      int differ;

      group_of_result(&c, product, g, &first, &n);
      differ = memcmp((char *)got[0] + first * size,
                      (char *)got[1] + first * size, n * size);
      ck_assert_msg((g == SPOILT) == (differ != 0), "group %u", g);
    }
  }
  g_free(zeroes);
  device_free(got[0]);
  device_free(got[1]);
  case_clear(&c);
}
END_TEST

/* The three functions start the variant for the device, to its bits. */
START_TEST(test_chosen)
{
  RaRng rng = ra_rng_init(6, 0);
  Case c = case_new(&shapes[0], &rng);
  size_t n_w = n_of_result(&c, RA_K_WEIGHT);
  uint16_t *got = device_poisoned(n_w * sizeof *got);
  uint16_t *expected = device_poisoned(n_w * sizeof *expected);
  float *sum = device_f32(&rng, n_w, -4, 4);
  float *expected_sum = device_copy(sum, n_w * sizeof *sum);
  int variant = run(&c, 1, RA_K_OUTPUT, expected) ? 1 : 0;

  ck_assert_int_eq(
      device_done(ra_k_grouped(&c.groups, c.x, c.weight, got, NULL)), 0);
  ck_assert(run(&c, variant, RA_K_OUTPUT, expected));
  ck_assert_mem_eq(got, expected, n_of_result(&c, RA_K_OUTPUT) * 2);
  ck_assert_int_eq(
      device_done(ra_k_grouped_input(&c.groups, c.y, c.weight, got, NULL)), 0);
  ck_assert(run(&c, variant, RA_K_INPUT, expected));
  ck_assert_mem_eq(got, expected, n_of_result(&c, RA_K_INPUT) * 2);
  ck_assert_int_eq(
      device_done(ra_k_grouped_weight(&c.groups, c.y, c.x, sum, NULL)), 0);
  ck_assert(run(&c, variant, RA_K_WEIGHT, expected_sum));
  ck_assert_mem_eq(sum, expected_sum, n_w * sizeof *sum);
  device_free(got);
  device_free(expected);
  device_free(sum);
  device_free(expected_sum);
  case_clear(&c);
}
END_TEST

#ifndef RA_ON_GPU

/* Multiplications of wgmma: 64 x 256 for each half of a tile in which its group
 * has rows, over its terms in steps of 64.  All results of shape 0 are one tile
 * wide (n = 136, k = 200).  Groups with rows have 1, 1, 2, 1 and 1 halves in y
 * and d_x, with 200 and 136 terms: four steps and three.  In d_weight each has
 * three halves, of 136 rows, and 1, 1, 2, 1 and 1 steps, of its rows. */
START_TEST(test_products)
{
  static const uint64_t n_steps[] = {6 * 4, 6 * 3, 3 * 6};
  RaRng rng = ra_rng_init(7, 0);
  Case c = case_new(&shapes[0], &rng);
  float *out =
      device_f32(&rng, n_of_result(&c, RA_K_WEIGHT) + 256 * 256, -4, 4);
  uint64_t before = ra_emu_n_multiplied();

  ck_assert(run(&c, 1, (RaKProduct)_i, out));
  ck_assert_uint_eq(ra_emu_n_multiplied() - before,
                    n_steps[_i] * 64 * 256 * 64);
  device_free(out);
  case_clear(&c);
}
END_TEST

#endif

/* Arguments that are refused, by both variants. */
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
    ck_assert_int_eq(device_done(variants[_i](RA_K_OUTPUT, &odd[i], c.x,
                                              c.weight, got, NULL)),
                     1);
  ck_assert_int_eq(device_done(variants[_i](RA_K_OUTPUT, &c.groups, c.x,
                                            c.weight, got + 1, NULL)),
                   1);
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
  tcase_add_loop_test(tcase, test_output, 0, N_CASES);
  tcase_add_loop_test(tcase, test_input, 0, N_CASES);
  tcase_add_loop_test(tcase, test_weight, 0, N_CASES);
  tcase_add_loop_test(tcase, test_same, 0, 6);
  tcase_add_test(tcase, test_chosen);
#ifndef RA_ON_GPU
  tcase_add_loop_test(tcase, test_products, 0, 3);
#endif
  tcase_add_loop_test(tcase, test_refused, 0, 2);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_DEVICE_MAIN(device_grouped_suite)
