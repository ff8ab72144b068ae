/* The loop on a GPU: it is calibrated, iterations are predicted, then run, and
 * the two are compared.
 *
 *   bench/loop_gpu [--program=PATH] [--profile=FILE] [--gpu=CLASS] [--gpus=N]
 *                  [--seconds=N] [--tiny] [--quick]
 *
 * By commands, as people would: `reallot-cuda calibrate --backend=cuda --quick`
 * (not with --profile), `reallot simulate` with that profile, `reallot-cuda run
 * --backend=cuda`.  GRPO and PPO of three model sizes, on one rank, with states
 * in host memory, and on 2 to 8 ranks: each with a GPU of its own over NCCL
 * where there are so many (--gpus), else all on one.  --seconds: no run begins
 * later.  --tiny: for a device that is emulated.
 *
 * Ranks that share a GPU are predicted to take as long, together, as their
 * computing, copies and messages take one after the other: a GPU does one thing
 * at a time, and there is nearly always one that some rank can do.  That is
 * printed, and counted for no bar, as it is the rule's error too; their peaks
 * of memory are as any.
 *
 * Of one run ops are recorded, by the device's events, and held against the
 * profile kind by kind.
 *
 * Bars are issue 9's.  Exit status 1: a plan did not run.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/folder.h"
#include "bench/figure.h"
#include "bench/loop_command.h"
#include "bench/loop_ops.h"
#include "bench/loop_score.h"
#include "study/setup.h"

#define RANKS_MOST 8

typedef struct {
  const char *program; /* with a GPU */
  const char *gpu;     /* class of the plans' cluster */
  const LoopSet *set;
  uint32_t n_gpus;    /* that ranks may have each of its own */
  double end_s;       /* no run begins later */
  gboolean quick;     /* one size, one algorithm */
  char *folder;       /* of the files, owned */
  char *profile;      /* owned */
  guint n_iterations; /* of a prediction and of a run */
  guint n_failed;     /* plans */
  guint n_left;       /* plans that there was no time for */
  GArray *shared;     /* of double: errors of those whose ranks share a GPU */
  LoopScore score;
} Bench;

/* A plan that a smaller GPU has no room for is none of its failures. */
static void
fail(Bench *b, const char *what, GError *error)
{
  if (g_error_matches(error, RA_ERROR, RA_ERROR_NEGATIVE)) {
    printf("# left out: %s: %s\n", what, error->message);
    g_error_free(error);
    return;
  }
  printf("FAILED: %s: %s\n", what, error ? error->message : "no output");
  g_clear_error(&error);
  b->n_failed++;
}

static gboolean
calibrate(Bench *b)
{
  double begin_s = bench_wall_s();
  GError *error = NULL;
  g_autofree char *said = NULL;

  b->profile = g_build_filename(b->folder, "mine.profile", NULL);
  said = loop_command_run(loop_command_new(b->program, "calibrate",
                                           "--backend=cuda", "--quick", "-o",
                                           b->profile, NULL),
                          &error);
  if (!said) {
    fail(b, "calibrate", error);
    return FALSE;
  }
  printf("# profile in %.0f s\n", bench_wall_s() - begin_s);
  return TRUE;
}

/* TRUE if its ranks have no GPU each. */
static gboolean
is_shared(const Bench *b, const LoopCase *c)
{
  uint32_t n = loop_case_ranks(c, RANKS_MOST);

  return n > 1 && n > b->n_gpus;
}

/* (nullable) (transfer full) */
static RaTrace *
predict(const Bench *b, const LoopCase *c, GError **error)
{
  g_autofree char *plan = loop_case_write(c, b->folder, RANKS_MOST, b->gpu);
  g_autofree char *n = g_strdup_printf("%u", b->n_iterations);

  return loop_command_trace(loop_command_new(b->program, "simulate", plan,
                                             "--profile", b->profile,
                                             "--no-fold", "-n", n, NULL),
                            b->folder, NULL, error);
}

/* (nullable) (transfer full) */
static RaTrace *
execute(const Bench *b, const LoopCase *c, gboolean ops, char **out_said,
        GError **error)
{
  g_autofree char *plan = loop_case_write(c, b->folder, RANKS_MOST, b->gpu);
  g_autofree char *n = g_strdup_printf("%u", ops ? 2 : b->n_iterations);
  LoopCommand *command = loop_command_new(b->program, "run", plan,
                                          "--backend=cuda", "-n", n, NULL);

  if (!is_shared(b, c) && loop_case_ranks(c, RANKS_MOST) > 1)
    loop_command_add(command, "--communicator=nccl", "--stall", "60", NULL);
  if (ops)
    loop_command_add(command, "--ops", NULL);
  return loop_command_trace(command, b->folder, out_said, error);
}

/* ---- What is compared ----------------------------------------------------
 */

static guint
n_gpus_of(const RaTraceRow *row)
{
  g_autoptr(GArray) ranges = g_array_new(FALSE, FALSE, sizeof(guint32));
  guint n = 0;

  if (!ra_ranks_parse(row->ranks, ranges, NULL))
    return 0;
  for (guint i = 0; i < ranges->len; i += 2)
    n += g_array_index(ranges, guint32, i + 1) -
         g_array_index(ranges, guint32, i) + 1;
  return n;
}

/* Seconds of an iteration if GPUs and host did everything one after the other:
 * the mean over the iterations after the first. */
static double
busy_s(const RaTrace *sim, guint n_iterations)
{
  double sum_s = 0;

  for (guint i = 0; i < ra_trace_n_rows(sim); i++) {
    const RaTraceRow *row = ra_trace_row(sim, i);

    if (row->iteration > 0)
      sum_s += (row->end_s - row->begin_s) * MAX(n_gpus_of(row), 1u);
  }
  return sum_s / MAX(n_iterations - 1, 1u);
}

static void
score_shared(Bench *b, const LoopCase *c, const GPtrArray *sim,
             const GPtrArray *run)
{
  LoopPair pair = {busy_s(sim->pdata[0], b->n_iterations),
                   loop_span_s(run, NULL, b->n_iterations)};
  double error = fabs(pair.sim_s / pair.run_s - 1);

  printf("%s\t%s\t%s\tshared_iteration\t%.4f\t%.4f\t%+.3f\n", c->size,
         c->algorithm, c->plan, pair.sim_s, pair.run_s,
         pair.sim_s / pair.run_s - 1);
  g_array_append_val(b->shared, error);
}

/* The number behind @words in @text; 0: there is none. */
static double
number_behind(const char *text, const char *words)
{
  const char *at = strstr(text, words);

  return at ? g_ascii_strtod(at + strlen(words), NULL) : 0;
}

/* Scores the peak that a run prints at its end: the need that was predicted for
 * its fullest rank, and what it took. */
static void
score_peak(Bench *b, const LoopCase *c, const char *said)
{
  double sim_gib = number_behind(said, "largest rank: predicted ");
  double run_gib = number_behind(said, " GiB, used ");

  if (run_gib > 0)
    loop_score_peak(&b->score, c, sim_gib, run_gib);
}

/* ---- Plans ---------------------------------------------------------------
 */

/* Returns: TRUE if @c has a row of its own among those that have an order, then
 * @out_pair. */
static gboolean
run_plan(Bench *b, const LoopCase *c, LoopPair *out_pair)
{
  g_autofree char *said = NULL;
  g_autofree char *name =
      g_strdup_printf("%s %s %s", c->size, c->algorithm, c->plan);
  g_autoptr(GPtrArray) sims = loop_traces_new();
  g_autoptr(GPtrArray) runs = loop_traces_new();
  GError *error = NULL;
  RaTrace *sim, *run;

  if (bench_wall_s() > b->end_s) {
    b->n_left++;
    return FALSE;
  }
  sim = predict(b, c, &error);
  run = sim ? execute(b, c, FALSE, &said, &error) : NULL;
  if (sim)
    g_ptr_array_add(sims, sim);
  if (!run) {
    fail(b, name, error);
    return FALSE;
  }
  g_ptr_array_add(runs, run);
  score_peak(b, c, said);
  if (is_shared(b, c)) {
    score_shared(b, c, sims, runs);
    return FALSE;
  }
  *out_pair = loop_score_plan(&b->score, c, sims, runs);
  return TRUE;
}

static void
run_plans(Bench *b, guint size, guint algorithm)
{
  guint n = loop_n_plans(b->set, size, RANKS_MOST), n_ordered = 0;
  g_autofree LoopCase *cases = g_new0(LoopCase, n);
  g_autofree LoopPair *pairs = g_new0(LoopPair, n);

  for (guint plan = 0; plan < n; plan++) {
    LoopCase c = loop_case(b->set, size, algorithm, plan);

    if (run_plan(b, &c, &pairs[n_ordered]))
      cases[n_ordered++] = c;
  }
  loop_score_order(&b->score, cases, pairs, n_ordered);
}

/* Prints the ops of the first plan. */
static void
print_ops(Bench *b)
{
  LoopCase c = loop_case(b->set, 0, 0, 0);
  g_autofree char *plan = loop_case_write(&c, b->folder, RANKS_MOST, b->gpu);
  RaSetupFlags flags = {.profile = b->profile};
  g_autoptr(RaSetup) setup = NULL;
  g_autoptr(RaTrace) run = NULL;
  GError *error = NULL;

  if (bench_wall_s() > b->end_s) {
    b->n_left++;
    return;
  }
  setup = ra_setup_load(plan, RA_FILE_PLAN, &flags, &error);
  run = setup ? execute(b, &c, TRUE, NULL, &error) : NULL;
  if (!run)
    fail(b, "ops", error);
  else
    loop_ops_print(&c, setup->estimator, run);
}

static void
run_all(Bench *b)
{
  loop_score_head();
  for (guint size = 0; size < (b->quick ? 1 : loop_n_sizes(b->set)); size++)
    for (guint algorithm = 0;
         algorithm < (b->quick ? 1 : loop_n_algorithms(b->set, size));
         algorithm++)
      run_plans(b, size, algorithm);
  print_ops(b);
}

/* ---- The command ---------------------------------------------------------
 */

typedef struct {
  char *program, *profile, *gpu;
  int n_gpus, seconds;
  gboolean tiny, quick;
} Options;

static gboolean
parse(int *argc, char ***argv, Options *o)
{
  GOptionEntry entries[] = {{"program", 0, 0, G_OPTION_ARG_FILENAME,
                             &o->program, "reallot with a GPU", "PATH"},
                            {"profile", 0, 0, G_OPTION_ARG_FILENAME,
                             &o->profile, "of this GPU; else it is calibrated",
                             "FILE"},
                            {"gpu", 0, 0, G_OPTION_ARG_STRING, &o->gpu,
                             "its class (h100-sxm)", "CLASS"},
                            {"gpus", 0, 0, G_OPTION_ARG_INT, &o->n_gpus,
                             "that ranks may have each of its own (1)", "N"},
                            {"seconds", 0, 0, G_OPTION_ARG_INT, &o->seconds,
                             "after which no run begins", "N"},
                            {"tiny", 0, 0, G_OPTION_ARG_NONE, &o->tiny,
                             "models of a toy's size", NULL},
                            {"quick", 0, 0, G_OPTION_ARG_NONE, &o->quick,
                             "one size, one algorithm", NULL},
                            {NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL}};
  GOptionContext *context = g_option_context_new(NULL);
  GError *error = NULL;
  gboolean ok;

  g_option_context_add_main_entries(context, entries, NULL);
  ok = g_option_context_parse(context, argc, argv, &error);
  g_option_context_free(context);
  if (ok && *argc == 1 && o->n_gpus >= 1 && o->seconds >= 1)
    return TRUE;
  fprintf(stderr, "loop_gpu: %s\n",
          error ? error->message : "expected options alone (--help)");
  g_clear_error(&error);
  return FALSE;
}

int
main(int argc, char **argv)
{
  Options o = {.n_gpus = 1, .seconds = 3600};
  Bench b = {.folder = g_dir_make_tmp("reallot-loop-XXXXXX", NULL),
             .shared = g_array_new(FALSE, FALSE, sizeof(double))};

  if (!b.folder || !parse(&argc, &argv, &o))
    return 2;
  setvbuf(stdout, NULL, _IOLBF, 0); /* of a run that is cut, what is done */
  b.program = o.program ? o.program : "./reallot-cuda";
  b.gpu = o.gpu ? o.gpu : "h100-sxm";
  b.set = o.tiny ? loop_set_tiny() : loop_set_gpu();
  b.n_gpus = (uint32_t)o.n_gpus;
  b.end_s = bench_wall_s() + o.seconds;
  b.quick = o.quick;
  b.n_iterations = o.tiny ? 2 : 5;
  b.profile = g_strdup(o.profile);
  loop_score_init(&b.score, b.n_iterations);
  if (b.profile || calibrate(&b))
    run_all(&b);
  if (b.shared->len > 0)
    printf("# ranks that share a GPU: median error %.4f of %u plans\n",
           loop_median(b.shared), b.shared->len);
  if (b.n_left > 0)
    printf("# %u plans left out: %d s are over\n", b.n_left, o.seconds);
  loop_score_bars(&b.score,
                  &(LoopBars){.iteration = 0.06, .call = 0.1, .peak = 0.03});
  loop_score_clear(&b.score);
  g_array_unref(b.shared);
  ra_folder_remove(b.folder);
  g_free(b.folder);
  g_free(b.profile);
  g_free(o.program);
  g_free(o.profile);
  g_free(o.gpu);
  return b.n_failed > 0;
}
