#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench/figure.h"
#include "bench/search_quality.h"
#include "search/exact.h"
#include "search/mcmc.h"
#include "study/setup.h"

/* Chains were made on seeds 0 to 99 of the first workload; these are others. */
enum { N_ITERATIONS = 5, SEED = 1, FIRST_SEED = 1001 };

/* 128 + 384 tokens; 1024 + 1024. */
static const char *const shorts[] = {NULL};
static const char *const longs[] = {"workload.prompt-length=fixed(1024)",
                                    "workload.response-length=fixed(1024)",
                                    "workload.mini-batches=2", NULL};

/* A space; every seed gets a table of costs that was not asked before. */
typedef struct {
  guint n_gpus;
  const char *name;
  RaSetup *setup;
  RaSpace *space;
  RaCostTable *costs;
} Field;

/* One run of chains: until it is as good as the target, or too late. */
typedef struct {
  double target_s, limit_s;  /* CPU */
  double begin_s, reached_s; /* NAN: not */
  gint stop;
} Watch;

static void
field_close(Field *field)
{
  ra_cost_table_free(field->costs);
  ra_space_free(field->space);
  ra_setup_free(field->setup);
  memset(field, 0, sizeof *field);
}

static gboolean
field_renew(Field *field, GError **error)
{
  ra_cost_table_free(field->costs);
  field->costs =
      ra_cost_table_new(field->space, field->setup->estimator, 0, error);
  return field->costs != NULL;
}

static gboolean
field_open(Field *field, guint n_gpus, guint prompts, RaSpaceKind kind,
           const char *const *changes, GError **error)
{
  g_autofree char *nodes = g_strdup_printf("cluster.nodes=%u", n_gpus / 8);
  g_autofree char *batch = g_strdup_printf("workload.prompts=%u", prompts);
  const char *sets[8] = {nodes, batch};
  RaSetupFlags flags = {.workload = "ppo-llama2-7b.workload",
                        .cluster = "h100-16n.cluster",
                        .sets = sets};
  RaSpaceOptions options = {
      .kind = kind, .n_iterations = N_ITERATIONS, .seed = SEED};

  for (guint i = 0; changes[i]; i++)
    sets[2 + i] = changes[i];
  *field =
      (Field){.n_gpus = n_gpus, .name = changes == shorts ? "512" : "2048"};
  field->setup = ra_setup_load_pair(&flags, error);
  if (field->setup)
    field->space = ra_space_new(field->setup->workload, field->setup->cluster,
                                &options, error);
  return field->space && field_renew(field, error);
}

static void
watch(double best_s, uint64_t n_steps, void *data)
{
  Watch *w = data;
  double now_s = bench_cpu_s() - w->begin_s;

  (void)n_steps;
  if (best_s <= w->target_s && isnan(w->reached_s))
    w->reached_s = now_s;
  if (!isnan(w->reached_s) || now_s > w->limit_s)
    g_atomic_int_set(&w->stop, 1);
}

/* One thread, from nothing; returns the best time. */
static double
run_chains(const Field *field, guint seed, Watch *w)
{
  RaMcmcOptions options = {.n_threads = 1,
                           .n_chains = RA_LANES, /* as --time has them */
                           .n_steps = UINT64_MAX / RA_LANES,
                           .seed = seed,
                           .stop = &w->stop,
                           .progress = watch,
                           .data = w};
  RaMcmcResult r;
  double best_s;

  w->begin_s = bench_cpu_s();
  w->reached_s = (double)NAN;
  w->stop = 0;
  ra_mcmc_search(field->costs, &options, &r);
  best_s = r.found ? r.score.run_s : (double)INFINITY;
  ra_mcmc_result_clear(&r);
  return best_s;
}

/* --- branch and bound, and chains against it --- */

static void
prove(const Field *field, RaExactResult *out, double *out_cpu_s)
{
  RaExactOptions options = {.time_limit_s = 60, .n_descents = 8, .seed = SEED};
  double begin_s = bench_cpu_s();

  ra_exact_search(field->costs, &options, out);
  *out_cpu_s = bench_cpu_s() - begin_s;
  printf("%u\treal\t%s\t%.1f\t%.6f\t%.6f\t%.4f\t%s\t%" G_GUINT64_FORMAT
         "\t%" G_GUINT64_FORMAT "\t%.3f\t%.3f\n",
         field->n_gpus, field->name, ra_space_log10_points(field->space),
         out->score.run_s, out->bound_s, 1 - out->bound_s / out->score.run_s,
         out->is_proven ? "yes" : "no", out->n_bounded, out->n_scored,
         out->seconds, *out_cpu_s);
  fflush(stdout);
}

static gboolean
run_seeds(Field *field, double target_s, double limit_s, guint n_seeds,
          RaReached *out, GError **error)
{
  double sum_s = 0, worst = 0;

  *out = (RaReached){.n_seeds = n_seeds};
  for (guint seed = 0; seed < n_seeds; seed++) {
    Watch w = {.target_s = target_s, .limit_s = limit_s};
    double best_s;

    if (!field_renew(field, error))
      return FALSE;
    best_s = run_chains(field, FIRST_SEED + seed, &w);
    worst = MAX(worst, best_s / target_s - 1);
    if (isnan(w.reached_s) || w.reached_s > limit_s)
      continue;
    out->n_reached++;
    sum_s += w.reached_s;
    out->worst_s = MAX(out->worst_s, w.reached_s);
  }
  printf("%u\treal\t%s\t%.6f\t%g\t%u\t%u\t%.4f\t%.4f\t%.5f\n", field->n_gpus,
         field->name, target_s, limit_s, n_seeds, out->n_reached,
         out->n_reached ? sum_s / out->n_reached : (double)NAN, out->worst_s,
         worst);
  fflush(stdout);
  return TRUE;
}

/* --- the optimum of 64 GPUs on 16 times as many --- */

static RaPlan *
replicate(const Field *small, const RaPoint *point, const Field *large)
{
  RaPlan *plan = ra_space_plan_new(small->space, point);
  const RaCluster *cluster = large->setup->cluster;
  uint32_t width = cluster->gpus_per_node;

  plan->workload = large->setup->workload;
  plan->cluster = cluster;
  for (guint c = 0; c < plan->workload->n_calls; c++) {
    RaCallPlan *p = &plan->calls[c];
    uint32_t n_gpus = 16 * ra_mesh_n_gpus(&p->mesh);
    uint32_t begin = 16 * ra_mesh_gpu(&p->mesh, small->setup->cluster, 0);

    p->mesh = (RaMesh){.n_runs = 1,
                       .n_nodes = n_gpus / width,
                       .gpus_per_node = width,
                       .runs = {{begin / width, n_gpus / width}}};
    p->dp *= 16;
    if (p->zero_group > 1)
      p->zero_group *= 16;
  }
  return plan;
}

static gboolean
run_replicated(const Field *small, const RaPoint *point, gboolean is_quick,
               double *out_ratio, GError **error)
{
  Field large;
  RaPlan *plan;
  RaPoint start;
  gboolean ok =
      field_open(&large, 1024, 16 * 512, RA_SPACE_REAL, shorts, error);
  Watch w = {.target_s = 0, .limit_s = is_quick ? 3 : 30};
  RaScore score;
  double found_s;

  if (!ok)
    return FALSE;
  plan = replicate(small, point, &large);
  ok = ra_space_add(large.space, plan, &start) && field_renew(&large, error);
  ra_space_plan_free(plan);
  if (ok) {
    g_autoptr(RaEvaluator) e = ra_evaluator_new(large.costs);

    ra_evaluate(e, &start, &score);
    found_s = run_chains(&large, SEED, &w);
    *out_ratio = found_s / score.run_s;
    printf("1024\treal\t%g\t%.6f\t%.6f\t%.4f\n", w.limit_s, score.run_s,
           found_s, *out_ratio);
    fflush(stdout);
  }
  field_close(&large);
  return ok;
}

/* --- hours --- */

static gboolean
run_long(double long_s, double *out_ratio, GError **error)
{
  Field field;
  double best_s = (double)INFINITY, worst_s = 0;

  if (!field_open(&field, 64, 512, RA_SPACE_FULL, shorts, error))
    return FALSE;
  for (guint seed = 0; seed < 20; seed++) {
    Watch w = {.limit_s = long_s};
    double t = run_chains(&field, 1000 + seed, &w);
    best_s = MIN(best_s, t);
  }
  for (guint seed = 0; seed < 20; seed++) {
    Watch w = {.limit_s = 10};
    double t;
    if (!field_renew(&field, error))
      return FALSE;
    t = run_chains(&field, seed, &w);
    worst_s = MAX(worst_s, t);
  }
  *out_ratio = worst_s / best_s;
  printf("64\tfull\t%g\t%.6f\t%.6f\t%.5f\n", long_s, best_s, worst_s,
         *out_ratio);
  field_close(&field);
  return TRUE;
}

gboolean
ra_search_quality(gboolean is_quick, double long_s, RaSearchQuality *out,
                  GError **error)
{
  Field fields[RA_N_REACHED];
  RaExactResult exact[RA_N_REACHED];

  *out = (RaSearchQuality){.replicated = 0};
  printf("#gpus\tset\ttokens\tlog10_points\trun_s\tbound_s\tgap_frac\tproven\t"
         "bounded\tscored\tseconds\tcpu_s\n");
  for (guint i = 0; i < RA_N_REACHED; i++) {
    if (!field_open(&fields[i], i % 2 ? 64 : 8, i == 2 ? 128 : 512,
                    RA_SPACE_REAL, i < 2 ? shorts : longs, error))
      return FALSE;
    prove(&fields[i], &exact[i], &out->exact_cpu_s[i]);
    out->is_proven[i] = exact[i].is_proven;
  }
  printf("#gpus\tset\ttokens\ttarget_s\tlimit_cpu_s\tseeds\treached\t"
         "mean_cpu_s\tworst_cpu_s\tworst_off_frac\n");
  for (guint i = 0; i < RA_N_REACHED; i++)
    if (!run_seeds(&fields[i], exact[i].score.run_s * (i % 2 ? 1.005 : 1),
                   i % 2 ? 2 : 0.1,
                   is_quick ? 10
                   : i % 2  ? 50
                            : 100,
                   &out->reached[i], error))
      return FALSE;
  printf("#gpus\tset\tlimit_cpu_s\treplicated_run_s\tfound_run_s\tratio\n");
  if (!run_replicated(&fields[1], &exact[1].point, is_quick, &out->replicated,
                      error))
    return FALSE;
  for (guint i = 0; i < RA_N_REACHED; i++)
    field_close(&fields[i]);
  if (!(long_s > 0))
    return TRUE;
  out->long_s = long_s;
  printf("#gpus\tset\tlong_cpu_s\tbest_of_long_run_s\tworst_of_10_s_run_"
         "s\tratio\n");
  return run_long(long_s, &out->best_of_long, error);
}
