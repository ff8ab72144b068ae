/* Messages between the devices of one process, copied by who receives them.
 *
 * A sender offers where its data lie and waits until they have been taken; the
 * receiver copies them over the link between the two devices
 * (cudaMemcpyPeer()), without a kernel on either.  All that a rank sends at a
 * time is offered before it waits for anything, so rounds (exec/comm/rounds.h)
 * without broadcasts can always end.
 *
 *     RaPeers *peers = ra_peers_new(api, devices, n_ranks);
 *     each thread: RaComm *comm = ra_peers_comm_new(peers, rank);
 *     comm->table->device->exchange(parts, n);      sends and receives
 *
 * The ends have no other function.  They go before what they are of.
 */
#ifndef RA_EXEC_COMM_COMM_PEER_H
#define RA_EXEC_COMM_COMM_PEER_H

#include "exec/comm/nccl_api.h"

typedef struct _RaPeers RaPeers;

/**
 * ra_peers_check:
 * @devices: (array length=n_ranks): of each rank
 * @error: %RA_ERROR_INPUT: two that do not reach each other
 *
 * Whether each of @devices reaches all others.  O(n_ranks^2) questions.
 */
gboolean ra_peers_check(const RaNcclApi *api, const uint32_t *devices,
                        uint32_t n_ranks, GError **error);

/* (transfer full): ra_peers_free() it.  @api: borrowed; @devices: copied */
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
