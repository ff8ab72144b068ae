/* Residency: which calls share a copy of a model's parameters, and where the
 * copy is between them.
 *
 * A *copy* is a model in the layout of some of its calls.  Calls of one model
 * in one layout share it, whatever it is called; a kept copy (a shadow model)
 * holds one version at a time, so calls that may lag behind training by
 * another number of versions have one of their own.
 *
 *     if (ra_residency_same_copy(plan, u, v))
 *       what fills the layout of u fills that of v
 *
 * Typical sizes: 6 calls, 5 copies.
 */
#ifndef RA_GRAPH_INPUT_RESIDENCY_H
#define RA_GRAPH_INPUT_RESIDENCY_H

#include "graph/input/plan.h"

/* "release", "keep", "host", NULL: by RaResidency. */
extern const char *const ra_residency_words[];

/* Whether calls @a and @b of @plan read the same copy. */
gboolean ra_residency_same_copy(const RaPlan *plan, uint32_t a, uint32_t b);

/* Whether the copy of call @call is the one that training writes (or, of a
 * model that nothing trains, the only one there is). */
gboolean ra_residency_is_own(const RaPlan *plan, uint32_t call);

/* Whether @call's copy is no copy: the frozen weights beside another model's
 * adapters (`base-of`, graph/input/lora.h), and that model has a copy in this
 * layout that stays on the GPUs. */
gboolean ra_residency_is_shared(const RaPlan *plan, uint32_t call);

/**
 * ra_residency_n_behind:
 * @plan: checked
 * @call: whose copy is the one that training writes
 *
 * Training writes over the version that it began with; a reader in the same
 * layout that may lag, or that comes after training in an iteration, needs an
 * older one.  So many are kept beside the newest.
 *
 * Cost: O(calls).
 */
uint32_t ra_residency_n_behind(const RaPlan *plan, uint32_t call);

/* Whether @call comes after the training of its model in an iteration. */
gboolean ra_residency_is_after(const RaPlan *plan, uint32_t call);

/**
 * ra_residency_check:
 * @plan: all calls read
 * @error: %RA_ERROR_INPUT `file:line: ...`: calls of one model and layout that
 *   differ in residency; an optimizer state in host memory of a model without
 *   one; a kept copy that may lag behind a training whose parameters are not
 *   on the GPUs when it is refitted
 *
 * Cost: O(calls^2).
 *
 * Returns: %TRUE if the residencies agree with each other
 */
gboolean ra_residency_check(const RaPlan *plan, GError **error);

#endif
