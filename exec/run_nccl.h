/* NCCL joined to a run: each rank has a GPU and communicators of its own.
 *
 *     const RaRunNccl nccl = {.api = ra_nccl_cuda()};
 *     options.nccl = &nccl;
 *
 * Process 0 makes the id and shares it with the world; then a thread a rank
 * makes the communicators of the plan's groups (exec/comm/comm_groups.h).
 * Reallocations go in rounds of grouped messages (exec/comm/rounds.h), or of
 * copies between peers (exec/comm/comm_peer.h).  What processes tell each
 * other of data, and how they end together, stays the world's.  A peer that is
 * dead is the world's to find; one that stalls is found by its own process
 * (`stall_s`), and by who waits for it after four times as long, should that
 * process as a whole hang.
 */
#ifndef RA_EXEC_RUN_NCCL_H
#define RA_EXEC_RUN_NCCL_H

#include "exec/comm/nccl_api.h"

typedef struct {
  const RaNcclApi *api;
  gboolean by_peers; /* reallocations are copies between peers, in one process
                        whose devices all reach each other; else messages */
} RaRunNccl;

#endif
