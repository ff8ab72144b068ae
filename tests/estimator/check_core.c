/* Training as frameworks ran it before flash attention and fused losses: a core
 * of attention, cross-entropy kernel by kernel, messages in parts, products
 * with rows of odd lengths. */
#include "config.h"

#include "graph/input/plan.h"
#include "graph/op/activation.h"
#include "tests/support/check_main.h"
#include "tests/support/estimator_fixture.h"

/* A GPT of 4 layers, 64 wide, 4 heads of 16, vocabulary 1000. */
static RaModel *
gpt(uint32_t vocab)
{
  RaModelShape s;
  RaModel *m;

  ra_model_shape_init(&s, RA_MLP_PLAIN);
  s.layers = 4;
  s.hidden = 64;
  s.heads = 4;
  s.vocab = vocab;
  s.seq = 128;
  m = ra_model_from_shape(&s, NULL);
  ck_assert_ptr_nonnull(m);
  return m;
}

static RaShard
shard_of(const RaModel *m, uint32_t tp)
{
  return (RaShard){.model = m,
                   .tp = tp,
                   .tp_ranks_per_node = tp,
                   .tp_groups_per_node = 1,
                   .dtype = RA_DTYPE_FP16,
                   .loss = 1};
}

/* 2 sequences of 8. */
static const RaBatch batch = {2, 16, 16, 72};

static const RaOp *
find(const RaOp *ops, guint n, RaOpKind kind)
{
  for (guint i = 0; i < n; i++)
    if (ops[i].kind == kind)
      return &ops[i];
  return NULL;
}

/* By hand.  2 sequences of 8 queries and 8 keys, 4 heads: 2 x 8 x 8 x 4 = 512
 * scores, head dimension 16.  Two products forward, 2 x 2 x 512 x 16 = 32768
 * FLOP, four backward.  Bytes forward: q, out and its copy (two) of 16 x 4 x 16
 * = 1024 elements, k and v as many: 6 x 1024 x 2; scores written, softmax read
 * and written, read: 4 x 512 x 2; with dropout read and written and a byte of
 * mask: (2 x 2 + 1) x 512 more.  Backward: (6 + 4) x 1024 x 2 + 7 x 512 x 2. */
START_TEST(test_core_by_hand)
{
  RaOp op = bench_attention(RA_OP_ATTENTION_CORE, 2, 16, 16, 72, 4, 4, 16);

  ck_assert_double_eq(ra_op_n_scores(&op), 512);
  ck_assert_double_eq(ra_op_flop(&op), 32768);
  ck_assert_double_eq(ra_op_bytes(&op), 6 * 1024 * 2 + 4 * 512 * 2);
  ck_assert_uint_eq(ra_op_n_launches(&op), 4);
  op.flags = RA_OP_DROPOUT;
  ck_assert_double_eq(ra_op_bytes(&op), 6 * 1024 * 2 + 4 * 512 * 2 + 5 * 512);
  ck_assert_uint_eq(ra_op_n_launches(&op), 5);
  op.kind = RA_OP_ATTENTION_CORE_BACKWARD;
  op.flags = 0;
  ck_assert_double_eq(ra_op_flop(&op), 2 * 32768);
  ck_assert_double_eq(ra_op_bytes(&op), 10 * 1024 * 2 + 7 * 512 * 2);
  /* The fault: masked pairs left out, as flash attention does. */
  ck_assert_double_ne(ra_op_flop(&op), 2 * 4 * 72 * 4 * 16);
}
END_TEST

/* On the ideal device, 1e12 FLOP/s and 1e9 B/s, the products of 1 sequence of
 * 1024, 2 heads of 64, bound by memory: rows x keys x head of 2048 x 1024 x 64
 * moves 2 (2048 x 1024 + 64 (2048 + 1024)) bytes, the other 2 (2048 x 64 +
 * 1024 (2048 + 64)); softmax 4 bytes a score, the copy 4 an element of 2 x 1024
 * x 64.  Odd heads cost the products three times as much. */
START_TEST(test_core_seconds)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(NULL, NULL));
  RaOp op =
      bench_attention(RA_OP_ATTENTION_CORE, 1, 1024, 1024, 524800, 2, 2, 64);
  double scores = 2048 * 1024.0;
  double products =
      2 * (scores + 64 * 3072.0) + 2 * (2048 * 64.0 + 1024 * (2048 + 64.0));
  double passes = 4 * scores + 4 * 2048 * 64.0;

  bench_check(ra_estimator_op_s(b->estimator, &op), (products + passes) / 1e9);
  op.flags = RA_OP_RAGGED;
  bench_check(ra_estimator_op_s(b->estimator, &op),
              (3 * products + passes) / 1e9);
  bench_check_differs((products + 4 * scores) / 1e9,
                      ra_estimator_op_s(b->estimator, &op));
  op.flags = RA_OP_DROPOUT;
  op.kind = RA_OP_ATTENTION_CORE_BACKWARD;
  passes = (6 + 5) * scores + 4 * 2048 * 64.0;
  bench_check(ra_estimator_op_s(b->estimator, &op),
              (2 * products + passes) / 1e9);
  op.dim[1] = 0;
  ck_assert_double_eq(ra_estimator_op_s(b->estimator, &op), 0);
}
END_TEST

/* A layer of arXiv 2205.05198, equation 1, keeps s b h (34 + 5 a s / h) with
 * dropout, of which 2 s b h are masks outside of attention, which we do not
 * have; 5 a s^2 b are the scores'.  s = 8, b = 2, a = 4: 5 x 4 x 64 x 2 = 2560
 * with dropout, 2 a s^2 b = 1024 without; selective recomputation keeps none
 * of them.  Beside that, 4 bytes each: mean and inverse of two norms, and a
 * log-sum a head where the scores are not there. */
START_TEST(test_kept)
{
  g_autoptr(RaModel) m = gpt(1000);
  RaShard shard = shard_of(m, 1);
  RaPiece layer = {.first_layer = 1, .n_layers = 1};
  uint64_t kept = 16 * (64 * 32 + 2 * 2 * 4);

  ck_assert_uint_eq(ra_activation_bytes(&shard, &layer, &batch),
                    kept + 16 * 4 * 4);
  shard.attention = RA_ATTENTION_CORE;
  ck_assert_uint_eq(ra_activation_bytes(&shard, &layer, &batch), kept + 1024);
  shard.attention = RA_ATTENTION_CORE_DROPOUT;
  ck_assert_uint_eq(ra_activation_bytes(&shard, &layer, &batch), kept + 2560);
  shard.recompute = RA_RECOMPUTE_SELECTIVE;
  ck_assert_uint_eq(ra_activation_bytes(&shard, &layer, &batch), kept);
}
END_TEST

/* 16 tokens of 1000 fp16 logits: read once, 2 bytes each, or by unfused
 * kernels 2 + 36; backward 4, or 2 + 12; 8 bytes a token. */
START_TEST(test_unfused_loss)
{
  g_autoptr(RaModel) m = gpt(1000);
  RaShard shard = shard_of(m, 1);
  RaPiece head = {.first_layer = 4, .has_head = 1};
  RaOp ops[RA_OP_LIST_MAX];
  guint n = ra_op_list(&shard, &head, RA_PHASE_FORWARD, &batch, ops);
  const RaOp *loss = find(ops, n, RA_OP_CROSS_ENTROPY);

  ck_assert_double_eq(ra_op_bytes(loss), 2 * 16000 + 128);
  ck_assert_uint_eq(ra_op_n_launches(loss), 1);
  shard.cross_entropy = RA_CROSS_ENTROPY_UNFUSED;
  n = ra_op_list(&shard, &head, RA_PHASE_FORWARD, &batch, ops);
  loss = find(ops, n, RA_OP_CROSS_ENTROPY);
  ck_assert_double_eq(ra_op_bytes(loss), 38 * 16000 + 128);
  ck_assert_uint_eq(ra_op_n_launches(loss), 23);
  n = ra_op_list(&shard, &head, RA_PHASE_BACKWARD, &batch, ops);
  loss = find(ops, n, RA_OP_CROSS_ENTROPY_BACKWARD);
  ck_assert_double_eq(ra_op_bytes(loss), 14 * 16000 + 128);
  ck_assert_uint_eq(ra_op_n_launches(loss), 6);
}
END_TEST

/* Rows of 1001 logits are no multiple of 8; of 1000 they are, and over tp 2
 * each rank has 500, which are not. */
START_TEST(test_ragged_logits)
{
  static const struct {
    uint32_t vocab, tp;
    gboolean ragged;
  } cases[] = {
      {1000, 1, FALSE}, {1001, 1, TRUE}, {1000, 2, TRUE}, {1008, 2, FALSE}};
  RaPiece head = {.first_layer = 4, .has_head = 1};
  RaOp ops[RA_OP_LIST_MAX];

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(RaModel) m = gpt(cases[i].vocab);
    RaShard shard = shard_of(m, cases[i].tp);
    guint n = ra_op_list(&shard, &head, RA_PHASE_BACKWARD, &batch, ops);
    guint seen = 0;

    for (guint k = 0; k < n; k++)
      seen += ops[k].kind == RA_OP_GEMM && ops[k].flags & RA_OP_RAGGED;
    ck_assert_uint_eq(seen, cases[i].ragged ? 2 : 0);
    /* Engines that generate pad their tables. */
    shard.loss = 0;
    shard.sampling = 1;
    n = ra_op_list(&shard, &head, RA_PHASE_FORWARD, &batch, ops);
    for (guint k = 0; k < n; k++)
      ck_assert(!(ops[k].flags & RA_OP_RAGGED));
  }
}
END_TEST

/* Parts of a message are gathered where they arrive: forward in every stage but
 * the first, backward in every one but the last, 16 x 64 x 2 bytes each. */
START_TEST(test_scattered_sends)
{
  g_autoptr(RaModel) m = gpt(1000);
  RaShard shard = shard_of(m, 2);
  const RaPiece stages[2] = {{.n_layers = 2, .has_embedding = 1},
                             {.first_layer = 2, .n_layers = 2, .has_head = 1}};
  RaOp ops[RA_OP_LIST_MAX];

  for (guint s = 0; s < 2; s++)
    for (int phase = RA_PHASE_FORWARD; phase <= RA_PHASE_BACKWARD; phase++)
      for (guint on = 0; on < 2; on++) {
        const RaOp *gather;
        guint n;

        shard.scatter_sends = (uint8_t)on;
        n = ra_op_list(&shard, &stages[s], (RaPhase)phase, &batch, ops);
        gather = find(ops, n, RA_OP_ALL_GATHER);
        if (on && (s == 1) == (phase == RA_PHASE_FORWARD)) {
          ck_assert_ptr_nonnull(gather);
          ck_assert_uint_eq(gather->dim[0], 2048);
          ck_assert_uint_eq(gather->count, 1);
        } else {
          ck_assert_ptr_null(gather);
        }
      }
}
END_TEST

/* A system's host takes 1 ms a kernel, the ideal device next to nothing: the
 * layers' kernels, the embedding's and the head's add up.  Where norms take
 * 1 s each the host runs ahead in the layers (8 norms) and the head (1), not in
 * the embedding, whose launches still count. */
START_TEST(test_segments)
{
  g_autoptr(Bench) quick = bench_new(profile_text_load(NULL, NULL));
  g_autoptr(Bench) slow =
      bench_new(profile_text_load("memory.norm.base-s=1", NULL));
  g_autoptr(RaModel) m = gpt(1000);
  RaShard shards[1] = {shard_of(m, 1)};
  RaWork works[1] = {
      {.shard = 0,
       .phase = RA_PHASE_FORWARD,
       .piece = {.n_layers = 4, .has_embedding = 1, .has_head = 1},
       .batch = batch}};
  RaTaskGraph graph = {
      .works = works, .n_works = 1, .shards = shards, .n_shards = 1};
  RaSystemConstants constants = RA_SYSTEM_CONSTANTS_NONE;
  RaPiece embedding = {.has_embedding = 1};
  RaOp ops[RA_OP_LIST_MAX];
  guint n =
      ra_op_list(&shards[0], &works[0].piece, RA_PHASE_FORWARD, &batch, ops);
  double launches = 0, first = 0;
  RaCost cost;

  for (guint i = 0; i < n; i++)
    launches += ra_op_n_launches(&ops[i]) * ops[i].count;
  n = ra_op_list(&shards[0], &embedding, RA_PHASE_FORWARD, &batch, ops);
  for (guint i = 0; i < n; i++)
    first += ra_op_n_launches(&ops[i]);
  constants.train_launch_s = 1e-3;
  ra_estimator_set_system(quick->estimator, &constants);
  ra_estimator_work(quick->estimator, &graph, 0, &cost);
  bench_check(cost.total_s, launches * 1e-3);
  ra_estimator_set_system(slow->estimator, &constants);
  ra_estimator_work(slow->estimator, &graph, 0, &cost);
  ck_assert_double_ge(cost.total_s, 9 + first * 0.9e-3);
  ck_assert_double_lt(cost.total_s, 9 + first * 1e-3 + 0.01);
  ck_assert_double_gt(cost.host_s, 0); /* the fault: max over the whole list */
}
END_TEST

/* An expert layer of Megatron issues 54 kernels forward and 66 backward, in
 * place of the list's 6 and 8: router, two permutations, and three or five of
 * the experts.  Backward the gradients of 4 experts' two weights are added by
 * one each: the fault is to leave them out.  Four layers on an ideal device, at
 * 1 ms a kernel. */
START_TEST(test_expert_launches)
{
  static const double more[] = {54 - 6, 66 - 8 + 4 * 2};
  static const RaPhase phases[] = {RA_PHASE_FORWARD, RA_PHASE_BACKWARD};
  g_autoptr(Bench) b = bench_new(profile_text_load(NULL, NULL));
  g_autoptr(RaModel) m = gpt(1000);
  RaShard shards[1] = {shard_of(m, 1)};
  RaSystemConstants constants = RA_SYSTEM_CONSTANTS_NONE;

  m->n_experts = 4;
  m->experts_per_token = 2;
  m->expert_ffn = 64;
  m->kinds[0].ffn = RA_FFN_EXPERTS;
  constants.train_launch_s = 1e-3;
  ra_estimator_set_system(b->estimator, &constants);
  for (guint i = 0; i < 2; i++) {
    RaWork work = {
        .phase = phases[i], .piece = {.n_layers = 4}, .batch = batch};
    RaTaskGraph graph = {
        .works = &work, .n_works = 1, .shards = shards, .n_shards = 1};
    RaOp ops[RA_OP_LIST_MAX];
    guint n = ra_op_list(&shards[0], &work.piece, phases[i], &batch, ops);
    double launches = 4 * more[i];
    RaCost cost;

    for (guint k = 0; k < n; k++)
      launches += ra_op_n_launches(&ops[k]) * ops[k].count;
    ra_estimator_work(b->estimator, &graph, 0, &cost);
    bench_check(cost.total_s, launches * 1e-3);
  }
}
END_TEST

/* The list counts 2 (2 + 1) rows of permutations of 2 experts a token, Megatron
 * moves 9 x 2 + 1, behind DeepEP 5 x 2 + 1: 13/6 and 5/6 of them more, where a
 * trainer's kernels are launched one by one, for a time that is lost in theirs;
 * else none (the fault). */
START_TEST(test_expert_copies)
{
  static const double more[] = {13.0 / 6, 5.0 / 6};
  static const RaDispatch dispatches[] = {RA_DISPATCH_COPIES, RA_DISPATCH_ONCE};
  g_autoptr(Bench) b = bench_new(profile_text_load(NULL, NULL));
  g_autoptr(RaModel) m = gpt(1000);
  RaShard shards[1] = {shard_of(m, 1)};

  m->n_experts = 4;
  m->experts_per_token = 2;
  m->expert_ffn = 64;
  m->kinds[0].ffn = RA_FFN_EXPERTS;
  for (guint i = 0; i < 2; i++) {
    RaWork work = {
        .phase = RA_PHASE_FORWARD, .piece = {.n_layers = 4}, .batch = batch};
    RaTaskGraph graph = {
        .works = &work, .n_works = 1, .shards = shards, .n_shards = 1};
    RaSystemConstants constants = RA_SYSTEM_CONSTANTS_NONE;
    RaOp ops[RA_OP_LIST_MAX];
    double permutations_s = 0;
    RaCost plain, copied;
    guint n;

    shards[0].dispatch = dispatches[i];
    n = ra_op_list(&shards[0], &work.piece, RA_PHASE_FORWARD, &batch, ops);
    for (guint k = 0; k < n; k++)
      if (ops[k].kind == RA_OP_PERMUTE)
        permutations_s +=
            ra_estimator_op_s(b->estimator, &ops[k]) * ops[k].count;
    ck_assert_double_gt(permutations_s, 0);
    ra_estimator_set_system(b->estimator, &constants);
    ra_estimator_work(b->estimator, &graph, 0, &plain);
    constants.train_launch_s = 1e-15;
    ra_estimator_set_system(b->estimator, &constants);
    ra_estimator_work(b->estimator, &graph, 0, &copied);
    ck_assert_double_eq_tol(copied.compute_s - plain.compute_s,
                            more[i] * permutations_s, 1e-9 * permutations_s);
  }
}
END_TEST

/* 4 layers of attention that takes 1 s each, everything else nothing to speak
 * of: 1.5 on all compute and 2 on attention make 12 s. */
START_TEST(test_attention_factor)
{
  g_autoptr(Bench) b =
      bench_new(profile_text_load("attention.floor-s=1", NULL));
  g_autoptr(RaModel) m = gpt(1000);
  RaShard shards[1] = {shard_of(m, 1)};
  RaWork works[2] = {
      {.shard = 0,
       .phase = RA_PHASE_FORWARD,
       .piece = {.n_layers = 4},
       .batch = batch},
      {.shard = RA_NONE, .op = bench_op(RA_OP_SEND, 1000000, 0, 1, 0)}};
  RaTaskGraph graph = {
      .works = works, .n_works = 2, .shards = shards, .n_shards = 1};
  RaSystemConstants constants = RA_SYSTEM_CONSTANTS_NONE;
  RaCost cost;

  constants.compute_factor = 1.5;
  constants.attention_factor = 2;
  constants.comm_factor = 3;
  ra_estimator_set_system(b->estimator, &constants);
  ra_estimator_work(b->estimator, &graph, 0, &cost);
  ck_assert_double_eq_tol(cost.compute_s, 12, 0.01);
  /* 1 MB at 1e8 B/s, three times. */
  ra_estimator_work(b->estimator, &graph, 1, &cost);
  bench_check(cost.total_s, 30e-3);
}
END_TEST

/* Packing takes 2 ms a sequence, which nothing hides: a forward with the head
 * is longer by that of its sequences, a backward and a stage without the head
 * are not. */
START_TEST(test_packing)
{
  g_autoptr(Bench) b = bench_new(profile_text_load(NULL, NULL));
  g_autoptr(RaModel) m = gpt(1000);
  RaShard shards[1] = {shard_of(m, 1)};
  RaPiece stage = {.n_layers = 4}, last = {.n_layers = 4, .has_head = 1};
  RaWork works[3] = {
      {.phase = RA_PHASE_FORWARD, .piece = last, .batch = batch},
      {.phase = RA_PHASE_BACKWARD, .piece = last, .batch = batch},
      {.phase = RA_PHASE_FORWARD, .piece = stage, .batch = batch}};
  RaTaskGraph graph = {
      .works = works, .n_works = 3, .shards = shards, .n_shards = 1};
  RaSystemConstants constants = RA_SYSTEM_CONSTANTS_NONE;
  RaCost before[3], cost;

  for (guint i = 0; i < 3; i++)
    ra_estimator_work(b->estimator, &graph, i, &before[i]);
  constants.train_sequence_s = 2e-3;
  ra_estimator_set_system(b->estimator, &constants);
  for (guint i = 0; i < 3; i++) {
    ra_estimator_work(b->estimator, &graph, i, &cost);
    bench_check(cost.total_s - before[i].total_s,
                i == 0 ? 2e-3 * batch.n_sequences : 0);
    bench_check(cost.host_s - before[i].host_s,
                i == 0 ? 2e-3 * batch.n_sequences : 0);
  }
}
END_TEST

static Suite *
core_suite(void)
{
  Suite *suite = suite_create("core");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_core_by_hand);
  tcase_add_test(tcase, test_core_seconds);
  tcase_add_test(tcase, test_kept);
  tcase_add_test(tcase, test_unfused_loss);
  tcase_add_test(tcase, test_ragged_logits);
  tcase_add_test(tcase, test_scattered_sends);
  tcase_add_test(tcase, test_segments);
  tcase_add_test(tcase, test_expert_launches);
  tcase_add_test(tcase, test_expert_copies);
  tcase_add_test(tcase, test_attention_factor);
  tcase_add_test(tcase, test_packing);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(core_suite)
