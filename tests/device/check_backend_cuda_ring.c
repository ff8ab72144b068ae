/* Tests of ring attention with the CUDA back end on the emulated device. */
#include "config.h"

#include <math.h>

#include "base/rng.h"
#include "exec/backend/backend_cuda.h"
#include "exec/model/ring.h"
#include "kernels/cpu/bf16.h"
#include "kernels/cpu/cpu_attention.h"
#include "tests/support/check_main.h"

/* Attention as exec/model/stage_ring.c has the table of a GPU do it, the ranks
 * of a ring one after the other on an emulated device, against the whole
 * sequences at once in fp32 on the host, of the same bf16 numbers; with ALiBi
 * and without.
 *
 * Values are within 1 and what steps give is merged, so an output is within
 * (2 + n) 2^-8 of itself, as kernels/attention.h derives it for a step (2) and
 * a merge each (1), and e_i there, of scores below 40, is below 0.003.  Of
 * gradients the distance in parts of their norm: 3 2^-8 of a step and 2^-8 for
 * each that is added, rounded for the worst case.  A fault, places of keys that
 * are those of the rank's own tokens, is four times the bound and more.
 */
enum { Q_HEADS = 8, KV_HEADS = 4, HD = 64, N_SEQUENCES = 3 };
enum { Q = Q_HEADS * HD, KV = 2 * KV_HEADS * HD };

static const uint32_t lengths[N_SEQUENCES] = {37, 3, 70};
#define E_I 0.003

static const struct {
  uint32_t n_ranks;
  gboolean slopes;
} cases[] = {{2, FALSE}, {2, TRUE}, {3, TRUE}};

/* Arrays of all tokens, on the host. */
typedef struct {
  RaTokens *tokens;
  uint32_t n;
  float slopes[Q_HEADS];
  float *q, *kv, *d_out;              /* bf16 numbers */
  float *out, *lse;                   /* exact */
  float *d_q, *d_kv;                  /* exact */
  float *made_out, *made_q, *made_kv; /* by the ring */
} Whole;

/* Arrays of a rank on the device. */
typedef struct {
  RaTokens *tokens;
  RaElem *q, *kv, *out, *part, *d_out, *d_q;
  float *lse, *part_lse;
} Rank;

static float *
draw(RaRng *rng, gsize n)
{
  float *x = g_new(float, n);

  for (gsize i = 0; i < n; i++)
    x[i] =
        ra_bf16_to_f32(ra_bf16_from_f32((float)(2 * ra_rng_uniform(rng) - 1)));
  return x;
}

static Whole *
whole_new(int which)
{
  Whole *w = g_new0(Whole, 1);
  RaRng rng = ra_rng_init(50, (uint64_t)which);
  g_autofree uint32_t *text = g_new0(uint32_t, 100);
  const uint32_t *const texts[] = {text, text, text};
  g_autofree float *workspace = NULL;
  RaCpuAttention shape;

  w->tokens = ra_tokens_new(N_SEQUENCES, lengths, texts);
  w->n = w->tokens->n_tokens;
  for (uint32_t h = 0; h < Q_HEADS; h++)
    w->slopes[h] = ra_cpu_alibi_slope(h, Q_HEADS);
  w->q = draw(&rng, (gsize)w->n * Q);
  w->kv = draw(&rng, (gsize)w->n * KV);
  w->d_out = draw(&rng, (gsize)w->n * Q);
  w->out = g_new0(float, (gsize)w->n *Q);
  w->lse = g_new0(float, (gsize)w->n *Q_HEADS);
  w->d_q = g_new0(float, (gsize)w->n *Q);
  w->d_kv = g_new0(float, (gsize)w->n *KV);
  w->made_out = g_new0(float, (gsize)w->n *Q);
  w->made_q = g_new0(float, (gsize)w->n *Q);
  w->made_kv = g_new0(float, (gsize)w->n *KV);
  shape = (RaCpuAttention){.n_sequences = N_SEQUENCES,
                           .begin = w->tokens->begin,
                           .q_heads = Q_HEADS,
                           .kv_heads = KV_HEADS,
                           .head_dim = HD,
                           .stride = Q,
                           .kv_stride = KV,
                           .slopes = cases[which].slopes ? w->slopes : NULL};
  workspace = g_new(float, ra_cpu_attention_workspace(&shape) + 1);
  ra_cpu_attention(&shape, w->q, w->kv, w->kv + KV / 2, w->out, w->lse,
                   workspace);
  ra_cpu_attention_backward(&shape, w->q, w->kv, w->kv + KV / 2, w->out, w->lse,
                            w->d_out, w->d_q, w->d_kv, w->d_kv + KV / 2,
                            workspace);
  return w;
}

static void
whole_free(Whole *w)
{
  float *all[] = {w->q,   w->kv,   w->d_out,    w->out,    w->lse,
                  w->d_q, w->d_kv, w->made_out, w->made_q, w->made_kv};

  for (guint i = 0; i < G_N_ELEMENTS(all); i++)
    g_free(all[i]);
  ra_tokens_free(w->tokens);
  g_free(w);
}

/* Where token @i of @rank's part is in the whole. */
static gsize
row_of(const Whole *w, const RaTokens *part, uint32_t rank, uint32_t i)
{
  const uint32_t *begin = ra_ring_begin(part->ring, rank);
  uint32_t s = 0;

  while (begin[s + 1] <= i)
    s++;
  return w->tokens->begin[s] + ra_ring_places(part->ring, rank)[i];
}

/* (transfer full): the rows of a rank, on the device. */
static RaElem *
cut(const Whole *w, const RaTokens *part, const float *x, gsize width)
{
  const RaBackend *b = ra_backend_cuda();
  g_autofree float *rows = g_new(float, part->n_tokens *width + 1);
  RaElem *there = b->alloc(part->n_tokens * width * sizeof(uint16_t) + 16);

  for (uint32_t i = 0; i < part->n_tokens; i++)
    memcpy(rows + i * width, x + row_of(w, part, part->ring->rank, i) * width,
           width * sizeof *rows);
  b->write_elems(part->n_tokens * width, rows, there);
  return there;
}

/* Adds what is @there of @rank's part to the rows of @x. */
static void
gather(const Whole *w, const RaTokens *part, uint32_t rank, const RaElem *there,
       gsize width, float *x)
{
  uint32_t n = (uint32_t)ra_ring_n_tokens(part->ring, rank);
  g_autofree float *rows = g_new(float, n *width + 1);

  ra_backend_cuda()->read_elems(n * width, there, rows);
  for (uint32_t i = 0; i < n; i++)
    for (gsize k = 0; k < width; k++)
      x[row_of(w, part, rank, i) * width + k] += rows[i * width + k];
}

static void
rank_init(Rank *r, const Whole *w, uint32_t n_ranks, uint32_t rank)
{
  const RaBackend *b = ra_backend_cuda();
  gsize n, n_lse;

  r->tokens = ra_ring_cut(w->tokens, n_ranks, rank);
  n = (gsize)r->tokens->n_tokens * Q * sizeof(uint16_t) + 16;
  n_lse = (gsize)r->tokens->n_tokens * Q_HEADS * sizeof(float) + 16;
  r->q = cut(w, r->tokens, w->q, Q);
  r->kv = cut(w, r->tokens, w->kv, KV);
  r->d_out = cut(w, r->tokens, w->d_out, Q);
  r->out = b->alloc(n);
  r->part = b->alloc(n);
  r->d_q = b->alloc(n);
  r->lse = b->alloc(n_lse);
  r->part_lse = b->alloc(n_lse);
}

static void
rank_clear(Rank *r)
{
  void *all[] = {r->q,    r->kv,  r->d_out, r->out,
                 r->part, r->d_q, r->lse,   r->part_lse};

  for (guint i = 0; i < G_N_ELEMENTS(all); i++)
    ra_backend_cuda()->free(all[i]);
  ra_tokens_free(r->tokens);
}

/* Queries of @r, keys of rank @owner; @wrong: as if each key had the place that
 * it has among its rank's. */
static RaCpuAttention
step_shape(const Whole *w, int which, const Rank *r, uint32_t owner,
           const uint32_t *wrong)
{
  const RaRing *ring = r->tokens->ring;

  return (RaCpuAttention){.n_sequences = N_SEQUENCES,
                          .begin = r->tokens->begin,
                          .q_heads = Q_HEADS,
                          .kv_heads = KV_HEADS,
                          .head_dim = HD,
                          .stride = Q,
                          .kv_begin = ra_ring_begin(ring, owner),
                          .seen = ra_ring_seen(ring, owner),
                          .kv_stride = KV,
                          .d_q_stride = Q,
                          .slopes = cases[which].slopes ? w->slopes : NULL,
                          .q_places = ra_ring_places(ring, ring->rank),
                          .kv_places =
                              wrong ? wrong : ra_ring_places(ring, owner)};
}

static void
run_forward(Whole *w, int which, Rank *ranks, const uint32_t *wrong)
{
  const RaBackend *b = ra_backend_cuda();
  uint32_t n = cases[which].n_ranks;

  memset(w->made_out, 0, (gsize)w->n * Q * sizeof *w->made_out);
  for (uint32_t i = 0; i < n; i++) {
    Rank *r = &ranks[i];

    for (uint32_t step = 0; step < n; step++) {
      uint32_t owner = (i + n - step) % n;
      RaCpuAttention shape = step_shape(w, which, r, owner, wrong);
      const RaElem *k = ranks[owner].kv;
      const RaElem *v =
          (gconstpointer)((const uint16_t *)(gconstpointer)k + KV / 2);

      b->attention(&shape, r->q, k, v, step ? r->part : r->out,
                   step ? r->part_lse : r->lse, NULL);
      if (step > 0)
        b->attention_merge(r->tokens->n_tokens, Q_HEADS, HD, r->part,
                           r->part_lse, r->out, r->lse);
    }
    gather(w, r->tokens, i, r->out, Q, w->made_out);
  }
  ck_assert_msg(!b->failure(), "%s", b->failure());
}

/* Largest difference of the outputs; of gradients in parts of the norm. */
static double
farthest(gsize n, const float *x, const float *y)
{
  double most = 0;

  for (gsize i = 0; i < n; i++)
    most = fmax(most, fabs((double)x[i] - (double)y[i]));
  return most;
}

static double
apart(gsize n, const float *x, const float *y)
{
  double a = 0, b = 0;

  for (gsize i = 0; i < n; i++) {
    a += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
    b += (double)y[i] * (double)y[i];
  }
  return sqrt(a / b);
}

static void
run_backward(Whole *w, int which, Rank *ranks)
{
  const RaBackend *b = ra_backend_cuda();
  uint32_t n = cases[which].n_ranks;

  for (uint32_t i = 0; i < n; i++)
    for (uint32_t owner = 0; owner < n; owner++) {
      Rank *r = &ranks[i];
      RaCpuAttention shape = step_shape(w, which, r, owner, NULL);
      gsize n_kv = ra_ring_n_tokens(r->tokens->ring, owner) * KV;
      const uint16_t *k = (gconstpointer)ranks[owner].kv;
      uint16_t *d_kv = b->alloc(n_kv * sizeof *d_kv + 16);
      float *workspace = b->alloc(
          b->attention_workspace(&shape, TRUE) * sizeof *workspace + 16);

      b->attention_backward(&shape, r->q, (gconstpointer)k,
                            (gconstpointer)(k + KV / 2), r->out, r->lse,
                            r->d_out, r->d_q, (gpointer)d_kv,
                            (gpointer)(d_kv + KV / 2), workspace);
      gather(w, r->tokens, i, r->d_q, Q, w->made_q);
      gather(w, r->tokens, owner, (gpointer)d_kv, KV, w->made_kv);
      b->free(d_kv);
      b->free(workspace);
    }
  ck_assert_msg(!b->failure(), "%s", b->failure());
}

/* The host's products. */
static void
setup(void)
{
  ck_assert_ptr_nonnull(ra_backend_host(NULL));
}

START_TEST(test_ring)
{
  uint32_t n = cases[_i].n_ranks, wrong[110];
  double bound = (2 + n) * 0x1p-8 + 2 * E_I;
  Whole *w = whole_new(_i);
  Rank ranks[3];

  for (uint32_t i = 0; i < n; i++)
    rank_init(&ranks[i], w, n, i);
  run_forward(w, _i, ranks, NULL);
  ck_assert_double_le(farthest((gsize)w->n * Q, w->made_out, w->out), bound);
  run_backward(w, _i, ranks);
  bound = (3 + n) * 0x1p-8;
  ck_assert_double_le(apart((gsize)w->n * Q, w->made_q, w->d_q), bound);
  ck_assert_double_le(apart((gsize)w->n * KV, w->made_kv, w->d_kv), bound);
  if (cases[_i].slopes) {
    for (uint32_t i = 0; i < G_N_ELEMENTS(wrong); i++)
      wrong[i] = i;
    run_forward(w, _i, ranks, wrong);
    ck_assert_double_gt(farthest((gsize)w->n * Q, w->made_out, w->out),
                        4 * bound);
  }
  for (uint32_t i = 0; i < n; i++)
    rank_clear(&ranks[i]);
  whole_free(w);
}
END_TEST

static Suite *
backend_cuda_ring_suite(void)
{
  Suite *suite = suite_create("backend_cuda_ring");
  TCase *tcase = tcase_create("core");

  tcase_add_unchecked_fixture(tcase, setup, NULL);
  tcase_set_timeout(tcase, 240);
  tcase_add_loop_test(tcase, test_ring, 0, G_N_ELEMENTS(cases));
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(backend_cuda_ring_suite)
