/* Replays of plans under several seeds. */
#include "config.h"

#include <inttypes.h>
#include <math.h>

#include "base/jobs.h"
#include "estimator/robust.h"
#include "sim/breakdown.h"
#include "sim/memory_replay.h"
#include "study/sweep/seeds.h"

/* A job is a plan under a seed. */
typedef struct {
  RaSetup *const *setups;
  const RaReplayOptions *options;
  uint32_t n_seeds;
  RaSeedRun *runs; /* (n) */
  GError **errors; /* (n) */
} Job;

gboolean
ra_seed_run_fits(const RaSeedRun *run)
{
  return run->peak_bytes <= run->capacity_bytes;
}

static void
clear_run(gpointer data)
{
  RaSeedRun *run = data;

  g_clear_pointer(&run->calls_s, g_free);
  ra_doubt_clear(&run->doubt);
}

static void
measure(const RaSetup *setup, const RaReplay *replay, RaSeedRun *run)
{
  g_autoptr(RaBreakdown) breakdown =
      ra_breakdown_new(replay->sim, replay->graph);
  g_autoptr(RaMemoryTable) table = ra_memory_table_new(replay->graph);
  g_autoptr(RaMemoryReplay) memory = ra_memory_replay_new(replay->sim, table);

  run->iteration_s = breakdown->iteration_s;
  run->tokens_per_s = breakdown->tokens_per_s;
  run->usd = breakdown->usd;
  ra_doubt_take(setup, replay, breakdown, &run->doubt);
  run->n_gpus = breakdown->n_gpus;
  run->calls_s = g_new(double, breakdown->n_calls);
  for (guint c = 0; c < breakdown->n_calls; c++)
    run->calls_s[c] = breakdown->calls[c].wall_s;
  run->capacity_bytes = memory->capacity_bytes;
  if (memory->fullest != RA_NONE)
    run->peak_bytes = memory->lanes[memory->fullest].peak_bytes;
  run->fingerprint = ra_sim_result(replay->sim)->fingerprint;
}

static void
run_one(guint i, guint thread, gpointer data)
{
  Job *job = data;
  RaSeedRun *run = &job->runs[i];
  RaReplayOptions options = *job->options;
  g_autoptr(RaReplay) replay = NULL;

  (void)thread;
  run->plan = i / job->n_seeds;
  run->seed = options.seed + i % job->n_seeds;
  options.seed = run->seed;
  replay = ra_replay_new(job->setups[run->plan], &options, &job->errors[i]);
  if (replay)
    measure(job->setups[run->plan], replay, run);
}

GArray *
ra_seeds_run(RaSetup *const *setups, uint32_t n_setups,
             const RaReplayOptions *options, uint32_t n_seeds, guint n_threads,
             GError **error)
{
  guint n = n_setups * n_seeds;
  g_autofree GError **errors = g_new0(GError *, (gsize)n + 1);
  g_autoptr(GArray) runs = g_array_sized_new(FALSE, TRUE, sizeof(RaSeedRun), n);
  Job job = {setups, options, n_seeds, NULL, errors};
  GError *first = NULL;

  g_array_set_clear_func(runs, clear_run);
  g_array_set_size(runs, n);
  job.runs = (RaSeedRun *)(void *)runs->data;
  ra_jobs_run(n, n_threads, run_one, &job);
  for (guint i = 0; i < n; i++) {
    if (!first)
      first = g_steal_pointer(&errors[i]);
    g_clear_error(&errors[i]);
  }
  if (!first)
    return g_steal_pointer(&runs);
  g_propagate_error(error, first);
  return NULL;
}

static char *
name_of(const RaSetup *setup)
{
  return g_path_get_basename(setup->plan_path);
}

RaTable *
ra_seeds_table(const GArray *runs, RaSetup *const *setups)
{
  RaTable *table = ra_table_new("runs");

  ra_table_column(table, "plan", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "seed", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "iteration_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "tokens_per_s", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "peak_bytes", RA_UNIT_BYTES, RA_CELL_REAL);
  ra_table_column(table, "fits", RA_UNIT_NONE, RA_CELL_TRUTH);
  ra_table_column(table, "fingerprint", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; i < runs->len; i++) {
    const RaSeedRun *run = &g_array_index(runs, RaSeedRun, i);
    g_autofree char *name = name_of(setups[run->plan]);
    g_autofree char *seed = g_strdup_printf("%" PRIu64, run->seed);
    g_autofree char *print = g_strdup_printf("%016" PRIx64, run->fingerprint);

    ra_table_row(table);
    ra_table_text(table, name);
    ra_table_text(table, seed);
    ra_table_real(table, run->iteration_s);
    ra_table_real(table, run->tokens_per_s);
    ra_table_real(table, run->peak_bytes);
    ra_table_truth(table, ra_seed_run_fits(run));
    ra_table_text(table, print);
  }
  return table;
}

static void
add_spread(RaTable *table, const char *name, double *times_s, guint n)
{
  static const double quantiles[] = {0, 0.05, 0.5, 0.95, 1};
  double mean_s = times_s[0], squares = 0;

  /* Differences, so that equal times have no spread. */
  for (guint i = 1; i < n; i++)
    mean_s += (times_s[i] - times_s[0]) / n;
  for (guint i = 0; i < n; i++)
    squares += (times_s[i] - mean_s) * (times_s[i] - mean_s);
  ra_table_row(table);
  ra_table_text(table, name);
  ra_table_integer(table, n);
  ra_table_real(table, mean_s);
  ra_table_real(table, n > 1 ? sqrt(squares / (n - 1)) : (double)NAN);
  for (guint q = 0; q < G_N_ELEMENTS(quantiles); q++)
    ra_table_real(table, ra_robust_quantile(times_s, n, quantiles[q]));
}

RaTable *
ra_seeds_spread(const GArray *runs, RaSetup *const *setups, uint32_t n_setups)
{
  static const char *const columns[] = {"mean_s", "sd_s",  "min_s", "p05_s",
                                        "p50_s",  "p95_s", "max_s"};
  RaTable *table = ra_table_new("spread");
  g_autofree double *times_s = g_new(double, runs->len + 1);

  ra_table_column(table, "plan", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "n_seeds", RA_UNIT_NONE, RA_CELL_INTEGER);
  for (guint c = 0; c < G_N_ELEMENTS(columns); c++)
    ra_table_column(table, columns[c], RA_UNIT_SECONDS, RA_CELL_REAL);
  for (uint32_t plan = 0; plan < n_setups; plan++) {
    g_autofree char *name = name_of(setups[plan]);
    guint n = 0;

    for (guint i = 0; i < runs->len; i++) {
      const RaSeedRun *run = &g_array_index(runs, RaSeedRun, i);

      if (run->plan == plan)
        times_s[n++] = run->iteration_s;
    }
    add_spread(table, name, times_s, n);
  }
  return table;
}
