/* Breakdown of the GPU time of a simulated run, and its critical path.
 *
 * The time of a window is partitioned for every lane, by the rules of
 * sim/account.h:
 * - computation of a call's tasks;
 * - communication that no computation of the lane overlaps (exposed);
 * - waiting of the device for the host;
 * - bubble: the call has begun on the lane and has not ended there, and nothing
 *   runs;
 * - reallocation and transfer;
 * - idle: no call.
 * GPU-seconds of all causes add up to GPUs x window; tests assert it.
 *
 * The critical path leads back from a task that ends last through predecessors
 * that ended last; its shares by cause add up to the makespan.
 */
#ifndef RA_SIM_BREAKDOWN_H
#define RA_SIM_BREAKDOWN_H

#include "sim/sim.h"

/* Share of one call, over the iterations of the window. */
typedef struct {
  uint32_t call;         /* index into the workload's calls */
  uint32_t n_gpus;       /* of its mesh */
  double begin_s, end_s; /* in its first iteration in the window: begin of the
                            first task, end of the last */
  double wall_s;         /* end - begin, mean over the window's iterations */
  double compute_gpu_s;  /* GPU-seconds per iteration */
  double comm_gpu_s;     /* exposed communication */
  double host_gpu_s;     /* device waits for the host */
  double bubble_gpu_s;   /* within the call, nothing runs */
  double interference_gpu_s; /* slowdown of computation by communication that
                                overlaps it */
  double flop; /* model FLOP per iteration, all GPUs (no recomputation) */
  double hardware_flop; /* FLOP done, all GPUs */
} RaCallShare;

typedef struct {
  uint32_t first_iteration; /* of the window */
  uint32_t n_iterations;    /* in the window */
  double begin_s;           /* of the window, in the run */
  double window_s;          /* length of the window */
  double iteration_s;       /* window_s / n_iterations */
  uint32_t n_gpus;          /* GPUs that any call uses */
  RaCallShare *calls;       /* (n_calls) */
  guint n_calls;
  double realloc_gpu_s; /* GPU-seconds per iteration, exposed (overlapped by no
                           call) */
  double idle_gpu_s;    /* GPU-seconds per iteration */
  double tokens; /* prompt and response tokens trained on (or generated) per
                    iteration */
  double tokens_per_s;       /* tokens / iteration_s */
  double flop_per_s_per_gpu; /* model FLOP */
  double mfu_frac; /* of the dense peak of the calls' dtype; NAN: no device */
  double usd;      /* price of n_gpus per iteration; NAN without a price */
} RaBreakdown;

/**
 * ra_breakdown_new:
 * @sim: has run
 *
 * The window is the repeating part, from the end of the first iteration to the
 * end of the last one.  An iteration ends with its calls; the reallocation
 * after it belongs to the next.  With one iteration the window is all of it.
 */
RaBreakdown *ra_breakdown_new(const RaSim *sim, const RaTaskGraph *graph);
void ra_breakdown_free(RaBreakdown *breakdown);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaBreakdown, ra_breakdown_free)

/**
 * ra_critical_tasks:
 * @sim: has run
 * @graph: its graph
 * @out_n: (out): number of tasks on the path
 *
 * Tasks of the critical path from its end to its begin: each begins when the
 * next in the array ends, the last at 0.  Among several such paths it is the
 * first one, compared from the end on by (node, mini-batch, kind, stage,
 * micro-batch, bucket, begin, causes).  The comparison ignores replicas, so
 * that the path is the same in a folded graph.
 *
 * Cost: O(tasks + edges).
 *
 * Returns: (transfer full) (array length=out_n): g_free() it
 */
RaTaskId *ra_critical_tasks(const RaSim *sim, const RaTaskGraph *graph,
                            uint32_t *out_n);

#endif
