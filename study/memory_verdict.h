/* Whether a replayed plan fits the memory of its GPUs.
 *
 *     g_autoptr(RaMemoryVerdict) fit = ra_memory_verdict_new(setup, &flags,
 *     replay);
 *     if (!fit->fits)
 *       puts(fit->verdict);
 *
 * The tables are of the fullest GPU:
 *
 * memory          one row: which GPU, its peak and capacity, when, and the
 *                 bound of graph/memory/memory_peak.h, which is known without a
 *                 replay
 * memory_holders  a row a holder at that moment, largest first; framework and
 *                 allocator slack are among them, so the bytes add up to the
 *                 peak
 *
 * Typical sizes: 128 GPUs in 32 lanes; 5 to 15 holders.
 */
#ifndef RA_STUDY_MEMORY_VERDICT_H
#define RA_STUDY_MEMORY_VERDICT_H

#include "base/table.h"
#include "sim/memory_replay.h"
#include "study/replay.h"

typedef struct {
  gboolean fits;
  uint32_t lane; /* the fullest, RA_NONE: no GPU runs anything */
  uint32_t gpu;  /* the first of its GPUs, cluster-wide */
  double peak_bytes;
  double capacity_bytes;
  double bound_bytes; /* >= peak_bytes; stage fidelity with the same lengths */
  double peak_s;
  char *task;       /* that begins then, owned; "start" at the begin */
  char *remedy;     /* owned; NULL where it fits, was not asked for, or none
                       that study/remedy.h tries would */
  char *verdict;    /* owned; NULL where it fits: GPU, moment, holders,
                        remedy */
  RaTable *memory;  /* owned */
  RaTable *holders; /* owned */
} RaMemoryVerdict;

/**
 * ra_memory_verdict_new:
 * @setup: with a plan; borrowed
 * @flags: (nullable): that @setup was loaded with, to look for a remedy
 * @replay: of the plan; borrowed
 *
 * Cost: O(lanes of all tasks).
 *
 * Returns: (transfer full): ra_memory_verdict_free() it
 */
RaMemoryVerdict *ra_memory_verdict_new(const RaSetup *setup,
                                       const RaSetupFlags *flags,
                                       const RaReplay *replay);
void ra_memory_verdict_free(RaMemoryVerdict *fit);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaMemoryVerdict, ra_memory_verdict_free)

#endif
