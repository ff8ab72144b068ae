/* The communicator `local`: ranks are threads of one process.
 *
 *     g_autoptr(RaLocalGroup) group = ra_local_group_new(4, TRUE);
 *     each thread: g_autoptr(RaComm) comm = ra_local_comm_new(group, rank);
 *
 * A collective reads and writes the members' buffers in place, between two
 * barriers; every member works on its part.  A message is copied when it is
 * sent.  Members that wait may look for a while before they sleep; more ranks
 * than cores is allowed, only slower.
 * The group outlives its communicators.  Free of data races: checked with
 * ThreadSanitizer (tests/exec/check_comm.c).
 */
#ifndef RA_EXEC_COMM_COMM_LOCAL_H
#define RA_EXEC_COMM_COMM_LOCAL_H

#include "exec/comm/comm.h"

typedef struct _RaLocalGroup RaLocalGroup;

/**
 * ra_local_group_new:
 * @n_ranks: members, >= 1
 * @spins: whether who waits looks for a while before it sleeps, which takes
 *   less time where every thread of the process has a core of its own
 *
 * Returns: (transfer full): ra_local_group_free() it
 */
RaLocalGroup *ra_local_group_new(uint32_t n_ranks, gboolean spins);
void ra_local_group_free(RaLocalGroup *group);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaLocalGroup, ra_local_group_free)

/* (transfer full): the end of rank @rank, for one thread at a time. */
RaComm *ra_local_comm_new(RaLocalGroup *group, uint32_t rank);

#endif
