/* A probe: what ops cost on this machine, measured by running them.
 *
 * Every rank is a thread, and all run the same op at the same time, through the
 * functions that the executor calls (exec/backend/backend.h, exec/comm/comm.h),
 * so that what they share (memory, caches, the clock) is shared as in a run.
 * An op that never waits is timed by its thread's CPU clock, so that what else
 * the machine does is not in it; what ranks do together by the monotonic clock,
 * in the mean over ranks from the begin of each to its end, so that being late
 * is in it.
 *
 *     g_autoptr(RaProbe) probe = ra_probe_new(&options, &error);
 *     ra_probe_run(probe, &point, &sample);
 *     sample.median_s
 *
 * Weights, caches of keys and values, what a forward has kept and what an op
 * writes lie in a pool larger than a core's own caches and smaller than what
 * cores share, through which repeats go round: a run finds them there too, as
 * the weights of a layer have passed since.  What the op before has written is
 * at hand, as far as the weights that it read have left it there.  A product
 * that says a reuse (graph/op/op_reuse.h) goes round as much of its own, which
 * is read once before it is timed: so a grid has few rows at several, and
 * whether a step of generation finds its weights in a cache is measured.
 * No number that an op meets is of a point before: a core takes a hundred times
 * as long for one that is subnormal.
 */
#ifndef RA_EXEC_MEASURE_PROBE_H
#define RA_EXEC_MEASURE_PROBE_H

#include <glib.h>

#include "exec/comm/world.h"
#include "exec/measure/probe_machine.h"
#include "graph/op/op_reuse.h"

typedef struct _RaProbe RaProbe;

/* Which operand of a product is read transposed: forward, gradient of the
 * input, gradient of the weight; of rows of experts which way they go. */
typedef enum {
  RA_PROBE_FORWARD,
  RA_PROBE_INPUT,
  RA_PROBE_WEIGHT
} RaProbeVariant;

/* What is measured. */
typedef struct {
  RaOp op;         /* of the machine's dtype, count 1 */
  uint8_t variant; /* RaProbeVariant */
} RaProbePoint;

typedef struct {
  double low_s;       /* lower quartile of the repeats of all ranks */
  double median_s;    /* their median */
  double high_s;      /* upper quartile */
  double spread_frac; /* (high - low) / median */
  guint n;            /* repeats */
  double cpu_s;       /* of all of them, of what waits for nobody; else 0 */
  double wall_s;      /* the same by the monotonic clock */
  guint n_odd; /* of what the last one wrote: numbers that are subnormal or not
                  finite, on which arithmetic takes another time; of a device 1
                  where some are not finite: not written, or made of such */
} RaProbeSample;

typedef struct {
  const RaProbeMachine *machine;  /* (nullable) borrowed: the host; one with a
                                     timer has one rank and no world */
  uint32_t n_ranks;               /* threads, >= 1; of a world its processes */
  RaWorld *world;                 /* (nullable) borrowed: a rank a process */
  double sample_s;                /* repeats go on for so long */
  guint n_least, n_most;          /* repeats of a rank */
  double (*clock)(gpointer data); /* (nullable): seconds, for tests; else those
                                     of the thread or the machine */
  double (*wall)(gpointer data);  /* (nullable): with @clock the other clock of
                                     what waits for nobody; %NULL: none */
  gpointer clock_data;            /* for @clock and @wall */
} RaProbeOptions;

/* One rank, 5 to 200 repeats in 10 ms. */
void ra_probe_options_init(RaProbeOptions *options);

/**
 * ra_probe_new:
 * @options: copied
 * @error: %RA_ERROR_NO_DEVICE: no CBLAS
 *
 * Takes 192 MiB a rank, of a machine its two pools.
 *
 * Returns: (transfer full): ra_probe_free() it
 */
RaProbe *ra_probe_new(const RaProbeOptions *options, GError **error);
void ra_probe_free(RaProbe *probe);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaProbe, ra_probe_free)

/* Whether back ends run ops of @kind; those of the others (scores in memory,
 * host work) have no point. */
gboolean ra_probe_has(RaOpKind kind);
/* Whether they are measured of devices alone: experts. */
gboolean ra_probe_is_of_device(RaOpKind kind);

/**
 * ra_probe_run:
 * @point: of an op that ra_probe_has(); a collective's ranks at most those of
 *   the probe
 * @out_sample: (out)
 *
 * Runs it until there are enough repeats, the first one not counted.
 * Thread: blocks; makes and joins a thread a rank.
 */
void ra_probe_run(RaProbe *probe, const RaProbePoint *point,
                  RaProbeSample *out_sample);

/**
 * ra_probe_begun_s:
 * @probe: of a machine with a timer
 * @point: as ra_probe_run(); of an op that does not wait for its result
 *
 * What beginning the op takes the host, as a run begins it: its kernels, copies
 * of what the host has of it, the look at what it made.  The device is idle
 * before, and nobody waits for it.
 *
 * Returns: seconds, the median of the repeats
 */
double ra_probe_begun_s(RaProbe *probe, const RaProbePoint *point);

/* How many of @n floats are subnormal or not finite. */
gsize ra_probe_n_odd(gsize n, const float *x);

/* What a host's weights go round in where a point does not say, MiB of all
 * @n_ranks together. */
uint64_t ra_probe_lap_mib(uint32_t n_ranks);

/**
 * ra_probe_grid:
 * @n_ranks: of the probe
 * @quick: fewer points
 *
 * The shapes that are measured of a host: of each kind a lattice of its
 * dimensions, powers of two and their halves, as far as a point takes less
 * than 0.1 s; at the end products of few rows at several reuses.
 *
 * Returns: (transfer full) (element-type RaProbePoint)
 */
GArray *ra_probe_grid(uint32_t n_ranks, gboolean quick);

/**
 * ra_probe_bytes_per_s:
 *
 * Returns: bytes a second that one rank reads and writes while all copy arrays
 *   larger than the caches, the best of a few
 */
double ra_probe_bytes_per_s(RaProbe *probe);

#endif
