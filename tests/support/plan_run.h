/* A plan from text, lowered and replayed, with all intermediate objects.
 *
 * A Run has them in the order of their creation; run_clear() frees them in
 * reverse.
 */
#ifndef RA_TESTS_SUPPORT_PLAN_RUN_H
#define RA_TESTS_SUPPORT_PLAN_RUN_H

#include "sim/sim.h"
#include "tests/support/plan_text.h"
#include "tests/support/profile_text.h"

typedef struct {
  PlanText *text;
  RaProfile *profile;
  RaEstimator *estimator;
  RaTaskGraph *graph;
  RaSim *sim;
} Run;

static inline void
run_clear(Run *r)
{
  ra_sim_free(r->sim);
  ra_task_graph_free(r->graph);
  ra_estimator_free(r->estimator);
  ra_profile_free(r->profile);
  plan_text_free(r->text);
}

#endif
