/* Pools: sets of calls that share a mesh, and the sizes of those meshes.
 *
 *     RaPools *pools = ra_pools_new(writer);
 *     ra_pools_add(pools, key, call);          calls of equal keys together
 *     if (ra_pools_weigh(pools, &error) && ra_pools_place(pools, &error))
 *       every call of pool p works on pools->meshes[p]
 *     ra_pools_free(pools);
 *
 * The weight of a pool is the cost of its calls in GPU-seconds, by the
 * estimator.  The phases of an iteration come one after the other.  With cost
 * W_l of phase l on N_l GPUs, the iteration takes the sum of W_l / N_l.  For a
 * given sum of N_l this is least where N_l is proportional to the square root
 * of W_l.  Pools of one phase run concurrently, so they share N_l in proportion
 * to their weights.
 *
 * Where generation may lag (staleness > 0), training is concurrent with the
 * rollout, whose phases still follow each other.  The iteration then takes T,
 * the greater of the sum over those phases and W_T / N_T. Both equal T where
 * N_T = W_T / T and N_l = sqrt(W_l) sum sqrt(W) / T.
 *
 * Private to search/family/strategy*.c.  Typical sizes: 2 to 6 pools.
 */
#ifndef RA_SEARCH_FAMILY_POOL_H
#define RA_SEARCH_FAMILY_POOL_H

#include "search/family/strategy_impl.h"

typedef struct {
  RaWriter *writer; /* borrowed */
  guint n_calls;    /* calls of the workload */
  guint n;          /* number of pools */
  uint32_t *pool;   /* (n_calls) pool of each call; RA_NONE: none */
  uint64_t *keys;   /* (n_calls) key of each pool */
  double *gpu_s;    /* (n_calls) GPU-seconds per iteration of each pool */
  double *weights;  /* (n_calls) weight by which each pool is placed */
  RaMesh *meshes;   /* (n_calls) mesh of each pool */
  gboolean even; /* only pipelines of a power of two, which divide batches and
                    layers; initially %TRUE */
} RaPools;

RaPools *ra_pools_new(RaWriter *writer);
void ra_pools_free(RaPools *pools);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaPools, ra_pools_free)

/* Puts @call into the pool of @key, which is created if needed. */
void ra_pools_add(RaPools *pools, uint64_t key, uint32_t call);

/* Name of a pool: that of its first call. */
const char *ra_pools_name(const RaPools *pools, guint pool);

/* Computes GPU-seconds and weights of all pools, from each call on all GPUs.
 * FALSE: a call cannot be cut or cannot be costed. */
gboolean ra_pools_weigh(RaPools *pools, GError **error);

/* Chooses meshes by the weights, at least as large as the models of a pool
 * need.  Pipelines of a power of two are preferred to others.  FALSE: the
 * cluster is too small. */
gboolean ra_pools_place(RaPools *pools, GError **error);

/**
 * ra_pools_offer:
 * @pools: placed
 * @residency: RaResidency of calls that read a trained model but do not train
 *   it
 * @realloc: RaReallocScheme by which those calls get their parameters
 * @error: a call cannot be cut for its pool, or cannot be costed
 *
 * Offers shapes for every call of a pool on its mesh.  Generation gets the
 * shapes that are fastest by the estimator, as decoding times differ most
 * between shapes.  The other calls get the least tp x pp that fits, with the
 * optimizer state sharded.  With continuous batching they, too, get the fastest
 * shapes, as settling weighs the value of memory for each call.
 *
 * Returns: %TRUE on success
 */
gboolean ra_pools_offer(RaPools *pools, int residency, int realloc,
                        GError **error);

#endif
