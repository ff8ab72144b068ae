/* Reallocation: moves parameters from one layout to another.
 *
 *     g_autoptr(GArray) slices =
 *         ra_reshard_slices(model, &train, &gen, cluster);
 *     each rank:
 *         RaReshard r = {backend, world, rank_of_gpu, gpu, model, slices};
 *         ra_reshard(&r, source, target);
 *
 * The graph's reallocation (graph/augment/realloc.h) determines the slices and
 * their senders.  Afterwards every target has the source's values, bit for
 * bit.
 */
#ifndef RA_EXEC_MODEL_RESHARD_H
#define RA_EXEC_MODEL_RESHARD_H

#include "exec/backend/backend.h"
#include "exec/comm/comm.h"
#include "exec/comm/rounds.h"
#include "exec/model/params.h"
#include "exec/model/slabs.h"

/* A rank's part in a reallocation; all borrowed. */
typedef struct {
  const RaBackend *backend;
  RaComm *world;               /* communicator of all ranks that take part */
  const uint32_t *rank_of_gpu; /* (cluster GPUs) ranks in @world */
  uint32_t gpu;                /* GPU of this rank */
  const RaModel *model;
  const GArray *slices; /* RaSlice, by ra_reshard_slices() */
  RaSlabs *slabs;       /* (nullable) in host memory: buffers in transit, which
                           the next reallocation reuses */
} RaReshard;

/**
 * ra_reshard_slices:
 * @to: its reallocation scheme applies
 *
 * Returns: (transfer full): RaSlice, tensor by tensor; within a tensor a sender
 *   has what it sends by then
 */
GArray *ra_reshard_slices(const RaModel *model, const RaCallPlan *from,
                          const RaCallPlan *to, const RaCluster *cluster);

/**
 * ra_reshard:
 * @source: (nullable): the rank's part of the model before
 * @target: (nullable): the rank's part afterwards, written
 *
 * Called by every rank that has a source or a target.  Slices go from their
 * place in @source to their place in @target, packed unless they are
 * contiguous.  The rank buffers a whole tensor only if it forwards slices of it
 * that it does not keep, or receives slices that overlap its source.
 *
 * Returns: slices that the rank requested ahead of their turn, while it
 *   forwarded others
 */
guint ra_reshard(const RaReshard *reshard, const RaParams *source,
                 RaParams *target);

/* Ranks, in @world, with a source and with a target. */
typedef struct {
  const uint32_t *from; /* (n_from) */
  const uint32_t *to;   /* (n_to) */
  uint32_t n_from, n_to;
} RaReshardRanks;

/**
 * ra_reshard_shared:
 * @ranks: all of both kinds, in the same order on all ranks
 * @source: (nullable): as ra_reshard()
 * @target: (nullable): as ra_reshard()
 *
 * The same between threads that share a device's memory.  Each copies its
 * target from the sources in one launch; every byte is read and written once.
 * Slices are not used.
 */
void ra_reshard_shared(const RaReshard *reshard, const RaReshardRanks *ranks,
                       const RaParams *source, RaParams *target);

/**
 * ra_reshard_rounds:
 * @rounds: made from reshard->slices
 * @sets: (array length=rounds->n_sets): the rank's ends of the sets of
 *   broadcasts, by ascending rank; %NULL: not a member
 * @source: (nullable): as ra_reshard()
 * @target: (nullable): as ra_reshard()
 *
 * The same as ra_reshard(), by exchanges of grouped messages
 * (ra_comm_exchange()): for communicators whose sends wait.
 */
void ra_reshard_rounds(const RaReshard *reshard, const RaRounds *rounds,
                       RaComm *const *sets, const RaParams *source,
                       RaParams *target);

#endif
