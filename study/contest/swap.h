/* Swaps: the cost of each choice of a plan, found by replacing one call's
 * choice with another plan's.
 *
 *     g_autoptr(RaSwaps) swaps =
 *         ra_swaps_new(setup, loser, winner, 3, 0, &error);
 *     if (swaps && swaps->n > 0 && swaps->rows[0].saved_s > 0)
 *       use(swaps->rows[0].call);
 *
 * For each call, the loser's plan with the winner's choice for that call (mesh,
 * strategy, residency) is replayed at stage fidelity.  What the change saves is
 * the cost of the loser's own choice.  The savings do not add up to the
 * winner's lead, as choices depend on each other (overlapping meshes, layouts
 * at both ends of a reallocation).
 */
#ifndef RA_STUDY_CONTEST_SWAP_H
#define RA_STUDY_CONTEST_SWAP_H

#include "base/table.h"
#include "study/setup.h"

typedef struct {
  uint32_t call;
  char *mine, *theirs; /* choice of the loser, and of the winner; owned */
  double iteration_s;  /* with the winner's choice; NAN: not possible */
  double saved_s;      /* time saved by it; NAN: not possible */
  gboolean fits;       /* it fits with the winner's choice */
  char *refusal;       /* owned, nullable: why it is not possible */
} RaSwap;

typedef struct {
  RaSwap *rows; /* (n), the calls in which the plans differ; the greatest
                   saving first, those that do not fit or are not possible
                   last; owned */
  guint n;
  double iteration_s; /* of the loser's plan */
  const RaWorkload *workload;
} RaSwaps;

/**
 * ra_swaps_new:
 * @setup: from ra_setup_load_pair(); its plan is replaced
 * @loser: text of the loser's plan
 * @winner: text of a plan for the same files
 * @n_iterations: >= 2, replayed
 * @seed: seed of the lengths
 * @error: as ra_setup_read_plan(), ra_replay_new() of @loser
 *
 * Cost: one replay for each call in which they differ, and one more.
 *
 * Returns: (transfer full): free with ra_swaps_free()
 */
RaSwaps *ra_swaps_new(RaSetup *setup, const char *loser, const char *winner,
                      uint32_t n_iterations, uint64_t seed, GError **error);
void ra_swaps_free(RaSwaps *swaps);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSwaps, ra_swaps_free)

/* One row per call in which the plans differ. */
RaTable *ra_swaps_table(const RaSwaps *swaps);

#endif
