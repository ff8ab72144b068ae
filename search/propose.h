/* Proposals: random changes of a plan.
 *
 *     g_autoptr(RaProposer) proposer = ra_proposer_new(costs);
 *     double u = ra_proposer_draw(proposer, &rng, point, &proposal);
 *
 * A proposal moves a call to another mesh, to another place, to the mesh of
 * another call, or to another strategy on its own mesh.  It may also swap the
 * meshes of two calls, move the border between them, or move all calls of a
 * model to one mesh.  Mesh sizes are equally likely, except that powers of two
 * are likelier.  Faster strategies of a mesh are likelier: of n strategies in
 * the order of their bounds, number floor(n u^2) is chosen.
 *
 * Most proposals use one Philox block; none needs a division or a logarithm.
 * Thread: any.
 */
#ifndef RA_SEARCH_PROPOSE_H
#define RA_SEARCH_PROPOSE_H

#include "base/rng.h"
#include "search/evaluate/evaluate.h"

typedef struct _RaProposer RaProposer;

/* Creates a proposer, which borrows @costs' space.  Cost: O(candidates log
 * candidates). */
RaProposer *ra_proposer_new(const RaCostTable *costs);
void ra_proposer_free(RaProposer *proposer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaProposer, ra_proposer_free)

/* Number of calls that have a choice. */
uint32_t ra_proposer_n_calls(const RaProposer *proposer);

/* Samples a candidate and a place, with the probabilities above, for every call
 * that has a choice. */
void ra_proposer_point(const RaProposer *proposer, RaRng *rng,
                       RaPoint *inout_point);

/**
 * ra_proposer_draw:
 * @rng: stream of the chain; advances by some numbers
 * @point: plan to change
 * @out_proposal: (out): a change of at least one call
 *
 * Returns: an exponential variate of mean 1: the greatest increase in time that
 * is accepted, in units of the temperature.  Its probability has steps of
 * 1/4096.
 */
double ra_proposer_draw(const RaProposer *proposer, RaRng *rng,
                        const RaPoint *point, RaProposal *out_proposal);

/* Samples new choices for @n calls; a call may be sampled twice. */
void ra_proposer_kick(const RaProposer *proposer, RaRng *rng, uint32_t n,
                      RaPoint *inout_point);

#endif
