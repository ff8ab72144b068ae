/* Levels of inference engines: what is predicted of a row, against plans that a
 * user would write for it. */
#include "config.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "study/replay.h"
#include "study/validate/validate.h"
#include "tests/support/check_main.h"

static const char tpot[] =
    "model,gpu,engine,precision,tp,pp,isl,osl,batch_per_replica,tpot_ms\n"
    "llama3.1-8b,h100,other,bf16,1,1,512,64,8,7.5\n"
    "llama3.1-8b,h100,other,bf16,1,1,512,64,1,7.5\n"
    "llama3.1-8b,h100,other,bf16,8,1,512,64,8,7.5\n"
    "llama3.1-8b,h100,trtllm,bf16,8,1,512,64,8,7.5\n"
    "llama3.1-8b,h100,trtllm,fp4,1,1,512,64,8,7.5\n"
    "gpt-9,h100,trtllm,bf16,1,1,512,64,8,7.5\n";
static const char throughput[] =
    "model,gpu,tp,pp,precision,isl,osl,num_requests,output_tokens_per_s\n"
    "llama3.1-8b,H100,1,1,bf16,512,64,100,9000\n"
    "llama3.1-8b,H100,1,1,bf16,20000,2000,100,500\n";

/* Seconds of @n requests of @n_in + @n_out tokens on one H100, with @keys in
 * the plan. */
static double
wall_s(const char *folder, guint n, guint n_in, guint n_out, const char *keys)
{
  const RaReplayOptions options = {.n_iterations = 1,
                                   .fidelity = RA_FIDELITY_STAGE};
  const RaSetupFlags flags = {.workload = NULL};
  g_autofree char *w = g_build_filename(folder, "w.workload", NULL);
  g_autofree char *p = g_build_filename(folder, "p.plan", NULL);
  g_autofree char *text = g_strdup_printf(
      "[workload]\nalgorithm = g\ndataset = d\nprompts = %u\nprompt-length = "
      "fixed(%u)\nresponse-length = fixed(%u)\n[model m]\nconfig = "
      "llama-3-8b.json\n[call g]\nmodel = m\nkind = generate\ninputs = d\n",
      n, n_in, n_out);
  g_autofree char *plan = NULL;
  g_autoptr(RaSetup) setup = NULL;
  g_autoptr(RaReplay) replay = NULL;
  GError *error = NULL;

  ck_assert(g_file_set_contents(w, text, -1, NULL));
  plan = g_strdup_printf("[plan]\nworkload = w.workload\ncluster = "
                         "h100-1n.cluster\n[call g]\nmesh = node0:gpu0\n"
                         "launch = graph\n%s",
                         keys);
  ck_assert(g_file_set_contents(p, plan, -1, NULL));
  setup = ra_setup_load(p, RA_FILE_PLAN, &flags, &error);
  ck_assert_msg(setup != NULL, "%s", error ? error->message : "");
  replay = ra_replay_new(setup, &options, NULL);
  g_unlink(w);
  g_unlink(p);
  return ra_sim_result(replay->sim)->makespan_s;
}

static RaValidation *
validate(const char *folder, const char *source, const char *text,
         const char *level)
{
  const RaValidateOptions options = {.data = folder, .pattern = level};
  g_autofree char *inner = g_build_filename(folder, source, NULL);
  g_autofree char *path = g_build_filename(inner, "rows_heldout.csv", NULL);
  RaValidation *v;
  GError *error = NULL;

  ck_assert_int_eq(g_mkdir(inner, 0700), 0);
  ck_assert(g_file_set_contents(path, text, -1, NULL));
  v = ra_validate(&options, &error);
  ck_assert_msg(v != NULL, "%s", error ? error->message : "");
  g_unlink(path);
  g_rmdir(inner);
  return v;
}

static const RaValidateRow *
row_at(const RaValidation *v, guint index)
{
  const RaValidateResult *r = &g_array_index(v->results, RaValidateResult, 0);

  ck_assert_uint_gt(r->rows->len, index);
  return &g_array_index(r->rows, RaValidateRow, index);
}

/* Alone a request gets its other 63 tokens in W(64) - W(1).  Of 8, in three
 * rounds with at most 1024 + 7 tokens a step, one that ends makes room for one
 * whose prompt all others wait for: a round takes 63 tokens and a prompt.
 * On 8 GPUs TensorRT-LLM's constants count: its host at prompts, its all-reduce
 * (tests/traces/check_system.c has both by hand). */
START_TEST(test_tpot)
{
  static const char loop[] =
      "batching = continuous\nmax-sequences = 8\nprefill-tokens = 1031\n";
  g_autofree char *folder = g_dir_make_tmp("infer-XXXXXX", NULL);
  g_autoptr(RaValidation) v = validate(folder, "infer_e2e", tpot, "tpot");
  const RaValidateResult *r = &g_array_index(v->results, RaValidateResult, 0);
  double round_s = wall_s(folder, 24, 512, 64, loop) / 3;
  double whole_s = wall_s(folder, 8, 512, 64, "");
  double one_s = wall_s(folder, 8, 512, 1, "");
  double alone_s =
      (wall_s(folder, 1, 512, 64, loop) - wall_s(folder, 1, 512, 1, loop)) / 63;
  double predicted_s = row_at(v, 0)->predicted;

  ck_assert_uint_eq(r->rows->len, 4);
  ck_assert_str_eq(row_at(v, 0)->part, "other");
  ck_assert(row_at(v, 0)->measured == 7.5e-3);
  ck_assert_double_eq_tol(row_at(v, 1)->predicted, alone_s, 1e-9 * alone_s);
  ck_assert_double_lt(predicted_s, round_s / 63);
  ck_assert_double_gt(predicted_s, 0.85 * round_s / 63);
  /* the fault to catch: nobody waits for others' prefills */
  ck_assert_double_lt((whole_s - one_s) / 63, 0.95 * predicted_s);
  ck_assert_str_eq(row_at(v, 3)->part, "trtllm");
  ck_assert_double_gt(
      fabs(row_at(v, 3)->predicted / row_at(v, 2)->predicted - 1), 0.01);
  ck_assert_uint_eq(r->notes->len, 4);
  ck_assert_ptr_nonnull(strstr(r->notes->pdata[0], "other: no system"));
  ck_assert_ptr_nonnull(strstr(r->notes->pdata[1], "trtllm: constants of"));
  ck_assert_ptr_nonnull(strstr(r->notes->pdata[2], "no config of model"));
  ck_assert_ptr_nonnull(strstr(r->notes->pdata[3], "1 rows of 4-bit weights"));
  g_rmdir(folder);
}
END_TEST

/* Memory holds 0.9 x (80 GiB - 2 x 8,030,261,248) = 62.9 GB of keys and values:
 * as a plan says it, with room for whole requests. */
#define KEYS                                                                   \
  "batching = continuous\nmax-sequences = 2048\nkv-memory = 62854999130 B\n"
START_TEST(test_throughput)
{
  g_autofree char *folder = g_dir_make_tmp("infer-XXXXXX", NULL);
  g_autoptr(RaValidation) v =
      validate(folder, "infer_offline", throughput, "throughput");
  static const char whole[] = KEYS "kv-admission = whole\n";
  double short_s = wall_s(folder, 100, 512, 64, whole);
  double long_s = wall_s(folder, 100, 20000, 2000, whole);

  ck_assert_double_eq_tol(row_at(v, 0)->measured, 100 * 64 / 9000.0, 1e-12);
  ck_assert_double_eq_tol(row_at(v, 0)->predicted, short_s, 1e-9 * short_s);
  ck_assert_double_eq_tol(row_at(v, 1)->predicted, long_s, 1e-9 * long_s);
  /* the fault to catch: a request is admitted where its prompt fits */
  ck_assert_double_gt(fabs(wall_s(folder, 100, 20000, 2000, KEYS) - long_s),
                      1e-3 * long_s);
  g_rmdir(folder);
}
END_TEST

static Suite *
infer_suite(void)
{
  Suite *suite = suite_create("validate-infer");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_tpot);
  tcase_add_test(tcase, test_throughput);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(infer_suite)
