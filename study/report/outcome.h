/* Outcome of a simulated run, as tables: its cost, where the cost arises, and
 * why.
 *
 *     RaOutcome *outcome = ra_outcome_new(setup, graph, sim);
 *     ra_table_write(outcome->calls, RA_FORMAT_TSV, out);
 *
 *   summary        one row: time of an iteration, rates, price, fingerprint
 *   calls          a row per call: mesh, strategy, begin, duration, rate
 *   gpu_time       a row per call, then reallocation and idle: GPU-seconds per
 *                  iteration, their share of all, and a call's own by cause.
 *                  The shares of the rows add up to 1, and so do the causes in
 *                  a call's row.
 *   moves          study/report/moves.h: a row each (kind, from, to)
 *   critical_path  a row per (call, kind of task) that the end of the run waits
 *                  for, longest first, a move under the call that waits for it.
 *                  The shares of the rows add up to 1, and so do the causes in
 *                  a call's row.
 *   staleness      where generation is a service: a row per number of batches
 *                  that were trained on since the version with which a sequence
 *                  began: sequences of the whole run, and their share
 *
 * The first four describe one iteration of the steady state (sim/breakdown.h),
 * the others the whole run.
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
  RaBreakdown *breakdown; /* owned: source of the tables */
  char *sentence; /* owned: one sentence about what the run waits for, and where
                     GPU time goes */
  double low_s, high_s; /* 90 % interval of an iteration's time
                           (study/model_error.h); NAN: not known */
  char *extrapolated;   /* owned: ra_extrapolation_note() */
} RaOutcome;

/**
 * ra_outcome_new:
 * @setup: with a plan; borrowed
 * @graph: its tasks; borrowed
 * @sim: has run; borrowed
 *
 * Cost: O(tasks log tasks).
 *
 * Returns: (transfer full): free with ra_outcome_free()
 */
RaOutcome *ra_outcome_new(const RaSetup *setup, const RaTaskGraph *graph,
                          const RaSim *sim);
void ra_outcome_free(RaOutcome *outcome);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaOutcome, ra_outcome_free)

#endif
