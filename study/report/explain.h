/* Why the time went where it went, as tables: `simulate --explain`.
 *
 * path_causes  a row a cause of the critical path (sim/path_share.h):
 * computation by op, communication by op and link ...; shares add up to 1
 * waiting      a row a group of GPUs and what it waited for while nothing ran
 * on it (sim/waiting.h); share: of the group's time in the run links with
 * flows, a row a link: how busy it was in the run, and how much later tasks
 * ended for which it was the busiest
 * memory_turns, memory_over_time  what GPUs have where their memory turns, by
 * holder (study/report/explain_memory.h)
 *
 * All are about the whole run.
 */
#ifndef RA_STUDY_REPORT_EXPLAIN_H
#define RA_STUDY_REPORT_EXPLAIN_H

#include "base/table.h"
#include "study/replay.h"

typedef struct {
  RaTable *causes;  /* owned */
  RaTable *waiting; /* owned */
  RaTable *links;   /* owned, nullable: without flows */
  RaTable *turns;   /* owned: of memory (study/report/explain_memory.h) */
  RaTable *holders; /* owned: likewise */
} RaExplain;

/**
 * ra_explain_new:
 * @setup: that was replayed; borrowed
 * @replay: has run; borrowed
 *
 * Returns: (transfer full): ra_explain_free() it
 */
RaExplain *ra_explain_new(const RaSetup *setup, const RaReplay *replay);
void ra_explain_free(RaExplain *explain);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaExplain, ra_explain_free)

#endif
