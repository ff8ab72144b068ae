/* A probe: measures the cost of ops on this machine by running them.
 *
 * Every rank is a thread, and all run the same op concurrently, by the
 * functions that the executor uses (exec/backend/backend.h, exec/comm/comm.h).
 * So they share memory, caches and the clock as they do in a run.
 *
 * The CPU clock of its thread times an op that never waits, which excludes
 * other work of the machine.  The monotonic clock times collectives: the mean
 * over ranks from the start of each to its end, which includes lateness.
 *
 *     g_autoptr(RaProbe) probe = ra_probe_new(&options, &error);
 *     ra_probe_run(probe, &point, &sample);
 *     sample.median_s
 *
 * Weights, caches of keys and values, kept intermediates and outputs are in a
 * pool larger than a core's own caches and smaller than the caches that cores
 * share.  Repeats go round the pool, because in a run too the weights of a
 * layer have passed since the last use.  The output of the previous op is in
 * the cache, as far as the weights have not evicted it.
 *
 * A GEMM that states a reuse (graph/op/op_reuse.h) goes round as many bytes of
 * its own, which are read once before it is timed.  A grid has few rows, at
 * several reuses, to measure whether a decode step finds its weights in a
 * cache.
 *
 * No op reads numbers of a previous point: a core can take a hundred times as
 * long for a subnormal number.
 */
#ifndef RA_EXEC_MEASURE_PROBE_H
#define RA_EXEC_MEASURE_PROBE_H

#include <glib.h>

#include "exec/comm/world.h"
#include "exec/measure/probe_machine.h"
#include "graph/op/op_reuse.h"

typedef struct _RaProbe RaProbe;

/* Transposed operand of a GEMM: forward pass, gradient of the input, gradient
 * of the weight; for rows of experts, their direction. */
typedef enum {
  RA_PROBE_FORWARD,
  RA_PROBE_INPUT,
  RA_PROBE_WEIGHT
} RaProbeVariant;

/* An op to measure. */
typedef struct {
  RaOp op;         /* in the machine's dtype, count 1 */
  uint8_t variant; /* RaProbeVariant */
} RaProbePoint;

typedef struct {
  double low_s;       /* lower quartile of the repeats of all ranks */
  double median_s;    /* their median */
  double high_s;      /* upper quartile */
  double spread_frac; /* (high - low) / median */
  guint n;            /* number of repeats */
  double cpu_s;       /* CPU time of repeats that wait for no rank; else
                         0 */
  double wall_s;      /* the same by the monotonic clock */
  /* in the last output: numbers that are subnormal or not finite, which take
   * another time to compute with; on a device 1 if some are not finite: not
   * written, or computed from such numbers */
  guint n_odd;
} RaProbeSample;

typedef struct {
  const RaProbeMachine *machine;  /* (nullable) borrowed; NULL: the host; a
                                     machine with a timer has one rank and no
                                     world */
  uint32_t n_ranks;               /* threads, >= 1; with a world, its
                                     processes */
  RaWorld *world;                 /* (nullable) borrowed: one rank per
                                     process */
  double sample_s;                /* minimal time for repeats */
  guint n_least, n_most;          /* limits of a rank's repeats */
  double (*clock)(gpointer data); /* (nullable): seconds, for tests; NULL: the
                                     clocks of the thread or the machine */
  double (*wall)(gpointer data);  /* (nullable): with @clock, the other clock of
                                     ops that do not wait; %NULL: none */
  gpointer clock_data;            /* argument of @clock and @wall */
} RaProbeOptions;

/* Sets the defaults: one rank, 5 to 200 repeats in 10 ms. */
void ra_probe_options_init(RaProbeOptions *options);

/**
 * ra_probe_new:
 * @options: copied
 * @error: %RA_ERROR_NO_DEVICE: no CBLAS
 *
 * Allocates 192 MiB per rank; for a machine, its two pools.
 *
 * Returns: (transfer full): free with ra_probe_free()
 */
RaProbe *ra_probe_new(const RaProbeOptions *options, GError **error);
void ra_probe_free(RaProbe *probe);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaProbe, ra_probe_free)

/* TRUE if a device, or the host, runs ops of @kind: latent attention the host
 * alone; other kinds (scores in memory, host work) have no point. */
gboolean ra_probe_has(RaOpKind kind, gboolean on_host);

/**
 * ra_probe_run:
 * @point: with ra_probe_has() of its op; a collective has at most the probe's
 *   ranks
 * @out_sample: (out)
 *
 * Runs the op until there are enough repeats; the first does not count.
 * Thread: blocks; makes and joins a thread per rank.
 */
void ra_probe_run(RaProbe *probe, const RaProbePoint *point,
                  RaProbeSample *out_sample);

/**
 * ra_probe_begun_s:
 * @probe: its machine has a timer
 * @point: as ra_probe_run(); its op must not wait for its result
 *
 * Measures the host time to launch the op as in a run: its kernels, copies of
 * its host data, the check of its output.  The device is idle before, and the
 * host does not wait for it.
 *
 * Returns: seconds, the median of the repeats
 */
double ra_probe_begun_s(RaProbe *probe, const RaProbePoint *point);

/* Number of the @n floats that are subnormal or not finite. */
gsize ra_probe_n_odd(gsize n, const float *x);

/* Bytes that a host's weights go round if a point states no reuse, in MiB of
 * all @n_ranks together. */
uint64_t ra_probe_lap_mib(uint32_t n_ranks);

/**
 * ra_probe_grid:
 * @n_ranks: ranks of the probe
 * @quick: fewer points
 *
 * Shapes to measure on a host.  Each kind has a lattice of its dimensions,
 * powers of two and values between, limited to points of less than 0.1 s.
 * GEMMs of few rows at several reuses come last.
 *
 * Returns: (transfer full) (element-type RaProbePoint)
 */
GArray *ra_probe_grid(uint32_t n_ranks, gboolean quick);

/**
 * ra_probe_bytes_per_s:
 *
 * Returns: bytes per second that one rank reads and writes while all ranks copy
 *   arrays larger than the caches, the best of a few
 */
double ra_probe_bytes_per_s(RaProbe *probe);

#endif
