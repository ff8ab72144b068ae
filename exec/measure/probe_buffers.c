/* Buffers that the ops of a probe read and write. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "exec/backend/floats.h"
#include "exec/measure/probe_impl.h"

/* Pieces begin at multiples of it: a cache line, and any back end's vectors. */
#define ALIGN_BYTES ((gsize)64)

static gsize
aligned(gsize n_bytes)
{
  return (n_bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
}

/* The next @n bytes of a pool that is gone round in laps of @lap bytes. */
static gpointer
next_piece(char *pool, gsize lap, gsize *inout_at, gsize n)
{
  gsize at = *inout_at;

  if (at + n > lap)
    at = 0;
  *inout_at = at + aligned(n);
  return pool + at;
}

static gpointer
cold_piece(RaProbeRank *rank, gsize n_bytes)
{
  g_assert(n_bytes <= rank->machine->pool_bytes);
  return next_piece(rank->pool, rank->lap_bytes, &rank->pool_at, n_bytes);
}

static gpointer
sink_piece(RaProbeRank *rank, gsize n_bytes)
{
  g_assert(n_bytes <= rank->machine->pool_bytes);
  return next_piece(rank->sink, rank->machine->lap_bytes, &rank->sink_at,
                    n_bytes);
}

RaElem *
ra_probe_cold(RaProbeRank *rank, gsize n)
{
  return cold_piece(rank, n * rank->backend->elem_bytes);
}

float *
ra_probe_cold_f32(RaProbeRank *rank, gsize n)
{
  return cold_piece(rank, n * sizeof(float));
}

RaElem *
ra_probe_sink(RaProbeRank *rank, gsize n)
{
  return sink_piece(rank, n * rank->backend->elem_bytes);
}

float *
ra_probe_sink_f32(RaProbeRank *rank, gsize n)
{
  return sink_piece(rank, n * sizeof(float));
}

static gpointer
poisoned(const RaProbeRank *rank, gpointer piece, gsize n_bytes)
{
  if (rank->machine->poison)
    rank->machine->poison(piece, n_bytes);
  return piece;
}

RaElem *
ra_probe_out(RaProbeRank *rank, gsize n)
{
  return poisoned(rank, ra_probe_sink(rank, n), n * rank->backend->elem_bytes);
}

float *
ra_probe_out_f32(RaProbeRank *rank, gsize n)
{
  return poisoned(rank, ra_probe_sink_f32(rank, n), n * sizeof(float));
}

/* The first need of a point grows the scratch buffer, which then stays. */
static gpointer
warm_piece(RaProbeRank *rank, gsize n_bytes)
{
  gsize at = rank->scratch_at;

  rank->scratch_at = at + aligned(n_bytes);
  g_assert(rank->scratch_at <= rank->n_scratch);
  return rank->scratch + at;
}

RaElem *
ra_probe_warm(RaProbeRank *rank, gsize n)
{
  return warm_piece(rank, n * rank->backend->elem_bytes);
}

float *
ra_probe_warm_f32(RaProbeRank *rank, gsize n)
{
  return warm_piece(rank, n * sizeof(float));
}

static void
fill_floats(RaRng *rng, float *x, gsize n)
{
  for (gsize i = 0; i < n; i++)
    x[i] = (float)ra_rng_uniform(rng);
}

float *
ra_probe_host(RaProbeRank *rank, gsize n)
{
  RaRng rng = ra_rng_init(rank->rank, 0x686f7374);

  if (rank->backend->is_host)
    return ra_probe_warm_f32(rank, n);
  if (n > rank->n_host) {
    rank->backend->free_host(rank->host);
    rank->host = rank->backend->alloc_host(n * sizeof *rank->host);
    rank->n_host = n;
    fill_floats(&rng, rank->host, n);
  }
  return rank->host;
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

/* Bytes of scratch in addition to an op's operands: positions, workspaces. */
#define SPARE_BYTES ((gsize)2 << 20)
/* A device cuts a row's keys into parts, each with its own sums. */
#define SPARE_DEVICE_BYTES ((gsize)8 << 20)

static void
copy_pool(const RaProbeRank *r, char *to, gsize n)
{
  gsize most = r->machine->pool_bytes;

  for (gsize i = 0; i < n; i += most)
    r->backend->copy(to + i, r->pool, MIN(n - i, most));
}

void
ra_probe_make_room(RaProbeRank *r, const RaOp *op)
{
  gsize n = (gsize)(2.5 * ra_op_bytes(op)) +
            (r->backend->is_host ? SPARE_BYTES : SPARE_DEVICE_BYTES);

  if (n > r->n_scratch) {
    r->backend->free(r->scratch);
    r->scratch = r->backend->alloc(n);
    r->n_scratch = n;
  }
  copy_pool(r, r->scratch, n);
  /* These read it; of what a device had poisoned nothing is left. */
  if (op->kind == RA_OP_OPTIMIZER || op->kind == RA_OP_NORM_BACKWARD ||
      !r->backend->is_host)
    copy_pool(r, r->sink, r->machine->lap_bytes);
}

void
ra_probe_warm_up(RaProbeRank *r)
{
  copy_pool(r, r->scratch, r->scratch_at);
}

/* Random bytes of a device's pool; the rest of the pool is copies of them. */
#define RANDOM_BYTES ((gsize)16 << 20)

static void
fill_pool(RaProbeRank *r, char *pool, gsize all, uint32_t seed)
{
  RaRng rng = ra_rng_init(seed, 0x70726f62);
  gsize n = MIN(all, RANDOM_BYTES);
  gsize n_floats = n / r->backend->elem_bytes;
  g_autofree float *x = NULL;

  if (r->backend->is_host) {
    fill_floats(&rng, (float *)(gpointer)pool, all / sizeof(float));
    return;
  }
  x = ra_floats_new(n_floats);
  fill_floats(&rng, x, n_floats);
  for (gsize i = 0; i < n_floats; i++)
    x[i] = 2 * x[i] - 1;
  r->backend->write_elems(n_floats, x, (RaElem *)(gpointer)pool);
  for (gsize at = n; at < all; at += MIN(at, all - at))
    r->backend->copy(pool + at, pool, MIN(at, all - at));
}

void
ra_probe_fill(RaProbeRank *rank)
{
  gsize n = rank->machine->pool_bytes;
  gsize most = MAX(n, rank->machine->most_lap_bytes);

  rank->pool = rank->backend->alloc(most);
  rank->sink = rank->backend->alloc(n);
  fill_pool(rank, rank->pool, most, rank->rank);
  fill_pool(rank, rank->sink, n, rank->rank + 1000);
}

void
ra_probe_read_floats(const RaProbeRank *r, gsize n, const float *x)
{
  const volatile float *seen = x; /* no read of it may be left out */

  if (!r->backend->is_host) {
    r->backend->sum_squares(1, &n, &x);
    return;
  }
  for (gsize i = 0; i < n; i += ALIGN_BYTES / sizeof *x)
    (void)seen[i];
}

void
ra_probe_read_lap(RaProbeRank *rank)
{
  ra_probe_read_floats(rank, rank->lap_bytes / sizeof(float),
                       (const float *)(gconstpointer)rank->pool);
}

gsize
ra_probe_n_odd(gsize n, const float *x)
{
  gsize n_odd = 0;

  for (gsize i = 0; i < n; i++)
    n_odd += x[i] != 0 && !isnormal(x[i]);
  return n_odd;
}
