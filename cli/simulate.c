/* reallot simulate: what a plan costs, where that goes, and why. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/seeds.h"
#include "cli/sensitivity.h"
#include "cli/simulate_report.h"
#include "study/report/advice.h"
#include "study/report/viewer.h"
#include "traces/kineto_events.h"

#define MAX_SEEDS 100000
#define MAX_THREADS 1024
#define MAX_PLANS 64

static gboolean
print_fingerprint(const RaSim *sim, GError **error)
{
  g_autofree char *line =
      g_strdup_printf("%016" PRIx64 "\n", ra_sim_result(sim)->fingerprint);

  return ra_output_print(line, strlen(line), error);
}

static gboolean
save_trace(const RaSetup *setup, RaReplay *replay, const char *path,
           GError **error)
{
  g_autoptr(RaTrace) trace = ra_replay_trace(setup, replay);

  ra_trace_set_head(trace, "command", "reallot simulate");
  if (ra_kineto_is_named(path)) {
    gsize n_bytes;
    g_autofree char *text = ra_viewer_text(replay, trace, &n_bytes);

    return ra_file_write(path, text, n_bytes, error);
  }
  return ra_trace_save(trace, path, error);
}

/* Flags of its own. */
typedef struct {
  char *trace;          /* owned, nullable */
  gboolean fingerprint; /* alone */
  gboolean unfolded;    /* --no-fold */
  gboolean explain;
  gboolean decode_ops;
  gboolean sensitivity;
  char *factor, *plot;   /* owned, nullable: of it */
  char *seeds, *threads; /* owned, nullable */
} Flags;

/* A strategy that takes less time, below the explanation. */
static void
print_advice(const RaSetup *setup, const RaSetupFlags *flags,
             const RaReplay *replay, const RaReplayOptions *options,
             gboolean fits, GError **error)
{
  RaReplayOptions plain = *options;
  g_autoptr(RaBreakdown) b = ra_breakdown_new(replay->sim, replay->graph);
  RaProgress *progress = ra_progress_begin("trying placement strategies");
  g_autofree char *text = NULL;

  plain.record = plain.record_decode = plain.unfolded = FALSE;
  text = ra_advice_sentence(setup, flags, &plain,
                            fits ? b->iteration_s : HUGE_VAL);
  ra_progress_end(progress);
  ra_output_print(text, strlen(text), error);
}

/* The exit status: 1 where the plan does not fit. */
static int
simulate(const RaOptions *options, const Flags *own, GError **error)
{
  RaSetupFlags flags = ra_options_setup(options);
  RaReplayOptions wanted = ra_options_replay(options);
  g_autoptr(RaSetup) setup = NULL;
  g_autoptr(RaReplay) replay = NULL;
  g_autoptr(RaMemoryVerdict) fit = NULL;
  RaProgress *progress = ra_progress_begin("simulating");

  wanted.unfolded = own->unfolded;
  wanted.record = own->trace != NULL;
  wanted.record_decode = own->decode_ops;
  if (ra_file_kind_expect(options->files[0], RA_FILE_PLAN, error))
    setup = ra_setup_load(options->files[0], RA_FILE_PLAN, &flags, error);
  if (setup)
    replay = ra_replay_new(setup, &wanted, error);
  if (replay && !own->fingerprint)
    fit = ra_memory_verdict_new(setup, &flags, replay);
  ra_progress_end(progress);
  if (!replay || (own->trace && !save_trace(setup, replay, own->trace, error)))
    return 0;
  if (own->fingerprint) {
    print_fingerprint(replay->sim, error);
    return 0;
  }
  if (ra_simulate_print(setup, options, replay, fit, own->explain, error) &&
      own->explain && options->format == RA_FORMAT_TEXT)
    print_advice(setup, &flags, replay, &wanted, fit->fits, error);
  return fit->fits ? 0 : 1;
}

static void
flags_clear(Flags *flags)
{
  g_free(flags->trace);
  g_free(flags->factor);
  g_free(flags->plot);
  g_free(flags->seeds);
  g_free(flags->threads);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Flags, flags_clear)

/* Options of one replay, or of --sensitivity, exclude the others. */
static gboolean
check_flags(const RaOptions *options, const Flags *flags, GError **error)
{
  gboolean is_many = flags->seeds || options->files[1];
  const char *alone = flags->trace                    ? "--trace"
                      : flags->fingerprint            ? "--fingerprint"
                      : flags->explain                ? "--explain"
                      : is_many && flags->sensitivity ? "--sensitivity"
                                                      : NULL;

  if (!flags->sensitivity && (flags->plot || flags->factor))
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s: expected --sensitivity",
                flags->plot ? "--plot" : "--factor");
  else if (flags->decode_ops &&
           (!flags->trace || options->fidelity != RA_FIDELITY_OP))
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--decode-ops: expected --trace=FILE and --fidelity=op");
  else if (alone && (is_many || flags->sensitivity))
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s with %s: not supported, expected one replay",
                is_many ? "several seeds or plans" : "--sensitivity", alone);
  else
    return TRUE;
  return FALSE;
}

static int
run(int argc, char **argv, GError **error)
{
  g_auto(RaOptions) options = RA_OPTIONS_INIT;
  g_auto(Flags) flags = {.trace = NULL};
  uint64_t n_seeds = 1, n_threads = 0;
  const GOptionEntry own[] = {
      {"trace", 't', 0, G_OPTION_ARG_FILENAME, &flags.trace,
       "Write every task to FILE; FILE.json[.gz]: for Perfetto", "FILE"},
      {"decode-ops", 0, 0, G_OPTION_ARG_NONE, &flags.decode_ops,
       "Every op of decode steps in the trace too, as `run --ops` records "
       "them; with --trace and --fidelity=op",
       NULL},
      {"fingerprint", 0, 0, G_OPTION_ARG_NONE, &flags.fingerprint,
       "Print only the hash of all events", NULL},
      {"explain", 0, 0, G_OPTION_ARG_NONE, &flags.explain,
       "Explain the time: critical path by cause, op and link, idle GPU time "
       "by cause, and a faster strategy",
       NULL},
      {"sensitivity", 0, 0, G_OPTION_ARG_NONE, &flags.sensitivity,
       "Iteration time with each resource doubled and halved, and on other "
       "GPUs, instead of the report",
       NULL},
      {"factor", 0, 0, G_OPTION_ARG_FILENAME, &flags.factor,
       "Factor of --sensitivity (default: 2)", "NUMBER"},
      {"plot", 0, 0, G_OPTION_ARG_FILENAME, &flags.plot,
       "Picture of --sensitivity: FILE.svg, .png or .pdf; - prints text",
       "FILE"},
      {"no-fold", 0, 0, G_OPTION_ARG_NONE, &flags.unfolded,
       "Expand every replica by itself: slower, with the same numbers", NULL},
      {"seeds", 0, 0, G_OPTION_ARG_FILENAME, &flags.seeds,
       "Replay N seeds, starting at --seed: mean and quantiles of the "
       "iteration time",
       "N"},
      {"threads", 0, 0, G_OPTION_ARG_FILENAME, &flags.threads,
       "Number of threads for several seeds or plans (default: one per "
       "processor)",
       "N"},
      {.long_name = NULL}};

  if (!ra_options_parse(&options, &ra_command_simulate, own, argc, argv,
                        error) ||
      options.help || !ra_option_file("--trace", flags.trace, error) ||
      !ra_option_uint64("--seeds", flags.seeds, 1, MAX_SEEDS, &n_seeds,
                        error) ||
      !ra_option_uint64("--threads", flags.threads, 1, MAX_THREADS, &n_threads,
                        error))
    return 0;
  if (!check_flags(&options, &flags, error))
    return 0;
  if (flags.sensitivity)
    return ra_simulate_sensitivity(&options, flags.factor, flags.plot,
                                   (guint)n_threads, error);
  if (flags.seeds || options.files[1]) {
    gboolean fits;

    return ra_simulate_seeds(&options, flags.unfolded, (uint32_t)n_seeds,
                             (guint)n_threads, &fits, error) &&
                   !fits
               ? 1
               : 0;
  }
  return simulate(&options, &flags, error);
}

const RaCommand ra_command_simulate = {
    .name = "simulate",
    .arguments = "PLAN...",
    .summary = "Replay a plan: what an iteration costs, and why",
    .details =
        "GROUP of --set is a group of the workload, the cluster or the plan, "
        "as in\n"
        "'workload.prompts', 'cluster.nodes' or 'call actor_train.tp'.\n\n"
        "Examples:\n"
        "  reallot simulate ppo-llama3-70b-128.plan\n"
        "  reallot simulate ppo-llama3-70b-128.plan --set 'cluster.nic=800 "
        "Gbit/s'\n"
        "  reallot simulate ppo-llama2-7b-8.plan --system reallhf-2024.system\n"
        "  reallot simulate ppo-llama3-70b-128.plan --estimator=real\n"
        "  reallot simulate ppo-llama2-7b-8-colocated-zero3.plan --set 'call "
        "actor_generate.zero=0'\n"
        "  reallot simulate ppo-llama3-70b-128.plan --format=json --trace "
        "ppo.trace.tsv\n"
        "  reallot simulate sft-llama3.1-405b-16384.plan --no-fold\n"
        "  reallot simulate ppo-llama3-70b-128.plan --explain\n"
        "  reallot simulate ppo-llama3-70b-128.plan --sensitivity --plot=-\n"
        "  reallot simulate ppo-llama3-70b-128.plan --network=flows \\\n"
        "    --set 'cluster.fabric=rail(leaf=4, oversubscription=4)'\n"
        "  reallot simulate ppo-llama3-70b-1024.plan --fidelity=op --set "
        "cluster.jitter=0.02\n"
        "  reallot simulate ppo-llama3-70b-128.plan --seeds=20\n"
        "  reallot simulate mine.plan other.plan\n",
    .groups = RA_OPTIONS_FORMAT | RA_OPTIONS_ITERATIONS | RA_OPTIONS_RUN |
              RA_OPTIONS_SETUP,
    .n_files = 1,
    .n_optional = MAX_PLANS - 1,
    .run = run,
};
