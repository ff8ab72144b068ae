/* NCCL in a run: each rank has a GPU and communicators of its own.
 *
 *     const RaRunNccl nccl = {.api = ra_nccl_cuda()};
 *     options.nccl = &nccl;
 *
 * Process 0 makes the id and shares it with the world.  Then one thread per
 * rank makes the communicators of the plan's groups (exec/comm/comm_groups.h).
 *
 * Reallocations run in rounds of grouped messages (exec/comm/rounds.h), or as
 * copies between peers (exec/comm/comm_peer.h).  The world still carries what
 * processes tell each other about data, and it ends them together.
 *
 * The world detects a dead peer.  A stalled peer is detected by its own process
 * (`stall_s`); should that process hang as a whole, the ranks that wait for it
 * detect it after four times as long.
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
