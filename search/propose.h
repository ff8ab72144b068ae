/* Proposals: random changes of a plan.
 *
 *     g_autoptr(RaProposer) proposer = ra_proposer_new(costs);
 *     double u = ra_proposer_draw(proposer, &rng, point, &proposal);
 *
 * A call goes to another mesh, to another place, to the mesh of another call,
 * or to another strategy on its own; two calls swap meshes, or move the border
 * between them; all calls of a model go to one mesh.  Sizes of meshes are as
 * likely as each other, powers of two likelier, and strategies on a mesh the
 * likelier the quicker they are: of n in the order of their bounds the floor(n
 * u^2)-th.
 *
 * Mostly one Philox block a proposal; neither division nor logarithm.  Thread:
 * any.
 */
#ifndef RA_SEARCH_PROPOSE_H
#define RA_SEARCH_PROPOSE_H

#include "base/rng.h"
#include "search/evaluate/evaluate.h"

typedef struct _RaProposer RaProposer;

/* Borrows @costs' space.  Cost: O(candidates log candidates). */
RaProposer *ra_proposer_new(const RaCostTable *costs);
void ra_proposer_free(RaProposer *proposer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaProposer, ra_proposer_free)

/* Calls that have a choice. */
uint32_t ra_proposer_n_calls(const RaProposer *proposer);

/* Any candidate anywhere, as above, for every call that has a choice. */
void ra_proposer_point(const RaProposer *proposer, RaRng *rng,
                       RaPoint *inout_point);

/**
 * ra_proposer_draw:
 * @rng: of the chain: moved on by some numbers
 * @point: that is changed
 * @out_proposal: (out): one call at least
 *
 * Returns: an exponential variate of mean 1: in temperatures what the change
 *   may cost.  In steps of 1/4096 of its probability.
 */
double ra_proposer_draw(const RaProposer *proposer, RaRng *rng,
                        const RaPoint *point, RaProposal *out_proposal);

/* @n calls, some perhaps twice, choose anew. */
void ra_proposer_kick(const RaProposer *proposer, RaRng *rng, uint32_t n,
                      RaPoint *inout_point);

#endif
