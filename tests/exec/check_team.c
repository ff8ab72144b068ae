#include "config.h"

#include <stdatomic.h>
#include <string.h>

#include "base/rng.h"
#include "exec/backend/backend.h"
#include "exec/backend/team.h"
#include "tests/support/check_main.h"

#define N_THREADS 3
#define N_PARTS 100

typedef struct {
  atomic_uint n_runs[N_PARTS];
} Marks;

static void
mark(uint32_t part, gpointer data)
{
  atomic_fetch_add(&((Marks *)data)->n_runs[part], 1);
}

/* Loops of 0, 1, ... parts one behind the other, on teams that spin and that
 * sleep: each part of each loop runs once. */
START_TEST(test_once)
{
  g_autoptr(RaTeam) team = ra_team_new(N_THREADS, _i == 1);

  ra_team_lead(team);
  ck_assert_uint_eq(ra_team_n_threads(), N_THREADS);
  for (uint32_t round = 0; round < 2000; round++) {
    uint32_t n = round % (N_PARTS + 1);
    Marks marks = {{0}};

    ra_team_for(n, mark, &marks);
    for (uint32_t i = 0; i < N_PARTS; i++)
      ck_assert_uint_eq(atomic_load(&marks.n_runs[i]), i < n);
  }
  ra_team_lead(NULL);
  ck_assert_uint_eq(ra_team_n_threads(), 1);
}
END_TEST

/* --- the host's table, alone and with a team --- */

#define T 300 /* tokens; of three sequences */
#define W 192 /* width: 6 heads of 32, or 2 key heads */
#define N_OUT (T * 2 * W + 8 * W)

static const uint32_t begin[] = {0, 7, 180, T};

typedef struct {
  float a[T * 4 * W], b[T * 4 * W], c[T * 4 * W];
  float out[N_OUT], more[N_OUT], third[N_OUT];
  uint32_t words[T];
  float workspace[2 * RA_CPU_ATTENTION_BLOCK * T];
} Arrays;

static void
fill(Arrays *x)
{
  RaRng rng = ra_rng_init(5, 0);

  for (uint32_t i = 0; i < G_N_ELEMENTS(x->a); i++) {
    x->a[i] = (float)(ra_rng_uniform(&rng) - 0.5);
    x->b[i] = (float)(ra_rng_uniform(&rng) - 0.5);
    x->c[i] = (float)(ra_rng_uniform(&rng) - 0.5);
  }
  for (uint32_t i = 0; i < T; i++)
    x->words[i] = (uint32_t)ra_rng_below(&rng, T);
  for (uint32_t i = 0; i < N_OUT; i++)
    x->out[i] = x->more[i] = x->third[i] = x->c[i];
}

#define e ra_host_elems

static void
products(const RaBackend *b, Arrays *x)
{
  b->gemm(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, T, 2 * W, W, e(x->a), W, e(x->b), W,
          0, e(x->out), 2 * W);
  b->gemm(RA_CPU_TRANSPOSED, RA_CPU_PLAIN, 2 * W, W, T, e(x->a), 2 * W, e(x->b),
          W, 1, e(x->more), W);
  b->gemm(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, 7, 4 * W, W, e(x->a), W, e(x->b), W,
          0, e(x->third), 4 * W);
}

static void
norms(const RaBackend *b, Arrays *x)
{
  b->norm(T, W, 1e-5f, e(x->a), e(x->b), e(x->out), x->more);
  b->norm_backward(T, W, 1e-5f, e(x->a), e(x->b), x->c, e(x->c + T), e(x->out),
                   x->third);
}

static void
rows(const RaBackend *b, Arrays *x)
{
  b->add(N_OUT, e(x->a), e(x->out));
  b->swiglu(T, W, e(x->a), e(x->more));
  b->swiglu_backward(T, W, e(x->a), e(x->b), e(x->third));
  b->rope(T, 4, 32, x->words, x->b, 1, e(x->out), W);
  b->copy_rect(T, W, e(x->a), 2 * W, e(x->out + 7), 2 * W);
  b->embedding(T, 2 * W, 11, 200, x->words, e(x->a), e(x->more));
}

static void
losses(const RaBackend *b, Arrays *x)
{
  b->log_sum(T, 0, 2 * W, 2 * W, e(x->a), x->words,
             (RaCpuLogSum *)(void *)x->out);
  b->log_prob_backward(T, 0, 2 * W, 2 * W, x->words, x->b, x->c, e(x->more));
}

static void
attention(const RaBackend *b, Arrays *x)
{
  RaCpuAttention shape = {.n_sequences = 3,
                          .begin = begin,
                          .q_heads = 6,
                          .kv_heads = 2,
                          .head_dim = 32,
                          .stride = 10 * 32};

  b->attention(&shape, e(x->a), e(x->a + W), e(x->a + W + 64), e(x->out),
               x->more, x->workspace);
  b->attention_backward(&shape, e(x->a), e(x->a + W), e(x->a + W + 64),
                        e(x->out), x->more, e(x->b), e(x->third),
                        e(x->third + W), e(x->third + W + 64), x->workspace);
}

static void
optimizer(const RaBackend *b, Arrays *x)
{
  RaCpuAdamw adamw = {1e-3f, 0.9f, 0.999f, 1e-8f, 0.01f};

  for (uint32_t i = 0; i < N_OUT; i++)
    x->third[i] *= x->third[i];
  b->adamw(N_OUT, &adamw, 3, 0.7f, x->a, e(x->out), x->out, x->more, x->third);
}

/* clang-format off */
static void (*const works[])(const RaBackend *b, Arrays *x) = {
    products, norms, rows, losses, attention, optimizer};
/* clang-format on */

static gboolean
same(const Arrays *x, const Arrays *y)
{
  return memcmp(x->out, y->out, sizeof x->out) == 0 &&
         memcmp(x->more, y->more, sizeof x->more) == 0 &&
         memcmp(x->third, y->third, sizeof x->third) == 0;
}

/* Every entry of the table gives the same bits on one thread and on three. */
START_TEST(test_bits)
{
  const RaBackend *b = ra_backend_host(NULL);
  g_autofree Arrays *x = g_new0(Arrays, 1), *y = g_new0(Arrays, 1);
  g_autoptr(RaTeam) team = ra_team_new(N_THREADS, FALSE);

  fill(x);
  fill(y);
  ck_assert(same(x, y));
  works[_i](b, x);
  ck_assert(!same(x, y)); /* it did something */
  ra_team_lead(team);
  works[_i](b, y);
  ra_team_lead(NULL);
  ck_assert(same(x, y));
}
END_TEST

/* The fault: a sum over rows split as there are threads, here two, is another
 * number than split in three. */
START_TEST(test_fault)
{
  g_autofree Arrays *x = g_new0(Arrays, 1), *y = g_new0(Arrays, 1);
  const RaBackend *b = ra_backend_host(NULL);

  fill(x);
  fill(y);
  for (uint32_t n = 2; n <= 3; n++) {
    Arrays *into = n == 2 ? x : y;

    memset(into->third, 0, sizeof into->third);
    for (uint32_t part = 0; part < n; part++) {
      gsize first = T * part / n, last = T * (part + 1) / n;

      memset(into->more, 0, sizeof into->more);
      b->add_columns(last - first, W, e(into->a + first * W), into->more);
      b->add_f32(W, into->more, into->third);
    }
  }
  ck_assert(memcmp(x->third, y->third, W * sizeof *x->third) != 0);
}
END_TEST

static Suite *
team_suite(void)
{
  Suite *suite = suite_create("team");
  TCase *tcase = tcase_create("core");

  tcase_add_loop_test(tcase, test_once, 0, 2);
  tcase_add_loop_test(tcase, test_bits, 0, G_N_ELEMENTS(works));
  tcase_add_test(tcase, test_fault);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(team_suite)
