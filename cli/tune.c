/* reallot tune: a faster configuration of another framework. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "study/contest/tune.h"
#include "study/contest/tune_key.h"

#define DEFAULT_TIME_S 60
#define MAX_THREADS 4096

/* As they are typed; owned, nullable. */
typedef struct {
  char *from, *gpu, *prompt, *response, *model, *time, *seed, *threads;
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
  g_strfreev(texts->sets);
  g_strfreev(texts->keeps);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Texts, texts_clear)

static void
show_news(guint n_tried, double now_s, double best_s, void *data)
{
  (void)data;
  fprintf(stderr, "\r\033[Ktuning: %u configurations, now %.4g s, best %.4g s",
          n_tried, now_s, best_s);
}

static gboolean
read_texts(const Texts *texts, RaTuneOptions *out, GError **error)
{
  double seconds = DEFAULT_TIME_S;
  uint64_t threads = 0;
  int framework = RA_N_FRAMEWORKS;

  if ((texts->from && !ra_option_word("--from", texts->from, ra_framework_names,
                                      &framework, error)) ||
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

/* The sentence below the tables. */
static char *
verdict_of(const RaTune *tune)
{
  double now_s = tune->now.worth.iteration_s;
  double then_s = tune->then.worth.iteration_s;
  guint n_keys;

  if (!tune->then.fits)
    return g_strdup_printf(
        "No change that was tried makes it fit: %.1f GiB "
        "of a GPU are lacking.\n",
        (tune->then.peak_bytes - tune->setup->cluster->device.memory_bytes) /
            (1024.0 * 1024 * 1024));
  if (!ra_tune_keys(tune->framework, &n_keys))
    return g_strdup_printf("No key of %s is known that could be changed.\n",
                           ra_framework_names[tune->framework]);
  if (tune->changes->len == 0)
    return g_strdup_printf("None of the %u configurations tried is faster.\n",
                           tune->n_tried);
  if (!tune->now.fits)
    return g_strdup_printf("As given it does not fit; with %u key%s changed it "
                           "takes %.4g s.\n",
                           tune->changes->len,
                           tune->changes->len == 1 ? "" : "s", then_s);
  return g_strdup_printf("%.3g %% less time per iteration with %u key%s "
                         "changed, of %u configurations.\n",
                         100 * (1 - then_s / now_s), tune->changes->len,
                         tune->changes->len == 1 ? "" : "s", tune->n_tried);
}

static gboolean
print(const RaTune *tune, RaFormat format, GError **error)
{
  g_autoptr(GPtrArray) tables =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_table_free);
  g_autofree char *verdict = verdict_of(tune);

  g_ptr_array_add(tables, ra_tune_table(tune));
  if (tune->changes->len > 0 || format != RA_FORMAT_TEXT)
    g_ptr_array_add(tables, ra_tune_changes_table(tune));
  return ra_output_tables(tables, format, error) &&
         (format != RA_FORMAT_TEXT ||
          (ra_output_print("\n", 1, error) &&
           ra_output_print(verdict, strlen(verdict), error)));
}

static int
tune_one(const RaOptions *options, RaTuneOptions *how, GError **error)
{
  gboolean shows = isatty(STDERR_FILENO);
  g_autoptr(RaTune) tune = NULL;
  g_autofree char *text = NULL;

  how->progress = shows ? show_news : NULL;
  tune = ra_tune_new(how, error);
  if (shows)
    fputs("\r\033[K", stderr);
  if (!tune)
    return 0;
  if (options->output && tune->then.fits) {
    text = ra_tune_text(tune, how->config, error);
    if (!text || !ra_output_write(options->output, text, strlen(text), error))
      return 0;
  }
  return print(tune, options->format, error) && tune->then.fits ? 0 : 1;
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
       "Framework: verl, nemo-rl or openrlhf (default: detected from the keys)",
       "NAME"},
      {"keep", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &texts.keeps,
       "Keys that stay as they are, such as '*offload' (repeatable)", "KEY"},
      {"set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &texts.sets,
       "Override a key or a variable of the script first (repeatable)",
       "KEY=VALUE"},
      {"model", 0, 0, G_OPTION_ARG_FILENAME, &texts.model,
       "Model config or name: CONFIG for all, or actor=CONFIG,ref=CONFIG ...",
       "CONFIG"},
      {"gpu", 0, 0, G_OPTION_ARG_FILENAME, &texts.gpu,
       "GPU profile (default: h100-sxm)", "NAME"},
      {"prompt-length", 0, 0, G_OPTION_ARG_FILENAME, &texts.prompt,
       "Distribution of prompt lengths (default: the maximum, fixed)", "LAW"},
      {"response-length", 0, 0, G_OPTION_ARG_FILENAME, &texts.response,
       "Distribution of response lengths (default: the maximum, fixed)", "LAW"},
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
  how.recipe =
      (RaRecipeOptions){"tune",         source,      texts.gpu, texts.prompt,
                        texts.response, texts.model, how.config};
  return tune_one(&options, &how, error);
}

const RaCommand ra_command_tune = {
    .name = "tune",
    .arguments = "CONFIG",
    .summary = "Find a faster configuration of another framework",
    .details =
        "CONFIG is a launch script or YAML of verl, NeMo-RL or OpenRLHF.  It "
        "is imported\n"
        "and simulated, and its keys are changed for as long as an iteration "
        "gets faster.\n"
        "Batch, lengths, staleness, optimizer steps and GPUs stay.  The "
        "changed configuration\n"
        "goes to --output; the exit status is 1 if nothing fits.  Ctrl-C ends "
        "it with the best\n"
        "so far.\n\n"
        "Examples:\n"
        "  reallot tune run_qwen2-7b.sh -o faster.sh\n"
        "  reallot tune grpo_math_8B.yaml --set cluster.num_nodes=4 "
        "--keep='*memory_utilization' \\\n"
        "    --response-length='lognormal(700, 500, 3968)'\n",
    .groups = RA_OPTIONS_FORMAT | RA_OPTIONS_OUTPUT,
    .n_files = 1,
    .run = run,
};
