/* Residency: which nodes a plan adds, what they wait for, which copies are
 * where. */
#include "config.h"

#include "graph/input/residency.h"
#include "tests/support/check_main.h"
#include "tests/support/plan_text.h"
#include "tests/support/residency_sample.h"

enum { GEN, REF, REW, VAL, ATRAIN, CTRAIN };
enum { ACTOR, CRITIC, REFERENCE, REWARD };

static PlanText *
make(const char *extra, char *plan, uint32_t n_iterations)
{
  g_autofree char *workload = g_strconcat(HEAD, extra, plan_text_ppo, NULL);
  g_autofree char *cluster = plan_text_cluster(1);
  PlanText *t = plan_text_new(workload, cluster, plan, n_iterations);

  g_free(plan);
  return t;
}

/* The node of @kind for @call in @iteration, RA_NONE: there is none. */
static uint32_t
find(const RaAugmented *a, RaNodeKind kind, uint32_t iteration, uint32_t call)
{
  for (uint32_t i = 0; i < a->n_nodes; i++)
    if (a->nodes[i].kind == kind && a->nodes[i].call == call &&
        a->nodes[i].iteration == iteration)
      return i;
  return RA_NONE;
}

static guint
count(const RaAugmented *a, RaNodeKind kind)
{
  guint n = 0;

  for (uint32_t i = 0; i < a->n_nodes; i++)
    n += a->nodes[i].kind == kind;
  return n;
}

static gboolean
waits(const RaAugmented *a, uint32_t node, uint32_t for_node)
{
  for (uint32_t e = a->pred_begin[node]; e < a->pred_begin[node + 1]; e++)
    if (a->pred[e] == for_node)
      return TRUE;
  return FALSE;
}

/* TRUE if the copies of @what in @call's layout are exactly @n with these first
 * and last nodes, in order. */
static gboolean
has_copies(const RaAugmented *a, uint32_t call, RaCopyWhat what,
           gboolean pinned, guint n, const uint32_t (*ends)[2])
{
  guint at = 0;

  for (uint32_t i = 0; i < a->n_copies; i++) {
    const RaCopy *c = &a->copies[i];
    if (c->call != call || c->what != what || c->pinned != pinned)
      continue;
    if (at >= n || c->first != ends[at][0] || c->last != ends[at][1])
      return FALSE;
    at++;
  }
  return at == n;
}

/* Nothing said: no copies to or from the host.  gen's copy is dropped after gen
 * and comes again with the reallocation; ref stays; atrain's parameters and
 * optimizer state stay. */
START_TEST(test_release)
{
  PlanText *t = make("", plan_text("", "", "", ""), 2);
  const RaAugmented *a = t->augmented;
  uint32_t gen0 = find(a, RA_NODE_CALL, 0, GEN);
  uint32_t gen1 = find(a, RA_NODE_CALL, 1, GEN);
  uint32_t move = find(a, RA_NODE_REALLOC, 0, GEN);

  ck_assert_uint_eq(count(a, RA_NODE_RELOAD) + count(a, RA_NODE_OFFLOAD), 0);
  ck_assert(has_copies(a, GEN, RA_COPY_PARAMETERS, FALSE, 2,
                       (const uint32_t[][2]){{RA_NONE, gen0}, {move, gen1}}));
  ck_assert(has_copies(a, REF, RA_COPY_PARAMETERS, FALSE, 1,
                       (const uint32_t[][2]){{RA_NONE, RA_NONE}}));
  ck_assert(has_copies(a, ATRAIN, RA_COPY_PARAMETERS, FALSE, 1,
                       (const uint32_t[][2]){{RA_NONE, RA_NONE}}));
  ck_assert(has_copies(a, ATRAIN, RA_COPY_OPTIMIZER, FALSE, 1,
                       (const uint32_t[][2]){{RA_NONE, RA_NONE}}));
  /* the oracle's own test */
  ck_assert(!has_copies(a, GEN, RA_COPY_PARAMETERS, FALSE, 2,
                        (const uint32_t[][2]){{RA_NONE, gen1}, {move, gen1}}));
  plan_text_free(t);
}
END_TEST

/* ref and rew in host memory, 2 iterations: they are frozen, so each use is a
 * reload and nothing is copied out.  rew's reload runs behind ref: it waits for
 * gen, the call before ref; ref's waits for the ctrain of the iteration
 * before, and at first for nothing.
 *
 * Bytes of a GPU of ref at tp 4: a layer has 4 x 64 x 64 in attention and
 * 3 x 64 x 128 in the MLP, which divide, and two norms of 64, which do not;
 * embedding and head have 512 x 64 each, and there is a last norm:
 *
 *     16 (40,960 / 4 + 128) + 65,536 / 4 + 64 = 182,336, in bf16 364,672. */
START_TEST(test_host_frozen)
{
  PlanText *t = make("", plan_text("", HOST, HOST, ""), 2);
  const RaAugmented *a = t->augmented;
  uint32_t ref0 = find(a, RA_NODE_RELOAD, 0, REF);
  uint32_t ref1 = find(a, RA_NODE_RELOAD, 1, REF);
  uint32_t rew1 = find(a, RA_NODE_RELOAD, 1, REW);

  ck_assert_uint_eq(count(a, RA_NODE_RELOAD), 4);
  ck_assert_uint_eq(count(a, RA_NODE_OFFLOAD), 0);
  ck_assert_uint_eq(a->pred_begin[ref0 + 1] - a->pred_begin[ref0], 0);
  ck_assert(waits(a, ref1, find(a, RA_NODE_CALL, 0, CTRAIN)));
  ck_assert(waits(a, rew1, find(a, RA_NODE_CALL, 1, GEN)));
  ck_assert(!waits(a, rew1, find(a, RA_NODE_CALL, 1, REF)));
  ck_assert(waits(a, find(a, RA_NODE_CALL, 1, REF), ref1));
  ck_assert_double_eq(a->nodes[ref0].max_copy_bytes, 364672);
  ck_assert_double_eq(a->nodes[ref0].bytes, 8 * 364672);
  ck_assert(
      has_copies(a, REF, RA_COPY_PARAMETERS, FALSE, 2,
                 (const uint32_t[][2]){{ref0, find(a, RA_NODE_CALL, 0, REF)},
                                       {ref1, find(a, RA_NODE_CALL, 1, REF)}}));
  ck_assert(has_copies(a, REF, RA_COPY_PARAMETERS, TRUE, 1,
                       (const uint32_t[][2]){{RA_NONE, RA_NONE}}));
  plan_text_free(t);
}
END_TEST

/* atrain's parameters and optimizer state in host memory: one reload before it
 * and one offload after it an iteration, the offload behind the reallocation
 * that reads the parameters; the next reload waits for it.  A GPU of tp 2 has
 * 16 (40,960 / 2 + 128) + 65,536 / 2 + 64 = 362,560 parameters of 2 bytes and
 * 12 of optimizer state (zero 0). */
START_TEST(test_host_trained)
{
  PlanText *t =
      make("", plan_text("", "", "", HOST "optimizer-residency = host\n"), 2);
  const RaAugmented *a = t->augmented;
  uint32_t in0 = find(a, RA_NODE_RELOAD, 0, ATRAIN);
  uint32_t in1 = find(a, RA_NODE_RELOAD, 1, ATRAIN);
  uint32_t out0 = find(a, RA_NODE_OFFLOAD, 0, ATRAIN);
  uint32_t out1 = find(a, RA_NODE_OFFLOAD, 1, ATRAIN);
  const uint32_t ends[][2] = {{in0, out0}, {in1, out1}};

  ck_assert_uint_eq(count(a, RA_NODE_RELOAD), 2);
  ck_assert_uint_eq(count(a, RA_NODE_OFFLOAD), 2);
  ck_assert_double_eq(a->nodes[in0].max_copy_bytes, 14 * 362560);
  ck_assert_double_eq(a->nodes[out0].max_copy_bytes, 14 * 362560);
  ck_assert(waits(a, out0, find(a, RA_NODE_REALLOC, 0, GEN)));
  ck_assert(waits(a, in1, out0));
  ck_assert(waits(a, find(a, RA_NODE_CALL, 1, ATRAIN), in1));
  ck_assert(has_copies(a, ATRAIN, RA_COPY_PARAMETERS, FALSE, 2, ends));
  ck_assert(has_copies(a, ATRAIN, RA_COPY_OPTIMIZER, FALSE, 2, ends));
  ck_assert(has_copies(a, ATRAIN, RA_COPY_OPTIMIZER, TRUE, 1,
                       (const uint32_t[][2]){{RA_NONE, RA_NONE}}));
  plan_text_free(t);
}
END_TEST

/* The optimizer state alone: with zero 1 a GPU has a fourth of it (dp 4), and
 * the parameters stay. */
START_TEST(test_host_optimizer)
{
  PlanText *t = make(
      "", plan_text("", "", "", "zero = 1\noptimizer-residency = host\n"), 2);
  const RaAugmented *a = t->augmented;

  ck_assert_double_eq(
      a->nodes[find(a, RA_NODE_RELOAD, 0, ATRAIN)].max_copy_bytes, 3 * 362560);
  ck_assert(has_copies(a, ATRAIN, RA_COPY_PARAMETERS, FALSE, 1,
                       (const uint32_t[][2]){{RA_NONE, RA_NONE}}));
  plan_text_free(t);
}
END_TEST

/* gen in host memory, trained elsewhere: what the reallocation brought is
 * copied out and reloaded before the next gen. */
START_TEST(test_host_reallocated)
{
  PlanText *t = make("", plan_text(HOST, "", "", ""), 2);
  const RaAugmented *a = t->augmented;
  uint32_t move = find(a, RA_NODE_REALLOC, 0, GEN);
  uint32_t out = find(a, RA_NODE_OFFLOAD, 0, GEN);
  uint32_t in0 = find(a, RA_NODE_RELOAD, 0, GEN);
  uint32_t in1 = find(a, RA_NODE_RELOAD, 1, GEN);

  ck_assert_uint_eq(count(a, RA_NODE_OFFLOAD), 1);
  ck_assert(waits(a, out, move));
  ck_assert(waits(a, in1, out));
  ck_assert(
      has_copies(a, GEN, RA_COPY_PARAMETERS, FALSE, 3,
                 (const uint32_t[][2]){{in0, find(a, RA_NODE_CALL, 0, GEN)},
                                       {move, out},
                                       {in1, find(a, RA_NODE_CALL, 1, GEN)}}));
  plan_text_free(t);
}
END_TEST

/* The same, alone on GPUs of its own: what is on them after gen is outdated as
 * training ends, so that each iteration reloads what the reallocation of the
 * one before has brought to host memory. */
START_TEST(test_host_renewed)
{
  g_autofree char *plan = g_strconcat(
      "[plan]\nformat = 1\nworkload = w\ncluster = c\n",
      CALL("gen", "mesh = node0:gpu[0-3]\ntp = 4\n" HOST)
          CALL("ref", "mesh = node0:gpu[4-7]\ntp = 4\n")
              CALL("rew", "mesh = node0:gpu[4-7]\ntp = 4\n")
                  CALL("val", "mesh = node0:gpu[4-7]\ntp = 4\n") CALL(
                      "atrain", "mesh = node0:gpu[4-7]\ntp = 2\ndp = 2\n")
                      CALL("ctrain", "mesh = node0:gpu[4-7]\ntp = 2\ndp = 2\n"),
      NULL);
  PlanText *t = make("", g_steal_pointer(&plan), 3);
  const RaAugmented *a = t->augmented;
  uint32_t in[3], gen[3], move[2], out[2];

  for (uint32_t i = 0; i < 3; i++) {
    in[i] = find(a, RA_NODE_RELOAD, i, GEN);
    gen[i] = find(a, RA_NODE_CALL, i, GEN);
  }
  for (uint32_t i = 0; i < 2; i++) {
    move[i] = find(a, RA_NODE_REALLOC, i, GEN);
    out[i] = find(a, RA_NODE_OFFLOAD, i, GEN);
    ck_assert(waits(a, out[i], move[i]));
    ck_assert(waits(a, in[i + 1], out[i]));
  }
  ck_assert_uint_eq(count(a, RA_NODE_RELOAD), 3);
  ck_assert(has_copies(a, GEN, RA_COPY_PARAMETERS, FALSE, 5,
                       (const uint32_t[][2]){{in[0], gen[0]},
                                             {move[0], out[0]},
                                             {in[1], gen[1]},
                                             {move[1], out[1]},
                                             {in[2], gen[2]}}));
  plan_text_free(t);
}
END_TEST

/* Parameters that the next call on the mesh reads too stay: one and two, which
 * read ref, have one reload, and count as one user of its memory, so that
 * three's reload runs behind both of them. */
START_TEST(test_host_shared)
{
  static const char *const twice =
      "[model ref]\nconfig = tiny.json\n"
      "[call one]\nmodel = ref\nkind = inference\ninputs = prompts\n"
      "outputs = a\n"
      "[call two]\nmodel = ref\nkind = inference\ninputs = a\n"
      "outputs = b\n"
      "[model other]\nconfig = tiny.json\n"
      "[call three]\nmodel = other\nkind = inference\ninputs = b\n";
  g_autofree char *workload = g_strconcat(HEAD, twice, NULL);
  g_autofree char *cluster = plan_text_cluster(1);
  PlanText *t = plan_text_new(
      workload, cluster,
      "[plan]\nformat = 1\nworkload = w\ncluster = c\n" CALL("one", TP4 HOST)
          CALL("two", TP4 HOST) CALL("three", TP4 HOST),
      2);
  const RaAugmented *a = t->augmented;
  uint32_t in0 = find(a, RA_NODE_RELOAD, 0, 0);
  uint32_t in1 = find(a, RA_NODE_RELOAD, 1, 0);
  uint32_t other = find(a, RA_NODE_RELOAD, 1, 2);

  ck_assert_uint_eq(count(a, RA_NODE_RELOAD), 4);
  ck_assert(waits(a, other, find(a, RA_NODE_CALL, 0, 2)));
  ck_assert(!waits(a, other, find(a, RA_NODE_CALL, 1, 0)));
  ck_assert(
      has_copies(a, 0, RA_COPY_PARAMETERS, FALSE, 2,
                 (const uint32_t[][2]){{in0, find(a, RA_NODE_CALL, 0, 1)},
                                       {in1, find(a, RA_NODE_CALL, 1, 1)}}));
  plan_text_free(t);
}
END_TEST

/* Two train calls of one model an iteration, another model between and after
 * them: the second reloads what the first one offloaded, the first of the next
 * iteration what the second one did. */
START_TEST(test_host_trained_twice)
{
  static const char *const twice =
      "[model m]\nconfig = tiny.json\ntrainable = true\n"
      "[model other]\nconfig = tiny.json\n"
      "[call one]\nmodel = m\nkind = train\ninputs = prompts\n"
      "outputs = a\n"
      "[call rest]\nmodel = other\nkind = inference\ninputs = a\n"
      "outputs = b\n"
      "[call two]\nmodel = m\nkind = train\ninputs = b\noutputs = c\n"
      "[call last]\nmodel = other\nkind = inference\ninputs = c\n";
  g_autofree char *workload = g_strconcat(HEAD, twice, NULL);
  g_autofree char *cluster = plan_text_cluster(1);
  PlanText *t = plan_text_new(
      workload, cluster,
      "[plan]\nformat = 1\nworkload = w\ncluster = c\n" CALL("one", TP4 HOST)
          CALL("rest", TP4) CALL("two", TP4 HOST) CALL("last", TP4),
      2);
  const RaAugmented *a = t->augmented;
  uint32_t in1 = find(a, RA_NODE_RELOAD, 1, 0);

  ck_assert_uint_eq(count(a, RA_NODE_OFFLOAD), 4);
  ck_assert(
      waits(a, find(a, RA_NODE_RELOAD, 0, 2), find(a, RA_NODE_OFFLOAD, 0, 0)));
  ck_assert(waits(a, in1, find(a, RA_NODE_OFFLOAD, 0, 2)));
  ck_assert(!waits(a, in1, find(a, RA_NODE_OFFLOAD, 0, 0)));
  plan_text_free(t);
}
END_TEST

/* A kept copy is there for good, and refitted once an iteration, not once a
 * mini-batch (there are two). */
START_TEST(test_keep)
{
  PlanText *t = make("", plan_text(KEEP, "", "", ""), 3);
  const RaAugmented *a = t->augmented;
  guint n = 0;

  for (uint32_t i = 0; i < a->n_nodes; i++)
    n += a->nodes[i].kind == RA_NODE_REALLOC && a->nodes[i].call == GEN;
  ck_assert_uint_eq(n, 2);
  plan_text_free(make("", plan_text(KEEP, "", "", HOST), 2)); /* is allowed */
  ck_assert(has_copies(a, GEN, RA_COPY_PARAMETERS, FALSE, 1,
                       (const uint32_t[][2]){{RA_NONE, RA_NONE}}));
  plan_text_free(t);
}
END_TEST

/* Staleness 1: generation k reads what training k - 2 wrote.  Released: pushed
 * behind training into a second copy while generation k - 1 reads the first.
 * Kept: one copy, so version 0 comes when generation 1 has ended, and before
 * training 1 writes over it. */
START_TEST(test_keep_lags)
{
  PlanText *pushed = make("staleness = 1\n", plan_text("", "", "", ""), 4);
  PlanText *kept = make("staleness = 1\n", plan_text(KEEP, "", "", ""), 4);
  const RaAugmented *a = kept->augmented, *b = pushed->augmented;
  uint32_t move = find(a, RA_NODE_REALLOC, 0, GEN);

  ck_assert(waits(a, move, find(a, RA_NODE_CALL, 1, GEN)));
  ck_assert(waits(a, move, find(a, RA_NODE_CALL, 0, ATRAIN)));
  ck_assert(waits(a, find(a, RA_NODE_CALL, 2, GEN), move));
  ck_assert(waits(a, find(a, RA_NODE_CALL, 1, ATRAIN), move));
  ck_assert_uint_eq(find(a, RA_NODE_REALLOC, 2, GEN), RA_NONE);
  ck_assert(has_copies(a, GEN, RA_COPY_PARAMETERS, FALSE, 1,
                       (const uint32_t[][2]){{RA_NONE, RA_NONE}}));
  move = find(b, RA_NODE_REALLOC, 0, GEN);
  ck_assert_uint_lt(move, find(b, RA_NODE_CALL, 1, GEN));
  ck_assert(
      has_copies(b, GEN, RA_COPY_PARAMETERS, FALSE, 3,
                 (const uint32_t[][2]){{RA_NONE, find(b, RA_NODE_CALL, 1, GEN)},
                                       {move, find(b, RA_NODE_CALL, 2, GEN)},
                                       {find(b, RA_NODE_REALLOC, 1, GEN),
                                        find(b, RA_NODE_CALL, 3, GEN)}}));
  plan_text_free(pushed);
  plan_text_free(kept);
}
END_TEST

/* (transfer full): all calls in one. */
static char *
one_layout(void)
{
  return g_strdup("[plan]\nformat = 1\nworkload = w\ncluster = c\n" CALL(
      "gen", TP2) CALL("ref", TP2) CALL("rew", TP2) CALL("val", TP2)
                      CALL("atrain", TP2) CALL("ctrain", TP2));
}

/* Staleness 1 and the layout of training: training writes over the version that
 * it began with, so the one before stays beside it; without lag there is one.
 */
START_TEST(test_own_lags)
{
  static const uint32_t stay[][2] = {{RA_NONE, RA_NONE}, {RA_NONE, RA_NONE}};
  PlanText *lags = make("staleness = 1\n", one_layout(), 3);
  PlanText *newest = make("", one_layout(), 3);

  ck_assert_uint_eq(count(lags->augmented, RA_NODE_REALLOC), 0);
  ck_assert(
      has_copies(lags->augmented, GEN, RA_COPY_PARAMETERS, FALSE, 2, stay));
  ck_assert(
      has_copies(newest->augmented, GEN, RA_COPY_PARAMETERS, FALSE, 1, stay));
  plan_text_free(lags);
  plan_text_free(newest);
}
END_TEST

/* Staleness 2: two buffers, as generations m + 2 and m + 3 read versions m - 1
 * and m; version m comes when generation m + 1, which read m - 2, has ended.  A
 * run shorter than the lag never leaves the first version. */
START_TEST(test_keep_lags_two)
{
  PlanText *t = make("staleness = 2\n", plan_text(KEEP, "", "", ""), 5);
  PlanText *brief = make("staleness = 2\n", plan_text("", "", "", ""), 2);
  const RaAugmented *a = t->augmented, *b = brief->augmented;
  uint32_t move = find(a, RA_NODE_REALLOC, 1, GEN);

  ck_assert(waits(a, move, find(a, RA_NODE_CALL, 2, GEN)));
  ck_assert(!waits(a, move, find(a, RA_NODE_CALL, 3, GEN)));
  ck_assert(waits(a, find(a, RA_NODE_CALL, 4, GEN), move));
  ck_assert(has_copies(
      a, GEN, RA_COPY_PARAMETERS, FALSE, 2,
      (const uint32_t[][2]){{RA_NONE, RA_NONE}, {RA_NONE, RA_NONE}}));
  ck_assert(has_copies(
      b, GEN, RA_COPY_PARAMETERS, FALSE, 1,
      (const uint32_t[][2]){{RA_NONE, find(b, RA_NODE_CALL, 1, GEN)}}));
  plan_text_free(t);
  plan_text_free(brief);
}
END_TEST

/* Two readers of one kept copy that lags: it is refitted behind the second. */
START_TEST(test_keep_two_readers)
{
  static const char *const both =
      "staleness = 1\n"
      "[model m]\nconfig = tiny.json\ntrainable = true\n"
      "[call gen]\nmodel = m\nkind = generate\ninputs = prompts\n"
      "outputs = s\n"
      "[call logp]\nmodel = m\nkind = inference\ninputs = s\n"
      "outputs = p\nstaleness = 1\n"
      "[call train]\nmodel = m\nkind = train\ninputs = s, p\n";
  g_autofree char *workload = g_strconcat(HEAD, both, NULL);
  g_autofree char *cluster = plan_text_cluster(1);
  PlanText *t = plan_text_new(
      workload, cluster,
      "[plan]\nformat = 1\nworkload = w\ncluster = c\n" CALL("gen", TP4 KEEP)
          CALL("logp", TP4 KEEP) CALL("train", TP2),
      4);
  const RaAugmented *a = t->augmented;
  uint32_t move = find(a, RA_NODE_REALLOC, 0, 1);

  ck_assert_uint_eq(count(a, RA_NODE_REALLOC), 2);
  ck_assert(waits(a, move, find(a, RA_NODE_CALL, 1, 0)));
  ck_assert(waits(a, move, find(a, RA_NODE_CALL, 1, 1)));
  ck_assert(waits(a, find(a, RA_NODE_CALL, 2, 0), move));
  plan_text_free(t);
}
END_TEST

static Suite *
residency_suite(void)
{
  Suite *suite = suite_create("residency");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_release);
  tcase_add_test(tcase, test_host_frozen);
  tcase_add_test(tcase, test_host_trained);
  tcase_add_test(tcase, test_host_optimizer);
  tcase_add_test(tcase, test_host_reallocated);
  tcase_add_test(tcase, test_host_renewed);
  tcase_add_test(tcase, test_host_shared);
  tcase_add_test(tcase, test_host_trained_twice);
  tcase_add_test(tcase, test_keep);
  tcase_add_test(tcase, test_keep_lags);
  tcase_add_test(tcase, test_own_lags);
  tcase_add_test(tcase, test_keep_lags_two);
  tcase_add_test(tcase, test_keep_two_readers);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(residency_suite)
