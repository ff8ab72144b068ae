#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "exec/comm/comm_local.h"
#include "exec/model/stage.h"
#include "graph/input/plan.h"
#include "tests/support/check_main.h"
#include "tests/support/torch_fixture.h"

/* The ops that run and those that the graph says will run come from two
 * programs; here they are compared: every op, how often, with its shape. */
typedef struct {
  TorchModel kind;
  uint32_t tp;
  uint32_t recompute;
  RaPhase phase;
  gboolean fault; /* the list is that of one sequence more */
} Case;

typedef struct {
  const Case *c;
  uint32_t rank;
  RaLocalGroup *group;
  GArray *ops; /* of RaOp: what ran */
} Rank;

static const RaPiece whole = {
    .n_layers = 2, .has_embedding = TRUE, .has_head = TRUE};

static int
compare_ops(const void *a, const void *b)
{
  return memcmp(a, b, sizeof(RaOp));
}

/* An op without the fields that only its cost needs: where the ranks of a
 * collective stand, and the largest kv length (graph/op/op.h has it as a sum).
 */
static RaOp
bare(const Case *c, const RaOp *op)
{
  RaOp out = *op;

  if (ra_op_class(op->kind) == RA_OP_CLASS_COMM)
    memset(out.dim + 2, 0, sizeof out.dim - 2 * sizeof out.dim[0]);
  out.count = 1;
  out.flags = 0; /* ragged, behind another: of its cost */
  if (op->kind == RA_OP_GEMM && op->dim[3] > 1)
    out.dim[0] = out.dim[2] = out.dim[3] = 0; /* rows of experts are drawn */
  if (c->phase == RA_PHASE_DECODE && op->kind == RA_OP_ACTIVATION &&
      (c->kind == TORCH_DEEPSEEK || c->kind == TORCH_DEEPSEEK_WHOLE))
    out.dim[0] = 0; /* listed of whole rows of each of 8 experts */
  if ((c->kind == TORCH_MINISTRAL || c->kind == TORCH_GPT_OSS) &&
      (op->kind == RA_OP_ATTENTION || op->kind == RA_OP_ATTENTION_BACKWARD ||
       op->kind == RA_OP_DECODE_ATTENTION))
    out.dim[2] = out.dim[3] = 0; /* listed of sequences of the mean length:
                                    graph/op/op_window.c */
  return out;
}

static void
run_phase(const Case *c, RaStage *stage, const RaTokens *tokens)
{
  g_autofree float *d = g_new0(float, tokens->n_tokens);
  g_autoptr(RaPass) pass = NULL;

  if (c->phase == RA_PHASE_DECODE) {
    const RaCacheShape shape = {
        .n_layers = 2, .n_slots = 4, .n_positions = 8, .page_tokens = 8};
    g_autoptr(RaCache) cache = ra_stage_new_cache(stage, &shape);
    const uint32_t slots[4] = {0, 1, 2, 3}, positions[4] = {4, 6, 0, 2};
    float logits[4 * 29];

    memset(ra_cache_keys(cache, 0), 0,
           4 * (gsize)ra_cache_page_rows(cache) * ra_cache_shape(cache)->width *
               sizeof(float));
    ra_stage_decode(stage, &whole, cache, 4, slots, tokens->tokens, positions,
                    NULL, logits);
    return;
  }
  pass = ra_pass_new(stage, &whole, tokens, TRUE);
  ra_pass_forward(pass, NULL, NULL, NULL);
  if (c->phase == RA_PHASE_FORWARD)
    return;
  g_array_set_size(stage->ops, 0);
  ra_pass_backward(pass, NULL, d);
}

static void *
run_rank(void *data)
{
  Rank *r = data;
  const Case *c = r->c;
  uint32_t layers = 2;
  RaCallPlan plan = {.set = TRUE,
                     .dp = 1,
                     .tp = c->tp,
                     .pp = 1,
                     .cp = 1,
                     .axis = {RA_AXIS_TP, RA_AXIS_CP, RA_AXIS_DP, RA_AXIS_PP},
                     .n_virtual = 1,
                     .stage_layers = &layers};
  g_autoptr(RaModel) model = torch_model(c->kind);
  g_autoptr(RaTensorTable) table = ra_tensor_table_new(model);
  g_autoptr(RaTokens) tokens = torch_tokens();
  RaNumerics numerics = torch_numerics(c->kind);
  g_autoptr(RaComm) comm = ra_local_comm_new(r->group, r->rank);
  g_autoptr(RaParams) params = ra_params_new(table, &plan, r->rank);
  g_autoptr(RaStage) stage = ra_stage_new(ra_backend_host(NULL), params, c->tp,
                                          comm, c->recompute, 128, &numerics);

  ra_params_make_trainable(params);
  torch_fill(params);
  stage->ops = g_array_new(FALSE, FALSE, sizeof(RaOpRecord));
  run_phase(c, stage, tokens);
  for (guint i = 0; i < stage->ops->len; i++) {
    RaOp op = bare(c, &g_array_index(stage->ops, RaOpRecord, i).op);

    g_array_append_val(r->ops, op);
  }
  return NULL;
}

/* The fixture's lengths 5, 70, 1, 12: 88 tokens, pairs 15 + 2485 + 1 + 78;
 * decode: 5 + 7 + 1 + 3 keys. */
static GArray *
listed(const Case *c, const RaModel *model)
{
  RaShard shard = {.model = model,
                   .tp = c->tp,
                   .tp_ranks_per_node = c->tp,
                   .tp_groups_per_node = 1,
                   .dtype = RA_DTYPE_FP32,
                   .recompute = (uint8_t)c->recompute,
                   .sampling = c->phase == RA_PHASE_DECODE};
  RaBatch batch = {4, 88, 88, 2579};
  RaOp ops[RA_OP_LIST_MAX];
  GArray *out = g_array_new(FALSE, FALSE, sizeof(RaOp));
  guint n;

  if (c->phase == RA_PHASE_DECODE)
    batch = (RaBatch){4, 4, 16, 16};
  batch.n_sequences += c->fault;
  n = ra_op_list(&shard, &whole, c->phase, &batch, ops);
  for (guint i = 0; i < n; i++)
    for (uint32_t k = 0; k < ops[i].count; k++) {
      RaOp op = bare(c, &ops[i]);

      /* Sampling is the caller's. */
      if (op.kind != RA_OP_SAMPLE)
        g_array_append_val(out, op);
    }
  return out;
}

/* (transfer full) (nullable): the first op that only one of the two has. */
static char *
difference(const Case *c)
{
  g_autoptr(RaLocalGroup) group = ra_local_group_new(c->tp, FALSE);
  g_autoptr(RaModel) model = torch_model(c->kind);
  g_autoptr(GArray) wanted = listed(c, model);
  pthread_t threads[4];
  Rank ranks[4];
  char *out = NULL;

  ck_assert(ra_backend_host(NULL) != NULL);
  for (uint32_t i = 0; i < c->tp; i++) {
    ranks[i] = (Rank){.c = c, .rank = i, .group = group};
    ranks[i].ops = g_array_new(FALSE, FALSE, sizeof(RaOp));
    pthread_create(&threads[i], NULL, run_rank, &ranks[i]);
  }
  g_array_sort(wanted, compare_ops);
  for (uint32_t i = 0; i < c->tp; i++) {
    GArray *ran = ranks[i].ops;

    pthread_join(threads[i], NULL);
    g_array_sort(ran, compare_ops);
    /* The list is the first rank's: the last ones have less of a vocabulary
     * that does not divide. */
    for (guint k = 0; i == 0 && !out && k < MIN(ran->len, wanted->len); k++) {
      const RaOp *a = &g_array_index(ran, RaOp, k);
      const RaOp *b = &g_array_index(wanted, RaOp, k);
      g_autofree char *at = ra_op_shape(a), *bt = ra_op_shape(b);

      if (compare_ops(a, b) != 0)
        out = g_strdup_printf("ran %s %s, listed %s %s", ra_op_name(a->kind),
                              at, ra_op_name(b->kind), bt);
    }
    if (!out && ran->len != wanted->len)
      out = g_strdup_printf("ran %u ops, listed %u", ran->len, wanted->len);
    g_array_unref(ran);
  }
  return out;
}

/* clang-format off */
static const Case cases[] = {
    {TORCH_PLAIN, 1, RA_RECOMPUTE_NONE, RA_PHASE_FORWARD, FALSE},
    {TORCH_PLAIN, 1, RA_RECOMPUTE_NONE, RA_PHASE_BACKWARD, FALSE},
    {TORCH_PLAIN, 1, RA_RECOMPUTE_FULL, RA_PHASE_BACKWARD, FALSE},
    {TORCH_PLAIN, 2, RA_RECOMPUTE_SELECTIVE, RA_PHASE_BACKWARD, FALSE},
    {TORCH_PLAIN, 4, RA_RECOMPUTE_NONE, RA_PHASE_FORWARD, FALSE},
    {TORCH_PLAIN, 1, RA_RECOMPUTE_NONE, RA_PHASE_DECODE, FALSE},
    {TORCH_TIED, 2, RA_RECOMPUTE_NONE, RA_PHASE_DECODE, FALSE},
    {TORCH_TIED, 2, RA_RECOMPUTE_FULL, RA_PHASE_BACKWARD, FALSE},
    {TORCH_VALUE, 2, RA_RECOMPUTE_NONE, RA_PHASE_FORWARD, FALSE},
    {TORCH_VALUE, 2, RA_RECOMPUTE_NONE, RA_PHASE_BACKWARD, FALSE},
    {TORCH_QWEN3, 1, RA_RECOMPUTE_NONE, RA_PHASE_FORWARD, FALSE},
    {TORCH_QWEN3, 2, RA_RECOMPUTE_FULL, RA_PHASE_BACKWARD, FALSE},
    {TORCH_QWEN3, 2, RA_RECOMPUTE_NONE, RA_PHASE_DECODE, FALSE},
    {TORCH_MIXTRAL, 1, RA_RECOMPUTE_NONE, RA_PHASE_FORWARD, FALSE},
    {TORCH_MIXTRAL, 2, RA_RECOMPUTE_NONE, RA_PHASE_BACKWARD, FALSE},
    {TORCH_MIXTRAL, 2, RA_RECOMPUTE_FULL, RA_PHASE_BACKWARD, FALSE},
    {TORCH_QWEN3_MOE, 1, RA_RECOMPUTE_NONE, RA_PHASE_BACKWARD, FALSE},
    {TORCH_QWEN3_MOE, 2, RA_RECOMPUTE_SELECTIVE, RA_PHASE_BACKWARD, FALSE},
    {TORCH_GPT2, 1, RA_RECOMPUTE_NONE, RA_PHASE_FORWARD, FALSE},
    {TORCH_GPT2, 2, RA_RECOMPUTE_FULL, RA_PHASE_BACKWARD, FALSE},
    {TORCH_GPT2, 2, RA_RECOMPUTE_NONE, RA_PHASE_DECODE, FALSE},
    {TORCH_BLOOM, 2, RA_RECOMPUTE_NONE, RA_PHASE_BACKWARD, FALSE},
    {TORCH_BLOOM, 1, RA_RECOMPUTE_NONE, RA_PHASE_DECODE, FALSE},
    {TORCH_MPT, 1, RA_RECOMPUTE_SELECTIVE, RA_PHASE_BACKWARD, FALSE},
    {TORCH_QWEN2_MOE, 1, RA_RECOMPUTE_NONE, RA_PHASE_FORWARD, FALSE},
    {TORCH_QWEN2_MOE, 2, RA_RECOMPUTE_FULL, RA_PHASE_BACKWARD, FALSE},
    {TORCH_QWEN2_MOE, 2, RA_RECOMPUTE_NONE, RA_PHASE_DECODE, FALSE},
    {TORCH_GLM4_MOE, 1, RA_RECOMPUTE_NONE, RA_PHASE_FORWARD, FALSE},
    {TORCH_GLM4_MOE, 2, RA_RECOMPUTE_NONE, RA_PHASE_BACKWARD, FALSE},
    {TORCH_MINISTRAL, 2, RA_RECOMPUTE_NONE, RA_PHASE_DECODE, FALSE},
    {TORCH_MINISTRAL, 1, RA_RECOMPUTE_SELECTIVE, RA_PHASE_BACKWARD, FALSE},
    {TORCH_GPT_OSS, 2, RA_RECOMPUTE_NONE, RA_PHASE_DECODE, FALSE},
    {TORCH_GPT_OSS, 2, RA_RECOMPUTE_FULL, RA_PHASE_BACKWARD, FALSE},
    {TORCH_DEEPSEEK, 1, RA_RECOMPUTE_NONE, RA_PHASE_FORWARD, FALSE},
    {TORCH_DEEPSEEK, 2, RA_RECOMPUTE_SELECTIVE, RA_PHASE_BACKWARD, FALSE},
    {TORCH_DEEPSEEK, 2, RA_RECOMPUTE_NONE, RA_PHASE_DECODE, FALSE},
    {TORCH_DEEPSEEK_WHOLE, 2, RA_RECOMPUTE_FULL, RA_PHASE_BACKWARD, FALSE},
    {TORCH_DEEPSEEK_WHOLE, 1, RA_RECOMPUTE_NONE, RA_PHASE_DECODE, FALSE},
};
/* clang-format on */

START_TEST(test_same_ops)
{
  g_autofree char *what = difference(&cases[_i]);

  ck_assert_msg(what == NULL, "case %d: %s", _i, what);
}
END_TEST

START_TEST(test_fault)
{
  Case c = cases[0];
  g_autofree char *what = NULL;

  c.fault = TRUE;
  what = difference(&c);
  ck_assert(what != NULL);
}
END_TEST

static Suite *
exec_ops_suite(void)
{
  Suite *suite = suite_create("exec_ops");
  TCase *tcase = tcase_create("core");

  tcase_add_loop_test(tcase, test_same_ops, 0, G_N_ELEMENTS(cases));
  tcase_add_test(tcase, test_fault);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(exec_ops_suite)
