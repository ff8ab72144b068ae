/* Published RLHF iterations: their lengths, models, rows and plans. */
#include "config.h"

#include <glib/gstdio.h>
#include <math.h>

#include "base/error.h"
#include "study/validate/rl_row.h"
#include "tests/support/check_main.h"

/* ---- Models ---------------------------------------------------------------*/

static const char *const names[][2] = {
    {"llama-3.1-8B-instruct", "llama-3-8b.json"},
    {"Llama3.1-70B", "llama-3-70b.json"},
    {"llama-3.1-405B", "llama-3.1-405b.json"},
    {"qwen3-32B", "qwen3-32b.json"},
    {"Qwen3-30B-A3B", "qwen3-30b-a3b.json"},
    {"7B", "llama-2-7b.json"},
    {"34B", "codellama-34b.json"},
    {"llama-2-70B-chat", "llama-2-70b.json"},
    {"no-such-model", NULL},
};

START_TEST(test_names)
{
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *config = ra_rl_model_config(names[i][0]);

    if (names[i][1])
      ck_assert_str_eq(config, names[i][1]);
    else
      ck_assert_ptr_null(config);
  }
}
END_TEST

/* ---- Plans ----------------------------------------------------------------*/

static RaRlStep
a_step(void)
{
  return (RaRlStep){.model = "llama-3.1-8B",
                    .gpu = "h100",
                    .n_gpus = 16,
                    .n_sequences = 2048,
                    .n_mini_batches = 4,
                    .prompt_tokens = 115,
                    .mean_tokens = 1019,
                    .max_tokens = 3981};
}

static RaRlLayout
a_layout(void)
{
  return (RaRlLayout){.generate_tp = 1,
                      .tp = 1,
                      .cp = 1,
                      .ep = 1,
                      .pp = 2,
                      .pack_tokens = 4096,
                      .cache_frac = 0.6};
}

static const RaCallPlan *
plan_of(const RaSetup *setup, const char *call)
{
  return &setup->plan->calls[ra_workload_find_call(setup->workload, call)];
}

static RaSetup *
setup_of(const RaRlStep *step, const RaRlLayout *layout)
{
  GError *error = NULL;
  RaSetup *setup = ra_rl_setup_new(step, &error);

  ck_assert_msg(setup != NULL, "%s", error ? error->message : "");
  ck_assert_msg(ra_rl_set_layout(setup, step, layout, &error), "%s",
                error ? error->message : "");
  return setup;
}

/* 16 GPUs, pp 2: 8 replicas train.  A mini-batch of 512 gives each 64 sequences
 * of 115 + 1019 tokens: 72,576, which is 17.7 packs of 4096; of the divisors of
 * 64, 16 is nearest.  Generation on 16 replicas: of 0.6 x 80 GiB weights of
 * 2 x 8,030,261,248 bytes leave 35,479,085,056. */
START_TEST(test_layout)
{
  RaRlStep step = a_step();
  RaRlLayout layout = a_layout();
  g_autoptr(RaSetup) setup = setup_of(&step, &layout);

  ck_assert_uint_eq(plan_of(setup, "actor_train")->dp, 8);
  ck_assert_uint_eq(plan_of(setup, "actor_train")->pp, 2);
  ck_assert_uint_eq(plan_of(setup, "actor_train")->n_micro_batches, 16);
  ck_assert_int_eq(plan_of(setup, "actor_train")->recompute, RA_RECOMPUTE_NONE);
  /* 256 sequences an inference: 70.9 packs, and 64 of them */
  ck_assert_uint_eq(plan_of(setup, "ref_inference")->n_micro_batches, 64);
  ck_assert_uint_eq(plan_of(setup, "actor_generate")->dp, 16);
  ck_assert_int_eq(plan_of(setup, "actor_generate")->batching,
                   RA_BATCHING_CONTINUOUS);
  ck_assert_double_eq_tol(
      (double)plan_of(setup, "actor_generate")->kv_memory_bytes, 35479085056.0,
      2);
}
END_TEST

/* With 0.3 x 80 GiB = 25.8 GB, 9.7 GB are left.  A sequence of 4,096 tokens has
 * 2 x 32 layers x 8 heads x 128 x 2 bytes x 4,096 = 0.54 GB: 0.2 leaves 1.1
 * GB, which is enough; 0.19 leaves 0.26 GB, which is not, and so counts as 0.9:
 * 61.2 GB.  Sequences that do not all find room take longer, though they are
 * the same. */
START_TEST(test_room)
{
  RaRlStep step = a_step();
  RaRlLayout layout = a_layout();
  g_autoptr(RaSetup) roomy = NULL, tight = NULL;
  RaRlTimes t, u;

  step.n_sequences *= 4;
  roomy = setup_of(&step, &layout);
  layout.cache_frac = 0.3;
  tight = setup_of(&step, &layout);
  ck_assert_double_eq_tol(
      (double)plan_of(tight, "actor_generate")->kv_memory_bytes,
      0.3 * 80 * 0x1p30 - 2 * 8030261248.0, 2);
  ck_assert(ra_rl_times(roomy, &t, NULL) && ra_rl_times(tight, &u, NULL));
  ck_assert_double_gt(u.generate_s, 1.1 * t.generate_s);
  layout.cache_frac = 0.2;
  ck_assert(ra_rl_set_layout(tight, &step, &layout, NULL));
  ck_assert_double_eq_tol(
      (double)plan_of(tight, "actor_generate")->kv_memory_bytes,
      0.2 * 80 * 0x1p30 - 2 * 8030261248.0, 2);
  layout.cache_frac = 0.19;
  ck_assert(ra_rl_set_layout(tight, &step, &layout, NULL));
  ck_assert_double_eq_tol(
      (double)plan_of(tight, "actor_generate")->kv_memory_bytes,
      0.9 * 80 * 0x1p30 - 2 * 8030261248.0, 2);
}
END_TEST

/* One step off, the first half of the GPUs generates: less is in the way of
 * each, and what takes longer is the iteration. */
START_TEST(test_async)
{
  RaRlStep step = a_step();
  RaRlLayout layout = a_layout();
  g_autoptr(RaSetup) on = setup_of(&step, &layout);
  g_autoptr(RaSetup) off = NULL;
  RaRlTimes t, u;

  step.is_async = TRUE;
  off = setup_of(&step, &layout);
  ck_assert_uint_eq(plan_of(off, "actor_generate")->dp, 8);
  ck_assert_uint_eq(plan_of(off, "actor_generate")->mesh.runs[0].first, 0);
  ck_assert_uint_eq(plan_of(off, "actor_train")->dp, 4);
  ck_assert_uint_eq(plan_of(off, "actor_train")->mesh.runs[0].first, 1);
  ck_assert(ra_rl_times(on, &t, NULL) && ra_rl_times(off, &u, NULL));
  ck_assert_double_eq_tol(t.generate_s + t.inference_s + t.train_s + t.move_s,
                          t.total_s, 1e-9);
  ck_assert_double_lt(u.total_s,
                      0.9 * (u.generate_s + u.inference_s + u.train_s));
}
END_TEST

/* Optimizer and gradients of 70B on 8 GPUs with tp 8 leave no room for whole
 * activations. */
START_TEST(test_recompute)
{
  RaRlStep step = a_step();
  RaRlLayout layout = a_layout();
  g_autoptr(RaSetup) setup = NULL;

  step.model = "llama-3-70B";
  layout.generate_tp = layout.tp = 8;
  setup = setup_of(&step, &layout);
  ck_assert_int_eq(plan_of(setup, "actor_train")->recompute, RA_RECOMPUTE_FULL);
}
END_TEST

START_TEST(test_faults)
{
  RaRlStep step = a_step();
  RaRlLayout layout = a_layout();
  g_autoptr(GError) error = NULL;
  g_autoptr(RaSetup) setup = ra_rl_setup_new(&step, NULL);

  layout.pp = 3;
  ck_assert(!ra_rl_set_layout(setup, &step, &layout, &error));
  ck_assert_str_eq(error->message, "the degrees do not divide the GPUs");
  g_clear_error(&error);
  step.model = "gpt-9";
  ck_assert_ptr_null(ra_rl_setup_new(&step, &error));
  ck_assert_str_eq(error->message, "no config of model 'gpt-9'");
  g_clear_error(&error);
  step = a_step();
  step.gpu = "h9000";
  ck_assert_ptr_null(ra_rl_setup_new(&step, &error));
  ck_assert_str_eq(error->message, "no profile of GPU 'h9000'");
  g_clear_error(&error);
  step = a_step();
  step.n_mini_batches = 3;
  ck_assert_ptr_null(ra_rl_setup_new(&step, &error));
  ck_assert_int_eq(error->code, RA_ERROR_INPUT);
}
END_TEST

/* ---- Rows -----------------------------------------------------------------*/

static void
with_file(const char *name, const char *text, void (*check)(const char *folder))
{
  g_autofree char *folder = g_dir_make_tmp("rl-row-XXXXXX", NULL);
  g_autofree char *steps = g_build_filename(folder, "rlhf_steps", NULL);
  g_autofree char *path = g_build_filename(steps, name, NULL);

  ck_assert_int_eq(g_mkdir(steps, 0700), 0);
  ck_assert(g_file_set_contents(path, text, -1, NULL));
  check(folder);
  g_unlink(path);
  g_rmdir(steps);
  g_rmdir(folder);
}

static void
check_tables(const char *folder)
{
  g_autoptr(GArray) rows = ra_rl_rows(folder, RA_RL_NEMO_RL, NULL);
  const RaRlRow *row;
  g_autofree char *name = NULL;

  ck_assert_uint_eq(rows->len, 2); /* not the one without a time */
  row = &g_array_index(rows, RaRlRow, 1);
  ck_assert_str_eq(row->step.gpu, "h200");
  ck_assert_uint_eq(row->line, 4);
  ck_assert(row->step.is_async);
  ck_assert_uint_eq(row->step.n_mini_batches, 4);
  ck_assert_uint_eq(row->layout.ep, 8);
  ck_assert_uint_eq(row->layout.cp, 2);
  ck_assert(row->step.max_tokens == 16384 - 115);
  ck_assert(row->measured_s == 90.5);
  name = ra_rl_row_name(row);
  ck_assert_str_eq(name,
                   "qwen3-30B-A3B on 64 h200 1-off, 3000 of 16269 tokens");
}

static void
check_bad(const char *folder)
{
  g_autoptr(GError) error = NULL;

  ck_assert_ptr_null(ra_rl_rows(folder, RA_RL_NEMO_RL, &error));
  ck_assert(g_str_has_suffix(error->message,
                             "nemo_rl_tables_heldout.csv:3: 'gpus' is 'many', "
                             "expected a number of at least 0"));
}

static void
check_figure(const char *folder)
{
  g_autoptr(GArray) chat = ra_rl_rows(folder, RA_RL_DEEPSPEED_CHAT, NULL);
  g_autoptr(GArray) real = ra_rl_rows(folder, RA_RL_REAL_HEURISTIC, NULL);
  g_autoptr(RaSetup) setup = NULL;

  ck_assert_uint_eq(chat->len, 0); /* out of memory */
  ck_assert_uint_eq(real->len, 1);
  setup = ra_rl_row_setup(&g_array_index(real, RaRlRow, 0), NULL);
  ck_assert_ptr_nonnull(setup);
  ck_assert_uint_eq(plan_of(setup, "critic_train")->tp, 8);
  ck_assert_uint_eq(plan_of(setup, "critic_train")->pp, 2);
  ck_assert_uint_eq(plan_of(setup, "critic_train")->n_micro_batches, 4);
}

#define TABLES                                                                 \
  "release,model,gpus,policy,max_len,mean_len,gen_tp,train_tp,train_cp,"       \
  "train_ep,train_pp,sequences,train_gbs,tokens_per_s_per_gpu,step_s\n"        \
  "v1-H100,llama-3.1-8B,16,on,4096,1019,1,1,1,1,2,2048,512,1581,92.8\n"

START_TEST(test_rows)
{
  with_file("nemo_rl_tables_heldout.csv",
            TABLES "v1-H100,llama-3.1-8B,16,on,4096,1019,1,1,1,1,2,2048,512,,\n"
                   "v1-H200,qwen3-30B-A3B,64,1-off,16384,3000,2,1,2,8,1,2048,"
                   "512,1,90.5\n",
            check_tables);
  with_file("nemo_rl_tables_heldout.csv",
            TABLES "v1-H100,llama-3.1-8B,many,on,4096,1,1,1,1,1,2,8,8,1,1\n",
            check_bad);
  with_file("real_figure.csv",
            "actor,critic,gpus,sequences,prompt_max,response,deepspeed_chat_s,"
            "openrlhf_s,real_heuristic_s,real_s\n"
            "7B,7B,16,256,128,384,OOM,46.7,35.3,23.2\n",
            check_figure);
}
END_TEST

static Suite *
rl_step_suite(void)
{
  Suite *suite = suite_create("rl-step");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_names);
  tcase_add_test(tcase, test_layout);
  tcase_add_test(tcase, test_room);
  tcase_add_test(tcase, test_async);
  tcase_add_test(tcase, test_recompute);
  tcase_add_test(tcase, test_faults);
  tcase_add_test(tcase, test_rows);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(rl_step_suite)
