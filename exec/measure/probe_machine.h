/* What of a probe is the machine's: the functions that ops are, the memory that
 * they read and write, the clock, and what is done between two repeats.
 *
 * The host has a table of functions and nothing else: it is timed by clocks,
 * and what a run finds in its caches is there by going round a pool.  A device
 * that computes while the host goes on brings a timer of its own, whose begin
 * and end stand among its ops, and empties its caches, which are as large as a
 * layer's arrays; what it is to write is poisoned first, so that a result that
 * nobody wrote is no number.
 *
 *     RaProbeOptions o;
 *     ra_probe_options_init(&o);
 *     o.machine = ra_probe_machine_cuda();
 */
#ifndef RA_EXEC_MEASURE_PROBE_MACHINE_H
#define RA_EXEC_MEASURE_PROBE_MACHINE_H

#include "exec/backend/backend.h"
#include "graph/op/op.h"

/* What beginning an op takes the host, seconds. */
typedef struct {
  double eager_s; /* of a kernel, begun one by one */
  double graph_s; /* of a captured graph, once */
  double gap_s;   /* of each of its kernels, beyond what the kernel takes */
} RaProbeLaunch;

typedef struct {
  const RaBackend *backend;
  uint8_t dtype;    /* RaDtype of its elements, and of the points */
  gsize pool_bytes; /* what ops read, and what they write: no array is larger */
  gsize lap_bytes;  /* arrays begin anew after so many: past the caches */
  gsize most_lap_bytes; /* the longest lap that a point may ask for, of what is
                           read; 0: pool_bytes */
  gsize cache_bytes;    /* that flush() empties; 0: none */
  double clock_hz;      /* the highest that it may run at; 0: not said */

  /* (nullable): @n_bytes of the device are no numbers from here on */
  void (*poison)(void *to, gsize n_bytes);
  /* (nullable): leaves nothing of before in the caches */
  void (*flush)(void);

  /* (nullable): no timer: the host's clocks */
  gpointer (*timer_new)(void);
  void (*timer_free)(gpointer timer);
  /* Behind all that this thread has begun.  @op: for a machine that is made up.
   */
  void (*timer_start)(gpointer timer, const RaOp *op);
  /* Waits for all of it; seconds from then to what was begun last. */
  double (*timer_stop_s)(gpointer timer);

  /* The host's time beside it; with a timer. */
  double (*host_s)(void);

  /* (nullable): @op_s: of the smallest sum, by the timer; FALSE: failure() */
  gboolean (*launch)(double op_s, RaProbeLaunch *out);
  /* (nullable): bytes that no process has, and all; before the pools are taken
   * the rest is what this process and the others have without an array */
  gboolean (*memory)(uint64_t *out_free, uint64_t *out_all);
} RaProbeMachine;

/**
 * ra_probe_machine_cuda:
 *
 * Pools of 2 GiB and laps of all of it, where the device has them; caches are
 * emptied by writing zeroes over four times their size, while which the host
 * begins what is timed, so that launches are not in it.
 *
 * Returns: (transfer none): of the current device
 */
const RaProbeMachine *ra_probe_machine_cuda(void);

#endif
