/* The loop: this machine is calibrated, iterations are predicted, then run, and
 * the two are compared.
 *
 * The profile is of `calibrate --backend=host` alone, made before any plan ran.
 * PPO and GRPO of three model sizes run under seven plans, ranks no more than
 * cores: one rank; data, tensor and pipeline parallel; disaggregated;
 * reallocated between layouts; generation and inference tensor parallel,
 * training data parallel.  What an iteration and a call take is the median over
 * iterations after the first, of the prediction and of the runs, with the same
 * lengths in both.  Every plan is run twice, all plans of a model in turn, so
 * that what the machine does meanwhile is in each alike.
 *
 * Then the op rows of one run are added to the tables (`calibrate --from TRACE
 * --merge`), and the other plans are predicted anew; so for six runs in turn,
 * one of every model and algorithm, each of another plan.  These are taken amid
 * the runs that they are to predict: the machine's pace drifts by percents in
 * minutes, and a run of another hour would say more of that than of the ops.
 *
 * --cpu: one rank, in CPU seconds, on a machine that does other things too.
 */
#include "config.h"

#include <glib/gstdio.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/text.h"
#include "bench/figure.h"
#include "bench/loop_ops.h"
#include "bench/loop_plan.h"
#include "bench/loop_score.h"
#include "estimator/calibrate/calibrate.h"
#include "study/replay.h"
#include "study/run/execute.h"
#include "study/run/host.h"

#define RANKS_MOST 4
#define ROUNDS 2 /* runs of every plan */

/* Seconds of an iteration, with its plan. */
typedef struct {
  LoopCase c;
  LoopPair all;
} Done;

typedef struct {
  char *folder; /* of the files, owned */
  uint32_t n_ranks;
  guint n_iterations;
  gboolean quick;
  gboolean cpu;     /* one rank, in CPU seconds */
  GArray *done;     /* of Done */
  GPtrArray *ops;   /* of RaTrace, a run with its ops of each model and
                       algorithm, owned */
  RaTrace *samples; /* of the probe, owned */
  LoopScore score;
} Bench;

static void
die(const char *what, GError *error)
{
  fprintf(stderr, "loop: %s: %s\n", what, error ? error->message : "failed");
  exit(0); /* a bench says what it could not do, and that is all */
}

static RaSetup *
load(const Bench *b, const LoopCase *c, const char *profile)
{
  g_autofree char *path = loop_case_write(c, b->folder, b->n_ranks, "host");
  RaSetupFlags flags = {.profile = profile};
  GError *error = NULL;
  RaSetup *setup = ra_setup_load(path, RA_FILE_PLAN, &flags, &error);

  if (!setup)
    die(path, error);
  return setup;
}

static RaTrace *
predict(const Bench *b, const LoopCase *c, const char *profile)
{
  g_autoptr(RaSetup) setup = load(b, c, profile);
  RaReplayOptions o = {.n_iterations = b->n_iterations,
                       .fidelity = RA_FIDELITY_STAGE,
                       .unfolded = TRUE,
                       .record = TRUE};
  GError *error = NULL;
  g_autoptr(RaReplay) replay = ra_replay_new(setup, &o, &error);

  if (!replay)
    die(c->plan, error);
  return ra_replay_trace(setup, replay);
}

static RaTrace *
execute(const Bench *b, const LoopCase *c, const char *profile, gboolean ops)
{
  g_autoptr(RaSetup) setup = load(b, c, profile);
  g_autoptr(RaExecution) x = NULL;
  GError *error = NULL;
  RaRunOptions o;

  ra_run_options_init(&o);
  o.cpu_clock = b->cpu;
  o.ops = ops;
  x = ra_execute_new(setup, &o, b->n_iterations, &error);
  if (!x || !ra_execute_make(x, &error) || !ra_run_go(x->run, &error))
    die(c->plan, error);
  return ra_execution_trace(x);
}

static void
write_profile(const Bench *b, const char *path)
{
  GError *error = NULL;
  GString *text =
      ra_host_profile(b->samples, "host.samples.trace.tsv", "host", &error);

  if (!text || !ra_file_write(path, text->str, text->len, &error))
    die("calibrate", error);
  g_string_free(text, TRUE);
}

static void
print_pace(const RaTrace *samples)
{
  const char *pace = ra_trace_head(samples, RA_TRACE_WALL_PER_CPU);

  printf("# wall per second of a core, second by second: %s\n",
         pace ? pace : "-");
}

/* (transfer full): path of a profile of this machine. */
static char *
calibrate(Bench *b)
{
  RaHostOptions o = {.n_ranks = b->n_ranks, .quick = b->quick};
  char *path = g_build_filename(b->folder, "host.profile", NULL);
  gint64 begin_us = g_get_monotonic_time();
  RaHostTally tally;
  GError *error = NULL;

  b->samples = ra_host_samples(&o, NULL, &tally, &error);
  if (!b->samples)
    die("calibrate", error);
  if (b->cpu) /* and CPU seconds are what it predicts */
    ra_trace_set_head(b->samples, RA_TRACE_WALL_PER_CPU, NULL);
  else
    print_pace(b->samples);
  write_profile(b, path);
  printf("# profile: %u shapes on %u ranks in %.0f s; half of an op's repeats "
         "within %.3f of the median%s\n",
         tally.n_points, b->n_ranks,
         1e-6 * (double)(g_get_monotonic_time() - begin_us), tally.spread_frac,
         tally.spread_frac > RA_HOST_NOISE_FRAC ? ": NOISY" : "");
  return path;
}

/* The plan of group @group of plans whose ops a refit has: another in each. */
static guint
refit_plan(guint group, guint n_plans)
{
  return group % n_plans;
}

/* All plans of one model and algorithm: predicted, then run in turn, and one of
 * them with its ops, amid the others. */
static void
run_plans(Bench *b, guint size, guint algorithm, const char *profile)
{
  guint n = loop_n_plans(loop_set_host(), size, b->n_ranks);
  g_autofree LoopCase *cases = g_new0(LoopCase, n);
  g_autofree LoopPair *pairs = g_new0(LoopPair, n);
  g_autoptr(GPtrArray) sims =
      g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
  g_autoptr(GPtrArray) runs =
      g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);

  for (guint plan = 0; plan < n; plan++) {
    cases[plan] = loop_case(loop_set_host(), size, algorithm, plan);
    g_ptr_array_add(sims, loop_traces_new());
    g_ptr_array_add(runs, loop_traces_new());
    g_ptr_array_add(sims->pdata[plan], predict(b, &cases[plan], profile));
  }
  for (guint round = 0; round < (b->quick ? 1 : ROUNDS); round++)
    for (guint plan = 0; plan < n; plan++) {
      g_ptr_array_add(runs->pdata[plan],
                      execute(b, &cases[plan], profile, FALSE));
      if (round == 0 && plan == n / 2)
        g_ptr_array_add(b->ops, execute(b, &cases[refit_plan(b->ops->len, n)],
                                        profile, TRUE));
    }
  for (guint plan = 0; plan < n; plan++) {
    pairs[plan] = loop_score_plan(&b->score, &cases[plan], sims->pdata[plan],
                                  runs->pdata[plan]);
    g_array_append_vals(b->done, &(Done){cases[plan], pairs[plan]}, 1);
  }
  loop_score_order(&b->score, cases, pairs, n);
}

static void
run_all(Bench *b, const char *profile)
{
  loop_score_head();
  for (guint size = 0; size < (b->quick ? 1 : loop_n_sizes(loop_set_host()));
       size++)
    for (guint algorithm = 0;
         algorithm < (b->quick ? 1 : loop_n_algorithms(loop_set_host(), size));
         algorithm++)
      run_plans(b, size, algorithm, profile);
}

/* (transfer full): path of @profile with the ops of @run in its tables, as
 * `calibrate --from TRACE --merge` has them. */
static char *
merge(const Bench *b, const char *profile, const RaTrace *run)
{
  g_autofree char *trace = g_build_filename(b->folder, "ops.trace.tsv", NULL);
  char *path = g_build_filename(b->folder, "refit.profile", NULL);
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
  g_autoptr(GPtrArray) notes = g_ptr_array_new_with_free_func(g_free);
  g_autofree char *text = NULL;
  g_autoptr(RaCalibration) c = NULL;
  GError *error = NULL;

  if (!ra_trace_save(run, trace, &error) ||
      !ra_calibrate_trace_rows(trace, rows, NULL, notes, &error) ||
      !g_file_get_contents(profile, &text, NULL, &error))
    die("refit", error);
  c = ra_calibrate_merge_rows(profile, text, rows, "ops.trace.tsv", &error);
  if (!c || !ra_file_write(path, c->text->str, c->text->len, &error))
    die("refit", error);
  return path;
}

static void
print_ops(const Bench *b, const LoopCase *c, const char *profile,
          const RaTrace *run)
{
  g_autoptr(RaSetup) setup = load(b, c, profile);

  loop_ops_print(c, setup->estimator, run);
}

/* With the ops of @run, of plan @which, beside the probe's: what the iterations
 * of all other plans are off by, before and after; appended. */
static void
refit_one(Bench *b, guint which, const RaTrace *run, const char *profile,
          GArray *before, GArray *after)
{
  const LoopCase *one = &g_array_index(b->done, Done, which).c;
  g_autofree char *path = merge(b, profile, run);
  guint first = after->len;

  print_ops(b, one, profile, run);
  printf("# refit on the ops of %s %s %s\n"
         "model\talgorithm\tplan\trefit_s\tmeasured_s\terror_frac\n",
         one->size, one->algorithm, one->plan);
  for (guint i = 0; i < b->done->len; i++) {
    const Done *d = &g_array_index(b->done, Done, i);
    g_autoptr(GPtrArray) sim = loop_traces_new();
    double was = fabs(d->all.sim_s / d->all.run_s - 1);
    double s, is;

    if (i == which)
      continue;
    g_ptr_array_add(sim, predict(b, &d->c, path));
    s = loop_span_s(sim, NULL, b->n_iterations);
    is = fabs(s / d->all.run_s - 1);
    printf("%s\t%s\t%s\t%.4f\t%.4f\t%+.3f\n", d->c.size, d->c.algorithm,
           d->c.plan, s, d->all.run_s, s / d->all.run_s - 1);
    g_array_append_val(before, was);
    g_array_append_val(after, is);
  }
  if (after->len > first)
    printf("# median of the others: %.4f before, %.4f after\n",
           bench_median((double *)(void *)before->data + first,
                        before->len - first),
           bench_median((double *)(void *)after->data + first,
                        after->len - first));
}

/* So that the figure is not that of one choice: of every model and algorithm
 * the run of another plan, each time into the calibration as it was. */
static void
refit(Bench *b, const char *profile, double *out_before, double *out_after)
{
  guint n = loop_n_plans(loop_set_host(), 0, b->n_ranks);
  g_autoptr(GArray) before = g_array_new(FALSE, FALSE, sizeof(double));
  g_autoptr(GArray) after = g_array_new(FALSE, FALSE, sizeof(double));

  for (guint i = 0; i < b->ops->len; i++)
    refit_one(b, i * n + refit_plan(i, n), b->ops->pdata[i], profile, before,
              after);
  *out_before = loop_median(before);
  *out_after = loop_median(after);
}

static void
bench_clear(Bench *b)
{
  ra_folder_remove(b->folder);
  loop_score_clear(&b->score);
  g_array_unref(b->done);
  g_ptr_array_unref(b->ops);
  ra_trace_free(b->samples);
  g_free(b->folder);
}

static gboolean
has_flag(int argc, char **argv, const char *flag)
{
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], flag) == 0)
      return TRUE;
  return FALSE;
}

int
main(int argc, char **argv)
{
  long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
  Bench b = {.folder = g_dir_make_tmp("reallot-loop-XXXXXX", NULL),
             .n_ranks = (uint32_t)CLAMP(n_cores, 1, RANKS_MOST),
             .quick = has_flag(argc, argv, "--quick"),
             .cpu = has_flag(argc, argv, "--cpu"),
             .done = g_array_new(FALSE, FALSE, sizeof(Done)),
             .ops =
                 g_ptr_array_new_with_free_func((GDestroyNotify)ra_trace_free)};
  g_autofree char *profile = NULL;
  double before, after;

  if (!b.folder || !ra_backend_host(NULL)) {
    printf("# no CBLAS, or no folder for temporary files\n");
    return 0;
  }
  b.n_ranks = b.cpu ? 1 : b.n_ranks == 3 ? 2 : b.n_ranks;
  b.n_iterations = b.quick ? 3 : 6;
  loop_score_init(&b.score, b.n_iterations);
  profile = calibrate(&b);
  run_all(&b, profile);
  refit(&b, profile, &before, &after);
  loop_score_bars(&b.score, &(LoopBars){.iteration = 0.1, .call = 0.15});
  if (isfinite(after)) /* there were other plans */
    bench_bar("refit_error_median", after, BENCH_AT_MOST, fmax(before, 0.005));
  bench_clear(&b);
  return 0;
}
