/* reallot import: another framework's configuration as workload and plan, and a
 * machine's topology as a cluster. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "study/convert/recipe.h"
#include "study/file_kind.h"
#include "study/machine/machine.h"

/* As they are typed; owned, nullable. */
typedef struct {
  char *from, *name, *gpu, *prompt, *response, *model, *nodes;
  char **sets;
  gboolean force, all, strict;
} Texts;

static void
texts_clear(Texts *texts)
{
  g_free(texts->from);
  g_free(texts->name);
  g_free(texts->gpu);
  g_free(texts->prompt);
  g_free(texts->response);
  g_free(texts->model);
  g_free(texts->nodes);
  g_strfreev(texts->sets);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Texts, texts_clear)

/* (transfer full): `run_qwen` of `/a/run_qwen.sh`. */
static char *
base_of(const char *path)
{
  char *name = g_path_get_basename(path);
  char *dot = strrchr(name, '.');

  if (dot && dot != name)
    *dot = '\0';
  return name;
}

/* Whose configuration it is. */
static gboolean
find_framework(const RaSettings *settings, const Texts *texts, const char *path,
               RaFramework *out, GError **error)
{
  int index = RA_N_FRAMEWORKS;
  g_autofree char *all = NULL;

  if (texts->from) {
    if (!ra_option_word("--from", texts->from, ra_framework_names, &index,
                        error))
      return FALSE;
  } else {
    index = (int)ra_framework_guess(settings);
  }
  *out = (RaFramework)index;
  if (index < RA_N_FRAMEWORKS)
    return TRUE;
  all = g_strjoinv(", ", (char **)ra_framework_names);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: unknown framework, expected --from=NAME with one of %s",
              path, all);
  return FALSE;
}

static gboolean
write_files(const RaOptions *options, const Texts *texts, const char *name,
            const RaOutputFile *files, GError **error)
{
  g_auto(GStrv) paths =
      ra_output_files(options->output ? options->output : ".", name, files,
                      texts->force, options->files[0], error);

  return paths != NULL;
}

/* Flags that say how a configuration is to be understood. */
static gboolean
refuse_texts(const Texts *texts, GError **error)
{
  const char *flag = texts->from       ? "--from"
                     : texts->model    ? "--model"
                     : texts->prompt   ? "--prompt-length"
                     : texts->response ? "--response-length"
                     : texts->sets     ? "--set"
                                       : NULL;

  if (!flag)
    return TRUE;
  g_set_error(
      error, RA_ERROR, RA_ERROR_INPUT,
      "%s: expected a framework's configuration, found a machine's topology",
      flag);
  return FALSE;
}

/* TRUE if --gpu, if it was given, names a profile. */
static gboolean
has_profile(const char *gpu, GError **error)
{
  g_autofree char *name = gpu ? g_strconcat(gpu, ".profile", NULL) : NULL;
  g_autofree char *path =
      name ? ra_share_find("profiles", name, NULL, error) : NULL;

  return !gpu || path;
}

static gboolean
import_machine(const RaOptions *options, const Texts *texts, GError **error)
{
  g_autofree char *name =
      texts->name ? g_strdup(texts->name) : base_of(options->files[0]);
  g_autofree char *text = NULL;
  g_autoptr(RaMachine) machine = NULL;
  g_autoptr(GPtrArray) tables = NULL;
  uint64_t n_nodes = 1;

  if (!refuse_texts(texts, error) ||
      !ra_option_uint64("--nodes", texts->nodes, 1, 1000000, &n_nodes, error))
    return FALSE;
  machine = ra_machine_load(options->files[0], error);
  if (machine && has_profile(texts->gpu, error))
    text = ra_machine_cluster(machine, (uint32_t)n_nodes, texts->gpu, error);
  if (!text ||
      !write_files(options, texts, name,
                   (RaOutputFile[]){{".cluster", text}, {NULL, NULL}}, error))
    return FALSE;
  tables = ra_inspect_machine(machine);
  return ra_output_tables(tables, options->format, error);
}

static gboolean
refuse_nodes(const Texts *texts, GError **error)
{
  if (!texts->nodes)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "--nodes: expected a machine's topology, as a configuration "
              "states its own nodes");
  return FALSE;
}

/* Under --strict nothing may be left open. */
static gboolean
is_strict_enough(const RaRecipe *recipe, const RaSettings *settings,
                 const Texts *texts, GError **error)
{
  guint n = texts->strict ? ra_recipe_n_open(recipe, settings) : 0;

  if (n == 0)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: %u keys or assumptions are open, expected none under "
              "--strict; without it a table lists them",
              ra_settings_name(settings), n);
  return FALSE;
}

static gboolean
import(const RaOptions *options, const Texts *texts, GError **error)
{
  const char *path = options->files[0];
  g_autoptr(RaSettings) settings =
      ra_settings_load_with(path, (const char *const *)texts->sets, error);
  g_autofree char *name = texts->name ? g_strdup(texts->name) : base_of(path);
  g_autofree char *source = g_path_get_basename(path);
  g_autoptr(RaRecipe) recipe = NULL;
  g_autoptr(RaImported) files = NULL;
  g_autoptr(GPtrArray) tables =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_table_free);
  RaRecipeOptions wanted = {.name = name,
                            .source = source,
                            .gpu = texts->gpu,
                            .prompt_length = texts->prompt,
                            .response_length = texts->response,
                            .models = texts->model,
                            .script = path};
  RaFramework framework;

  if (!settings || !refuse_nodes(texts, error) ||
      !ra_settings_compose(settings, path, error) ||
      !find_framework(settings, texts, path, &framework, error))
    return FALSE;
  recipe = ra_recipe_read(settings, framework, error);
  if (recipe)
    files = ra_recipe_make(recipe, &wanted, error);
  if (!files || !is_strict_enough(recipe, settings, texts, error) ||
      !write_files(options, texts, name,
                   (RaOutputFile[]){{".workload", files->workload},
                                    {".cluster", files->cluster},
                                    {".plan", files->plan},
                                    {NULL, NULL}},
                   error))
    return FALSE;
  g_ptr_array_add(tables, ra_recipe_table(recipe, settings, texts->all));
  return ra_output_tables(tables, options->format, error);
}

/* By its content, as topologies have no name of their own. */
static gboolean
is_machine(const char *path)
{
  RaFileKind kind;

  return ra_file_kind(path, &kind, NULL) && kind == RA_FILE_MACHINE;
}

static int
run(int argc, char **argv, GError **error)
{
  g_auto(RaOptions) options = RA_OPTIONS_INIT;
  g_auto(Texts) texts = {.from = NULL};
  const GOptionEntry own[] = {
      {"from", 0, 0, G_OPTION_ARG_FILENAME, &texts.from,
       "Framework: verl, openrlhf, nemo-rl, realhf, slime, skyrl, roll, areal "
       "or trl (default: detected from the keys)",
       "NAME"},
      {"output", 'o', 0, G_OPTION_ARG_FILENAME, &options.output,
       "Folder of the three files (default: the current one)", "DIR"},
      {"name", 0, 0, G_OPTION_ARG_FILENAME, &texts.name,
       "Name of the three files (default: that of FILE)", "NAME"},
      {"model", 0, 0, G_OPTION_ARG_FILENAME, &texts.model,
       "Model config or name: CONFIG for all, or actor=CONFIG,ref=CONFIG ...",
       "CONFIG"},
      {"gpu", 0, 0, G_OPTION_ARG_FILENAME, &texts.gpu,
       "GPU profile (default: what the topology, or FILE by its name, says; "
       "else h100-sxm)",
       "NAME"},
      {"nodes", 0, 0, G_OPTION_ARG_FILENAME, &texts.nodes,
       "Number of nodes like the one of a topology (default: 1)", "N"},
      {"set", 0, 0, G_OPTION_ARG_STRING_ARRAY, &texts.sets,
       "Override a key or a variable of the script (repeatable)", "KEY=VALUE"},
      {"prompt-length", 0, 0, G_OPTION_ARG_FILENAME, &texts.prompt,
       "Distribution of prompt lengths (default: a mean of a tenth of the "
       "maximum)",
       "DISTRIBUTION"},
      {"response-length", 0, 0, G_OPTION_ARG_FILENAME, &texts.response,
       "Distribution of response lengths (default: by the model and the "
       "maximum, as in published runs)",
       "DISTRIBUTION"},
      {"all", 0, 0, G_OPTION_ARG_NONE, &texts.all,
       "List also keys that are unknown or have no effect", NULL},
      {"strict", 0, 0, G_OPTION_ARG_NONE, &texts.strict,
       "Fail if a key or an assumption is left open", NULL},
      {"force", 0, 0, G_OPTION_ARG_NONE, &texts.force, "Replace existing files",
       NULL},
      {.long_name = NULL}};

  if (ra_options_parse(&options, &ra_command_import, own, argc, argv, error) &&
      !options.help && ra_option_file("--output", options.output, error) &&
      ra_option_file("--name", texts.name, error))
    (is_machine(options.files[0]) ? import_machine : import)(&options, &texts,
                                                             error);
  return 0;
}

const RaCommand ra_command_import = {
    .name = "import",
    .arguments = "FILE",
    .summary = "Convert another framework's configuration into a plan",
    .details = "FILE is a launch script or YAML of verl, OpenRLHF, NeMo-RL, "
               "ReaLHF, slime,\n"
               "SkyRL, ROLL, AReaL or TRL.  Workload, cluster and plan are "
               "written.  Settings that\n"
               "were not understood, approximated or assumed are printed line "
               "by line.  FILE may\n"
               "also be a machine's topology, from nvidia-smi topo -m or NCCL\n"
               "(NCCL_TOPO_DUMP_FILE); then a cluster is written.\n\n"
               "Examples:\n"
               "  reallot import run_qwen2-7b.sh -o imported\n"
               "  reallot import grpo_math_8B.yaml --from=nemo-rl "
               "--response-length='lognormal(700, 500, 3968)'\n"
               "  reallot import node.xml --nodes=4 --name=mine\n",
    .groups = RA_OPTIONS_FORMAT,
    .n_files = 1,
    .run = run,
};
