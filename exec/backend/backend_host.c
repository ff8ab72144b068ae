/* CPU kernels, parallelised over the threads of a rank.
 *
 * Rows are cut into as many parts as there are threads, because the result of a
 * row does not depend on others.  Where a cut affects the rounding (GEMMs, sums
 * over rows), the shape alone determines the parts.  So the bits are the same
 * for any number of threads.
 */
#include "config.h"

#include <stdatomic.h>

#include "exec/backend/backend_impl.h"
#include "kernels/cpu/cpu_norm.h"
#include "kernels/cpu/cpu_pointwise.h"

#define PART_FLOP (1 << 21) /* minimum of a part: some 30 us of a core */
#define PANEL 128           /* minimal rows or columns of a GEMM's part */
#define MOST_PARTS 16

/* --- GEMMs --- */

typedef struct {
  RaCpuOrder order_a, order_b;
  gsize m, n, k, lda, ldb, ldc;
  const float *a, *b;
  float *c;
  float beta;
  uint32_t n_parts;
  gboolean by_rows;
} Product;

static void
gemm_part(uint32_t part, gpointer data)
{
  const Product *p = data;
  gsize n = p->by_rows ? p->m : p->n;
  gsize first = ra_part_bound(n, part, p->n_parts, 16);
  gsize count = ra_part_bound(n, part + 1, p->n_parts, 16) - first;
  const float *a = p->a, *b = p->b;

  if (p->by_rows)
    a += first * (p->order_a == RA_CPU_PLAIN ? p->lda : 1);
  else
    b += first * (p->order_b == RA_CPU_PLAIN ? 1 : p->ldb);
  ra_cpu_gemm(p->order_a, p->order_b, p->by_rows ? count : p->m,
              p->by_rows ? p->n : count, p->k, a, p->lda, b, p->ldb, p->beta,
              p->c + first * (p->by_rows ? p->ldc : 1), p->ldc);
}

void
ra_host_gemm(RaCpuOrder order_a, RaCpuOrder order_b, size_t m, size_t n,
             size_t k, const float *a, size_t lda, const float *b, size_t ldb,
             float beta, float *c, size_t ldc)
{
  gsize most = MIN(MAX(m, n) / PANEL, m * n * k * 2 / PART_FLOP);
  Product p = {order_a, order_b, m, n, k,    lda, ldb,
               ldc,     a,       b, c, beta, 1,   m > n};

  /* A thin GEMM (kernels/cpu/cpu_gemm.c) reads its weights once and packs no
   * panels, so smaller parts pay. */
  if (ra_cpu_gemm_is_thin(m, k))
    most = n * k / RA_PART_ELEMENTS;
  else if (ra_cpu_gemm_is_splittable(m, n))
    most = MIN(most, ra_team_n_threads());
  p.n_parts = (uint32_t)CLAMP(most, 1, MOST_PARTS);
  ra_team_for(p.n_parts, gemm_part, &p);
}

/* --- a sum over rows: parts of the shape, added in order --- */

typedef struct {
  uint32_t n_parts;
  gsize n_rows, n;
  const float *x, *weight, *inv, *d_out;
  float *d_x, *d_weights; /* (n_parts, n) */
  float *d_biases;        /* likewise, of LayerNorm; NULL: none */
  gboolean centred;       /* LayerNorm: @inv is its (n_rows, 2) statistics */
} NormBackward;

static void
norm_backward_part(uint32_t part, gpointer data)
{
  const NormBackward *b = data;
  gsize first = ra_part_bound(b->n_rows, part, b->n_parts, 1);
  gsize n = ra_part_bound(b->n_rows, part + 1, b->n_parts, 1) - first;
  gsize at = first * b->n;

  if (b->centred)
    ra_cpu_layer_norm_backward(n, b->n, b->x + at, b->weight,
                               b->inv + 2 * first, b->d_out + at, b->d_x + at,
                               b->d_weights + part * b->n,
                               b->d_biases ? b->d_biases + part * b->n : NULL);
  else
    ra_cpu_norm_backward(n, b->n, b->x + at, b->weight, b->inv + first,
                         b->d_out + at, b->d_x + at,
                         b->d_weights + part * b->n);
}

static void
norm_backward(NormBackward *b, float *d_weight, float *d_bias)
{
  gsize n = b->n, most = MIN(b->n_rows, b->n_rows * n / RA_PART_ELEMENTS);
  g_autofree float *sums = NULL;

  b->n_parts = (uint32_t)CLAMP(most, 1, MOST_PARTS);
  b->d_weights = d_weight;
  b->d_biases = d_bias;
  if (b->n_parts == 1) {
    norm_backward_part(0, b);
    return;
  }
  sums = g_new0(float, 2 * b->n_parts * n);
  b->d_weights = sums;
  b->d_biases = d_bias ? sums + b->n_parts * n : NULL;
  ra_team_for(b->n_parts, norm_backward_part, b);
  for (uint32_t part = 0; part < b->n_parts; part++) {
    ra_cpu_add(n, b->d_weights + part * n, d_weight);
    if (d_bias)
      ra_cpu_add(n, b->d_biases + part * n, d_bias);
  }
}

void
ra_host_norm_backward(size_t n_rows, size_t n, const float *x,
                      const float *weight, const float *inv, const float *d_out,
                      float *d_x, float *d_weight)
{
  NormBackward b = {.n_rows = n_rows,
                    .n = n,
                    .x = x,
                    .weight = weight,
                    .inv = inv,
                    .d_out = d_out,
                    .d_x = d_x};

  norm_backward(&b, d_weight, NULL);
}

void
ra_host_layer_norm_backward(size_t n_rows, size_t n, const float *x,
                            const float *weight, const float *stats,
                            const float *d_out, float *d_x, float *d_weight,
                            float *d_bias)
{
  NormBackward b = {.n_rows = n_rows,
                    .n = n,
                    .x = x,
                    .weight = weight,
                    .inv = stats,
                    .d_out = d_out,
                    .d_x = d_x,
                    .centred = TRUE};

  norm_backward(&b, d_weight, d_bias);
}

/* --- attention: key heads of sequences --- */

typedef struct {
  const RaCpuAttention *shape;
  uint32_t n_parts;
  gsize n_workspace; /* floats of a part's */
  const float *q, *k, *v, *o, *l, *d_out;
  float *out, *lse, *d_q, *d_k, *d_v;
  float *workspace; /* (n_parts, n_workspace) */
} Attention;

static uint32_t
attention_parts(const RaCpuAttention *s)
{
  gsize n_units = (gsize)s->n_sequences * s->kv_heads, pairs = 0;

  for (uint32_t i = 0; i < s->n_sequences; i++) {
    gsize n = s->begin[i + 1] - s->begin[i];

    pairs += n * n * s->q_heads;
  }
  return (uint32_t)CLAMP(MIN(n_units, pairs * s->head_dim / RA_PART_ELEMENTS),
                         1, 4 * ra_team_n_threads());
}

/* Units are key heads of one sequence after the other. */
static void
attention_part(uint32_t part, gpointer data)
{
  const Attention *a = data;
  gsize n = (gsize)a->shape->n_sequences * a->shape->kv_heads;
  gsize last = ra_part_bound(n, part + 1, a->n_parts, 1);
  float *workspace = a->workspace + part * a->n_workspace;

  for (gsize i = ra_part_bound(n, part, a->n_parts, 1); i < last; i++) {
    RaCpuAttention one = *a->shape;

    one.n_sequences = 1;
    one.begin += i / one.kv_heads;
    one.kv_begin += one.kv_begin ? i / one.kv_heads : 0;
    one.kv_first = (uint32_t)(i % one.kv_heads);
    one.kv_last = one.kv_first + 1;
    if (a->d_out)
      ra_cpu_attention_backward(&one, a->q, a->k, a->v, a->o, a->l, a->d_out,
                                a->d_q, a->d_k, a->d_v, workspace);
    else
      ra_cpu_attention(&one, a->q, a->k, a->v, a->out, a->lse, workspace);
  }
}

static void
run_attention(Attention *a, float *workspace)
{
  a->n_parts = ra_team_n_threads() > 1 ? attention_parts(a->shape) : 1;
  a->n_workspace = ra_cpu_attention_workspace(a->shape);
  a->workspace = a->n_parts > 1 ? g_new(float, a->n_parts * a->n_workspace + 1)
                                : workspace;
  ra_team_for(a->n_parts, attention_part, a);
  if (a->n_parts > 1)
    g_free(a->workspace);
}

void
ra_host_attention(const RaCpuAttention *shape, const float *q, const float *k,
                  const float *v, float *out, float *out_lse, float *workspace)
{
  Attention a = {
      .shape = shape, .q = q, .k = k, .v = v, .out = out, .lse = out_lse};

  run_attention(&a, workspace);
}

void
ra_host_attention_backward(const RaCpuAttention *shape, const float *q,
                           const float *k, const float *v, const float *out,
                           const float *lse, const float *d_out, float *d_q,
                           float *d_k, float *d_v, float *workspace)
{
  Attention a = {.shape = shape,
                 .q = q,
                 .k = k,
                 .v = v,
                 .o = out,
                 .l = lse,
                 .d_out = d_out,
                 .d_q = d_q,
                 .d_k = d_k,
                 .d_v = d_v};

  run_attention(&a, workspace);
}

/* --- a step's attention: sequences --- */

typedef struct {
  const RaDecode *shape;
  const float *q, *k, *v;
  float *out;
  float *workspace; /* (n, group, tokens of max_pages) */
} Decode;

static void
decode_part(uint32_t i, gpointer data)
{
  const Decode *d = data;
  const RaDecode *s = d->shape;
  gsize group = s->q_heads / s->kv_heads;
  const RaCpuDecode one = {.q_heads = s->q_heads,
                           .kv_heads = s->kv_heads,
                           .head_dim = s->head_dim,
                           .n_kv = s->lengths[i],
                           .pages = s->pages + (gsize)i * s->max_pages,
                           .page_tokens = s->page_tokens,
                           .page_rows = s->page_rows,
                           .slopes = s->slopes,
                           .window = s->window,
                           .sinks = s->sinks,
                           .value_dim = s->value_dim,
                           .scale = s->scale};
  gsize value_dim = s->value_dim > 0 ? s->value_dim : s->head_dim;

  ra_cpu_decode_attention(&one, d->q + i * s->stride, d->k, d->v,
                          d->out + i * s->q_heads * value_dim,
                          d->workspace +
                              i * group * s->max_pages * s->page_tokens);
}

void
ra_host_decode_attention(const RaDecode *shape, const float *q, const float *k,
                         const float *v, float *out, float *workspace)
{
  Decode d = {shape, q, k, v, out, workspace};

  ra_team_for(shape->n, decode_part, &d);
}

/* --- what is not a number --- */

/* Floats that a thread of the team looks at: some 10 us. */
#define LOOK_PART ((gsize)65536)

typedef struct {
  const float *made;
  gsize n;
  atomic_bool is_bad;
} Look;

static void
look_at_part(uint32_t part, gpointer data)
{
  Look *look = data;
  gsize first = part * LOOK_PART;

  if (!ra_cpu_is_finite(MIN(LOOK_PART, look->n - first), look->made + first))
    atomic_store(&look->is_bad, TRUE);
}

gboolean
ra_host_is_finite(size_t n, const float *x)
{
  Look look = {.made = x, .n = n};

  ra_team_for((uint32_t)((n + LOOK_PART - 1) / LOOK_PART), look_at_part, &look);
  return !atomic_load(&look.is_bad);
}
