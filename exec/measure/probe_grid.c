/* The shapes that a probe measures on a host. */
#include "config.h"

#include <math.h>

#include "exec/measure/probe_impl.h"

/* No point is larger than this: some 0.01 s of a core in 2024, on which costs
 * grow in proportion. */
#define MOST_FLOP 1e9
#define MOST_BYTES 6.8e7

typedef struct {
  GArray *points;
  uint32_t n_ranks;
  gboolean quick;
} Grid;

static void
add(Grid *g, RaOpKind kind, RaProbeVariant variant, const uint64_t *dims)
{
  RaProbePoint point = {
      .op = {.kind = (uint8_t)kind, .dtype = RA_DTYPE_FP32, .count = 1},
      .variant = (uint8_t)variant};

  for (guint i = 0; i < RA_OP_DIMS; i++)
    point.op.dim[i] = dims[i];
  if (ra_op_flop(&point.op) <= MOST_FLOP &&
      ra_op_bytes(&point.op) <= MOST_BYTES)
    g_array_append_val(g->points, point);
}

/* The @i-th of 16, 32, 48 (quick: not), 64, 96 ... */
static uint64_t
step(uint64_t first, guint i)
{
  return i % 2 == 0 ? first << i / 2 : 3 * (first << i / 2) / 2;
}

/* Rows of activations, few in generation; both sides of weights.  A GEMM of few
 * rows is in a forward pass; a weight's gradient has the weight's sides and as
 * many terms as there are tokens. */
static void
add_products(Grid *g)
{
  static const uint64_t all_rows[] = {1,  2,  4,   8,   12,  16,
                                      32, 64, 128, 256, 512, 1024};
  static const uint64_t all_sides[] = {1,   64,   128,  256, 512,
                                       768, 1024, 2048, 4096};
  static const uint64_t some_rows[] = {1, 8, 16, 64, 256, 1024};
  static const uint64_t some_sides[] = {1, 64, 256, 1024, 4096};
  const uint64_t *rows = g->quick ? some_rows : all_rows;
  const uint64_t *sides = g->quick ? some_sides : all_sides;
  guint n_rows = g->quick ? G_N_ELEMENTS(some_rows) : G_N_ELEMENTS(all_rows);
  guint n_sides = g->quick ? G_N_ELEMENTS(some_sides) : G_N_ELEMENTS(all_sides);

  for (guint a = 0; a < n_rows; a++)
    for (guint b = 0; b < n_sides; b++)
      for (guint c = 1; c < n_sides; c++) {
        uint64_t d[RA_OP_DIMS] = {rows[a], sides[b], sides[c], 1};

        if (d[1] * d[2] > RA_PROBE_POOL_BYTES / sizeof(float))
          continue;
        add(g, RA_OP_GEMM, RA_PROBE_FORWARD, d);
        if (d[0] >= 64 && d[1] > 1 && !g->quick)
          add(g, RA_OP_GEMM, RA_PROBE_INPUT, d);
        if (d[0] >= 64 && d[1] > 1)
          add(g, RA_OP_GEMM, RA_PROBE_WEIGHT, d);
      }
  /* A value head's gradients: from one column, onto one row. */
  for (guint a = 0; a < n_rows; a++)
    for (guint b = 1; b < n_sides && rows[a] >= 16; b++) {
      uint64_t input[RA_OP_DIMS] = {rows[a], sides[b], 1, 1};
      uint64_t weight[RA_OP_DIMS] = {1, sides[b], rows[a], 1};

      add(g, RA_OP_GEMM, RA_PROBE_INPUT, input);
      add(g, RA_OP_GEMM, RA_PROBE_WEIGHT, weight);
    }
}

/* GEMMs of a decode step, at several reuses of its weights. */
static void
add_reuses(Grid *g)
{
  static const uint64_t all_rows[] = {1, 4, 8, 16, 32, 64};
  static const uint64_t some_rows[] = {1, 4, 16, 64};
  static const uint64_t sides[] = {256, 1024};
  const uint64_t *rows = g->quick ? some_rows : all_rows;
  guint n_rows = g->quick ? G_N_ELEMENTS(some_rows) : G_N_ELEMENTS(all_rows);
  uint64_t least = g->quick ? 4 : 2, most = g->quick ? 64 : 128; /* MiB */

  for (guint a = 0; a < n_rows; a++)
    for (guint b = 0; b < G_N_ELEMENTS(sides); b++)
      for (guint c = 0; c < G_N_ELEMENTS(sides); c++)
        for (uint64_t lap = least; lap <= most; lap *= 2) {
          uint64_t d[RA_OP_DIMS] = {rows[a], sides[b], sides[c], 1,
                                    lap * g->n_ranks};

          add(g, RA_OP_GEMM, RA_PROBE_FORWARD, d);
        }
}

uint64_t
ra_probe_lap_mib(uint32_t n_ranks)
{
  return RA_PROBE_LAP_BYTES / RA_OP_REUSE_UNIT * n_ranks;
}

static void
add_attention(Grid *g)
{
  static const uint64_t widths[] = {16, 32, 64, 128};
  static const uint64_t groups[] = {1, 2, 4};

  for (uint64_t length = 8; length <= 1024; length *= g->quick ? 4 : 2)
    for (guint w = 0; w < G_N_ELEMENTS(widths); w++)
      for (guint k = 0; k < (g->quick ? 2 : G_N_ELEMENTS(groups)); k++) {
        uint64_t n = length < 128 ? 8 : 1, kv_heads = 2;
        uint64_t d[RA_OP_DIMS] = {n,
                                  n * length,
                                  n * length,
                                  n * length * (length + 1) / 2,
                                  kv_heads * groups[k],
                                  kv_heads,
                                  widths[w]};

        add(g, RA_OP_ATTENTION, RA_PROBE_FORWARD, d);
        add(g, RA_OP_ATTENTION_BACKWARD, RA_PROBE_FORWARD, d);
      }
}

static void
add_decode_attention(Grid *g)
{
  static const uint64_t widths[] = {16, 32, 64, 128};

  for (uint64_t length = 8; length <= 1024; length *= g->quick ? 8 : 4)
    for (uint64_t n = 1; n <= 32; n *= g->quick ? 32 : 4)
      for (guint w = 0; w < G_N_ELEMENTS(widths); w++)
        for (uint64_t kv_heads = 1; kv_heads <= 8; kv_heads *= g->quick ? 8 : 2)
          for (uint64_t group = 1; group <= 4; group *= g->quick ? 4 : 2) {
            uint64_t d[RA_OP_DIMS] = {
                n,        n,        n * length, n * length, kv_heads * group,
                kv_heads, widths[w]};

            if (kv_heads * group * widths[w] <= 1024)
              add(g, RA_OP_DECODE_ATTENTION, RA_PROBE_FORWARD, d);
          }
}

/* Keys a half wider than values, as DeepSeek-V3's (128 + 64 and 128), down to
 * the tiny models' 12 and 8; latents four or eight times what rotates. */
static void
add_latent(Grid *g)
{
  static const uint64_t widths[][2] = {{12, 8}, {24, 16}, {96, 64}, {192, 128}};
  static const uint64_t latents[][2] = {
      {16, 4}, {64, 16}, {256, 32}, {512, 64}};

  for (uint64_t length = 8; length <= 1024; length *= g->quick ? 4 : 2)
    for (guint w = 0; w < G_N_ELEMENTS(widths); w++)
      for (uint64_t heads = 2; heads <= 8; heads *= g->quick ? 4 : 2) {
        uint64_t n = length < 128 ? 8 : 1;
        uint64_t d[RA_OP_DIMS] = {
            n,     n * length,   n * length,  n * length * (length + 1) / 2,
            heads, widths[w][0], widths[w][1]};

        add(g, RA_OP_LATENT, RA_PROBE_FORWARD, d);
        add(g, RA_OP_LATENT_BACKWARD, RA_PROBE_FORWARD, d);
      }
  for (uint64_t length = 8; length <= 1024; length *= g->quick ? 8 : 4)
    for (uint64_t n = 1; n <= 32; n *= g->quick ? 32 : 4)
      for (guint w = 0; w < G_N_ELEMENTS(latents); w++)
        for (uint64_t heads = 2; heads <= 32; heads *= g->quick ? 4 : 2) {
          uint64_t d[RA_OP_DIMS] = {n,
                                    n,
                                    n * length,
                                    n * length,
                                    heads,
                                    latents[w][0],
                                    latents[w][1]};

          add(g, RA_OP_LATENT_DECODE, RA_PROBE_FORWARD, d);
        }
}

/* Routers of the tiny models' 8 experts and of 64, and rows to experts and
 * back. */
static void
add_experts(Grid *g)
{
  for (uint64_t t = 1; t <= 2048; t *= g->quick ? 8 : 4)
    for (uint64_t n = 8; n <= 64; n *= 8) {
      uint64_t router[RA_OP_DIMS] = {t, n, n / 4};

      add(g, RA_OP_ROUTER, RA_PROBE_FORWARD, router);
    }
  for (uint64_t t = 1; t <= 2048; t *= g->quick ? 8 : 4)
    for (uint64_t width = 64; width <= 2048; width *= g->quick ? 8 : 2) {
      uint64_t permute[RA_OP_DIMS] = {2 * t, width, 2};

      add(g, RA_OP_PERMUTE, RA_PROBE_FORWARD, permute);
      add(g, RA_OP_PERMUTE, RA_PROBE_INPUT, permute);
    }
}

/* Ops of tokens and a width: @kind and @back (RA_N_OPS: none). */
static void
add_rows(Grid *g, RaOpKind kind, RaOpKind back, uint64_t widest, uint64_t third)
{
  for (uint64_t t = 1; t <= 2048; t *= g->quick ? 8 : 4)
    for (uint64_t width = 64; width <= widest; width *= g->quick ? 8 : 2) {
      uint64_t d[RA_OP_DIMS] = {t, width, third};

      if (kind == RA_OP_ROPE) {
        d[1] = width / third;
        if (d[1] == 0)
          continue;
      }
      add(g, kind, RA_PROBE_FORWARD, d);
      if (back != RA_N_OPS && t >= 16)
        add(g, back, RA_PROBE_FORWARD, d);
    }
}

static void
add_sizes(Grid *g, RaOpKind kind, uint64_t first, uint64_t last)
{
  for (guint i = 0; step(first, i) <= last; i += g->quick ? 3 : 1) {
    uint64_t d[RA_OP_DIMS] = {step(first, i)};
    RaOpClass class = ra_op_class(kind);

    if (class == RA_OP_CLASS_COMM && kind != RA_OP_SEND &&
        kind != RA_OP_REALLOC) {
      d[1] = d[2] = g->n_ranks;
      d[3] = 1;
    }
    if (kind == RA_OP_REALLOC)
      d[2] = 1; /* step */
    add(g, kind, RA_PROBE_FORWARD, d);
  }
}

GArray *
ra_probe_grid(uint32_t n_ranks, gboolean quick)
{
  Grid g = {.points = g_array_new(FALSE, FALSE, sizeof(RaProbePoint)),
            .n_ranks = n_ranks,
            .quick = quick};

  add_products(&g);
  add_attention(&g);
  add_decode_attention(&g);
  add_latent(&g);
  add_experts(&g);
  add_rows(&g, RA_OP_NORM, RA_OP_NORM_BACKWARD, 2048, 0);
  add_rows(&g, RA_OP_ROPE, RA_N_OPS, 2048, 64);
  add_rows(&g, RA_OP_ACTIVATION, RA_OP_ACTIVATION_BACKWARD, 8192, 1);
  add_rows(&g, RA_OP_ADD, RA_N_OPS, 2048, 0);
  add_rows(&g, RA_OP_EMBEDDING, RA_OP_EMBEDDING_BACKWARD, 2048, 2048);
  add_rows(&g, RA_OP_CROSS_ENTROPY, RA_OP_CROSS_ENTROPY_BACKWARD, 16384, 0);
  add_rows(&g, RA_OP_SAMPLE, RA_N_OPS, 16384, 0);
  add_sizes(&g, RA_OP_LOSS, 16, 65536);
  add_sizes(&g, RA_OP_OPTIMIZER, 4096, UINT64_C(1) << 21);
  add_sizes(&g, RA_OP_OFFLOAD, 65536, UINT64_C(1) << 26);
  for (guint kind = RA_OP_ALL_REDUCE; n_ranks > 1 && kind <= RA_OP_SEND; kind++)
    add_sizes(&g, (RaOpKind)kind, 64, UINT64_C(1) << 26);
  if (n_ranks > 1)
    add_sizes(&g, RA_OP_REALLOC, 4096, UINT64_C(1) << 26);
  add_reuses(&g);
  return g.points;
}
