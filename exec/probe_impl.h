/* What probe*.c share: a rank's buffers and the op at hand. */
#ifndef RA_EXEC_PROBE_IMPL_H
#define RA_EXEC_PROBE_IMPL_H

#include "exec/backend.h"
#include "exec/comm_local.h"
#include "exec/probe.h"

/* As large as the largest array of a point. */
#define RA_PROBE_POOL_FLOATS ((gsize)16 << 20)
/* Pieces that fit begin anew after so many floats: larger than the caches that
 * a core has for itself (2 MiB of the largest in 2024), and within what cores
 * share, as are the weights that a rank of a model of 10^7 parameters goes
 * through between two steps of generation.  MEASURED: a product of 4 rows takes
 * 99 to 103 us on one and two cores of a Xeon for any size from 4 to 32 MiB, 76
 * at 2, 114 to 129 at 64 and 195 at 128 and 256 MiB. */
#define RA_PROBE_LAP_FLOATS ((gsize)8 << 20)

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
  const float *made; /* (n_made) what the last repeat wrote; NULL: not kept */
  gsize n_made;
  uint32_t rank;
  double begin_s, end_s;           /* of the last repeat */
  double begin_wall_s, end_wall_s; /* about it */
  double cpu_s, wall_s;            /* of the repeats so far */
  double *begins, *ends;           /* (n_most) of all repeats; owned */
  guint n;                         /* repeats */
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

/* Makes room for what a repeat asks for (sampling copies what it reads, a
 * collective has an array to write to), and has what it reads anew: the last
 * point's results may be so small that arithmetic on them is slow. */
void ra_probe_make_room(RaProbeRank *rank, const RaOp *op);

/* One run of the point's op; sets begin_s and end_s about it. */
void ra_probe_compute(RaProbeRank *rank);
void ra_probe_communicate(RaProbeRank *rank);

/* Now, by the clock that @rank's op is timed by. */
double ra_probe_now_s(const RaProbeRank *rank);
/* Now, by the clock of the wall; 0: nobody asks. */
double ra_probe_wall_s(const RaProbeRank *rank);

#endif
