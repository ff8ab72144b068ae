/* Workloads: the graph that comes of a file. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/text.h"
#include "graph/input/workload.h"
#include "tests/support/check_main.h"
#include "tests/support/workload_sample.h"

START_TEST(test_good)
{
  enum { TRAIN, REF, CHECK, GENERATE };
  static const uint32_t order[] = {GENERATE, REF, TRAIN, CHECK};
  GError *error = NULL;
  RaWorkload *w = workload_from(good, &error);

  ck_assert_msg(w != NULL, "%s", error ? error->message : "");
  ck_assert_str_eq(w->algorithm, "ppo");
  ck_assert_uint_eq(w->n_models, 2);
  ck_assert_uint_eq(w->n_calls, 4);
  /* Only generation is ready at first; then ref and check, of which ref
   * stands first; then train (2 before it in the file: none) before check. */
  ck_assert_mem_eq(w->order, order, sizeof order);
  ck_assert_int_eq(w->models[0].optimizer, RA_OPTIMIZER_ADAMW);
  ck_assert_int_eq(w->models[0].dtype, RA_DTYPE_BF16);
  ck_assert_int_eq(w->models[1].optimizer, RA_OPTIMIZER_NONE);
  ck_assert_int_eq(w->models[1].dtype, RA_DTYPE_FP16);
  ck_assert_int_eq(w->models[1].model->head, RA_HEAD_VALUE);
  /* Producers. */
  ck_assert_uint_eq(w->calls[TRAIN].inputs[1].producer, GENERATE);
  ck_assert_uint_eq(w->calls[TRAIN].inputs[0].producer, REF);
  ck_assert_uint_eq(w->calls[REF].inputs[0].producer, RA_NONE);
  ck_assert_str_eq(w->calls[REF].inputs[1].data, "sequences");
  ck_assert_uint_eq(w->calls[REF].inputs[1].n_chunks, 4);
  ck_assert_uint_eq(w->calls[CHECK].inputs[0].n_chunks, 1);
  /* One set, generation's, of 96 x 2 sequences; train comes to it through
   * ref, which made its first input. */
  for (guint i = 0; i < 4; i++) {
    ck_assert_uint_eq(w->calls[i].set, GENERATE);
    ck_assert_uint_eq(w->calls[i].n_sequences, 192);
    ck_assert_uint_eq(w->calls[i].samples_per_prompt, 2);
  }
  /* ref takes 4 chunks and gives 6: lcm 12.  Its neighbours see one of the
   * two edges only. */
  ck_assert_uint_eq(w->calls[REF].n_parts, 12);
  ck_assert_uint_eq(w->calls[GENERATE].n_parts, 4);
  ck_assert_uint_eq(w->calls[TRAIN].n_parts, 6);
  ck_assert_uint_eq(w->calls[CHECK].n_parts, 1);
  ck_assert_uint_eq(w->calls[TRAIN].n_mini_batches, 24);
  ck_assert_uint_eq(w->calls[TRAIN].n_epochs, 3);
  ck_assert_uint_eq(w->calls[REF].n_mini_batches, 1);
  /* The common staleness is of generate calls of trained models. */
  ck_assert_uint_eq(w->calls[GENERATE].staleness, 1);
  ck_assert_uint_eq(w->calls[REF].staleness, 0);
  ck_assert_double_eq(w->calls[CHECK].host_s, 0.25);
  ck_assert_uint_eq(w->calls[CHECK].model, RA_NONE);
  ck_assert_uint_eq(ra_workload_find_call(w, "check"), CHECK);
  ck_assert_uint_eq(ra_workload_find_call(w, "chek"), RA_NONE);
  ck_assert_uint_eq(ra_workload_find_model(w, "ref"), 1);
  ck_assert_uint_eq(ra_workload_trainer(w, 0), TRAIN);
  ck_assert_uint_eq(ra_workload_trainer(w, 1), RA_NONE);
  ra_workload_free(w);
}
END_TEST

/* Two trained calls: the trainer is the last in topological order, which is
 * the first of the file here. */
START_TEST(test_trainer)
{
  char *text = ra_edit(good, "[call ref_inference]\n",
                       "[call warm_up]\nmodel = actor\nkind = train\n"
                       "inputs = sequences\noutputs = warm\n"
                       "[call ref_inference]\n");
  char *late = ra_edit(text, "logprobs:chunk(6),", "logprobs:chunk(6), warm,");
  RaWorkload *w = workload_from(late, NULL);

  ck_assert_ptr_nonnull(w);
  ck_assert_uint_eq(ra_workload_trainer(w, 0), 0);
  ra_workload_free(w);
  g_free(late);
  g_free(text);
}
END_TEST

START_TEST(test_dtype_bytes)
{
  ck_assert_uint_eq(ra_dtype_bytes(RA_DTYPE_BF16), 2);
  ck_assert_uint_eq(ra_dtype_bytes(RA_DTYPE_FP16), 2);
  ck_assert_uint_eq(ra_dtype_bytes(RA_DTYPE_FP32), 4);
  ck_assert_uint_eq(ra_dtype_bytes(RA_DTYPE_FP8), 1);
}
END_TEST

/* Random acyclic graphs of host calls in random file order: every producer
 * precedes its consumers, and among the calls that are ready the first of the
 * file is taken, which the test decides by its own bookkeeping. */
START_TEST(test_order_random)
{
  RaRng rng = ra_rng_init(3, 0);

  for (guint trial = 0; trial < 200; trial++) {
    guint n = 1 + (guint)ra_rng_below(&rng, 12);
    guint rank[12]; /* of each call in a hidden topological order */
    gboolean edge[12][12] = {{FALSE}};
    gboolean done[12] = {FALSE};
    GString *text =
        g_string_new("[workload]\nalgorithm = x\ndataset = p\nprompts = 1\n"
                     "prompt-length = fixed(1)\nresponse-length = fixed(1)\n");

    for (guint i = 0; i < n; i++) {
      guint j = (guint)ra_rng_below(&rng, i + 1);

      rank[i] = rank[j];
      rank[j] = i;
    }
    for (guint i = 0; i < n; i++) {
      g_string_append_printf(text,
                             "[call c%u]\nkind = host\nhost-time = 1 s\n"
                             "outputs = d%u\ninputs = p",
                             i, i);
      for (guint j = 0; j < n; j++) {
        edge[j][i] = rank[j] < rank[i] && ra_rng_below(&rng, 3) == 0;
        if (edge[j][i])
          g_string_append_printf(text, ", d%u", j);
      }
      g_string_append_c(text, '\n');
    }
    RaWorkload *w = workload_from(text->str, NULL);

    ck_assert_ptr_nonnull(w);
    for (guint at = 0; at < n; at++) {
      guint first = n;

      for (guint i = n; i-- > 0;) {
        gboolean ready = !done[i];

        for (guint j = 0; j < n; j++)
          ready = ready && (!edge[j][i] || done[j]);
        if (ready)
          first = i;
      }
      ck_assert_uint_eq(w->order[at], first);
      done[first] = TRUE;
    }
    ra_workload_free(w);
    g_string_free(text, TRUE);
  }
}
END_TEST

/* --set reaches the workload, and a message about it names the flag. */
START_TEST(test_set)
{
  RaKeyFile *file = ra_key_file_parse("x.workload", good, strlen(good), NULL);
  GError *error = NULL;
  RaWorkload *w;

  ra_key_file_set(file, "workload", "", "prompts", "48");
  w = ra_workload_load(file, &error);
  ck_assert_ptr_nonnull(w);
  ck_assert_uint_eq(w->calls[0].n_sequences, 96);
  ra_workload_free(w);
  ra_key_file_set(file, "workload", "", "prompts", "0");
  ck_assert_ptr_null(ra_workload_load(file, &error));
  ck_assert_str_eq(error->message,
                   "--set 'workload.prompts=0': 'prompts' is 0, expected an "
                   "integer in [1, 10000000]");
  g_error_free(error);
  ra_key_file_unref(file);
}
END_TEST

/* (transfer full): a shipped workload. */
static RaWorkload *
shipped(const char *name)
{
  GError *error = NULL;
  char *path = ra_share_find("workloads", name, NULL, &error);
  RaKeyFile *file = path ? ra_key_file_load(path, &error) : NULL;
  RaWorkload *w = file ? ra_workload_load(file, &error) : NULL;

  ck_assert_msg(w != NULL, "%s: %s", name, error ? error->message : "");
  ra_key_file_unref(file);
  g_free(path);
  return w;
}

/* Loads of experts, hundredths of the exponent: those of a power law unless
 * they are said to be even; even of Mixtral's few (the fault: a power law),
 * none where there are no experts. */
START_TEST(test_expert_loads)
{
  static const struct {
    const char *loads;
    guint skew;
  } cases[] = {
      {NULL, 60}, {"even", 0}, {"power-law", 60}, {"power-law-1.2", 120}};
  RaWorkload *dense = shipped("grpo-tiny.workload");
  RaWorkload *few = shipped("sft-mixtral-8x7b-32k.workload");

  ck_assert_uint_eq(dense->models[0].model->expert_skew, 0);
  ck_assert_uint_eq(few->models[0].model->expert_skew, 0);
  ra_workload_free(few);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    RaWorkload *w = shipped("grpo-qwen3-30b-a3b.workload");
    RaKeyFile *file = ra_key_file_ref(w->file);
    RaWorkload *set;

    if (cases[i].loads)
      ra_key_file_set(file, "model", "actor", "expert-loads", cases[i].loads);
    set = ra_workload_load(file, NULL);
    ck_assert_ptr_nonnull(set);
    ck_assert_uint_eq(set->models[0].model->expert_skew, cases[i].skew);
    ra_workload_free(set);
    ra_workload_free(w);
    ra_key_file_unref(file);
  }
  ra_workload_free(dense);
}
END_TEST

START_TEST(test_shipped)
{
  /* calls, trained models, sequences of the first train call: prompts times
   * samples as the files say. */
  static const struct {
    const char *name;
    guint n_calls;
    guint n_trained;
    uint32_t n_sequences;
  } all[] = {
      {"dpo-llama3-70b.workload", 2, 1, 128 * 2},
      {"grpo-qwen2.5-32b-async.workload", 5, 1, 128 * 16},
      {"grpo-qwen2.5-32b.workload", 5, 1, 128 * 16},
      {"grpo-qwen2.5-7b.workload", 5, 1, 1024 * 5},
      {"grpo-qwen3-30b-a3b.workload", 5, 1, 512 * 16},
      {"ppo-llama2-7b.workload", 6, 2, 256},
      {"ppo-llama3-70b-4k.workload", 6, 2, 4096},
      {"ppo-llama3-70b-stream.workload", 6, 2, 512},
      {"ppo-llama3-70b.workload", 6, 2, 512},
      {"remax-llama2-7b.workload", 6, 1, 512},
      {"rloo-llama3-8b.workload", 4, 1, 512 * 4},
      {"rm-llama3-8b.workload", 1, 1, 128 * 2},
      {"sft-llama3-8b.workload", 1, 1, 128},
      {"sft-mixtral-8x7b-32k.workload", 1, 1, 64},
  };

  for (guint i = 0; i < G_N_ELEMENTS(all); i++) {
    RaWorkload *w = shipped(all[i].name);
    guint n_trained = 0;

    ck_assert_uint_eq(w->n_calls, all[i].n_calls);
    for (guint m = 0; m < w->n_models; m++)
      n_trained += ra_workload_trainer(w, m) != RA_NONE;
    ck_assert_uint_eq(n_trained, all[i].n_trained);
    for (guint c = 0; c < w->n_calls; c++) {
      if (w->calls[c].kind == RA_CALL_TRAIN)
        ck_assert_uint_eq(w->calls[c].n_sequences, all[i].n_sequences);
    }
    ra_workload_free(w);
  }
}
END_TEST

/* Marks of each algorithm's graph. */
START_TEST(test_shipped_graphs)
{
  RaWorkload *w = shipped("remax-llama2-7b.workload");
  uint32_t greedy = ra_workload_find_call(w, "greedy_generate");
  uint32_t sampled = ra_workload_find_call(w, "actor_generate");

  /* Two sets of sequences; training works on the sampled one. */
  ck_assert_uint_eq(w->calls[greedy].set, greedy);
  ck_assert_uint_eq(
      w->calls[ra_workload_find_call(w, "greedy_reward_inference")].set,
      greedy);
  ck_assert_uint_eq(w->calls[ra_workload_find_call(w, "actor_train")].set,
                    sampled);
  ra_workload_free(w);

  w = shipped("dpo-llama3-70b.workload");
  /* The first call owns the set, training shares it through the edge. */
  ck_assert_uint_eq(w->calls[0].set, 0);
  ck_assert_uint_eq(w->calls[1].set, 0);
  ra_workload_free(w);

  w = shipped("ppo-llama3-70b-stream.workload");
  /* Four chunks on the edges from generation, none on those to training. */
  ck_assert_uint_eq(
      w->calls[ra_workload_find_call(w, "actor_generate")].n_parts, 4);
  ck_assert_uint_eq(
      w->calls[ra_workload_find_call(w, "reward_inference")].n_parts, 4);
  ck_assert_uint_eq(w->calls[ra_workload_find_call(w, "actor_train")].n_parts,
                    1);
  ra_workload_free(w);

  w = shipped("grpo-qwen2.5-32b-async.workload");
  ck_assert_uint_eq(
      w->calls[ra_workload_find_call(w, "actor_generate")].staleness, 1);
  ck_assert_uint_eq(
      w->calls[ra_workload_find_call(w, "actor_inference")].staleness, 0);
  ra_workload_free(w);
}
END_TEST

static Suite *
workload_suite(void)
{
  Suite *suite = suite_create("workload");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_good);
  tcase_add_test(tcase, test_trainer);
  tcase_add_test(tcase, test_dtype_bytes);
  tcase_add_test(tcase, test_order_random);
  tcase_add_test(tcase, test_set);
  tcase_add_test(tcase, test_expert_loads);
  tcase_add_test(tcase, test_shipped);
  tcase_add_test(tcase, test_shipped_graphs);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(workload_suite)
