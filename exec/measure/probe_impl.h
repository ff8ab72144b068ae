/* What probe*.c share: a rank's buffers and the op at hand. */
#ifndef RA_EXEC_MEASURE_PROBE_IMPL_H
#define RA_EXEC_MEASURE_PROBE_IMPL_H

#include <pthread.h>

#include "exec/backend/backend.h"
#include "exec/comm/comm_local.h"
#include "exec/measure/probe.h"

/* As large as the largest array of a point of a host. */
#define RA_PROBE_POOL_BYTES ((gsize)64 << 20)
/* Pieces begin anew after so many bytes where a point does not say: more than
 * the caches that a core has for itself (2 MiB of the largest in 2024).  What
 * other laps take is measured beside it.  MEASURED: a product of 4 rows and 256
 * KiB of weights on two cores of an EPYC that share 32 MiB: 8 us at laps of 1
 * to 12 MiB a rank, 12 at 16, 27 from 24 to 128; of another machine, a Xeon: 76
 * us at 2, 99 to 103 from 4 to 32, 114 to 129 at 64, 195 at 128. */
#define RA_PROBE_LAP_BYTES ((gsize)32 << 20)
/* Larger than a rank's share of the caches of 2024's machines. */
#define RA_PROBE_MOST_LAP_BYTES ((gsize)128 << 20)

typedef struct {
  RaProbe *probe;
  const RaProbeMachine *machine;
  const RaBackend *backend;
  const RaProbePoint *point;
  RaComm *comm;      /* of the ranks that take part; owned */
  char *pool;        /* (machine->pool_bytes) of the back end, owned */
  gsize pool_at;     /* where the next piece begins */
  gsize lap_bytes;   /* of the point at hand */
  char *sink;        /* as large: what ops write; owned */
  gsize sink_at;     /* where its next piece begins */
  char *scratch;     /* (n_scratch) of the back end, owned */
  gsize n_scratch;   /* bytes */
  gsize scratch_at;  /* taken of it by the point at hand */
  float *host;       /* (n_host) the host's, of a device; owned */
  gsize n_host;      /* floats */
  uint32_t *numbers; /* (n_numbers) tokens, positions, begins; owned */
  gsize n_numbers;
  const void *made; /* (n_made) what the last repeat wrote; NULL: not kept */
  gsize n_made;
  gboolean made_f32; /* floats, not elements */
  uint32_t rank;
  gpointer timer;                  /* of the machine; NULL: clocks */
  gboolean by_host;                /* timed until the host has begun the op */
  double begin_s, end_s;           /* of the last repeat */
  double begin_wall_s, end_wall_s; /* about it */
  double cpu_s, wall_s;            /* of the repeats so far */
  double *begins, *ends;           /* (n_most) of all repeats; owned */
  guint n;                         /* repeats */
} RaProbeRank;

struct _RaProbe {
  RaProbeOptions options;
  RaProbeMachine machine;
  RaProbeRank *ranks;        /* (n_ranks) owned */
  RaLocalGroup *group;       /* of the point at hand, owned */
  pthread_barrier_t barrier; /* of all ranks */
  RaWorldGroup *apart;       /* of all processes, owned; NULL: no world */
  double ahead_s;            /* this machine's clock of process 0's */
  guint n_repeats;           /* of a collective at hand */
};

/* @n elements, or floats, of the pool, each time the next ones; to be read. */
RaElem *ra_probe_cold(RaProbeRank *rank, gsize n);
float *ra_probe_cold_f32(RaProbeRank *rank, gsize n);
/* The same of a pool that is written, and added to: sums that grow there meet
 * no input. */
RaElem *ra_probe_sink(RaProbeRank *rank, gsize n);
float *ra_probe_sink_f32(RaProbeRank *rank, gsize n);
/* The same, to be written without being read. */
RaElem *ra_probe_out(RaProbeRank *rank, gsize n);
float *ra_probe_out_f32(RaProbeRank *rank, gsize n);
/* @n that stay the same from repeat to repeat: asked for in the same order each
 * time. */
RaElem *ra_probe_warm(RaProbeRank *rank, gsize n);
float *ra_probe_warm_f32(RaProbeRank *rank, gsize n);
/* @n floats of the host, which a device copies fastest; the first that are
 * asked for. */
float *ra_probe_host(RaProbeRank *rank, gsize n);
/* (n) below @below, the same each time. */
const uint32_t *ra_probe_numbers(RaProbeRank *rank, gsize n, uint32_t below);

/* What is random of the pools: [0, 1) of a host, as ever; of a device from -1
 * on, as weights have both signs, and what a product takes under a power limit
 * depends on them. */
void ra_probe_fill(RaProbeRank *rank);

/* Makes room for what a repeat asks for (sampling copies what it reads, a
 * collective has an array to write to), and has what it reads anew: the last
 * point's results may be so small that arithmetic on them is slow. */
void ra_probe_make_room(RaProbeRank *rank, const RaOp *op);

/* Reads all that the point's weights go round in, once. */
void ra_probe_read_lap(RaProbeRank *rank);

/* Every float, or element, of what was asked for last is as the op before has
 * written it: of a device, whose caches were emptied. */
void ra_probe_warm_up(RaProbeRank *rank);

/* One run of the point's op; sets begin_s and end_s about it. */
void ra_probe_compute(RaProbeRank *rank);
void ra_probe_communicate(RaProbeRank *rank);
/* @d: the dimensions of RA_OP_DECODE_ATTENTION */
void ra_probe_decode_attention(RaProbeRank *rank, const uint64_t *d);
/* The router, rows to experts and back, products of several experts: of a
 * device. */
void ra_probe_experts(RaProbeRank *rank, const uint64_t *d);

/* Lets go of what was at hand, as far as something has passed since, and starts
 * the clock. */
void ra_probe_begin(RaProbeRank *rank);
/* By both clocks, or by the timer; what the op is timed by is the inner one. */
void ra_probe_start(RaProbeRank *rank);
void ra_probe_stop(RaProbeRank *rank);

/* Ends an op of (n) elements @x, looked at as a run looks. */
void ra_probe_end_look(RaProbeRank *rank, gsize n, const RaElem *x);

/* Over several processes: the communicator of all, their clocks compared. */
void ra_probe_meet_world(RaProbe *probe);
/* What the other processes have measured, to process 0, by its clock. */
void ra_probe_gather_times(RaProbe *probe);

/* (n) fp32 of the device go by its caches, or are a norm of gradients. */
static inline void
ra_probe_read_floats(const RaProbeRank *r, gsize n, const float *x)
{
  r->backend->sum_squares(1, &n, &x);
}

#endif
