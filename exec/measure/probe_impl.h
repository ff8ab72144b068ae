/* Shared declarations of probe*.c: a rank's buffers and the current op. */
#ifndef RA_EXEC_MEASURE_PROBE_IMPL_H
#define RA_EXEC_MEASURE_PROBE_IMPL_H

#include <pthread.h>

#include "exec/backend/backend.h"
#include "exec/comm/comm_local.h"
#include "exec/measure/probe.h"

/* Size of the largest array of a host's point. */
#define RA_PROBE_POOL_BYTES ((gsize)64 << 20)
/* Operands repeat after so many bytes if a point states no reuse: more than a
 * core's own caches (at most 2 MiB in 2024).  The grid also measures other
 * laps.  MEASURED: a GEMM of 4 rows and 256 KiB of weights on two cores of an
 * EPYC that share 32 MiB: 8 us at laps of 1 to 12 MiB per rank, 12 at 16, 27
 * from 24 to 128; on another machine, a Xeon: 76 us at 2, 99 to 103 from 4 to
 * 32, 114 to 129 at 64, 195 at 128. */
#define RA_PROBE_LAP_BYTES ((gsize)32 << 20)
/* Larger than a rank's share of the caches of machines of 2024. */
#define RA_PROBE_MOST_LAP_BYTES ((gsize)128 << 20)

typedef struct {
  RaProbe *probe;
  const RaProbeMachine *machine;
  const RaBackend *backend;
  const RaProbePoint *point;
  RaComm *comm;      /* communicator of the ranks that take part; owned */
  char *pool;        /* (machine->pool_bytes) in the back end's memory, owned */
  gsize pool_at;     /* offset of the next piece */
  gsize lap_bytes;   /* lap of the current point */
  char *sink;        /* as large as pool, for outputs; owned */
  gsize sink_at;     /* offset of its next piece */
  char *scratch;     /* (n_scratch) in the back end's memory, owned */
  gsize n_scratch;   /* bytes */
  gsize scratch_at;  /* bytes of it that the current point uses */
  float *host;       /* (n_host) in host memory, with a device; owned */
  gsize n_host;      /* floats */
  uint32_t *numbers; /* (n_numbers) tokens, positions, offsets; owned */
  gsize n_numbers;
  const void *made; /* (n_made) output of the last repeat; NULL: not kept */
  gsize n_made;
  gboolean made_f32; /* floats, not elements */
  uint32_t rank;
  gpointer timer;                  /* the machine's; NULL: use clocks */
  gboolean by_host;                /* timed until the host has launched the
                                      op */
  double begin_s, end_s;           /* times of the last repeat */
  double begin_wall_s, end_wall_s; /* the same by the other clock, around it */
  double cpu_s, wall_s;            /* sums over the repeats so far */
  double *begins, *ends;           /* (n_most) times of all repeats; owned */
  guint n;                         /* repeats */
} RaProbeRank;

struct _RaProbe {
  RaProbeOptions options;
  RaProbeMachine machine;
  RaProbeRank *ranks;        /* (n_ranks) owned */
  RaLocalGroup *group;       /* group of the current point, owned */
  pthread_barrier_t barrier; /* for all ranks */
  RaWorldGroup *apart;       /* group of all processes, owned; NULL: no world */
  double ahead_s;            /* offset of this machine's clock from process
                                0's */
  guint n_repeats;           /* repeats of the current collective */
};

/* Next @n elements, or floats, of the input pool; read only. */
RaElem *ra_probe_cold(RaProbeRank *rank, gsize n);
float *ra_probe_cold_f32(RaProbeRank *rank, gsize n);
/* Next @n of the output pool, to accumulate into: growing sums there are never
 * an input. */
RaElem *ra_probe_sink(RaProbeRank *rank, gsize n);
float *ra_probe_sink_f32(RaProbeRank *rank, gsize n);
/* Next @n of the output pool, to overwrite. */
RaElem *ra_probe_out(RaProbeRank *rank, gsize n);
float *ra_probe_out_f32(RaProbeRank *rank, gsize n);
/* @n that are the same in every repeat, if requested in the same order. */
RaElem *ra_probe_warm(RaProbeRank *rank, gsize n);
float *ra_probe_warm_f32(RaProbeRank *rank, gsize n);
/* @n floats in host memory that a device copies fastest; one such buffer per
 * op. */
float *ra_probe_host(RaProbeRank *rank, gsize n);
/* (n) numbers less than @below, the same at each call. */
const uint32_t *ra_probe_numbers(RaProbeRank *rank, gsize n, uint32_t below);

/* Fills the pools with random numbers: in [0, 1) on a host; from -1 on for a
 * device, because weights have both signs and the time of a GEMM under a power
 * limit depends on them. */
void ra_probe_fill(RaProbeRank *rank);

/* Allocates buffers for a repeat (sampling copies its input, a collective has
 * an output array) and refreshes its inputs: the last point's results may be so
 * small that arithmetic on them is slow. */
void ra_probe_make_room(RaProbeRank *rank, const RaOp *op);

/* Reads all weights that the point goes round, once. */
void ra_probe_read_lap(RaProbeRank *rank);

/* Writes the scratch buffers in use, so that they are in the cache as if the
 * previous op had written them; for a device, whose caches were flushed. */
void ra_probe_warm_up(RaProbeRank *rank);

/* Run the point's op once and set begin_s and end_s around it. */
void ra_probe_compute(RaProbeRank *rank);
void ra_probe_communicate(RaProbeRank *rank);
/* @d: the dimensions of RA_OP_DECODE_ATTENTION */
void ra_probe_decode_attention(RaProbeRank *rank, const uint64_t *d);
/* Latent attention: whole, its gradient, or a decode step. */
void ra_probe_latent(RaProbeRank *rank, const uint64_t *d);
/* Ops of experts: the router, moves of rows to experts and back,
 * GEMMs of several experts. */
void ra_probe_experts(RaProbeRank *rank, const uint64_t *d);

/* Makes the caches as they are between two ops of a run, then starts the clock.
 * A device flushes them and warms up the scratch buffers; a host reads other
 * data. */
void ra_probe_begin(RaProbeRank *rank);
/* Start and stop both clocks, or the timer; the inner clock times the op. */
void ra_probe_start(RaProbeRank *rank);
void ra_probe_stop(RaProbeRank *rank);

/* Ends an op with (n) elements of output @x, including the check that a run
 * makes. */
void ra_probe_end_look(RaProbeRank *rank, gsize n, const RaElem *x);

/* Over several processes: makes their communicator and compares their
 * clocks. */
void ra_probe_meet_world(RaProbe *probe);
/* Gathers the times of other processes on process 0, by its clock. */
void ra_probe_gather_times(RaProbe *probe);

/* Reads (n) fp32 through the caches: a number of each line on a host; on a
 * device all of them, by its norm of gradients. */
void ra_probe_read_floats(const RaProbeRank *r, gsize n, const float *x);

#endif
