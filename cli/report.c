/* reallot report: all that is known of a plan as one HTML file. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "search/family/strategy.h"
#include "study/report/report.h"

#define MAX_THREADS 1024

static int
run(int argc, char **argv, GError **error)
{
  g_auto(RaOptions) options = RA_OPTIONS_INIT;
  g_autofree char *threads = NULL, *html = NULL;
  uint64_t n_threads = 0;
  RaProgress *progress;
  RaTrialCount count = {0, RA_N_STRATEGIES};
  RaSetupFlags flags;
  RaReportOptions wanted;
  const GOptionEntry own[] = {
      {"threads", 0, 0, G_OPTION_ARG_FILENAME, &threads,
       "Number of concurrent replays (default: one per processor)", "N"},
      {.long_name = NULL}};

  if (!ra_options_parse(&options, &ra_command_report, own, argc, argv, error) ||
      options.help ||
      !ra_option_uint64("--threads", threads, 1, MAX_THREADS, &n_threads,
                        error) ||
      !ra_file_kind_expect(options.files[0], RA_FILE_PLAN, error))
    return 0;
  flags = ra_options_setup(&options);
  wanted = (RaReportOptions){.n_threads = (guint)n_threads,
                             .count = &count,
                             .replay = {.n_iterations = options.n_iterations,
                                        .fidelity = options.fidelity,
                                        .flows = options.flows,
                                        .seed = options.seed}};
  progress = ra_progress_begin("simulating");
  ra_progress_count(progress, &count.n_done, &count.n);
  html = ra_report_new(options.files[0], &flags, &wanted, error);
  ra_progress_end(progress);
  if (html)
    ra_output_write(options.output, html, strlen(html), error);
  return 0;
}

const RaCommand ra_command_report = {
    .name = "report",
    .arguments = "PLAN",
    .summary = "Write everything about a plan as one HTML file",
    .details = "The page has the timeline, GPU time, memory, sensitivity, "
               "placement strategies,\n"
               "tables, model errors and inputs.  It needs no other file and "
               "has no scripts.\n\n"
               "Examples:\n"
               "  reallot report ppo-llama3-70b-128.plan -o report.html\n"
               "  reallot report ppo-llama2-7b-8.plan "
               "--cluster=h100-4n.cluster -o report.html\n",
    .groups = RA_OPTIONS_OUTPUT | RA_OPTIONS_ITERATIONS | RA_OPTIONS_RUN |
              RA_OPTIONS_SETUP,
    .n_files = 1,
    .run = run,
};
