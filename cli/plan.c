/* reallot plan: writes a plan of one of the placement families. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/quote.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "search/family/strategy.h"

#define MAX_SPLIT 64         /* more parts than calls that anyone has */
#define MAX_WEIGHT 1000000   /* of a part */
#define MAX_GENERATE_TP 1024 /* GPUs of the largest node */

/* The flags of this command as they are typed; owned, nullable. */
typedef struct {
  char *strategy, *split, *generate_tp, *batching;
  gboolean fit;
} Texts;

static void
texts_clear(Texts *texts)
{
  g_free(texts->strategy);
  g_free(texts->split);
  g_free(texts->generate_tp);
  g_free(texts->batching);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Texts, texts_clear)

/* `4:4:1:1` into @out (MAX_SPLIT). */
static gboolean
read_split(const char *text, uint32_t *out, guint *out_n, GError **error)
{
  g_auto(GStrv) words = NULL;

  *out_n = 0;
  if (!text)
    return TRUE;
  words = g_strsplit(*text ? text : "?", ":", -1); /* of "" it has none */
  for (guint i = 0; words[i]; i++) {
    uint64_t value;

    if (i == MAX_SPLIT || !ra_text_uint64(words[i], &value) || value < 1 ||
        value > MAX_WEIGHT) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "--split: '%s' is not a list of weights, expected up to %d "
                  "whole numbers from 1 to %d, such as 4:4:1:1",
                  text, MAX_SPLIT, MAX_WEIGHT);
      return FALSE;
    }
    out[(*out_n)++] = (uint32_t)value;
  }
  return TRUE;
}

/* A flag that the strategy does not have. */
static gboolean
refuse(const char *flag, const char *strategies, GError **error)
{
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: not supported, expected --strategy=%s", flag, strategies);
  return FALSE;
}

/* ra_option_word() of --strategy, with a hint for words of others. */
static gboolean
read_strategy(const char *text, int *out_kind, GError **error)
{
  static const char *const sharded[] = {"fsdp", "zero", "deepspeed"};
  GError *cause = NULL;

  if (ra_option_word("--strategy", text, ra_strategy_names, out_kind, &cause))
    return TRUE;
  for (guint i = 0; i < G_N_ELEMENTS(sharded); i++)
    if (g_ascii_strncasecmp(text, sharded[i], strlen(sharded[i])) == 0) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "%s; colocated is ZeRO-3 on all GPUs, as of FSDP and "
                  "DeepSpeed",
                  cause->message);
      g_error_free(cause);
      return FALSE;
    }
  g_propagate_error(error, cause);
  return FALSE;
}

/* @split (MAX_SPLIT) is borrowed by @out. */
static gboolean
read_options(const Texts *texts, uint32_t *split, RaStrategyOptions *out,
             GError **error)
{
  uint64_t generate_tp = 0;
  int kind = -1;

  if (!read_strategy(texts->strategy, &kind, error) ||
      !read_split(texts->split, split, &out->n_split, error) ||
      !ra_option_uint64("--generate-tp", texts->generate_tp, 1, MAX_GENERATE_TP,
                        &generate_tp, error) ||
      !ra_option_word("--batching", texts->batching, ra_strategy_batchings,
                      &out->batching, error))
    return FALSE;
  if (kind < 0) {
    g_autofree char *all = g_strjoinv(", ", (char **)ra_strategy_names);

    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "expected 'reallot plan --strategy=NAME --workload=FILE "
                "--cluster=FILE' with one of %s",
                all);
    return FALSE;
  }
  out->kind = (RaStrategyKind)kind;
  out->split = split;
  out->generate_tp = (uint32_t)generate_tp;
  out->fit = texts->fit;
  if (texts->split && kind != RA_STRATEGY_DISAGGREGATED &&
      kind != RA_STRATEGY_HYBRIDFLOW)
    return refuse("--split", "disaggregated or hybridflow", error);
  if (generate_tp > 0 && kind != RA_STRATEGY_COLOCATED &&
      kind != RA_STRATEGY_INTERLEAVING)
    return refuse("--generate-tp", "colocated or interleaving", error);
  if (texts->fit && kind != RA_STRATEGY_MEGATRON)
    return refuse("--fit", "megatron", error);
  return TRUE;
}

/* ` --flag=text`, if there is one. */
static void
append_flag(GString *out, const char *flag, const char *text)
{
  g_autofree char *word = text ? ra_quote_shell(text) : NULL;

  if (text)
    g_string_append_printf(out, " %s%s", flag, word);
}

/* How the plan was made, in its head. */
static void
say_command(RaDraft *draft, const RaOptions *options, const Texts *texts,
            const RaSetup *setup)
{
  g_autofree char *workload = g_path_get_basename(setup->workload_path);
  g_autofree char *cluster = g_path_get_basename(setup->cluster_path);
  g_autoptr(GString) command = g_string_new(NULL);

  g_string_append(command, "Written by: reallot plan");
  append_flag(command, "--strategy=", texts->strategy);
  append_flag(command, "--workload=", workload);
  append_flag(command, "--cluster=", cluster);
  append_flag(command, "--split=", texts->split);
  append_flag(command, "--generate-tp=", texts->generate_tp);
  append_flag(command, "--batching=", texts->batching);
  if (texts->fit)
    g_string_append(command, " --fit");
  for (guint i = 0; options->sets && options->sets[i]; i++)
    append_flag(command, "--set ", options->sets[i]);
  g_string_append(command, "\n");
  if (options->sets)
    g_string_append(
        command,
        "It is for the changed files: simulate it with the same --set.\n");
  g_string_append_c(command, '\n');
  g_string_prepend(draft->head, command->str);
}

static char *
make(const RaOptions *options, const Texts *texts,
     const RaStrategyOptions *strategy, GError **error)
{
  RaSetupFlags flags = ra_options_setup(options);
  const char *output =
      g_strcmp0(options->output, "-") == 0 ? NULL : options->output;
  g_autoptr(RaSetup) setup = ra_setup_load_pair(&flags, error);
  g_autoptr(RaDraft) draft = NULL;
  g_autofree char *workload = NULL, *cluster = NULL, *system = NULL;
  g_autofree char *text = NULL;
  RaProgress *progress;

  if (!setup)
    return NULL;
  progress = ra_progress_begin("planning");
  draft = ra_strategy_plan(setup->workload, setup->cluster, setup->estimator,
                           strategy, error);
  ra_progress_end(progress);
  if (!draft)
    return NULL;
  workload = ra_setup_name_in_plan("workloads", setup->workload_path, output);
  cluster = ra_setup_name_in_plan("clusters", setup->cluster_path, output);
  if (setup->system_path)
    system = ra_setup_name_in_plan("systems", setup->system_path, output);
  say_command(draft, options, texts, setup);
  text = ra_draft_write(draft, workload, cluster, system, error);
  /* Only a plan that can be read back is written. */
  if (!text ||
      !ra_setup_read_plan(setup, output ? output : "the plan", text, error))
    return NULL;
  return g_steal_pointer(&text);
}

static int
run(int argc, char **argv, GError **error)
{
  g_auto(RaOptions) options = RA_OPTIONS_INIT;
  g_auto(Texts) texts = {.strategy = NULL};
  uint32_t split[MAX_SPLIT];
  RaStrategyOptions strategy = {.split = NULL};
  const GOptionEntry own[] = {
      {"strategy", 0, 0, G_OPTION_ARG_FILENAME, &texts.strategy,
       "Placement strategy: colocated, interleaving, disaggregated, megatron, "
       "real or hybridflow",
       "NAME"},
      {"split", 0, 0, G_OPTION_ARG_FILENAME, &texts.split,
       "GPU weights of the pools, such as 4:4:1:1 (disaggregated, hybridflow)",
       "WEIGHTS"},
      {"generate-tp", 0, 0, G_OPTION_ARG_FILENAME, &texts.generate_tp,
       "Tensor parallel degree of generation (colocated, interleaving)", "N"},
      {"batching", 0, 0, G_OPTION_ARG_FILENAME, &texts.batching,
       "Batching of generation: auto (static if it fits), static, continuous, "
       "or quickest (the faster one)",
       "HOW"},
      {"fit", 0, 0, G_OPTION_ARG_NONE, &texts.fit,
       "Shortest pipeline that fits, data parallel over the rest (megatron)",
       NULL},
      {.long_name = NULL}};
  g_autofree char *text = NULL;

  if (!ra_options_parse(&options, &ra_command_plan, own, argc, argv, error) ||
      options.help || !read_options(&texts, split, &strategy, error))
    return 0;
  text = make(&options, &texts, &strategy, error);
  if (text)
    ra_output_write(options.output, text, strlen(text), error);
  return 0;
}

const RaCommand ra_command_plan = {
    .name = "plan",
    .arguments = "--strategy=NAME --workload=FILE --cluster=FILE",
    .summary = "Write the plan of a placement strategy",
    .details = "A plan that does not fit, or cannot be sharded over the GPUs, "
               "is refused with the\n"
               "reason and exit status 1.\n\n"
               "Examples:\n"
               "  reallot plan --strategy=hybridflow "
               "--workload=ppo-llama3-70b.workload \\\n"
               "    --cluster=h100-16n.cluster -o ppo.plan\n"
               "  reallot plan --strategy=disaggregated --split=4:4:1:1 \\\n"
               "    --workload=ppo-llama3-70b-stream.workload "
               "--cluster=h100-16n.cluster\n"
               "  reallot plan --strategy=hybridflow --batching=continuous "
               "--cluster=a100-4n.cluster \\\n"
               "    --workload=ppo-llama2-13b-1k.workload\n"
               "  reallot plan --strategy=megatron --fit "
               "--workload=sft-llama3-8b.workload \\\n"
               "    --cluster=h100-16n.cluster --set cluster.nodes=4\n",
    .groups = RA_OPTIONS_OUTPUT | RA_OPTIONS_SETUP,
    .n_files = 0,
    .run = run,
};
