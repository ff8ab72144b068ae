/* Savings by folding: 16,384 GPUs in 1F1B with a data-parallel all-reduce.
 *
 * Training of Llama-3.1-405B on 2,048 nodes, 128 replicas that all do the same:
 * wall seconds of augmenting, expanding, costing and replaying three
 * iterations, of the account of all GPU time after it, and the most memory that
 * the process had, its files loaded.  Folded first, as the most memory never
 * goes down; then unfolded.  The median of the runs counts.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench/figure.h"
#include "sim/breakdown.h"
#include "study/replay.h"

enum { MAX_RUNS = 9 };

typedef struct {
  double replay_s;  /* from the plan to the end of the last event */
  double account_s; /* and to the account */
  double peak_mb;   /* of the process so far, 10^6 bytes */
} Cost;

static double
peak_mb(void)
{
  struct rusage usage;

  getrusage(RUSAGE_SELF, &usage);
  return (double)usage.ru_maxrss * 1024e-6; /* Linux: KiB */
}

/* One row; FALSE: it did not run. */
static gboolean
measure(const RaSetup *setup, const char *plan, gboolean unfolded, guint n_runs,
        Cost *out_cost)
{
  RaReplayOptions options = {
      .n_iterations = 3, .fidelity = RA_FIDELITY_STAGE, .unfolded = unfolded};
  double replay_s[MAX_RUNS], account_s[MAX_RUNS];

  for (guint r = 0; r < n_runs; r++) {
    double begin_s = bench_wall_s();
    g_autoptr(RaReplay) replay = ra_replay_new(setup, &options, NULL);
    g_autoptr(RaBreakdown) breakdown = NULL;

    if (!replay)
      return FALSE;
    replay_s[r] = bench_wall_s() - begin_s;
    breakdown = ra_breakdown_new(replay->sim, replay->graph);
    account_s[r] = bench_wall_s() - begin_s - replay_s[r];
    if (r < n_runs - 1)
      continue;
    *out_cost = (Cost){bench_median(replay_s, n_runs),
                       bench_median(account_s, n_runs), peak_mb()};
    printf("%s\t%s\t%u\t%u\t%" G_GUINT64_FORMAT
           "\t%u\t%u\t%.9g\t%.9g\t%.9g\t%.1f\n",
           plan, unfolded ? "unfolded" : "folded", breakdown->n_gpus,
           replay->graph->n_lanes, ra_task_graph_n_unfolded(replay->graph),
           replay->graph->n_tasks, n_runs, out_cost->replay_s, replay_s[0],
           out_cost->account_s, out_cost->peak_mb);
  }
  return TRUE;
}

int
main(int argc, char **argv)
{
  static const char plan[] = "sft-llama3.1-405b-16384.plan";
  guint n_runs = argc > 1 && strcmp(argv[1], "--quick") == 0 ? 3 : MAX_RUNS;
  double begin_s = bench_wall_s();
  g_autoptr(GError) error = NULL;
  RaSetupFlags flags = {0};
  g_autoptr(RaSetup) setup = ra_setup_load(plan, RA_FILE_PLAN, &flags, &error);
  Cost folded = {0}, unfolded;
  gboolean ran = FALSE;

  if (setup) {
    printf("# wall seconds, 10^6 bytes; files loaded in %.9g s\n",
           bench_wall_s() - begin_s);
    printf("plan\tgraph\tn_gpus\tn_lanes\tn_tasks\tn_tasks_replayed\tn_runs"
           "\tmedian_s\tmin_s\taccount_s\tpeak_mb\n");
    ran = measure(setup, plan, FALSE, n_runs, &folded) &&
          measure(setup, plan, TRUE, 3, &unfolded);
  } else {
    printf("# %s\n", error->message);
  }
  bench_bar("fold_16384_gpus_s", ran ? folded.replay_s : (double)NAN,
            BENCH_AT_MOST, 0.05);
  bench_bar("fold_16384_gpus_peak_mb", ran ? folded.peak_mb : (double)NAN,
            BENCH_AT_MOST, 100);
  return 0;
}
