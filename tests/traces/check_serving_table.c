/* A served model's tables, and the level that replays its requests on them. */
#include "config.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "study/validate/validate.h"
#include "tests/support/check_main.h"
#include "traces/serving_table.h"

static void
write_file(const char *folder, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename(folder, name, NULL);

  ck_assert(g_file_set_contents(path, text, -1, NULL));
}

/* Products take 100 us a layer up to 4 tokens and 400 at 16; the norm 10, twice
 * a layer; the last norm 20; head 50 and sampler 5 a step of one or two.
 * Attention without a chunk: 1 us a sequence and 16 tokens; with one 30. */
static void
write_tables(const char *folder)
{
  write_file(folder, "dense.csv",
             "layer,tokens,time_us\nproj,1,100\nproj,4,100\nproj,16,400\n"
             "layernorm,1,10\nlayernorm,16,10\nfinal_layernorm,1,20\n");
  write_file(folder, "per_sequence.csv",
             "layer,sequences,time_us\nlm_head,1,50\nlm_head,2,50\n"
             "sampler,1,5\n");
  write_file(folder, "attention.csv",
             "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n"
             "0,0,1,16,1\n0,0,1,64,4\n0,0,4,16,4\n0,0,4,64,16\n"
             "16,0,0,0,30\n16,16,0,0,60\n");
}

/* 3 layers.  Two sequences with 32 tokens each: attention 2 x 2 us, as times
 * are powers; products 100, norms 2 x 10; then 20 + 50 + 5.
 * A chunk of 16 tokens, whole: attention 30, products 400. */
START_TEST(test_step)
{
  const RaModel model = {.n_layers = 3};
  g_autofree char *folder = g_dir_make_tmp("serving-XXXXXX", NULL);
  RaBatchStretch decode = {.n_steps = 1, .n_decoding = 2, .kv_tokens = 64};
  RaBatchStretch prompt = {.n_steps = 1,
                           .n_chunks = 1,
                           .n_whole = 1,
                           .chunk_tokens = 16,
                           .chunk_kv_tokens = 16,
                           .chunk_pairs = 136};
  g_autoptr(RaServingTable) t = NULL;
  GError *error = NULL;

  write_tables(folder);
  t = ra_serving_table_load(folder, &error);
  ck_assert_msg(t != NULL, "%s", error ? error->message : "");
  ck_assert_double_eq_tol(ra_serving_step_s(t, &model, &decode),
                          (3 * (4 + 100 + 20) + 75) * 1e-6, 1e-8);
  ck_assert_double_eq_tol(ra_serving_step_s(t, &model, &prompt),
                          (3 * (30 + 400 + 20) + 75) * 1e-6, 1e-8);
  /* A chunk behind 16 tokens attends to 16 x 16 more. */
  prompt.chunk_pairs += 256;
  ck_assert_double_eq_tol(ra_serving_step_s(t, &model, &prompt),
                          (3 * (60 + 400 + 20) + 75) * 1e-6, 1e-8);
  write_file(folder, "attention.csv",
             "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n"
             "0,0,1,16,1\n");
  ck_assert_ptr_null(ra_serving_table_load(folder, &error));
  ck_assert_ptr_nonnull(strstr(error->message, "with and without a chunk"));
  g_error_free(error);
}
END_TEST

/* A layer of 8 experts, of which a token chooses one: 5 us where one is met, 20
 * where four are, 40 where all are, powers between.  One sequence meets one; 16
 * tokens meet 8 (1 - (7/8)^16) = 7.06, so 7: 35 us, as times are powers. */
START_TEST(test_experts)
{
  g_autofree char *folder = g_dir_make_tmp("serving-XXXXXX", NULL);
  guint8 kinds[3] = {1, 1, 0};
  const RaModel dense = {.n_layers = 3};
  const RaModel model = {.n_layers = 3,
                         .n_experts = 8,
                         .experts_per_token = 1,
                         .n_kinds = 2,
                         .kinds = {[1] = {.ffn = RA_FFN_EXPERTS}},
                         .layer_kind = kinds};
  RaBatchStretch decode = {.n_steps = 1, .n_decoding = 1, .kv_tokens = 16};
  g_autoptr(RaServingTable) t = NULL;
  GError *error = NULL;
  double without_s;

  write_tables(folder);
  t = ra_serving_table_load(folder, &error);
  ck_assert_msg(t != NULL, "%s", error ? error->message : "");
  ck_assert(!ra_serving_table_has_experts(t));
  without_s = ra_serving_step_s(t, &model, &decode);
  ra_serving_table_free(t);
  write_file(folder, "moe.csv",
             "tokens,activated_experts,time_us\n1,1,5\n16,1,5\n1,4,20\n"
             "16,4,20\n16,8,40\n");
  t = ra_serving_table_load(folder, &error);
  ck_assert_msg(t != NULL, "%s", error ? error->message : "");
  ck_assert(ra_serving_table_has_experts(t));
  /* two of the three layers have experts */
  ck_assert_double_eq_tol(ra_serving_step_s(t, &model, &decode),
                          without_s + 2 * 5e-6, 1e-9);
  ck_assert_double_eq_tol(ra_serving_step_s(t, &dense, &decode), without_s,
                          1e-12);
  /* the fault to catch: as many experts as tokens choose */
  decode = (RaBatchStretch){.n_steps = 1,
                            .n_chunks = 1,
                            .n_whole = 1,
                            .chunk_tokens = 16,
                            .chunk_kv_tokens = 16,
                            .chunk_pairs = 136};
  ck_assert_double_eq_tol(ra_serving_step_s(t, &model, &decode) -
                              ra_serving_step_s(t, &dense, &decode),
                          2 * 35e-6, 4e-6);
  write_file(folder, "moe.csv", "tokens,activated_experts,time_us\n1,1,0\n");
  ck_assert_ptr_null(ra_serving_table_load(folder, &error));
  ck_assert_ptr_nonnull(strstr(error->message, "there is no time"));
  g_error_free(error);
}
END_TEST

static const RaValidateRow *
row_of(const RaValidation *v, guint index)
{
  const RaValidateResult *r = &g_array_index(v->results, RaValidateResult, 0);

  ck_assert_uint_eq(r->rows->len, 2);
  return &g_array_index(r->rows, RaValidateRow, index);
}

/* One request of 16 + 3 tokens to a model of 32 layers: the prompt takes 32 (30
 * + 400 + 20) + 75 us, a step at 17 and one at 18 tokens attend in 17 / 16 and
 * 18 / 16 us. */
START_TEST(test_level)
{
  g_autofree char *data = g_dir_make_tmp("serving-XXXXXX", NULL);
  g_autofree char *tables = g_build_filename(
      data, "serving_e2e_vllm", "profile", "gpu_llama-3.1-8b_tp1", NULL);
  g_autofree char *run =
      g_build_filename(data, "serving_e2e_vllm", "gpu_llama-3.1-8b", NULL);
  RaValidateOptions options = {.data = data, .pattern = "serving"};
  g_autoptr(RaValidation) v = NULL;
  GError *error = NULL;
  double ttft_s = (32 * (30 + 400 + 20) + 75) * 1e-6;
  double tpot_s = (32 * ((17 + 18) / 32.0 + 100 + 20) + 75) * 1e-6;

  ck_assert_int_eq(g_mkdir_with_parents(tables, 0700), 0);
  ck_assert_int_eq(g_mkdir_with_parents(run, 0700), 0);
  write_tables(tables);
  write_file(run, "meta.json",
             "{\"engine_kwargs\": {\"max_num_seqs\": 8, "
             "\"max_num_batched_tokens\": 64, \"tensor_parallel_size\": 1}, "
             "\"kv_cache\": {\"block_size\": 16, \"num_gpu_blocks\": 4}}");
  write_file(run, "requests.csv",
             "id,input_tokens,output_tokens,queued_s,first_token_s,"
             "last_token_s\n0,16,3,1.5,1.6,1.8\n");
  v = ra_validate(&options, &error);
  ck_assert_msg(v != NULL, "%s", error ? error->message : "");
  ck_assert_double_eq_tol(row_of(v, 0)->measured, 0.1, 1e-12);
  /* linear in log2: 17 and 18 between 16 and 64 are not their powers */
  ck_assert_double_eq_tol(row_of(v, 0)->predicted, tpot_s, 2e-3 * tpot_s);
  ck_assert_double_eq_tol(row_of(v, 1)->measured, 0.1, 1e-12);
  ck_assert_double_eq_tol(row_of(v, 1)->predicted, ttft_s, 1e-6 * ttft_s);
  /* the fault to catch: one norm a layer */
  ck_assert_double_gt(fabs(row_of(v, 1)->predicted - (ttft_s - 32 * 10e-6)),
                      1e-5);
}
END_TEST

static Suite *
serving_table_suite(void)
{
  Suite *suite = suite_create("serving_table");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_step);
  tcase_add_test(tcase, test_experts);
  tcase_add_test(tcase, test_level);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(serving_table_suite)
