/* Account of GPU time: partitions each lane's time exactly; the parts sum to
 * the window.
 *
 * A moment of a lane is charged to the first rule that applies:
 *   1. A device task runs on it: that task's compute, communication inside it,
 *      host and waiting, in the proportions of its RaCost (waiting is bubble),
 *      and the time that interference has added.
 *   2. A communication task runs: exposed communication of its call.
 *   3. A host task runs: host time of its call.
 *   4. A reallocation or transfer runs.
 *   5. A call has begun on the lane and has not ended there: its bubble.
 *   6. Otherwise: idle.
 * If two tasks of one class (or two open calls) overlap, the one that began
 * first is charged.  Ties go to the smaller id, for calls to the earlier
 * iteration.  Each moment is thus charged once, and over a window
 *
 *     sum of all charges = GPUs x window.
 *
 * A lane is charged for one GPU, and lanes are summed with their numbers of
 * GPUs as weights, without rounding.  The account is therefore the same whether
 * equal GPUs are one lane or many (graph/expand/fold.h).
 *
 * Typical sizes: 10^2 lanes, 10^3 to 10^5 tasks per lane; a window costs one
 * pass.
 */
#ifndef RA_SIM_ACCOUNT_H
#define RA_SIM_ACCOUNT_H

#include "sim/sim.h"

typedef struct _RaAccount RaAccount;

/* GPU-seconds of one call in a window. */
typedef struct {
  double compute_gpu_s;      /* device tasks */
  double comm_gpu_s;         /* exposed communication */
  double host_gpu_s;         /* the device waits for the host */
  double bubble_gpu_s;       /* the call has begun and waits */
  double interference_gpu_s; /* slowdown of device tasks by communication that
                                overlaps them */
} RaAccountShare;

/* GPU-seconds of a window that are charged to no call. */
typedef struct {
  double realloc_gpu_s; /* reallocation and transfer, exposed */
  double idle_gpu_s;    /* no call */
} RaAccountRest;

/**
 * ra_account_new:
 * @sim: has run; borrowed, outlives the account
 * @graph: its graph; borrowed, outlives the account
 *
 * Lists the tasks of every lane in the order in which they began.
 *
 * Cost: O(tasks log tasks + lanes of all tasks).
 *
 * Returns: (transfer full): ra_account_free() it
 */
RaAccount *ra_account_new(const RaSim *sim, const RaTaskGraph *graph);
void ra_account_free(RaAccount *account);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaAccount, ra_account_free)

/* GPUs of the lanes on which some task runs: the GPUs that a window counts. */
uint32_t ra_account_n_gpus(const RaAccount *account);

/* GPUs of the lanes on which some task of @call runs. */
uint32_t ra_account_call_n_gpus(const RaAccount *account, uint32_t call);

/**
 * ra_account_window:
 * @account: the account
 * @begin_s: begin of the window
 * @end_s: end of the window, >= @begin_s
 * @out_rest: (out) (optional): time that is charged to no call
 *
 * Cost: O(lanes of all tasks).
 *
 * Returns: (transfer full) (array length=n_calls): one share per call; g_free()
 *   it
 */
RaAccountShare *ra_account_window(const RaAccount *account, double begin_s,
                                  double end_s, RaAccountRest *out_rest);

#endif
