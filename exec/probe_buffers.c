/* What the ops of a probe read and write. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "exec/floats.h"
#include "exec/probe_impl.h"

/* The next @n floats of a pool. */
static float *
next_piece(float *pool, gsize *inout_at, gsize n)
{
  gsize at = *inout_at;

  g_assert(n <= RA_PROBE_POOL_FLOATS);
  if (at + n > RA_PROBE_LAP_FLOATS)
    at = 0;
  *inout_at = at + (n + 15) / 16 * 16;
  return pool + at;
}

float *
ra_probe_cold(RaProbeRank *rank, gsize n)
{
  return next_piece(rank->pool, &rank->pool_at, n);
}

float *
ra_probe_sink(RaProbeRank *rank, gsize n)
{
  return next_piece(rank->sink, &rank->sink_at, n);
}

/* What a point needs first grows the scratch, which then stays. */
float *
ra_probe_warm(RaProbeRank *rank, gsize n)
{
  gsize at = rank->scratch_at;

  rank->scratch_at = at + (n + 15) / 16 * 16;
  g_assert(rank->scratch_at <= rank->n_scratch);
  return rank->scratch + at;
}

const uint32_t *
ra_probe_numbers(RaProbeRank *rank, gsize n, uint32_t below)
{
  RaRng rng = ra_rng_init(below, n);

  if (rank->n_numbers == n)
    return rank->numbers;
  g_free(rank->numbers);
  rank->numbers = g_new(uint32_t, n + 1);
  rank->n_numbers = n;
  for (gsize i = 0; i < n; i++)
    rank->numbers[i] = (uint32_t)ra_rng_below(&rng, below);
  return rank->numbers;
}

/* Floats of scratch beside what an op moves: positions, workspaces. */
#define SPARE_FLOATS ((gsize)1 << 19)

static void
copy_pool(const RaProbeRank *r, float *to, gsize n)
{
  for (gsize i = 0; i < n; i += RA_PROBE_POOL_FLOATS)
    memcpy(to + i, r->pool, MIN(n - i, RA_PROBE_POOL_FLOATS) * sizeof *to);
}

void
ra_probe_make_room(RaProbeRank *r, const RaOp *op)
{
  gsize n = (gsize)(2.5 * ra_op_bytes(op) / sizeof(float)) + SPARE_FLOATS;

  if (n > r->n_scratch) {
    g_free(r->scratch);
    r->scratch = ra_floats_new(n);
    r->n_scratch = n;
  }
  copy_pool(r, r->scratch, n);
  if (op->kind == RA_OP_OPTIMIZER || op->kind == RA_OP_NORM_BACKWARD)
    copy_pool(r, r->sink, RA_PROBE_LAP_FLOATS); /* these read it */
}

gsize
ra_probe_n_odd(gsize n, const float *x)
{
  gsize n_odd = 0;

  for (gsize i = 0; i < n; i++)
    n_odd += x[i] != 0 && !isnormal(x[i]);
  return n_odd;
}
