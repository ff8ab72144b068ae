/* Explanation of a run's time and memory, as tables: `simulate --explain`.
 *
 *   path_causes                     a row per cause of the critical path
 *                                   (sim/path_share.h): computation by op,
 *                                   communication by op and link ...; the
 *                                   shares add up to 1
 *   waiting                         a row per group of GPUs and per cause of
 *                                   its waiting while nothing ran on it
 *                                   (sim/waiting.h); share: of the group's time
 *                                   in the run
 *   links                           with flows, a row per link: how busy it was
 *                                   in the run, and by how much it delayed the
 *                                   tasks for which it was the busiest
 *   memory_extremes, memory_over_time  memory of GPUs at its turning points, by
 *                                   holder (study/report/explain_memory.h)
 *
 * All tables describe the whole run.
 */
#ifndef RA_STUDY_REPORT_EXPLAIN_H
#define RA_STUDY_REPORT_EXPLAIN_H

#include "base/table.h"
#include "study/replay.h"

typedef struct {
  RaTable *causes;  /* owned */
  RaTable *waiting; /* owned */
  RaTable *links;   /* owned, nullable: without flows */
  RaTable *turns;   /* owned: memory_extremes (study/report/explain_memory.h) */
  RaTable *holders; /* owned: memory_over_time */
} RaExplain;

/**
 * ra_explain_new:
 * @setup: setup of the replay; borrowed
 * @replay: has run; borrowed
 *
 * Returns: (transfer full): free with ra_explain_free()
 */
RaExplain *ra_explain_new(const RaSetup *setup, const RaReplay *replay);
void ra_explain_free(RaExplain *explain);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaExplain, ra_explain_free)

#endif
