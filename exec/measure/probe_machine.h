/* The machine of a probe: functions that run ops, memory for their operands,
 * the clock, and the work between two repeats.
 *
 * The host has only a table of functions.  Clocks time it, and going round a
 * pool of operands gives its caches the state that they have in a run.
 *
 * A device computes asynchronously, so it has a timer whose start and end are
 * in the stream of ops.  It flushes its caches, which are as large as a layer's
 * arrays.  It poisons outputs first, so that a missing result is not a number.
 *
 *     RaProbeOptions o;
 *     ra_probe_options_init(&o);
 *     o.machine = ra_probe_machine_cuda();
 */
#ifndef RA_EXEC_MEASURE_PROBE_MACHINE_H
#define RA_EXEC_MEASURE_PROBE_MACHINE_H

#include "exec/backend/backend.h"
#include "graph/op/op.h"

/* Host time to launch an op, seconds. */
typedef struct {
  double eager_s; /* a kernel, launched by itself */
  double graph_s; /* a captured graph, once */
  double gap_s;   /* each kernel of the graph, in addition to its run time */
  double timer_s; /* the timer's own part of what it says of an op: an interval
                     around one kernel less what the kernel adds to a row of
                     them */
} RaProbeLaunch;

typedef struct {
  const RaBackend *backend;
  uint8_t dtype;        /* RaDtype of its elements, and of the points */
  gsize pool_bytes;     /* size of the input pool, and of the output pool: no
                           array is larger */
  gsize lap_bytes;      /* arrays repeat after so many bytes: more than the
                           caches */
  gsize most_lap_bytes; /* largest lap that a point may request for its input;
                           0: pool_bytes */
  gsize cache_bytes;    /* caches that flush() empties; 0: none */
  double clock_hz;      /* highest clock; 0: unknown */

  /* (nullable): makes @n_bytes of device memory not-a-number */
  void (*poison)(void *to, gsize n_bytes);
  /* (nullable): evicts all data from the caches */
  void (*flush)(void);

  /* (nullable): no timer: use the host's clocks */
  gpointer (*timer_new)(void);
  void (*timer_free)(gpointer timer);
  /* Starts after all that this thread has begun.  @op: for simulated machines
   * in tests.
   */
  void (*timer_start)(gpointer timer, const RaOp *op);
  /* Waits; returns the seconds from the start to the end of the last op
   * begun. */
  double (*timer_stop_s)(gpointer timer);

  /* The host's time; with a timer. */
  double (*host_s)(void);

  /* (nullable): @op_s: time of the smallest sum, by the timer; FALSE: see
   * failure() */
  gboolean (*launch)(double op_s, RaProbeLaunch *out);
  /* (nullable): free and total bytes; before the pools are allocated, the
   * difference is what this and other processes use without an array */
  gboolean (*memory)(uint64_t *out_free, uint64_t *out_all);
} RaProbeMachine;

/**
 * ra_probe_machine_cuda:
 *
 * Pools of 2 GiB, if the device has them, and laps over all of each.  Caches
 * are flushed by writing zeroes over eight times their size; meanwhile the host
 * launches the timed op, so its time excludes the launch.
 *
 * Returns: (transfer none): of the current device
 */
const RaProbeMachine *ra_probe_machine_cuda(void);

#endif
