/* reallot search: the best plan for a workload on a cluster. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "study/contest.h"

#define DEFAULT_TIME_S 20 /* four models of 70B on 128 GPUs have settled */
#define MAX_STEPS UINT64_C(1000000000000)
#define MAX_THREADS 4096

/* The flags of this command as they are typed; owned, nullable. */
typedef struct {
  char *space, *time, *steps, *prove, *seed, *threads, *curve;
  char **limits;
} Texts;

static void
texts_clear(Texts *texts)
{
  g_free(texts->space);
  g_free(texts->time);
  g_free(texts->steps);
  g_free(texts->prove);
  g_free(texts->seed);
  g_free(texts->threads);
  g_free(texts->curve);
  g_strfreev(texts->limits);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Texts, texts_clear)

static gint stop; /* atomic: set by the signal */

static void
on_interrupt(int signal_number)
{
  (void)signal_number;
  g_atomic_int_set(&stop, 1);
}

/* Ctrl-C once: the best so far; again: the end. */
static void
watch_interrupt(void)
{
  struct sigaction action = {.sa_handler = on_interrupt,
                             .sa_flags = (int)SA_RESETHAND};

  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
}

static void
show_best(double best_s, uint64_t n_steps, void *data)
{
  (void)data;
  fprintf(stderr, "\r\033[Ksearching: best %.4g s after %.3g proposals", best_s,
          (double)n_steps);
}

static gboolean
read_options(const Texts *texts, RaContestOptions *out, GError **error)
{
  static const char *const spaces[] = {"real", "full", NULL};
  uint64_t threads = 0;
  int kind = RA_SPACE_REAL;

  if (!ra_option_word("--space", texts->space, spaces, &kind, error) ||
      !ra_option_uint64("--steps", texts->steps, 1, MAX_STEPS, &out->n_steps,
                        error) ||
      !ra_option_uint64("--seed", texts->seed, 0, UINT64_MAX, &out->seed,
                        error) ||
      !ra_option_uint64("--threads", texts->threads, 1, MAX_THREADS, &threads,
                        error) ||
      !ra_option_seconds("--prove", texts->prove, &out->prove_s, error) ||
      !ra_option_file("--curve", texts->curve, error))
    return FALSE;
  out->time_limit_s = out->n_steps > 0 ? 0 : DEFAULT_TIME_S;
  if (!ra_option_seconds("--time", texts->time, &out->time_limit_s, error))
    return FALSE;
  if (out->n_steps == 0 && out->time_limit_s <= 0) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--time: expected more than 0 seconds, or --steps");
    return FALSE;
  }
  out->kind = (RaSpaceKind)kind;
  out->n_threads = (guint)threads;
  out->limits = (const char *const *)texts->limits;
  return TRUE;
}

/* --- what is printed --- */

static void
append_head(GString *out, const RaSetup *setup, const RaContest *contest,
            const RaContestOptions *options)
{
  const RaCluster *cluster = setup->cluster;

  g_string_append_printf(out, "%s on %s: %" PRIu32 " %s GPUs\n",
                         options->workload, options->cluster,
                         cluster->n_nodes * cluster->gpus_per_node,
                         cluster->gpu);
  for (guint i = 0; i < contest->n_rounds; i++) {
    const RaContestRound *round = &contest->rounds[i];

    g_string_append_printf(
        out,
        "%s: 10^%.1f plans, %.1f s to prepare their costs, %.3g proposals in "
        "%.1f s\n",
        round->name, round->log10_points, round->prepare_s,
        (double)round->found.n_steps, round->found.seconds);
  }
  if (contest->n_rounds > 1)
    g_string_append(out, "Lengths are drawn: searched as if all had the mean, "
                         "then the longest;\niteration is of drawn ones.\n");
  g_string_append_c(out, '\n');
}

/* How much the winner wins by, beside what the model is off by. */
static void
append_verdict(GString *out, const RaSetup *setup, const RaContest *contest)
{
  RaProfileError profile = ra_profile_error(setup->profile);
  uint32_t second = ra_contest_second(contest);
  const RaContender *winner;

  if (contest->winner == RA_NONE) {
    g_string_append(out, "\nNo plan fits.\n");
    return;
  }
  winner = &g_array_index(contest->contenders, RaContender, contest->winner);
  g_string_append_printf(out, "\n%s: %.4g s an iteration", winner->name,
                         winner->iteration_s);
  if (second != RA_NONE) {
    const RaContender *other =
        &g_array_index(contest->contenders, RaContender, second);
    g_string_append_printf(out, ", %.3g %% less than %s",
                           100 * (1 - winner->iteration_s / other->iteration_s),
                           other->name);
  }
  g_string_append_c(out, '\n');
  if (profile.n_measured > 0)
    g_string_append_printf(
        out,
        "The laws behind it are off by %.1f to %.1f %% (median, data not "
        "fitted).\n",
        100 * profile.least_frac, 100 * profile.most_frac);
}

/* What branch and bound says, of the times in the tables. */
static void
append_certificate(GString *out, const RaContest *contest)
{
  const RaExactResult *e = &contest->rounds[0].exact;

  if (!contest->rounds[0].bounded)
    return;
  if (e->found && e->is_proven)
    g_string_append_printf(out,
                           "Proven in %.3g s: no plan of this space is quicker "
                           "at call fidelity.\n",
                           e->seconds);
  else if (e->found)
    g_string_append_printf(out,
                           "No plan of this space is more than %.3g %% quicker "
                           "at call fidelity.\n",
                           100 * (1 - e->bound_s / e->score.run_s));
}

static gboolean
print_text(const RaSetup *setup, const RaContest *contest,
           const RaContestOptions *options, const RaTable *table,
           GError **error)
{
  g_autoptr(GString) out = g_string_new(NULL);

  append_head(out, setup, contest, options);
  ra_table_write(table, RA_FORMAT_TEXT, out);
  append_verdict(out, setup, contest);
  append_certificate(out, contest);
  return ra_output_print(out->str, out->len, error);
}

/* The plan with what is predicted of it on top. */
static gboolean
write_plan(const char *path, const RaContest *contest, const char *command,
           GError **error)
{
  const RaContender *c =
      &g_array_index(contest->contenders, RaContender, contest->winner);
  g_autoptr(GString) text = g_string_new(command);

  g_string_append_printf(
      text,
      "# %s: %.6g s an iteration, %.6g tokens/s, peak %.4g GiB of a GPU, by\n"
      "# simulation at stage fidelity.\n",
      c->name, c->iteration_s, c->tokens_per_s,
      c->peak_bytes / (1024.0 * 1024 * 1024));
  g_string_append(text, c->text);
  return ra_output_write(path, text->str, text->len, error);
}

static gboolean
write_curve(const char *path, const RaContest *contest, GError **error)
{
  g_autoptr(RaTable) curve = ra_contest_curve(contest);
  g_autoptr(GString) text = g_string_new(NULL);

  ra_table_write(curve, RA_FORMAT_TSV, text);
  return ra_output_write(path, text->str, text->len, error);
}

/* How the plan came about, as comments. */
static char *
command_of(const RaOptions *options, const Texts *texts,
           const RaContestOptions *contest)
{
  g_autoptr(GString) out = g_string_new(NULL);

  g_string_append_printf(out,
                         "Written by: reallot search --workload=%s "
                         "--cluster=%s --seed=%" PRIu64,
                         contest->workload, contest->cluster, contest->seed);
  if (texts->space)
    g_string_append_printf(out, " --space=%s", texts->space);
  if (texts->steps)
    g_string_append_printf(out, " --steps=%s", texts->steps);
  for (guint i = 0; texts->limits && texts->limits[i]; i++)
    g_string_append_printf(out, " --limit=%s", texts->limits[i]);
  for (guint i = 0; options->sets && options->sets[i]; i++)
    g_string_append_printf(out, " --set '%s'", options->sets[i]);
  g_strdelimit(out->str, "\t\r\n", ' ');
  g_string_prepend(out, "# ");
  g_string_append_c(out, '\n');
  return g_string_free(g_steal_pointer(&out), FALSE);
}

/* --- all of it --- */

static int
search(const RaOptions *options, const Texts *texts, RaContestOptions *contest,
       GError **error)
{
  RaSetupFlags flags = ra_options_setup(options);
  const char *output =
      g_strcmp0(options->output, "-") == 0 ? NULL : options->output;
  g_autoptr(RaSetup) setup = ra_setup_load_pair(&flags, error);
  g_autofree char *workload = NULL, *cluster = NULL, *system = NULL;
  g_autofree char *command = NULL;
  g_autoptr(RaContest) result = NULL;
  g_autoptr(RaTable) table = NULL;
  gboolean ok;

  if (!setup)
    return 0;
  workload = ra_setup_name_in_plan("workloads", setup->workload_path, output);
  cluster = ra_setup_name_in_plan("clusters", setup->cluster_path, output);
  if (setup->system_path)
    system = ra_setup_name_in_plan("systems", setup->system_path, output);
  contest->workload = workload;
  contest->cluster = cluster;
  contest->system = system;
  contest->stop = &stop;
  if (isatty(STDERR_FILENO))
    contest->progress = show_best;
  watch_interrupt();
  result = ra_contest_new(setup, &flags, contest, error);
  if (contest->progress)
    fputs("\r\033[K", stderr);
  if (!result)
    return 0;
  table = ra_contest_table(result);
  command = command_of(options, texts, contest);
  if ((options->output && result->winner != RA_NONE &&
       !write_plan(options->output, result, command, error)) ||
      (texts->curve && !write_curve(texts->curve, result, error)))
    return 0;
  if (options->format == RA_FORMAT_TEXT) {
    ok = print_text(setup, result, contest, table, error);
  } else {
    g_autoptr(GPtrArray) tables = g_ptr_array_new();
    g_ptr_array_add(tables, table);
    ok = ra_output_tables(tables, options->format, error);
  }
  return ok && result->winner == RA_NONE ? 1 : 0;
}

static int
run(int argc, char **argv, GError **error)
{
  g_auto(RaOptions) options = RA_OPTIONS_INIT;
  g_auto(Texts) texts = {.space = NULL};
  RaContestOptions contest = {.n_iterations = 3};
  const GOptionEntry own[] = {
      {"space", 0, 0, G_OPTION_ARG_FILENAME, &texts.space,
       "Candidates of a call: ReaL's, or all of ours (real)", "real|full"},
      {"limit", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &texts.limits,
       "What a call may have: mesh, gpus, tp, dp, pp ...; may be repeated",
       "CALL.KEY=VALUE[,VALUE]"},
      {"time", 0, 0, G_OPTION_ARG_FILENAME, &texts.time,
       "How long to search (20 s)", "SECONDS"},
      {"steps", 0, 0, G_OPTION_ARG_FILENAME, &texts.steps,
       "Proposals of each chain instead: the same result on any machine", "N"},
      {"prove", 0, 0, G_OPTION_ARG_FILENAME, &texts.prove,
       "Then search exactly, at most so long, for a bound", "SECONDS"},
      {"seed", 0, 0, G_OPTION_ARG_FILENAME, &texts.seed,
       "Of the chains and of sampled lengths (0)", "N"},
      {"threads", 0, 0, G_OPTION_ARG_FILENAME, &texts.threads,
       "Of the search (as many as processors)", "N"},
      {"curve", 0, 0, G_OPTION_ARG_FILENAME, &texts.curve,
       "Write how the best time fell, as TSV", "FILE"},
      {.long_name = NULL}};

  if (!ra_options_parse(&options, &ra_command_search, own, argc, argv, error) ||
      options.help || !read_options(&texts, &contest, error))
    return 0;
  if (!options.workload || !options.cluster) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "expected 'reallot search --workload=FILE --cluster=FILE'");
    return 0;
  }
  return search(&options, &texts, &contest, error);
}

const RaCommand ra_command_search = {
    .name = "search",
    .arguments = "--workload=FILE --cluster=FILE",
    .summary = "Find the best plan, beside those of the placement families",
    .details =
        "The plan goes to --output, the table of all plans to standard output; "
        "the exit\n"
        "status is 1 if none fits.  Ctrl-C ends the search with the best plan "
        "so far.\n"
        "\n"
        "Examples:\n"
        "  reallot search --workload=ppo-llama3-70b.workload \\\n"
        "    --cluster=h100-16n.cluster -o best.plan\n"
        "  reallot search --workload=ppo-llama2-7b.workload "
        "--cluster=h100-1n.cluster \\\n"
        "    --space=real --prove=60 --limit=actor_train.tp=4,8\n",
    .groups = RA_OPTIONS_FORMAT | RA_OPTIONS_OUTPUT | RA_OPTIONS_SETUP,
    .n_files = 0,
    .run = run,
};
