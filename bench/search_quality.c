/* Searches under many seeds, against proven optima. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench/figure.h"
#include "bench/search_quality.h"
#include "search/exact.h"
#include "search/family/strategy.h"
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
  RaSpaceKind kind;
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
  *field = (Field){.n_gpus = n_gpus,
                   .kind = kind,
                   .name = changes == shorts ? "512" : "2048"};
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

/* One thread, from nothing; returns the best time, and whose (nullable). */
static double
run_chains(const Field *field, guint seed, Watch *w, RaPoint *out_point)
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
  if (out_point)
    *out_point = r.point;
  ra_mcmc_result_clear(&r);
  return best_s;
}

/* --- branch and bound, and chains against it --- */

static const char *const kind_names[] = {"real", "full"};

/* Proves the optimum of our set from where chains are after some seconds, as
 * costs are evaluated one by one there and a random plan's are worth nothing.
 */
static void
prove(const Field *field, RaExactResult *out, double *out_cpu_s)
{
  RaExactOptions options = {.time_limit_s = 120, .seed = SEED};
  double begin_s = bench_cpu_s();
  RaPoint start;

  options.starts = &start;
  if (field->kind == RA_SPACE_FULL) {
    Watch w = {.limit_s = field->n_gpus > 8 ? 4 : 1};
    options.n_starts = isfinite(run_chains(field, SEED, &w, &start));
  } else
    options.n_descents = 8;
  ra_exact_search(field->costs, &options, out);
  *out_cpu_s = bench_cpu_s() - begin_s;
  printf("%u\t%s\t%s\t%.1f\t%.6f\t%.6f\t%.4f\t%s\t%" G_GUINT64_FORMAT
         "\t%" G_GUINT64_FORMAT "\t%.3f\t%.3f\n",
         field->n_gpus, kind_names[field->kind], field->name,
         ra_space_log10_points(field->space), out->score.run_s, out->bound_s,
         1 - out->bound_s / out->score.run_s, out->is_proven ? "yes" : "no",
         out->n_bounded, out->n_scored, out->seconds, *out_cpu_s);
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
    best_s = run_chains(field, FIRST_SEED + seed, &w, NULL);
    worst = MAX(worst, best_s / target_s - 1);
    if (isnan(w.reached_s) || w.reached_s > limit_s)
      continue;
    out->n_reached++;
    sum_s += w.reached_s;
    out->worst_s = MAX(out->worst_s, w.reached_s);
  }
  printf("%u\t%s\t%s\t%.6f\t%g\t%u\t%u\t%.4f\t%.4f\t%.5f\n", field->n_gpus,
         kind_names[field->kind], field->name, target_s, limit_s, n_seeds,
         out->n_reached, out->n_reached ? sum_s / out->n_reached : (double)NAN,
         out->worst_s, worst);
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
  Watch w = {.target_s = 0, .limit_s = (is_quick ? 30 : 300) * bench_unit_s()};
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
    found_s = run_chains(&large, SEED, &w, NULL);
    *out_ratio = found_s / score.run_s;
    printf("1024\treal\t%g\t%.6f\t%.6f\t%.4f\n", w.limit_s, score.run_s,
           found_s, *out_ratio);
    fflush(stdout);
  }
  field_close(&large);
  return ok;
}

/* --- all of it --- */

/* Targets of seeds: the time, in how long (units of bench/figure.h), and how
 * many of them. */
static gboolean
run_field(Field *field, const RaExactResult *exact, gboolean is_quick,
          RaReached *out, GError **error)
{
  /* No plan is quicker than the bound, whatever a long run would find. */
  if (field->kind == RA_SPACE_FULL)
    return run_seeds(field, exact->bound_s * 1.005, 100 * bench_unit_s(),
                     is_quick ? 3 : 20, out, error);
  if (field->n_gpus > 8)
    return run_seeds(field, exact->score.run_s * 1.005, 20 * bench_unit_s(),
                     is_quick ? 10 : 50, out, error);
  return run_seeds(field, exact->score.run_s, bench_unit_s(),
                   is_quick ? 10 : 100, out, error);
}

static gboolean
open_field(Field *field, guint i, GError **error)
{
  return field_open(field, i % 2 ? 64 : 8, i % 4 == 2 ? 128 : 512,
                    i < 4 ? RA_SPACE_REAL : RA_SPACE_FULL,
                    i % 4 < 2 ? shorts : longs, error);
}

gboolean
ra_search_quality(gboolean is_quick, RaSearchQuality *out, GError **error)
{
  Field fields[RA_N_REACHED] = {{0}};
  RaExactResult exact[RA_N_REACHED];
  guint n = is_quick ? 5 : RA_N_REACHED;

  *out = (RaSearchQuality){.replicated = 0};
  printf("#gpus\tset\ttokens\tlog10_points\trun_s\tbound_s\tgap_frac\tproven\t"
         "bounded\tscored\tseconds\tcpu_s\n");
  for (guint i = 0; i < n; i++) {
    if (!open_field(&fields[i], i, error))
      return FALSE;
    prove(&fields[i], &exact[i], &out->exact_cpu_s[i]);
    out->is_proven[i] = exact[i].is_proven && exact[i].found;
  }
  printf("#gpus\tset\ttokens\ttarget_s\tlimit_cpu_s\tseeds\treached\t"
         "mean_cpu_s\tworst_cpu_s\tworst_off_frac\n");
  for (guint i = 0; i < n; i++)
    if (exact[i].found &&
        !run_field(&fields[i], &exact[i], is_quick, &out->reached[i], error))
      return FALSE;
  printf("#gpus\tset\tlimit_cpu_s\treplicated_run_s\tfound_run_s\tratio\n");
  if (!run_replicated(&fields[1], &exact[1].point, is_quick, &out->replicated,
                      error))
    return FALSE;
  for (guint i = 0; i < n; i++)
    field_close(&fields[i]);
  return TRUE;
}

/* --- sampled lengths --- */

enum {
  DRAWN_ITERATIONS = 3,
  DRAWN_SEED = 1,
  PROVE_S = 60,
  N_THREADS = 2,
  N_STARTS = 4
};

#define ANSWERS "workload.response-length=lognormal(320, 200, 1024)"
#define LONG_ANSWERS "workload.response-length=lognormal(4000, 3500, 16384)"
#define PROMPTS "workload.prompt-length=lognormal(150, 80, 1024)"

typedef struct {
  const char *name, *workload, *cluster, *sets[3]; /* NULL-terminated */
  RaSpaceKind kind;
} Drawn;

static const Drawn proven[] = {
    {"grpo-7b",
     "grpo-qwen2.5-7b.workload",
     "h100-1n.cluster",
     {NULL},
     RA_SPACE_COMMON},
    {"grpo-7b-long",
     "grpo-qwen2.5-7b.workload",
     "h100-1n.cluster",
     {LONG_ANSWERS, "workload.prompts=64", NULL},
     RA_SPACE_COMMON},
    {"grpo-tools-7b",
     "grpo-tools-qwen2.5-7b.workload",
     "h100-1n.cluster",
     {"workload.prompts=64", NULL},
     RA_SPACE_COMMON},
    {"rloo-8b",
     "rloo-llama3-8b.workload",
     "h100-1n.cluster",
     {NULL},
     RA_SPACE_COMMON},
    {"ppo-7b",
     "ppo-llama2-7b.workload",
     "h100-1n.cluster",
     {ANSWERS, PROMPTS, NULL},
     RA_SPACE_COMMON},
    {"ppo-7b-full",
     "ppo-llama2-7b.workload",
     "h100-1n.cluster",
     {ANSWERS, PROMPTS, NULL},
     RA_SPACE_FULL},
};

static const Drawn prepared[] = {
    {"grpo-7b-8",
     "grpo-qwen2.5-7b.workload",
     "h100-1n.cluster",
     {NULL},
     RA_SPACE_COMMON},
    {"grpo-32b-128",
     "grpo-qwen2.5-32b.workload",
     "h100-16n.cluster",
     {NULL},
     RA_SPACE_COMMON},
    {"ppo-70b-128",
     "ppo-llama3-70b.workload",
     "h100-16n.cluster",
     {NULL},
     RA_SPACE_COMMON},
    {"ppo-7b-32-full",
     "ppo-llama2-7b.workload",
     "h100-4n.cluster",
     {ANSWERS, NULL},
     RA_SPACE_FULL},
};

static gboolean
drawn_load(const Drawn *c, Field *out, GError **error)
{
  RaSetupFlags flags = {
      .workload = c->workload, .cluster = c->cluster, .sets = c->sets};

  memset(out, 0, sizeof *out);
  out->setup = ra_setup_load_pair(&flags, error);
  return out->setup != NULL;
}

static gboolean
drawn_space(const Drawn *c, Field *field, GError **error)
{
  RaSpaceOptions options = {.kind = (int)c->kind,
                            .n_iterations = DRAWN_ITERATIONS,
                            .seed = DRAWN_SEED};

  field->space = ra_space_new(field->setup->workload, field->setup->cluster,
                              &options, error);
  return field->space != NULL;
}

static guint
n_candidates(const Field *field)
{
  guint n = 0;

  for (guint c = 0; c < field->setup->workload->n_calls; c++)
    n += field->space->calls[c].n;
  return n;
}

static gboolean
print_gap(const Drawn *c, GError **error)
{
  g_autofree char *bar = g_strdup_printf("gap-%s", c->name);
  RaExactOptions options = {.time_limit_s = PROVE_S,
                            .n_descents = N_STARTS,
                            .seed = DRAWN_SEED,
                            .n_threads = N_THREADS};
  RaExactResult r;
  Field field;
  double cpu_s;

  if (!drawn_load(c, &field, error) || !drawn_space(c, &field, error))
    return FALSE;
  field.costs =
      ra_cost_table_new(field.space, field.setup->estimator, N_THREADS, error);
  if (!field.costs)
    return FALSE;
  cpu_s = bench_cpu_s();
  ra_exact_search(field.costs, &options, &r);
  printf("%s\t%.1f\t%.5g\t%.5g\t%.4f\t%.1f\t%.1f\t%u\t%u\n", c->name,
         ra_space_log10_points(field.space), r.score.run_s, r.bound_s,
         1 - r.bound_s / r.score.run_s, r.seconds, bench_cpu_s() - cpu_s,
         ra_cost_table_n_known(field.costs), n_candidates(&field));
  bench_bar(bar, r.found ? 1 - r.bound_s / r.score.run_s : 1, BENCH_AT_MOST,
            0.02);
  field_close(&field);
  return TRUE;
}

gboolean
ra_search_gaps(GError **error)
{
  printf("#case\tlog10_points\trun_s\tbound_s\tgap_frac\tseconds\tcpu_s\t"
         "simulated\tcandidates\n");
  for (guint i = 0; i < G_N_ELEMENTS(proven); i++)
    if (!print_gap(&proven[i], error))
      return FALSE;
  return TRUE;
}

/* --- kept costs --- */

/* The strategies' plans; (transfer full). */
static GPtrArray *
strategies(const Field *field)
{
  GPtrArray *drafts =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_draft_free);

  for (guint kind = 0; kind < RA_N_STRATEGIES; kind++) {
    RaStrategyOptions options = {.kind = (RaStrategyKind)kind};
    RaDraft *draft =
        ra_strategy_plan(field->setup->workload, field->setup->cluster,
                         field->setup->estimator, &options, NULL);

    if (draft)
      g_ptr_array_add(drafts, draft);
  }
  return drafts;
}

/* CPU time of a preparation as that of `reallot search`; negative on error. */
static double
prepare(const Drawn *c, Field *field, const GPtrArray *drafts,
        RaCostStore *store, GError **error)
{
  double begin_s = bench_cpu_s();
  RaPoint points[RA_N_STRATEGIES];
  guint n = 0;

  if (!drawn_space(c, field, error))
    return -1;
  for (guint i = 0; i < drafts->len; i++)
    n += ra_space_add(field->space, ((RaDraft *)drafts->pdata[i])->plan,
                      &points[n]);
  field->costs = ra_cost_table_new_from(field->space, field->setup->estimator,
                                        store, 0, error);
  if (!field->costs)
    return -1;
  for (guint i = 0; i < n; i++) {
    g_autoptr(RaEvaluator) e = ra_evaluator_new(field->costs);
    RaScore score;

    ra_evaluate(e, &points[i], &score);
  }
  return bench_cpu_s() - begin_s;
}

static gboolean
print_warm(const Drawn *c, GError **error)
{
  g_autofree char *bar = g_strdup_printf("warm-%s", c->name);
  g_autoptr(RaCostStore) store = ra_cost_store_new(NULL, 0);
  g_autoptr(GPtrArray) drafts = NULL;
  double cpu_s[2];
  guint n = 0;
  Field field;

  if (!drawn_load(c, &field, error))
    return FALSE;
  drafts = strategies(&field);
  for (guint i = 0; i < 2; i++) {
    g_autoptr(GByteArray) bytes = ra_cost_store_bytes(store);
    g_autoptr(RaCostStore) again = ra_cost_store_new(bytes->data, bytes->len);

    cpu_s[i] = prepare(c, &field, drafts, i ? again : store, error);
    if (cpu_s[i] < 0)
      return FALSE;
    n = n_candidates(&field);
    g_clear_pointer(&field.costs, ra_cost_table_free);
    g_clear_pointer(&field.space, ra_space_free);
  }
  printf("%s\t%u\t%.3f\t%.3f\t%.3f\n", c->name, n, cpu_s[0], cpu_s[1],
         cpu_s[1] / cpu_s[0]);
  bench_bar(bar, cpu_s[1] / cpu_s[0], BENCH_AT_MOST, 0.25);
  field_close(&field);
  return TRUE;
}

gboolean
ra_search_warm(GError **error)
{
  printf("#case\tcandidates\tcold_cpu_s\twarm_cpu_s\tratio\n");
  for (guint i = 0; i < G_N_ELEMENTS(prepared); i++)
    if (!print_warm(&prepared[i], error))
      return FALSE;
  return TRUE;
}
