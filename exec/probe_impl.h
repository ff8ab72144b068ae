/* What probe*.c share: a rank's buffers and the op at hand. */
#ifndef RA_EXEC_PROBE_IMPL_H
#define RA_EXEC_PROBE_IMPL_H

#include "exec/backend.h"
#include "exec/comm_local.h"
#include "exec/probe.h"

/* Larger than the caches that a core has for itself (2 MiB of the largest in
 * 2024), and small enough for many ranks. */
#define RA_PROBE_POOL_FLOATS ((gsize)16 << 20)

typedef struct {
  RaProbe *probe;
  const RaBackend *backend;
  const RaProbePoint *point;
  RaComm *comm;      /* of the ranks that take part; owned */
  float *pool;       /* (RA_PROBE_POOL_FLOATS) owned */
  gsize pool_at;     /* where the next piece begins */
  float *sink;       /* (RA_PROBE_POOL_FLOATS) what ops write; owned */
  gsize sink_at;     /* where its next piece begins */
  float *scratch;    /* (n_scratch) owned */
  gsize n_scratch;   /* floats */
  gsize scratch_at;  /* taken of it by the point at hand */
  uint32_t *numbers; /* (n_numbers) tokens, positions, begins; owned */
  gsize n_numbers;
  uint32_t rank;
  double begin_s, end_s; /* of the last repeat */
  double *begins, *ends; /* (n_most) of all repeats; owned */
  guint n;               /* repeats */
} RaProbeRank;

/* @n floats of the pool, each time the next ones; to be read. */
float *ra_probe_cold(RaProbeRank *rank, gsize n);
/* The same of a pool that is written: sums that grow there meet no input. */
float *ra_probe_sink(RaProbeRank *rank, gsize n);
/* @n floats that stay the same from repeat to repeat: asked for in the same
 * order each time. */
float *ra_probe_warm(RaProbeRank *rank, gsize n);
/* (n) below @below, the same each time. */
const uint32_t *ra_probe_numbers(RaProbeRank *rank, gsize n, uint32_t below);

/* One run of the point's op; sets begin_s and end_s about it. */
void ra_probe_compute(RaProbeRank *rank);
void ra_probe_communicate(RaProbeRank *rank);

/* Now, by the clock that @rank's op is timed by. */
double ra_probe_now_s(const RaProbeRank *rank);

#endif
