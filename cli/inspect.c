/* reallot inspect: what a file says, and what follows from it. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "graph/input/model_find.h"
#include "study/machine/machine.h"
#include "study/report/inspect.h"
#include "traces/kineto.h"

static GPtrArray *
inspect_model(const char *path, GError **error)
{
  g_autoptr(RaModel) model = ra_model_load(path, error);

  return model ? ra_inspect_model(model) : NULL;
}

static GPtrArray *
inspect_hub(const char *name, GError **error)
{
  g_autofree char *path = ra_share_find("models", name, NULL, error);
  g_autoptr(RaModelHub) hub = path ? ra_model_hub_load(path, error) : NULL;

  g_autoptr(RaTable) table = hub ? ra_inspect_models(NULL, hub, error) : NULL;
  GPtrArray *tables;

  if (!table)
    return NULL;
  tables = g_ptr_array_new_with_free_func((GDestroyNotify)ra_table_free);
  g_ptr_array_add(tables, g_steal_pointer(&table));
  return tables;
}

/* A model by its name or folder; @cause says why @name is not read as a file.
 */
static GPtrArray *
inspect_name(const char *name, const GError *cause, GError **error)
{
  GError *unknown = NULL;
  g_autoptr(RaModel) model = ra_model_find(name, NULL, &unknown);

  if (model)
    return ra_inspect_model(model);
  g_set_error(error, cause->domain, cause->code, "%s, and %s", cause->message,
              unknown->message);
  g_error_free(unknown);
  return NULL;
}

static GPtrArray *
inspect_profile(const char *path, GError **error)
{
  g_autoptr(RaKeyFile) file = ra_key_file_load(path, error);
  g_autoptr(RaProfile) profile = file ? ra_profile_load(file, error) : NULL;

  return profile ? ra_inspect_profile(profile) : NULL;
}

static GPtrArray *
inspect_system(const char *path, GError **error)
{
  g_autoptr(RaKeyFile) file = ra_key_file_load(path, error);
  g_autoptr(RaSystem) system = file ? ra_system_load(file, error) : NULL;

  return system ? ra_inspect_system(system) : NULL;
}

static GPtrArray *
inspect_trace(const char *path, GError **error)
{
  g_autoptr(RaTrace) trace = ra_trace_load_any(path, error);

  return trace ? ra_inspect_trace(trace) : NULL;
}

static GPtrArray *
inspect_machine(const char *path, GError **error)
{
  g_autoptr(RaMachine) machine = ra_machine_load(path, error);

  return machine ? ra_inspect_machine(machine) : NULL;
}

static GPtrArray *
inspect_setup(const char *path, RaFileKind kind, const RaSetupFlags *flags,
              GError **error)
{
  g_autoptr(RaSetup) setup = ra_setup_load(path, kind, flags, error);

  if (!setup)
    return NULL;
  if (kind == RA_FILE_PLAN)
    return ra_inspect_plan(setup->plan);
  if (kind == RA_FILE_WORKLOAD)
    return ra_inspect_workload(setup->workload);
  return ra_inspect_cluster(setup->cluster);
}

/* These files are read as they are. */
static gboolean
refuse_setup(const RaSetupFlags *flags, RaFileKind kind, GError **error)
{
  const char *flag = flags->sets       ? "--set"
                     : flags->workload ? "--workload"
                     : flags->cluster  ? "--cluster"
                     : flags->profile  ? "--profile"
                     : flags->system   ? "--system"
                                       : NULL;

  if (!flag)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: expected a plan, a workload or a cluster, found a %s", flag,
              ra_file_kind_name(kind));
  return FALSE;
}

/* (nullable): the reader of a kind that is read as it is. */
static GPtrArray *(*reader_of(RaFileKind kind))(const char *path,
                                                GError **error)
{
  switch (kind) {
  case RA_FILE_MODEL:
    return inspect_model;
  case RA_FILE_PROFILE:
    return inspect_profile;
  case RA_FILE_SYSTEM:
    return inspect_system;
  case RA_FILE_TRACE:
    return inspect_trace;
  case RA_FILE_MACHINE:
    return inspect_machine;
  default:
    return NULL;
  }
}

/* Prints the moves between GPUs in @name, a plan. */
static GPtrArray *
inspect_moves(const char *name, const RaSetupFlags *flags, GError **error)
{
  g_autoptr(RaSetup) setup = NULL;
  GPtrArray *tables;

  if (ra_file_kind_expect(name, RA_FILE_PLAN, error))
    setup = ra_setup_load(name, RA_FILE_PLAN, flags, error);
  if (!setup)
    return NULL;
  tables = g_ptr_array_new_with_free_func((GDestroyNotify)ra_table_free);
  g_ptr_array_add(tables, ra_inspect_moves(setup->plan));
  return tables;
}

static GPtrArray *
inspect(const char *name, const RaSetupFlags *flags, GError **error)
{
  g_autofree char *path = NULL, *base = g_path_get_basename(name);
  g_autoptr(GError) cause = NULL;
  gboolean is_hub = g_str_equal(base, RA_MODEL_HUB_FILE);
  RaFileKind kind = RA_FILE_MODEL;
  const char *folder;

  if (!is_hub)
    ra_file_kind(name, &kind, &cause);
  if (cause && g_file_test(name, G_FILE_TEST_IS_REGULAR)) {
    g_propagate_error(error, g_steal_pointer(&cause));
    return NULL;
  }
  if (reader_of(kind) && !refuse_setup(flags, kind, error))
    return NULL;
  if (is_hub)
    return inspect_hub(name, error);
  if (cause)
    return inspect_name(name, cause, error);
  if (!reader_of(kind))
    return inspect_setup(name, kind, flags, error);
  folder = ra_file_kind_folder(kind);
  path = folder ? ra_share_find(folder, name, NULL, error) : g_strdup(name);
  return path ? reader_of(kind)(path, error) : NULL;
}

static int
run(int argc, char **argv, GError **error)
{
  g_auto(RaOptions) options = RA_OPTIONS_INIT;
  g_autoptr(GPtrArray) tables = NULL;
  RaSetupFlags flags;
  gboolean moves = FALSE;
  const GOptionEntry own[] = {{"moves", 0, 0, G_OPTION_ARG_NONE, &moves,
                               "Bytes that each GPU sends to each other GPU in "
                               "the reallocations of a plan",
                               NULL},
                              {.long_name = NULL}};

  if (!ra_options_parse(&options, &ra_command_inspect, own, argc, argv,
                        error) ||
      options.help)
    return 0;
  flags = ra_options_setup(&options);
  tables = moves ? inspect_moves(options.files[0], &flags, error)
                 : inspect(options.files[0], &flags, error);
  if (tables)
    ra_output_tables(tables, options.format, error);
  return 0;
}

const RaCommand ra_command_inspect = {
    .name = "inspect",
    .arguments = "FILE",
    .summary = "Describe a file and what follows from it",
    .details = "FILE is a model (config.json, a folder that has one, or a "
               "published name), workload,\n"
               "cluster, plan, profile, system, trace, or a machine's topology "
               "from nvidia-smi\n"
               "topo -m or NCCL.  hub.tsv lists the published models.\n\n"
               "Examples:\n"
               "  reallot inspect llama-3-70b.json\n"
               "  reallot inspect Qwen/Qwen2.5-3B-Instruct\n"
               "  reallot inspect ppo-llama3-70b-128.plan --set 'call "
               "actor_train.micro-batches=8'\n"
               "  reallot inspect ppo-llama2-7b-8.plan --moves --format=tsv\n"
               "  reallot inspect h100-sxm.profile --format=tsv\n"
               "  reallot inspect reallhf-2024.system\n"
               "  nvidia-smi topo -m >node.topo; reallot inspect node.topo\n",
    .groups = RA_OPTIONS_FORMAT | RA_OPTIONS_SETUP,
    .n_files = 1,
    .run = run,
};
