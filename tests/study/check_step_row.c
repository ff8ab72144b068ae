/* Published RL steps: numbers in texts, rows, plans, reasons. */
#include "config.h"

#include <glib/gstdio.h>
#include <string.h>

#include "base/error.h"
#include "graph/input/plan_service.h"
#include "graph/input/turns.h"
#include "study/validate/step_row.h"
#include "study/validate/step_text.h"
#include "study/validate/validate.h"
#include "tests/support/check_main.h"

/* ---- Numbers in texts -----------------------------------------------------*/

/* Wordings of the tables, by hand: 10k is 10 x 1024; (2048+20480) is 22528; a
 * bin of 4096 tokens times 1 and 4 sequences; the fault is a number glued to
 * letters, as of FP8. */
START_TEST(test_micro)
{
  static const struct {
    const char *text;
    RaStepMicro micro;
  } cases[] = {
      {"dynamic 10k tokens/GPU train; 30k logprob",
       {10240, 30720, 0, 0, FALSE}},
      {"dynamic 9216 tokens/GPU", {9216, 9216, 0, 0, FALSE}},
      {"dynamic: 61440 tokens/GPU train; 92160 logprob",
       {61440, 92160, 0, 0, FALSE}},
      {"dynamic; (2048+20480) tokens/GPU x script factor",
       {22528, 22528, 0, 0, FALSE}},
      {"dynamic: (2048+20480)*2 tokens/GPU", {45056, 45056, 0, 0, FALSE}},
      {"dynamic (use_dynamic_bsz; token limit in run.sh: 6144)",
       {6144, 6144, 0, 0, FALSE}},
      {"mbs 1 (sequence packing on; 4096 tokens a bin x mbs); logprob mbs 4",
       {4096, 16384, 1, 4, FALSE}},
      {"mbs 1 (sequence packing off; 1536 tokens a bin x mbs); logprob mbs 2",
       {0, 0, 1, 2, FALSE}},
      {"mbs 16 a GPU train; 8 logprob", {0, 0, 16, 8, FALSE}},
      {"4 a GPU (log prob 8)", {0, 0, 4, 8, FALSE}},
      {"actor 80; log prob 110", {0, 0, 80, 110, FALSE}},
      {"global micro 64 (16 a GPU)", {0, 0, 64, 0, TRUE}},
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    RaStepMicro micro = ra_phrase_micro(cases[i].text);

    ck_assert_msg(
        micro.tokens == cases[i].micro.tokens &&
            micro.logprob_tokens == cases[i].micro.logprob_tokens &&
            micro.sequences == cases[i].micro.sequences &&
            micro.logprob_sequences == cases[i].micro.logprob_sequences &&
            micro.global == cases[i].micro.global,
        "'%s': %u, %u tokens, %u, %u sequences", cases[i].text, micro.tokens,
        micro.logprob_tokens, micro.sequences, micro.logprob_sequences);
  }
}
END_TEST

START_TEST(test_split)
{
  uint32_t train, generate;

  ck_assert(
      ra_phrase_split("async 1-off",
                      "FP8 generation and FP8 training; 256 GPUs generate; "
                      "128 train",
                      &train, &generate));
  ck_assert_uint_eq(train, 128);
  ck_assert_uint_eq(generate, 256);
  ck_assert(ra_phrase_split("fully async 16 train : 8 rollout", "", &train,
                            &generate));
  ck_assert_uint_eq(train, 16);
  ck_assert_uint_eq(generate, 8);
  ck_assert(!ra_phrase_split("colocated", "16 prompts", &train, &generate));
}
END_TEST

/* ---- Rows -----------------------------------------------------------------*/

static const char head[] =
    "source_id,provenance,framework,version_or_date,algorithm,actor_model,"
    "critic_model,n_gpus,gpu,prompts_per_step,samples_per_prompt,"
    "prompt_len_mean,prompt_len_max,response_len_mean,response_len_max,"
    "train_backend,train_tp,train_pp,train_cp_or_sp,train_ep,"
    "zero_or_fsdp_size,rollout_engine,rollout_tp,rollout_dp,rollout_mem_util,"
    "colocated_or_async,mini_batch,micro_batch_or_tokens_per_gpu,"
    "remove_padding,recompute,param_offload,optimizer_offload,t_gen_s,"
    "t_reward_s,t_old_logprob_s,t_ref_s,t_values_s,t_adv_s,t_update_critic_s,"
    "t_update_actor_s,t_weight_sync_s,t_step_s,total_tokens,completeness,"
    "notes\n";

/* A run of verl of which all is known; the same on a GPU without a profile, of
 * a model that nobody knows, and without layout. */
static const char rows_text[] =
    "run,attributed,verl,2026-01,GRPO (KL loss),Qwen/Qwen2.5-0.5B-Instruct,,4,"
    "H100-80GB,64,4,100,512,200,1024,fsdp,,,,,4,vllm,1,4,0.5,colocated,32,"
    "dynamic 8192 tokens/GPU,yes,full,no,no,10,1,2,2,,,,8,,24,,A,made up\n"
    "run,attributed,verl,2026-01,GRPO (KL loss),Qwen/Qwen2.5-0.5B-Instruct,,4,"
    "MI250X-128GB,64,4,100,512,200,1024,fsdp,,,,,4,vllm,1,4,0.5,colocated,32,"
    "dynamic 8192 tokens/GPU,yes,full,no,no,10,1,2,2,,,,8,,24,,A,made up\n"
    "run,attributed,verl,2026-01,GRPO (KL loss),Tortoise-3B,,4,"
    "H100-80GB,64,4,100,512,200,1024,fsdp,,,,,4,vllm,1,4,0.5,colocated,32,"
    "dynamic 8192 tokens/GPU,yes,full,no,no,10,1,2,2,,,,8,,24,,A,made up\n"
    "run,index-only,verl,2026-01,GRPO,Qwen/Qwen2.5-0.5B-Instruct,,4,"
    "H100-80GB,64,4,100,512,200,1024,,,,,,4,vllm,1,4,0.5,colocated,32,"
    "dynamic 8192 tokens/GPU,yes,full,no,no,10,1,2,2,,,,8,,24,,A,made up\n";

static char *
make_data(const char *text)
{
  GError *error = NULL;
  char *data = g_dir_make_tmp("steps-check-XXXXXX", &error);
  g_autofree char *folder = g_build_filename(data, "rl_steps", NULL);
  g_autofree char *path = g_build_filename(folder, "rl_steps_made.csv", NULL);
  g_autofree char *whole = g_strconcat(head, text, NULL);

  ck_assert_int_eq(g_mkdir(folder, 0700), 0);
  ck_assert(g_file_set_contents(path, whole, -1, &error));
  return data;
}

static void
remove_data(char *data)
{
  g_autofree char *folder = g_build_filename(data, "rl_steps", NULL);
  g_autofree char *path = g_build_filename(folder, "rl_steps_made.csv", NULL);

  g_remove(path);
  g_rmdir(folder);
  g_rmdir(data);
  g_free(data);
}

/* 64 prompts of 4 samples, mini-batches of 32 prompts: 2, each of 128
 * sequences, 32 a replica of 300 tokens, 9600 in all: 2 micro-batches of at
 * most 8192.  Log-probabilities: 64 sequences, 19,200 tokens: 3 of
 * even tokens. */
START_TEST(test_plan)
{
  GError *error = NULL;
  char *data = make_data(rows_text);
  g_autoptr(GArray) rows = ra_published_rows(data, &error);
  const RaStepRow *row = &g_array_index(rows, RaStepRow, 0);
  g_autoptr(RaSetup) setup = ra_published_setup(row, NULL, &error);
  const RaCallPlan *train, *logprobs, *generate;

  ck_assert_msg(setup != NULL, "%s", error ? error->message : "");
  ck_assert_uint_eq(rows->len, 4);
  train = &setup->plan
               ->calls[ra_workload_find_call(setup->workload, "actor_train")];
  logprobs =
      &setup->plan
           ->calls[ra_workload_find_call(setup->workload, "actor_inference")];
  generate =
      &setup->plan
           ->calls[ra_workload_find_call(setup->workload, "actor_generate")];
  ck_assert_uint_eq(train->dp, 4);
  ck_assert_int_eq(train->zero, 3);
  ck_assert_uint_eq(train->n_micro_batches, 2);
  ck_assert_uint_eq(logprobs->n_micro_batches, 3);
  ck_assert_uint_eq(generate->max_sequences, 1024);
  ck_assert_int_eq(generate->launch, RA_LAUNCH_GRAPH);
  ck_assert_uint_ne(ra_workload_find_call(setup->workload, "ref_inference"),
                    RA_NONE);
  remove_data(data);
}
END_TEST

/* Padding where nothing is packed: verl's FSDP workers to the longest prompt
 * and answer, 512 + 1,024; to what the row names; NeMo-RL to the longest of the
 * step; the fault: as the first whatever the framework. */
START_TEST(test_padding)
{
  static const struct {
    const char *framework, *micro, *packs;
    int padding;
    uint32_t length;
  } cases[] = {
      {"verl", "2 a GPU", "yes", RA_PADDING_NONE, 0},
      {"verl", "2 a GPU", "no", RA_PADDING_NONE, 1536},
      {"verl", "4 x 1200 padded", "no", RA_PADDING_NONE, 1200},
      {"NeMo-RL", "mbs 2", "no", RA_PADDING_BATCH, 0},
      {"SkyRL", "2", "no", RA_PADDING_BATCH, 0},
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text = g_strdup_printf(
        "run,attributed,%s,2026-01,GRPO (KL loss),Qwen/Qwen2.5-0.5B-Instruct,,"
        "4,H100-80GB,64,4,100,512,200,1024,fsdp,,,,,4,vllm,1,4,0.5,colocated,"
        "32,%s,%s,full,no,no,10,1,2,2,,,,8,,24,,A,made up\n",
        cases[i].framework, cases[i].micro, cases[i].packs);
    GError *error = NULL;
    char *data = make_data(text);
    g_autoptr(GArray) rows = ra_published_rows(data, &error);
    g_autoptr(RaSetup) setup =
        ra_published_setup(&g_array_index(rows, RaStepRow, 0), NULL, &error);

    ck_assert_msg(setup != NULL, "%s", error ? error->message : "");
    for (uint32_t c = 0; c < setup->workload->n_calls; c++) {
      const RaCallPlan *how = &setup->plan->calls[c];
      RaCallKind kind = setup->workload->calls[c].kind;

      if (kind != RA_CALL_TRAIN && kind != RA_CALL_INFERENCE)
        continue;
      ck_assert_int_eq(how->padding, cases[i].padding);
      ck_assert_uint_eq(how->padded_length, cases[i].length);
    }
    remove_data(data);
  }
}
END_TEST

/* NVLink of the exported kinds, one direction of 400 GB/s; cards in NVLink
 * pairs have links of which NCCL's rings reach 0.74, 37 GB/s; a card on PCIe
 * has its profile's 32 GB/s, and so has an A100 its 300.  The one run that does
 * not say which it has is in pairs, by its phases (step_row.c). */
START_TEST(test_link)
{
  static const struct {
    const char *gpu;
    double bytes_per_s;
  } cases[] = {{"A800-80GB", 200e9},
               {"H800-80GB", 200e9},
               {"A800-80GB-PCIe (NVLink pairs)", 50e9},
               {"A800-80GB-PCIe", 32e9},
               {"A100/A800-80GB (inferred from the MFU)", 50e9},
               {"A100-80GB", 300e9}};

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    GError *error = NULL;
    g_auto(GStrv) parts = g_strsplit(rows_text, "H100-80GB", 2);
    g_autofree char *text = g_strjoinv(cases[i].gpu, parts);
    char *data = make_data(text);
    g_autoptr(GArray) rows = ra_published_rows(data, &error);
    g_autoptr(RaSetup) setup =
        ra_published_setup(&g_array_index(rows, RaStepRow, 0), NULL, &error);

    ck_assert_msg(setup != NULL, "%s", error ? error->message : "");
    ck_assert_double_eq_tol(setup->cluster->device.intra_bytes_per_s,
                            cases[i].bytes_per_s, 1);
    remove_data(data);
  }
}
END_TEST

/* verl's engine is vLLM's first before 2025-05, and after it where graphs are
 * off, until 2025-08; of other engines and frameworks there is one release (the
 * fault: one of verl, too). */
START_TEST(test_release)
{
  static const struct {
    const char *version, *engine, *name, *system;
  } cases[] = {
      {"2025-03", "vllm", "verl-fsdp", "verl-fsdp-2025"},
      {"2025-04-24", "vllm 0.6.3", "verl-megatron", "verl-megatron-2025"},
      {"2025-06..08", "vllm (enforce_eager)", "verl-fsdp", "verl-fsdp-2025"},
      {"2025-06..08", "vllm", "verl-fsdp", "verl-fsdp"},
      {"2025-03", "sglang", "verl-fsdp", "verl-fsdp"},
      {"2026-09", "vllm (eager)", "verl-fsdp", "verl-fsdp"},
      {"2025-03", "vllm", "nemo-rl", "nemo-rl"}};

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    RaStepRow row = {.n_gpus = 8};

    row.cell[RA_STEP_CELL_VERSION] = cases[i].version;
    row.cell[RA_STEP_CELL_ENGINE] = cases[i].engine;
    ck_assert_str_eq(ra_published_system(&row, cases[i].name), cases[i].system);
  }
  ck_assert_ptr_null(ra_published_system(
      &(RaStepRow){.cell = {[RA_STEP_CELL_VERSION] = "2025-03",
                            [RA_STEP_CELL_ENGINE] = "vllm"}},
      NULL));
}
END_TEST

/* Phases of a step in turn add up to it, but for the reward, which hosts
 * compute beside the log-probabilities; and each is there. */
START_TEST(test_times)
{
  GError *error = NULL;
  char *data = make_data(rows_text);
  g_autoptr(GArray) rows = ra_published_rows(data, &error);
  const RaStepRow *row = &g_array_index(rows, RaStepRow, 0);
  g_autoptr(RaSetup) setup = ra_published_setup(row, NULL, &error);
  RaStepTimes times;
  double sum_s = 0;

  ck_assert(ra_step_times(setup, &times, NULL, &error));
  for (guint i = 0; i < RA_STEP_TOTAL; i++)
    sum_s += times.s[i];
  ck_assert_double_ge(sum_s, times.s[RA_STEP_TOTAL] - 1e-9);
  ck_assert_double_le(sum_s - times.s[RA_STEP_REWARD], times.s[RA_STEP_TOTAL]);
  ck_assert_double_gt(times.s[RA_STEP_GENERATE], 0);
  ck_assert_double_gt(times.s[RA_STEP_LOGPROB], 0);
  ck_assert_double_gt(times.s[RA_STEP_REFERENCE], 0);
  ck_assert_double_gt(times.s[RA_STEP_UPDATE], times.s[RA_STEP_LOGPROB]);
  ck_assert_double_eq_tol(times.s[RA_STEP_REWARD], 1, 1e-9); /* as given */
  ck_assert_double_eq(times.s[RA_STEP_CRITIC], 0);
  remove_data(data);
}
END_TEST

/* Engines beside training have the optimizer's state in host memory: 12 bytes
 * for each of 494,032,768 parameters, of which a rank of four has a fourth.  At
 * half the rate a step takes one more such time down, which is its sync, and
 * one up, which is no phase's.  The fault: both in the sync. */
START_TEST(test_state_times)
{
  const double state_s = 494032768.0 * 12 / 4 / 1e9;
  GError *error = NULL;
  char *data = make_data(
      "run,attributed,NeMo-RL,v0.5,GRPO,Qwen/Qwen2.5-0.5B-Instruct,,4,"
      "H100-80GB,64,4,100,512,200,1024,megatron,1,1,cp1,,,vllm,1,4,0.5,"
      "colocated,256,mbs 1 (4096 tokens a bin x mbs),yes,full,no,no,,,,,,,,,,"
      "24,,A,made up\n");
  g_autoptr(GArray) rows = ra_published_rows(data, &error);
  g_autoptr(RaSetup) setup =
      ra_published_setup(&g_array_index(rows, RaStepRow, 0), NULL, &error);
  RaSystemConstants constants;
  RaStepTimes fast, slow;

  ck_assert_msg(setup != NULL, "%s", error ? error->message : "");
  constants = setup->system->constants;
  constants.optimizer_copy_bytes_per_s = 1e9;
  ra_estimator_set_system(setup->estimator, &constants);
  ck_assert(ra_step_times(setup, &fast, NULL, &error));
  constants.optimizer_copy_bytes_per_s = 0.5e9;
  ra_estimator_set_system(setup->estimator, &constants);
  ck_assert(ra_step_times(setup, &slow, NULL, &error));
  ck_assert_double_eq_tol(slow.s[RA_STEP_TOTAL] - fast.s[RA_STEP_TOTAL],
                          2 * state_s, 1e-6);
  ck_assert_double_eq_tol(slow.s[RA_STEP_SYNC] - fast.s[RA_STEP_SYNC], state_s,
                          1e-6);
  remove_data(data);
}
END_TEST

/* One row is predicted; two are listed with their reasons, and one of nobody's
 * file stands apart. */
START_TEST(test_level)
{
  GError *error = NULL;
  char *data = make_data(rows_text);
  RaValidateOptions options = {.data = data, .pattern = "rl-steps-dense"};
  g_autoptr(RaValidation) v = ra_validate(&options, &error);
  const RaValidateResult *result;

  ck_assert_msg(v != NULL, "%s", error ? error->message : "");
  result = &g_array_index(v->results, RaValidateResult, 0);
  ck_assert_uint_eq(result->rows->len, 1);
  ck_assert_uint_eq(result->notes->len, 3);
  ck_assert_ptr_nonnull(
      strstr(result->notes->pdata[0], "no profile of GPU 'MI250X-128GB'"));
  ck_assert_ptr_nonnull(strstr(result->notes->pdata[1], "Tortoise-3B"));
  ck_assert_str_eq(result->notes->pdata[2], "2 of 3 rows are not predicted");
  remove_data(data);
}
END_TEST

/* NeMo-RL's engines of the recipes that notes name.  Beside training: 128
 * sequences of AsyncLLM, and kernels in graphs; the DAPO recipe has neither,
 * and generates 3 x 64 prompts a trip.  On GPUs of its own a new version takes
 * over what runs; weights of 8 bits where the notes say so.  The optimizer is
 * in host memory beside engines, and before 0.5 without them, too. */
START_TEST(test_engines)
{
  static const struct {
    const char *version, *placement, *notes;
    uint32_t most, trip;
    RaLaunch launch;
    RaServiceRefit service;
    gboolean fp8, swaps;
  } cases[] = {
      {"v0.5", "colocated", "recipe grpo-other-8g.yaml", 1024, 0,
       RA_LAUNCH_GRAPH, RA_SERVICE_NONE, FALSE, TRUE},
      {"v0.5", "colocated", "recipe grpo-qwen3-235b-16n8g.yaml", 128, 0,
       RA_LAUNCH_GRAPH, RA_SERVICE_NONE, FALSE, TRUE},
      {"v0.5", "colocated",
       "dynamic sampling; recipe dapo-deepseek-v3-64n8g.yaml", 1024, 192,
       RA_LAUNCH_EAGER, RA_SERVICE_NONE, FALSE, TRUE},
      {"v0.5", "async 1-off (non-colocated)", "2 GPUs generate; 2 train", 128,
       0, RA_LAUNCH_GRAPH, RA_SERVICE_IN_FLIGHT, FALSE, FALSE},
      {"v0.5", "async 1-off (non-colocated)",
       "FP8 generation and FP8 training; 2 GPUs generate; 2 train", 128, 0,
       RA_LAUNCH_GRAPH, RA_SERVICE_IN_FLIGHT, TRUE, FALSE},
      {"v0.4 (2025-12)", "async 1-off (non-colocated)",
       "2 GPUs generate; 2 train", 128, 0, RA_LAUNCH_GRAPH,
       RA_SERVICE_IN_FLIGHT, FALSE, TRUE},
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    GError *error = NULL;
    g_autofree char *text = g_strdup_printf(
        "run,attributed,NeMo-RL,%s,GRPO,"
        "Qwen/Qwen2.5-0.5B-Instruct,,4,H100-80GB,64,4,100,512,200,1024,"
        "megatron,1,1,cp1,,,vllm,1,2,0.8,%s,32,mbs 1 (sequence packing on; "
        "4096 tokens a bin x mbs),yes,full,no,no,,,,,,,,,,24,,A,%s\n",
        cases[i].version, cases[i].placement, cases[i].notes);
    char *data = make_data(text);
    g_autoptr(GArray) rows = ra_published_rows(data, &error);
    g_autoptr(RaSetup) setup =
        ra_published_setup(&g_array_index(rows, RaStepRow, 0), NULL, &error);
    const RaCallPlan *call;

    ck_assert_msg(setup != NULL, "%s", error ? error->message : "");
    call =
        &setup->plan
             ->calls[ra_workload_find_call(setup->workload, "actor_generate")];
    ck_assert_uint_eq(call->max_sequences, cases[i].most);
    ck_assert_uint_eq(setup->workload->n_trip_prompts, cases[i].trip);
    ck_assert_int_eq(call->launch, cases[i].launch);
    ck_assert_int_eq(call->service, cases[i].service);
    ck_assert_int_eq(call->dtype == 1 + RA_DTYPE_FP8, cases[i].fp8);
    call = &setup->plan
                ->calls[ra_workload_find_call(setup->workload, "actor_train")];
    ck_assert_int_eq(call->optimizer_residency == RA_RESIDENCY_HOST,
                     cases[i].swaps);
    remove_data(data);
  }
}
END_TEST

/* An agent's answer of 11,960 tokens in 59.8 turns has 200 in each; of a prompt
 * of 7,899 tokens 519 are the task, and 7,380 in 58.8 answers of tools 125.
 * Nobody generates before the tool ends: turns are no service, though the row
 * is asynchronous.  The fault: one answer and a prompt that holds the tools'. A
 * row that names its turns has as many; an answer that is none of an agent has
 * one. */
START_TEST(test_turns)
{
  static const struct {
    const char *algorithm;
    double turns;
    double response, tool, prompt;
    RaServiceRefit service;
  } cases[] = {
      {"GSPO fully async; SWE-bench agent", 59.8, 200, 125, 519,
       RA_SERVICE_NONE},
      {"GRPO SWE agent (41 turns)", 41, 292, 184, 519, RA_SERVICE_NONE},
      {"GSPO fully async", 0, 0, 0, 7899, RA_SERVICE_INTERRUPT},
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text = g_strdup_printf(
        "run,attributed,slime,2026-05,%s,Qwen/Qwen2.5-0.5B-Instruct,,16,"
        "H200-141GB,8,8,7899,,11960,16384,megatron,2,2,cp1,,,sglang,1,8,0.8,"
        "fully async; 8 train + 8 rollout GPUs; weights pushed each 5 rollouts,"
        "64,dynamic 16384 tokens/GPU,yes,full,,,,,,,,,,,,24,,A,made up\n",
        cases[i].algorithm);
    GError *error = NULL;
    char *data = make_data(text);
    g_autoptr(GArray) rows = ra_published_rows(data, &error);
    g_autoptr(RaSetup) setup =
        ra_published_setup(&g_array_index(rows, RaStepRow, 0), NULL, &error);
    const RaWorkload *w;

    ck_assert_msg(setup != NULL, "%s", error ? error->message : "");
    w = setup->workload;
    ck_assert_int_eq(ra_turns_are_set(w), cases[i].turns > 0);
    ck_assert_double_eq(ra_length_mean(&w->prompt_length), cases[i].prompt);
    ck_assert_int_eq(
        setup->plan->calls[ra_workload_find_call(w, "actor_generate")].service,
        cases[i].service);
    if (cases[i].turns > 0) {
      ck_assert_double_eq_tol(ra_length_mean(&w->turns), cases[i].turns, 0.5);
      ck_assert_double_eq(ra_length_mean(&w->response_length),
                          cases[i].response);
      ck_assert_double_eq(ra_length_mean(&w->tool_tokens), cases[i].tool);
      ck_assert_double_eq_tol(w->tool_latency.mean_s, 3.03, 1e-9);
    }
    remove_data(data);
  }
}
END_TEST

/* Engines on GPUs of their own that do not say what they take have as much of
 * them as 0.8; those beside training have the framework's 0.5.  The fault: 0.5
 * for both. */
START_TEST(test_own_engines)
{
  static const struct {
    const char *frac, *placement;
  } cases[] = {
      {"0.8", "async; 2 train + 2 rollout GPUs; staleness 0;"},
      {"", "async; 2 train + 2 rollout GPUs; staleness 0;"},
      {"0.5", "colocated"},
      {"", "colocated"},
  };
  uint64_t bytes[G_N_ELEMENTS(cases)];

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text = g_strdup_printf(
        "run,attributed,verl,2026-01,GRPO,Qwen/Qwen2.5-0.5B-Instruct,,4,"
        "H100-80GB,64,4,100,512,200,1024,fsdp,,,,,2,vllm,1,2,%s,%s,32,"
        "dynamic 8192 tokens/GPU,yes,full,no,no,10,1,2,2,,,,8,,24,,A,made up\n",
        cases[i].frac, cases[i].placement);
    GError *error = NULL;
    char *data = make_data(text);
    g_autoptr(GArray) rows = ra_published_rows(data, &error);
    g_autoptr(RaSetup) setup =
        ra_published_setup(&g_array_index(rows, RaStepRow, 0), NULL, &error);

    ck_assert_msg(setup != NULL, "%s", error ? error->message : "");
    bytes[i] =
        setup->plan
            ->calls[ra_workload_find_call(setup->workload, "actor_generate")]
            .kv_memory_bytes;
    remove_data(data);
  }
  ck_assert_uint_gt(bytes[0], 0);
  ck_assert_uint_eq(bytes[1], bytes[0]);
  ck_assert_uint_eq(bytes[3], bytes[2]);
  ck_assert_uint_lt(bytes[2], bytes[0]);
}
END_TEST

/* A prompt of 264 tokens has 81 of text, and an image of the others where the
 * row has images and the model a tower.  The faults: images of a model without
 * one, and of a row that says nothing. */
START_TEST(test_images)
{
  static const struct {
    const char *model, *notes;
    uint32_t tokens;
  } cases[] = {
      {"Qwen/Qwen2.5-VL-3B-Instruct", "images are part of the prompt", 183},
      {"Qwen/Qwen2.5-VL-3B-Instruct", "made up", 0},
      {"Qwen/Qwen2.5-0.5B-Instruct", "images are part of the prompt", 0},
  };

  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    GError *error = NULL;
    g_autofree char *text = g_strdup_printf(
        "run,attributed,verl,2026-01,GRPO,%s,,4,H100-80GB,64,4,264,512,200,"
        "1024,fsdp,,,,,4,vllm,1,4,0.5,colocated,32,dynamic 8192 tokens/GPU,yes,"
        "full,no,no,10,1,2,2,,,,8,,24,,A,%s\n",
        cases[i].model, cases[i].notes);
    char *data = make_data(text);
    g_autoptr(GArray) rows = ra_published_rows(data, &error);
    g_autoptr(RaSetup) setup =
        ra_published_setup(&g_array_index(rows, RaStepRow, 0), NULL, &error);

    ck_assert_msg(setup != NULL, "%s", error ? error->message : "");
    ck_assert_uint_eq(setup->workload->models[0].model->image_tokens,
                      cases[i].tokens);
    remove_data(data);
  }
}
END_TEST

/* A source that says of one of Megatron's runs that it recomputes says by a
 * blank of another that it does not; not one that says "no" of a third, nor of
 * runs of FSDP (the faults). */
START_TEST(test_recompute)
{
  static const struct {
    const char *source, *backend, *recompute, *wanted;
  } runs[] = {
      {"a", "megatron", "full", "full"}, {"a", "megatron", "", "none"},
      {"a", "megatron", "", "none"},     {"a", "fsdp", "", ""},
      {"b", "megatron", "", ""},         {"c", "megatron", "full", "full"},
      {"c", "megatron", "", ""},         {"c", "megatron", "no", "no"}};
  g_autoptr(GString) text = g_string_new(NULL);
  g_autoptr(GArray) rows = NULL;
  char *data;

  for (guint i = 0; i < G_N_ELEMENTS(runs); i++)
    g_string_append_printf(
        text,
        "%s,attributed,verl,2026-01,GRPO,Qwen2.5-7B,,4,H100-80GB,64,4,264,512,"
        "200,1024,%s,,,,,4,vllm,1,4,0.5,colocated,32,dynamic 8192 "
        "tokens/GPU,yes,%s,no,no,10,1,2,2,,,,8,,24,,A,\n",
        runs[i].source, runs[i].backend, runs[i].recompute);
  data = make_data(text->str);
  rows = ra_published_rows(data, NULL);
  ck_assert(rows && rows->len == G_N_ELEMENTS(runs));
  for (guint i = 0; i < rows->len; i++)
    ck_assert_str_eq(
        g_array_index(rows, RaStepRow, i).cell[RA_STEP_CELL_RECOMPUTE],
        runs[i].wanted);
  remove_data(data);
}
END_TEST

static Suite *
step_row_suite(void)
{
  Suite *suite = suite_create("step_row");
  TCase *tcase = tcase_create("step_row");

  tcase_add_test(tcase, test_micro);
  tcase_add_test(tcase, test_split);
  tcase_add_test(tcase, test_plan);
  tcase_add_test(tcase, test_link);
  tcase_add_test(tcase, test_release);
  tcase_add_test(tcase, test_engines);
  tcase_add_test(tcase, test_padding);
  tcase_add_test(tcase, test_times);
  tcase_add_test(tcase, test_state_times);
  tcase_add_test(tcase, test_level);
  tcase_add_test(tcase, test_recompute);
  tcase_add_test(tcase, test_images);
  tcase_add_test(tcase, test_turns);
  tcase_add_test(tcase, test_own_engines);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(step_row_suite)
