/* reallot new: files to start from. */
#include "config.h"

#include "base/error.h"
#include "base/quote.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "study/report/starter.h"

#define MAX_NODES 100000

/* As they are typed; owned, nullable. */
typedef struct {
  char *algorithm, *model, *gpu, *nodes;
  gboolean force;
} Texts;

static void
texts_clear(Texts *texts)
{
  g_free(texts->algorithm);
  g_free(texts->model);
  g_free(texts->gpu);
  g_free(texts->nodes);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Texts, texts_clear)

static gboolean
write_all(const RaOptions *options, const RaStarter *s, gboolean force,
          GError **error)
{
  const RaOutputFile files[] = {{".workload", s->workload},
                                {".cluster", s->cluster},
                                {".plan", s->plan},
                                {".study", s->study},
                                {NULL, NULL}};
  g_auto(GStrv) paths =
      ra_output_files(options->output ? options->output : ".",
                      options->files[0], files, force, NULL, error);
  g_autoptr(GString) said = g_string_new(NULL);
  g_autofree char *plan = NULL, *study = NULL;

  if (!paths)
    return FALSE;
  for (guint i = 0; paths[i]; i++)
    g_string_append_printf(said, "%s\n", paths[i]);
  plan = ra_quote_shell(paths[2]);
  study = ra_quote_shell(paths[3]);
  g_string_append_printf(
      said, "\nTry: reallot simulate %s\n     reallot study %s\n", plan, study);
  return ra_output_print(said->str, said->len, error);
}

static int
run(int argc, char **argv, GError **error)
{
  g_auto(RaOptions) options = RA_OPTIONS_INIT;
  g_auto(Texts) texts = {.algorithm = NULL};
  g_autoptr(RaStarter) starter = NULL;
  g_autofree char *base = NULL; /* by which the files name each other */
  RaStarterOptions wanted;
  uint64_t n_nodes = 0;
  int kind = RA_STARTER_GRPO;
  const GOptionEntry own[] = {
      {"algorithm", 0, 0, G_OPTION_ARG_FILENAME, &texts.algorithm,
       "Algorithm: grpo, ppo or sft (default: grpo)", "NAME"},
      {"model", 0, 0, G_OPTION_ARG_FILENAME, &texts.model,
       "Model: config file, folder or published name (default: "
       "qwen2.5-7b.json)",
       "CONFIG"},
      {"gpu", 0, 0, G_OPTION_ARG_FILENAME, &texts.gpu,
       "GPU profile (default: h100-sxm)", "NAME"},
      {"nodes", 0, 0, G_OPTION_ARG_FILENAME, &texts.nodes,
       "Number of nodes, or of racks (default: 4 nodes, or one rack)", "N"},
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
       "Folder of the files (default: the current one)", "DIR"},
      {"force", 0, 0, G_OPTION_ARG_NONE, &texts.force,
       "Overwrite existing files", NULL},
      {.long_name = NULL}};

  if (!ra_options_parse(&options, &ra_command_new, own, argc, argv, error) ||
      options.help || !ra_option_file("--output", options.output, error) ||
      !ra_option_word("--algorithm", texts.algorithm, ra_starter_names, &kind,
                      error) ||
      !ra_option_uint64("--nodes", texts.nodes, 1, MAX_NODES, &n_nodes, error))
    return 0;
  base = g_path_get_basename(options.files[0]);
  wanted =
      (RaStarterOptions){.name = base,
                         .kind = (RaStarterKind)kind,
                         .model = texts.model ? texts.model : "qwen2.5-7b.json",
                         .gpu = texts.gpu ? texts.gpu : "h100-sxm",
                         .n_nodes = (uint32_t)n_nodes};
  starter = ra_starter_new(&wanted, error);
  if (starter)
    write_all(&options, starter, texts.force, error);
  return 0;
}

const RaCommand ra_command_new = {
    .name = "new",
    .arguments = "NAME",
    .summary = "Write commented starter files",
    .details = "NAME.workload, NAME.cluster, NAME.plan and NAME.study can be "
               "simulated at once.\n\n"
               "Examples:\n"
               "  reallot new mine\n"
               "  reallot new mine --algorithm=ppo "
               "--model=meta-llama/Llama-3.1-8B --nodes=2 -o runs\n",
    .n_files = 1,
    .run = run,
};
