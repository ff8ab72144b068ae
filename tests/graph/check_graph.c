#include "config.h"

#include <string.h>

#include "base/rng.h"
#include "graph/expand/lane.h"
#include "graph/expand/sequence.h"
#include "tests/support/check_main.h"
#include "tests/support/plan_text.h"

/* Synchronous PPO, fixed lengths: 32 sequences of 16 + 48 tokens. */
#define PPO_HEAD                                                               \
  "[workload]\nformat = 1\nalgorithm = ppo\ndataset = prompts\n"               \
  "prompts = 32\nprompt-length = fixed(16)\nresponse-length = fixed(48)\n"     \
  "mini-batches = 2\n"

#define CALL(name, keys) "[call " name "]\n" keys "\n"

/* Generation tp 4 on both nodes, ref and reward on one each, training across.
 */
static const char *const spread_plan =
    "[plan]\nformat = 1\nworkload = w\ncluster = c\n" CALL(
        "gen", "mesh = node[0-1]\ndp = 4\ntp = 4")
        CALL("ref", "mesh = node0\ndp = 1\ntp = 8") CALL(
            "rew", "mesh = node1\ndp = 2\ntp = 4")
            CALL("val", "mesh = node[0-1]\ndp = 2\ntp = 8") CALL(
                "atrain",
                "mesh = node0\ndp = 2\ntp = 2\npp = 2\nmicro-batches = 4")
                CALL("ctrain",
                     "mesh = node1\ndp = 2\ntp = 2\npp = 2\nmicro-batches = 4\n"
                     "zero = 1\noverlap-grad-reduce = true");

static PlanText *
make(const char *head, const char *plan, uint32_t n_iterations)
{
  g_autofree char *workload = g_strconcat(head, plan_text_ppo, NULL);
  g_autofree char *cluster = plan_text_cluster(2);
  return plan_text_new(workload, cluster, plan, n_iterations);
}

/* Node 0: gen cuts it in two halves of 4, atrain (dp 2, tp 2, pp 2; order
 * tp, cp, dp, pp) in four pairs {0,1} d0 s0, {2,3} d1 s0, {4,5} d0 s1, {6,7} d1
 * s1.  So four lanes of two GPUs a node: 8 in all. */
START_TEST(test_lanes)
{
  PlanText *t = make(PPO_HEAD, spread_plan, 1);
  g_autoptr(RaTaskGraph) g =
      ra_expand(t->augmented, RA_FIDELITY_STAGE, 0, NULL);
  g_autofree char *first = NULL;

  ck_assert_ptr_nonnull(g);
  ck_assert_uint_eq(g->n_lanes, 8);
  for (uint32_t gpu = 0; gpu < 16; gpu++)
    ck_assert_uint_eq(g->lane_of_gpu[gpu], gpu / 2);
  for (uint32_t i = 0; i < g->n_groups; i++) {
    uint32_t gpus = 0;
    for (uint32_t k = g->group_begin[i]; k < g->group_begin[i + 1]; k++)
      gpus += g->lanes[g->group_lane[k]].n_gpus;
    ck_assert_uint_eq(gpus, g->group_n_gpus[i]);
  }
  first = ra_group_ranks(g, g->group[0]); /* gen, replica 0 */
  ck_assert_str_eq(first, "0-3");
  plan_text_free(t);
}
END_TEST

static guint
count(const RaTaskGraph *g, const char *call, RaTaskKind kind)
{
  guint n = 0;
  for (uint32_t t = 0; t < g->n_tasks; t++) {
    const RaNode *node = &g->augmented->nodes[g->node[t]];
    n +=
        g->kind[t] == kind && node->kind == RA_NODE_CALL &&
        strcmp(g->augmented->plan->workload->calls[node->call].name, call) == 0;
  }
  return n;
}

/* gen: 4 replicas, one micro-batch and stage: 4 prefills, 4 decodes.
 * atrain: 2 mini-batches x 2 replicas x 4 micro-batches x 2 stages = 32
 * forwards and as many backwards; messages over 1 boundary each way 2 x 2 x 4 x
 * 2 = 32; a reduction a stage and mini-batch, 4; clip 2; optimizer 2 x 2 x 2 =
 * 8; no gather (zero 0). ctrain has zero 1: 4 gathers.  Its stage has far fewer
 * than 40e6 parameters, so the overlap makes one bucket. */
START_TEST(test_task_counts)
{
  PlanText *t = make(PPO_HEAD, spread_plan, 1);
  g_autoptr(RaTaskGraph) g =
      ra_expand(t->augmented, RA_FIDELITY_STAGE, 0, NULL);

  ck_assert_uint_eq(count(g, "gen", RA_TASK_FORWARD), 4);
  ck_assert_uint_eq(count(g, "gen", RA_TASK_DECODE), 4);
  ck_assert_uint_eq(count(g, "atrain", RA_TASK_FORWARD), 32);
  ck_assert_uint_eq(count(g, "atrain", RA_TASK_BACKWARD), 32);
  ck_assert_uint_eq(count(g, "atrain", RA_TASK_SEND), 32);
  ck_assert_uint_eq(count(g, "atrain", RA_TASK_GRAD_REDUCE), 4);
  ck_assert_uint_eq(count(g, "atrain", RA_TASK_CLIP), 2);
  ck_assert_uint_eq(count(g, "atrain", RA_TASK_OPTIMIZER), 8);
  ck_assert_uint_eq(count(g, "atrain", RA_TASK_PARAM_GATHER), 0);
  ck_assert_uint_eq(count(g, "ctrain", RA_TASK_PARAM_GATHER), 4);
  ck_assert_uint_eq(count(g, "ctrain", RA_TASK_GRAD_REDUCE), 4);
  plan_text_free(t);
}
END_TEST

/* Kahn's algorithm: the number of tasks that an order exists for. */
static uint32_t
n_ordered(const RaTaskGraph *g, uint32_t *out_order)
{
  g_autofree uint32_t *left = g_memdup2(g->n_pred, g->n_tasks * sizeof *left);
  uint32_t head = 0, tail = 0;

  for (uint32_t t = 0; t < g->n_tasks; t++)
    if (left[t] == 0)
      out_order[tail++] = t;
  while (head < tail) {
    uint32_t t = out_order[head++];
    for (uint32_t e = g->succ_begin[t]; e < g->succ_begin[t + 1]; e++)
      if (--left[g->succ[e]] == 0)
        out_order[tail++] = g->succ[e];
  }
  return tail;
}

/* No plan's queues contradict its data: an order exists, and in it each
 * lane's compute queue is a chain (every two neighbours have an edge). */
START_TEST(test_acyclic_and_fifo)
{
  PlanText *t = make(PPO_HEAD, spread_plan, 3);
  g_autoptr(RaTaskGraph) g =
      ra_expand(t->augmented, RA_FIDELITY_STAGE, 0, NULL);
  g_autofree uint32_t *order = g_new(uint32_t, g->n_tasks);
  g_autofree uint32_t *last = g_new(uint32_t, g->n_lanes);
  guint n_chained = 0;

  ck_assert_uint_eq(n_ordered(g, order), g->n_tasks);
  memset(last, 0xff, g->n_lanes * sizeof *last);
  for (uint32_t i = 0; i < g->n_tasks; i++) {
    uint32_t task = order[i], group = g->group[task];
    if (g->stream[task] != RA_STREAM_COMPUTE)
      continue;
    for (uint32_t k = g->group_begin[group]; k < g->group_begin[group + 1];
         k++) {
      uint32_t lane = g->group_lane[k], found = 0;
      for (uint32_t e = last[lane] == RA_NONE ? 0 : g->succ_begin[last[lane]];
           last[lane] != RA_NONE && e < g->succ_begin[last[lane] + 1]; e++)
        found |= g->succ[e] == task;
      ck_assert(last[lane] == RA_NONE || found);
      n_chained += found;
      last[lane] = task;
    }
  }
  ck_assert_uint_gt(n_chained, 100);
  plan_text_free(t);
}
END_TEST

/* The longest path with every task of one call taking 1 s and the rest none:
 * how many of its tasks follow each other. */
static double
depth(const RaTaskGraph *g, const double *duration)
{
  g_autofree uint32_t *order = g_new(uint32_t, g->n_tasks);
  g_autofree double *end = g_new0(double, g->n_tasks);
  double most = 0;

  ck_assert_uint_eq(n_ordered(g, order), g->n_tasks);
  for (uint32_t i = 0; i < g->n_tasks; i++) {
    uint32_t t = order[i];
    end[t] += duration[t];
    most = MAX(most, end[t]);
    for (uint32_t e = g->succ_begin[t]; e < g->succ_begin[t + 1]; e++)
      end[g->succ[e]] = MAX(end[g->succ[e]], end[t]);
  }
  return most;
}

/* Parameter versions.  Only atrain takes time, 1 s a mini-batch's clip.
 * Synchronous: three iterations of 2 mini-batches = 6 in a row. */
START_TEST(test_versions_chain)
{
  PlanText *t = make(PPO_HEAD, spread_plan, 3);
  g_autoptr(RaTaskGraph) g =
      ra_expand(t->augmented, RA_FIDELITY_STAGE, 0, NULL);
  g_autofree double *duration = g_new0(double, g->n_tasks);

  for (uint32_t i = 0; i < g->n_tasks; i++)
    if (g->kind[i] == RA_TASK_CLIP && t->augmented->nodes[g->node[i]].call == 4)
      duration[i] = 1;
  ck_assert_double_eq(depth(g, duration), 6);
  plan_text_free(t);
}
END_TEST

static guint
count_nodes(const RaAugmented *a, RaNodeKind kind)
{
  guint n = 0;
  for (uint32_t i = 0; i < a->n_nodes; i++)
    n += a->nodes[i].kind == kind;
  return n;
}

/* Three iterations.  Trained models: actor (gen reads it in another layout) and
 * critic (val does): a reallocation each after iterations 0 and 1, none after
 * the last: 4. Transfers an iteration: gen to ref, rew, val (other dp or mesh),
 * atrain and ctrain 5; ref, rew, val to atrain 3 (rew: node1 to node0, ref: dp
 * 1 to 2, val: two nodes to one); ref, rew, val to ctrain: rew has mesh node1
 * and dp 2 as ctrain has, so it stays: 2. 10 an iteration. */
START_TEST(test_augmented_nodes)
{
  PlanText *t = make(PPO_HEAD, spread_plan, 3);
  const RaAugmented *a = t->augmented;

  ck_assert_uint_eq(count_nodes(a, RA_NODE_CALL), 18);
  ck_assert_uint_eq(count_nodes(a, RA_NODE_REALLOC), 4);
  ck_assert_uint_eq(count_nodes(a, RA_NODE_TRANSFER), 30);
  for (uint32_t i = 0; i < a->n_nodes; i++)
    for (uint32_t e = a->pred_begin[i]; e < a->pred_begin[i + 1]; e++)
      ck_assert_uint_lt(a->pred[e], i);
  for (uint32_t i = 0; i < a->n_nodes; i++)
    if (a->nodes[i].kind == RA_NODE_REALLOC)
      ck_assert_double_gt(a->nodes[i].bytes, 0);
  plan_text_free(t);
}
END_TEST

/* 32 sequences of 64 tokens, 4 bytes a datum and token: 8,192 bytes a datum in
 * all.  score reads two data of gen in 2 chunks and one whole: per chunk 2 x
 * 8,192 / 2, whole 8,192; gen has 4 replicas on two nodes, score 1 on node 0,
 * so one GPU gets all of it, from 4 senders, over the network. */
START_TEST(test_transfer_bytes)
{
  static const char *const texts[] = {
      PPO_HEAD "[model m]\nconfig = tiny.json\n"
               "[call gen]\nmodel = m\nkind = generate\ninputs = prompts\n"
               "outputs = a, b, c\n"
               "[call score]\nmodel = m\nkind = inference\n"
               "inputs = a:chunk(2), b, c:chunk(2)\n",
      "[plan]\nformat = 1\nworkload = w\ncluster = c\n" CALL(
          "gen", "mesh = node[0-1]\ndp = 4\ntp = 4")
          CALL("score", "mesh = node0\ndp = 1\ntp = 8")};
  g_autofree char *cluster = plan_text_cluster(2);
  PlanText *t = plan_text_new(texts[0], cluster, texts[1], 1);
  const RaAugmented *a = t->augmented;
  double sum = 0;
  guint n = 0;

  for (uint32_t i = 0; i < a->n_nodes; i++) {
    const RaNode *node = &a->nodes[i];
    if (node->kind != RA_NODE_TRANSFER)
      continue;
    n++;
    sum += node->bytes;
    ck_assert_double_eq(node->bytes, 8192); /* 2 x 8,192 / 2, or 8,192 */
    ck_assert_double_eq(node->max_inter_bytes, 8192);
    ck_assert_double_eq(node->max_intra_bytes, 0);
    ck_assert_uint_eq(node->n_steps, 4);
  }
  ck_assert_uint_eq(n, 3);
  ck_assert_double_eq(sum, 3 * 8192); /* three data, each once */
  plan_text_free(t);
}
END_TEST

static gboolean
reaches(const RaAugmented *a, uint32_t from, uint32_t to)
{
  if (from == to)
    return TRUE;
  for (uint32_t e = a->pred_begin[to]; e < a->pred_begin[to + 1]; e++)
    if (a->pred[e] >= from && reaches(a, from, a->pred[e]))
      return TRUE;
  return FALSE;
}

static uint32_t
find_node(const RaAugmented *a, uint32_t iteration, uint32_t call)
{
  for (uint32_t i = 0; i < a->n_nodes; i++)
    if (a->nodes[i].kind == RA_NODE_CALL && a->nodes[i].call == call &&
        a->nodes[i].iteration == iteration)
      return i;
  return RA_NONE;
}

/* Iteration k's generation follows the training of k - 1 - staleness, and of no
 * later one. */
START_TEST(test_staleness)
{
  for (uint32_t lag = 0; lag <= 2; lag++) {
    g_autofree char *head = g_strdup_printf(PPO_HEAD "staleness = %u\n", lag);
    PlanText *t = make(head, spread_plan, 5);
    for (uint32_t k = 0; k < 5; k++)
      for (uint32_t made = 0; made < k; made++)
        ck_assert_int_eq(reaches(t->augmented, find_node(t->augmented, made, 4),
                                 find_node(t->augmented, k, 0)),
                         made + 1 + lag <= k);
    plan_text_free(t);
  }
}
END_TEST

/* Sums over ranges are what adding one by one gives, whatever the order of
 * arrival, and all of the set is the same in both orders. */
START_TEST(test_sequence_sums)
{
  static const char *const head =
      "[workload]\nformat = 1\nalgorithm = ppo\ndataset = prompts\n"
      "prompts = 32\nprompt-length = uniform(4, 30)\n"
      "response-length = uniform(1, 200)\n";
  PlanText *t = make(head, spread_plan, 1);
  g_autoptr(RaArena) arena = ra_arena_new(0);
  const RaSequenceSet *s = ra_sequence_set_new(arena, t->plan, 0, 0, 7);
  const RaSequenceSet *again = ra_sequence_set_new(arena, t->plan, 0, 0, 7);
  const RaSequenceSet *other = ra_sequence_set_new(arena, t->plan, 0, 0, 8);

  ck_assert_uint_eq(s->n_sequences, 32);
  for (uint32_t a = 0; a < 32; a += 5)
    for (uint32_t b = a; b <= 32; b += 3) {
      RaBatch batch = ra_sequence_set_batch(s, a, b);
      uint64_t tokens = 0, pairs = 0;
      for (uint32_t i = a; i < b; i++) {
        uint64_t n = (uint64_t)s->prompt[i] + s->response[i];
        tokens += n;
        for (uint64_t q = 1; q <= n; q++)
          pairs += q; /* query q sees q keys */
      }
      ck_assert_uint_eq(batch.q_tokens, tokens);
      ck_assert_uint_eq(batch.pairs, pairs);
    }
  ck_assert_int_eq(memcmp(s->response, again->response, 32 * 4), 0);
  ck_assert_int_ne(memcmp(s->response, other->response, 32 * 4), 0);
  plan_text_free(t);
}
END_TEST

#define EVEN_HEAD                                                              \
  "[workload]\nformat = 1\nalgorithm = ppo\ndataset = prompts\n"               \
  "prompts = 32\nprompt-length = fixed(4)\nresponse-length = fixed(4)\n"

/* Lengths 9, 7, 6, 5, 3, 3, 2, 1 in 3 micro-batches of even tokens: the longest
 * first, to the emptiest, gives 9 + 3, 7 + 3 + 2, 6 + 5 + 1, 12 each; in their
 * order, 3 batches of 2 of the first 6 have 16, 11 and 6.  Padded to the
 * longest of the micro-batch those are 2 x 9, 3 x 7, 3 x 6 and 2 x 9, 2 x 6,
 * 2 x 3; to the longest of all, 9 each; to 4 tokens, only what is shorter
 * grows. */
START_TEST(test_even_cut)
{
  const uint64_t tokens[] = {0, 9, 16, 22, 27, 30, 33, 35, 36};
  const struct {
    RaCallPlan how;
    uint32_t tokens[3];
  } in_order[] = {{{.padding = RA_PADDING_NONE}, {16, 11, 6}},
                  {{.padding = RA_PADDING_MICRO_BATCH}, {18, 12, 6}},
                  {{.padding = RA_PADDING_BATCH}, {18, 18, 18}},
                  {{.padded_length = 4}, {18, 12, 8}}};
  const uint32_t padded[] = {18, 21, 18};
  RaCallPlan even = {.balance = RA_BALANCE_TOKENS};
  uint64_t pairs[9] = {0};
  PlanText *t = make(EVEN_HEAD, spread_plan, 1);
  g_autoptr(RaArena) arena = ra_arena_new(0);
  RaSequenceSet s = *ra_sequence_set_new(arena, t->plan, 0, 0, 7);
  RaBatch out[3];
  uint64_t n_pairs = 0;

  for (guint i = 0; i < 8; i++) {
    uint64_t n = tokens[i + 1] - tokens[i];

    pairs[i + 1] = pairs[i] + n * (n + 1) / 2;
  }
  s.tokens = tokens;
  s.pairs = pairs;
  s.longest = 9;
  ra_sequence_set_cut(&s, 0, 8, 3, &even, out, NULL);
  for (guint i = 0; i < 3; i++) {
    ck_assert_uint_eq(out[i].q_tokens, 12);
    n_pairs += out[i].pairs;
  }
  ck_assert_uint_eq(out[0].n_sequences, 2);
  ck_assert_uint_eq(out[1].n_sequences, 3);
  ck_assert_uint_eq(n_pairs, pairs[8]); /* nothing is lost */
  even.padding = RA_PADDING_MICRO_BATCH;
  ra_sequence_set_cut(&s, 0, 8, 3, &even, out, NULL);
  for (guint i = 0; i < 3; i++)
    ck_assert_uint_eq(out[i].q_tokens, padded[i]);
  ck_assert_uint_eq(out[1].pairs, 3 * 28); /* of 7 tokens, with themselves */
  for (guint k = 0; k < G_N_ELEMENTS(in_order); k++) {
    ra_sequence_set_cut(&s, 0, 6, 3, &in_order[k].how, out, NULL);
    for (guint i = 0; i < 3; i++)
      ck_assert_uint_eq(out[i].q_tokens, in_order[k].tokens[i]);
  }
  plan_text_free(t);
}
END_TEST

/* 240 sequences of 1 to 40 tokens, many alike, in 2 to 60 micro-batches: as a
 * search of all batches for the emptiest has them.  Faults: of equally empty
 * ones another than the first; a heap restored at one child alone. */
START_TEST(test_even_cut_search)
{
  enum { N = 240 };
  PlanText *t = make(EVEN_HEAD, spread_plan, 1);
  g_autoptr(RaArena) arena = ra_arena_new(0);
  RaSequenceSet s = *ra_sequence_set_new(arena, t->plan, 0, 0, 7);
  RaCallPlan even = {.balance = RA_BALANCE_TOKENS};
  uint64_t tokens[N + 1] = {0}, pairs[N + 1] = {0};
  RaRng rng = ra_rng_init(3, 0);

  for (guint i = 0; i < N; i++)
    tokens[i + 1] = tokens[i] + 1 + ra_rng_bits(&rng) % 40;
  s.tokens = tokens;
  s.pairs = pairs;
  for (uint32_t m = 2; m <= 60; m++) {
    RaBatch out[60];
    uint64_t sum[60] = {0};

    for (uint64_t n = 40; n > 0; n--)
      for (guint i = 0; i < N; i++) {
        uint32_t to = 0;

        if (tokens[i + 1] - tokens[i] != n)
          continue;
        for (uint32_t k = 1; k < m; k++)
          if (sum[k] < sum[to])
            to = k;
        sum[to] += n;
      }
    ra_sequence_set_cut(&s, 0, N, m, &even, out, NULL);
    for (uint32_t k = 0; k < m; k++)
      ck_assert_uint_eq(out[k].q_tokens, sum[k]);
  }
  plan_text_free(t);
}
END_TEST

/* Streamed in 4 chunks by 4 replicas of 8 sequences: chunk c holds each
 * replica's two that end c-th, so no response of a replica's chunk is longer
 * than one of its next.  The consumer starts before the producer's last part
 * has ended. */
START_TEST(test_chunks)
{
  static const char *const head =
      "[workload]\nformat = 1\nalgorithm = grpo\ndataset = prompts\n"
      "prompts = 32\nprompt-length = fixed(16)\n"
      "response-length = uniform(1, 200)\n"
      "[model actor]\nconfig = tiny.json\ntrainable = true\n"
      "[model ref]\nconfig = tiny.json\n"
      "[call gen]\nmodel = actor\nkind = generate\ninputs = prompts\n"
      "outputs = seq\n"
      "[call ref]\nmodel = ref\nkind = inference\ninputs = seq:chunk(4)\n"
      "outputs = rlogp\n"
      "[call train]\nmodel = actor\nkind = train\ninputs = seq, rlogp\n";
  static const char *const plan =
      "[plan]\nformat = 1\nworkload = w\ncluster = c\n" CALL(
          "gen", "mesh = node0\ndp = 4\ntp = 2")
          CALL("ref", "mesh = node1\ndp = 4\ntp = 2")
              CALL("train", "mesh = node0\ndp = 4\ntp = 2");
  g_autofree char *cluster = plan_text_cluster(2);
  PlanText *t = plan_text_new(head, cluster, plan, 1);
  g_autoptr(RaArena) arena = ra_arena_new(0);
  const RaSequenceSet *s = ra_sequence_set_new(arena, t->plan, 0, 0, 3);
  const RaAugmented *a = t->augmented;
  uint32_t gen = find_node(a, 0, 0), ref = find_node(a, 0, 1);

  ck_assert_uint_eq(t->workload->calls[0].n_parts, 4);
  for (uint32_t i = 0; i < 8; i++) /* replica 0's block in each chunk */
    for (uint32_t c = 0; c < 3; c++) {
      uint64_t here = s->tokens[c * 8 + i % 2 + 1] - s->tokens[c * 8 + i % 2];
      uint64_t next =
          s->tokens[(c + 1) * 8 + i % 2 + 1] - s->tokens[(c + 1) * 8 + i % 2];
      ck_assert_uint_le(here, next);
    }
  for (uint32_t c = 0; c < 4; c++)
    for (uint32_t d = 0; d < 4; d++)
      ck_assert_int_eq(reaches(a, gen + d, ref + c), d <= c);
  plan_text_free(t);
}
END_TEST

/* Names are unique, and equal hashes mean equal names. */
START_TEST(test_names)
{
  PlanText *t = make(PPO_HEAD, spread_plan, 2);
  g_autoptr(RaTaskGraph) g =
      ra_expand(t->augmented, RA_FIDELITY_STAGE, 0, NULL);
  g_autoptr(GHashTable) names =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr(GHashTable) hashes =
      g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);

  for (uint32_t i = 0; i < g->n_tasks; i++) {
    char name[256];
    uint64_t hash = ra_task_name_hash(g, i);
    ra_task_name(g, i, name, sizeof name);
    ck_assert_msg(g_hash_table_add(names, g_strdup(name)), "%s twice", name);
    ck_assert(g_hash_table_add(hashes, g_memdup2(&hash, sizeof hash)));
  }
  ck_assert(g_hash_table_contains(names, "it0/atrain/d1/s1/b1/m3/k0/bwd"));
  ck_assert(g_hash_table_contains(names, "it1/ctrain/d0/s0/b0/m2/send"));
  ck_assert(g_hash_table_contains(names, "it0/realloc/atrain>gen"));
  plan_text_free(t);
}
END_TEST

/* Call fidelity: one task a node; the same nodes. */
START_TEST(test_call_fidelity)
{
  PlanText *t = make(PPO_HEAD, spread_plan, 3);
  g_autoptr(RaTaskGraph) g = ra_expand(t->augmented, RA_FIDELITY_CALL, 0, NULL);

  ck_assert_uint_eq(g->n_tasks, t->augmented->n_nodes);
  ck_assert_uint_eq(count(g, "gen", RA_TASK_CALL), 3);
  plan_text_free(t);
}
END_TEST

static Suite *
graph_suite(void)
{
  Suite *suite = suite_create("graph");
  TCase *tcase = tcase_create("core");
  tcase_add_test(tcase, test_lanes);
  tcase_add_test(tcase, test_task_counts);
  tcase_add_test(tcase, test_acyclic_and_fifo);
  tcase_add_test(tcase, test_versions_chain);
  tcase_add_test(tcase, test_augmented_nodes);
  tcase_add_test(tcase, test_transfer_bytes);
  tcase_add_test(tcase, test_staleness);
  tcase_add_test(tcase, test_sequence_sums);
  tcase_add_test(tcase, test_even_cut);
  tcase_add_test(tcase, test_even_cut_search);
  tcase_add_test(tcase, test_chunks);
  tcase_add_test(tcase, test_names);
  tcase_add_test(tcase, test_call_fidelity);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(graph_suite)
