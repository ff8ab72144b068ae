/* The three placements of Xiao et al. (arXiv 2312.11819), simulated: which is
 * fastest for which size of actor on how many A100, and why.
 *
 * Actor and ref are LLaMA of 7, 13, 33 or 65 x 10^9 parameters, critic and
 * reward of 7 (share/workloads/ppo-llama-*-stream.workload).  Plans come from
 * the writers of search/family/strategy.h.  colocated-tp is the co-located
 * placement that generates in the least tensor parallelism that fits instead of
 * ZeRO-3. Streaming (chunks between generation and scoring) only where the
 * placement is disaggregated: on shared GPUs parts would only wait for each
 * other. Batches of generation are static.
 *
 * --plot FILE.svg|.png also draws the table: FILE.dat is what gnuplot reads.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/palette.h"
#include "base/quote.h"
#include "base/text.h"
#include "bench/figure.h"
#include "search/family/strategy.h"
#include "sim/breakdown.h"
#include "study/plot/gnuplot.h"
#include "study/replay.h"

enum { N_PLACEMENTS = 4, N_SIZES = 4, N_SCALES = 4 };

static const char *const sizes[N_SIZES] = {"7b", "13b", "33b", "65b"};
static const guint nodes[N_SCALES] = {1, 2, 4, 8};
static const struct {
  const char *name;
  RaStrategyKind kind;
  gboolean in_tp, streams;
} placements[N_PLACEMENTS] = {
    {"colocated", RA_STRATEGY_COLOCATED, FALSE, FALSE},
    {"colocated-tp", RA_STRATEGY_COLOCATED, TRUE, FALSE},
    {"interleaving", RA_STRATEGY_INTERLEAVING, FALSE, FALSE},
    {"disaggregated", RA_STRATEGY_DISAGGREGATED, FALSE, TRUE},
};

typedef struct {
  double iteration_s; /* 0: it was not run */
  double tokens_per_s;
  gboolean answered; /* run, or refused because it does not fit */
  char *reason;      /* owned: the largest cause, or why it is refused */
} Outcome;

/* One share of the GPU time. */
typedef struct {
  double gpu_s;
  const char *cause; /* static */
  const char *call;  /* borrowed; "" for what is no call's */
} Share;

static void
take_larger(Share *largest, double gpu_s, const char *cause, const char *call)
{
  if (gpu_s > largest->gpu_s)
    *largest = (Share){gpu_s, cause, call};
}

/* "62 % comm of actor_generate": the largest part of all GPU time, and the
 * largest of what computes nothing where that is another. */
static char *
reason_of(const RaBreakdown *b, const RaWorkload *workload)
{
  double all_gpu_s = b->n_gpus * b->iteration_s;
  Share most = {.gpu_s = -1}, loss = {.gpu_s = -1};

  for (guint c = 0; c < b->n_calls; c++) {
    const char *name = workload->calls[c].name;

    take_larger(&most, b->calls[c].compute_gpu_s, "compute of ", name);
    take_larger(&loss, b->calls[c].comm_gpu_s, "comm of ", name);
    take_larger(&loss, b->calls[c].host_gpu_s, "host of ", name);
    take_larger(&loss, b->calls[c].bubble_gpu_s, "bubble of ", name);
    take_larger(&loss, b->calls[c].interference_gpu_s, "interference of ",
                name);
  }
  take_larger(&loss, b->realloc_gpu_s, "reallocation", "");
  take_larger(&loss, b->idle_gpu_s, "idle", "");
  if (loss.gpu_s > most.gpu_s)
    return g_strdup_printf("%.0f %% %s%s", 100 * loss.gpu_s / all_gpu_s,
                           loss.cause, loss.call);
  return g_strdup_printf("%.0f %% %s%s; %.0f %% %s%s",
                         100 * most.gpu_s / all_gpu_s, most.cause, most.call,
                         100 * loss.gpu_s / all_gpu_s, loss.cause, loss.call);
}

/* The workload's inputs whole where nothing streams. */
static RaSetup *
load_pair(guint size, guint scale, guint placement, GError **error)
{
  g_autofree char *workload =
      g_strdup_printf("ppo-llama-%s-stream.workload", sizes[size]);
  g_autofree char *n_nodes = g_strdup_printf("cluster.nodes=%u", nodes[scale]);
  const char *sets[] = {n_nodes, "workload:call ref_inference.inputs=sequences",
                        "workload:call reward_inference.inputs=sequences",
                        "workload:call critic_inference.inputs=sequences",
                        NULL};
  RaSetupFlags flags = {
      .workload = workload, .cluster = "a100-4n.cluster", .sets = sets};

  if (placements[placement].streams)
    sets[1] = NULL;
  return ra_setup_load_pair(&flags, error);
}

/* The plan; of generation in tp the quickest of 2, 4 and 8 that fits. */
static RaDraft *
draft_of(const RaSetup *setup, guint placement, guint tp, GError **error)
{
  RaStrategyOptions options = {.kind = placements[placement].kind,
                               .generate_tp = tp,
                               .batching = RA_STRATEGY_BATCHING_STATIC};

  return ra_strategy_plan(setup->workload, setup->cluster, setup->estimator,
                          &options, error);
}

static Outcome
simulate(RaSetup *setup, guint placement, guint tp)
{
  RaReplayOptions run = {.n_iterations = 3, .fidelity = RA_FIDELITY_STAGE};
  GError *error = NULL;
  g_autoptr(RaReplay) replay = NULL;
  g_autoptr(RaBreakdown) breakdown = NULL;
  g_autofree char *text = NULL;
  RaDraft *draft = draft_of(setup, placement, tp, &error);
  Outcome outcome = {.iteration_s = 0};

  if (draft)
    text = ra_draft_write(draft, "w.workload", "c.cluster", NULL, &error);
  ra_draft_free(draft);
  if (text && ra_setup_read_plan(setup, "placement.plan", text, &error))
    replay = ra_replay_new(setup, &run, &error);
  if (!replay) {
    outcome.answered = g_error_matches(error, RA_ERROR, RA_ERROR_NEGATIVE);
    outcome.reason = g_strdup(error->message);
    g_error_free(error);
    return outcome;
  }
  breakdown = ra_breakdown_new(replay->sim, replay->graph);
  outcome.answered = TRUE;
  outcome.iteration_s = breakdown->iteration_s;
  outcome.tokens_per_s = breakdown->tokens_per_s;
  outcome.reason = reason_of(breakdown, setup->workload);
  return outcome;
}

static Outcome
run_case(guint size, guint scale, guint placement)
{
  static const guint degrees[] = {2, 4, 8};
  guint n = placements[placement].in_tp ? G_N_ELEMENTS(degrees) : 1;
  Outcome best = {.iteration_s = 0};

  for (guint i = 0; i < n; i++) {
    GError *error = NULL;
    g_autoptr(RaSetup) setup = load_pair(size, scale, placement, &error);
    Outcome one = {.iteration_s = 0};

    if (setup) {
      one = simulate(setup, placement,
                     placements[placement].in_tp ? degrees[i] : 0);
    } else {
      one.reason = g_strdup(error->message);
      g_error_free(error);
    }
    /* Where none fits, what the last that divides the heads says: it cuts the
     * weights most. */
    if (i == 0 ||
        (best.iteration_s == 0 && !strstr(one.reason, "cannot be sharded")) ||
        (one.iteration_s > 0 && one.iteration_s < best.iteration_s)) {
      g_free(best.reason);
      best = one;
    } else {
      g_free(one.reason);
    }
  }
  return best;
}

/* The quickest; @three: of the paper's three; N_PLACEMENTS: none fits. */
static guint
winner_of(const Outcome *outcomes, gboolean three)
{
  guint winner = N_PLACEMENTS;

  for (guint p = 0; p < N_PLACEMENTS; p++) {
    if (outcomes[p].iteration_s > 0 && !(three && placements[p].in_tp) &&
        (winner == N_PLACEMENTS ||
         outcomes[p].iteration_s < outcomes[winner].iteration_s))
      winner = p;
  }
  return winner;
}

static gboolean
is_answered(const Outcome *outcomes)
{
  for (guint p = 0; p < N_PLACEMENTS; p++) {
    if (!outcomes[p].answered)
      return FALSE;
  }
  return TRUE;
}

static void
print_case(guint size, guint scale, const Outcome *outcomes)
{
  guint winner = winner_of(outcomes, FALSE);
  guint of_three = winner_of(outcomes, TRUE);

  for (guint p = 0; p < N_PLACEMENTS; p++) {
    const Outcome *o = &outcomes[p];

    printf("%s\t%u\t%s\t", sizes[size], 8 * nodes[scale], placements[p].name);
    if (o->iteration_s > 0)
      printf("%.4g\t%.0f\t%s\t%s\n", o->iteration_s, o->tokens_per_s,
             p == winner     ? "yes"
             : p == of_three ? "three"
                             : "no",
             o->reason);
    else
      printf("-\t-\tno\t%s\n", o->reason);
  }
}

/* A block a size: GPUs, then tokens/s of every placement. */
static char *
make_data(Outcome outcomes[N_SIZES][N_SCALES][N_PLACEMENTS])
{
  GString *out = g_string_new("# tokens/s, by bench/placement\n# gpus");

  for (guint p = 0; p < N_PLACEMENTS; p++)
    g_string_append_printf(out, "\t%s", placements[p].name);
  for (guint size = 0; size < N_SIZES; size++) {
    g_string_append_printf(out, "\n%s# actor %s\n", size ? "\n\n" : "",
                           sizes[size]);
    for (guint scale = 0; scale < N_SCALES; scale++) {
      g_string_append_printf(out, "%s%u", scale ? "\n" : "", 8 * nodes[scale]);
      for (guint p = 0; p < N_PLACEMENTS; p++) {
        if (outcomes[size][scale][p].iteration_s > 0)
          g_string_append_printf(out, "\t%.0f",
                                 outcomes[size][scale][p].tokens_per_s);
        else
          g_string_append(out, "\t0");
      }
    }
  }
  g_string_append_c(out, '\n');
  return g_string_free(out, FALSE);
}

/* Four panels of bars; what does not fit has none. */
static char *
make_script(const char *data, gboolean svg)
{
  GString *out = g_string_new(NULL);

  g_string_append_printf(
      out,
      "set terminal %s size 900,560 font 'sans,11'\n"
      "set multiplot layout 2,2\n"
      "set style data histograms\nset style fill solid border -1\n"
      "set yrange [0:*]\nset grid ytics lc rgb '#dddddd'\n"
      "set ylabel 'tokens/s'\nset xlabel 'A100 GPUs (no bar: does not "
      "fit)'\nset key off\n",
      svg ? "svg" : "pngcairo");
  ra_quote_block(out, "data", data);
  for (guint size = 0; size < N_SIZES; size++) {
    /* Where the fewest bars are, so that it hides none. */
    if (size == N_SIZES - 1)
      g_string_append(out, "set key top left Left reverse\n");
    g_string_append(out, "set title ");
    ra_quote_gnuplot(out, "actor and ref LLaMA-%s", sizes[size]);
    g_string_append(out, "\nplot ");
    for (guint p = 0; p < N_PLACEMENTS; p++) {
      g_string_append_printf(
          out, "%s$data index %u using %u:xtic(1) lc rgb '#%06x' title ",
          p ? ", " : "", size, p + 2, ra_palette_color(p));
      ra_quote_gnuplot(out, "%s", placements[p].name);
    }
    g_string_append_c(out, '\n');
  }
  g_string_append(out, "unset multiplot\n");
  return g_string_free(out, FALSE);
}

static gboolean
draw(const char *path, Outcome outcomes[N_SIZES][N_SCALES][N_PLACEMENTS],
     GError **error)
{
  g_autofree char *data = make_data(outcomes);
  g_autofree char *script = make_script(data, g_str_has_suffix(path, ".svg"));
  g_autofree char *stem = g_strndup(path, strcspn(path, "."));
  g_autofree char *data_path = g_strconcat(stem, ".dat", NULL);
  g_autofree char *program = ra_gnuplot_find();
  g_autoptr(GBytes) picture = NULL;
  const char *bytes;
  gsize n;

  if (!ra_file_write(data_path, data, strlen(data), error))
    return FALSE;
  if (!program) {
    printf("# no gnuplot: the data are written, the picture is not\n");
    return TRUE;
  }
  if (!ra_gnuplot_run(program, script, RA_GNUPLOT_LIMIT_S, &picture, error))
    return FALSE;
  bytes = g_bytes_get_data(picture, &n);
  return ra_file_write(path, bytes, n, error);
}

int
main(int argc, char **argv)
{
  gboolean quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
  const char *path =
      argc > 2 && strcmp(argv[1], "--plot") == 0 ? argv[2] : NULL;
  static Outcome outcomes[N_SIZES][N_SCALES][N_PLACEMENTS];
  guint n_settings = 0;
  GError *error = NULL;

  printf("# placements of Xiao et al. (arXiv 2312.11819) on A100, simulated; "
         "winner: yes, the quickest; three, the quickest that does not "
         "generate in tp; reason: the largest share of the GPU time, and "
         "where that computes the largest that does not\n"
         "actor\tgpus\tplacement\titeration_s\ttokens_per_s\twinner\treason\n");
  for (guint size = 0; size < (quick ? 1 : N_SIZES); size++) {
    for (guint scale = 0; scale < (quick ? 2 : N_SCALES); scale++) {
      for (guint p = 0; p < N_PLACEMENTS; p++)
        outcomes[size][scale][p] = run_case(size, scale, p);
      print_case(size, scale, outcomes[size][scale]);
      n_settings += is_answered(outcomes[size][scale]);
    }
  }
  if (path && !draw(path, outcomes, &error)) {
    fprintf(stderr, "placement: %s\n", error->message);
    g_error_free(error);
  }
  for (guint size = 0; size < N_SIZES; size++)
    for (guint scale = 0; scale < N_SCALES; scale++)
      for (guint p = 0; p < N_PLACEMENTS; p++)
        g_free(outcomes[size][scale][p].reason);
  /* All are answered: planned and run, or refused with the reason. */
  bench_bar("placement_settings", n_settings, BENCH_AT_LEAST, quick ? 2 : 16);
  return 0;
}
