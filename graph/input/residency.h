/* Residency: sharing of copies of a model's parameters by calls, and their
 * location between the calls.
 *
 * A *copy* is a model in the layout of some of its calls.  Calls of one model
 * in one layout share a copy.  A kept copy (a shadow model) holds one version
 * at a time, so calls that may lag behind training by different numbers of
 * versions have separate kept copies.
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

/* TRUE if calls @a and @b of @plan read the same copy. */
gboolean ra_residency_same_copy(const RaPlan *plan, uint32_t a, uint32_t b);

/* TRUE if the copy of call @call is the one that training writes, or if no call
 * trains its model. */
gboolean ra_residency_is_own(const RaPlan *plan, uint32_t call);

/* TRUE if @call needs no copy of its own: it reads the frozen weights of
 * another model with adapters (`base-of`, graph/input/lora.h), whose copy in
 * this layout stays on the GPUs. */
gboolean ra_residency_is_shared(const RaPlan *plan, uint32_t call);

/**
 * ra_residency_n_behind:
 * @plan: after ra_residency_check()
 * @call: a call whose copy is the one that training writes
 *
 * Number of older versions that are kept in addition to the newest.  Training
 * overwrites the version that it began with; a reader in the same layout that
 * may lag, or that follows training in an iteration, needs an older one.
 *
 * Cost: O(calls).
 */
uint32_t ra_residency_n_behind(const RaPlan *plan, uint32_t call);

/* TRUE if @call follows the training of its model in an iteration. */
gboolean ra_residency_is_after(const RaPlan *plan, uint32_t call);

/* TRUE if the parameters of @call rest as fp32 shards, which are the master
 * weights of the optimizer too: a trained model of a 16-bit dtype with zero 3,
 * under a system with that habit. */
gboolean ra_residency_is_fp32(const RaPlan *plan, uint32_t call);

/* TRUE if train call @call keeps RA_MASTER_REMAINDERS: its parameters are bf16,
 * and not sharded. */
gboolean ra_residency_has_remainders(const RaPlan *plan, uint32_t call);

/* Bytes of a trained parameter's master weight in the optimizer's state of
 * train call @call, beside the two moments: 4, 2 with remainders, 0 if the
 * parameters are fp32 or stepped themselves. */
uint32_t ra_residency_master_bytes(const RaPlan *plan, uint32_t call);

/* Bytes of AdamW's two moments of a parameter of train call @call: 8 in fp32
 * (Rajbhandari et al., arXiv 1910.02054), 4 in 16 bits (exp_avg_dtype and
 * exp_avg_sq_dtype of Transformer Engine's FusedAdam). */
uint32_t ra_residency_moments_bytes(const RaPlan *plan, uint32_t call);

/* Bytes of the optimizer's state that a rank of train call @call has for each
 * parameter that it holds, after ZeRO has divided them
 * (ra_call_plan_state_ranks()). */
double ra_residency_state_bytes(const RaPlan *plan, uint32_t call,
                                gboolean of_experts);

/* TRUE if the gradients of train call @call exist only while it runs: its
 * parameters are in host memory between calls, or its system drops them. */
gboolean ra_residency_drops_gradients(const RaPlan *plan, uint32_t call);

/* Call whose memory the copy of @call counts as: itself, or with engines of
 * their own the call that trains, if it writes the copy. */
uint32_t ra_residency_holder(const RaPlan *plan, uint32_t call);

/* TRUE if @call generates in an engine of its own (graph/input/cluster.h,
 * habits). */
gboolean ra_residency_is_engine(const RaPlan *plan, uint32_t call);

/**
 * ra_residency_check:
 * @plan: all calls have been read
 * @error: %RA_ERROR_INPUT `file:line: ...`: calls of one model and layout that
 *   differ in residency; optimizer residency host for a model without optimizer
 *   state; a kept copy that may lag behind training whose parameters are not on
 *   the GPUs when it is refitted
 *
 * Cost: O(calls^2).
 *
 * Returns: %TRUE if the residencies agree with each other
 */
gboolean ra_residency_check(const RaPlan *plan, GError **error);

#endif
