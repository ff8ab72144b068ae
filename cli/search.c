/* reallot search: the best plan for a workload on a cluster. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/quote.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/search_report.h"
#include "cli/world.h"
#include "study/contest/rejected.h"
#include "study/convert/export.h"
#include "study/plot/convergence.h"
#include "study/sweep/deal.h"

/* Four models of 70B on 128 GPUs have settled after 4 s of chains, and their
 * strategies and layouts are prepared before. */
#define DEFAULT_TIME_S 10
/* The share of the time, without the final. */
#define BEFORE_FINAL_FRAC 0.8
#define MAX_STEPS UINT64_C(1000000000000)
#define MAX_THREADS 4096
#define DEFAULT_TOP 3
#define MAX_TOP 100
#define MAX_DRAWS 1000

/* The flags of this command as they are typed; owned, nullable. */
typedef struct {
  char *space, *time, *steps, *prove, *seed, *threads, *curve;
  char *target, *objective, *within, *nodes, *top, *draws, *plot, *launch,
      *rejected;
  char *pins;
  char **limits;
  gboolean explain, no_cache;
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
  g_free(texts->target);
  g_free(texts->objective);
  g_free(texts->within);
  g_free(texts->nodes);
  g_free(texts->top);
  g_free(texts->draws);
  g_free(texts->plot);
  g_free(texts->launch);
  g_free(texts->rejected);
  g_free(texts->pins);
  g_strfreev(texts->limits);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Texts, texts_clear)

static void
show_news(const RaContestNews *news, void *data)
{
  (void)data;
  if (isfinite(news->best_s))
    fprintf(stderr,
            "\r\033[K%s: best %.4g s, lower bound %.4g s, %.3g proposals",
            news->phase, news->best_s, news->bound_s, (double)news->n_steps);
  else if (news->n_all > 0)
    fprintf(stderr, "\r\033[K%s: %u of %u", news->phase, news->n_done,
            news->n_all);
  else
    fprintf(stderr, "\r\033[K%s", news->phase);
}

static gboolean
read_objective(const Texts *texts, RaSizingOptions *sizing, uint32_t *nodes,
               GError **error)
{
  RaObjective *objective = &sizing->contest.objective;

  if (!ra_option_word("--objective", texts->objective, ra_objective_names,
                      &objective->kind, error) ||
      !ra_option_seconds("--within", texts->within, &objective->within_s,
                         error) ||
      !ra_option_sizes("--nodes", texts->nodes, nodes, &sizing->n_nodes, error))
    return FALSE;
  if (texts->within && !(objective->within_s > 0)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--within: expected more than 0 seconds");
    return FALSE;
  }
  return TRUE;
}

static gboolean
read_final(const Texts *texts, RaContestOptions *contest,
           RaFinalOptions *finals, GError **error)
{
  uint64_t top = finals->n_top, draws = 0;

  if (!ra_option_uint64("--top", texts->top, 1, MAX_TOP, &top, error) ||
      !ra_option_uint64("--samples", texts->draws, 1, MAX_DRAWS, &draws,
                        error) ||
      (texts->plot && strcmp(texts->plot, "-") != 0 &&
       !ra_convergence_check(texts->plot, error)))
    return FALSE;
  finals->n_top = (guint)top;
  finals->n_draws = (guint)draws;
  contest->n_draws = draws > 0 ? (guint)draws : RA_FINAL_DRAWS;
  finals->seed = contest->seed;
  finals->until.end_us =
      contest->time_limit_s > 0
          ? g_get_monotonic_time() +
                (gint64)(1e6 * (contest->time_limit_s + contest->prove_s))
          : 0;
  contest->time_limit_s *= BEFORE_FINAL_FRAC;
  finals->n_threads = contest->n_threads;
  contest->n_near = (guint)top - 1;
  return TRUE;
}

/* The framework is known, and nothing else says which plans there are. */
static gboolean
check_target(const Texts *texts, GError **error)
{
  const struct {
    const char *flag;
    gboolean on;
  } others[] = {{"--limit", texts->limits != NULL},
                {"--pins", texts->pins != NULL},
                {"--prove", texts->prove != NULL},
                {"--space=real", g_strcmp0(texts->space, "real") == 0}};

  if (!texts->target)
    return TRUE;
  if (ra_export_check(texts->target, error) == RA_N_FRAMEWORKS) {
    g_prefix_error(error, "--for: ");
    return FALSE;
  }
  for (guint i = 0; i < G_N_ELEMENTS(others); i++)
    if (others[i].on) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "--for and %s exclude each "
                  "other",
                  others[i].flag);
      return FALSE;
    }
  return TRUE;
}

static gboolean
read_options(const Texts *texts, RaSizingOptions *sizing,
             RaFinalOptions *finals, uint32_t *nodes, GError **error)
{
  static const char *const spaces[] = {"real", "full", "common", NULL};
  static const char *const launches[] = {"eager", "graph", NULL};
  RaContestOptions *out = &sizing->contest;
  uint64_t threads = 0;
  int kind = RA_SPACE_COMMON, launch = RA_LAUNCH_GRAPH;

  if (!ra_option_word("--space", texts->space, spaces, &kind, error) ||
      !ra_option_word("--launch", texts->launch, launches, &launch, error) ||
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
  out->eager = launch == RA_LAUNCH_EAGER;
  out->keeps_costs = !texts->no_cache;
  out->n_threads = (guint)threads;
  out->limits = (const char *const *)texts->limits;
  out->pins = texts->pins;
  out->target = texts->target;
  sizing->nodes = nodes;
  return check_target(texts, error) &&
         read_objective(texts, sizing, nodes, error) &&
         read_final(texts, out, finals, error);
}

/* ` --flag=text`, if there is one. */
static void
append_flag(GString *out, const char *flag, const char *text)
{
  g_autofree char *word = text ? ra_quote_shell(text) : NULL;

  if (text)
    g_string_append_printf(out, " %s%s", flag, word);
}

/* How the plan came about, as comments. */
static char *
command_of(const RaOptions *options, const Texts *texts, const RaSizing *sizing,
           const RaContestOptions *contest)
{
  g_autoptr(GString) words = g_string_new("Written by: reallot search");
  GString *out = g_string_new(NULL);

  append_flag(words, "--workload=", sizing->workload);
  append_flag(words, "--cluster=", sizing->cluster);
  g_string_append_printf(words, " --seed=%" PRIu64, contest->seed);
  append_flag(words, "--space=", texts->space);
  append_flag(words, "--steps=", texts->steps);
  append_flag(words, "--launch=", texts->launch);
  append_flag(words, "--for=", texts->target);
  append_flag(words, "--objective=", texts->objective);
  append_flag(words, "--within=", texts->within);
  append_flag(words, "--nodes=", texts->nodes);
  append_flag(words, "--pins=", texts->pins);
  for (guint i = 0; texts->limits && texts->limits[i]; i++)
    append_flag(words, "--limit=", texts->limits[i]);
  for (guint i = 0; options->sets && options->sets[i]; i++)
    append_flag(words, "--set ", options->sets[i]);
  ra_quote_comment(out, "%s", words->str);
  return g_string_free(out, FALSE);
}

/* --- all of it --- */

static void
end_progress(const RaContestOptions *contest)
{
  if (contest->progress)
    fputs("\r\033[K", stderr);
}

/* Why the winner, and why not the runner-up: the best family where the winner
 * was found, else the second. */
static gboolean
explain(RaSearchReport *report, RaExplain **out_explain, RaSwaps **out_swaps,
        GError **error)
{
  const RaFinal *final = report->final;
  const RaSize *size = ra_search_size(report);
  const RaContender *winner = ra_search_winner(report);
  uint32_t second = final->family != RA_NONE ? final->family : final->second;
  RaReplayOptions options = {.n_iterations = report->contest->n_iterations,
                             .fidelity = RA_FIDELITY_STAGE,
                             .seed = report->contest->seed};

  /* Plans for other nodes have other meshes. */
  if (second != RA_NONE && ra_finalist_size(final, second) == size) {
    const RaContender *loser = ra_finalist_contender(final, second);

    report->loser = loser->name;
    *out_swaps = ra_swaps_new(size->setup, loser->text, winner->text,
                              options.n_iterations, options.seed, error);
    if (!*out_swaps)
      return FALSE;
  }
  if (!ra_setup_read_plan(size->setup, winner->name, winner->text, error))
    return FALSE;
  {
    g_autoptr(RaReplay) run = ra_replay_new(size->setup, &options, error);

    if (run)
      *out_explain = ra_explain_new(size->setup, run);
  }
  report->explain = *out_explain;
  report->swaps = *out_swaps;
  return *out_explain != NULL;
}

static gboolean
write_files(const RaSearchReport *report, const Texts *texts, GError **error)
{
  if (ra_search_winner(report) && report->options->output &&
      !ra_search_write_plan(report, error))
    return FALSE;
  if (texts->curve && !ra_search_write_curve(report, texts->curve, error))
    return FALSE;
  return TRUE;
}

static int
search(const RaOptions *options, const Texts *texts, RaSizingOptions *sizing,
       RaFinalOptions *finals, GError **error)
{
  RaContestOptions *contest = &sizing->contest;
  RaSetupFlags flags = ra_options_setup(options);
  g_autofree char *command = NULL;
  g_autoptr(RaSizing) result = NULL;
  g_autoptr(RaFinal) final = NULL;
  g_autoptr(RaExplain) why = NULL;
  g_autoptr(RaSwaps) swaps = NULL;
  RaSearchReport report = {.options = options, .contest = contest};
  RaWorld *world = ra_cli_world_current();
  gboolean is_first = !world || world->process == 0;
  RaMcmcPeers peers = {.world = world};

  sizing->output =
      g_strcmp0(options->output, "-") == 0 ? NULL : options->output;
  contest->stop = finals->until.stop = ra_interrupt_watch();
  contest->whole = &finals->until;
  if (!world)
    contest->give_up = ra_interrupt_late();
  if (world && contest->target) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--for is of one process, expected no mpirun");
    return 0;
  }
  if (world) {
    peers.asked = contest->stop;
    contest->stop = &peers.stop;
    contest->peers = &peers;
    contest->whole = NULL; /* processes stop together */
    contest->n_threads = ra_deal_threads(world, contest->n_threads);
  }
  if (is_first && isatty(STDERR_FILENO))
    contest->progress = show_news;
  result = ra_sizing_new(&flags, sizing, error);
  if (result && !is_first) /* what follows is process 0's */
    return result->winner != RA_NONE ? 0 : 1;
  if (result && result->winner != RA_NONE)
    final = ra_final_new(result, &contest->objective, finals, error);
  end_progress(contest);
  if (!result || (result->winner != RA_NONE && !final))
    return 0;
  command = command_of(options, texts, result, contest);
  report.sizing = result;
  report.final = final;
  report.command = command;
  if ((texts->explain && ra_search_winner(&report) &&
       !explain(&report, &why, &swaps, error)) ||
      !write_files(&report, texts, error) || !ra_search_print(&report, error) ||
      (texts->plot && !ra_search_plot(&report, texts->plot, error)))
    return 0;
  return ra_search_winner(&report) ? 0 : 1;
}

/* Instead of a search: which shapes would be no candidates, and why. */
static int
reject(const RaOptions *options, const Texts *texts,
       const RaContestOptions *contest, GError **error)
{
  RaSetupFlags flags = ra_options_setup(options);
  g_autoptr(RaSetup) setup = ra_setup_load_pair(&flags, error);
  g_autoptr(GPtrArray) tables = NULL;

  if (!setup)
    return 0;
  tables = ra_rejected_new(setup, contest, texts->rejected, error);
  if (!tables) {
    g_prefix_error(error, "--rejected: ");
    return 0;
  }
  return ra_output_tables(tables, options->format, error) ? 0 : 1;
}

static gboolean
has_pair(const RaOptions *options, GError **error)
{
  if (options->workload && options->cluster)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "expected 'reallot search --workload=FILE --cluster=FILE'");
  return FALSE;
}

static int
run(int argc, char **argv, GError **error)
{
  g_auto(RaOptions) options = RA_OPTIONS_INIT;
  g_auto(Texts) texts = {.space = NULL};
  RaSizingOptions sizing = {.contest = {.n_iterations = 3}};
  RaFinalOptions finals = {.n_top = DEFAULT_TOP, .n_iterations = 3};
  uint32_t nodes[RA_OPTION_SIZES_MAX];
  const GOptionEntry own[] = {
      {"space", 0, 0, G_OPTION_ARG_FILENAME, &texts.space,
       "Candidates of a call; real: those of ReaL (default: common)",
       "common|real|full"},
      {"limit", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &texts.limits,
       "Limit on a call: mesh, gpus, tp, dp, pp ...; repeatable",
       "CALL.KEY=VALUE[,VALUE]"},
      {"pins", 0, 0, G_OPTION_ARG_FILENAME, &texts.pins,
       "Limits in a file, in groups [call NAME] like a plan's", "FILE"},
      {"rejected", 0, 0, G_OPTION_ARG_FILENAME, &texts.rejected,
       "List the excluded layouts of a call, with reasons", "CALL|all"},
      {"launch", 0, 0, G_OPTION_ARG_FILENAME, &texts.launch,
       "Launch of decode steps (default: graph)", "eager|graph"},
      {"time", 0, 0, G_OPTION_ARG_FILENAME, &texts.time,
       "Time of the whole command (default: 10 s)", "SECONDS"},
      {"steps", 0, 0, G_OPTION_ARG_FILENAME, &texts.steps,
       "MCMC proposals per chain (deterministic), instead of --time", "N"},
      {"prove", 0, 0, G_OPTION_ARG_FILENAME, &texts.prove,
       "Time of an exact search afterwards, for a bound", "SECONDS"},
      {"seed", 0, 0, G_OPTION_ARG_FILENAME, &texts.seed,
       "Seed of the MCMC chains and of sampled lengths (default: 0)", "N"},
      {"threads", 0, 0, G_OPTION_ARG_FILENAME, &texts.threads,
       "Number of threads (default: one per processor)", "N"},
      {"for", 0, 0, G_OPTION_ARG_FILENAME, &texts.target,
       "Only plans that 'reallot export --to=' can say whole: verl, nemo-rl, "
       "openrlhf, slime",
       "NAME[@VERSION]"},
      {"objective", 0, 0, G_OPTION_ARG_FILENAME, &texts.objective,
       "time, tokens-per-gpu, cost, gpus (the fewest), regret (over worlds of "
       "the model's errors), p95 (of samples) (default: time)",
       "WHAT"},
      {"within", 0, 0, G_OPTION_ARG_FILENAME, &texts.within,
       "Limit of the iteration time", "SECONDS"},
      {"nodes", 0, 0, G_OPTION_ARG_FILENAME, &texts.nodes,
       "Cluster sizes to try", "N[,N]"},
      {"top", 0, 0, G_OPTION_ARG_FILENAME, &texts.top,
       "Number of plans compared op by op at the end (default: 3)", "N"},
      {"samples", 0, 0, G_OPTION_ARG_FILENAME, &texts.draws,
       "Samples of the lengths for that comparison (default: 3, p95: 20)", "N"},
      {"no-cache", 0, 0, G_OPTION_ARG_NONE, &texts.no_cache,
       "Neither read nor write costs of calls in the user's cache", NULL},
      {"explain", 0, 0, G_OPTION_ARG_NONE, &texts.explain,
       "Winner's critical path, costliest choice of the runner-up", NULL},
      {"curve", 0, 0, G_OPTION_ARG_FILENAME, &texts.curve,
       "Best time over the search, as TSV", "FILE"},
      {"plot", 0, 0, G_OPTION_ARG_FILENAME, &texts.plot,
       "Picture of --curve: FILE.svg, .png or .pdf; - prints text", "FILE"},
      {.long_name = NULL}};

  if (!ra_options_parse(&options, &ra_command_search, own, argc, argv, error) ||
      options.help || !read_options(&texts, &sizing, &finals, nodes, error) ||
      !has_pair(&options, error))
    return 0;
  return texts.rejected ? reject(&options, &texts, &sizing.contest, error)
                        : search(&options, &texts, &sizing, &finals, error);
}

const RaCommand ra_command_search = {
    .name = "search",
    .arguments = "--workload=FILE --cluster=FILE",
    .summary =
        "Find the best plan and compare it with the placement strategies",
    .details = "The plan goes to --output, the table of all plans to standard "
               "output.  The exit\n"
               "status is 1 if no plan fits.  Ctrl-C ends the command with the "
               "best plan so far.\n\n"
               "Examples:\n"
               "  reallot search --workload=ppo-llama3-70b.workload \\\n"
               "    --cluster=h100-16n.cluster -o best.plan\n"
               "  mpirun -q -n 2 reallot search "
               "--workload=ppo-llama3-70b.workload \\\n"
               "    --cluster=h100-16n.cluster --steps=100000 -o best.plan\n"
               "  reallot search --workload=ppo-llama2-7b.workload "
               "--cluster=h100-1n.cluster \\\n"
               "    --space=real --prove=60 --limit=actor_train.tp=4,8\n"
               "  reallot search --workload=ppo-llama3-70b.workload "
               "--cluster=h100-16n.cluster \\\n"
               "    --objective=gpus --within='60 s' --explain --plot=-\n"
               "  reallot search --workload=grpo-qwen2.5-7b.workload "
               "--cluster=h100-4n.cluster \\\n"
               "    --for=verl@2026-01 -o verl.plan\n"
               "  reallot search --workload=ppo-llama2-7b.workload "
               "--cluster=h100-1n.cluster \\\n"
               "    --space=full --rejected=actor_train --format=tsv\n",
    .groups = RA_OPTIONS_FORMAT | RA_OPTIONS_OUTPUT | RA_OPTIONS_SETUP,
    .n_files = 0,
    .run = run,
};
