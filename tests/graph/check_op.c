#include "config.h"

#include <math.h>
#include <string.h>

#include "graph/input/plan.h"
#include "graph/op/op.h"
#include "tests/support/check_main.h"

/* Llama-like, dimensions that divide by 8 everywhere. */
static RaModel *
gated_model(void)
{
  RaModelShape s;
  RaModel *m;
  ra_model_shape_init(&s, RA_MLP_GATED);
  s.layers = 4;
  s.hidden = 1024;
  s.heads = 16;
  s.kv_heads = 8;
  s.ffn = 2816;
  s.vocab = 32000;
  m = ra_model_from_shape(&s, NULL);
  ck_assert_ptr_nonnull(m);
  return m;
}

static RaShard
plain_shard(const RaModel *m, uint32_t tp)
{
  return (RaShard){.model = m,
                   .tp = tp,
                   .tp_ranks_per_node = tp,
                   .tp_groups_per_node = 1,
                   .dtype = RA_DTYPE_BF16};
}

static RaPiece
whole(const RaModel *m)
{
  return (RaPiece){.n_layers = m->n_layers, .has_embedding = 1, .has_head = 1};
}

/* Two sequences of 1000 and 500 tokens under the causal mask. */
static const RaBatch ragged = {2, 1500, 1500, 1000 * 1001 / 2 + 500 * 501 / 2};

/* FLOP of a list but its op @skip: the deliberate fault of each oracle. */
static double
list_flop(const RaOp *ops, guint n, guint skip)
{
  double sum = 0;
  for (guint i = 0; i < n; i++)
    if (i != skip)
      sum += ra_op_flop(&ops[i]) * ops[i].count;
  return sum;
}

static double
attention_flop(const RaOp *ops, guint n)
{
  double sum = 0;
  for (guint i = 0; i < n; i++)
    if (ops[i].kind == RA_OP_ATTENTION)
      sum += ra_op_flop(&ops[i]) * ops[i].count;
  return sum;
}

/* The list's products are the model's: 2 FLOP a weight and token for every
 * matrix, 4 a visible pair, head and head dimension. */
START_TEST(test_forward_is_model_flop)
{
  g_autoptr(RaModel) m = gated_model();
  RaShard shard = plain_shard(m, 1);
  RaPiece piece = whole(m);
  RaOp ops[RA_OP_LIST_MAX];
  guint n = ra_op_list(&shard, &piece, RA_PHASE_FORWARD, &ragged, ops);
  double weights =
      4.0 * (1024.0 * (1024 + 2 * 512) + 1024.0 * 1024 + 3.0 * 1024 * 2816) +
      1024.0 * 32000;
  double pairs = (double)ragged.pairs;
  double expected = 2 * weights * 1500 + 4 * pairs * 1024 * 4;

  ck_assert_double_eq(list_flop(ops, n, n), expected);
  ck_assert_double_eq(ra_model_forward_flop(m, &ragged), expected);
  for (guint i = 0; i < n; i++)
    if (ra_op_flop(&ops[i]) > 0)
      ck_assert_double_ne(list_flop(ops, n, i), expected);
}
END_TEST

/* Tensor-parallel ranks share the products without rest or overlap. */
START_TEST(test_tp_divides_flop)
{
  g_autoptr(RaModel) m = gated_model();
  RaPiece piece = whole(m);
  RaOp ops[RA_OP_LIST_MAX];

  for (uint32_t tp = 1; tp <= 8; tp *= 2) {
    RaShard shard = plain_shard(m, tp);
    for (shard.sequence_parallel = 0; shard.sequence_parallel < 2;
         shard.sequence_parallel++) {
      guint n = ra_op_list(&shard, &piece, RA_PHASE_FORWARD, &ragged, ops);
      ck_assert_double_eq_tol(tp * list_flop(ops, n, n) /
                                  ra_model_forward_flop(m, &ragged),
                              1, 1e-12);
    }
  }
}
END_TEST

/* Each product has two in backward, attention's two have five:
 * B = 2 (F - A) + 2.5 A. */
START_TEST(test_backward_flop)
{
  g_autoptr(RaModel) m = gated_model();
  RaShard shard = plain_shard(m, 2);
  RaPiece piece = whole(m);
  RaOp ops[RA_OP_LIST_MAX];
  guint n = ra_op_list(&shard, &piece, RA_PHASE_FORWARD, &ragged, ops);
  double f = list_flop(ops, n, n), a = attention_flop(ops, n);

  n = ra_op_list(&shard, &piece, RA_PHASE_BACKWARD, &ragged, ops);
  ck_assert_double_eq_tol(list_flop(ops, n, n) / (2 * (f - a) + 2.5 * a), 1,
                          1e-12);
  ck_assert_double_ne(list_flop(ops, n, n), 2 * f); /* attention forgotten */
}
END_TEST

/* arXiv 2104.04473, section 5.1: with full recomputation an iteration of a GPT
 * takes 96 B s l h^2 (1 + s / 6h + V / 16 l h) FLOP, attention without the mask
 * (s^2 pairs). That counts attention's backward as twice its forward of 4 B s^2
 * h; ours has five products to two, 10 instead of 8, so 2 B s^2 h l more.  The
 * paper's recomputation leaves out the logits, as ours does. */
START_TEST(test_megatron_formula)
{
  RaModelShape s;
  g_autoptr(RaModel) m = NULL;
  RaShard shard;
  RaPiece piece;
  RaOp ops[RA_OP_LIST_MAX];
  double B = 3, S = 512, l = 6, h = 768, V = 51200, total = 0, formula;
  RaBatch batch = {3, 3 * 512, 3 * 512, 3 * 512 * 512};
  RaPhase phases[] = {RA_PHASE_FORWARD, RA_PHASE_BACKWARD};
  guint n_ops;

  ra_model_shape_init(&s, RA_MLP_PLAIN);
  s.layers = 6;
  s.hidden = 768;
  s.heads = 12;
  s.vocab = 51200;
  s.seq = 512;
  m = ra_model_from_shape(&s, NULL);
  ck_assert_ptr_nonnull(m);
  shard = plain_shard(m, 1);
  shard.recompute = RA_RECOMPUTE_FULL;
  piece = whole(m);
  for (guint i = 0; i < 2; i++) {
    guint n = ra_op_list(&shard, &piece, phases[i], &batch, ops);
    total += list_flop(ops, n, n);
  }
  formula = 96 * B * S * l * h * h * (1 + S / (6 * h) + V / (16 * l * h));
  ck_assert_double_eq_tol(total / (formula + 2 * B * S * S * h * l), 1, 1e-12);
  shard.recompute = RA_RECOMPUTE_NONE; /* the fault: nothing recomputed */
  n_ops = ra_op_list(&shard, &piece, RA_PHASE_BACKWARD, &batch, ops);
  total = list_flop(ops, n_ops, n_ops);
  ck_assert_double_lt(total, 0.7 * formula);
}
END_TEST

/* Per layer and pass: two all-reduces of the activations (arXiv 1909.08053,
 * figure 4); under sequence parallelism each is a gather and a scatter of the
 * same size (arXiv 2205.05198).  Embedding and head: one more each way. */
START_TEST(test_tp_collectives)
{
  g_autoptr(RaModel) m = gated_model();
  RaShard shard = plain_shard(m, 8);
  RaPiece piece = {.n_layers = 4};
  RaOp ops[RA_OP_LIST_MAX];
  uint64_t bytes = 1500 * 1024 * 2;

  for (int phase = RA_PHASE_FORWARD; phase <= RA_PHASE_BACKWARD; phase++)
    for (shard.sequence_parallel = 0; shard.sequence_parallel < 2;
         shard.sequence_parallel++) {
      guint n = ra_op_list(&shard, &piece, (RaPhase)phase, &ragged, ops);
      guint count[RA_N_OPS] = {0};
      for (guint i = 0; i < n; i++)
        if (ra_op_class((RaOpKind)ops[i].kind) == RA_OP_CLASS_COMM) {
          count[ops[i].kind] += ops[i].count;
          ck_assert_uint_eq(ops[i].dim[0], bytes);
          ck_assert_uint_eq(ops[i].dim[1], 8);
        }
      ck_assert_uint_eq(count[RA_OP_ALL_REDUCE],
                        shard.sequence_parallel ? 0 : 8);
      ck_assert_uint_eq(count[RA_OP_ALL_GATHER],
                        shard.sequence_parallel ? 8 : 0);
      ck_assert_uint_eq(count[RA_OP_REDUCE_SCATTER],
                        shard.sequence_parallel ? 8 : 0);
    }
}
END_TEST

/* By hand.  GEMM m=2, n=3, k=5, 4 of them, bf16: 2 (2 5 + 5 3 + 2 3) 4 = 248.
 * Norm of 7 x 11: in and out, 2 2 77 = 308.  AdamW: fp32 gradient 4, master and
 * two moments read and written 24, bf16 weight 2: 30 a parameter. Attention q 3
 * tokens x 4 heads x 8, k, v 9 tokens x 2 heads x 8: 2 (2 96 + 2 144) = 960.
 * Experts: 6 tokens choose 2 of 8 on 2 ranks, 6 rows for 4 (1 - (3/4)^6) = 3.3
 * experts, 3, of 3 x 10 x 5 elements: 2 x 3 x 150, and of a row 10 in, 10 out,
 * 10 and 5 of the activation, 5 in, 10 out: 2 x 6 x 50. */
START_TEST(test_bytes_by_hand)
{
  RaOp gemm = {RA_OP_GEMM, RA_DTYPE_BF16, 0, 1, {2, 3, 5, 4}};
  RaOp norm = {RA_OP_NORM, RA_DTYPE_BF16, 0, 1, {7, 11}};
  RaOp adam = {RA_OP_OPTIMIZER, RA_DTYPE_BF16, 0, 1, {1000}};
  RaOp attention = {
      RA_OP_ATTENTION, RA_DTYPE_BF16, 0, 1, {1, 3, 9, 24, 4, 2, 8}};
  RaOp reduce = {RA_OP_ALL_REDUCE, RA_DTYPE_FP32, 0, 1, {4096, 8, 8, 1}};
  RaOp experts = {RA_OP_EXPERTS, RA_DTYPE_BF16, 0, 1, {6, 10, 5, 8, 2, 2, 0}};
  g_autofree char *shape = ra_op_shape(&gemm);

  ck_assert_double_eq(ra_op_bytes(&experts), 900 + 600);
  ck_assert_double_eq(ra_op_flop(&experts), 2 * 6 * 150);
  ck_assert_double_eq(ra_op_bytes(&gemm), 248);
  ck_assert_double_eq(ra_op_flop(&gemm), 2 * 2 * 3 * 5 * 4);
  ck_assert_double_eq(ra_op_bytes(&norm), 308);
  ck_assert_double_eq(ra_op_bytes(&adam), 30000);
  ck_assert_double_eq(ra_op_bytes(&attention), 960);
  ck_assert_double_eq(ra_op_flop(&attention), 4 * 24 * 4 * 8);
  ck_assert_double_eq(ra_op_bytes(&reduce), 4096);
  ck_assert_str_eq(shape, "m=2,n=3,k=5,batch=4");
}
END_TEST

/* Every kind, type and flag comes back from its text; dimension i is i + 1 less
 * a power of two that no double holds.  The text of a bf16 op without flags has
 * no more than its dimensions, so that older traces are read.  A dimension too
 * few, twice or unknown, a word or an unknown name are refused. */
START_TEST(test_text)
{
  static const char *const bad[] = {"m=1,n=2,k=3",
                                    "m=1,n=2,k=3,batch=4,m=5",
                                    "m=1,n=2,k=3,batch=x",
                                    "m=1,n=2,k=3,batch=4,width=5",
                                    "m=1,n=2,k=3,batch=4,",
                                    "m=1,n=2,k=3,batch=4,dtype=int8",
                                    "m=1,n=2,k=3,batch=4,5",
                                    "m=1,n=2,k=3,batch=4,flags=odd",
                                    "",
                                    "m=-1,n=2,k=3,batch=4"};
  RaOp back = {.kind = RA_OP_HOST};

  for (guint kind = 0; kind < RA_N_OPS; kind++)
    for (guint flags = 0; flags < 32; flags++) {
      RaOp op = {(uint8_t)kind,
                 (uint8_t)(flags % RA_N_DTYPES),
                 (uint16_t)flags,
                 1,
                 {0}};
      g_autofree char *shape = NULL;

      for (guint i = 0; ra_op_dim_name((RaOpKind)kind, i); i++)
        op.dim[i] = (UINT64_C(1) << 60) - (i + 1);
      shape = ra_op_shape(&op);
      ck_assert(ra_op_parse(ra_op_name((RaOpKind)kind), shape, &back, NULL));
      ck_assert_mem_eq(&op, &back, sizeof op);
      ck_assert((strstr(shape, "dtype") != NULL) == (flags % RA_N_DTYPES > 0));
      ck_assert((strstr(shape, "flags") != NULL) == (flags > 0));
    }
  for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
    g_autoptr(GError) error = NULL;

    ck_assert_msg(!ra_op_parse("gemm", bad[i], &back, &error), "%s", bad[i]);
    ck_assert_ptr_nonnull(strstr(error->message, "'m=,n=,k=,batch='"));
    ck_assert_ptr_null(strchr(error->message, '\n'));
  }
  ck_assert(!ra_op_parse("gem", "m=1,n=2,k=3,batch=4", &back, NULL));
}
END_TEST

/* A decode step looks at one token a sequence and at all cached ones; the head
 * runs on each sequence once.  A prefill that samples runs the head on the
 * last positions only. */
START_TEST(test_decode_and_sampling)
{
  g_autoptr(RaModel) m = gated_model();
  RaShard shard = plain_shard(m, 1);
  RaPiece piece = whole(m);
  RaBatch step = {16, 16, 16 * 700, 16 * 700};
  RaOp ops[RA_OP_LIST_MAX];
  guint n, seen = 0;

  shard.sampling = 1;
  n = ra_op_list(&shard, &piece, RA_PHASE_DECODE, &step, ops);
  for (guint i = 0; i < n; i++) {
    ck_assert_int_ne(ops[i].kind, RA_OP_ATTENTION);
    if (ops[i].kind == RA_OP_DECODE_ATTENTION) {
      ck_assert_uint_eq(ops[i].dim[2], 16 * 700);
      ck_assert_uint_eq(ops[i].count, 4);
      seen++;
    }
  }
  ck_assert_uint_eq(seen, 1);
  n = ra_op_list(&shard, &piece, RA_PHASE_FORWARD, &ragged, ops);
  ck_assert_int_eq(ops[n - 1].kind, RA_OP_SAMPLE);
  ck_assert_uint_eq(ops[n - 1].dim[0], 2);
  ck_assert_uint_eq(ops[n - 2].dim[0], 2); /* m of the head's GEMM */
  ck_assert_uint_eq(ops[n - 2].dim[1], 32000);
}
END_TEST

/* Three drafts: four positions of each of 16 sequences.  64 rows of every GEMM
 * and of the sampler, and attention whose 64 queries read each sequence's keys
 * once.  Prompts are as without drafts.  Fault: attention that reads the keys
 * once a position. */
START_TEST(test_drafts)
{
  g_autoptr(RaModel) m = gated_model();
  RaShard shard = plain_shard(m, 1), drafts;
  RaPiece piece = whole(m);
  RaBatch step = {16, 16, 16 * 700, 16 * 700};
  RaOp ops[RA_OP_LIST_MAX], plain[RA_OP_LIST_MAX];
  guint n, n_rows = 0;

  shard.sampling = 1;
  drafts = shard;
  drafts.draft_tokens = 3;
  n = ra_op_list(&drafts, &piece, RA_PHASE_DECODE, &step, ops);
  for (guint i = 0; i < n; i++) {
    if (ops[i].kind == RA_OP_DECODE_ATTENTION) {
      ck_assert_uint_eq(ops[i].dim[0], 16);
      ck_assert_uint_eq(ops[i].dim[1], 64);
      ck_assert_uint_eq(ops[i].dim[2], 16 * 700);
      ck_assert_uint_eq(ops[i].dim[3], 64 * 700);
    } else if (ops[i].kind == RA_OP_GEMM || ops[i].kind == RA_OP_SAMPLE) {
      ck_assert_uint_eq(ops[i].dim[0], 64);
      n_rows++;
    }
  }
  ck_assert_uint_eq(n_rows, 6); /* qkv, out, gate and up, down, head, sample */
  n = ra_op_list(&drafts, &piece, RA_PHASE_FORWARD, &ragged, ops);
  ck_assert_uint_eq(
      n, ra_op_list(&shard, &piece, RA_PHASE_FORWARD, &ragged, plain));
  ck_assert_mem_eq(ops, plain, n * sizeof *ops);
}
END_TEST

/* One rank holds the whole model, exactly; ranks of tp hold it in parts and the
 * norms each (2 a layer and the final one, 1024 wide). */
START_TEST(test_piece_params)
{
  g_autoptr(RaModel) m = gated_model();
  RaPiece piece = whole(m);
  uint64_t norms = (2 * 4 + 1) * 1024;

  for (uint32_t tp = 1; tp <= 8; tp *= 2) {
    RaShard shard = plain_shard(m, tp);
    ck_assert_uint_eq(tp * (ra_piece_n_params(&shard, &piece) - norms),
                      ra_model_n_params(m) - norms);
  }
}
END_TEST

/* The same for every shipped model, by its own published count. */
static const char *const shipped[] = {
    "llama-2-70b",   "llama-3-70b", "qwen2.5-72b", "qwen3-32b", "mixtral-8x7b",
    "qwen3-30b-a3b", "gpt2",        "bloom-176b",  "mpt-7b"};

START_TEST(test_shipped_params)
{
  g_autofree char *path = g_strdup_printf("%s/share/models/%s.json",
                                          g_getenv("srcdir"), shipped[_i]);
  g_autoptr(GError) error = NULL;
  g_autoptr(RaModel) m = ra_model_load(path, &error);
  RaShard shard;
  RaPiece piece;

  ck_assert_msg(m != NULL, "%s", error ? error->message : "");
  for (int head = RA_HEAD_LM; head <= RA_HEAD_VALUE; head++) {
    RaOp ops[RA_OP_LIST_MAX];
    RaBatch batch = {1, 4096, 4096, 4096 * 4097 / 2};
    guint n;
    ra_model_set_head(m, (RaModelHead)head);
    shard = plain_shard(m, 1);
    piece = whole(m);
    ck_assert_uint_eq(ra_piece_n_params(&shard, &piece), ra_model_n_params(m));
    n = ra_op_list(&shard, &piece, RA_PHASE_FORWARD, &batch, ops);
    ck_assert_double_eq_tol(
        list_flop(ops, n, n) / ra_model_forward_flop(m, &batch), 1, 1e-12);
  }
}
END_TEST

static Suite *
op_suite(void)
{
  Suite *suite = suite_create("op");
  TCase *tcase = tcase_create("core");
  tcase_add_test(tcase, test_forward_is_model_flop);
  tcase_add_test(tcase, test_tp_divides_flop);
  tcase_add_test(tcase, test_backward_flop);
  tcase_add_test(tcase, test_megatron_formula);
  tcase_add_test(tcase, test_tp_collectives);
  tcase_add_test(tcase, test_bytes_by_hand);
  tcase_add_test(tcase, test_text);
  tcase_add_test(tcase, test_decode_and_sampling);
  tcase_add_test(tcase, test_drafts);
  tcase_add_test(tcase, test_piece_params);
  tcase_add_loop_test(tcase, test_shipped_params, 0, G_N_ELEMENTS(shipped));
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(op_suite)
