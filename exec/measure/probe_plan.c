/* The lattice of a GPU's shapes, ordered by level within a time budget. */
#include "config.h"

#include <math.h>

#include "exec/measure/probe_plan.h"
#include "kernels/rmsnorm.h"

/* The host's part of a point: random tokens, looking at the result. */
#define POINT_S 1e-3
/* Zeroes for each byte of cache (exec/measure/probe_cuda.c). */
#define FLUSHES 8
/* Launches of a repeat in addition to its op: zeroes, inputs, poison, check. */
#define LAUNCHES_BESIDE 5
#define WARM_UPS 2

typedef struct {
  GArray *points;
  const RaProbeLimits *limits;
  const RaEstimator *estimator;
  double bytes_per_s; /* of a copy: bytes read and written */
} Plan;

void
ra_probe_limits_init(RaProbeLimits *limits, gboolean quick)
{
  *limits = (RaProbeLimits){.budget_s = quick ? 20 : 150,
                            .sample_s = quick ? 0.002 : 0.01,
                            .n_least = quick ? 3 : 5,
                            .n_most = 50,
                            .pool_bytes = (gsize)2 << 30,
                            .cache_bytes = (gsize)50 << 20,
                            .level_most = quick ? 1 : 2};
}

/* Level of the @i-th value of an axis: every fourth is in the coarsest
 * lattice. */
static guint
level_of(guint i)
{
  return i % 4 == 0 ? 0 : i % 2 == 0 ? 1 : 2;
}

static void
cost(const Plan *p, RaProbePlanned *planned)
{
  const RaProbeLimits *l = p->limits;
  const RaOp *op = &planned->point.op;
  double s = ra_estimator_op_s(p->estimator, op), beside_s;
  guint n = (guint)CLAMP(ceil(l->sample_s / MAX(s, 1e-9)), l->n_least,
                         MAX(l->n_most, l->n_least));
  guint launches = ra_op_n_launches(op) + LAUNCHES_BESIDE;

  /* Zeroes only write, inputs and results are copied once each. */
  beside_s =
      (FLUSHES * (double)l->cache_bytes + 2 * ra_op_bytes(op)) / p->bytes_per_s;
  planned->n_launches = (n + WARM_UPS) * launches;
  planned->s = (n + WARM_UPS) * (s + beside_s) +
               planned->n_launches * ra_estimator_launch(p->estimator).eager_s +
               4 * (double)l->pool_bytes / p->bytes_per_s + POINT_S;
}

/* @n_largest: numbers of the largest array, @width bytes each. */
static void
add(Plan *p, RaOpKind kind, RaProbeVariant variant, guint level,
    uint64_t n_largest, gsize width, const uint64_t *dims)
{
  RaProbePlanned planned = {.point = {.op = {.kind = (uint8_t)kind,
                                             .dtype = RA_DTYPE_BF16,
                                             .count = 1},
                                      .variant = (uint8_t)variant},
                            .level = level};

  for (guint i = 0; i < RA_OP_DIMS; i++)
    planned.point.op.dim[i] = dims[i];
  if (level > p->limits->level_most ||
      (double)n_largest * (double)width > (double)p->limits->pool_bytes)
    return;
  cost(p, &planned);
  g_array_append_val(p->points, planned);
}

/* ---- Lattices --------------------------------------------------------------
 */

static const uint64_t sides[] = {512,  1024, 2048,  3072, 4096,
                                 5120, 8192, 14336, 28672};
/* Tokens: a step of generation has few, a micro-batch some thousand. */
static const uint64_t rows[] = {1,    2,    4,    8,    16,   32,
                                64,   96,   128,  192,  256,  512,
                                1024, 2048, 4096, 8192, 16384};
static const uint64_t vocabularies[] = {32000, 64000, 128256, 151936};

/* A layer's GEMMs, forward, and for the rows of a micro-batch their gradients.
 * A gradient of weights has the weight's sides and as many terms as there are
 * tokens. */
static void
add_layer_products(Plan *p)
{
  for (guint a = 0; a < G_N_ELEMENTS(rows); a++)
    for (guint b = 0; b < G_N_ELEMENTS(sides); b++)
      for (guint c = 0; c < G_N_ELEMENTS(sides); c++) {
        uint64_t m = rows[a], n = sides[b], k = sides[c];
        guint level = MAX(level_of(a), MAX(level_of(b), level_of(c)));
        uint64_t d[RA_OP_DIMS] = {m, n, k, 1}, w[RA_OP_DIMS] = {n, k, m, 1};

        if (n * k > (UINT64_C(1) << 28))
          continue;
        add(p, RA_OP_GEMM, RA_PROBE_FORWARD, level,
            MAX(n * k, MAX(m * n, m * k)), 2, d);
        if (m < 1024)
          continue;
        if (b % 2 == 0)
          add(p, RA_OP_GEMM, RA_PROBE_WEIGHT, level, MAX(n * k, m * n), 4, w);
      }
}

static void
add_head_products(Plan *p)
{
  for (guint a = 0; a < G_N_ELEMENTS(rows); a++)
    for (guint v = 0; v < G_N_ELEMENTS(vocabularies); v++)
      for (guint c = 0; sides[c] <= 8192; c++) {
        uint64_t d[RA_OP_DIMS] = {rows[a], vocabularies[v], sides[c], 1};
        guint level = MAX(level_of(a), MAX(level_of(v), level_of(c)));

        if (rows[a] <= 4096)
          add(p, RA_OP_GEMM, RA_PROBE_FORWARD, level, d[1] * MAX(d[0], d[2]), 2,
              d);
      }
  for (guint a = 0; a < G_N_ELEMENTS(rows); a += 2) /* a value head */
    for (guint c = 0; sides[c] <= 8192; c += 2) {
      uint64_t d[RA_OP_DIMS] = {rows[a], 1, sides[c], 1};

      add(p, RA_OP_GEMM, RA_PROBE_FORWARD, MAX(level_of(a), level_of(c)),
          d[0] * d[2], 4, d);
    }
}

/* Query heads of a rank and how many share a key head. */
static const uint64_t heads[][2] = {{32, 8}, {8, 8},   {16, 16},
                                    {8, 2},  {32, 32}, {40, 8},
                                    {64, 8}, {4, 1},   {14, 2}};
static const uint64_t widths[] = {128, 64};

static guint
level_of_heads(guint h, guint w)
{
  return w > 0 ? 2 : h < 2 ? 0 : h < 5 ? 1 : 2;
}

static void
add_attention(Plan *p)
{
  static const uint64_t sequences[] = {1, 2, 4, 8, 16, 64};

  for (guint i = 0; i <= 10; i++)
    for (guint s = 0; s < G_N_ELEMENTS(sequences); s++)
      for (guint h = 0; h < G_N_ELEMENTS(heads); h++)
        for (guint w = 0; w < G_N_ELEMENTS(widths); w++) {
          uint64_t length = UINT64_C(32) << i, n = sequences[s];
          uint64_t t = n * length, q = heads[h][0], kv = heads[h][1];
          uint64_t d[RA_OP_DIMS] = {
              n, t, t, n * (length * (length + 1) / 2), q, kv, widths[w]};
          guint level =
              MAX(level_of_heads(h, w), MAX(level_of(i), level_of(s)));

          if (t > 65536)
            continue;
          add(p, RA_OP_ATTENTION, RA_PROBE_FORWARD, level,
              t * (q + 2 * kv) * widths[w], 2, d);
          if (t >= 256)
            add(p, RA_OP_ATTENTION_BACKWARD, RA_PROBE_FORWARD, level,
                t * (q + 2 * kv) * widths[w], 2, d);
        }
}

static void
add_decode_attention(Plan *p)
{
  for (guint i = 0; i <= 9; i++)
    for (guint s = 0; s <= 9; s++)
      for (guint h = 0; h < G_N_ELEMENTS(heads); h++)
        for (guint w = 0; w < G_N_ELEMENTS(widths); w++) {
          uint64_t length = UINT64_C(64) << i, n = UINT64_C(1) << s;
          uint64_t kv = heads[h][1];
          uint64_t d[RA_OP_DIMS] = {n,           n,  n * length, n * length,
                                    heads[h][0], kv, widths[w]};

          /* Caches have room for twice as many tokens. */
          add(p, RA_OP_DECODE_ATTENTION, RA_PROBE_FORWARD,
              MAX(level_of_heads(h, w), MAX(level_of(i), level_of(s))),
              2 * n * length * kv * widths[w], 2, d);
        }
}

/* Ops of tokens and a width; @third: their last dimension. */
static void
add_rows(Plan *p, RaOpKind kind, RaOpKind back, uint64_t third)
{
  for (guint a = 0; a < G_N_ELEMENTS(rows); a++)
    for (guint b = 0; b < G_N_ELEMENTS(sides); b++) {
      uint64_t d[RA_OP_DIMS] = {rows[a], sides[b], third};
      guint level = MAX(level_of(a), level_of(b));

      if (kind == RA_OP_ROPE)
        d[1] = sides[b] / third;
      add(p, kind, RA_PROBE_FORWARD, level, d[0] * sides[b] * 2, 2, d);
      if (back == RA_OP_NORM_BACKWARD && sides[b] > RA_K_RMSNORM_BACKWARD_MAX)
        continue; /* no model is so wide: ra_backend_cuda() refuses it */
      if (back != RA_N_OPS && rows[a] >= 64)
        add(p, back, RA_PROBE_FORWARD, level, d[0] * sides[b] * 2, 4, d);
    }
}

/* Look-ups: the table is the largest. */
static void
add_embedding(Plan *p)
{
  for (guint a = 0; a < G_N_ELEMENTS(rows); a++)
    for (guint b = 1; sides[b] <= 8192; b += 2) {
      uint64_t d[RA_OP_DIMS] = {rows[a], sides[b], 32000};
      guint level = MAX(level_of(a), level_of(b / 2));

      add(p, RA_OP_EMBEDDING, RA_PROBE_FORWARD, level, d[1] * d[2], 2, d);
      if (rows[a] >= 64)
        add(p, RA_OP_EMBEDDING_BACKWARD, RA_PROBE_FORWARD, level, d[1] * d[2],
            4, d);
    }
}

static void
add_vocabularies(Plan *p)
{
  for (guint a = 0; a < G_N_ELEMENTS(rows); a++)
    for (guint v = 0; v < G_N_ELEMENTS(vocabularies); v++) {
      uint64_t d[RA_OP_DIMS] = {rows[a], vocabularies[v]};
      guint level = MAX(level_of(a), level_of(v));

      if (rows[a] >= 16)
        add(p, RA_OP_CROSS_ENTROPY, RA_PROBE_FORWARD, level, d[0] * d[1], 2, d);
      if (rows[a] >= 64)
        add(p, RA_OP_CROSS_ENTROPY_BACKWARD, RA_PROBE_FORWARD, level,
            d[0] * d[1], 2, d);
      if (rows[a] <= 128) /* the host samples */
        add(p, RA_OP_SAMPLE, RA_PROBE_FORWARD, level, d[0] * d[1], 4, d);
    }
}

/* Experts of Mixtral, of DeepSeek-V2-Lite and of Qwen3-30B-A3B: their number,
 * the sides of their GEMMs, and the number per token. */
static const uint64_t experts[][4] = {
    {128, 1536, 2048, 8}, {8, 28672, 4096, 2}, {64, 2816, 2048, 6}};

static void
add_experts(Plan *p)
{
  for (guint x = 0; x < G_N_ELEMENTS(experts); x++)
    for (guint a = 0; a < G_N_ELEMENTS(rows); a++) {
      uint64_t n = experts[x][0], up = experts[x][1], hidden = experts[x][2];
      uint64_t k = experts[x][3], t = rows[a], each = t * k / n;
      uint64_t router[RA_OP_DIMS] = {t, n, k};
      uint64_t permute[RA_OP_DIMS] = {t * k, hidden, k};
      uint64_t gate[RA_OP_DIMS] = {each, up, hidden, n};
      uint64_t down[RA_OP_DIMS] = {each, hidden, up / 2, n};
      uint64_t weight[RA_OP_DIMS] = {up, hidden, each, n};
      guint level = MAX(level_of(a), MIN(x, 2));

      add(p, RA_OP_ROUTER, RA_PROBE_FORWARD, level, t * n, 4, router);
      add(p, RA_OP_PERMUTE, RA_PROBE_FORWARD, level, t * k * hidden, 2,
          permute);
      add(p, RA_OP_PERMUTE, RA_PROBE_INPUT, level, t * k * hidden, 2, permute);
      if (each == 0)
        continue;
      add(p, RA_OP_GEMM, RA_PROBE_FORWARD, level, n * up * hidden, 2, gate);
      add(p, RA_OP_GEMM, RA_PROBE_FORWARD, level, n * up / 2 * hidden, 2, down);
      if (t >= 1024)
        add(p, RA_OP_GEMM, RA_PROBE_WEIGHT, level, n * up * hidden, 4, weight);
    }
}

static void
add_sizes(Plan *p, RaOpKind kind, uint64_t first, guint n, gsize width)
{
  for (guint i = 0; i < n; i++) {
    uint64_t d[RA_OP_DIMS] = {first << i};

    add(p, kind, RA_PROBE_FORWARD, level_of(i), d[0], width, d);
  }
}

/* ---- The plan --------------------------------------------------------------
 */

typedef struct {
  guint level, at;
} Place;

static int
compare_places(gconstpointer a, gconstpointer b)
{
  const Place *x = a, *y = b;

  if (x->level != y->level)
    return x->level < y->level ? -1 : 1;
  return (x->at > y->at) - (x->at < y->at);
}

/* By level, as far as the budget goes. */
static GArray *
in_order(const Plan *p, RaProbePlanTally *out)
{
  g_autoptr(GArray) places = g_array_new(FALSE, FALSE, sizeof(Place));
  GArray *plan = g_array_new(FALSE, FALSE, sizeof(RaProbePlanned));

  for (guint i = 0; i < p->points->len; i++) {
    Place place = {g_array_index(p->points, RaProbePlanned, i).level, i};

    g_array_append_val(places, place);
  }
  g_array_sort(places, compare_places);
  for (guint i = 0; i < places->len; i++) {
    const RaProbePlanned *planned = &g_array_index(
        p->points, RaProbePlanned, g_array_index(places, Place, i).at);

    if (out->n_left > 0 || out->s + planned->s > p->limits->budget_s) {
      out->n_left++;
      continue;
    }
    out->s += planned->s;
    out->n_launches += planned->n_launches;
    g_array_append_vals(plan, planned, 1);
  }
  return plan;
}

/* Bandwidth of a copy: the profile's for large sums. */
static double
copy_bytes_per_s(const RaEstimator *estimator)
{
  const RaOp sum = {.kind = RA_OP_ADD,
                    .dtype = RA_DTYPE_BF16,
                    .count = 1,
                    .dim = {16384, 8192}};

  return ra_op_bytes(&sum) / ra_estimator_op_s(estimator, &sum);
}

GArray *
ra_probe_plan(const RaEstimator *estimator, const RaProbeLimits *limits,
              RaProbePlanTally *out_tally)
{
  g_autoptr(GArray) points = g_array_new(FALSE, FALSE, sizeof(RaProbePlanned));
  Plan p = {points, limits, estimator, copy_bytes_per_s(estimator)};

  add_layer_products(&p);
  add_head_products(&p);
  add_attention(&p);
  add_decode_attention(&p);
  add_rows(&p, RA_OP_NORM, RA_OP_NORM_BACKWARD, 0);
  add_rows(&p, RA_OP_ROPE, RA_N_OPS, 128);
  add_rows(&p, RA_OP_ACTIVATION, RA_OP_ACTIVATION_BACKWARD, 1);
  add_rows(&p, RA_OP_ADD, RA_N_OPS, 0);
  add_embedding(&p);
  add_vocabularies(&p);
  add_experts(&p);
  add_sizes(&p, RA_OP_LOSS, 64, 11, 20);
  add_sizes(&p, RA_OP_OPTIMIZER, 4096, 15, 4);
  add_sizes(&p, RA_OP_OFFLOAD, 65536, 13, 1);
  add_sizes(&p, RA_OP_RELOAD, 65536, 13, 1);
  *out_tally = (RaProbePlanTally){0};
  return in_order(&p, out_tally);
}
