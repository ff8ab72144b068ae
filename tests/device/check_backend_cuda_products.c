/* Tests of the CUDA back end's GEMMs on the emulated device, against the
 * host's: those of experts, with the waits of their layers; those with the
 * gradient of a bias.  And tests of rectangles.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "exec/backend/backend_cuda.h"
#include "exec/model/stage.h"
#include "kernels/cpu/bf16.h"
#include "tests/emulator/gemm.h"
#include "tests/emulator/memory.h"
#include "tests/support/check_main.h"

/* --- of experts --- */

enum { EXPERTS = 3, N = 24, K = 40 };

/* Rows of each: on average few, for which all are one kernel, and so many that
 * the library has one an expert (exec/backend/expert_rows.c). */
static const uint32_t counts[2][EXPERTS] = {{5, 0, 130}, {2, 401, 0}};

/* Arrays of a product of one table. */
typedef struct {
  const RaBackend *table;
  RaExpertsProduct product;
  gsize n_rows, n_out;
  RaElem *a, *b;
  float *out;       /* (n_out) in the host's memory */
  gboolean is_read; /* whether the host has asked for the counts */
} Side;

/* (n) bf16 numbers in (-1, 1), the same for the same @seed. */
static RaElem *
numbers(const RaBackend *table, uint64_t seed, gsize n)
{
  g_autofree float *x = g_new(float, n);
  RaRng rng = ra_rng_init(seed, 0);
  RaElem *out = table->alloc(n * table->elem_bytes);

  for (gsize i = 0; i < n; i++)
    x[i] =
        ra_bf16_to_f32(ra_bf16_from_f32((float)(2 * ra_rng_uniform(&rng) - 1)));
  table->write_elems(n, x, out);
  return out;
}

static Side
side_new(const RaBackend *table, RaExpertsProduct product, gsize n_rows)
{
  gsize n_matrices = EXPERTS * N * K;
  gboolean is_weight = product == RA_EXPERTS_WEIGHT;
  Side s = {.table = table, .product = product, .n_rows = n_rows};

  s.a = numbers(table, 1, n_rows * (product == RA_EXPERTS_OUTPUT ? K : N));
  s.b = numbers(table, 2, is_weight ? n_rows * K : n_matrices);
  s.n_out =
      is_weight ? n_matrices : n_rows * (product == RA_EXPERTS_INPUT ? K : N);
  s.out = g_new(float, s.n_out);
  return s;
}

static void
side_clear(Side *s)
{
  s->table->free(s->a);
  s->table->free(s->b);
  g_free(s->out);
}

static void
multiply(Side *s, const uint32_t *of)
{
  const RaBackend *t = s->table;
  gsize n_bytes = EXPERTS * sizeof *of;
  uint32_t room[EXPERTS], *here = t->alloc(n_bytes);
  RaExpertRows rows = {EXPERTS, s->n_rows, here, room, FALSE};
  void *made = t->alloc(s->n_out * sizeof(float));

  t->write(here, of, n_bytes);
  t->zero(made, s->n_out * sizeof(float)); /* weights' gradients are added to */
  t->gemm_experts(s->product, &rows, N, K, s->a, s->b, made);
  if (s->product == RA_EXPERTS_WEIGHT)
    t->read(s->out, made, s->n_out * sizeof(float));
  else
    t->read_elems(s->n_out, made, s->out);
  s->is_read = rows.is_read;
  t->free(made);
  t->free(here);
}

/* Elements that are farther apart than 2^-8 of one, for its rounding, and, of
 * at most 401 terms below 1, 401 x 401 2^-22 for their sum. */
static gsize
n_apart(const Side *x, const Side *y)
{
  gsize n = 0;

  for (gsize i = 0; i < x->n_out; i++)
    n += fabs((double)x->out[i] - (double)y->out[i]) >
         fabs((double)y->out[i]) / 256 + 401 * 401 * 0x1p-22;
  return n;
}

/* The fault: a row is taken for the next expert's. */
START_TEST(test_products)
{
  const uint32_t *of = counts[_i / 3];
  const uint32_t moved[EXPERTS] = {of[0] - 1, of[1] + 1, of[2]};
  RaExpertsProduct product = (RaExpertsProduct)(_i % 3);
  gsize n_rows = of[0] + of[1] + of[2];
  Side host = side_new(ra_backend_host(NULL), product, n_rows);
  Side device = side_new(ra_backend_cuda(), product, n_rows);

  multiply(&host, of);
  multiply(&device, of);
  ck_assert_uint_eq(n_apart(&device, &host), 0);
  ck_assert_int_eq(device.is_read, _i / 3); /* for the library alone */
  multiply(&device, moved);
  ck_assert_uint_gt(n_apart(&device, &host), K / 2);
  side_clear(&host);
  side_clear(&device);
  ck_assert_msg(!ra_backend_cuda()->failure(), "%s",
                ra_backend_cuda()->failure());
}
END_TEST

/* --- of biases --- */

/* The gradients of a weight (WIDE, WIDE) and its bias after two micro-batches,
 * T rows twice, by @table. */
enum { T = 9, WIDE = 16, GRADIENTS = (WIDE + 1) * WIDE };

static void
two_batches(const RaBackend *table, float *out)
{
  RaElem *x = numbers(table, 3, T * WIDE), *d_y = numbers(table, 4, T * WIDE);
  float *sums = table->alloc(GRADIENTS * sizeof *sums);

  table->zero(sums, GRADIENTS * sizeof *sums);
  for (int batch = 0; batch < 2; batch++)
    table->gemm_bias_backward(T, WIDE, WIDE, d_y, x, sums, sums + WIDE * WIDE);
  table->read(out, sums, GRADIENTS * sizeof *out);
  table->free(x);
  table->free(d_y);
  table->free(sums);
}

/* As the product stores it and by itself: 18 terms below 1 within 18 x 18 2^-24
 * on either side.  The fault: what the library stores, not added. */
START_TEST(test_bias)
{
  float host[GRADIENTS], device[GRADIENTS];
  double bound = 2 * 18 * 18 * 0x1p-24;

  ra_emu_set_fuses(_i);
  two_batches(ra_backend_host(NULL), host);
  two_batches(ra_backend_cuda(), device);
  ck_assert_uint_eq(ra_emu_n_fused(RA_CUDA_BIAS_GRADIENT), 2 * (guint)_i);
  for (int i = 0; i < GRADIENTS; i++)
    ck_assert_double_le(fabs((double)device[i] - (double)host[i]), bound);
  ck_assert_double_gt(fabs((double)host[WIDE * WIDE]) / 2, bound); /* one's */
}
END_TEST

/* --- waits --- */

enum { LAYERS = 2, TOKENS = 9 };

static RaModel *
new_model(const char *family)
{
  g_autoptr(GError) error = NULL;
  g_autofree char *text = g_strdup_printf(
      "{\"model_type\": \"%s\", \"hidden_size\": 64, "
      "\"num_hidden_layers\": %d, \"num_attention_heads\": 1, "
      "\"num_key_value_heads\": 1, \"intermediate_size\": 32, "
      "\"vocab_size\": 16, \"hidden_act\": \"silu\", "
      "\"max_position_embeddings\": 16, \"num_local_experts\": 8, "
      "\"num_experts_per_tok\": 2, \"tie_word_embeddings\": false}",
      family, LAYERS);
  RaModel *model = ra_model_parse("tiny.json", text, strlen(text), &error);

  ck_assert_msg(model != NULL, "%s", error ? error->message : "");
  return model;
}

/* Waits of a pass there and back of one rank on the device. */
static size_t
waits_of(const char *family, gboolean records)
{
  static uint32_t text[TOKENS];
  const uint32_t *texts[1] = {text}, length = TOKENS;
  const RaPiece whole = {
      .n_layers = LAYERS, .has_embedding = TRUE, .has_head = TRUE};
  uint32_t layers = LAYERS;
  const RaCallPlan plan = {
      .set = TRUE,
      .dp = 1,
      .tp = 1,
      .pp = 1,
      .cp = 1,
      .axis = {RA_AXIS_TP, RA_AXIS_CP, RA_AXIS_DP, RA_AXIS_PP},
      .n_virtual = 1,
      .stage_layers = &layers};
  g_autoptr(RaModel) model = new_model(family);
  g_autoptr(RaTensorTable) table = ra_tensor_table_new(model);
  g_autoptr(RaTokens) tokens = ra_tokens_new(1, &length, texts);
  g_autoptr(RaParams) params =
      ra_params_new_on(ra_backend_cuda(), table, &plan, 0);
  g_autoptr(GArray) ops = g_array_new(FALSE, FALSE, sizeof(RaOpRecord));
  const float d[TOKENS] = {0};
  RaNumerics numerics = RA_NUMERICS_DEFAULT;
  RaStage *stage;
  RaPass *pass;
  size_t before, n;

  ra_params_seed(params, 7);
  ra_params_make_trainable(params);
  stage = ra_stage_new(ra_backend_cuda(), params, 1, NULL, RA_RECOMPUTE_NONE,
                       16, &numerics);
  pass = ra_pass_new(stage, &whole, tokens, TRUE);
  before = ra_emu_n_waits();
  stage->ops = records ? ops : NULL;
  ra_pass_forward(pass, NULL, NULL, NULL);
  ra_pass_backward(pass, NULL, d);
  stage->ops = NULL;
  n = ra_emu_n_waits() - before;
  ra_pass_free(pass);
  ra_stage_free(stage);
  return n;
}

/* Layers of experts wait no oftener than dense ones.  What the count must see:
 * a record says how many experts had rows, for which the counts of each layer
 * are read, once. */
START_TEST(test_waits)
{
  waits_of("mixtral", FALSE); /* a thread's first pass makes its rooms */
  ck_assert_uint_eq(waits_of("mixtral", FALSE), waits_of("llama", FALSE));
  ck_assert_uint_eq(waits_of("mixtral", TRUE),
                    waits_of("llama", TRUE) + LAYERS);
  ck_assert(!ra_backend_cuda()->failure());
}
END_TEST

/* Rectangles of one launch: of whole units of 16 bytes, one of them dense on
 * both sides, and some that are not (an odd width, stride or begin), which are
 * copied one by one; none; nothing else is written. */
START_TEST(test_rects)
{
  enum { ALL = 40000 };
  static const struct {
    gsize from, to, n_rows, n_cols, from_stride, to_stride;
  } shapes[] = {{0, 8, 30, 64, 128, 72},        {4096, 4096, 10, 512, 512, 512},
                {16000, 9600, 1, 24, 5, 7},     {17000, 10003, 3, 8, 8, 8},
                {18001, 11000, 5, 13, 20, 13},  {20000, 12000, 9, 16, 20, 16},
                {24000, 16000, 900, 8, 16, 24}, {30000, 39000, 0, 8, 8, 8}};
  enum { N_RECTS = G_N_ELEMENTS(shapes) };
  const RaBackend *b = ra_backend_cuda();
  RaBackendRect rects[N_RECTS];
  RaElem *from = b->alloc(ALL * b->elem_bytes),
         *to = b->alloc(ALL * b->elem_bytes);
  g_autofree uint16_t *in = g_new(uint16_t, ALL), *out = g_new0(uint16_t, ALL);
  g_autofree uint16_t *got = g_new(uint16_t, ALL);

  for (guint i = 0; i < ALL; i++)
    in[i] = (uint16_t)(i * 7 + 1);
  b->write(from, in, ALL * sizeof *in);
  b->zero(to, ALL * b->elem_bytes);
  for (guint i = 0; i < N_RECTS; i++) {
    rects[i] =
        (RaBackendRect){ra_elem_at(b, (const RaElem *)from, shapes[i].from),
                        ra_elem_at(b, to, shapes[i].to),
                        shapes[i].n_rows,
                        shapes[i].n_cols,
                        shapes[i].from_stride,
                        shapes[i].to_stride};
    for (gsize row = 0; row < shapes[i].n_rows; row++)
      memcpy(out + shapes[i].to + row * shapes[i].to_stride,
             in + shapes[i].from + row * shapes[i].from_stride,
             shapes[i].n_cols * sizeof *in);
  }
  b->copy_rects(N_RECTS, rects);
  b->copy_rects(0, NULL);
  b->read(got, to, ALL * sizeof *got);
  ck_assert_mem_eq(got, out, ALL * sizeof *got);
  ck_assert(!b->failure());
  b->free(from);
  b->free(to);
}
END_TEST

static Suite *
backend_cuda_products_suite(void)
{
  Suite *suite = suite_create("backend_cuda_products");
  TCase *tcase = tcase_create("core");

  tcase_add_loop_test(tcase, test_products, 0, 6);
  tcase_add_loop_test(tcase, test_bias, 0, 2);
  tcase_add_test(tcase, test_waits);
  tcase_add_test(tcase, test_rects);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(backend_cuda_products_suite)
