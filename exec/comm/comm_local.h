/* The communicator `local`: ranks are threads of one process.
 *
 *     g_autoptr(RaLocalGroup) group = ra_local_group_new(4, TRUE);
 *     each thread: g_autoptr(RaComm) comm = ra_local_comm_new(group, rank);
 *
 * A collective reads and writes the members' buffers in place, between two
 * barriers; every member works on its part.  A message is copied when it is
 * sent.  Waiting members may spin before they block.  More ranks than cores are
 * allowed, but slower.
 *
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
 * @spins: spin before blocking, which is faster if every thread of the process
 *   has a core of its own
 *
 * Returns: (transfer full): free with ra_local_group_free()
 */
RaLocalGroup *ra_local_group_new(uint32_t n_ranks, gboolean spins);
void ra_local_group_free(RaLocalGroup *group);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaLocalGroup, ra_local_group_free)

/* (transfer full): the end of rank @rank, for use by one thread at a time. */
RaComm *ra_local_comm_new(RaLocalGroup *group, uint32_t rank);

#endif
