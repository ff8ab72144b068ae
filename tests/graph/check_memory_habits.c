/* Memory habits of systems against closed forms by hand.  Each test also shows
 * that the executor's habits, all zero, give another number. */
#include "config.h"

#include "graph/input/residency.h"
#include "graph/op/activation.h"
#include "sim/memory_replay.h"
#include "tests/support/check_main.h"
#include "tests/support/plan_text.h"

/* Llama-2-7B: 6,738,415,616 parameters, vocabulary 32000.  64 sequences of 128
 * + 384 tokens, on one node of 8. */
#define WORKLOAD(extra)                                                        \
  "[workload]\nformat = 1\nalgorithm = x\ndataset = prompts\nprompts = 64\n"   \
  "prompt-length = fixed(128)\nresponse-length = fixed(384)\n" extra           \
  "[model actor]\nconfig = llama-2-7b.json\ntrainable = true\n"                \
  "[call gen]\nmodel = actor\nkind = generate\ninputs = prompts\n"             \
  "outputs = seq\n[call train]\nmodel = actor\nkind = train\ninputs = seq\n"
#define PLAN(gen, train)                                                       \
  "[plan]\nformat = 1\nworkload = w\ncluster = c\n[call gen]\n" gen            \
  "[call train]\n" train
#define GENERATES "mesh = node0\ndp = 4\ntp = 2\n"
#define TRAINS                                                                 \
  "mesh = node0\ndp = 8\nzero = 3\nmicro-batches = 8\ngrad-dtype = fp32\n"

enum { GEN, TRAIN };

static const RaMemoryHabits executor = {0};
static const RaMemoryHabits fsdp = {
    .fp32_shards = 1, .drop_gradients = 1, .engine = 1, .in_place_loss = 1};

static PlanText *
make(const char *workload, const char *plan, RaMemoryHabits habits)
{
  g_autofree char *cluster = plan_text_cluster(2);
  PlanText *t = plan_text_new(workload, cluster, plan, 3);

  t->cluster->habits = habits;
  ra_augmented_free(t->augmented);
  t->augmented = ra_augment(t->plan, 3);
  return t;
}

/* A GPU has an eighth of all parameters, n = 842,301,952, which 8 divides.
 * The executor: 2 n in bf16, 12 n of AdamW with master weights; FSDP: 4 n in
 * fp32, which are the master weights, and two moments, 8 n.  Gradients are fp32
 * in both. */
START_TEST(test_states)
{
  const uint64_t n = 842301952;
  PlanText *t = make(WORKLOAD(""), PLAN(GENERATES, TRAINS), executor);
  g_autoptr(RaMemory) mixed = ra_memory_new(t->plan), fp32 = NULL;
  double most, state;

  ck_assert_uint_eq(mixed->calls[TRAIN].stages[0].param_bytes, 2 * n);
  ck_assert_uint_eq(mixed->calls[TRAIN].stages[0].optimizer_bytes, 12 * n);
  t->cluster->habits = fsdp;
  fp32 = ra_memory_new(t->plan);
  ck_assert_uint_eq(fp32->calls[TRAIN].stages[0].param_bytes, 4 * n);
  ck_assert_uint_eq(fp32->calls[TRAIN].stages[0].optimizer_bytes, 8 * n);
  ck_assert_uint_eq(fp32->calls[TRAIN].stages[0].grad_bytes, 4 * n);
  ck_assert_uint_eq(fp32->calls[TRAIN].stages[0].step_bytes, 0);
  /* Generation reads bf16 in its own layout, and no zero 3. */
  ck_assert_uint_eq(fp32->calls[GEN].stages[0].param_bytes,
                    mixed->calls[GEN].stages[0].param_bytes);
  /* States at rest go to host memory: 4 n, or 4 n + 8 n. */
  ra_augment_copy_bytes(t->plan, TRAIN, RA_COPY_PARAMETERS, &most, &state);
  ck_assert(most == 4.0 * (double)n);
  ra_augment_copy_bytes(t->plan, TRAIN, RA_COPY_PARAMETERS | RA_COPY_OPTIMIZER,
                        &most, &state);
  ck_assert(most == 12.0 * (double)n);
  plan_text_free(t);
}
END_TEST

static guint
n_gradient_items(const PlanText *t, gboolean forever)
{
  g_autoptr(RaMemory) m = ra_memory_new(t->plan);
  g_autoptr(GArray) items = ra_memory_items(m, t->augmented);
  guint n = 0;

  for (guint i = 0; i < items->len; i++) {
    const RaMemoryItem *item = &g_array_index(items, RaMemoryItem, i);

    n += ra_holder_kind(item->holder) == RA_HOLD_GRADS &&
         (item->last == RA_NONE) == forever;
  }
  return n;
}

/* Three iterations: one item for good, or one for each train call. */
START_TEST(test_gradients)
{
  PlanText *t = make(WORKLOAD(""), PLAN(GENERATES, TRAINS), executor);

  ck_assert_uint_eq(n_gradient_items(t, TRUE), 1);
  ck_assert_uint_eq(n_gradient_items(t, FALSE), 0);
  t->cluster->habits = fsdp;
  ck_assert_uint_eq(n_gradient_items(t, TRUE), 0);
  ck_assert_uint_eq(n_gradient_items(t, FALSE), 3);
  plan_text_free(t);
}
END_TEST

/* A plan frees them for the executor, too: one item for each train call, from
 * its begin to its end. */
START_TEST(test_grad_residency)
{
  PlanText *t =
      make(WORKLOAD(""), PLAN(GENERATES, TRAINS "grad-residency = release\n"),
           executor);
  g_autoptr(RaMemory) m = ra_memory_new(t->plan);
  g_autoptr(GArray) items = ra_memory_items(m, t->augmented);

  ck_assert_uint_eq(n_gradient_items(t, TRUE), 0);
  ck_assert_uint_eq(n_gradient_items(t, FALSE), 3);
  for (guint i = 0; i < items->len; i++) {
    const RaMemoryItem *item = &g_array_index(items, RaMemoryItem, i);

    if (ra_holder_kind(item->holder) != RA_HOLD_GRADS)
      continue;
    ck_assert_uint_eq(item->first, item->last);
    ck_assert_uint_eq(t->augmented->nodes[item->first].kind, RA_NODE_CALL);
    ck_assert_uint_eq(t->augmented->nodes[item->first].call, TRAIN);
  }
  plan_text_free(t);
}
END_TEST

/* Kept of a micro-batch of b sequences for the loss: of t = 512 b rows and
 * 32,000 logits, 4 bytes of the softmax or 2 of the logits.  The rest of what
 * is kept is the same. */
START_TEST(test_loss)
{
  PlanText *t = make(WORKLOAD(""), PLAN(GENERATES, TRAINS), executor);
  g_autoptr(RaMemory) softmax = ra_memory_new(t->plan), in_place = NULL;
  RaBatch batch = {2, 1024, 1024, 2 * 512 * 513 / 2};
  uint64_t a, b;

  a = ra_activation_bytes(&softmax->calls[TRAIN].shard,
                          softmax->calls[TRAIN].pieces, &batch);
  t->cluster->habits = fsdp;
  in_place = ra_memory_new(t->plan);
  b = ra_activation_bytes(&in_place->calls[TRAIN].shard,
                          in_place->calls[TRAIN].pieces, &batch);
  ck_assert_uint_eq(a - b, 1024ull * 32000 * (4 - 2));
  plan_text_free(t);
}
END_TEST

static RaSim *
run(const RaTaskGraph *g)
{
  g_autofree double *seconds = g_new(double, g->n_tasks);
  RaSim *sim;

  for (RaTaskId t = 0; t < g->n_tasks; t++)
    seconds[t] = (double)(1 + t * 7919u % 13u) / 16;
  sim = ra_sim_new_with_durations(g, seconds);
  ck_assert(ra_sim_run(sim, NULL));
  return sim;
}

/* Peak of GPU 0 by the replay, and whether the bound is not below it. */
static double
peak_bytes(const PlanText *t, uint64_t *out_bytes, gboolean *out_bounded)
{
  g_autoptr(RaTaskGraph) g =
      ra_expand(t->augmented, RA_FIDELITY_STAGE, 0, NULL);
  g_autoptr(RaMemoryTable) table = ra_memory_table_new(g);
  g_autoptr(RaSim) sim = run(g);
  g_autoptr(RaMemoryReplay) r = ra_memory_replay_new(sim, table);
  g_autofree RaCallLoad *loads = ra_call_loads_new(t->plan, 3, 0);
  uint32_t lane = g->lane_of_gpu[0];
  RaMemoryPeak bound;

  ck_assert_uint_eq(r->n_negative, 0);
  ra_memory_peak(table->memory, t->augmented, loads, &bound);
  *out_bounded = bound.total_bytes >= r->lanes[lane].peak_bytes - 1;
  ra_memory_peak_clear(&bound);
  ra_memory_replay_holders_at_peak(sim, table, lane, out_bytes);
  return r->lanes[lane].peak_bytes;
}

/* Generation holds 4 n + 8 n of training, its copy of half of the parameters
 * (and 266,240 of norms that both ranks have), and 16 sequences of 512 tokens
 * of 262,144 bytes; that is more than training of one sequence at a time.
 * Slack of a tenth is on what training holds, on nothing of the engine. */
START_TEST(test_engine)
{
  const double framework = 4.0 * (1 << 30), n = 842301952;
  PlanText *t = make(WORKLOAD(""), PLAN(GENERATES, TRAINS), fsdp);
  g_autoptr(RaMemory) m = ra_memory_new(t->plan);
  g_autofree uint64_t *bytes = g_new(uint64_t, ra_memory_n_holders(m));
  RaBatch step = {16, 16, 0, 0};
  double copy = 6738415616.0 + 266240, cache = 16 * 512 * 262144.0, peak, with;
  double work =
      (double)ra_call_workspace_bytes(m, GEN, 0, RA_PHASE_DECODE, &step);
  gboolean bounded;

  peak = peak_bytes(t, bytes, &bounded);
  with = framework + 1.1 * 12 * n + copy + cache + work;
  ck_assert_double_eq_tol(peak, with, 2);
  ck_assert(bounded);
  /* Holders, slack and framework make up the peak. */
  ck_assert_double_eq_tol((double)ra_memory_sum(bytes, ra_memory_n_holders(m)),
                          peak, 2);
  /* The same with slack on the engine is not what is replayed. */
  t->cluster->habits.engine = 0;
  ck_assert_double_gt(peak_bytes(t, bytes, &bounded), with + 1e8);
  plan_text_free(t);
}
END_TEST

/* The same where segments grow page by page: no slack at all.  With slack on
 * what trains it would be a tenth of 12 n more. */
START_TEST(test_segments)
{
  const double framework = 4.0 * (1 << 30), n = 842301952;
  RaMemoryHabits grows = fsdp;
  PlanText *t;
  g_autoptr(RaMemory) m = NULL;
  g_autofree uint64_t *bytes = NULL;
  RaBatch step = {16, 16, 0, 0};
  double with =
      framework + 12 * n + 6738415616.0 + 266240 + 16 * 512 * 262144.0;
  gboolean bounded;

  grows.expandable = 1;
  t = make(WORKLOAD(""), PLAN(GENERATES, TRAINS), grows);
  m = ra_memory_new(t->plan);
  bytes = g_new(uint64_t, ra_memory_n_holders(m));
  with += (double)ra_call_workspace_bytes(m, GEN, 0, RA_PHASE_DECODE, &step);
  ck_assert_double_eq_tol(peak_bytes(t, bytes, &bounded), with, 2);
  ck_assert(bounded);
  ck_assert_uint_eq(bytes[ra_holder(RA_HOLD_SLACK, 0)], 0);
  t->cluster->habits.expandable = 0;
  ck_assert_double_gt(peak_bytes(t, bytes, &bounded), with + 1.1 * n);
  plan_text_free(t);
}
END_TEST

/* Zero 1 over 8: a GPU has all N parameters and an eighth of the optimizer's
 * state, 12 N / 8; with remainders 2 + 8 bytes of each, and no fp32 copy of
 * bf16 gradients in the step, 4 N / 8; on the CPU none of both.  With fp32
 * gradients there is no copy either way.  Moments of 16 bits are 4 bytes in
 * place of 8 (the fault: half of 12).  Parameters that are stepped themselves
 * have no masters, and zero 3 shards them in bf16, under a system of fp32
 * shards too: 2 bytes of each, 4 else. */
START_TEST(test_masters)
{
#define ZERO_1 "mesh = node0\ndp = 8\nzero = 1\n"
  const uint64_t n = 842301952;
  static const struct {
    const char *keys;
    uint32_t state, step;
  } cases[] = {
      {ZERO_1, 12, 4},
      {ZERO_1 "master-weights = remainders\n", 10, 0},
      {ZERO_1 "optimizer-residency = cpu\n", 0, 0},
      {ZERO_1 "grad-dtype = fp32\n", 12, 0},
      {TRAINS "master-weights = remainders\n", 8, 0}, /* zero 3 of FSDP */
      {ZERO_1 "moments-dtype = bf16\n", 8, 4},
      {ZERO_1 "master-weights = remainders\nmoments-dtype = fp16\n", 6, 0},
      {TRAINS "moments-dtype = bf16\n", 4, 0},
      {ZERO_1 "master-weights = none\n", 8, 0},
      {ZERO_1 "master-weights = none\nmoments-dtype = bf16\n", 4, 0},
      {TRAINS "master-weights = none\nmoments-dtype = bf16\n", 4, 0},
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *plan =
        g_strconcat(PLAN(GENERATES, ""), cases[i].keys, NULL);
    PlanText *t = make(WORKLOAD(""), plan, fsdp);
    g_autoptr(RaMemory) m = ra_memory_new(t->plan);
    const RaStageMemory *s = &m->calls[TRAIN].stages[0];

    ck_assert_uint_eq(s->optimizer_bytes, cases[i].state * n);
    ck_assert_uint_eq(s->step_bytes, cases[i].step * n);
    if (t->plan->calls[TRAIN].zero == 3)
      ck_assert_uint_eq(s->param_bytes,
                        (strstr(cases[i].keys, "none") ? 2 : 4) *
                            s->owned_params);
    plan_text_free(t);
  }
}
END_TEST

static uint32_t
node_of(const RaAugmented *a, RaNodeKind kind, uint32_t iteration,
        uint32_t call)
{
  for (uint32_t n = 0; n < a->n_nodes; n++)
    if (a->nodes[n].kind == kind && a->nodes[n].iteration == iteration &&
        a->nodes[n].call == call)
      return n;
  return RA_NONE;
}

static gboolean
waits_for(const RaAugmented *a, uint32_t node, uint32_t other)
{
  for (uint32_t e = a->pred_begin[node]; e < a->pred_begin[node + 1]; e++)
    if (a->pred[e] == other)
      return TRUE;
  return FALSE;
}

/* An engine gets what iteration 0 trained (a reallocation of iteration 0, to
 * gen) after the optimizer has gone to host memory, and training of iteration 1
 * gets the optimizer back after generation: no copy overlaps a call.  The
 * executor begins both earlier. */
START_TEST(test_order)
{
  const char *plan =
      PLAN(GENERATES, TRAINS "residency = host\noptimizer-residency = host\n");

  for (guint engine = 0; engine < 2; engine++) {
    PlanText *t = make(WORKLOAD(""), plan, engine ? fsdp : executor);
    const RaAugmented *a = t->augmented;
    uint32_t refit = node_of(a, RA_NODE_REALLOC, 0, GEN);
    uint32_t offload = node_of(a, RA_NODE_OFFLOAD, 0, TRAIN);
    uint32_t reload = node_of(a, RA_NODE_RELOAD, 1, TRAIN);
    uint32_t generate = node_of(a, RA_NODE_CALL, 1, GEN);

    ck_assert(refit != RA_NONE && offload != RA_NONE && reload != RA_NONE);
    ck_assert(waits_for(a, refit, offload) == (engine == 1));
    ck_assert(waits_for(a, reload, generate) == (engine == 1));
    plan_text_free(t);
  }
}
END_TEST

static guint
n_copies_for(const PlanText *t, uint32_t call)
{
  guint n = 0;

  for (uint32_t i = 0; i < t->augmented->n_copies; i++)
    n += t->augmented->copies[i].call == call &&
         t->augmented->copies[i].what == RA_COPY_PARAMETERS;
  return n;
}

/* Generation on a node of its own, a version behind: what iteration 0 trained
 * comes while the first version is still read.  The executor has a second copy
 * to write into, an engine overwrites its one. */
START_TEST(test_in_place)
{
  const char *plan = PLAN("mesh = node1\ndp = 4\ntp = 2\n", TRAINS);
  PlanText *t = make(WORKLOAD("staleness = 1\n"), plan, executor);

  ck_assert_uint_gt(n_copies_for(t, GEN), 1);
  plan_text_free(t);
  t = make(WORKLOAD("staleness = 1\n"), plan, fsdp);
  ck_assert_uint_eq(n_copies_for(t, GEN), 1);
  plan_text_free(t);
}
END_TEST

static Suite *
memory_habits_suite(void)
{
  Suite *suite = suite_create("memory_habits");
  TCase *tcase = tcase_create("habits");

  tcase_add_test(tcase, test_states);
  tcase_add_test(tcase, test_gradients);
  tcase_add_test(tcase, test_grad_residency);
  tcase_add_test(tcase, test_loss);
  tcase_add_test(tcase, test_engine);
  tcase_add_test(tcase, test_segments);
  tcase_add_test(tcase, test_masters);
  tcase_add_test(tcase, test_order);
  tcase_add_test(tcase, test_in_place);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(memory_habits_suite)
