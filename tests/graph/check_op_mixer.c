/* Ops of latent attention, windows and linear mixers, by hand. */
#include "config.h"

#include "graph/op/op.h"
#include "tests/support/check_main.h"

static double
flop_of(RaOpKind kind, guint16 flags, const uint64_t *dims)
{
  RaOp op = {.kind = (uint8_t)kind, .flags = flags, .count = 1};

  for (guint i = 0; i < RA_OP_DIMS; i++)
    op.dim[i] = dims[i];
  return ra_op_flop(&op);
}

static double
bytes_of(RaOpKind kind, const uint64_t *dims)
{
  RaOp op = {.kind = (uint8_t)kind, .dtype = RA_DTYPE_BF16, .count = 1};

  for (guint i = 0; i < RA_OP_DIMS; i++)
    op.dim[i] = dims[i];
  return ra_op_bytes(&op);
}

/* Windows: 2 sequences of 10 tokens have 110 pairs; within 4, each has 1 + 2 +
 * 3 + 7 * 4 = 34.  Decode at 10 tokens each: 20 pairs, 8 within 4.  Chunks of
 * the last 3 of 10 tokens: 8 + 9 + 10 = 27 pairs each, 12 within 4. */
START_TEST(test_windows)
{
  const RaBatch whole = {2, 20, 20, 110}, step = {2, 2, 20, 20};
  const RaBatch chunk = {2, 6, 20, 54}, few = {2, 6, 6, 12};

  ck_assert_uint_eq(ra_op_pairs(&whole, 0), 110);
  ck_assert_uint_eq(ra_op_pairs(&whole, 4), 68);
  ck_assert_uint_eq(ra_op_pairs(&whole, 10), 110);
  ck_assert_uint_eq(ra_op_pairs(&step, 4), 8);
  ck_assert_uint_eq(ra_op_kv_tokens(&step, 4), 8);
  ck_assert_uint_eq(ra_op_kv_tokens(&whole, 4), 20);
  ck_assert_uint_eq(ra_op_pairs(&chunk, 4), 24);
  ck_assert_uint_eq(ra_op_pairs(&few, 4), 12);
}
END_TEST

/* DeepSeek-V3 on 8 of 128 heads: a pair costs 2 * 16 * (192 + 128) = 10240 FLOP
 * whole, 2 * 16 * (2 * 512 + 64) = 34816 absorbed; a cached token 576 elements
 * of 2 bytes.  Backward: 2 * 16 * (3 * 192 + 2 * 128) = 26624.  The step's
 * bytes: 4 queries of 16 * 576 and outputs of 16 * 512, 4000 tokens of 576. */
START_TEST(test_latent)
{
  const uint64_t whole[] = {1, 100, 100, 5050, 16, 192, 128};
  const uint64_t step[] = {4, 4, 4000, 4000, 16, 512, 64};

  ck_assert_double_eq(flop_of(RA_OP_LATENT, 0, whole), 5050.0 * 10240);
  ck_assert_double_eq(flop_of(RA_OP_LATENT_BACKWARD, 0, whole), 5050.0 * 26624);
  ck_assert_double_eq(flop_of(RA_OP_LATENT_DECODE, 0, step), 4000.0 * 34816);
  ck_assert_double_eq(bytes_of(RA_OP_LATENT_DECODE, step),
                      2.0 * (4 * 16 * (576 + 512) + 4000 * 576));
  ck_assert_double_eq(bytes_of(RA_OP_LATENT, whole),
                      2.0 * (100 * 16 + 100 * 16) * 320);
}
END_TEST

/* A scan of 128 tokens, chunks of 64, keys and states of 8 and 4, 2 groups and
 * 6 heads.  Mamba-2: a token 2 * 2 * 64 * 8 + 6 * (2 * 64 * 4 + 4 * 8 * 4) =
 * 2048 + 3840.  Delta: 6 * (6 * 64 * 8 + 4 * 64 * 4 + 6 * 8 * 4 + 64^2 / 3) =
 * 6 * (4288 + 4096 / 3) = 33920.  A step of 3 sequences: 3 * 6 * 8 * 4 states
 * of 2 FLOP, two or three times; its bytes 3 * 2 * 2 (16 + 24) of rows and 2 *
 * 3 * 192 * 4 of states. */
START_TEST(test_scans)
{
  const uint64_t scan[] = {1, 128, 2, 6, 8, 4, 64};
  const uint64_t step[] = {3, 3, 2, 6, 8, 4, 0};

  ck_assert_double_eq(flop_of(RA_OP_SCAN, 0, scan), 128.0 * 5888);
  ck_assert_double_eq(flop_of(RA_OP_SCAN, RA_OP_DELTA, scan), 128.0 * 33920);
  ck_assert_double_eq(flop_of(RA_OP_SCAN_BACKWARD, 0, scan), 3 * 128.0 * 5888);
  ck_assert_double_eq(flop_of(RA_OP_SCAN_STEP, 0, step), 2.0 * 3 * 2 * 192);
  ck_assert_double_eq(flop_of(RA_OP_SCAN_STEP, RA_OP_DELTA, step),
                      3.0 * 3 * 2 * 192);
  ck_assert_double_eq(bytes_of(RA_OP_SCAN_STEP, step),
                      3 * 2 * 2 * 40 + 2.0 * 3 * 192 * 4);
}
END_TEST

/* Ops of one layer of @model for @batch, without ends.
 * Returns: the first of @kind; count 0: there is none */
static RaOp
lowered(const RaModel *model, gboolean loss, RaPhase phase,
        const RaBatch *batch, RaOpKind kind)
{
  RaShard shard = {.model = model,
                   .tp = 1,
                   .tp_ranks_per_node = 1,
                   .tp_groups_per_node = 1,
                   .dtype = RA_DTYPE_BF16,
                   .loss = (uint8_t)loss};
  RaPiece piece = {.n_layers = 1};
  RaOp ops[RA_OP_LIST_MAX];
  guint n = ra_op_list(&shard, &piece, phase, batch, ops);

  for (guint i = 0; i < n; i++)
    if (ops[i].kind == kind)
      return ops[i];
  return (RaOp){.count = 0};
}

/* Scans and convolutions say whose kernels they are (the faults: a gated delta
 * net's as Kimi's, Mamba-2's as a delta net's). */
START_TEST(test_flags)
{
  static const struct {
    RaMixer mixer;
    guint16 flags;
  } want[] = {{RA_MIXER_DELTA, RA_OP_DELTA},
              {RA_MIXER_KIMI, RA_OP_DELTA | RA_OP_KIMI},
              {RA_MIXER_MAMBA, 0}};
  const RaBatch whole = {2, 20, 20, 110}, step = {2, 2, 20, 20};

  for (guint i = 0; i < G_N_ELEMENTS(want); i++) {
    RaModel m = {.n_layers = 1,
                 .hidden = 64,
                 .n_key_heads = 2,
                 .n_value_heads = 4,
                 .key_dim = 8,
                 .state_dim = 8,
                 .conv_taps = 4,
                 .n_kinds = 1};

    m.kinds[0] =
        (RaLayerKind){.mixer = (guint8)want[i].mixer, .ffn = RA_FFN_NONE};
    ck_assert_uint_eq(
        lowered(&m, FALSE, RA_PHASE_FORWARD, &whole, RA_OP_SCAN).flags,
        want[i].flags);
    ck_assert_uint_eq(
        lowered(&m, FALSE, RA_PHASE_DECODE, &step, RA_OP_SCAN_STEP).flags,
        want[i].flags);
    ck_assert_uint_eq(
        lowered(&m, FALSE, RA_PHASE_DECODE, &step, RA_OP_CONV).flags,
        want[i].flags);
  }
}
END_TEST

/* Prompts whose keys an indexer chooses attend to the latent cache: 8 keys of
 * rank 16 and 4, at most 3 a query.  2 sequences of 10 tokens: 2 (1 + 2 + 8 *
 * 3) = 54 pairs.  With a loss, or without an indexer (the faults), keys and
 * values are made whole. */
START_TEST(test_sparse)
{
  const RaBatch whole = {2, 20, 20, 110};
  RaModel m = {.n_layers = 1,
               .hidden = 64,
               .n_heads = 8,
               .n_kv_heads = 8,
               .head_dim = 12,
               .q_rank = 32,
               .kv_rank = 16,
               .nope_dim = 8,
               .rope_dim = 4,
               .value_dim = 8,
               .index_heads = 2,
               .index_dim = 8,
               .index_top_k = 3,
               .n_kinds = 1};
  RaOp op;

  m.kinds[0] =
      (RaLayerKind){.mixer = RA_MIXER_LATENT, .ffn = RA_FFN_NONE, .indexer = 1};
  op = lowered(&m, FALSE, RA_PHASE_FORWARD, &whole, RA_OP_LATENT_DECODE);
  ck_assert_uint_eq(op.flags, RA_OP_SPARSE);
  ck_assert_uint_eq(op.dim[3], 54);
  ck_assert_uint_eq(op.dim[5], 16);
  op = lowered(&m, TRUE, RA_PHASE_FORWARD, &whole, RA_OP_LATENT_DECODE);
  ck_assert_uint_eq(op.count, 0);
  m.index_top_k = m.kinds[0].indexer = 0;
  op = lowered(&m, FALSE, RA_PHASE_FORWARD, &whole, RA_OP_LATENT_DECODE);
  ck_assert_uint_eq(op.count, 0);
}
END_TEST

/* Prompts of an engine attend in the type of its cache; a call that caches
 * nothing (the fault), or in 16 bits, does not. */
START_TEST(test_cached_type)
{
  static const RaMixer mixers[] = {RA_MIXER_ATTENTION, RA_MIXER_LATENT};
  static const RaOpKind kinds[] = {RA_OP_ATTENTION, RA_OP_LATENT};
  const RaBatch whole = {2, 20, 20, 110};
  RaModel m = {.n_layers = 1,
               .hidden = 64,
               .n_heads = 8,
               .n_kv_heads = 8,
               .head_dim = 12,
               .kv_rank = 16,
               .nope_dim = 8,
               .rope_dim = 4,
               .value_dim = 8,
               .n_kinds = 1};
  RaPiece piece = {.n_layers = 1};
  RaOp ops[RA_OP_LIST_MAX];

  for (guint i = 0; i < 2; i++)
    for (guint narrow = 0; narrow < 2; narrow++)
      for (guint8 sampling = 0; sampling < 2; sampling++) {
        uint8_t cached = narrow ? RA_DTYPE_FP8 : RA_DTYPE_BF16;
        RaShard shard = {.model = &m,
                         .tp = 1,
                         .tp_ranks_per_node = 1,
                         .tp_groups_per_node = 1,
                         .dtype = RA_DTYPE_BF16,
                         .kv_dtype = (uint8_t)(1 + cached),
                         .sampling = sampling};
        guint n, at = 0;

        m.kinds[0] =
            (RaLayerKind){.mixer = (guint8)mixers[i], .ffn = RA_FFN_NONE};
        n = ra_op_list(&shard, &piece, RA_PHASE_FORWARD, &whole, ops);
        while (at < n && ops[at].kind != kinds[i])
          at++;
        ck_assert_uint_lt(at, n);
        ck_assert_uint_eq(ops[at].dtype, sampling ? cached : RA_DTYPE_BF16);
      }
}
END_TEST

/* A decode step of an engine on a checkpoint of fp8: the GEMMs of every head
 * are in 16 bits, the others in 8 (the fault: all).  With a second stream the
 * norm of the latent keys overlaps that of the queries, and the first GEMM of
 * every head the positions. */
START_TEST(test_absorbed)
{
  const RaBatch step = {2, 2, 20, 20};
  RaModel m = {.n_layers = 1,
               .hidden = 64,
               .n_heads = 8,
               .n_kv_heads = 8,
               .head_dim = 12,
               .q_rank = 32,
               .kv_rank = 16,
               .nope_dim = 8,
               .rope_dim = 4,
               .value_dim = 8,
               .n_kinds = 1,
               .position = RA_POSITION_ROTARY,
               .kinds = {{.mixer = RA_MIXER_LATENT, .ffn = RA_FFN_NONE}}};
  RaPiece piece = {.n_layers = 1};
  RaOp ops[RA_OP_LIST_MAX];

  for (guint8 stream = 0; stream < 2; stream++) {
    RaShard shard = {.model = &m,
                     .tp = 1,
                     .tp_ranks_per_node = 1,
                     .tp_groups_per_node = 1,
                     .dtype = RA_DTYPE_FP8,
                     .by_block = 1,
                     .sampling = 1,
                     .second_stream = stream};
    guint n = ra_op_list(&shard, &piece, RA_PHASE_DECODE, &step, ops);
    guint n_heads = 0, n_others = 0, n_behind = 0;

    for (guint i = 0; i < n; i++) {
      gboolean by_head = ops[i].kind == RA_OP_GEMM && ops[i].dim[3] == 8;

      n_heads += by_head && ops[i].dtype == RA_DTYPE_BF16 &&
                 !(ops[i].flags & RA_OP_BLOCK);
      n_others += ops[i].kind == RA_OP_GEMM && !by_head &&
                  ops[i].dtype == RA_DTYPE_FP8 && ops[i].flags & RA_OP_BLOCK;
      if (!(ops[i].flags & RA_OP_BEHIND))
        continue;
      n_behind++;
      ck_assert(ops[i - 1].kind == (by_head ? RA_OP_ROPE : RA_OP_NORM));
      ck_assert(by_head || (ops[i].kind == RA_OP_NORM && ops[i].dim[1] == 16 &&
                            ops[i - 1].dim[1] == 32));
    }
    ck_assert_uint_eq(n_heads, 2);
    ck_assert_uint_eq(n_others, 3);
    ck_assert_uint_eq(n_behind, stream ? 2 : 0);
  }
}
END_TEST

/* Entries: of 10 tokens those at i see floor(i / 4), 0 0 0 1 1 1 1 2 2 2, which
 * are 10, or 7 of at most 1 each; the last 3 see 6.  A step of 2 sequences of
 * 10 sees 20 / 4, or 2 of at most 1 each.  Of 300 tokens 127 see none of 128
 * to 1, 128 see one, 45 two: 218. */
START_TEST(test_entries)
{
  const RaBatch whole = {2, 20, 20, 110}, step = {2, 2, 20, 20};
  const RaBatch chunk = {2, 6, 20, 54}, lengthy = {1, 300, 300, 45150};

  ck_assert_uint_eq(ra_op_entry_pairs(&whole, 4, 0), 20);
  ck_assert_uint_eq(ra_op_entry_pairs(&whole, 4, 1), 14);
  ck_assert_uint_eq(ra_op_entry_pairs(&chunk, 4, 0), 12);
  ck_assert_uint_eq(ra_op_entry_pairs(&chunk, 4, 1), 6);
  ck_assert_uint_eq(ra_op_entry_pairs(&step, 4, 0), 5);
  ck_assert_uint_eq(ra_op_entry_pairs(&step, 4, 1), 2);
  ck_assert_uint_eq(ra_op_entry_pairs(&lengthy, 128, 0), 218);
  ck_assert_uint_ne(ra_op_entry_pairs(&lengthy, 127, 0), 218); /* the fault */
}
END_TEST

/* A model of a layer of each type of DeepSeek-V4. */
static RaModel *
compressed_model(void)
{
  static const char text[] =
      "{\"model_type\": \"deepseek_v4\", \"hidden_size\": 64,"
      " \"vocab_size\": 100, \"num_attention_heads\": 4, \"head_dim\": 16,"
      " \"q_lora_rank\": 24, \"o_groups\": 2, \"o_lora_rank\": 12,"
      " \"moe_intermediate_size\": 32, \"n_routed_experts\": 4,"
      " \"num_experts_per_tok\": 2, \"index_n_heads\": 3,"
      " \"index_head_dim\": 8, \"index_topk\": 2, \"sliding_window\": 6,"
      " \"num_hidden_layers\": 3, \"compress_ratios\": [0, 4, 128]}";
  RaModel *m = ra_model_parse("v4.json", text, sizeof text - 1, NULL);

  ck_assert_ptr_nonnull(m);
  return m;
}

/* Ops of @m on one of @tp ranks. */
static guint
ops_of(const RaModel *m, guint32 tp, RaPiece piece, RaPhase phase,
       const RaBatch *batch, RaOp *ops)
{
  RaShard shard = {.model = m,
                   .tp = tp,
                   .tp_ranks_per_node = tp,
                   .tp_groups_per_node = 1,
                   .groups_experts = 1,
                   .loss = phase == RA_PHASE_BACKWARD};

  return ra_op_list(&shard, &piece, phase, batch, ops);
}

static const RaOp *
find_op(const RaOp *ops, guint n, RaOpKind kind)
{
  for (guint i = 0; i < n; i++)
    if (ops[i].kind == kind)
      return &ops[i];
  return NULL;
}

static double
sum_flop(const RaOp *ops, guint n)
{
  double sum = 0;

  for (guint i = 0; i < n; i++)
    sum += ops[i].count * ra_op_flop(&ops[i]);
  return sum;
}

/* 2 sequences of 10 tokens.  The window of 6 has 21 + 4 * 6 = 45 pairs each;
 * entries of 4 tokens 10, as at most 2 are chosen and there are no more.  The
 * indexer scores 2 of them for each: 10 pairs, 5 entries of all.  A decode step
 * sees 6 + 2 of a sequence, and at 100 tokens 6 + 2 as well, where the indexer
 * scores 25.  The ops' FLOP are those that the model is said to have. */
START_TEST(test_compressed)
{
  const RaBatch whole = {2, 20, 20, 110}, step = {2, 2, 200, 200};
  g_autoptr(RaModel) m = compressed_model();
  const RaPiece all = {0, 3, TRUE, TRUE}, sparse = {1, 1, FALSE, FALSE};
  RaOp ops[RA_OP_LIST_MAX];
  guint n = ops_of(m, 1, sparse, RA_PHASE_FORWARD, &whole, ops);
  const RaOp *op = find_op(ops, n, RA_OP_COMPRESSED);
  const RaOp *index = find_op(ops, n, RA_OP_INDEXER);
  const uint64_t core[] = {2, 20, 25, 110, 4, 16, 4};
  const uint64_t chosen[] = {2, 20, 5, 20, 3, 8, 2};

  ck_assert_uint_eq(op->flags, RA_OP_SPARSE);
  for (guint i = 0; i < RA_OP_DIMS; i++) {
    ck_assert_uint_eq(op->dim[i], core[i]);
    ck_assert_uint_eq(index->dim[i], chosen[i]);
  }
  ck_assert_double_eq(ra_op_flop(op), 4.0 * 110 * 4 * 16);
  ck_assert_double_eq(ra_op_bytes(op), 2.0 * (2 * 20 * 4 + 25) * 16);
  n = ops_of(m, 1, sparse, RA_PHASE_BACKWARD, &whole, ops);
  op = find_op(ops, n, RA_OP_COMPRESSED_BACKWARD);
  ck_assert_double_eq(ra_op_flop(op), 10.0 * 110 * 4 * 16);
  ck_assert_double_eq(ra_op_bytes(op), 2.0 * (4 * 20 * 4 + 2 * 25) * 16);
  ck_assert_ptr_null(find_op(ops, n, RA_OP_INDEXER));
  n = ops_of(m, 2, sparse, RA_PHASE_DECODE, &step, ops);
  op = find_op(ops, n, RA_OP_COMPRESSED);
  ck_assert_uint_eq(op->dim[2], 2 * (6 + 2));
  ck_assert_uint_eq(op->dim[4], 2);
  ck_assert_uint_eq(find_op(ops, n, RA_OP_INDEXER)->dim[2], 50);
  n = ops_of(m, 1, all, RA_PHASE_FORWARD, &whole, ops);
  ck_assert_double_eq_tol(sum_flop(ops, n), ra_model_forward_flop(m, &whole),
                          1e-6);
  m->n_streams++; /* the fault */
  ck_assert_double_ne(sum_flop(ops, n), ra_model_forward_flop(m, &whole));
}
END_TEST

/* Residual streams, 4 of 64: before a block a matrix of 24 outputs and a sum of
 * 5 values an element, behind it one of 9; backward of 13 and 14. */
START_TEST(test_streams)
{
  const RaBatch whole = {2, 20, 20, 110};
  g_autoptr(RaModel) m = compressed_model();
  const RaPiece one = {0, 1, FALSE, FALSE};
  RaOp ops[RA_OP_LIST_MAX];
  guint n = ops_of(m, 1, one, RA_PHASE_FORWARD, &whole, ops);

  ck_assert_uint_eq(ops[0].kind, RA_OP_GEMM);
  ck_assert_uint_eq(ops[0].dim[1], 24);
  ck_assert_uint_eq(ops[0].dim[2], 256);
  ck_assert_uint_eq(ops[1].kind, RA_OP_ADD);
  ck_assert_uint_eq(ops[1].dim[1], (5 * 64 + 2) / 3);
  ck_assert_uint_eq(ops[n - 1].kind, RA_OP_ADD);
  ck_assert_uint_eq(ops[n - 1].dim[1], 9 * 64 / 3);
  n = ops_of(m, 1, one, RA_PHASE_BACKWARD, &whole, ops);
  ck_assert_uint_eq(ops[0].dim[1], (14 * 64 + 2) / 3);
  ck_assert_uint_eq(ops[n - 1].dim[1], (13 * 64 + 2) / 3);
  m->n_streams = 0; /* the fault: a sum */
  n = ops_of(m, 1, one, RA_PHASE_FORWARD, &whole, ops);
  ck_assert_uint_eq(ops[0].kind, RA_OP_NORM);
  ck_assert_uint_eq(ops[n - 1].dim[1], 64);
}
END_TEST

/* MiniMax-M3: 2 sequences of 10 tokens, of which a query keeps 2 blocks of 2
 * keys: 1 + 2 + 3 + 4 * 7 = 34 pairs each; the indexer scores all 55.  Its
 * queries and key are in the first product: (4 + 2 + 2) 16 + (2 + 1) 8 outputs.
 * With a loss (the fault) there are the same pairs, but no kernel of blocks. */
START_TEST(test_blocks)
{
  static const char text[] =
      "{\"model_type\": \"minimax_m3_vl_text\", \"hidden_size\": 64,"
      " \"vocab_size\": 100, \"num_attention_heads\": 4,"
      " \"num_key_value_heads\": 2, \"head_dim\": 16, \"intermediate_size\":"
      " 32, \"num_local_experts\": 4, \"num_experts_per_tok\": 2,"
      " \"num_hidden_layers\": 1, \"index_n_heads\": 2, \"index_head_dim\": 8,"
      " \"index_block_size\": 2, \"index_topk_blocks\": 2,"
      " \"layer_types\": [\"minimax_m3_sparse\"]}";
  const RaBatch whole = {2, 20, 20, 110}, step = {2, 2, 20, 20};
  g_autoptr(RaModel) m = ra_model_parse("m3.json", text, sizeof text - 1, NULL);
  const RaPiece all = {0, 1, TRUE, TRUE}, layer = {0, 1, FALSE, FALSE};
  RaOp ops[RA_OP_LIST_MAX];
  guint n;

  ck_assert_ptr_nonnull(m);
  n = ops_of(m, 1, layer, RA_PHASE_FORWARD, &whole, ops);
  ck_assert_uint_eq(find_op(ops, n, RA_OP_ATTENTION)->dim[3], 68);
  ck_assert_uint_eq(find_op(ops, n, RA_OP_ATTENTION)->flags, RA_OP_SPARSE);
  ck_assert_uint_eq(find_op(ops, n, RA_OP_INDEXER)->dim[3], 110);
  ck_assert_uint_eq(find_op(ops, n, RA_OP_GEMM)->dim[1], 8 * 16 + 3 * 8);
  n = ops_of(m, 1, layer, RA_PHASE_BACKWARD, &whole, ops);
  ck_assert_uint_eq(find_op(ops, n, RA_OP_ATTENTION_BACKWARD)->dim[3], 68);
  ck_assert_uint_eq(find_op(ops, n, RA_OP_ATTENTION_BACKWARD)->flags, 0);
  ck_assert_ptr_null(find_op(ops, n, RA_OP_INDEXER));
  n = ops_of(m, 2, layer, RA_PHASE_DECODE, &step, ops);
  ck_assert_uint_eq(find_op(ops, n, RA_OP_DECODE_ATTENTION)->dim[2], 20);
  ck_assert_uint_eq(find_op(ops, n, RA_OP_DECODE_ATTENTION)->dim[3], 8);
  ck_assert_double_eq(ra_op_bytes(find_op(ops, n, RA_OP_DECODE_ATTENTION)),
                      2.0 * 16 * (2 * 2 * 2 + 2 * 8) + 2 * 20 * 16);
  ck_assert_ptr_null(find_op(ops, n, RA_OP_INDEXER));
  ck_assert_uint_eq(find_op(ops, n, RA_OP_DECODE_ATTENTION)->flags,
                    RA_OP_SPARSE);
  n = ops_of(m, 1, all, RA_PHASE_FORWARD, &whole, ops);
  ck_assert_double_eq_tol(sum_flop(ops, n), ra_model_forward_flop(m, &whole),
                          1e-6);
}
END_TEST

static Suite *
op_mixer_suite(void)
{
  Suite *suite = suite_create("op_mixer");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_windows);
  tcase_add_test(tcase, test_latent);
  tcase_add_test(tcase, test_scans);
  tcase_add_test(tcase, test_flags);
  tcase_add_test(tcase, test_sparse);
  tcase_add_test(tcase, test_cached_type);
  tcase_add_test(tcase, test_absorbed);
  tcase_add_test(tcase, test_entries);
  tcase_add_test(tcase, test_compressed);
  tcase_add_test(tcase, test_streams);
  tcase_add_test(tcase, test_blocks);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(op_mixer_suite)
