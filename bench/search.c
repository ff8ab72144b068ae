/* Plan search: how fast plans are evaluated, and what preparing for it costs.
 *
 * PPO, 6 calls on four models of 7 x 10^9, 5 iterations, 512 sequences or 4 a
 * GPU, one thread; seconds are of the processor, as others may want it too.
 * Sets: `real` is ReaL's (halves of a node, runs of nodes; tp 1, 2, 4, 8; pp a
 * divisor), `full` is ours (search/space.h).
 *
 * evaluations  a plan put into a lane from nothing and replayed, reallocation,
 *              transfer and memory included; plans drawn at random from those
 *              whose costs are known, each met before, so that what is asked
 *              once (a reallocation's flows) does not count
 * proposals    Metropolis, one call of the plan moved at a time, at a
 *              temperature of 1 % of the time; seven proposals from one plan
 *              are bounded side by side, and replayed if some bound passes
 * prepare      candidates, footprints, bounds and the costs of those that are
 *              soon simulated; the rest is asked when a proposal first passes
 *              its bound
 *
 * exact        branch and bound (search/exact.h): at 8 GPUs to the optimum, at
 *              64 to within 0.5 % of it
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

#include "base/rng.h"
#include "search/exact.h"
#include "study/setup.h"

enum { N_ITERATIONS = 5, SEED = 1, N_POINTS = 256, N_CHOICES = 24 };

static const guint sizes[] = {8, 64, 128, 1024, 16384};

typedef struct {
  RaSetup *setup;
  RaSpace *space;
  RaCostTable *costs;
  RaEvaluator *evaluator;
  RaRng rng;
  uint64_t state;
  double variates[65536];                    /* exponential */
  RaChoice choices[RA_POINT_MAX][N_CHOICES]; /* that plans are made of */
  guint n_calls;
  double prepare_s, prepare_cpu_s, memory_bytes;
  double evaluations_per_s, proposals_per_s, replayed_frac;
  guint n_nodes, n_candidates;
} Case;

static double
now_s(void)
{
  return (double)g_get_monotonic_time() * 1e-6;
}

static double
clock_s(clockid_t id)
{
  struct timespec time;

  clock_gettime(id, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Seconds that this thread has run: others may want the processor too. */
static double
thread_s(void)
{
  return clock_s(CLOCK_THREAD_CPUTIME_ID);
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

/* Choices, and what they cost. */
static void
draw_choices(Case *c)
{
  for (guint call = 0; call < c->setup->workload->n_calls; call++)
    for (guint i = 0; i < N_CHOICES; i++) {
      const RaSpaceCall *k = &c->space->calls[call];
      RaChoice choice;
      choice.candidate = below(c, k->n);
      ra_cost_table_call_s(c->costs, call, choice.candidate);
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
  g_autofree RaPoint *points = g_new(RaPoint, N_POINTS);
  RaScore scores[RA_LANES];
  double begin_s, least_s = (double)INFINITY;

  for (guint i = 0; i < N_POINTS; i++)
    points[i] = random_point(c);
  for (guint i = 0; i < N_POINTS; i++)
    ra_evaluate(c->evaluator, &points[i], &scores[0]);
  begin_s = thread_s();
  while (thread_s() - begin_s < seconds) {
    double round_s = thread_s();
    for (guint i = 0; i < 64 * N_POINTS; i += RA_LANES) {
      for (guint lane = 0; lane < RA_LANES; lane++)
        ra_evaluator_set(c->evaluator, lane, &points[(i + lane) % N_POINTS]);
      ra_evaluator_run(c->evaluator, RA_LANES, scores);
    }
    round_s = thread_s() - round_s;
    least_s = MIN(least_s, round_s);
  }
  /* The machine is shared: the round that was disturbed least. */
  c->evaluations_per_s = 64 * N_POINTS / least_s;
  c->n_nodes = ra_evaluator_n_nodes(c->evaluator, 0);
}

/* A plan that is over pays for the share of a GPU that it is over. */
static double
penalised_s(const Case *c, const RaScore *score)
{
  double limit = c->setup->cluster->device.memory_bytes;

  return score->run_s * (1 + score->over_bytes / limit);
}

/* SplitMix64 (Steele et al., OOPSLA 2014): drawing must not be what is
 * measured. */
static uint64_t
next_bits(Case *c)
{
  uint64_t z = c->state += UINT64_C(0x9e3779b97f4a7c15);

  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

/* The last lane holds the plan of the chain, the others proposals from it.  Of
 * these the first that is accepted counts, and those before it: the chain is
 * that of one at a time.  Returns the proposals made. */
static guint
step(Case *c, double *inout_run_s, double temperature_s, guint *inout_replayed)
{
  enum { BASE = RA_LANES - 1 };
  double bounds[RA_LANES], limits[RA_LANES];
  RaScore scores[RA_LANES];
  gboolean any = FALSE;

  for (guint lane = 0; lane < BASE; lane++) {
    uint64_t bits = next_bits(c);
    uint32_t call = (uint32_t)((bits & 0xffff) * c->n_calls >> 16);
    uint32_t choice = (uint32_t)((bits >> 16 & 0xff) * N_CHOICES >> 8);

    ra_evaluator_move(c->evaluator, lane, call, c->choices[call][choice]);
    limits[lane] =
        *inout_run_s + temperature_s * c->variates[bits >> 24 & 0xffff];
  }
  ra_evaluator_bound(c->evaluator, BASE, bounds);
  for (guint lane = 0; lane < BASE; lane++)
    any |= bounds[lane] <= limits[lane];
  if (any) {
    *inout_replayed += BASE;
    ra_evaluator_run_below(c->evaluator, BASE, limits, scores);
  }
  for (guint lane = 0; any && lane < BASE; lane++)
    if (penalised_s(c, &scores[lane]) <= limits[lane]) {
      *inout_run_s = penalised_s(c, &scores[lane]);
      ra_evaluator_spread(c->evaluator, lane);
      return lane + 1;
    }
  ra_evaluator_spread(c->evaluator, BASE);
  return BASE;
}

static void
run_proposals(Case *c, double seconds)
{
  enum { N_ROUND = 200000 };
  RaPoint point = random_point(c);
  RaScore score;
  double run_s, begin_s, least_s = (double)INFINITY;

  for (guint i = 0; i < G_N_ELEMENTS(c->variates); i++)
    c->variates[i] = -log(ra_rng_uniform(&c->rng));
  ra_evaluate(c->evaluator, &point, &score);
  ra_evaluator_spread(c->evaluator, 0);
  run_s = penalised_s(c, &score);
  begin_s = thread_s();
  /* Of the first rounds reallocations are asked for. */
  for (guint i = 0; i < 4 || thread_s() - begin_s < seconds; i++) {
    double round_s = thread_s(), per_s;
    guint n = 0, n_replayed = 0;

    while (n < N_ROUND)
      n += step(c, &run_s, 0.01 * run_s, &n_replayed);
    per_s = (thread_s() - round_s) / n;
    if (per_s > least_s)
      continue;
    least_s = per_s;
    c->replayed_frac = (double)n_replayed / n;
  }
  c->proposals_per_s = 1 / least_s;
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
  before = resident_bytes();
  begin_s = now_s();
  cpu_s = clock_s(CLOCK_PROCESS_CPUTIME_ID);
  c->n_calls = c->setup->workload->n_calls;
  c->space =
      ra_space_new(c->setup->workload, c->setup->cluster, &options, error);
  if (c->space)
    c->costs = ra_cost_table_new(c->space, c->setup->estimator, 0, error);
  if (!c->costs)
    return FALSE;
  c->prepare_s = now_s() - begin_s;
  c->prepare_cpu_s = clock_s(CLOCK_PROCESS_CPUTIME_ID) - cpu_s;
  c->evaluator = ra_evaluator_new(c->costs);
  c->memory_bytes = resident_bytes() - before;
  for (guint call = 0; call < c->setup->workload->n_calls; call++)
    c->n_candidates += c->space->calls[call].n;
  return TRUE;
}

/* Branch and bound: the optimum, or how near it the best plan is for certain.
 */
static gboolean
run_exact(guint n_gpus, double gap_frac, double *out_cpu_s, GError **error)
{
  static Case c;
  RaExactOptions options = {
      .time_limit_s = 60, .gap_frac = gap_frac, .n_descents = 8, .seed = SEED};
  RaExactResult r;
  double begin_s;

  if (!case_init(&c, n_gpus, RA_SPACE_REAL, error))
    return FALSE;
  begin_s = thread_s();
  ra_exact_search(c.costs, &options, &r);
  *out_cpu_s = thread_s() - begin_s;
  printf("%u\treal\t%.1f\t%.6f\t%.6f\t%.4f\t%s\t%" G_GUINT64_FORMAT
         "\t%" G_GUINT64_FORMAT "\t%.3f\t%.3f\n",
         n_gpus, ra_space_log10_points(c.space), r.score.run_s, r.bound_s,
         1 - r.bound_s / r.score.run_s, r.is_proven ? "yes" : "no", r.n_bounded,
         r.n_scored, r.seconds, *out_cpu_s);
  fflush(stdout);
  case_clear(&c);
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
  printf("%u\t%s\t%u\t%.1f\t%u\t%.2f\t%.2f\t%.1f\t%u\t%.0f\t%.0f\t%.3f\t%u\n",
         n_gpus, kind, c->n_candidates, ra_space_log10_points(c->space),
         ra_cost_table_n_known(c->costs), c->prepare_s, c->prepare_cpu_s,
         c->memory_bytes / (1 << 20), c->n_nodes, c->evaluations_per_s,
         c->proposals_per_s, c->replayed_frac,
         ra_cost_table_n_reallocs(c->costs));
  fflush(stdout);
}

/* value against limit, at least or at most. */
static void
print_bar(const char *name, double value, double limit, gboolean at_least)
{
  gboolean ok = at_least ? value >= limit : value <= limit;

  printf("bar\t%s\t%.3g\t%.3g\t%s\n", name, value, limit, ok ? "ok" : "short");
}

static void
print_bars(const Case *c, guint n_gpus, const char *kind)
{
  g_autofree char *e = g_strdup_printf("%s-%u evaluations/s", kind, n_gpus);
  g_autofree char *p = g_strdup_printf("%s-%u proposals/s", kind, n_gpus);
  g_autofree char *t = g_strdup_printf("%s-%u prepare cpu-s", kind, n_gpus);
  g_autofree char *m = g_strdup_printf("%s-%u memory GiB", kind, n_gpus);
  double part = n_gpus > 64 ? 0.8 : 1;

  if (n_gpus >= 64 && n_gpus != 128) {
    print_bar(e, c->evaluations_per_s, part * 1e6, TRUE);
    print_bar(p, c->proposals_per_s, part * 3e6, TRUE);
  }
  if (n_gpus >= 1024)
    print_bar(t, c->prepare_cpu_s, n_gpus > 1024 ? 60 : 10, FALSE);
  if (n_gpus == 1024)
    print_bar(m, c->memory_bytes / (1 << 30), 2, FALSE);
}

int
main(int argc, char **argv)
{
  static const char *const kinds[] = {"real", "full"};
  gboolean quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
  double seconds = quick ? 0.05 : 1;
  static Case cases[2 * G_N_ELEMENTS(sizes)];
  double exact_cpu_s[2];
  GError *error = NULL;
  guint n = 0, n_sizes = quick ? 2 : G_N_ELEMENTS(sizes);

  printf("#gpus\tset\tcandidates\tlog10_points\tcosted\tprepare_s\tprepare_cpu_"
         "s\tmemory_mib\t"
         "nodes\tevaluations_per_s\tproposals_per_s\treplayed_frac\t"
         "reallocs\n");
  for (guint k = 0; k < 2; k++)
    for (guint i = 0; i < n_sizes; i++, n++) {
      if (!case_init(&cases[n], sizes[i], (RaSpaceKind)k, &error)) {
        fprintf(stderr, "%s\n", error->message);
        return 1;
      }
      draw_choices(&cases[n]);
      run_evaluations(&cases[n], seconds);
      run_proposals(&cases[n], seconds);
      print_case(&cases[n], sizes[i], kinds[k]);
      case_clear(&cases[n]);
    }
  printf("#gpus\tset\tlog10_points\trun_s\tbound_s\tgap_frac\tproven\t"
         "bounded\tscored\tseconds\tcpu_s\n");
  for (guint i = 0; i < 2; i++)
    if (!run_exact(sizes[i], i == 0 ? 0 : 0.005, &exact_cpu_s[i], &error)) {
      fprintf(stderr, "%s\n", error->message);
      return 1;
    }
  n = 0;
  for (guint k = 0; k < 2; k++)
    for (guint i = 0; i < n_sizes; i++, n++)
      print_bars(&cases[n], sizes[i], kinds[k]);
  print_bar("real-8 optimum proven cpu-s", exact_cpu_s[0], 1, FALSE);
  print_bar("real-64 within 0.5 % proven cpu-s", exact_cpu_s[1], 600, FALSE);
  return 0;
}
