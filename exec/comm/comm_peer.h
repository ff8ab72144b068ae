/* Messages between the devices of one process, copied by the receiver.
 *
 * A sender publishes the address of its data and waits until the receiver has
 * copied them.  The copy uses the link between the two devices
 * (cudaMemcpyPeer()) and no kernel on either.  A rank publishes all that it
 * sends at a time before it waits for anything, so rounds (exec/comm/rounds.h)
 * without broadcasts cannot deadlock.
 *
 *     RaPeers *peers = ra_peers_new(api, devices, n_ranks);
 *     each thread: RaComm *comm = ra_peers_comm_new(peers, rank);
 *     comm->table->device->exchange(parts, n);      sends and receives
 *
 * The ends have no other function.  Free them before their RaPeers.
 */
#ifndef RA_EXEC_COMM_COMM_PEER_H
#define RA_EXEC_COMM_COMM_PEER_H

#include "exec/comm/nccl_api.h"

typedef struct _RaPeers RaPeers;

/**
 * ra_peers_check:
 * @devices: (array length=n_ranks): device of each rank
 * @error: %RA_ERROR_INPUT: two devices without access to each other
 *
 * TRUE if each of @devices can access all others.  O(n_ranks^2) queries.
 */
gboolean ra_peers_check(const RaNcclApi *api, const uint32_t *devices,
                        uint32_t n_ranks, GError **error);

/* (transfer full): free with ra_peers_free().  @api: borrowed; @devices:
 * copied */
RaPeers *ra_peers_new(const RaNcclApi *api, const uint32_t *devices,
                      uint32_t n_ranks);
/* @peers: (nullable) */
void ra_peers_free(RaPeers *peers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaPeers, ra_peers_free)

/* (transfer full): the end of rank @rank.  @fail: ends the run with one line,
 * does not return */
RaComm *ra_peers_comm_new(RaPeers *peers, uint32_t rank,
                          void (*fail)(const char *line, gpointer data),
                          gpointer fail_data);

#endif
