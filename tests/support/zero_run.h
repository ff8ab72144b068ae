/* Generation, inference and training of a small model on one node, for tests of
 * the costs of sharding.
 *
 *     const char *keys[3] = {"dp = 8", "dp = 8", "dp = 8\nzero = 3"};
 *     PlanText *t = text_new("tiny.json", "fixed(16)", keys);
 *     Run r = run_new(t, profile_text_load(NULL, NULL), 1e8);
 *     ra_sim_result(r.sim);
 *     run_clear(&r);   and the text with it
 */
#ifndef RA_TESTS_SUPPORT_ZERO_RUN_H
#define RA_TESTS_SUPPORT_ZERO_RUN_H

#include "sim/sim.h"
#include "tests/support/check_points.h"
#include "tests/support/plan_run.h"

/* tiny.json: 16 layers of 4 x 64 x 64 (attention), 3 x 64 x 128 (MLP) and two
 * norms of 64; a table of 512 x 64, a head of that size, a norm of 64.  The
 * total and every layer are divisible by 8. */
#define LAYER_PARAMS (4 * 64 * 64 + 3 * 64 * 128 + 2 * 64)
#define N_PARAMS (16 * LAYER_PARAMS + 2 * 512 * 64 + 64)
/* P: bytes of the weights, and of gradients reduced in bf16. */
#define P_BYTES (2.0 * N_PARAMS)

enum { GENERATE, INFER, TRAIN };
#define N_MINI_BATCHES 2

/* Generation, inference and training on one node, dp 8; @keys[call] are added
 * to the calls; responses by @lengths. */
static inline PlanText *
text_new(const char *config, const char *lengths, const char *const keys[3])
{
  g_autofree char *cluster = plan_text_cluster(1);
  g_autofree char *workload = g_strdup_printf(
      "[workload]\nformat = 1\nalgorithm = x\ndataset = prompts\n"
      "prompts = 128\nprompt-length = fixed(16)\nresponse-length = %s\n"
      "mini-batches = %d\n[model m]\nconfig = %s\ntrainable = true\n"
      "dtype = bf16\n"
      "[call gen]\nmodel = m\nkind = generate\ninputs = prompts\n"
      "outputs = seq\n"
      "[call infer]\nmodel = m\nkind = inference\ninputs = seq\noutputs = r\n"
      "[call train]\nmodel = m\nkind = train\ninputs = seq, r\n",
      lengths, N_MINI_BATCHES, config);
  g_autofree char *plan = g_strdup_printf(
      "[plan]\nformat = 1\nworkload = w\ncluster = c\n"
      "[call gen]\nmesh = node0\n%s\n[call infer]\nmesh = node0\n%s\n"
      "[call train]\nmesh = node0\n%s\n",
      keys[GENERATE], keys[INFER], keys[TRAIN]);

  return plan_text_new(workload, cluster, plan, 1);
}

/* Bytes that the first GPU of the node sends for @call in dp collectives:
 * (n - 1) / n V for n ranks and V bytes, twice that for an all-reduce.  @skip:
 * a kind of task to leave out; RA_N_TASK_KINDS: none. */
static inline double
sent_bytes(const RaTaskGraph *g, uint32_t call, RaTaskKind skip)
{
  double sum = 0;

  for (RaTaskId t = 0; t < g->n_tasks; t++) {
    uint32_t group = g->group[t];
    const RaOp *op;
    double frac;
    if (g->stream[t] != RA_STREAM_DP || g->kind[t] == RA_TASK_CLIP ||
        g->kind[t] == skip || g->augmented->nodes[g->node[t]].call != call ||
        g->group_lane[g->group_begin[group]] != g->lane_of_gpu[0])
      continue;
    op = &g->works[g->work[t]].op;
    frac = ((double)op->dim[1] - 1) / (double)op->dim[1];
    sum += (op->kind == RA_OP_ALL_REDUCE ? 2 : 1) * frac * (double)op->dim[0];
  }
  return sum;
}

/* Simulates it on the ideal device, with links of @link_bytes_per_s. */
static inline Run
run_new(PlanText *text, RaProfile *profile, double link_bytes_per_s)
{
  Run r = {.text = text, .profile = profile};

  text->cluster->device = profile->spec;
  if (link_bytes_per_s > 0)
    text->cluster->device.intra_bytes_per_s = link_bytes_per_s;
  r.estimator = ra_estimator_new(profile, text->cluster, NULL);
  ck_assert_ptr_nonnull(r.estimator);
  r.graph = ra_expand(text->augmented, RA_FIDELITY_STAGE, 0, NULL);
  r.sim = ra_sim_new(r.graph, r.estimator, NULL);
  ck_assert(r.sim && ra_sim_run(r.sim, NULL));
  return r;
}

#endif
