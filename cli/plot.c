/* reallot plot: the timeline of a trace, or of a plan that is replayed. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "study/plot/plot.h"
#include "study/plot/plot_memory.h"
#include "study/replay.h"
#include "traces/kineto.h"

/* No screen or paper is larger, and less is no picture. */
#define MIN_SIZE_PX 20
#define MAX_SIZE_PX 20000

/* The flags of `plot` alone, as they are typed. */
typedef struct {
  char *width, *height, *title, *from, *to, *iteration, *data; /* owned */
  char *gpu;                                                   /* owned */
  gboolean memory;
} Texts;

static void
texts_clear(Texts *texts)
{
  g_free(texts->width);
  g_free(texts->height);
  g_free(texts->title);
  g_free(texts->from);
  g_free(texts->to);
  g_free(texts->iteration);
  g_free(texts->data);
  g_free(texts->gpu);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Texts, texts_clear)

static gboolean
read_texts(const Texts *texts, const RaOptions *options,
           RaPlotOptions *out_plot, GError **error)
{
  uint64_t width = 0, height = 0, iteration = UINT32_MAX;

  if (!ra_option_file("--data", texts->data, error) ||
      !ra_option_uint64("--width", texts->width, MIN_SIZE_PX, MAX_SIZE_PX,
                        &width, error) ||
      !ra_option_uint64("--height", texts->height, MIN_SIZE_PX, MAX_SIZE_PX,
                        &height, error) ||
      !ra_option_uint64("--iteration", texts->iteration, 0, UINT32_MAX - 1,
                        &iteration, error) ||
      !ra_option_seconds("--from", texts->from, &out_plot->from_s, error) ||
      !ra_option_seconds("--to", texts->to, &out_plot->to_s, error))
    return FALSE;
  if (texts->to && out_plot->to_s <= out_plot->from_s) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--to: '%s' is not after --from", texts->to);
    return FALSE;
  }
  if (texts->iteration && (texts->from || texts->to)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--iteration: expected neither --from nor --to");
    return FALSE;
  }
  out_plot->width_px = (guint)width;
  out_plot->height_px = (guint)height;
  out_plot->iteration = (uint32_t)iteration;
  out_plot->title = texts->title;
  out_plot->data_path = texts->data;
  out_plot->path = options->output;
  return TRUE;
}

/* A plan is replayed into a trace, which also gives its critical path. */
static RaTrace *
replay_plan(const RaOptions *options, RaTrace **out_path, GError **error)
{
  RaSetupFlags flags = ra_options_setup(options);
  RaReplayOptions wanted = ra_options_replay(options);
  g_autoptr(RaSetup) setup =
      ra_setup_load(options->files[0], RA_FILE_PLAN, &flags, error);
  g_autoptr(RaReplay) replay =
      setup ? ra_replay_new(setup, &wanted, error) : NULL;

  if (!replay)
    return NULL;
  *out_path = ra_record_path(replay->sim, replay->graph);
  return ra_replay_trace(setup, replay);
}

static RaTrace *
load_trace(const RaOptions *options, RaTrace **out_path, GError **error)
{
  const char *path = options->files[0];
  RaFileKind kind;

  if (!ra_file_kind(path, &kind, error))
    return NULL;
  if (kind == RA_FILE_PLAN)
    return replay_plan(options, out_path, error);
  if (kind != RA_FILE_TRACE) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: a %s has no timeline, expected a trace or a plan", path,
                ra_file_kind_name(kind));
    return NULL;
  }
  return ra_options_trace(options, error) ? ra_trace_load_any(path, error)
                                          : NULL;
}

static void
plot(const RaOptions *options, const RaPlotOptions *wanted, GError **error)
{
  g_autoptr(RaTrace) trace = NULL, path = NULL;
  RaPlotOptions marked = *wanted;
  g_autofree char *text = NULL;
  RaProgress *progress = ra_progress_begin("plotting");
  gboolean ok;

  trace = load_trace(options, &path, error);
  marked.critical = path;
  ok = trace && ra_plot_timeline(trace, &marked, &text, error);
  ra_progress_end(progress);
  if (ok && text)
    ra_output_print(text, strlen(text), error);
}

/* Memory over time is of a plan, and a picture. */
static void
plot_memory(const RaOptions *options, const RaPlotOptions *wanted,
            const Texts *texts, GError **error)
{
  RaSetupFlags flags = ra_options_setup(options);
  RaReplayOptions run = ra_options_replay(options);
  RaMemoryPlotOptions memory = {.path = wanted->path,
                                .data_path = wanted->data_path,
                                .title = wanted->title,
                                .width_px = wanted->width_px,
                                .height_px = wanted->height_px,
                                .from_s = wanted->from_s,
                                .to_s = wanted->to_s,
                                .gpu = RA_NONE};
  g_autoptr(RaSetup) setup = NULL;
  g_autoptr(RaReplay) replay = NULL;
  uint64_t gpu = RA_NONE;

  if (!wanted->path || texts->iteration) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--memory: expected --output and no --iteration");
    return;
  }
  if (!ra_option_uint64("--gpu", texts->gpu, 0, RA_NONE - 1, &gpu, error) ||
      !ra_file_kind_expect(options->files[0], RA_FILE_PLAN, error))
    return;
  memory.gpu = (uint32_t)gpu;
  setup = ra_setup_load(options->files[0], RA_FILE_PLAN, &flags, error);
  replay = setup ? ra_replay_new(setup, &run, error) : NULL;
  if (replay)
    ra_plot_memory(setup, replay, &memory, error);
}

static int
run(int argc, char **argv, GError **error)
{
  g_auto(RaOptions) options = RA_OPTIONS_INIT;
  g_auto(Texts) texts = {.title = NULL};
  RaPlotOptions wanted = RA_PLOT_OPTIONS_INIT;
  const GOptionEntry own[] = {
      {"width", 'w', 0, G_OPTION_ARG_FILENAME, &texts.width,
       "Width in pixels; of text, in columns", "N"},
      {"height", 0, 0, G_OPTION_ARG_FILENAME, &texts.height,
       "Height in pixels; of text, in lines", "N"},
      {"title", 0, 0, G_OPTION_ARG_FILENAME, &texts.title,
       "Title of the picture", "TEXT"},
      {"from", 0, 0, G_OPTION_ARG_FILENAME, &texts.from,
       "Start of the time range (default: 0)", "TIME"},
      {"to", 0, 0, G_OPTION_ARG_FILENAME, &texts.to,
       "End of the time range (default: the end of the run)", "TIME"},
      {"iteration", 0, 0, G_OPTION_ARG_FILENAME, &texts.iteration,
       "Iteration to show, counted from 0", "N"},
      {"data", 0, 0, G_OPTION_ARG_FILENAME, &texts.data,
       "Data file of the picture (default: its name with .dat)", "FILE"},
      {"memory", 0, 0, G_OPTION_ARG_NONE, &texts.memory,
       "Memory of a plan's GPU over time, by component", NULL},
      {"gpu", 0, 0, G_OPTION_ARG_FILENAME, &texts.gpu,
       "GPU of --memory (default: the one with the highest peak)", "N"},
      {.long_name = NULL}};

  if (!ra_options_parse(&options, &ra_command_plot, own, argc, argv, error) ||
      options.help || !read_texts(&texts, &options, &wanted, error))
    return 0;
  if (texts.memory)
    plot_memory(&options, &wanted, &texts, error);
  else if (texts.gpu)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "--gpu: expected --memory");
  else
    plot(&options, &wanted, error);
  return 0;
}

const RaCommand ra_command_plot = {
    .name = "plot",
    .arguments = "TRACE|PLAN",
    .summary = "Draw the timeline of a trace or a plan",
    .details =
        "The ending of the --output file selects the format: .svg, .png or "
        ".pdf, drawn by\n"
        "gnuplot.  Without --output the timeline is printed as text.  Pictures "
        "of a plan mark\nits critical path.\n\n"
        "Examples:\n"
        "  reallot plot ppo-llama3-70b-128.plan\n"
        "  reallot plot ppo-llama3-70b-128.plan -o ppo.svg --iteration 1\n"
        "  reallot plot ppo.trace.tsv -o ppo.png --from 10 --to 25\n"
        "  reallot plot --memory ppo-llama3-70b-128.plan -o memory.svg\n",
    .groups = RA_OPTIONS_OUTPUT | RA_OPTIONS_ITERATIONS | RA_OPTIONS_RUN |
              RA_OPTIONS_SETUP,
    .n_files = 1,
    .run = run,
};
