/* The regime map: which placement family wins where, by how much, and what the
 * search finds beyond it.
 *
 * PPO with an actor of 7B, 13B, 34B or 70B on 8 to 1,024 H100 (nodes of 8,
 * 400 Gbit/s a GPU), bf16: 8 prompts a GPU of 1,024 tokens, responses of 512
 * (short) or 8,192 (long) each, 4 mini-batches; critic and reward as large as
 * the actor (equal) or of 7B.  No system's constants, decode steps as graphs.
 * The search runs at every third size, 8, 64 and 512 GPUs, as it is most of the
 * work, as `search --time=10` has it.
 *
 * gain_frac: the second family's time over the first's, less 1;
 * found_gain_frac: the first family's over that of the plan found.
 *
 * --plot FILE.svg|.png|.pdf also draws it, FILE.dat is what is drawn: colour
 * and letter are the family, below them the two gains.
 * --families: without the search.  --quick: two actors, three sizes.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/palette.h"
#include "base/quote.h"
#include "bench/figure.h"
#include "study/contest/contest.h"
#include "study/plot/picture.h"
#include "study/validate/rl_step.h"

#define SEARCH_S 10 /* with the families, and all replays */

enum { N_ACTORS = 4, N_SCALES = 8, N_PANELS = 4 };

static const char *const actors[N_ACTORS] = {"7B", "13B", "34B", "70B"};
static const uint32_t scales[N_SCALES] = {8, 16, 32, 64, 128, 256, 512, 1024};
static const struct {
  const char *name, *title;
  double response;
  gboolean equal;
} panels[N_PANELS] = {
    {"short-equal", "512 tokens, critic as the actor", 512, TRUE},
    {"short-7B", "512 tokens, critic 7B", 512, FALSE},
    {"long-equal", "8,192 tokens, critic as the actor", 8192, TRUE},
    {"long-7B", "8,192 tokens, critic 7B", 8192, FALSE},
};
/* By RaStrategyKind. */
static const char letters[] = "CIDMRH";

typedef struct {
  gboolean done, searched;
  double family_s[RA_N_STRATEGIES]; /* 0: no plan, or it does not fit */
  double found_s;                   /* 0: none, or not searched */
  guint first, second;              /* RA_N_STRATEGIES: none */
} Cell;

typedef struct {
  const char *plot; /* nullable */
  gboolean quick, families;
} Options;

static Cell cells[N_PANELS][N_ACTORS][N_SCALES];

/* --- cells --- */

static void
rank_families(Cell *cell)
{
  cell->first = cell->second = RA_N_STRATEGIES;
  for (guint k = 0; k < RA_N_STRATEGIES; k++) {
    double own_s = cell->family_s[k];

    if (own_s <= 0)
      continue;
    if (cell->first == RA_N_STRATEGIES || own_s < cell->family_s[cell->first]) {
      cell->second = cell->first;
      cell->first = k;
    } else if (cell->second == RA_N_STRATEGIES ||
               own_s < cell->family_s[cell->second]) {
      cell->second = k;
    }
  }
}

static void
read_contest(Cell *cell, const RaContest *contest)
{
  for (guint i = 0; i < contest->contenders->len; i++) {
    const RaContender *c = &g_array_index(contest->contenders, RaContender, i);

    if (!c->text || !c->fits)
      continue;
    if (c->is_found &&
        (cell->found_s <= 0 || c->worth.iteration_s < cell->found_s))
      cell->found_s = c->worth.iteration_s;
    for (guint k = 0; !c->is_found && k < RA_N_STRATEGIES; k++)
      if (g_str_equal(c->name, ra_strategy_names[k]))
        cell->family_s[k] = c->worth.iteration_s;
  }
}

static void
run_cell(guint panel, guint actor, guint scale, const Options *options)
{
  Cell *cell = &cells[panel][actor][scale];
  RaRlStep step = {.model = actors[actor],
                   .critic = panels[panel].equal ? actors[actor] : "7B",
                   .gpu = "h100",
                   .n_gpus = scales[scale],
                   .n_sequences = 8 * scales[scale],
                   .n_mini_batches = 4,
                   .prompt_tokens = 1024,
                   .mean_tokens = panels[panel].response,
                   .max_tokens = panels[panel].response};
  RaUntil whole = {NULL, g_get_monotonic_time() + SEARCH_S * G_USEC_PER_SEC};
  RaContestOptions contest_options = {.kind = RA_SPACE_COMMON,
                                      .n_near = 2,
                                      .whole = &whole,
                                      .families_only =
                                          options->families || scale % 3 != 0,
                                      .n_iterations = 3,
                                      .time_limit_s = SEARCH_S,
                                      .workload = "w.workload",
                                      .cluster = "c.cluster"};
  g_autoptr(GError) error = NULL;
  g_autoptr(RaSetup) setup = NULL;
  g_autoptr(RaContest) contest = NULL;

  if (panel > 0 && actor == 0 && !panels[panel].equal) {
    *cell = cells[panel - 1][actor][scale]; /* the critic is as the actor */
    return;
  }
  setup = ra_rl_setup_new(&step, &error);
  if (setup)
    contest = ra_contest_new(setup, &contest_options, &error);
  if (contest) {
    read_contest(cell, contest);
  } else if (!g_error_matches(error, RA_ERROR, RA_ERROR_NEGATIVE)) {
    fprintf(stderr, "regimes: %s\n", error->message);
    exit(2);
  }
  cell->done = TRUE;
  cell->searched = !contest_options.families_only;
  rank_families(cell);
}

/* By how much the second is behind the first; NAN: there are not two. */
static double
gain_of(const Cell *cell)
{
  return cell->second < RA_N_STRATEGIES
             ? cell->family_s[cell->second] / cell->family_s[cell->first] - 1
             : (double)NAN;
}

static double
found_gain_of(const Cell *cell)
{
  return cell->found_s > 0 && cell->first < RA_N_STRATEGIES
             ? cell->family_s[cell->first] / cell->found_s - 1
             : (double)NAN;
}

/* --- the table --- */

static void
print_real(double value, const char *format)
{
  if (isfinite(value) && value != 0)
    printf(format, value);
  else
    printf("\t-");
}

static const char *
family_name(guint family)
{
  return family < RA_N_STRATEGIES ? ra_strategy_names[family] : "-";
}

static void
print_cell(guint panel, guint actor, guint scale)
{
  const Cell *cell = &cells[panel][actor][scale];

  printf("%.0f\t%s\t%s\t%u\t%s\t%s", panels[panel].response,
         panels[panel].equal ? actors[actor] : "7B", actors[actor],
         scales[scale], family_name(cell->first), family_name(cell->second));
  print_real(gain_of(cell), "\t%.4f");
  print_real(cell->found_s, "\t%.4g");
  print_real(found_gain_of(cell), "\t%.4f");
  for (guint k = 0; k < RA_N_STRATEGIES; k++)
    print_real(cell->family_s[k], "\t%.4g");
  printf("\n");
  fflush(stdout);
}

/* --- the picture --- */

static char *
make_data(void)
{
  GString *out = g_string_new("# by bench/regimes; a block a panel\n"
                              "# actor\tgpus\tletter\tgain_percent\t"
                              "found_gain_percent\n");

  for (guint p = 0; p < N_PANELS; p++) {
    g_string_append_printf(out, "%s# %s\n", p > 0 ? "\n\n" : "",
                           panels[p].title);
    for (guint a = 0; a < N_ACTORS; a++)
      for (guint s = 0; s < N_SCALES; s++) {
        const Cell *cell = &cells[p][a][s];

        if (cell->done)
          g_string_append_printf(
              out, "%s\t%u\t%c\t%.4g\t%.4g\n", actors[a], scales[s],
              cell->first < RA_N_STRATEGIES ? letters[cell->first] : '-',
              100 * gain_of(cell), 100 * found_gain_of(cell));
      }
  }
  return g_string_free(out, FALSE);
}

/* One cell as a rectangle with up to three lines of text. */
static void
append_cell(GString *out, const Cell *cell, guint actor, guint scale)
{
  g_autoptr(GString) text = g_string_new("\""); /* in which \n is a line */
  uint32_t fill = 0xffffff;

  if (!cell->done)
    return;
  if (cell->first < RA_N_STRATEGIES) {
    fill = ra_palette_tint(ra_palette_color(cell->first), 0.35);
    g_string_append_c(text, letters[cell->first]);
    if (isfinite(gain_of(cell)))
      g_string_append_printf(text, "\\n+%.0f%% %c", 100 * gain_of(cell),
                             letters[cell->second]);
    if (isfinite(found_gain_of(cell)))
      g_string_append_printf(text, "\\ns +%.0f%%",
                             100 * MAX(found_gain_of(cell), 0));
  } else {
    g_string_append(text, cell->found_s > 0 ? "s only" : "-");
  }
  g_string_append_c(text, '"');
  g_string_append_printf(
      out,
      "set object rectangle from %u,%u to %u,%u fc rgb '#%06x' fs solid "
      "border rgb 'white' lw 1\n"
      "set label ",
      scale, actor, scale + 1, actor + 1, fill);
  g_string_append_printf(
      out, "%s at %u.5,%u.5 center offset 0,%s tc rgb %s font ',8'\n",
      text->str, scale, actor, strstr(text->str, "s +") ? "0.6" : "0.3",
      ra_palette_luma_frac(fill) < 0.45 ? "'white'" : "'black'");
}

/* Panels, then what the letters are. */
static char *
make_script(const char *terminal)
{
  GString *out = g_string_new(NULL);

  ra_picture_append_size(out, terminal, 1100, 700);
  g_string_append(out, "set multiplot layout 2,2 margins 0.05,0.99,0.16,0.95 "
                       "spacing 0.05,0.12\n"
                       "set xrange [0:8]\nset yrange [0:4]\nset tics nomirror "
                       "scale 0\nset border 0\nset key off\n"
                       "set xtics (");
  for (guint s = 0; s < N_SCALES; s++)
    g_string_append_printf(out, "%s'%u' %u.5", s > 0 ? ", " : "", scales[s], s);
  g_string_append(out, ")\nset ytics (");
  for (guint a = 0; a < N_ACTORS; a++) {
    g_string_append(out, a > 0 ? ", " : "");
    ra_quote_gnuplot(out, "%s", actors[a]);
    g_string_append_printf(out, " %u.5", a);
  }
  g_string_append(out, ")\n");
  for (guint p = 0; p < N_PANELS; p++) {
    g_string_append(out, "unset object\nunset label\nset title ");
    ra_quote_gnuplot(out, "responses of %s", panels[p].title);
    g_string_append(out, "\nset xlabel ");
    ra_quote_gnuplot(out, "%s", p >= 2 ? "H100 GPUs" : "");
    g_string_append_c(out, '\n');
    for (guint a = 0; a < N_ACTORS; a++)
      for (guint s = 0; s < N_SCALES; s++)
        append_cell(out, &cells[p][a][s], a, s);
    if (p == N_PANELS - 1)
      for (guint k = 0; k < RA_N_STRATEGIES; k++) {
        g_string_append_printf(
            out,
            "set object rectangle from screen %.3f,0.035 to screen %.3f,0.06 "
            "fc rgb '#%06x' fs solid noborder\nset label ",
            0.05 + 0.16 * k, 0.07 + 0.16 * k,
            ra_palette_tint(ra_palette_color(k), 0.35));
        ra_quote_gnuplot(out, "%c  %s", letters[k], ra_strategy_names[k]);
        g_string_append_printf(out, " at screen %.3f,0.047 left\n",
                               0.075 + 0.16 * k);
      }
    if (p == N_PANELS - 1)
      g_string_append(
          out, "set label '+ H: by how much it is ahead of the "
               "second family; s +: what the search finds beyond "
               "the first; -: nothing fits' at screen 0.05,0.015 left\n");
    g_string_append(out, "plot NaN notitle\n");
  }
  g_string_append(out, "unset multiplot\n");
  return g_string_free(out, FALSE);
}

static gboolean
draw(const char *path, GError **error)
{
  g_autofree char *data = make_data();
  g_autofree char *script = NULL, *terminal = NULL;

  if (!ra_picture_terminal(path, 9, &terminal, error))
    return FALSE;
  script = make_script(terminal);
  return ra_picture_write(path, NULL, data, script, error);
}

/* --- all of it --- */

static gboolean
parse_options(int argc, char **argv, Options *options)
{
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--quick") == 0)
      options->quick = TRUE;
    else if (strcmp(argv[i], "--families") == 0)
      options->families = TRUE;
    else if (strcmp(argv[i], "--plot") == 0 && i + 1 < argc)
      options->plot = argv[++i];
    else
      return FALSE;
  }
  return !options->plot || ra_picture_terminal(options->plot, 9, NULL, NULL);
}

/* A short run has every third, the ends among them. */
static gboolean
is_skipped(const Options *options, guint actor, guint scale)
{
  return options->quick && (actor % 3 != 0 || scale % 3 != 0);
}

static void
print_bars(const Options *options)
{
  guint n_done = 0, n_searched = 0, n_ahead = 0;

  for (guint p = 0; p < N_PANELS; p++)
    for (guint a = 0; a < N_ACTORS; a++)
      for (guint s = 0; s < N_SCALES; s++) {
        const Cell *cell = &cells[p][a][s];

        n_done += cell->done;
        n_ahead += found_gain_of(cell) > -1e-9;
        n_searched += cell->searched && cell->first < RA_N_STRATEGIES;
      }
  bench_bar("regimes-cells", n_done, BENCH_AT_LEAST, options->quick ? 24 : 128);
  if (!options->families)
    bench_bar("regimes-found-not-behind", n_ahead, BENCH_AT_LEAST, n_searched);
}

int
main(int argc, char **argv)
{
  Options options = {.plot = NULL};
  GError *error = NULL;

  if (!parse_options(argc, argv, &options)) {
    fprintf(stderr, "usage: regimes [--quick] [--families] "
                    "[--plot FILE.svg|.png|.pdf]\n");
    return 2;
  }
  printf("# which placement family is the quickest; seconds of an iteration, "
         "tokens of a response\n"
         "response_tokens\tcritic\tactor\tgpus\tfirst\tsecond\tgain_frac\t"
         "found_s\tfound_gain_frac");
  for (guint k = 0; k < RA_N_STRATEGIES; k++)
    printf("\t%s_s", ra_strategy_names[k]);
  printf("\n");
  for (guint p = 0; p < N_PANELS; p++)
    for (guint a = 0; a < N_ACTORS; a++)
      for (guint s = 0; s < N_SCALES; s++) {
        if (is_skipped(&options, a, s))
          continue;
        run_cell(p, a, s, &options);
        print_cell(p, a, s);
      }
  if (options.plot && !draw(options.plot, &error)) {
    fprintf(stderr, "regimes: %s\n", error->message);
    g_error_free(error);
  }
  print_bars(&options);
  return 0;
}
