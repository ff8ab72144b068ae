/* A bound of plans of which only some is known: how long calls take and on how
 * many GPUs, not where.
 *
 *     g_autoptr(RaExactBound) bound = ra_exact_bound_new(workload, n_gpus, 5);
 *     RaExactCall calls[RA_POINT_MAX] = ...;
 *     double run_s = ra_exact_bound_s(bound, calls);
 *
 * The calls of some iterations, replayed on GPUs that are a number:
 *
 *   order   a call begins after what it reads is made, after the training that
 *           its parameters are from and their move, and after itself in the
 *           iteration before.  Two calls that share a GPU, as they do for
 *           certain where they have more than all between them, run in the
 *           order of the program (graph/augment/augment.h)
 *   area    all that must have ended when a call begins has run since the first
 *           of it could begin: begin >= least begin of S + GPU-seconds of S /
 *           GPUs, for every S of its ancestors that are the last to begin
 *           (energetic reasoning: Baptiste, Le Pape, Nuijten, Constraint-Based
 *           Scheduling, 2001, chapter 3).  So for the end of all
 *
 * Every step is a sum or a maximum, so less of anything never gives more.
 * A call in several parts may run between others': then no order by GPUs.
 */
#ifndef RA_SEARCH_EXACT_BOUND_H
#define RA_SEARCH_EXACT_BOUND_H

#include "search/space/space.h"

typedef struct _RaExactBound RaExactBound;

/* At least, of all candidates that a call may still have. */
typedef struct {
  double seconds;   /* of an iteration */
  double gpu_s;     /* seconds x GPUs */
  double realloc_s; /* from its model's training to its own layout */
  uint32_t n_gpus;  /* 0: a host call */
  uint16_t meets;   /* bits of calls that share a GPU with it, beside those
                         that must */
} RaExactCall;

/**
 * ra_exact_bound_new:
 * @workload: borrowed; of at most RA_POINT_MAX calls
 * @n_gpus: of the cluster
 * @n_iterations: that plans are replayed for; no more than what 64 calls are
 *   counts, whole iterations, and so does the time of those alone
 */
RaExactBound *ra_exact_bound_new(const RaWorkload *workload, uint32_t n_gpus,
                                 uint32_t n_iterations);
void ra_exact_bound_free(RaExactBound *bound);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaExactBound, ra_exact_bound_free)

/**
 * ra_exact_bound_s:
 * @calls: (array length=n_calls)
 *
 * Cost: some 2 us of six calls and five iterations.  Not for two threads at
 * once.
 *
 * Returns: no more than run_s (search/evaluate/evaluate.h) of any plan with
 * them
 */
double ra_exact_bound_s(RaExactBound *bound, const RaExactCall *calls);

#endif
