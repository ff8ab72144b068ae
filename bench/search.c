/* Plan search: how fast plans are evaluated, and what preparing for it costs.
 *
 * PPO, 6 calls on four models of 7 x 10^9, 5 iterations, 512 sequences or 4 a
 * GPU, one thread; seconds are of the processor, as others may want it too.
 * Sets: `real` is ReaL's (halves of a node, runs of nodes; tp 1, 2, 4, 8; pp a
 * divisor), `full` is ours (search/space/space.h).
 *
 * evaluations  a plan put into a lane from nothing and replayed, reallocation,
 *              transfer and memory included; plans drawn at random from those
 *              whose costs are known, each met before, so that what is asked
 *              once (a reallocation's flows) does not count
 * proposals    of reallot search's chains (search/mcmc.h), eight on one thread,
 *              twice from nothing; those that a bound rejects without a replay
 *              count.  What chains ask of the table for the first time is part
 *              of preparing it: how often, and the processor's seconds in both
 *              runs, are columns of their own and not in the second run's rate
 * prepare      candidates, footprints, bounds and the costs of those that are
 *              soon simulated; the rest is asked when a proposal first passes
 *              its bound
 *
 * exact        branch and bound (search/exact.h), to the optimum
 * seeds        chains against that: CPU time until it is reached, at 64 GPUs
 *              and in our set to within 0.5 %; tables of costs are new and not
 *              counted.  Seeds 1001 on, as chains were made on others; also for
 *              a second workload, of 1,024 + 1,024 tokens and two mini-batches.
 *              The bar of our set is within 0.5 % of the best of 20 runs of ten
 *              minutes: no run is quicker than the proven bound, so that stands
 *              for them, and they are not taken.  Parameters are released
 *              between calls
 * 1,024 GPUs   with 16 times the batch, from nothing, against the optimum of 64
 *              GPUs replicated dp x 16
 *
 * gap          --only=gap: branch and bound among sampled lengths, 8 GPUs
 * warm         --only=warm: preparation with the costs of an earlier one
 *
 * Bars on speed are in units of work (bench/figure.h).  In November 2026 two
 * shared cores of a server CPU at 2 to 3 GHz, where a unit is 0.12 s, made
 * 134,000 to 173,000 evaluations and 269,000 to 466,000 proposals a unit, and
 * prepared 1,024 GPUs of the full set in 65 units; limits are some two thirds
 * of that, and of the budgets of chains and proofs the CPU seconds that they
 * were on such a machine (0.1, 1, 2, 10, 30, 600) at ten units a second.
 *
 * Prior work: ReaL's own engine on one 2.6 GHz core makes 45,500, 24,000 and
 * 2,090 evaluations/s and 25,200, 6,090 and 1,390 proposals/s at 8, 64 and
 * 1,024 GPUs.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/rng.h"
#include "bench/figure.h"
#include "bench/search_quality.h"
#include "search/mcmc.h"
#include "study/setup.h"

enum { N_ITERATIONS = 5, SEED = 1, N_POINTS = 256, N_CHOICES = 24 };

static const guint sizes[] = {8, 64, 128, 1024, 16384};

typedef struct {
  RaSetup *setup;
  RaSpace *space;
  RaCostTable *costs;
  RaEvaluator *evaluator;
  RaRng rng;
  RaChoice choices[RA_POINT_MAX][N_CHOICES]; /* that plans are made of */
  double prepare_s, prepare_cpu_s, memory_bytes;
  double evaluations_per_s, proposals_per_s, replayed_frac, asked_cpu_s;
  uint64_t n_asked;
  guint n_nodes, n_candidates;
} Case;

/* Seconds that this thread has run: others may want the processor too. */
static double
thread_s(void)
{
  struct timespec time;

  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Resident memory of this process, bytes. */
static double
resident_bytes(void)
{
  g_autofree char *text = NULL;
  const char *resident;
  double pages = 0;

  if (g_file_get_contents("/proc/self/statm", &text, NULL, NULL)) {
    resident = strchr(text, ' '); /* the second number */
    pages = resident ? g_ascii_strtod(resident, NULL) : 0;
  }
  return pages * 4096;
}

static uint32_t
below(Case *c, uint32_t n)
{
  return (uint32_t)ra_rng_below(&c->rng, n);
}

/* Choices whose costs are known. */
static void
draw_choices(Case *c)
{
  for (guint call = 0; call < c->setup->workload->n_calls; call++)
    for (guint i = 0; i < N_CHOICES; i++) {
      const RaSpaceCall *k = &c->space->calls[call];
      RaChoice choice;
      do
        choice.candidate = below(c, k->n);
      while (!ra_cost_table_known_s(c->costs, call, choice.candidate));
      choice.position = below(c, k->candidates[choice.candidate].n_positions);
      c->choices[call][i] = choice;
    }
}

static RaPoint
random_point(Case *c)
{
  RaPoint point = {.residency = {0}};

  for (guint call = 0; call < c->setup->workload->n_calls; call++)
    point.calls[call] = c->choices[call][below(c, N_CHOICES)];
  return point;
}

static void
run_evaluations(Case *c, double seconds)
{
  /* 256 plans of 16,384 GPUs need minutes of reallocations at first. */
  guint n_points =
      ra_cluster_n_gpus(c->setup->cluster) > 1024 ? N_POINTS / 16 : N_POINTS;
  g_autofree RaPoint *points = g_new(RaPoint, N_POINTS);
  RaScore scores[RA_LANES];
  double begin_s, least_s = (double)INFINITY;

  for (guint i = 0; i < n_points; i++)
    points[i] = random_point(c);
  for (guint i = 0; i < n_points; i++)
    ra_evaluate(c->evaluator, &points[i], &scores[0]);
  begin_s = thread_s();
  while (thread_s() - begin_s < seconds) {
    double round_s = thread_s();
    for (guint i = 0; i < 64 * N_POINTS; i += RA_LANES) {
      for (guint lane = 0; lane < RA_LANES; lane++)
        ra_evaluator_set(c->evaluator, lane, &points[(i + lane) % n_points]);
      ra_evaluator_run(c->evaluator, RA_LANES, scores);
    }
    round_s = thread_s() - round_s;
    least_s = MIN(least_s, round_s);
  }
  /* The machine is shared: the round that was disturbed least. */
  c->evaluations_per_s = 64 * N_POINTS / least_s;
  c->n_nodes = ra_evaluator_n_nodes(c->evaluator, 0);
}

/* Chains from nothing, a second time; what they ask is not of their time. */
static void
run_proposals(Case *c, uint64_t n_steps)
{
  for (guint i = 0; i < 2; i++) {
    RaMcmcOptions options = {
        .n_threads = 1, .n_chains = RA_LANES, .n_steps = n_steps, .seed = SEED};
    RaMcmcResult r;
    double begin_s = thread_s();

    ra_mcmc_search(c->costs, &options, &r);
    c->proposals_per_s =
        (double)r.n_steps / (thread_s() - begin_s - r.asked_cpu_s);
    c->replayed_frac = (double)r.n_replayed / (double)r.n_steps;
    c->n_asked += r.n_asked;
    c->asked_cpu_s += r.asked_cpu_s;
    ra_mcmc_result_clear(&r);
  }
}

static void case_clear(Case *c);

static gboolean
case_init(Case *c, guint n_gpus, RaSpaceKind kind, GError **error)
{
  g_autofree char *nodes = g_strdup_printf("cluster.nodes=%u", n_gpus / 8);
  g_autofree char *prompts =
      g_strdup_printf("workload.prompts=%u", MAX(512, 4 * n_gpus));
  const char *sets[] = {nodes, prompts, NULL};
  RaSetupFlags flags = {.workload = "ppo-llama2-7b.workload",
                        .cluster = "h100-16n.cluster",
                        .sets = sets};
  RaSpaceOptions options = {
      .kind = kind, .n_iterations = N_ITERATIONS, .seed = SEED};
  double begin_s, cpu_s, before;

  memset(c, 0, sizeof *c);
  c->setup = ra_setup_load_pair(&flags, error);
  if (!c->setup)
    return FALSE;
  c->rng = ra_rng_init(SEED, 0);
#ifdef __GLIBC__
  malloc_trim(0); /* what smaller cases left */
#endif
  before = resident_bytes();
  begin_s = bench_wall_s();
  cpu_s = bench_cpu_s();
  c->space =
      ra_space_new(c->setup->workload, c->setup->cluster, &options, error);
  if (c->space)
    c->costs = ra_cost_table_new(c->space, c->setup->estimator, 0, error);
  if (!c->costs)
    return FALSE;
  c->prepare_s = bench_wall_s() - begin_s;
  c->prepare_cpu_s = bench_cpu_s() - cpu_s;
  c->evaluator = ra_evaluator_new(c->costs);
  c->memory_bytes = resident_bytes() - before;
  for (guint call = 0; call < c->setup->workload->n_calls; call++)
    c->n_candidates += c->space->calls[call].n;
  return TRUE;
}

static void
case_clear(Case *c)
{
  ra_evaluator_free(c->evaluator);
  ra_cost_table_free(c->costs);
  ra_space_free(c->space);
  ra_setup_free(c->setup);
}

static void
print_case(const Case *c, guint n_gpus, const char *kind)
{
  printf("%u\t%s\t%u\t%.1f\t%u\t%.2f\t%.2f\t%.1f\t%u\t%.0f\t%.0f\t%.3f\t%u\t"
         "%" G_GUINT64_FORMAT "\t%.2f\n",
         n_gpus, kind, c->n_candidates, ra_space_log10_points(c->space),
         ra_cost_table_n_known(c->costs), c->prepare_s, c->prepare_cpu_s,
         c->memory_bytes / (1 << 20), c->n_nodes, c->evaluations_per_s,
         c->proposals_per_s, c->replayed_frac,
         ra_cost_table_n_reallocs(c->costs), c->n_asked, c->asked_cpu_s);
  fflush(stdout);
}

static void
print_bars(const Case *c, guint n_gpus, const char *kind)
{
  g_autofree char *e = g_strdup_printf("%s-%u evaluations/unit", kind, n_gpus);
  g_autofree char *p = g_strdup_printf("%s-%u proposals/unit", kind, n_gpus);
  g_autofree char *t = g_strdup_printf("%s-%u prepare units", kind, n_gpus);
  g_autofree char *m = g_strdup_printf("%s-%u memory GiB", kind, n_gpus);
  double unit_s = bench_unit_s();

  if (c->n_nodes == 0) /* was not run */
    return;
  if (n_gpus >= 64 && n_gpus != 128) {
    bench_bar(e, c->evaluations_per_s * unit_s, BENCH_AT_LEAST, 1e5);
    bench_bar(p, c->proposals_per_s * unit_s, BENCH_AT_LEAST, 2e5);
  }
  if (n_gpus >= 1024)
    bench_bar(t, c->prepare_cpu_s / unit_s, BENCH_AT_MOST,
              n_gpus > 1024 ? 400 : 100);
  if (n_gpus == 1024)
    bench_bar(m, c->memory_bytes / (1 << 30), BENCH_AT_MOST, 2);
}

static void
print_quality(const RaSearchQuality *q)
{
  static const char *const names[RA_N_REACHED] = {
      "real-8", "real-64", "real-8 long", "real-64 long",
      "full-8", "full-64", "full-8 long", "full-64 long"};

  for (guint i = 0; i < RA_N_REACHED; i++) {
    const RaReached *r = &q->reached[i];
    g_autofree char *proven =
        g_strdup_printf("%s optimum proven units", names[i]);
    g_autofree char *reached =
        g_strdup_printf("%s seeds %s units", names[i],
                        i >= 4  ? "within 0.5 % of the bound in 100"
                        : i % 2 ? "within 0.5 % in 20"
                                : "at the optimum in 1");

    if (r->n_seeds == 0)
      continue;
    bench_bar(proven,
              q->is_proven[i] ? q->exact_cpu_s[i] / bench_unit_s()
                              : (double)INFINITY,
              BENCH_AT_MOST, i == 0 || i == 2 ? 10 : 6000);
    bench_bar(reached, r->n_reached, BENCH_AT_LEAST, r->n_seeds);
  }
  bench_bar("real-1024 of the 64-GPU optimum dp x 16", q->replicated,
            BENCH_AT_MOST, 1);
}

/* --only=SET-GPUS: rates of that case alone; quality, gap, warm: none. */
static gboolean
is_wanted(const char *argument, const char *kind, guint n_gpus)
{
  g_autofree char *name = g_strdup_printf("--only=%s-%u", kind, n_gpus);

  return !argument || !g_str_has_prefix(argument, "--only=") ||
         strcmp(argument, name) == 0;
}

/* --only=gap or warm. */
static gboolean
only_drawn(const char *argument, GError **error)
{
  if (g_strcmp0(argument, "--only=gap") == 0)
    return ra_search_gaps(error);
  return g_strcmp0(argument, "--only=warm") != 0 || ra_search_warm(error);
}

int
main(int argc, char **argv)
{
  static const char *const kinds[] = {"real", "full"};
  gboolean quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
  double seconds = quick ? 0.05 : 1;
  static Case cases[2 * G_N_ELEMENTS(sizes)];
  RaSearchQuality quality;
  GError *error = NULL;
  guint n = 0, n_sizes = quick ? 2 : G_N_ELEMENTS(sizes);

  printf("# unit_s %.4g\n", bench_unit_s());
  printf("#gpus\tset\tcandidates\tlog10_points\tcosted\tprepare_s\tprepare_cpu_"
         "s\tmemory_mib\t"
         "nodes\tevaluations_per_s\tproposals_per_s\treplayed_frac\t"
         "reallocs\tasked\tasked_cpu_s\n");
  for (guint k = 0; k < 2; k++)
    for (guint i = 0; i < n_sizes; i++, n++) {
      if (!is_wanted(argv[1], kinds[k], sizes[i]))
        continue;
      if (!case_init(&cases[n], sizes[i], (RaSpaceKind)k, &error)) {
        fprintf(stderr, "%s\n", error->message);
        return 1;
      }
      draw_choices(&cases[n]);
      run_evaluations(&cases[n], seconds);
      run_proposals(&cases[n], quick ? 16384 : 524288);
      print_case(&cases[n], sizes[i], kinds[k]);
      case_clear(&cases[n]);
    }
  if (!only_drawn(argv[1], &error)) {
    fprintf(stderr, "%s\n", error->message);
    return 1;
  }
  if (argc > 1 && g_str_has_prefix(argv[1], "--only=") &&
      strcmp(argv[1], "--only=quality") != 0)
    return 0;
  if (!ra_search_quality(quick, &quality, &error)) {
    fprintf(stderr, "%s\n", error ? error->message : "no such plan");
    return 1;
  }
  n = 0;
  for (guint k = 0; k < 2; k++)
    for (guint i = 0; i < n_sizes; i++, n++)
      print_bars(&cases[n], sizes[i], kinds[k]);
  print_quality(&quality);
  return 0;
}
