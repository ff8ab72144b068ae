/* Plans: what a file says, the arithmetic of ranks and stages. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/text.h"
#include "graph/input/plan.h"
#include "tests/support/check_main.h"
#include "tests/support/plan_sample.h"

START_TEST(test_good)
{
  static const uint32_t stages[] = {11, 10, 10, 9};
  static const uint8_t order[] = {RA_AXIS_DP, RA_AXIS_TP, RA_AXIS_PP,
                                  RA_AXIS_CP};
  GError *error = NULL;
  RaPlan *plan = plan_from(good, &error);
  const RaCallPlan *call;

  ck_assert_msg(plan != NULL, "%s", error ? error->message : "");
  call = &plan->calls[TRAIN];
  ck_assert(call->set);
  ck_assert_uint_eq(ra_mesh_n_gpus(&call->mesh), 16);
  ck_assert_uint_eq(call->dp, 2);
  ck_assert_uint_eq(call->tp, 4);
  ck_assert_uint_eq(call->pp, 2);
  ck_assert_uint_eq(call->cp, 1);
  ck_assert_uint_eq(call->n_micro_batches, 6);
  ck_assert_int_eq(call->schedule, RA_SCHEDULE_INTERLEAVED);
  ck_assert_uint_eq(call->n_virtual, 2);
  ck_assert_mem_eq(call->stage_layers, stages, sizeof stages);
  ck_assert_mem_eq(call->axis, order, sizeof order);
  ck_assert(call->sequence_parallel && call->overlap_grad_reduce);
  ck_assert_int_eq(call->recompute, RA_RECOMPUTE_SELECTIVE);
  ck_assert_int_eq(call->zero, 1);
  ck_assert_uint_eq(call->zero_group, call->dp);
  ck_assert_int_eq(call->grad_dtype, RA_DTYPE_FP32);
  ck_assert_int_eq(call->launch, RA_LAUNCH_EAGER);
  /* 11 + 10 + 10 layers stand before virtual stage 3. */
  ck_assert_uint_eq(ra_call_plan_first_layer(call, 3), 31);
  ck_assert_int_eq(plan->calls[GENERATE].launch, RA_LAUNCH_GRAPH);
  ra_plan_free(plan);
}
END_TEST

START_TEST(test_defaults)
{
  char *text = ra_edit(good,
                       "micro-batches = 6\nschedule = interleaved:2\n"
                       "sequence-parallel = true\nrecompute = selective\n"
                       "zero = 1\ngrad-dtype = fp32\n"
                       "overlap-grad-reduce = true\nrank-order = dp-tp-pp\n"
                       "stage-layers = 11, 10, 10, 9\n",
                       "");
  /* 96 / (4 mini-batches x 2) = 12 sequences a replica: 2 pp = 4 divides. */
  RaPlan *plan = plan_from(text, NULL);
  static const uint32_t stages[] = {20, 20};
  static const uint8_t order[] = {RA_AXIS_TP, RA_AXIS_CP, RA_AXIS_DP,
                                  RA_AXIS_PP};
  const RaCallPlan *call;

  ck_assert_ptr_nonnull(plan);
  call = &plan->calls[TRAIN];
  ck_assert_uint_eq(call->n_micro_batches, 4);
  ck_assert_int_eq(call->schedule, RA_SCHEDULE_1F1B);
  ck_assert_uint_eq(call->n_virtual, 1);
  ck_assert_mem_eq(call->stage_layers, stages, sizeof stages);
  ck_assert_mem_eq(call->axis, order, sizeof order);
  ck_assert(!call->sequence_parallel && !call->overlap_grad_reduce);
  ck_assert_int_eq(call->recompute, RA_RECOMPUTE_NONE);
  ck_assert_int_eq(call->zero, 0);
  ck_assert_uint_eq(call->zero_group, 1);
  ck_assert_int_eq(call->grad_dtype, RA_DTYPE_BF16);
  ck_assert_int_eq(plan->calls[SCORE].grad_dtype, RA_DTYPE_FP16);
  /* Generation with 2 stages: one micro-batch a stage. */
  ck_assert_uint_eq(plan->calls[GENERATE].n_micro_batches, 2);
  ck_assert_uint_eq(plan->calls[SCORE].dp, 1);
  /* A host call without a group stands for the first node. */
  ck_assert(!plan->calls[VERIFY].set);
  ck_assert_uint_eq(ra_mesh_gpu(&plan->calls[VERIFY].mesh, cluster, 0), 0);
  ra_plan_free(plan);
  g_free(text);
}
END_TEST

START_TEST(test_host_mesh)
{
  char *text = ra_edit(good, "[call score]\n",
                       "[call verify]\nmesh = node3\n[call score]\n");
  RaPlan *plan = plan_from(text, NULL);

  ck_assert_ptr_nonnull(plan);
  ck_assert(plan->calls[VERIFY].set);
  ck_assert_uint_eq(ra_mesh_gpu(&plan->calls[VERIFY].mesh, cluster, 0), 24);
  ra_plan_free(plan);
  g_free(text);
}
END_TEST

START_TEST(test_files)
{
  RaKeyFile *file = key_file("x.plan", good);
  const char *workload_name, *cluster_name;

  ck_assert(ra_plan_files(file, &workload_name, &cluster_name, NULL));
  ck_assert_str_eq(workload_name, "w.workload");
  ck_assert_str_eq(cluster_name, "c.cluster");
  ra_key_file_unref(file);
}
END_TEST

/* The even cut by its definition: differ by at most one, sum to the layers,
 * and the longer stages are contiguous with ends that differ by at most one
 * in their distance from the ends. */
START_TEST(test_stage_layers)
{
  static const struct {
    uint32_t n_layers, n_stages, expected[5];
  } by_hand[] = {
      {80, 4, {20, 20, 20, 20}},
      {126, 4, {31, 32, 32, 31}},    /* llama-3.1-405b */
      {82, 5, {16, 17, 17, 16, 16}}, /* leans to the front */
      {81, 2, {41, 40}},
      {7, 1, {7}},
  };

  for (guint i = 0; i < G_N_ELEMENTS(by_hand); i++) {
    uint32_t layers[5];

    ra_stage_layers_even(by_hand[i].n_layers, by_hand[i].n_stages, layers);
    ck_assert_mem_eq(layers, by_hand[i].expected,
                     by_hand[i].n_stages * sizeof layers[0]);
  }
  for (uint32_t n = 1; n <= 130; n++) {
    for (uint32_t k = 1; k <= n; k++) {
      uint32_t layers[130], sum = 0;

      ra_stage_layers_even(n, k, layers);
      for (uint32_t i = 0; i < k; i++) {
        ck_assert(layers[i] == n / k || layers[i] == n / k + 1);
        sum += layers[i];
      }
      ck_assert_uint_eq(sum, n);
    }
  }
}
END_TEST

/* Ranks against nested loops: the innermost axis runs fastest.  The fault
 * that the oracle must catch: the loops in the default order. */
START_TEST(test_ranks)
{
  RaRng rng = ra_rng_init(5, 0);
  guint n_fault_caught = 0;

  for (guint trial = 0; trial < 200; trial++) {
    RaCallPlan plan = {.n_virtual = 1};
    uint32_t n[RA_N_AXES], at[RA_N_AXES], rank = 0;

    plan.tp = n[RA_AXIS_TP] = 1 + (uint32_t)ra_rng_below(&rng, 4);
    plan.cp = n[RA_AXIS_CP] = 1 + (uint32_t)ra_rng_below(&rng, 2);
    plan.dp = n[RA_AXIS_DP] = 1 + (uint32_t)ra_rng_below(&rng, 4);
    plan.pp = n[RA_AXIS_PP] = 1 + (uint32_t)ra_rng_below(&rng, 4);
    for (guint i = 0; i < RA_N_AXES; i++) {
      guint j = (guint)ra_rng_below(&rng, i + 1);

      plan.axis[i] = plan.axis[j];
      plan.axis[j] = (uint8_t)i;
    }
    const uint8_t *axis = plan.axis;
    for (at[3] = 0; at[3] < n[axis[3]]; at[3]++) {
      for (at[2] = 0; at[2] < n[axis[2]]; at[2]++) {
        for (at[1] = 0; at[1] < n[axis[1]]; at[1]++) {
          for (at[0] = 0; at[0] < n[axis[0]]; at[0]++, rank++) {
            RaCoord coord = ra_call_plan_coord(&plan, rank);

            for (guint i = 0; i < RA_N_AXES; i++) {
              ck_assert_uint_eq(coord.at[axis[i]], at[i]);
              n_fault_caught += coord.at[i] != at[i];
            }
            ck_assert_uint_eq(ra_call_plan_rank(&plan, &coord), rank);
          }
        }
      }
    }
    ck_assert_uint_eq(rank, plan.tp * plan.cp * plan.dp * plan.pp);
  }
  ck_assert_uint_gt(n_fault_caught, 1000);
}
END_TEST

START_TEST(test_same_layout)
{
  char *dense = ra_edit(good, "rank-order = dp-tp-pp\n", "");
  char *text = ra_edit(dense, "stage-layers = 11, 10, 10, 9\n", "");
  RaPlan *plan = plan_from(text, NULL);
  RaPlan *other = plan_from(good, NULL);
  RaCallPlan a, b;

  ck_assert(plan && other);
  a = b = plan->calls[TRAIN];
  ck_assert(ra_call_plan_same_layout(&a, &b));
  /* Stages, rank order: 2 x 4 x 2 ranks in another order. */
  ck_assert(!ra_call_plan_same_layout(&a, &other->calls[TRAIN]));
  b.axis[0] = RA_AXIS_DP;
  b.axis[2] = RA_AXIS_TP;
  ck_assert(!ra_call_plan_same_layout(&a, &b));
  /* cp is 1: where it stands in the order moves nobody. */
  b = a;
  b.axis[0] = RA_AXIS_CP;
  b.axis[1] = RA_AXIS_TP;
  ck_assert(ra_call_plan_same_layout(&a, &b));
  /* Another mesh of the same size, other degrees of the same product. */
  b = a;
  b.mesh.runs[0].first = 1;
  ck_assert(!ra_call_plan_same_layout(&a, &b));
  b = a;
  b.dp = 4;
  b.tp = 2;
  ck_assert(!ra_call_plan_same_layout(&a, &b));
  /* Experts, if the model had any: whole on tp ranks, or cut by all of them. */
  b = a;
  b.expert_tp = a.tp;
  ck_assert(ra_call_plan_same_layout(&a, &b));
  b.expert_tp = 1;
  ck_assert(!ra_call_plan_same_layout(&a, &b));
  /* Changes that move no parameter. */
  b = a;
  b.n_micro_batches = 12;
  b.recompute = RA_RECOMPUTE_FULL;
  ck_assert(ra_call_plan_same_layout(&a, &b));
  /* Sharded gradients move no parameter, sharded parameters do: dp is 2. */
  b.zero = 2;
  ck_assert(ra_call_plan_same_layout(&a, &b));
  b.zero = 3;
  ck_assert_uint_eq(ra_call_plan_n_shards(&b), 2);
  ck_assert(!ra_call_plan_same_layout(&a, &b));
  b.zero_group = 1;
  ck_assert(ra_call_plan_same_layout(&a, &b));
  ra_plan_free(other);
  ra_plan_free(plan);
  g_free(text);
  g_free(dense);
}
END_TEST

/* Loads a shipped plan with what it names, and counts its GPUs. */
static uint32_t
shipped_n_gpus(const char *name)
{
  GError *error = NULL;
  const char *workload_name, *cluster_name;
  char *path = ra_share_find("plans", name, NULL, &error);
  RaKeyFile *file = ra_key_file_load(path, &error);
  gboolean used[1024] = {FALSE};
  uint32_t n_used = 0;

  ck_assert_msg(file != NULL, "%s", error ? error->message : "");
  ck_assert(ra_plan_files(file, &workload_name, &cluster_name, &error));
  char *paths[2] = {ra_share_find("workloads", workload_name, path, &error),
                    ra_share_find("clusters", cluster_name, path, &error)};
  RaKeyFile *files[2] = {ra_key_file_load(paths[0], &error),
                         ra_key_file_load(paths[1], &error)};
  RaWorkload *w = ra_workload_load(files[0], &error);
  RaCluster *c = ra_cluster_load(files[1], &error);
  RaPlan *plan = ra_plan_load(file, w, c, &error);

  ck_assert_msg(plan != NULL, "%s", error ? error->message : "");
  for (guint i = 0; i < w->n_calls; i++) {
    if (w->calls[i].kind == RA_CALL_HOST)
      continue;
    for (uint32_t r = 0; r < ra_mesh_n_gpus(&plan->calls[i].mesh); r++)
      used[ra_mesh_gpu(&plan->calls[i].mesh, c, r)] = TRUE;
  }
  for (guint i = 0; i < G_N_ELEMENTS(used); i++)
    n_used += used[i] != FALSE;
  ck_assert_uint_eq(n_used, ra_cluster_n_gpus(c));
  ra_plan_free(plan);
  ra_workload_free(w);
  ra_cluster_free(c);
  for (guint i = 0; i < 2; i++) {
    ra_key_file_unref(files[i]);
    g_free(paths[i]);
  }
  ra_key_file_unref(file);
  g_free(path);
  return n_used;
}

/* Every shipped plan leaves no GPU of its cluster without work, and its name
 * says how many there are. */
START_TEST(test_shipped)
{
  static const struct {
    const char *name;
    uint32_t n_gpus;
  } shipped[] = {
      {"dpo-llama3-70b-128.plan", 128},
      {"grpo-qwen2.5-32b-128-async.plan", 128},
      {"grpo-qwen2.5-32b-128.plan", 128},
      {"grpo-qwen2.5-7b-32.plan", 32},
      {"ppo-llama2-7b-8-offload.plan", 8},
      {"grpo-qwen3-30b-a3b-32.plan", 32},
      {"ppo-llama2-7b-8-colocated-zero3.plan", 8},
      {"ppo-llama2-7b-8-symmetric.plan", 8},
      {"ppo-llama2-7b-8.plan", 8},
      {"ppo-llama3-70b-1024.plan", 1024},
      {"ppo-llama3-70b-128-disaggregated.plan", 128},
      {"ppo-llama3-70b-128-h200.plan", 128},
      {"ppo-llama3-70b-128-symmetric.plan", 128},
      {"ppo-llama3-70b-128.plan", 128},
      {"remax-llama2-7b-32.plan", 32},
      {"rloo-llama3-8b-32.plan", 32},
      {"rm-llama3-8b-8.plan", 8},
      {"sft-llama3-8b-8.plan", 8},
      {"sft-mixtral-8x7b-32k-32.plan", 32},
  };

  for (guint i = 0; i < G_N_ELEMENTS(shipped); i++)
    ck_assert_uint_eq(shipped_n_gpus(shipped[i].name), shipped[i].n_gpus);
}
END_TEST

static Suite *
plan_suite(void)
{
  Suite *suite = suite_create("plan");
  TCase *tcase = tcase_create("core");

  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_add_test(tcase, test_good);
  tcase_add_test(tcase, test_defaults);
  tcase_add_test(tcase, test_host_mesh);
  tcase_add_test(tcase, test_files);
  tcase_add_test(tcase, test_stage_layers);
  tcase_add_test(tcase, test_ranks);
  tcase_add_test(tcase, test_same_layout);
  tcase_add_test(tcase, test_shipped);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(plan_suite)
