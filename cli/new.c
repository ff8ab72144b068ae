/* reallot new: files to start from. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/quote.h"
#include "base/text.h"
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

/* What is there already is not lost. */
static gboolean
check_free(const char *const *paths, gboolean force, GError **error)
{
  for (guint i = 0; paths[i] && !force; i++) {
    if (!g_file_test(paths[i], G_FILE_TEST_EXISTS))
      continue;
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: is there already, expected a new name or --force",
                paths[i]);
    return FALSE;
  }
  return TRUE;
}

static gboolean
write_all(const RaOptions *options, const RaStarter *s, gboolean force,
          GError **error)
{
  const char *folder = options->output ? options->output : ".";
  static const char *const suffixes[] = {".workload", ".cluster", ".plan",
                                         ".study"};
  const char *const texts[] = {s->workload, s->cluster, s->plan, s->study};
  g_auto(GStrv) paths = g_new0(char *, G_N_ELEMENTS(texts) + 1);
  g_autoptr(GString) said = g_string_new(NULL);
  g_autofree char *plan = NULL, *study = NULL;

  for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
    g_autofree char *name = g_strconcat(options->files[0], suffixes[i], NULL);

    paths[i] = g_build_filename(folder, name, NULL);
  }
  if (!check_free((const char *const *)paths, force, error))
    return FALSE;
  if (g_mkdir_with_parents(folder, 0777) != 0) {
    g_set_error(error, RA_ERROR, RA_ERROR_IO, "%s: %s", folder,
                g_strerror(errno));
    return FALSE;
  }
  for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
    if (!ra_file_write(paths[i], texts[i], strlen(texts[i]), error))
      return FALSE;
    g_string_append_printf(said, "%s\n", paths[i]);
  }
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
  RaStarterOptions wanted;
  uint64_t n_nodes = 4;
  int kind = RA_STARTER_GRPO;
  const GOptionEntry own[] = {
      {"algorithm", 0, 0, G_OPTION_ARG_FILENAME, &texts.algorithm,
       "grpo, ppo or sft (grpo)", "NAME"},
      {"model", 0, 0, G_OPTION_ARG_FILENAME, &texts.model,
       "Config of its models (qwen2.5-7b.json)", "CONFIG"},
      {"gpu", 0, 0, G_OPTION_ARG_FILENAME, &texts.gpu,
       "Profile of its GPUs (h100-sxm)", "NAME"},
      {"nodes", 0, 0, G_OPTION_ARG_FILENAME, &texts.nodes,
       "Nodes of 8 GPUs (4)", "N"},
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
       "Folder for the files (the current one)", "DIR"},
      {"force", 0, 0, G_OPTION_ARG_NONE, &texts.force,
       "Replace files that are there", NULL},
      {.long_name = NULL}};

  if (!ra_options_parse(&options, &ra_command_new, own, argc, argv, error) ||
      options.help || !ra_option_file("--output", options.output, error) ||
      !ra_option_word("--algorithm", texts.algorithm, ra_starter_names, &kind,
                      error) ||
      !ra_option_uint64("--nodes", texts.nodes, 1, MAX_NODES, &n_nodes, error))
    return 0;
  wanted =
      (RaStarterOptions){.name = options.files[0],
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
    .summary = "Write commented files to start from",
    .details = "NAME.workload, NAME.cluster, NAME.plan and NAME.study, which "
               "simulate as they are.\n"
               "\n"
               "Examples:\n"
               "  reallot new mine\n"
               "  reallot new mine --algorithm=ppo --model=llama-3-8b.json "
               "--nodes=2 -o runs\n",
    .n_files = 1,
    .run = run,
};
