/* Every strategy on every shipped workload: what is written is read, tiles its
 * GPUs and runs, or is refused in one line. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "graph/input/plan_write.h"
#include "graph/input/turns.h"
#include "search/family/cluster_split.h"
#include "search/family/strategy.h"
#include "study/memory_verdict.h"
#include "study/replay.h"
#include "tests/support/check_main.h"

/* (transfer full): names of the shipped workloads. */
static GPtrArray *
shipped_workloads(void)
{
  g_autofree char *folder =
      g_build_filename(g_getenv("srcdir"), "share", "workloads", NULL);
  GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
  GDir *dir = g_dir_open(folder, 0, NULL);
  const char *name;

  ck_assert_ptr_nonnull(dir);
  while ((name = g_dir_read_name(dir))) {
    /* The tiny ones in bf16 have two heads: no tp of 8. */
    if (g_str_has_suffix(name, ".workload") &&
        !g_str_has_suffix(name, "-tiny-bf16.workload"))
      g_ptr_array_add(names, g_strdup(name));
  }
  g_dir_close(dir);
  return names;
}

static const guint n_nodes[] = {1, 4, 16};

/* Settings that make the two longest workloads shorter, in kind what they are:
 * answers in trips, and in turns with tools. */
static const struct {
  const char *workload, *sets[3];
} shorter[] = {
    {"dapo-qwen2.5-32b.workload",
     {"workload.prompts=64", "workload.trip-prompts=192",
      "workload.response-length=lognormal(1000, 875, 5120)"}},
    {"grpo-tools-qwen2.5-7b.workload", {"workload.prompts=64"}},
};

static RaSetup *
pair(const char *workload, guint nodes)
{
  g_autofree char *change = g_strdup_printf("cluster.nodes=%u", nodes);
  const char *sets[2 + G_N_ELEMENTS(shorter->sets)] = {change};
  RaSetupFlags flags = {
      .workload = workload, .cluster = "h100-16n.cluster", .sets = sets};
  GError *error = NULL;
  RaSetup *setup;

  for (guint i = 0; i < G_N_ELEMENTS(shorter); i++)
    if (strcmp(workload, shorter[i].workload) == 0)
      memcpy(sets + 1, shorter[i].sets, sizeof shorter[i].sets);
  setup = ra_setup_load_pair(&flags, &error);
  ck_assert_msg(setup != NULL, "%s", error ? error->message : "");
  return setup;
}

/* The part of a call that has GPUs of its own in a disaggregated placement:
 * its model, and whether it trains a trained one. */
static guint
part_of(const RaWorkload *workload, guint call)
{
  const RaCall *c = &workload->calls[call];
  gboolean shadow = c->kind != RA_CALL_TRAIN &&
                    ra_workload_trainer(workload, c->model) != RA_NONE;

  return 2 * c->model + (shadow ? 1 : 0);
}

/* Two calls of different parts never share a GPU, two of the same part share
 * all. */
static gboolean
parts_are_disjoint(const RaPlan *plan)
{
  const RaWorkload *w = plan->workload;

  for (guint a = 0; a < w->n_calls; a++) {
    for (guint b = 0; b < a; b++) {
      const RaMesh *x = &plan->calls[a].mesh, *y = &plan->calls[b].mesh;

      if (w->calls[a].kind == RA_CALL_HOST || w->calls[b].kind == RA_CALL_HOST)
        continue;
      if (part_of(w, a) == part_of(w, b) ? !ra_mesh_equal(x, y)
                                         : ra_mesh_overlaps(x, y))
        return FALSE;
    }
  }
  return TRUE;
}

static gboolean
is_frozen(const RaWorkload *w, guint call)
{
  return w->calls[call].kind != RA_CALL_HOST &&
         ra_workload_trainer(w, w->calls[call].model) == RA_NONE;
}

/* Trained models are on all GPUs; two models that are never trained have half
 * of them each and share none; one has all. */
static gboolean
frozen_are_halves(const RaPlan *plan)
{
  const RaWorkload *w = plan->workload;
  guint n = ra_cluster_n_gpus(plan->cluster), n_frozen = 0, frozen[2];

  for (guint c = 0; c < w->n_calls; c++) {
    if (is_frozen(w, c) && n_frozen < 2)
      frozen[n_frozen++] = c;
    else if (w->calls[c].kind != RA_CALL_HOST && !is_frozen(w, c) &&
             ra_mesh_n_gpus(&plan->calls[c].mesh) != n)
      return FALSE;
  }
  if (n_frozen < 2)
    return n_frozen == 0 || ra_mesh_n_gpus(&plan->calls[frozen[0]].mesh) == n;
  return 2 * ra_mesh_n_gpus(&plan->calls[frozen[0]].mesh) == n &&
         2 * ra_mesh_n_gpus(&plan->calls[frozen[1]].mesh) == n &&
         !ra_mesh_overlaps(&plan->calls[frozen[0]].mesh,
                           &plan->calls[frozen[1]].mesh);
}

/* Promises of the paper, or of the strategy's name, about meshes and degrees.
 */
static gboolean
keeps_promise(RaStrategyKind kind, const RaPlan *plan)
{
  const RaWorkload *w = plan->workload;
  guint n = ra_cluster_n_gpus(plan->cluster);

  if (kind == RA_STRATEGY_DISAGGREGATED)
    return parts_are_disjoint(plan);
  if (kind == RA_STRATEGY_INTERLEAVING)
    return frozen_are_halves(plan);
  for (guint c = 0; c < w->n_calls; c++) {
    const RaCallPlan *call = &plan->calls[c];

    if (w->calls[c].kind == RA_CALL_HOST)
      continue;
    if (kind == RA_STRATEGY_COLOCATED &&
        (ra_mesh_n_gpus(&call->mesh) != n || call->zero != 3 || call->pp != 1))
      return FALSE;
    /* tp: 8, but 4 for the 28 heads of Qwen2.5-7B. */
    if (kind == RA_STRATEGY_MEGATRON &&
        (ra_mesh_n_gpus(&call->mesh) != n ||
         call->tp !=
             (w->models[w->calls[c].model].model->n_heads % 8 == 0 ? 8 : 4) ||
         call->pp > plan->cluster->n_nodes))
      return FALSE;
  }
  return TRUE;
}

/* One line, led by the strategy's name. */
static void
check_refusal(RaStrategyKind kind, const GError *error)
{
  ck_assert_ptr_nonnull(error);
  ck_assert_msg(g_error_matches(error, RA_ERROR, RA_ERROR_NEGATIVE), "%s",
                error->message);
  ck_assert_ptr_null(strchr(error->message, '\n'));
  ck_assert(g_str_has_prefix(error->message, ra_strategy_names[kind]));
}

/* TRUE: written, read, run, and found to fit; FALSE: refused. */
static gboolean
plan_one(RaStrategyKind kind, const char *workload, guint nodes)
{
  RaStrategyOptions options = {.kind = kind};
  RaReplayOptions run = {.n_iterations = 2, .fidelity = RA_FIDELITY_CALL};
  g_autoptr(RaSetup) setup = pair(workload, nodes);
  g_autoptr(GError) error = NULL;
  g_autoptr(RaReplay) replay = NULL;
  g_autoptr(RaMemoryVerdict) fit = NULL;
  g_autofree char *text = NULL;
  RaDraft *draft = ra_strategy_plan(setup->workload, setup->cluster,
                                    setup->estimator, &options, &error);

  /* Turns are continuous batches, which ZeRO-3 has not; of any size. */
  if (ra_turns_are_set(setup->workload) &&
      (kind == RA_STRATEGY_COLOCATED || kind == RA_STRATEGY_INTERLEAVING)) {
    ck_assert_ptr_null(draft);
    ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_INPUT));
    ck_assert_ptr_nonnull(strstr(error->message, "--generate-tp"));
    return FALSE;
  }
  if (!draft) {
    check_refusal(kind, error);
    return FALSE;
  }
  text = ra_draft_write(draft, workload, "h100-16n.cluster", NULL, &error);
  ck_assert_msg(text != NULL, "%s", error ? error->message : "");
  ck_assert_msg(ra_setup_read_plan(setup, "x.plan", text, &error),
                "%s on %u nodes: %s\n%s", workload, nodes,
                error ? error->message : "", text);
  ck_assert_msg(ra_plan_equal(draft->plan, setup->plan), "%s", text);
  ck_assert_msg(keeps_promise(kind, setup->plan), "%s", text);
  ra_draft_free(draft);
  replay = ra_replay_new(setup, &run, &error);
  ck_assert_msg(replay != NULL, "%s", error ? error->message : "");
  ck_assert_double_gt(ra_sim_result(replay->sim)->makespan_s, 0);
  fit = ra_memory_verdict_new(setup, NULL, replay);
  ck_assert_msg(fit->fits, "%s on %u nodes: %s\n%s", workload, nodes,
                fit->verdict, text);
  return TRUE;
}

/* A workload that is refused on fewer nodes for its size, but not on all: a
 * strategy that refuses everything would pass the checks above. */
START_TEST(test_every_workload)
{
  RaStrategyKind kind = (RaStrategyKind)(_i % RA_N_STRATEGIES);
  guint nodes = n_nodes[_i / RA_N_STRATEGIES], n_planned = 0;

  g_autoptr(GPtrArray) workloads = shipped_workloads();

  for (guint w = 0; w < workloads->len; w++)
    if ((w + (guint)_i) % RA_CHECK_SHARE == 0)
      n_planned += plan_one(kind, g_ptr_array_index(workloads, w), nodes);
  ck_assert_uint_ge(workloads->len, 16);
  /* On one node models of 7 and 8 x 10^9 parameters, on 128 GPUs most. */
  if (RA_CHECK_SHARE == 1)
    ck_assert_uint_ge(n_planned, nodes == 1 ? 3 : nodes == 4 ? 7 : 11);
}
END_TEST

static RaDraft *
draft_of(const RaSetup *setup, const RaStrategyOptions *options)
{
  GError *error = NULL;
  RaDraft *draft = ra_strategy_plan(setup->workload, setup->cluster,
                                    setup->estimator, options, &error);

  ck_assert_msg(draft != NULL, "%s", error ? error->message : "");
  return draft;
}

/* The oracles above find a plan that is wrong: a call of a disaggregated plan
 * on the GPUs of another, and halves that are the same half. */
START_TEST(test_faults_are_found)
{
  g_autoptr(RaSetup) setup = pair("ppo-llama3-70b.workload", 16);
  RaStrategyOptions options = {.kind = RA_STRATEGY_DISAGGREGATED};
  RaDraft *draft = draft_of(setup, &options);
  guint ref = ra_workload_find_call(setup->workload, "ref_inference");
  guint reward = ra_workload_find_call(setup->workload, "reward_inference");

  ck_assert(parts_are_disjoint(draft->plan));
  draft->plan->calls[ref].mesh = draft->plan->calls[reward].mesh;
  ck_assert(!parts_are_disjoint(draft->plan));
  ra_draft_free(draft);
  options.kind = RA_STRATEGY_INTERLEAVING;
  draft = draft_of(setup, &options);
  ck_assert(frozen_are_halves(draft->plan));
  draft->plan->calls[ref].mesh = draft->plan->calls[reward].mesh;
  ck_assert(!frozen_are_halves(draft->plan));
  ra_draft_free(draft);
}
END_TEST

/* Four of 13B, 1,024 sequences of 2,048 tokens: 40 layers x 5,120 x 2 x 2 bytes
 * a token are 1.6 GiB a sequence, 1,600 GiB in all, which 16 A100 of 80 GiB do
 * not have room for beside the models; an engine lets in some at a time.  What
 * it has is what the account leaves: a quarter more does not fit. */
START_TEST(test_continuous)
{
  static const uint32_t one_pool[] = {1};
  const char *sets[] = {"cluster.nodes=2", NULL};
  RaSetupFlags flags = {.workload = "ppo-llama2-13b-1k.workload",
                        .cluster = "a100-4n.cluster",
                        .sets = sets};
  RaStrategyOptions options = {.kind = RA_STRATEGY_HYBRIDFLOW,
                               .split = one_pool,
                               .n_split = 1,
                               .batching = RA_STRATEGY_BATCHING_STATIC};
  RaReplayOptions run = {.n_iterations = 2, .fidelity = RA_FIDELITY_CALL};
  g_autoptr(GError) error = NULL;
  g_autoptr(RaSetup) setup = ra_setup_load_pair(&flags, &error);

  ck_assert_ptr_nonnull(setup);
  ck_assert_ptr_null(ra_strategy_plan(setup->workload, setup->cluster,
                                      setup->estimator, &options, &error));
  ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_NEGATIVE));
  options.batching = RA_STRATEGY_BATCHING_AUTO;
  for (guint more = 0; more < 2; more++) {
    g_autoptr(RaDraft) draft = draft_of(setup, &options);
    RaCallPlan *generate = &draft->plan->calls[0];
    g_autoptr(RaReplay) replay = NULL;
    g_autoptr(RaMemoryVerdict) fit = NULL;
    g_autofree char *text = NULL;

    ck_assert_str_eq(setup->workload->calls[0].name, "actor_generate");
    ck_assert_int_eq(generate->batching, RA_BATCHING_CONTINUOUS);
    ck_assert_uint_ge(generate->kv_memory_bytes, (uint64_t)2 << 30);
    if (more)
      generate->kv_memory_bytes += generate->kv_memory_bytes / 4;
    g_clear_error(&error);
    text = ra_draft_write(draft, flags.workload, flags.cluster, NULL, &error);
    ck_assert_msg(ra_setup_read_plan(setup, "x.plan", text, &error), "%s",
                  error ? error->message : "");
    ck_assert(ra_plan_equal(draft->plan, setup->plan));
    replay = ra_replay_new(setup, &run, &error);
    ck_assert_ptr_nonnull(replay);
    fit = ra_memory_verdict_new(setup, NULL, replay);
    ck_assert_msg(fit->fits == !more, "%s\n%s", fit->verdict, text);
  }
}
END_TEST

/* A plan that fits with a static batch has one unless the options say
 * otherwise; ZeRO has no engine. */
START_TEST(test_batching_asked)
{
  g_autoptr(RaSetup) setup = pair("ppo-llama2-7b.workload", 4);
  RaStrategyOptions options = {.kind = RA_STRATEGY_REAL};
  g_autoptr(GError) error = NULL;

  for (int b = RA_STRATEGY_BATCHING_AUTO; b <= RA_STRATEGY_BATCHING_CONTINUOUS;
       b++) {
    g_autoptr(RaDraft) draft = NULL;

    options.batching = b;
    draft = draft_of(setup, &options);
    ck_assert_int_eq(draft->plan->calls[0].batching,
                     b == RA_STRATEGY_BATCHING_CONTINUOUS
                         ? RA_BATCHING_CONTINUOUS
                         : RA_BATCHING_STATIC);
  }
  options.kind = RA_STRATEGY_COLOCATED;
  ck_assert_ptr_null(ra_strategy_plan(setup->workload, setup->cluster,
                                      setup->estimator, &options, &error));
  ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_INPUT));
  ck_assert_ptr_nonnull(strstr(error->message, "--generate-tp"));
}
END_TEST

/* The names of what a split may be of, in the order of the workload's calls;
 * and a split that is obeyed: 16 nodes by 4:4:1:1 of actor, critic, ref and
 * reward give ref and reward a node or two each. */
START_TEST(test_split)
{
  static const uint32_t weights[] = {4, 4, 1, 1};
  g_autoptr(RaSetup) setup = pair("ppo-llama3-70b.workload", 16);
  RaStrategyOptions options = {
      .kind = RA_STRATEGY_DISAGGREGATED, .split = weights, .n_split = 3};
  g_autoptr(GError) error = NULL;
  RaDraft *draft = ra_strategy_plan(setup->workload, setup->cluster,
                                    setup->estimator, &options, &error);
  uint32_t n[4] = {0};

  ck_assert_ptr_null(draft);
  ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_INPUT));
  ck_assert_str_eq(error->message,
                   "disaggregated: --split: 3 numbers, expected 6, "
                   "actor_generate:ref_inference:reward_inference:"
                   "critic_inference:actor_train:critic_train, or 4, "
                   "actor:critic:ref:reward");
  options.n_split = 4;
  draft = draft_of(setup, &options);
  ck_assert(parts_are_disjoint(draft->plan));
  for (guint c = 0; c < setup->workload->n_calls; c++)
    n[setup->workload->calls[c].model] +=
        ra_mesh_n_gpus(&draft->plan->calls[c].mesh);
  ck_assert_uint_ge(n[0], 32);
  ck_assert_uint_ge(n[1], 32);
  ck_assert_uint_le(n[2], 16);
  ck_assert_uint_le(n[3], 16);
  ra_draft_free(draft);
}
END_TEST

static gboolean
at_least_a_node(void *user, guint part, const RaMesh *mesh)
{
  (void)user;
  return part != 0 || mesh->gpus_per_node == 8;
}

/* 16 GPUs in two nodes of 8 by 2:1:1.  All begin with 1; the one that is
 * furthest behind (weight over GPUs) doubles: 2 (2/1), 2 (1/1 each), 4 (2/2),
 * 4 (1/2 each), 8 (2/4).  With part 0 on whole nodes only, 8 it has at once.
 * Four GPUs cannot hold five parts. */
START_TEST(test_split_meshes)
{
  RaCluster cluster = {.n_nodes = 2, .gpus_per_node = 8};
  static const double weights[] = {2, 1, 1, 1, 1};
  RaMesh meshes[5];

  for (guint i = 0; i < 2; i++) {
    ck_assert(ra_cluster_split(&cluster, weights, 3, i ? at_least_a_node : NULL,
                               NULL, meshes));
    ck_assert_uint_eq(ra_mesh_n_gpus(&meshes[0]), 8);
    ck_assert_uint_eq(ra_mesh_n_gpus(&meshes[1]), 4);
    ck_assert_uint_eq(ra_mesh_n_gpus(&meshes[2]), 4);
    ck_assert_uint_eq(meshes[1].runs[0].first, 1);
    ck_assert_uint_eq(meshes[2].first_gpu, 4);
    ck_assert(!ra_mesh_overlaps(&meshes[1], &meshes[2]));
  }
  cluster = (RaCluster){.n_nodes = 1, .gpus_per_node = 4};
  ck_assert(ra_cluster_split(&cluster, weights, 4, NULL, NULL, meshes));
  ck_assert(!ra_cluster_split(&cluster, weights, 5, NULL, NULL, meshes));
}
END_TEST

/* Shapes of Qwen3-30B-A3B, whose 128 experts fit in three ways: on every rank,
 * on the ranks of a node, and over nodes only where a node is too small.
 * ZeRO-3 shares none.  On one node with dp 8, tp 1, pp 1, ep 8 and ZeRO-1 a GPU
 * holds the dense parameters D whole and the experts E / 8, each 2 bytes of
 * weights and 4 of gradients, and of the optimizer's 12 bytes D / 8 + E / 8: in
 * all (6 + 12 / 8) D + (6 + 12) E / 8.  The fault: E shared out once more, by
 * dp. */
START_TEST(test_experts)
{
  g_autoptr(RaSetup) setup = pair("grpo-qwen3-30b-a3b.workload", 1);
  const RaWorkload *w = setup->workload;
  uint32_t train = ra_workload_trainer(w, 0);
  const RaModel *model = w->models[0].model;
  double e = (double)ra_model_expert_n_params(model) * model->n_experts *
             ra_model_n_moe_layers(model);
  double d = (double)ra_model_n_params(model) - e;
  double held = (6 + 12 / 8.0) * d + (6 + 12) * e / 8;
  RaShapeAsk ask = {.call = train,
                    .mesh = ra_shape_mesh_nodes(setup->cluster, 0, 1),
                    .zero = 1};
  g_autoptr(GArray) shapes = ra_shapes_new(w, setup->cluster, &ask);
  g_autoptr(GArray) whole = NULL;
  guint n_shared = 0, n_found = 0;

  for (guint i = 0; i < shapes->len; i++) {
    const RaShape *s = &g_array_index(shapes, RaShape, i);
    const RaCallPlan *p = &s->plan;

    ck_assert_uint_eq(model->n_experts % p->ep, 0);
    ck_assert_uint_eq(p->dp * p->tp % p->ep, 0);
    ck_assert_uint_eq(p->expert_tp, p->ep > 1 && p->tp > 1);
    n_shared += p->ep > 1;
    if (p->dp != 8 || p->ep != 8)
      continue;
    n_found++;
    ck_assert_double_eq_tol(s->need.held_bytes, held, 1e-6 * held);
    ck_assert_double_gt(fabs(s->need.held_bytes - held + 12 * e / 8 * 7 / 8),
                        1e-6 * held);
  }
  ck_assert_uint_gt(n_shared, 0);
  ck_assert_uint_eq(n_found, 1);
  ask.zero = 3;
  whole = ra_shapes_new(w, setup->cluster, &ask);
  ck_assert_uint_gt(whole->len, 0);
  for (guint i = 0; i < whole->len; i++)
    ck_assert_uint_eq(g_array_index(whole, RaShape, i).plan.ep, 1);
}
END_TEST

/* 512 x 16 sequences in 4 mini-batches do not divide by 9, so of a node's 72
 * GPUs 64 are used, in a mesh that a plan may have; 6 x 3 = 18 sequences divide
 * among all.  When the time is up nothing is planned. */
START_TEST(test_idle)
{
  RaSetupFlags flags = {.workload = "grpo-qwen3-30b-a3b.workload",
                        .cluster = "gb200-nvl72.cluster"};
  g_autoptr(RaSetup) setup = ra_setup_load_pair(&flags, NULL);
  gint stop = 1;
  RaUntil until = {.stop = &stop};
  RaStrategyOptions options = {.kind = RA_STRATEGY_MEGATRON};
  g_autoptr(RaDraft) draft = draft_of(setup, &options);
  g_autoptr(GError) error = NULL;
  g_autofree char *text =
      ra_draft_write(draft, flags.workload, flags.cluster, NULL, NULL);
  RaCall call = {.kind = RA_CALL_INFERENCE, .n_sequences = 18, .n_parts = 1};
  RaWorkload few = {.calls = &call, .n_calls = 1};

  for (guint c = 0; c < setup->workload->n_calls; c++)
    if (setup->workload->calls[c].kind != RA_CALL_HOST)
      ck_assert_uint_eq(draft->plan->calls[c].mesh.gpus_per_node, 64);
  ck_assert_ptr_nonnull(strstr(text, "mesh = node[0-1]:gpu[0-63]"));
  ck_assert_ptr_nonnull(strstr(text, "8 are"));
  ck_assert(ra_setup_read_plan(setup, "idle", text, NULL));
  ck_assert_uint_eq(ra_shape_node_gpus(&few, setup->cluster), 72);
  call.n_sequences = 16;
  ck_assert_uint_eq(ra_shape_node_gpus(&few, setup->cluster), 64);
  options.until = &until;
  ck_assert_ptr_null(ra_strategy_plan(setup->workload, setup->cluster,
                                      setup->estimator, &options, &error));
  ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_NEGATIVE));
}
END_TEST

static Suite *
strategy_suite(void)
{
  Suite *suite = suite_create("strategy");
  TCase *tcase = tcase_create("core");

  tcase_add_loop_test(tcase, test_every_workload, 0,
                      RA_N_STRATEGIES * (int)G_N_ELEMENTS(n_nodes));
  tcase_add_test(tcase, test_faults_are_found);
  tcase_add_test(tcase, test_continuous);
  tcase_add_test(tcase, test_batching_asked);
  tcase_add_test(tcase, test_split);
  tcase_add_test(tcase, test_split_meshes);
  tcase_add_test(tcase, test_experts);
  tcase_add_test(tcase, test_idle);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(strategy_suite)
