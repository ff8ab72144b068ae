#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/text.h"
#include "study/replay.h"
#include "study/run/execute.h"
#include "study/run/gpu_profile.h"
#include "tests/device/idle_gpu.h"
#include "tests/support/check_main.h"
#include "tests/support/profile_text.h"

/* The loop on a GPU whose time is made up (tests/device/idle_gpu.h) by a
 * profile that is the truth: what a plan is predicted to take with that
 * profile, and with launches as calibrate measures them there, is what the run
 * of it takes there. So whatever the executor does beside the ops of the graph,
 * or begins in more launches than the prediction has, shows.  (That calibrate
 * finds the truth of ops is tests/study/check_calibrate_gpu.c's.)
 *
 * One call may differ by BOUND: passes begin with copies of their tokens and
 * end with one of what they made, some 30 us of passes of 1 ms; a step of
 * generation is told its words, checks its logits and draws, some 2 launches of
 * 95.
 */
#define TRUTH "h100-sxm"
#define BOUND 0.04

/* A run in CPU seconds has the clock of the GPU's host. */
int
clock_gettime(clockid_t clock, struct timespec *t)
{
  double s = idle_gpu_now_s();

  if (clock != CLOCK_PROCESS_CPUTIME_ID)
    return (int)syscall(SYS_clock_gettime, clock, t);
  t->tv_sec = (time_t)s;
  t->tv_nsec = (long)((s - floor(s)) * 1e9);
  return 0;
}

static const char *const files[][2] = {
    {"m.json", "{\"model_type\": \"llama\", \"hidden_size\": 512,\n"
               " \"intermediate_size\": 1536, \"num_hidden_layers\": 8,\n"
               " \"num_attention_heads\": 4, \"num_key_value_heads\": 4,\n"
               " \"head_dim\": 128, \"vocab_size\": 8192,\n"
               " \"max_position_embeddings\": 2048}\n"},
    {"w.workload",
     "[workload]\nalgorithm = grpo\ndataset = prompts\nprompts = 2\n"
     "samples-per-prompt = 2\nprompt-length = uniform(1000, 1000)\n"
     "response-length = uniform(24, 24)\n"
     "[model actor]\nconfig = m.json\ndtype = bf16\ntrainable = true\n"
     "[model ref]\nconfig = m.json\ndtype = bf16\n"
     "[call actor_generate]\nmodel = actor\nkind = generate\n"
     "inputs = prompts\noutputs = sequences, logprobs\n"
     "[call ref_inference]\nmodel = ref\nkind = inference\n"
     "inputs = sequences\noutputs = ref_logprobs\n"
     "[call reward]\nkind = host\nhost-time = 0.001 ms\n"
     "inputs = sequences\noutputs = rewards\n"
     "[call actor_train]\nmodel = actor\nkind = train\n"
     "inputs = sequences, logprobs, ref_logprobs, rewards\n"},
    {"c.cluster", "[cluster]\nnodes = 1\ngpus-per-node = 1\ngpu = " TRUTH "\n"
                  "framework-memory = 0 B\nallocator-slack = 0\n"},
    {"p.plan", "[plan]\nworkload = w.workload\ncluster = c.cluster\n"
               "[call actor_generate]\nmesh = node0:gpu[0]\nlaunch = eager\n"
               "[call ref_inference]\nmesh = node0:gpu[0]\n"
               "[call actor_train]\nmesh = node0:gpu[0]\n"
               "grad-dtype = fp32\n"},
};

/* Folder of the files, with @profile as mine.profile. */
static char *
write_files(const char *profile)
{
  char *folder = g_dir_make_tmp("reallot-loop-gpu-XXXXXX", NULL);

  for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
    g_autofree char *path = g_build_filename(folder, files[i][0], NULL);

    ck_assert(g_file_set_contents(path, files[i][1], -1, NULL));
  }
  g_autofree char *path = g_build_filename(folder, "mine.profile", NULL);

  ck_assert(g_file_set_contents(path, profile, -1, NULL));
  return folder;
}

static const char *const keys[] = {"eager-launch-s", "graph-launch-s",
                                   "graph-gap-s"};

/* Host seconds, by calibrate, to begin an op, and graphs of ops. */
typedef struct {
  double s[G_N_ELEMENTS(keys)];
} Launches;

static Launches
measured_launches(const IdleGpu *gpu, const RaProfile *truth)
{
  const RaGpuOptions o = {.machine = &gpu->machine,
                          .name = "an idle GPU",
                          .software = "nothing",
                          .command = "a test",
                          .base = truth,
                          .quick = TRUE,
                          .n_most = 1};
  RaSampleTally tally;
  g_autoptr(RaTrace) samples = ra_gpu_samples(&o, NULL, &tally, NULL);
  Launches l;

  ck_assert_ptr_nonnull(samples);
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
    ck_assert(ra_text_double(ra_trace_head(samples, keys[i]), &l.s[i]));
  return l;
}

/* The truth's text with launches of @l. */
static char *
profile_of(const Launches *l)
{
  g_autofree char *path =
      g_strdup_printf("%s/traces/profiles/" TRUTH ".profile",
                      g_getenv("srcdir") ? g_getenv("srcdir") : ".");
  g_autofree char *text = NULL;

  ck_assert(g_file_get_contents(path, &text, NULL, NULL));
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++) {
    g_autofree char *pattern = g_strdup_printf("^%s = .*$", keys[i]);
    g_autofree char *wanted = g_strdup_printf("%s = %.6g", keys[i], l->s[i]);
    g_autoptr(GRegex) line = g_regex_new(pattern, G_REGEX_MULTILINE, 0, NULL);
    char *now = g_regex_replace_literal(line, text, -1, 0, wanted, 0, NULL);

    g_free(text);
    text = now;
  }
  return g_steal_pointer(&text);
}

/* Generation of the plan in @folder is launched by @launch. */
static RaSetup *
load(const char *folder, const char *launch)
{
  g_autofree char *plan = g_build_filename(folder, "p.plan", NULL);
  g_autofree char *profile = g_build_filename(folder, "mine.profile", NULL);
  g_autofree char *set =
      g_strdup_printf("call actor_generate.launch=%s", launch);
  const char *sets[] = {set, NULL};
  const RaSetupFlags flags = {.profile = profile, .sets = sets};
  GError *error = NULL;
  RaSetup *setup = ra_setup_load(plan, RA_FILE_PLAN, &flags, &error);

  ck_assert_msg(setup != NULL, "%s", error ? error->message : "");
  return setup;
}

static RaTrace *
predict(const RaSetup *setup)
{
  const RaReplayOptions o = {.n_iterations = 2,
                             .fidelity = RA_FIDELITY_STAGE,
                             .unfolded = TRUE,
                             .record = TRUE};
  g_autoptr(RaReplay) replay = ra_replay_new(setup, &o, NULL);

  ck_assert_ptr_nonnull(replay);
  return ra_replay_trace(setup, replay);
}

static RaTrace *
execute(const RaSetup *setup, const IdleGpu *gpu)
{
  const RaAccelerator device = {.backend = gpu->machine.backend,
                                .name = "an idle GPU",
                                .software = "nothing",
                                .memory_bytes = (guint64)80 << 30,
                                .probe = &gpu->machine};
  g_autoptr(RaExecution) x = NULL;
  GError *error = NULL;
  RaRunOptions o;

  ra_run_options_init(&o);
  o.backend = device.backend;
  o.accelerator = &device;
  o.cpu_clock = TRUE;
  x = ra_execute_new(setup, &o, 2, &error);
  ck_assert_msg(x && ra_execute_make(x, &error) && ra_run_go(x->run, &error),
                "%s", error ? error->message : "");
  return ra_execution_trace(x);
}

/* Span of @call in the second iteration: its first task's begin to its last's
 * end. */
static double
span_s(const RaTrace *trace, const char *call)
{
  double begin_s = (double)INFINITY, end_s = 0;

  for (guint i = 0; i < ra_trace_n_rows(trace); i++) {
    const RaTraceRow *row = ra_trace_row(trace, i);

    if (row->iteration != 1 || strcmp(row->call, call) != 0)
      continue;
    begin_s = fmin(begin_s, row->begin_s);
    end_s = fmax(end_s, row->end_s);
  }
  return end_s - begin_s;
}

static const struct {
  const char *call;   /* that shows it; NULL: no fault, all calls agree */
  const char *launch; /* of generation */
  const char *run;    /* of that of the run; NULL: the same */
  RaOpKind odd_op;    /* another in the run than in calibrate */
} cases[] = {{NULL, "eager", NULL, RA_N_OPS},
             {NULL, "graph", NULL, RA_N_OPS},
             {"actor_train", "eager", NULL, RA_OP_GEMM},
             {"actor_train", "eager", NULL, RA_OP_OPTIMIZER},
             {"actor_generate", "graph", "eager", RA_N_OPS}};

START_TEST(test_loop)
{
  static const char *const calls[] = {"actor_generate", "ref_inference",
                                      "actor_train"};
  RaProfile *truth = profile_text_shipped(TRUTH);
  IdleGpu *gpu = idle_gpu_new(truth);
  Launches launches = measured_launches(gpu, truth);
  g_autofree char *text = profile_of(&launches);
  g_autofree char *folder = write_files(text);
  const char *launch = cases[_i].launch;
  g_autoptr(RaSetup) setup = load(folder, launch);
  g_autoptr(RaSetup) other =
      load(folder, cases[_i].run ? cases[_i].run : launch);
  g_autoptr(RaTrace) sim = NULL;
  g_autoptr(RaTrace) run = NULL;

  gpu->odd_op = cases[_i].odd_op;
  gpu->odd = 1.5;
  sim = predict(setup);
  run = execute(other, gpu);
  for (guint i = 0; i < G_N_ELEMENTS(calls); i++) {
    double sim_s = span_s(sim, calls[i]);
    double run_s = span_s(run, calls[i]), off = sim_s / run_s - 1;
    gboolean shows = g_strcmp0(cases[_i].call, calls[i]) == 0;

    fprintf(stderr, "# %s: %g, %g: %+.4f\n", calls[i], sim_s, run_s, off);
    if (shows)
      ck_assert_double_gt(fabs(off), BOUND);
    else if (!cases[_i].call)
      ck_assert_double_le(fabs(off), BOUND);
  }
  ra_folder_remove(folder);
  idle_gpu_free(gpu);
  ra_profile_free(truth);
}
END_TEST

/* The 11 ops of a layer's decode step, as exec/backend/backend_cuda.c begins
 * them: two norms, four products, rotary positions with the cache's new rows,
 * attention, an activation, two sums: 11 launches. */
START_TEST(test_launches)
{
  RaProfile *truth = profile_text_shipped(TRUTH);
  IdleGpu *gpu = idle_gpu_new(truth);

  Launches l = measured_launches(gpu, truth);

  ck_assert_double_eq_tol(l.s[0], 11.0 / 11 * IDLE_EAGER_S, 1e-10);
  ck_assert_double_eq_tol(l.s[1], IDLE_GRAPH_S, 1e-10);
  ck_assert_double_eq_tol(l.s[2], 11.0 / 11 * IDLE_GAP_S, 1e-12);
  idle_gpu_free(gpu);
  ra_profile_free(truth);
}
END_TEST

static Suite *
loop_gpu_suite(void)
{
  Suite *suite = suite_create("loop_gpu");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 300);
  tcase_add_test(tcase, test_launches);
  tcase_add_loop_test(tcase, test_loop, 0, G_N_ELEMENTS(cases));
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(loop_gpu_suite)
