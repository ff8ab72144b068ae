/* Experts spread over ranks: products, bytes, experts met. */
#include "config.h"

#include <math.h>

#include "graph/augment/layout.h"
#include "graph/input/plan.h"
#include "graph/op/op.h"
#include "tests/support/check_main.h"

/* A published model and what its config.json says. */
typedef struct {
  const char *config;
  double h, q, kv; /* hidden; width of queries and of keys */
  double e, k, f;  /* experts, chosen, width of one */
} Published;

static const Published published[] = {
    {"mixtral-8x7b", 4096, 32 * 128, 8 * 128, 8, 2, 14336},
    {"qwen3-30b-a3b", 2048, 32 * 128, 4 * 128, 128, 8, 768},
};

static RaModel *
load_model(const char *name)
{
  g_autofree char *file = g_strdup_printf("%s.json", name);
  g_autofree char *path =
      g_build_filename(g_getenv("srcdir"), "share", "models", file, NULL);
  GError *error = NULL;
  RaModel *model = ra_model_load(path, &error);

  ck_assert_msg(model != NULL, "%s", error ? error->message : "");
  return model;
}

static RaShard
make_shard(const RaModel *m, uint32_t ep)
{
  return (RaShard){.model = m,
                   .tp = 1,
                   .tp_ranks_per_node = 1,
                   .tp_groups_per_node = 8,
                   .cp = 1,
                   .ep = ep,
                   .ep_ranks_per_node = ep,
                   .ep_groups_per_node = 1,
                   .dtype = RA_DTYPE_BF16};
}

static double
list_flop(const RaOp *ops, guint n, guint skip)
{
  double sum = 0;

  for (guint i = 0; i < n; i++)
    if (i != skip)
      sum += ra_op_flop(&ops[i]) * ops[i].count;
  return sum;
}

/* One layer, N tokens in sequences of 512 over ep ranks, which together do
 *
 *     2 N (h (2 q + 2 kv) + h E + 3 k h f) + 4 q pairs
 *
 * FLOP forward, twice the first term and 2.5 times the second backward,
 * whatever ep: each rank has N / ep tokens and E / ep experts, each expert N k
 * / E rows.  The faults: a list that has lost its largest product; all experts
 * computed for every token, E instead of k. */
START_TEST(test_flop_is_independent_of_ep)
{
  enum { N = 16384, S = 512 };

  for (guint i = 0; i < G_N_ELEMENTS(published); i++) {
    const Published *p = &published[i];
    g_autoptr(RaModel) m = load_model(p->config);
    RaPiece layer = {.first_layer = 3, .n_layers = 1};
    double pairs = N / S * (S * (S + 1.0) / 2);
    double dense = p->h * (2 * p->q + 2 * p->kv) + p->h * p->e;
    double products = 2.0 * N * (dense + 3 * p->k * p->h * p->f);
    double all = 2.0 * N * (dense + 3 * p->e * p->h * p->f);
    double scores = 4 * p->q * pairs;

    for (uint32_t ep = 1; ep <= 8; ep = ep == 1 ? 2 : ep * 4) {
      RaShard shard = make_shard(m, ep);
      uint32_t t = N / ep;
      RaBatch batch = {t / S, t, t, (uint64_t)pairs / ep};
      RaOp ops[RA_OP_LIST_MAX];
      guint n = ra_op_list(&shard, &layer, RA_PHASE_FORWARD, &batch, ops);
      guint largest = 0;

      for (guint j = 0; j < n; j++)
        if (ra_op_flop(&ops[j]) > ra_op_flop(&ops[largest]))
          largest = j;
      ck_assert_double_eq(ep * list_flop(ops, n, n), products + scores);
      ck_assert_double_ne(ep * list_flop(ops, n, largest), products + scores);
      ck_assert_double_lt(ep * list_flop(ops, n, n), all + scores);
      n = ra_op_list(&shard, &layer, RA_PHASE_BACKWARD, &batch, ops);
      ck_assert_double_eq(ep * list_flop(ops, n, n),
                          2 * products + 2.5 * scores);
    }
  }
}
END_TEST

/* Dispatch and combine each send tokens k (ep - 1) / ep rows of the hidden
 * width in BF16 to other ranks: the op says tokens k h 2 bytes, of which one
 * part in ep stays.  Two a pass, four where backward computes again, none
 * without ep.  With sequence parallelism each of tp ranks sends its share of
 * the tokens, and the tp group gathers what all of them got: tokens k rows.
 * The fault: one copy of a token instead of k. */
START_TEST(test_all_to_all_bytes)
{
  enum { T = 2048 };

  for (guint i = 0; i < G_N_ELEMENTS(published); i++) {
    const Published *p = &published[i];
    g_autoptr(RaModel) m = load_model(p->config);
    RaPiece layers = {.n_layers = 4};
    RaBatch batch = {4, T, T, 4 * 512 * 513 / 2};

    for (uint32_t ep = 1; ep <= 8; ep = ep == 1 ? 2 : ep * 4)
      for (guint mode = 0; mode < 4; mode++) {
        RaShard shard = make_shard(m, ep);
        RaOp ops[RA_OP_LIST_MAX];
        gboolean sp = mode == 3;
        double sent = 0, rows = T / (sp ? 4 : 1) * p->k;
        double expected = rows * p->h * 2 * (ep - 1) / ep * 2 * 4;
        guint n, n_gathers = 0;

        shard.recompute = mode == 2 ? RA_RECOMPUTE_FULL : RA_RECOMPUTE_NONE;
        shard.sequence_parallel = sp;
        shard.tp = sp ? 4 : 1;
        n = ra_op_list(&shard, &layers,
                       mode == 1 || mode == 2 ? RA_PHASE_BACKWARD
                                              : RA_PHASE_FORWARD,
                       &batch, ops);
        for (guint j = 0; j < n; j++) {
          if (ops[j].kind == RA_OP_ALL_TO_ALL) {
            ck_assert_uint_eq(ops[j].dim[1], ep);
            sent += ra_op_bytes(&ops[j]) * (ep - 1) / ep * ops[j].count;
          }
          n_gathers += ops[j].kind == RA_OP_ALL_GATHER &&
                       (double)ops[j].dim[0] == T * p->k * p->h * 2;
        }
        expected *= mode == 2 ? 2 : 1;
        ck_assert_double_eq(sent, expected);
        ck_assert_uint_eq(n_gathers, sp && ep > 1 ? 1 : 0);
        if (ep > 1)
          ck_assert_double_ne(sent, expected / p->k);
      }
  }
}
END_TEST

/* Mixtral's token visits 2 of 8 experts.  Dispatched once over 4 ranks of 2
 * experts each it meets 4 (1 - C(6,2) / C(8,2)) = 4 (1 - 15/28) = 13/7 of them;
 * on 2 nodes of 2 ranks 2 (1 - C(4,2) / C(8,2)) = 2 (1 - 6/28) = 11/7 nodes, of
 * which the half is not its own.  The faults: 2 copies, which is more; half of
 * the copies across. */
START_TEST(test_dispatch_once)
{
  g_autoptr(RaModel) m = load_model("mixtral-8x7b");
  RaShard shard = make_shard(m, 4);
  RaPiece layer = {.n_layers = 1};
  RaBatch batch = {1, 700, 700, 700 * 701 / 2};
  RaOp ops[RA_OP_LIST_MAX];
  guint n, n_seen = 0;

  shard.ep_ranks_per_node = 2;
  shard.dispatch = RA_DISPATCH_ONCE;
  n = ra_op_list(&shard, &layer, RA_PHASE_FORWARD, &batch, ops);
  for (guint i = 0; i < n; i++)
    if (ops[i].kind == RA_OP_ALL_TO_ALL) {
      /* the last bit of a mean may fall below a whole byte */
      ck_assert_double_eq_tol((double)ops[i].dim[0], 1300.0 * 4096 * 2, 1);
      ck_assert_double_eq_tol((double)ops[i].dim[4], 550.0 * 4096 * 2, 1);
      ck_assert_uint_lt(ops[i].dim[0], 1400 * 4096 * 2);
      ck_assert_uint_ne(ops[i].dim[4], ops[i].dim[0] / 2);
      n_seen++;
    }
  ck_assert_uint_eq(n_seen, 2);
}
END_TEST

/* The same in a node goes by DeepEP's kernels, which have 20 multiprocessors;
 * combines are marked.  A decode step of up to 128 tokens a rank takes those of
 * low latency, which send a copy to each of 2 experts.  129 tokens, and copies
 * by NCCL, do not (the faults). */
START_TEST(test_dispatch_kernels)
{
  static const struct {
    guint tokens;
    gboolean sampling;
    RaDispatch dispatch;
    guint sms;
    double copies;
  } cases[] = {{700, FALSE, RA_DISPATCH_ONCE, 20, 13.0 / 7},
               {128, TRUE, RA_DISPATCH_ONCE, 0, 2},
               {128, FALSE, RA_DISPATCH_ONCE, 20, 13.0 / 7},
               {129, TRUE, RA_DISPATCH_ONCE, 20, 13.0 / 7},
               {700, FALSE, RA_DISPATCH_COPIES, 0, 2}};
  g_autoptr(RaModel) m = load_model("mixtral-8x7b");

  for (guint c = 0; c < G_N_ELEMENTS(cases); c++) {
    guint t = cases[c].tokens, n_seen = 0, n;
    gboolean once = cases[c].dispatch == RA_DISPATCH_ONCE;
    RaShard shard = make_shard(m, 4);
    RaPiece layer = {.n_layers = 1};
    RaBatch batch = {t, t, 10 * t, 10 * t};
    RaOp ops[RA_OP_LIST_MAX];

    shard.dispatch = cases[c].dispatch;
    shard.sampling = cases[c].sampling;
    n = ra_op_list(&shard, &layer,
                   cases[c].sampling ? RA_PHASE_DECODE : RA_PHASE_FORWARD,
                   &batch, ops);
    for (guint i = 0; i < n; i++)
      if (ops[i].kind == RA_OP_ALL_TO_ALL) {
        ck_assert_double_eq_tol((double)ops[i].dim[0],
                                cases[c].copies * t * 4096 * 2, 1);
        ck_assert_uint_eq(ops[i].dim[4], once ? 4096 * 2 : 0);
        ck_assert_uint_eq(ops[i].dim[5], once ? t : 0);
        ck_assert_uint_eq(ops[i].dim[6], cases[c].sms);
        ck_assert_uint_eq((ops[i].flags & RA_OP_ROUTED),
                          (once && n_seen ? RA_OP_ROUTED : 0));
        n_seen++;
      }
    ck_assert_uint_eq(n_seen, 2);
  }
}
END_TEST

/* DeepEP reaches 8 ranks over NVLink: 16 in an NVLink domain have no kernels of
 * low latency, in a decode step that has them over 8 (the fault). */
START_TEST(test_dispatch_peers)
{
  g_autoptr(RaModel) m = load_model("mixtral-8x7b");
  RaModel wide = *m;

  wide.n_experts = 16;
  for (uint32_t ep = 8; ep <= 16; ep *= 2) {
    RaShard shard = make_shard(&wide, ep);
    RaPiece layer = {.n_layers = 1};
    RaBatch batch = {64, 64, 640, 640};
    RaOp ops[RA_OP_LIST_MAX];
    guint n, n_seen = 0;

    shard.dispatch = RA_DISPATCH_ONCE;
    shard.sampling = TRUE;
    n = ra_op_list(&shard, &layer, RA_PHASE_DECODE, &batch, ops);
    for (guint i = 0; i < n; i++)
      if (ops[i].kind == RA_OP_ALL_TO_ALL) {
        ck_assert_uint_eq(ops[i].dim[6], ep == 8 ? 0 : RA_OP_EXCHANGE_SMS);
        n_seen++;
      }
    ck_assert_uint_eq(n_seen, 2);
  }
}
END_TEST

/* Mean number of the experts of rank 0 of @ep that @tokens tokens meet, over
 * all ways in which each can choose 2 of @e: enumerated. */
static double
mean_met(uint32_t e, uint32_t ep, uint32_t tokens)
{
  uint32_t choice[15], n = 0, sum = 0, n_ways = 1, mask = (1u << e / ep) - 1;

  for (uint32_t a = 0; a < e; a++)
    for (uint32_t b = 0; b < a; b++)
      choice[n++] = 1u << a | 1u << b;
  for (uint32_t t = 0; t < tokens; t++)
    n_ways *= n;
  for (uint32_t way = 0; way < n_ways; way++) {
    uint32_t met = 0;
    for (uint32_t t = 0, rest = way; t < tokens; t++, rest /= n)
      met |= choice[rest % n];
    sum += (uint32_t)__builtin_popcount(met & mask);
  }
  return (double)sum / n_ways;
}

static uint64_t
experts_read(const RaModel *m, uint32_t ep, uint32_t tokens)
{
  RaShard shard = make_shard(m, ep);
  RaPiece layer = {.n_layers = 1};
  RaBatch batch = {tokens, tokens, 10 * tokens, 10 * tokens};
  RaOp ops[RA_OP_LIST_MAX];
  guint n = ra_op_list(&shard, &layer, RA_PHASE_DECODE, &batch, ops);

  for (guint i = 0; i < n; i++)
    if (ops[i].kind == RA_OP_GEMM && ops[i].dim[2] == m->expert_ffn)
      return ops[i].dim[3];
  ck_abort_msg("no product of experts");
  return 0;
}

/* A decode step reads the weights of as many experts as its tokens meet on
 * average, rounded, against every way to choose.  Ranks of an ep group add
 * their tokens.  The fault: one expert a choice, which is too many. */
START_TEST(test_experts_met_in_decode)
{
  RaModelShape shape;
  guint n_faults = 0;

  ra_model_shape_init(&shape, RA_MLP_GATED);
  shape.layers = 1;
  shape.hidden = 64;
  shape.heads = 4;
  shape.vocab = 100;
  shape.experts_per_token = 2;
  shape.expert_ffn = 48;
  for (uint32_t e = 4; e <= 6; e += 2) {
    shape.experts = e;
    g_autoptr(RaModel) m = ra_model_from_shape(&shape, NULL);
    for (uint32_t ep = 1; ep <= 2; ep++)
      for (uint32_t tokens = 1; tokens * ep <= 4; tokens++) {
        double mean = mean_met(e, ep, tokens * ep);
        ck_assert_uint_eq(experts_read(m, ep, tokens), (uint64_t)round(mean));
        n_faults += (uint64_t)round(mean) != MIN(2 * tokens, e / ep);
      }
  }
  ck_assert_uint_ge(n_faults, 3);
}
END_TEST

/* 128 experts, 8 chosen, by hand: 1 token meets 8; 16 meet
 * 128 (1 - (15/16)^16) = 82.4; 8 ranks of 16 tokens meet
 * 16 (1 - (15/16)^128) = 15.996 of a rank's 16. */
START_TEST(test_qwen3_experts_met)
{
  g_autoptr(RaModel) m = load_model("qwen3-30b-a3b");

  ck_assert_uint_eq(experts_read(m, 1, 1), 8);
  ck_assert_uint_eq(experts_read(m, 1, 16), 82);
  ck_assert_uint_eq(experts_read(m, 8, 16), 16);
  ck_assert_uint_eq(experts_read(m, 8, 1), 6); /* 16 (1 - (15/16)^8) = 6.45 */
}
END_TEST

/* A rank of ep has 1 / ep of the experts and all the rest, which is what its
 * layout says; all ranks together have the model once and the rest ep times. */
START_TEST(test_params)
{
  for (guint i = 0; i < G_N_ELEMENTS(published); i++) {
    const Published *p = &published[i];
    g_autoptr(RaModel) m = load_model(p->config);
    RaPiece whole = {
        .n_layers = m->n_layers, .has_embedding = 1, .has_head = 1};
    double experts = m->n_layers * p->e * 3 * p->h * p->f;

    for (uint32_t ep = 1; ep <= 8; ep *= 2) {
      RaShard shard = make_shard(m, ep);
      double n = (double)ra_piece_n_params(&shard, &whole);
      double n_experts = (double)ra_piece_n_expert_params(&shard, &whole);
      ck_assert_double_eq(n_experts, experts / ep);
      ck_assert_double_eq(n - n_experts,
                          (double)ra_model_n_params(m) - experts);
    }
  }
}
END_TEST

/* Qwen3-30B-A3B's layer in fp8, 512 tokens that meet all of its 128 experts:
 * 4096 choices, so 32 rows each.  Router, choice, copies in, up and gate,
 * SwiGLU, down, sum: seven ops.  The router's product quantises the tokens, so
 * the experts' first does not; between products there is bf16: copies in read
 * 512 rows of 2048 and write 4096, 2 bytes each. */
START_TEST(test_list_of_experts)
{
  static const RaOpKind kinds[] = {
      RA_OP_GEMM,       RA_OP_ROUTER, RA_OP_PERMUTE, RA_OP_GEMM,
      RA_OP_ACTIVATION, RA_OP_GEMM,   RA_OP_PERMUTE};
  g_autoptr(RaModel) m = load_model("qwen3-30b-a3b");
  RaShard shard = make_shard(m, 1);
  RaOp ops[RA_OP_LIST_MAX];
  guint n;

  shard.dtype = RA_DTYPE_FP8;
  n = ra_op_list_experts(&shard, 512, ops);
  ck_assert_uint_eq(n, G_N_ELEMENTS(kinds));
  for (guint i = 0; i < n; i++) {
    ck_assert_uint_eq(ops[i].kind, kinds[i]);
    ck_assert_uint_eq(ops[i].dtype,
                      kinds[i] == RA_OP_GEMM ? RA_DTYPE_FP8 : RA_DTYPE_BF16);
    ck_assert_uint_eq(ops[i].flags, i == 3 ? RA_OP_QUANTIZED : 0);
  }
  ck_assert_uint_eq(ops[3].dim[0], 32);
  ck_assert_uint_eq(ops[3].dim[1], 2 * 768);
  ck_assert_uint_eq(ops[3].dim[2], 2048);
  ck_assert_uint_eq(ops[3].dim[3], 128);
  ck_assert_uint_eq(ops[4].dim[0], 4096);
  ck_assert_double_eq(ra_op_bytes(&ops[2]), 2 * 2048 * (512 + 4096.0));
  /* the fault to catch: one expert a token */
  ck_assert_uint_ne(ops[3].dim[0], 512 / 128);
}
END_TEST

/* A list and what runs of it compute the same, in every phase, with frozen
 * weights or not: 512 tokens visit all 128 experts, 32 rows each.  Backward
 * twice forward, or once if frozen.  The fault: a backward that forgets the
 * weights' gradients. */
START_TEST(test_lowered_list)
{
  g_autoptr(RaModel) m = load_model("qwen3-30b-a3b");
  RaShard shard = make_shard(m, 1);
  RaPiece layer = {.n_layers = 1};
  RaBatch batch = {1, 512, 512, 512 * 513 / 2};
  double products = 2.0 * 512 * 8 * 3 * 2048 * 768;

  shard.loss = 1;
  shard.groups_experts = 1;
  for (guint frozen = 0; frozen < 2; frozen++) {
    m->lora_rank = frozen;
    for (guint phase = 0; phase < RA_N_PHASES; phase++) {
      double passes = phase == RA_PHASE_BACKWARD && !frozen ? 2 : 1;
      RaOp ops[RA_OP_LIST_MAX], parts[RA_OP_EXPERTS_PARTS];
      guint n = ra_op_list(&shard, &layer, (RaPhase)phase, &batch, ops), i = 0;

      while (ops[i].kind != RA_OP_EXPERTS &&
             ops[i].kind != RA_OP_EXPERTS_BACKWARD)
        ck_assert_uint_lt(++i, n);
      parts[0] = ops[i];
      ck_assert_double_eq(ra_op_flop(&ops[i]), passes * products);
      n = ra_op_list_lower(parts, 1);
      ck_assert_uint_eq(n, passes < 2 ? 3 : 5);
      ck_assert_double_eq(list_flop(parts, n, n), passes * products);
      ck_assert_double_lt(list_flop(parts, n, 0), passes * products);
      ck_assert(phase == RA_PHASE_BACKWARD ||
                (parts[2].flags & RA_OP_FROZEN) == (frozen ? RA_OP_FROZEN : 0));
    }
  }
  m->lora_rank = 0;
}
END_TEST

/* --- experts over tensor-parallel ranks --- */

enum { RANKS = 16, EXPERTS = 8, CHOSEN = 2, WIDTH = 16, HIDDEN = 32 };

/* Three layers, of which the second is dense. */
static RaModel *
small_model(void)
{
  RaModelShape shape;
  RaModel *m;
  guint8 is_moe[64];

  ra_model_shape_init(&shape, RA_MLP_GATED);
  shape.layers = 3;
  shape.hidden = HIDDEN;
  shape.heads = shape.kv_heads = 16;
  shape.head_dim = 2;
  shape.ffn = 64;
  shape.vocab = 48;
  shape.seq = 8;
  shape.experts = EXPERTS;
  shape.experts_per_token = CHOSEN;
  shape.expert_ffn = WIDTH;
  m = ra_model_from_shape(&shape, NULL);
  ck_assert_ptr_nonnull(m);
  for (guint32 i = 0; i < m->n_layers; i++)
    is_moe[i] = i != 1;
  ra_model_set_moe_layers(m, is_moe);
  return m;
}

/* One of the layouts of RANKS ranks. */
typedef struct {
  uint32_t tp, cp, dp, ep, cut; /* cut: expert-tp */
} Layout;

typedef void (*LayoutFunc)(const RaModel *m, const Layout *layout);

/* Calls @func for all of them: tp cp dp = 16, cut divides tp, cut ep divides 16
 * and ep divides the experts.  With tp = 2^a there are 5 - a pairs cp, dp; cut
 * 2^b, b <= a; ep 2^c, c <= min(4 - b, 3): in all
 *
 *     a   pairs   sum over b of min(4 - b, 3) + 1   together
 *     0     5     4                                    20
 *     1     4     4 + 4                                32
 *     2     3     4 + 4 + 3                            33
 *     3     2     4 + 4 + 3 + 2                        26
 *     4     1     4 + 4 + 3 + 2 + 1                    14   of 125 */
static void
for_all_layouts(LayoutFunc func)
{
  g_autoptr(RaModel) m = small_model();
  guint n = 0;

  for (uint32_t tp = 1; tp <= RANKS; tp *= 2)
    for (uint32_t cp = 1; cp <= RANKS / tp; cp *= 2)
      for (uint32_t cut = 1; cut <= tp; cut *= 2)
        for (uint32_t ep = 1; ep <= EXPERTS && ep * cut <= RANKS; ep *= 2) {
          const Layout layout = {tp, cp, RANKS / tp / cp, ep, cut};
          func(m, &layout);
          n++;
        }
  ck_assert_uint_eq(n, 125);
}

static uint64_t
n_params_of(const RaTensorTable *table, const Layout *l, uint32_t ep,
            uint32_t cut, uint32_t rank)
{
  uint32_t layers[] = {3};
  RaCallPlan plan = {.dp = l->dp,
                     .tp = l->tp,
                     .pp = 1,
                     .cp = l->cp,
                     .ep = ep,
                     .expert_tp = cut,
                     .n_virtual = 1,
                     .stage_layers = layers,
                     .axis = {RA_AXIS_TP, RA_AXIS_CP, RA_AXIS_DP, RA_AXIS_PP}};

  return ra_layout_n_params(table, &plan, rank);
}

/* Columns of experts' matrices that each rank holds, one by one: in the order
 * expert-tp, ep, replica of Megatron-Core's ranks of experts. */
static void
assign(const Layout *l, uint32_t held[RANKS], uint32_t holders[EXPERTS][WIDTH])
{
  for (uint32_t rank = 0; rank < RANKS; rank++)
    for (uint32_t x = 0; x < EXPERTS; x++)
      for (uint32_t w = 0; w < WIDTH; w++)
        if (rank % l->cut == w / (WIDTH / l->cut) &&
            rank / l->cut % l->ep == x / (EXPERTS / l->ep)) {
          held[rank]++;
          holders[x][w]++;
        }
}

/* Each of two layers has 3 h parameters a column of an expert; each column is
 * on tp cp dp / (cut ep) ranks, and every rank has E / ep x f / cut.  Other
 * parameters are those of the rank with ep 1 and experts cut by tp, less its
 * experts.  Both counts of the code say so.  The faults: tp cuts experts
 * (cut = tp), and ep counts as one. */
static void
check_counts(const RaModel *m, const Layout *l)
{
  g_autoptr(RaTensorTable) table = ra_tensor_table_new(m);
  uint32_t held[RANKS] = {0}, holders[EXPERTS][WIDTH] = {{0}};
  const uint64_t column = 2 * 3 * HIDDEN, all = EXPERTS * WIDTH;
  RaShard shard = {.model = m, .tp = l->tp, .ep = l->ep, .expert_tp = l->cut};
  RaPiece whole = {.n_layers = 3, .has_embedding = 1, .has_head = 1};
  uint64_t plain = n_params_of(table, l, 1, l->tp, 0);

  assign(l, held, holders);
  for (uint32_t x = 0; x < EXPERTS; x++)
    for (uint32_t w = 0; w < WIDTH; w++)
      ck_assert_uint_eq(holders[x][w], RANKS / (l->cut * l->ep));
  for (uint32_t rank = 0; rank < RANKS; rank++) {
    uint64_t n = n_params_of(table, l, l->ep, l->cut, rank);

    ck_assert_uint_eq(held[rank], all / l->ep / l->cut);
    ck_assert_uint_eq(n, plain - column * all / l->tp + column * held[rank]);
    ck_assert(l->cut == l->tp || n != n_params_of(table, l, l->ep, 0, rank));
    ck_assert(l->ep == 1 || n != n_params_of(table, l, 1, l->cut, rank));
  }
  ck_assert_uint_eq(ra_piece_n_params(&shard, &whole),
                    n_params_of(table, l, l->ep, l->cut, 0));
  ck_assert_uint_eq(ra_piece_n_expert_params(&shard, &whole), column * held[0]);
}

START_TEST(test_counts_of_all_layouts)
{
  for_all_layouts(check_counts);
}
END_TEST

enum { TOKENS = 256 }; /* of a tp group */

/* Rows, counted token by token. */
typedef struct {
  uint64_t sent[RANKS]; /* by a rank in a dispatch, to itself too */
  uint64_t rows[RANKS]; /* that a rank's part of its experts computes */
} Routed;

/* Tokens choose experts 2 i and 2 i + 1 modulo E: evenly, for each four in a
 * row.  @shares: each tp rank sends a tp-th of the tokens and the ranks that
 * cut the same experts gather; else each sends all, for its own part alone. */
static void
route(const Layout *l, gboolean shares, Routed *out)
{
  *out = (Routed){{0}, {0}};
  for (uint32_t rank = 0; rank < RANKS; rank++) {
    uint32_t n = shares ? TOKENS / l->tp : TOKENS;
    uint32_t begin = shares ? rank % l->tp * n : 0;

    for (uint32_t c = CHOSEN * begin; c < CHOSEN * (begin + n); c++) {
      uint32_t at = c % EXPERTS / (EXPERTS / l->ep), set = l->cut * l->ep;
      uint32_t first = rank / set * set + at * l->cut;

      out->sent[rank]++;
      for (uint32_t i = 0; i < l->cut; i++)
        if (shares || rank % l->cut == i)
          out->rows[first + i]++;
    }
  }
}

/* The choices of a tp group's tokens that fall on the experts of each rank. */
static void
keep_own(const Layout *l, Routed *out)
{
  *out = (Routed){{0}, {0}};
  for (uint32_t rank = 0; rank < RANKS; rank++)
    for (uint32_t c = 0; c < CHOSEN * TOKENS; c++)
      out->rows[rank] +=
          c % EXPERTS / (EXPERTS / l->ep) == rank / l->cut % l->ep;
}

/* Sum of the first dimension of the ops of @kind with @ranks ranks. */
static uint64_t
sum_bytes(const RaOp *ops, guint n, RaOpKind kind, uint64_t ranks)
{
  uint64_t sum = 0;

  for (guint i = 0; i < n; i++)
    if (ops[i].kind == kind && ops[i].dim[1] == ranks)
      sum += ops[i].dim[0] * ops[i].count;
  return sum;
}

/* The layer's collectives and the rows of its experts' first product. */
typedef struct {
  guint n_exchanges;
  uint64_t exchanged, gathered, rows, width;
} Moved;

static Moved
moved_of(const RaModel *m, const Layout *l, gboolean sequence, uint32_t cut)
{
  RaShard shard = {.model = m,
                   .tp = l->tp,
                   .tp_ranks_per_node = l->tp,
                   .ep = l->ep,
                   .ep_ranks_per_node = l->ep,
                   .expert_tp = cut,
                   .expert_tp_ranks_per_node = cut,
                   .dtype = RA_DTYPE_BF16,
                   .sequence_parallel = sequence};
  RaBatch batch = {1, TOKENS, TOKENS, TOKENS};
  RaPiece layer = {.n_layers = 1};
  RaOp ops[RA_OP_LIST_MAX];
  guint n = ra_op_list(&shard, &layer, RA_PHASE_FORWARD, &batch, ops), i = 0;
  Moved moved = {0};

  while (ops[i].kind != RA_OP_PERMUTE)
    i++;
  for (guint k = i; ops[k].kind != RA_OP_ADD; k++) {
    moved.n_exchanges += ops[k].kind == RA_OP_ALL_TO_ALL;
    if (ops[k].kind == RA_OP_ALL_TO_ALL)
      moved.exchanged += ops[k].dim[0];
    if (ops[k].kind == RA_OP_ACTIVATION && moved.rows == 0) {
      moved.rows = ops[k].dim[0];
      moved.width = ops[k].dim[1];
    }
  }
  for (; ops[i].kind != RA_OP_ACTIVATION; i++)
    moved.gathered += sum_bytes(&ops[i], 1, RA_OP_ALL_GATHER, cut);
  g_assert(n <= RA_OP_LIST_MAX);
  return moved;
}

/* With and without sequence parallelism, by what graph/input/plan.h says: who
 * sends its share, who sends all, and who sends nothing.  Dispatch and combine
 * move what is counted, h bf16 values a row; ranks that cut the same experts
 * gather the rows that they then compute; and all ranks together compute each
 * choice of each tp group's tokens once.  The fault: the same with experts cut
 * by tp has other rows, or columns, or bytes. */
static void
check_routing(const RaModel *m, const Layout *l)
{
  const uint64_t row = HIDDEN * 2, all = RANKS / l->tp * TOKENS * CHOSEN;

  for (guint sequence = 0; sequence < 2; sequence++) {
    gboolean within = l->cut < l->tp && !sequence && l->cut * l->ep == l->tp;
    gboolean shares = !within && (l->cut < l->tp || (sequence && l->ep > 1));
    Moved moved = moved_of(m, l, (gboolean)sequence, l->cut);
    Moved fault = moved_of(m, l, (gboolean)sequence, l->tp);
    Routed routed;

    if (within)
      keep_own(l, &routed);
    else
      route(l, shares, &routed);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
      gboolean exchanges = l->ep > 1 && !within;

      ck_assert_uint_eq(moved.n_exchanges, exchanges ? 2 : 0);
      ck_assert_uint_eq(moved.exchanged,
                        exchanges ? 2 * routed.sent[rank] * row : 0);
      ck_assert_uint_eq(moved.rows, routed.rows[rank]);
      if (shares && l->cut > 1)
        ck_assert_uint_eq(moved.gathered, routed.rows[rank] * row);
    }
    ck_assert_uint_eq(moved.width, WIDTH / l->cut);
    ck_assert_uint_eq(RANKS * moved.rows * moved.width, all * WIDTH);
    if (l->cut < l->tp)
      ck_assert(fault.rows != moved.rows || fault.width != moved.width);
    if (l->cut < l->tp && l->ep > 1 && !sequence && !within)
      ck_assert_uint_ne(fault.exchanged, moved.exchanged);
  }
}

START_TEST(test_routing_of_all_layouts)
{
  for_all_layouts(check_routing);
}
END_TEST

/* Permutations that the law of the experts does not have: a trainer's copies
 * before its grouped GEMMs, and, where an exchange takes copies away, those of
 * its other side too; engines on their own rows have none (the fault: all are
 * in the law). */
START_TEST(test_permutations)
{
  static const struct {
    uint32_t ep;
    uint8_t dispatch, sampling;
    guint n_apart[2]; /* before and behind the experts */
  } cases[] = {{4, RA_DISPATCH_COPIES, 0, {1, 1}},
               {4, RA_DISPATCH_ONCE, 0, {1, 0}},
               {1, RA_DISPATCH_COPIES, 0, {1, 0}},
               {4, RA_DISPATCH_COPIES, 1, {1, 1}},
               {1, RA_DISPATCH_COPIES, 1, {0, 0}}};
  g_autoptr(RaModel) m = load_model("qwen3-30b-a3b");
  RaPiece piece = {.n_layers = 1};
  RaBatch batch = {1, 512, 512, 512 * 513 / 2};

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    RaShard shard = make_shard(m, cases[i].ep);
    RaOp ops[RA_OP_LIST_MAX];
    guint n, n_seen = 0;

    shard.groups_experts = 1;
    shard.dispatch = cases[i].dispatch;
    shard.sampling = cases[i].sampling;
    n = ra_op_list(&shard, &piece, RA_PHASE_FORWARD, &batch, ops);
    for (guint k = 0; k < n; k++)
      if (ops[k].kind == RA_OP_PERMUTE) {
        ck_assert_uint_lt(n_seen, 2);
        ck_assert_msg(!(ops[k].flags & RA_OP_ROUTED) ==
                          (cases[i].n_apart[n_seen] > 0),
                      "%u %u", i, n_seen);
        n_seen++;
      }
    ck_assert_uint_eq(n_seen, 2);
  }
}
END_TEST

static Suite *
moe_suite(void)
{
  Suite *suite = suite_create("moe");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_flop_is_independent_of_ep);
  tcase_add_test(tcase, test_all_to_all_bytes);
  tcase_add_test(tcase, test_dispatch_once);
  tcase_add_test(tcase, test_dispatch_kernels);
  tcase_add_test(tcase, test_dispatch_peers);
  tcase_add_test(tcase, test_experts_met_in_decode);
  tcase_add_test(tcase, test_qwen3_experts_met);
  tcase_add_test(tcase, test_params);
  tcase_add_test(tcase, test_list_of_experts);
  tcase_add_test(tcase, test_lowered_list);
  tcase_add_test(tcase, test_counts_of_all_layouts);
  tcase_add_test(tcase, test_routing_of_all_layouts);
  tcase_add_test(tcase, test_permutations);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(moe_suite)
