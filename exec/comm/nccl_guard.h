/* A call of NCCL that may wait for peers for ever, on a thread of its own, so
 * that the rank's thread can give up.
 *
 *     RaNcclGuard *guard = ra_nccl_guard_start(call, data, free_data);
 *     if (!ra_nccl_guard_wait(guard, patience_s, &result))
 *       ... the call goes on, and has @data ...
 *
 * Communicators are blocking, as one that is not has NCCL start a thread for
 * every collective (NCCL 2.18 to 2.30, group.cc, ncclGroupEndInternal()).  Only
 * the calls that make and close them are guarded: a collective returns when it
 * is enqueued.
 */
#ifndef RA_EXEC_COMM_NCCL_GUARD_H
#define RA_EXEC_COMM_NCCL_GUARD_H

#include <glib.h>

typedef struct _RaNcclGuard RaNcclGuard;

/* Begins @call, whose result is that of ra_nccl_guard_wait().  @free_data:
 * (nullable): frees @data behind a call that was left */
RaNcclGuard *ra_nccl_guard_start(int (*call)(gpointer data), gpointer data,
                                 GDestroyNotify free_data);

/**
 * ra_nccl_guard_wait:
 * @guard: (transfer full)
 * @patience_s: seconds to wait
 *
 * Returns: whether the call is over
 */
gboolean ra_nccl_guard_wait(RaNcclGuard *guard, double patience_s,
                            int *out_result);

#endif
