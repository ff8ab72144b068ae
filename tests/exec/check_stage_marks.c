#include "config.h"

#include <string.h>

#include "exec/backend/backend_cuda.h"
#include "exec/model/stage.h"
#include "tests/emulator/measure.h"
#include "tests/support/check_main.h"

/* Ops of a GPU are timed by its own clock, which here is a test's: a product
 * takes 3 s of it, a norm 1 s, a look whether results are finite 100 s, all
 * else nothing.  So every product of a pass must have been recorded with 3 s,
 * every norm with 1 s, every other op with 0; whoever counts the look to the op
 * has 100 s more, whoever waits for an op is counted.
 */
enum { HIDDEN = 128, LAYERS = 2, VOCAB = 48, TOKENS = 9 };

static double clock_now_s;
static guint n_waits;
static RaBackend slow; /* the table, by that clock */

static double
clock_s(void)
{
  return clock_now_s;
}

static void
slow_gemm(RaCpuOrder order_a, RaCpuOrder order_b, size_t m, size_t n, size_t k,
          const RaElem *a, size_t lda, const RaElem *b, size_t ldb, float beta,
          RaElem *c, size_t ldc)
{
  clock_now_s += 3;
  ra_backend_cuda()->gemm(order_a, order_b, m, n, k, a, lda, b, ldb, beta, c,
                          ldc);
}

static void
slow_norm(size_t n_rows, size_t n, float eps, const RaElem *x,
          const RaElem *weight, RaElem *out, float *out_inv)
{
  clock_now_s += 1;
  ra_backend_cuda()->norm(n_rows, n, eps, x, weight, out, out_inv);
}

static gboolean
slow_is_finite(size_t n, const RaElem *x)
{
  clock_now_s += 100;
  return ra_backend_cuda()->is_finite(n, x);
}

static void
counted_wait(void)
{
  n_waits++;
  ra_backend_cuda()->wait();
}

static RaModel *
new_model(void)
{
  static const char text[] =
      "{\"model_type\": \"llama\", \"hidden_size\": 128, "
      "\"num_hidden_layers\": 2, \"num_attention_heads\": 2, "
      "\"num_key_value_heads\": 2, \"head_dim\": 64, "
      "\"intermediate_size\": 64, \"vocab_size\": 48, "
      "\"max_position_embeddings\": 128, \"tie_word_embeddings\": false}";
  RaModel *model = ra_model_parse("tiny.json", text, strlen(text), NULL);

  ck_assert_ptr_nonnull(model);
  return model;
}

/* The ops of a forward over @n_marks marks at a time.
 * Returns: (transfer full): of RaOpRecord */
static GArray *
run_forward(uint32_t n_marks)
{
  g_autoptr(RaModel) model = new_model();
  g_autoptr(RaTensorTable) table = ra_tensor_table_new(model);
  static const uint32_t text[TOKENS] = {1, 2, 3, 5, 8, 13, 21, 34, 7};
  const uint32_t *texts[1] = {text}, n = TOKENS, layers = LAYERS;
  RaCallPlan plan = {.set = TRUE,
                     .dp = 1,
                     .tp = 1,
                     .pp = 1,
                     .cp = 1,
                     .axis = {RA_AXIS_TP, RA_AXIS_CP, RA_AXIS_DP, RA_AXIS_PP},
                     .n_virtual = 1,
                     .stage_layers = (uint32_t *)&layers};
  const RaPiece whole = {
      .n_layers = LAYERS, .has_embedding = TRUE, .has_head = TRUE};
  RaNumerics numerics = RA_NUMERICS_DEFAULT;
  g_autoptr(RaTokens) tokens = ra_tokens_new(1, &n, texts);
  g_autoptr(RaParams) params = NULL;
  g_autoptr(RaStage) stage = NULL;
  RaPass *pass;

  slow = *ra_backend_cuda();
  slow.gemm = slow_gemm;
  slow.norm = slow_norm;
  slow.is_finite = slow_is_finite;
  slow.odd = NULL; /* checks answer at once */
  slow.wait = counted_wait;
  slow.n_marks = n_marks;
  ra_emu_set_clock(clock_s);
  params = ra_params_new_on(&slow, table, &plan, 0);
  ra_params_seed(params, 1);
  stage =
      ra_stage_new(&slow, params, 1, NULL, RA_RECOMPUTE_NONE, 128, &numerics);
  stage->checks_ops = TRUE;
  stage->ops = g_array_new(FALSE, FALSE, sizeof(RaOpRecord));
  pass = ra_pass_new(stage, &whole, tokens, FALSE);
  n_waits = 0;
  ra_pass_forward(pass, NULL, NULL, NULL);
  ra_stage_time_ops(stage);
  ra_pass_free(pass);
  ck_assert_msg(!slow.failure(), "%s", slow.failure());
  return g_array_ref(stage->ops);
}

static double
wanted_s(const RaOp *op)
{
  return op->kind == RA_OP_GEMM ? 3 : op->kind == RA_OP_NORM ? 1 : 0;
}

/* q k v, o, gate and up, down of each layer, and the head; two norms of each,
 * and the last.  They end before now and none begins before the one before it
 * has ended.  With room for 11 marks they are read every few ops: the host's
 * clock then stands between two ops, which are apart by anything. */
START_TEST(test_times)
{
  uint32_t n_marks = _i == 0 ? 4096 : 11;
  g_autoptr(GArray) ops = run_forward(n_marks);
  guint n_products = 0, n_norms = 0;

  ck_assert_uint_eq(n_waits, 0);
  for (guint i = 0; i < ops->len; i++) {
    const RaOpRecord *r = &g_array_index(ops, RaOpRecord, i);

    n_products += r->op.kind == RA_OP_GEMM;
    n_norms += r->op.kind == RA_OP_NORM;
    ck_assert_uint_eq(r->end_mark, 0);
    ck_assert_double_eq_tol(r->end_s - r->begin_s, wanted_s(&r->op), 1e-9);
    if (i > 0 && _i == 0)
      ck_assert_double_ge(r->begin_s, r[-1].end_s - 1e-9);
  }
  ck_assert_uint_eq(n_products, 4 * LAYERS + 1);
  ck_assert_uint_eq(n_norms, 2 * LAYERS + 1);
}
END_TEST

/* The fault: a device without marks is waited for after every op, and what its
 * ops take is the host's time, in which no product takes a second. */
START_TEST(test_no_marks)
{
  g_autoptr(GArray) ops = run_forward(0);

  ck_assert_uint_eq(n_waits, ops->len);
  for (guint i = 0; i < ops->len; i++) {
    const RaOpRecord *r = &g_array_index(ops, RaOpRecord, i);

    ck_assert_double_lt(r->end_s - r->begin_s, 1);
  }
}
END_TEST

static Suite *
stage_marks_suite(void)
{
  Suite *suite = suite_create("stage_marks");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 120);
  tcase_add_loop_test(tcase, test_times, 0, 2);
  tcase_add_test(tcase, test_no_marks);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(stage_marks_suite)
