/* Parameters on their way from one layout to another, for real.
 *
 *     g_autoptr(GArray) slices = ra_reshard_slices(model, &train, &gen,
 * cluster); each rank:  RaReshard r = {backend, world, rank_of_gpu, gpu, model,
 * slices}; ra_reshard(&r, what it has, what it wants);
 *
 * Who sends what is the reallocation of the graph (graph/augment/realloc.h),
 * slice by slice; afterwards what each rank wants is bit for bit what the
 * source had.
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
  RaComm *world;               /* of all ranks that take part */
  const uint32_t *rank_of_gpu; /* of the cluster, in @world */
  uint32_t gpu;                /* of this rank */
  const RaModel *model;
  const GArray *slices; /* RaSlice, by ra_reshard_slices() */
  RaSlabs *slabs; /* (nullable) of the host's memory: what is on its way lies in
                     them, and the next reallocation finds them again */
} RaReshard;

/**
 * ra_reshard_slices:
 * @to: its scheme is the one that is used
 *
 * Returns: (transfer full): of RaSlice, tensor by tensor, those of a tensor in
 *   an order in which a sender has what it sends
 */
GArray *ra_reshard_slices(const RaModel *model, const RaCallPlan *from,
                          const RaCallPlan *to, const RaCluster *cluster);

/**
 * ra_reshard:
 * @source: (nullable): what the rank has of the model
 * @target: (nullable): what it wants, written
 *
 * Called by every rank that has or wants some of the model.  Slices go from
 * their place in @source to their place in @target, packed where they do not
 * lie in one piece; only tensors of which the rank passes on what it does not
 * want take the way over all of them.
 *
 * Returns: slices that the rank asked for before their turn, while it passed
 *   others on
 */
guint ra_reshard(const RaReshard *reshard, const RaParams *source,
                 RaParams *target);

/* Ranks, in @world, that have some of the model, and that want some. */
typedef struct {
  const uint32_t *from; /* (n_from) */
  const uint32_t *to;   /* (n_to) */
  uint32_t n_from, n_to;
} RaReshardRanks;

/**
 * ra_reshard_shared:
 * @ranks: all of both kinds, in one order on all
 * @source: (nullable): as ra_reshard()
 * @target: (nullable): as ra_reshard()
 *
 * The same between threads that share a device's memory: each copies what it
 * wants from where it is, in one launch; every byte is read and written once.
 * Slices are not looked at.
 */
void ra_reshard_shared(const RaReshard *reshard, const RaReshardRanks *ranks,
                       const RaParams *source, RaParams *target);

/**
 * ra_reshard_rounds:
 * @rounds: of reshard->slices
 * @sets: (array length=rounds->n_sets): the rank's ends of the sets of ranks of
 *   broadcasts, by ascending rank; %NULL where it is not in one
 * @source: (nullable): as ra_reshard()
 * @target: (nullable): as ra_reshard()
 *
 * The same as ra_reshard(), as exchanges of grouped messages
 * (ra_comm_exchange()): for communicators whose sends wait.
 */
void ra_reshard_rounds(const RaReshard *reshard, const RaRounds *rounds,
                       RaComm *const *sets, const RaParams *source,
                       RaParams *target);

#endif
