#include "config.h"

#include "graph/augment/layout.h"
#include "tests/support/check_main.h"
#include "tests/support/realloc_oracle.h"

/* Elements of @rank's layout that ra_layout_rect() gets wrong, with the span
 * of the tensor shifted by @shift rows. */
static guint
count_wrong(const RaTensorTable *table, const RaCallPlan *plan, uint32_t rank,
            uint64_t shift, uint64_t *out_n_params)
{
  guint n_wrong = 0;

  *out_n_params = 0;
  for (uint32_t i = 0; i < ra_model_n_tensors(table->model); i++) {
    RaTensor t;
    RaRect r = {0};
    ra_model_tensor(table->model, i, &t);
    if (ra_layout_rect(table, plan, rank, i, &r))
      r.row += shift;
    *out_n_params += r.n_rows * r.n_cols;
    for (uint64_t row = 0; row < t.rows; row++)
      for (uint64_t col = 0; col < t.cols; col++) {
        gboolean in = row >= r.row && row < r.row + r.n_rows && col >= r.col &&
                      col < r.col + r.n_cols;
        n_wrong +=
            in != ra_oracle_holds(table->model, plan, rank, i, &t, row, col);
      }
  }
  return n_wrong;
}

/* The rectangles against the answer for each element, and their sum against
 * ra_layout_n_params().  Fault: rectangles one row off. */
START_TEST(test_layout)
{
  guint n_caught = 0;

  for (uint64_t seed = 0; seed < 100; seed++) {
    RaOracleCase c;
    ra_oracle_case_init(&c, seed);
    g_autoptr(RaTensorTable) table = ra_tensor_table_new(c.model);
    for (uint32_t rank = 0; rank < ra_mesh_n_gpus(&c.from.mesh); rank++) {
      uint64_t n_params;
      ck_assert_uint_eq(count_wrong(table, &c.from, rank, 0, &n_params), 0);
      ck_assert_uint_eq(n_params, ra_layout_n_params(table, &c.from, rank));
      n_caught += count_wrong(table, &c.from, rank, 1, &n_params) > 0;
    }
    ra_oracle_case_clear(&c);
  }
  ck_assert_uint_ge(n_caught, 100);
}
END_TEST

/* Llama-2-70B's shape with tp = 16 above its 8 kv heads, on one stage of 2:
 * of each layer a rank has 64 / 16 = 4 query heads, one kv head of k and of v
 * (shared with a neighbour), 28672 / 16 = 1792 of the MLP, both norms; the
 * first stage has 32000 / 16 = 2000 rows of the embedding, the last as many
 * of the head and the final norm. */
START_TEST(test_gqa_counts)
{
  RaModelShape shape;
  uint32_t stage_layers[] = {41, 39};
  RaCallPlan plan = {.tp = 16,
                     .pp = 2,
                     .dp = 1,
                     .cp = 1,
                     .n_virtual = 1,
                     .axis = {RA_AXIS_TP, RA_AXIS_CP, RA_AXIS_DP, RA_AXIS_PP},
                     .stage_layers = stage_layers};
  uint64_t h = 8192, head = 128;
  uint64_t layer =
      2 * 4 * head * h + 2 * head * h + 3 * UINT64_C(1792) * h + 2 * h;

  ra_model_shape_init(&shape, RA_MLP_GATED);
  shape.layers = 80;
  shape.hidden = 8192;
  shape.heads = 64;
  shape.kv_heads = 8;
  shape.ffn = 28672;
  shape.vocab = 32000;
  g_autoptr(RaModel) model = ra_model_from_shape(&shape, NULL);
  g_autoptr(RaTensorTable) table = ra_tensor_table_new(model);
  ck_assert_uint_eq(ra_layout_n_params(table, &plan, 5), 41 * layer + 2000 * h);
  ck_assert_uint_eq(ra_layout_n_params(table, &plan, 31),
                    39 * layer + 2000 * h + h);
}
END_TEST

static Suite *
layout_suite(void)
{
  Suite *suite = suite_create("layout");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_layout);
  tcase_add_test(tcase, test_gqa_counts);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(layout_suite)
