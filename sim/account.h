/* The account of GPU time: each lane's time split without rest.
 *
 * At a moment a lane is charged to the first that applies:
 *   1. a device task runs on it: that task's compute, communication inside it,
 *      host and waiting, in the proportions of its RaCost (waiting is bubble),
 *      and what interference has added to it;
 *   2. a communication task runs: exposed communication of its call;
 *   3. a host task runs: host time of its call;
 *   4. a reallocation or transfer runs;
 *   5. a call has begun on the lane and has not ended there: its bubble;
 *   6. nothing of all this: idle.
 * Where two tasks of one class (or two open calls) overlap, the one that began
 * first is charged (of two that began at once the lesser id, of calls the
 * earlier iteration's), so a moment is charged once, and over a window
 *
 *     sum of all charges = GPUs x window.
 *
 * A lane is charged for one GPU, and lanes are summed up weighted by their GPUs
 * and without rounding: so it is the same account whether GPUs that do the same
 * are one lane or many (graph/expand/fold.h).
 *
 * Typical sizes: 10^2 lanes, 10^3 to 10^5 tasks a lane; a window costs one
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
  double interference_gpu_s; /* device tasks take longer as communication runs
                                beside them */
} RaAccountShare;

/* GPU-seconds of a window that no call is charged for. */
typedef struct {
  double realloc_gpu_s; /* reallocation and transfer, exposed */
  double idle_gpu_s;    /* no call */
} RaAccountRest;

/**
 * ra_account_new:
 * @sim: run; borrowed, outlives the account
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

/* GPUs of the lanes on which some task runs: what a window counts. */
uint32_t ra_account_n_gpus(const RaAccount *account);

/* GPUs of the lanes on which some task of @call runs. */
uint32_t ra_account_call_n_gpus(const RaAccount *account, uint32_t call);

/**
 * ra_account_window:
 * @account: the account
 * @begin_s: the window's begin
 * @end_s: and its end, >= @begin_s
 * @out_rest: (out) (optional): what no call is charged for
 *
 * Cost: O(lanes of all tasks).
 *
 * Returns: (transfer full) (array length=n_calls): a share a call; g_free() it
 */
RaAccountShare *ra_account_window(const RaAccount *account, double begin_s,
                                  double end_s, RaAccountRest *out_rest);

#endif
