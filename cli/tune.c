/* reallot tune: a faster configuration of another framework. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/line_diff.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "study/contest/tune_key.h"
#include "study/contest/tune_size.h"
#include "study/report/tune_page.h"

#define DEFAULT_TIME_S 60
#define MAX_THREADS 4096
#define CAUSES_SHOWN 8

/* As they are typed; owned, nullable. */
typedef struct {
  char *from, *gpu, *prompt, *response, *model, *time, *seed, *threads;
  char *report, *nodes, *gpus, *allow;
  char **sets, **keeps;
} Texts;

static void
texts_clear(Texts *texts)
{
  g_free(texts->from);
  g_free(texts->gpu);
  g_free(texts->prompt);
  g_free(texts->response);
  g_free(texts->model);
  g_free(texts->time);
  g_free(texts->seed);
  g_free(texts->threads);
  g_free(texts->report);
  g_free(texts->nodes);
  g_free(texts->gpus);
  g_free(texts->allow);
  g_strfreev(texts->sets);
  g_strfreev(texts->keeps);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Texts, texts_clear)

static void
show_news(const RaTuneNews *news, void *data)
{
  (void)data;
  fprintf(stderr, "\r\033[K%s: %u configurations, now %.4g s, best %.4g s",
          news->phase, news->n_tried, news->now_s, news->best_s);
}

/* Parts of the learning that may change, as bits. */
static gboolean
read_allows(const char *text, guint *out, GError **error)
{
  g_auto(GStrv) words = g_strsplit(text ? text : "", ",", -1);

  for (guint i = 0; words[i]; i++) {
    int which = 0;

    if (!ra_option_word("--allow", words[i], ra_tune_learning_names + 1, &which,
                        error))
      return FALSE;
    *out |= 1u << (which + 1);
  }
  return TRUE;
}

static gboolean
read_texts(const Texts *texts, RaTuneOptions *out, GError **error)
{
  double seconds = DEFAULT_TIME_S;
  uint64_t threads = 0;
  int framework = RA_N_FRAMEWORKS;

  if ((texts->from && !ra_option_word("--from", texts->from, ra_framework_names,
                                      &framework, error)) ||
      !read_allows(texts->allow, &out->allows, error) ||
      !ra_option_seconds("--time", texts->time, &seconds, error) ||
      !ra_option_uint64("--seed", texts->seed, 0, UINT64_MAX, &out->seed,
                        error) ||
      !ra_option_uint64("--threads", texts->threads, 1, MAX_THREADS, &threads,
                        error))
    return FALSE;
  out->framework = framework;
  out->n_threads = (guint)threads;
  out->sets = (const char *const *)texts->sets;
  out->keeps = (const char *const *)texts->keeps;
  out->until = (RaUntil){ra_interrupt_watch(),
                         g_get_monotonic_time() + (gint64)(1e6 * seconds)};
  return TRUE;
}

/* The changed configuration beside the one as given; both nullable. */
typedef struct {
  char *text, *diff; /* owned */
} Changed;

static void
changed_clear(Changed *changed)
{
  g_free(changed->text);
  g_free(changed->diff);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Changed, changed_clear)

/* FALSE: keys cannot be changed in place. */
static gboolean
change(const RaTune *tune, const RaTuneOptions *how, const char *output,
       Changed *out, GError **error)
{
  g_autofree char *given = NULL;
  const char *name = output && strcmp(output, "-") != 0 ? output : how->config;

  out->text = ra_tune_text(tune, how->config, error);
  if (!out->text || !g_file_get_contents(how->config, &given, NULL, error))
    return FALSE;
  out->diff = ra_line_diff(how->config, name, given, out->text);
  return TRUE;
}

/* (transfer full): a row a line. */
static RaTable *
diff_table(const char *diff)
{
  RaTable *table = ra_table_new("diff");
  g_auto(GStrv) lines = g_strsplit(diff, "\n", -1);

  ra_table_column(table, "line", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; lines[i] && lines[i + 1]; i++) {
    ra_table_row(table);
    ra_table_text(table, lines[i]);
  }
  return table;
}

/* All that is printed; @diff, @least nullable. */
typedef struct {
  const GPtrArray *sizes; /* of tunings */
  const RaTune *tune;     /* the one that is told */
  const char *diff, *least;
  gboolean is_sized; /* sizes were asked for */
} Result;

static gboolean
print_text(const Result *result, GError **error)
{
  const RaTune *tune = result->tune;
  g_autoptr(RaTable) sizes = ra_tune_sizes_table(result->sizes);
  g_autoptr(RaTable) table = ra_tune_table(tune);
  g_autoptr(RaTable) changes = ra_tune_changes_table(tune);
  g_autoptr(RaTable) path = ra_tune_path_table(tune);
  g_autofree char *sentence = ra_tune_sentence(tune);
  g_autofree char *title =
      g_strdup_printf("An iteration on %u node%s, now and then (%s fidelity)",
                      tune->setup->cluster->n_nodes,
                      tune->setup->cluster->n_nodes == 1 ? "" : "s",
                      tune->is_stage ? "stage" : "op");
  g_autoptr(GString) out = g_string_new(NULL);

  if (result->is_sized) {
    ra_output_titled(out, sizes, "Sizes");
    g_string_append_c(out, '\n');
  }
  ra_output_titled(out, table, title);
  if (tune->changes->len > 0) {
    g_string_append_c(out, '\n');
    ra_output_titled(out, changes, "Keys to change");
    g_string_append_c(out, '\n');
    ra_output_top(out, path, "Why: the critical path of an iteration",
                  CAUSES_SHOWN, "further");
  }
  if (result->diff && *result->diff)
    g_string_append_printf(out, "\n%s", result->diff);
  g_string_append_c(out, '\n');
  ra_output_wrapped(out, sentence);
  if (result->least)
    ra_output_wrapped(out, result->least);
  return ra_output_print(out->str, out->len, error);
}

/* (transfer full): a row, or none where it fits. */
static RaTable *
least_table(const char *least)
{
  RaTable *table = ra_table_new("least_hardware");

  ra_table_column(table, "what", RA_UNIT_NONE, RA_CELL_TEXT);
  if (least) {
    ra_table_row(table);
    ra_table_text(table, least);
  }
  return table;
}

static gboolean
print(const Result *result, RaFormat format, GError **error)
{
  g_autoptr(GPtrArray) tables =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_table_free);

  if (format == RA_FORMAT_TEXT)
    return print_text(result, error);
  g_ptr_array_add(tables, ra_tune_table(result->tune));
  g_ptr_array_add(tables, ra_tune_changes_table(result->tune));
  g_ptr_array_add(tables, ra_tune_path_table(result->tune));
  g_ptr_array_add(tables, diff_table(result->diff ? result->diff : ""));
  g_ptr_array_add(tables, ra_tune_sizes_table(result->sizes));
  g_ptr_array_add(tables, least_table(result->least));
  return ra_output_tables(tables, format, error);
}

static gboolean
write_files(const RaTune *tune, const RaOptions *options,
            const RaTuneOptions *how, const char *report,
            const Changed *changed, GError **error)
{
  g_autofree char *html = NULL;

  if (options->output && tune->then.fits &&
      !ra_output_write(options->output, changed->text, strlen(changed->text),
                       error))
    return FALSE;
  if (!report)
    return TRUE;
  html = ra_report_tuning(tune, how->config, changed->diff, how->seed, error);
  return html && ra_output_write(report, html, strlen(html), error);
}

static int
tune(const RaOptions *options, const Texts *texts, RaTuneOptions *how,
     GError **error)
{
  gboolean shows = isatty(STDERR_FILENO);
  uint32_t counts[RA_OPTION_SIZES_MAX] = {0}, best;
  guint n = 0;
  g_autoptr(GPtrArray) sizes = NULL;
  g_autofree char *least = NULL;
  g_auto(Changed) changed = {NULL, NULL};
  Result result = {.is_sized = texts->nodes || texts->gpus};
  gboolean fits, ok;

  if (texts->nodes && texts->gpus) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--nodes and --gpus exclude each other");
    return 0;
  }
  if (!ra_option_sizes("--nodes", texts->nodes, counts, &n, error) ||
      !ra_option_sizes("--gpus", texts->gpus, counts, &n, error))
    return 0;
  how->progress = shows ? show_news : NULL;
  sizes = ra_tune_sizes_new(how, counts, MAX(1, n), texts->gpus != NULL, error);
  best = sizes ? ra_tune_sizes_best(sizes) : RA_NONE;
  fits = best != RA_NONE;
  if (sizes) {
    result.sizes = sizes;
    result.tune = sizes->pdata[fits ? best : sizes->len - 1];
    if (!fits)
      result.least = least = ra_tune_least(how, result.tune);
  }
  if (shows)
    fputs("\r\033[K", stderr);
  if (!sizes)
    return 0;
  /* A file that cannot be changed in place has keys to change, if no diff. */
  ok = !fits || change(result.tune, how, options->output, &changed,
                       options->output ? error : NULL);
  if ((!ok && options->output) ||
      !write_files(result.tune, options, how, texts->report, &changed, error))
    return 0;
  result.diff = changed.diff;
  return print(&result, options->format, error) && fits ? 0 : 1;
}

static int
run(int argc, char **argv, GError **error)
{
  g_auto(RaOptions) options = RA_OPTIONS_INIT;
  g_auto(Texts) texts = {.from = NULL};
  RaTuneOptions how = {.seed = 0};
  g_autofree char *source = NULL;
  const GOptionEntry own[] = {
      {"from", 0, 0, G_OPTION_ARG_FILENAME, &texts.from,
       "Framework: verl, nemo-rl, openrlhf or slime (default: detected from "
       "the "
       "keys)",
       "NAME"},
      {"keep", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &texts.keeps,
       "Keys that stay as they are, such as '*offload' (repeatable)", "KEY"},
      {"allow", 0, 0, G_OPTION_ARG_FILENAME, &texts.allow,
       "What of the learning may change: staleness, mini-batches, "
       "rollout-dtype, training-dtype (default: nothing)",
       "WHAT[,WHAT]"},
      {"set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &texts.sets,
       "Override a key or a variable of the script first (repeatable)",
       "KEY=VALUE"},
      {"model", 0, 0, G_OPTION_ARG_FILENAME, &texts.model,
       "Model config or name: CONFIG for all, or actor=CONFIG,ref=CONFIG ...",
       "CONFIG"},
      {"gpu", 0, 0, G_OPTION_ARG_FILENAME, &texts.gpu,
       "GPU profile (default: h100-sxm)", "NAME"},
      {"prompt-length", 0, 0, G_OPTION_ARG_FILENAME, &texts.prompt,
       "Distribution of prompt lengths (default: the maximum, fixed)",
       "DISTRIBUTION"},
      {"response-length", 0, 0, G_OPTION_ARG_FILENAME, &texts.response,
       "Distribution of response lengths (default: the maximum, fixed)",
       "DISTRIBUTION"},
      {"nodes", 0, 0, G_OPTION_ARG_FILENAME, &texts.nodes,
       "The same on so many nodes, by the keys that say them", "N[,N]"},
      {"gpus", 0, 0, G_OPTION_ARG_FILENAME, &texts.gpus,
       "The same on so many GPUs, of whole nodes", "N[,N]"},
      {"report", 0, 0, G_OPTION_ARG_FILENAME, &texts.report,
       "Write all of it, with timelines of both, as a page", "FILE.html"},
      {"time", 0, 0, G_OPTION_ARG_FILENAME, &texts.time,
       "Time of the whole command (default: 60 s)", "SECONDS"},
      {"seed", 0, 0, G_OPTION_ARG_FILENAME, &texts.seed,
       "Seed of sampled lengths (default: 0)", "N"},
      {"threads", 0, 0, G_OPTION_ARG_FILENAME, &texts.threads,
       "Number of threads (default: one per processor)", "N"},
      {.long_name = NULL}};

  if (!ra_options_parse(&options, &ra_command_tune, own, argc, argv, error) ||
      options.help || !read_texts(&texts, &how, error))
    return 0;
  how.config = options.files[0];
  source = g_path_get_basename(how.config);
  how.recipe = (RaRecipeOptions){.name = "tune",
                                 .source = source,
                                 .gpu = texts.gpu,
                                 .prompt_length = texts.prompt,
                                 .response_length = texts.response,
                                 .models = texts.model,
                                 .script = how.config};
  return tune(&options, &texts, &how, error);
}

const RaCommand ra_command_tune = {
    .name = "tune",
    .arguments = "CONFIG",
    .summary = "Find a faster configuration of another framework",
    .details =
        "CONFIG is a launch script or YAML of verl, NeMo-RL, OpenRLHF or "
        "slime.  It is\n"
        "imported and simulated, and its keys are changed for as long as an "
        "iteration gets\n"
        "faster: one by one, then as a search for the framework's plans "
        "finds.\n"
        "Batch, lengths, staleness, optimizer steps and GPUs stay; --allow and "
        "--nodes have\n"
        "others.  The changed configuration, of the fastest size, goes to "
        "--output.  If\n"
        "nothing fits, the least hardware that would do is sought, and the "
        "exit status is 1.\n"
        "Ctrl-C ends it with the best so far.\n\n"
        "Examples:\n"
        "  reallot tune run_qwen2-7b.sh -o faster.sh\n"
        "  reallot tune grpo_math_8B.yaml --set cluster.num_nodes=4 "
        "--keep='*memory_utilization' \\\n"
        "    --response-length='lognormal(700, 500, 3968)'\n"
        "  reallot tune run_qwen2-7b.sh --allow=mini-batches,rollout-dtype\n"
        "  reallot tune run_qwen2-7b.sh --nodes=1,2,4 --report=sizes.html\n",
    .groups = RA_OPTIONS_FORMAT | RA_OPTIONS_OUTPUT,
    .n_files = 1,
    .run = run,
};
