/* reallot study: a question asked of many plans. */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/world.h"
#include "study/plot/study_plot.h"
#include "study/sweep/answer.h"
#include "study/sweep/refine.h"

#define MAX_THREADS 1024
#define COLUMNS 80
#define LINES 16
#define POINTS_SHOWN 40
#define NOTE_CHARS 40

/* As they are typed; owned, nullable. */
typedef struct {
  char *threads, *cache, *plot;
  gboolean no_cache;
} Texts;

static void
texts_clear(Texts *texts)
{
  g_free(texts->threads);
  g_free(texts->cache);
  g_free(texts->plot);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Texts, texts_clear)

/* How far the sweep is. */
typedef struct {
  gint64 begin_us;
  gint n_done, n_points; /* atomic */
  gboolean is_shown;     /* on a terminal */
  gboolean is_kept;      /* points are cached */
} Progress;

/* How long the rest will take, by what the new ones took so far. */
static void
show_progress(guint n_done, guint n_points, guint n_cached, void *data)
{
  Progress *p = data;
  double s = (double)(g_get_monotonic_time() - p->begin_us) * 1e-6;
  guint n_new = n_done - n_cached;

  g_atomic_int_set(&p->n_done, (gint)n_done);
  g_atomic_int_set(&p->n_points, (gint)n_points);
  if (!p->is_shown)
    return;
  fprintf(stderr, "\r\033[K%u of %u points", n_done, n_points);
  if (n_cached > 0)
    fprintf(stderr, ", %u known", n_cached);
  if (n_new > 0)
    fprintf(stderr, ", %.0f s left", s / n_new * (n_points - n_done));
}

static char *
last_words(gconstpointer data)
{
  const Progress *p = data;

  return ra_sweep_stopped_line((guint)g_atomic_int_get(&p->n_done),
                               (guint)g_atomic_int_get(&p->n_points),
                               p->is_kept);
}

/* Warnings: no errors, but worth knowing. */
static void
warn(const RaSweep *sweep, const RaPointCache *cache)
{
  const char *first = NULL;
  guint n = cache ? ra_point_cache_n_damaged(cache, &first) : 0;

  if (n > 0)
    fprintf(stderr,
            "reallot: %s: damaged cache entry, point run again (%u in all)\n",
            first, n);
  if (!sweep->is_kept)
    fprintf(stderr,
            "reallot: the cache cannot be written, points were not kept\n");
}

/* Reasons that the column of notes cuts off, each once and in full. */
static void
append_reasons(GString *out, const RaSweep *sweep)
{
  g_autoptr(GPtrArray) said = g_ptr_array_new();

  for (guint i = 0; i < sweep->n; i++) {
    char *why = sweep->points[i].trial.refusal;
    g_autofree char *text = NULL;

    if (!why || g_utf8_strlen(why, -1) <= NOTE_CHARS ||
        g_ptr_array_find_with_equal_func(said, why, g_str_equal, NULL))
      continue;
    g_ptr_array_add(said, why);
    text = g_strconcat("Not run: ", why, NULL);
    g_string_append_c(out, '\n');
    ra_output_wrapped(out, text);
  }
}

static gboolean
print(const RaSweep *sweep, const RaAnswer *answer, RaFormat format,
      GError **error)
{
  g_autoptr(RaTable) points =
      ra_sweep_table(sweep, format == RA_FORMAT_TEXT ? NOTE_CHARS : G_MAXUINT);
  g_autoptr(GPtrArray) tables = g_ptr_array_new();
  g_autoptr(GString) out = g_string_new(NULL);

  if (format != RA_FORMAT_TEXT) {
    g_ptr_array_add(tables, answer->table);
    g_ptr_array_add(tables, points);
    return ra_output_tables(tables, format, error);
  }
  g_string_append_printf(out, "%s\n\n", sweep->study->title);
  ra_output_top(out, points, "Points", POINTS_SHOWN, "further");
  g_string_append_c(out, '\n');
  if (ra_table_n_rows(answer->table) > 0) {
    ra_output_titled(out, answer->table, "Answer");
    g_string_append_c(out, '\n');
  }
  ra_output_wrapped(out, answer->sentence);
  append_reasons(out, sweep);
  return ra_output_print(out->str, out->len, error);
}

static gboolean
draw(const RaSweep *sweep, const RaAnswer *answer, const char *path,
     GError **error)
{
  g_autofree char *text = NULL;

  if (strcmp(path, "-") != 0)
    return ra_study_plot(sweep, answer, path, error);
  text = ra_study_text(sweep, COLUMNS, LINES);
  return ra_output_print("\n", 1, error) &&
         ra_output_print(text, strlen(text), error);
}

static RaStudy *
load(const char *name, GError **error)
{
  g_autofree char *path = ra_share_find("studies", name, NULL, error);
  g_autoptr(RaKeyFile) file = path ? ra_key_file_load(path, error) : NULL;

  return file ? ra_study_load(file, error) : NULL;
}

/* The exit status: 1 where there is no answer. */
static int
study(const RaOptions *options, const Texts *texts, guint n_threads,
      GError **error)
{
  RaSetupFlags flags = ra_options_setup(options);
  g_autoptr(RaStudy) question = load(options->files[0], error);
  g_autoptr(RaPointCache) cache =
      texts->no_cache ? NULL : ra_point_cache_new(texts->cache);
  RaWorld *world = ra_cli_world_current();
  gboolean is_first = !world || world->process == 0;
  Progress progress = {.begin_us = g_get_monotonic_time(),
                       .is_shown = isatty(STDERR_FILENO) != 0,
                       .is_kept = cache != NULL};
  RaSweepOptions wanted = {.n_threads = n_threads,
                           .world = world,
                           .cache = cache,
                           .stop = ra_interrupt_watch(),
                           .data = &progress};
  g_autoptr(RaSweep) sweep = NULL;
  g_autoptr(RaAnswer) answer = NULL;

  if (!question)
    return 0;
  if (!is_first)
    wanted.cache = NULL;
  if (is_first)
    wanted.progress = show_progress;
  if (!world)
    ra_interrupt_bound(last_words, &progress);
  sweep = ra_sweep_new(question, &flags, &wanted, error);
  if (sweep)
    sweep = ra_refine(g_steal_pointer(&sweep), &flags, &wanted, error);
  if (is_first && progress.is_shown)
    fputs("\r\033[K", stderr);
  if (!sweep)
    return 0;
  warn(sweep, cache);
  answer = ra_answer_new(sweep);
  if (!print(sweep, answer, options->format, error) ||
      (texts->plot && is_first && !draw(sweep, answer, texts->plot, error)))
    return 0;
  return answer->found ? 0 : 1;
}

static int
run(int argc, char **argv, GError **error)
{
  g_auto(RaOptions) options = RA_OPTIONS_INIT;
  g_auto(Texts) texts = {.threads = NULL};
  uint64_t n_threads = 0;
  const GOptionEntry own[] = {
      {"plot", 0, 0, G_OPTION_ARG_FILENAME, &texts.plot,
       "Picture of the points: FILE.svg, .png or .pdf; - prints text", "FILE"},
      {"threads", 0, 0, G_OPTION_ARG_FILENAME, &texts.threads,
       "Concurrent points of each process (default: one per processor)", "N"},
      {"cache", 0, 0, G_OPTION_ARG_FILENAME, &texts.cache,
       "Cache of points (default: in the user's cache directory)", "FOLDER"},
      {"no-cache", 0, 0, G_OPTION_ARG_NONE, &texts.no_cache,
       "Run every point, without reading or writing the cache", NULL},
      {.long_name = NULL}};

  if (!ra_options_parse(&options, &ra_command_study, own, argc, argv, error) ||
      options.help ||
      !ra_option_uint64("--threads", texts.threads, 1, MAX_THREADS, &n_threads,
                        error) ||
      !ra_option_file("--cache", texts.cache, error) ||
      (texts.plot && strcmp(texts.plot, "-") != 0 &&
       !ra_study_plot_check(texts.plot, error)))
    return 0;
  return study(&options, &texts, (guint)n_threads, error);
}

const RaCommand ra_command_study = {
    .name = "study",
    .arguments = "STUDY",
    .summary = "Answer a question over many plans",
    .details = "Points that have run before come from the cache; Ctrl-C keeps "
               "those that have\n"
               "ended.  The exit status is 1 if no point answers the question. "
               " Processes started\n"
               "by mpirun or srun share the points.\n\n"
               "Examples:\n"
               "  reallot study gpus.study\n"
               "  reallot study lengths.study --plot=lengths.svg\n"
               "  mpirun -q -n 4 reallot study lengths.study\n"
               "  reallot study gpus.study --set 'cluster.price=2 USD/gpu/h' "
               "--format=tsv\n",
    .groups = RA_OPTIONS_FORMAT | RA_OPTIONS_SETUP,
    .n_files = 1,
    .run = run,
};
