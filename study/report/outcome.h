/* The tables of a simulated run: what it costs, where that goes, and why.
 *
 *     RaOutcome *outcome = ra_outcome_new(setup, graph, sim);
 *     ra_table_write(outcome->calls, RA_FORMAT_TSV, out);
 *
 * summary        one row: time of an iteration, rates, price, fingerprint
 * calls          a row a call: mesh, strategy, when, how long, how fast
 * gpu_time       a row a call, then reallocation and idle: GPU-seconds an
 *                iteration, their share of all, and a call's own by cause.  The
 *                shares of the rows add up to 1, the causes of a call's row too
 * moves          study/report/moves.h: a row each (kind, from, to)
 * critical_path  a row each (call, kind of task) that the end of the run waits
 *                for, longest first, a move under the call that waits for it.
 *                The shares of the rows add up to 1, the causes of a call's
 *                row too
 *
 * staleness      a row each number of batches that were trained on since the
 *                version that a sequence was begun with: sequences of the whole
 *                run, and their share; where generation is a service
 *
 * The first four are about one iteration of the window that repeats
 * (sim/breakdown.h), the others about the whole run.
 */
#ifndef RA_STUDY_REPORT_OUTCOME_H
#define RA_STUDY_REPORT_OUTCOME_H

#include "base/table.h"
#include "sim/breakdown.h"
#include "study/setup.h"

typedef struct {
  RaTable *summary;       /* owned */
  RaTable *calls;         /* owned */
  RaTable *gpu_time;      /* owned */
  RaTable *moves;         /* owned */
  RaTable *critical_path; /* owned */
  RaTable *staleness;     /* owned, nullable: of a plan with a service */
  RaBreakdown *breakdown; /* owned: what they were made from */
  char *sentence;         /* owned: what the run waits for, and where GPU time
                             goes, in one sentence */
  char *extrapolated;     /* owned: ra_extrapolation_note() */
} RaOutcome;

/**
 * ra_outcome_new:
 * @setup: with a plan; borrowed
 * @graph: its tasks; borrowed
 * @sim: has run; borrowed
 *
 * Cost: O(tasks log tasks).
 *
 * Returns: (transfer full): ra_outcome_free() it
 */
RaOutcome *ra_outcome_new(const RaSetup *setup, const RaTaskGraph *graph,
                          const RaSim *sim);
void ra_outcome_free(RaOutcome *outcome);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaOutcome, ra_outcome_free)

#endif
