/* Small whole runs of the executor, for tests.
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
  const char *all;       /* plan lines of every call, "dp = 2\n..." */
  const char *generate;  /* (nullable): lines of the generate call instead */
  const char *train;     /* (nullable): further lines of the train calls */
  uint32_t n_iterations;
  uint64_t seed;
  const char *train_alone; /* (nullable): lines of the train calls instead */
  uint32_t staleness;      /* staleness of the generate call */
  const char *head;        /* (nullable): replaces the usual [workload] */
  gboolean pairs;          /* grpo: two answers of a prompt, not four */
  gboolean two_rules;      /* grpo: a second host call, each on a mesh */
  const char *first_rule;  /* plan of the host call */
  const char *second_rule; /* plan of the second host call */
  const char *dtype;       /* (nullable): dtype of all models; NULL: fp32 */
} RunSpec;

typedef struct {
  PlanText *text;
  RaTaskGraph *graph;
  RaRunOptions options; /* may be changed before the run */
  RaRun *run;
} RunFixture;

RunFixture *run_fixture_new(const RunSpec *spec);
/* Runs it; an error fails the test. */
void run_fixture_go(RunFixture *fixture);
void run_fixture_free(RunFixture *fixture);

/* (transfer full): all parameters of @call, assembled from all ranks by place
 * in the model; asserts that ranks with the same parameter agree to the bit. */
GArray *run_fixture_params(const RunFixture *fixture, const char *call);

/* The same for AdamW's first moments; @call trains. */
GArray *run_fixture_moments(const RunFixture *fixture, const char *call);

/* The largest difference, relative to the largest element of @b. */
double run_fixture_worst(const GArray *a, const GArray *b);

#endif
