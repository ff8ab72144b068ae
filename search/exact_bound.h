/* Lower bound of the run time of partly known plans: the duration and number of
 * GPUs of each call are known, the place is not.
 *
 *     g_autoptr(RaExactBound) bound = ra_exact_bound_new(space, n_gpus, 5);
 *     RaExactCall calls[RA_POINT_MAX] = ...;
 *     double run_s = ra_exact_bound_s(bound, calls);
 *
 * The calls of several iterations are replayed on GPUs that are only counted:
 *
 *   order  A call begins after its inputs exist, after the training that its
 *          parameters come from and their move, and after its own previous
 *          iteration.  Two calls that share a GPU run in program order
 *          (graph/augment/augment.h). They certainly share one where they have
 *          more GPUs between them than there are.
 *   area   Everything that must have ended when a call begins has run since the
 *          first of it could begin: begin >= least begin of S + GPU-seconds of
 *          S / GPUs, for every set S of its ancestors that are the last to
 *          begin (energetic reasoning: Baptiste, Le Pape, Nuijten,
 *          Constraint-Based Scheduling, 2001, chapter 3).  The same holds for
 *          the end of all calls.
 *
 * Every step is a sum or a maximum, so smaller inputs never give a larger
 * bound.  A call in several parts may run between the parts of others; then
 * calls have no order by shared GPUs.
 */
#ifndef RA_SEARCH_EXACT_BOUND_H
#define RA_SEARCH_EXACT_BOUND_H

#include "search/space/space.h"

typedef struct _RaExactBound RaExactBound;

/* Lower bounds over all candidates that a call may still have. */
typedef struct {
  double seconds;   /* duration of one iteration of the call */
  double gpu_s;     /* seconds x GPUs */
  double realloc_s; /* move from its model's training to its own layout */
  uint32_t n_gpus;  /* 0: a host call */
  uint16_t meets; /* bits of the calls that share a GPU with it, in addition to
                     those that must */
} RaExactCall;

/**
 * ra_exact_bound_new:
 * @space: its workload is borrowed
 * @n_gpus: GPUs of the cluster
 * @n_iterations: iterations that plans are replayed for.  The bound replays
 *   only as many whole iterations as have at most 64 calls together.  The
 *   GPU-seconds of all iterations are a bound, too.
 */
RaExactBound *ra_exact_bound_new(const RaSpace *space, uint32_t n_gpus,
                                 uint32_t n_iterations);
void ra_exact_bound_free(RaExactBound *bound);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaExactBound, ra_exact_bound_free)

/**
 * ra_exact_bound_s:
 * @calls: (array length=n_calls): what is known of each call
 *
 * Cost: about 2 us for six calls and five iterations.  Not for two threads at
 * once.
 *
 * Returns: at most the run_s (search/evaluate/evaluate.h) of any plan with
 * these calls
 */
double ra_exact_bound_s(RaExactBound *bound, const RaExactCall *calls);

#endif
