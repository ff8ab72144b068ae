/* Pools of GPUs: sets of calls that share a mesh, and how large it should be.
 *
 *     RaPools *pools = ra_pools_new(writer);
 *     ra_pools_add(pools, key, call);          calls of equal keys together
 *     if (ra_pools_weigh(pools, &error) && ra_pools_place(pools, &error))
 *       every call of pool p works on pools->meshes[p]
 *     ra_pools_free(pools);
 *
 * The weight of a pool is what its calls cost, GPU-seconds by the estimator.
 * With W_l of phase l of an iteration (phases come one after the other) on N_l
 * GPUs the iteration takes the sum of W_l / N_l, which is least, for a given
 * sum of N_l, where N_l is proportional to the square root of W_l; pools of
 * one phase work at the same time, so they share N_l by their weights.  Where
 * generation may lag (staleness > 0) training works beside the rollout, whose
 * phases still follow each other: the iteration takes the greater of the sum
 * over those and W_T / N_T, and both are T where N_T = W_T / T and
 * N_l = sqrt(W_l) sum sqrt(W) / T.
 *
 * Private to search/family/strategy*.c.  Typical sizes: 2 to 6 pools.
 */
#ifndef RA_SEARCH_FAMILY_POOL_H
#define RA_SEARCH_FAMILY_POOL_H

#include "search/family/strategy_impl.h"

typedef struct {
  RaWriter *writer; /* borrowed */
  guint n_calls;    /* of the workload */
  guint n;          /* pools */
  uint32_t *pool;   /* (n_calls) of each call; RA_NONE: none */
  uint64_t *keys;   /* (n_calls) of each pool */
  double *gpu_s;    /* (n_calls) of each pool: GPU-seconds of an iteration */
  double *weights;  /* (n_calls) of each pool: what it is placed by */
  RaMesh *meshes;   /* (n_calls) of each pool */
  gboolean even;    /* pipelines of a power of two only: with them batches and
                       layers divide; begins %TRUE */
} RaPools;

RaPools *ra_pools_new(RaWriter *writer);
void ra_pools_free(RaPools *pools);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaPools, ra_pools_free)

/* Puts @call into the pool of @key, a new one if there is none. */
void ra_pools_add(RaPools *pools, uint64_t key, uint32_t call);

/* Name of a pool: its first call's. */
const char *ra_pools_name(const RaPools *pools, guint pool);

/* GPU-seconds and weights of all pools, from each call on all GPUs; FALSE: a
 * call cannot be cut or cannot be costed. */
gboolean ra_pools_weigh(RaPools *pools, GError **error);

/* Meshes by weights, at least as large as a pool's models need: such that
 * pipelines of a power of two do, else any; FALSE: the cluster is too small. */
gboolean ra_pools_place(RaPools *pools, GError **error);

/**
 * ra_pools_offer:
 * @pools: placed
 * @residency: RaResidency of what reads a trained model but does not train it
 * @realloc: RaReallocScheme by which it gets its parameters
 * @error: a call cannot be cut for its pool, or cannot be costed
 *
 * Every call of a pool on its mesh.  Generation in the shapes that are
 * quickest by the estimator, as decoding tells shapes apart most; the others
 * in the least tp x pp that fits, with the optimizer state sharded; where
 * batches are continuous in the quickest, too, as settling weighs what memory
 * is worth to each.
 *
 * Returns: %TRUE on success
 */
gboolean ra_pools_offer(RaPools *pools, int residency, int realloc,
                        GError **error);

#endif
