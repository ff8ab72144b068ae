/* Workload, cluster and plan from texts, for tests that need a graph.
 *
 *     PlanText *t = plan_text_new(workload, cluster, plan, 2);
 *     ... t->augmented ...
 *     plan_text_free(t);
 */
#ifndef RA_TESTS_SUPPORT_PLAN_TEXT_H
#define RA_TESTS_SUPPORT_PLAN_TEXT_H

#include "graph/expand/expand.h"

typedef struct {
  RaWorkload *workload;   /* owned */
  RaCluster *cluster;     /* owned */
  RaPlan *plan;           /* owned */
  RaAugmented *augmented; /* owned */
} PlanText;

/* Loads key-file texts as a user writes them; a text that does not load fails
 * the test with the loader's message. */
PlanText *plan_text_new(const char *workload, const char *cluster,
                        const char *plan, uint32_t n_iterations);
void plan_text_free(PlanText *text);

/* A small PPO workload on 2-layer models. */
extern const char *const plan_text_ppo;
/* Nodes of 8 GPUs, "cluster of N nodes": (transfer full). */
char *plan_text_cluster(guint n_nodes);

#endif
