/* Memory fit: compares the peak of a replayed plan with the memory of its GPUs,
 * and what it holds in host memory with that of its nodes, where it is known.
 *
 *     g_autoptr(RaMemoryVerdict) fit = ra_memory_verdict_new(setup, &flags,
 *     replay);
 *     if (!fit->fits)
 *       puts(fit->verdict);
 *
 * The tables describe the GPU with the highest peak:
 *
 *   memory          one row: the GPU, its peak and capacity, the time of the
 *                   peak, and the bound of graph/memory/memory_peak.h, which
 *                   needs no replay
 *   memory_components
 *                   a row per holder at that moment, largest first; framework
 *                   and allocator slack are included, so the bytes add up to
 *                   the peak
 *   host_memory     a row per holder of the node with most in host memory
 *                   (graph/memory/host_memory.h), largest first
 *
 * Typical sizes: 128 GPUs in 32 lanes; 5 to 15 holders.
 */
#ifndef RA_STUDY_MEMORY_VERDICT_H
#define RA_STUDY_MEMORY_VERDICT_H

#include "base/table.h"
#include "graph/memory/host_memory.h"
#include "sim/memory_replay.h"
#include "study/replay.h"

typedef struct {
  gboolean fits; /* into its GPUs and its hosts */
  uint32_t lane; /* the fullest, RA_NONE: no GPU runs anything */
  uint32_t gpu;  /* the first of its GPUs, cluster-wide */
  double peak_bytes;
  double capacity_bytes;
  double bound_bytes; /* >= peak_bytes; stage fidelity with the same lengths */
  double peak_s;
  char *task;    /* task that begins at the peak, owned; "start" at the begin */
  char *remedy;  /* owned; NULL: the plan fits, no remedy was requested, or
                    study/remedy.h found none */
  char *verdict; /* owned; NULL: the plan fits; else GPU, moment, holders,
                    remedy */
  RaHostMemory *host; /* owned */
  RaTable *memory;    /* owned */
  RaTable *holders;   /* owned */
  RaTable *hosts;     /* owned */
} RaMemoryVerdict;

/**
 * ra_memory_verdict_new:
 * @setup: with a plan; borrowed
 * @flags: (nullable): flags of @setup, to search for a remedy; %NULL: no search
 * @replay: replay of the plan; borrowed
 *
 * Cost: O(lanes of all tasks).
 *
 * Returns: (transfer full): free with ra_memory_verdict_free()
 */
RaMemoryVerdict *ra_memory_verdict_new(const RaSetup *setup,
                                       const RaSetupFlags *flags,
                                       const RaReplay *replay);
void ra_memory_verdict_free(RaMemoryVerdict *fit);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaMemoryVerdict, ra_memory_verdict_free)

#endif
