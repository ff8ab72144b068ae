/* Small runs of the executor, whole, for tests.
 *
 *     RunFixture *f = run_fixture_new(&spec);
 *     run_fixture_go(f);
 *     ... f->run ...
 *     run_fixture_free(f);
 */
#ifndef RA_TESTS_SUPPORT_RUN_FIXTURE_H
#define RA_TESTS_SUPPORT_RUN_FIXTURE_H

#include "exec/run.h"
#include "tests/support/plan_text.h"

typedef struct {
  const char *algorithm; /* "ppo", "grpo" or "sft" */
  const char *config;    /* "run.json" or "run-tied.json" */
  const char *all;       /* lines of every call's plan, "dp = 2\n..." */
  const char *generate;  /* (nullable): of the generate call instead */
  const char *train;     /* (nullable): of the train calls besides */
  uint32_t n_iterations;
  uint64_t seed;
  const char *train_alone; /* (nullable): of the train calls instead */
  uint32_t staleness;      /* of the generate call */
  const char *head;        /* (nullable): [workload] instead of the usual */
  gboolean two_rules;      /* grpo: a second host call, each on a mesh */
  const char *first_rule;  /* plan of the host call */
  const char *second_rule; /* and of the second */
  const char *dtype;       /* (nullable): of all models; NULL: fp32 */
} RunSpec;

typedef struct {
  PlanText *text;
  RaTaskGraph *graph;
  RaRunOptions options; /* may be changed before it goes */
  RaRun *run;
} RunFixture;

RunFixture *run_fixture_new(const RunSpec *spec);
/* Runs it; a fault fails the test. */
void run_fixture_go(RunFixture *fixture);
void run_fixture_free(RunFixture *fixture);

/* (transfer full): all parameters of @call, put together from all ranks by
 * place in the model; checks that ranks that hold one agree to the bit. */
GArray *run_fixture_params(const RunFixture *fixture, const char *call);

/* The same of AdamW's first moments; @call trains. */
GArray *run_fixture_moments(const RunFixture *fixture, const char *call);

/* The largest difference, relative to the largest of @b. */
double run_fixture_worst(const GArray *a, const GArray *b);

#endif
