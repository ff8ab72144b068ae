/* Which choice costs a plan most: each call's, replaced by another plan's.
 *
 *     g_autoptr(RaSwaps) swaps =
 *         ra_swaps_new(setup, loser, winner, 3, 0, &error);
 *     if (swaps && swaps->n > 0 && swaps->rows[0].saved_s > 0)
 *       use(swaps->rows[0].call);
 *
 * The loser's plan with one call as the winner has it (mesh, strategy,
 * residency) is replayed at stage fidelity, call by call.  What a change saves
 * is what the loser's own choice costs; the sum of what all save is not what
 * the winner is ahead, as choices need each other (meshes that overlap, layouts
 * that a reallocation goes between).
 */
#ifndef RA_STUDY_CONTEST_SWAP_H
#define RA_STUDY_CONTEST_SWAP_H

#include "base/table.h"
#include "study/setup.h"

typedef struct {
  uint32_t call;
  char *mine, *theirs; /* what the loser has, and the winner; owned */
  double iteration_s;  /* with the winner's; NAN: cannot be */
  double saved_s;      /* by that; NAN */
  gboolean fits;       /* so */
  char *refusal;       /* owned, nullable: why it cannot be */
} RaSwap;

typedef struct {
  RaSwap *rows; /* (n), calls in which the plans differ; what saves most first,
                   what does not fit or cannot be last; owned */
  guint n;
  double iteration_s; /* of the loser as it is */
  const RaWorkload *workload;
} RaSwaps;

/**
 * ra_swaps_new:
 * @setup: of ra_setup_load_pair(); a plan that it has is replaced
 * @loser: text of its plan
 * @winner: text of a plan for the same files
 * @n_iterations: >= 2, replayed
 * @seed: of the lengths
 * @error: as ra_setup_read_plan(), ra_replay_new() of @loser
 *
 * Cost: a replay for each call in which they differ, and one.
 *
 * Returns: (transfer full): ra_swaps_free() it
 */
RaSwaps *ra_swaps_new(RaSetup *setup, const char *loser, const char *winner,
                      uint32_t n_iterations, uint64_t seed, GError **error);
void ra_swaps_free(RaSwaps *swaps);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSwaps, ra_swaps_free)

/* One row a call in which they differ. */
RaTable *ra_swaps_table(const RaSwaps *swaps);

#endif
