/* Tables of the files that there are. */
#include "config.h"

#include <string.h>

#include "base/table.h"
#include "base/text.h"
#include "study/report/catalog.h"
#include "study/report/inspect.h"
#include "study/sweep/study.h"

const char *const ra_catalog_kinds[] = {"gpus",      "models", "clusters",
                                        "workloads", "plans",  "studies",
                                        "systems",   NULL};

/* ---- Rows ---------------------------------------------------------------- */

static void
put_text(RaTable *table, const char *text)
{
  if (text && *text)
    ra_table_text(table, text);
  else
    ra_table_missing(table);
}

static gboolean
gpu_row(const char *path, RaTable *table, GError **error)
{
  g_autoptr(RaKeyFile) file = ra_key_file_load(path, error);
  g_autoptr(RaProfile) profile = file ? ra_profile_load(file, error) : NULL;

  if (!profile)
    return FALSE;
  ra_table_integer(table, (uint64_t)profile->spec.memory_bytes);
  ra_table_real(table, profile->spec.memory_bytes_per_s);
  ra_table_real(table, profile->spec.bf16_flop_per_s);
  put_text(table, profile->base);
  return TRUE;
}

static gboolean
cluster_row(const char *path, RaTable *table, GError **error)
{
  const RaSetupFlags flags = {NULL};
  g_autoptr(RaSetup) setup =
      ra_setup_load(path, RA_FILE_CLUSTER, &flags, error);
  g_autofree char *gpus = setup ? ra_cluster_gpu_names(setup->cluster) : NULL;

  if (!setup)
    return FALSE;
  ra_table_text(table, gpus);
  ra_table_integer(table, setup->cluster->n_nodes);
  ra_table_integer(table, setup->cluster->gpus_per_node);
  ra_table_real(table, setup->cluster->usd_per_gpu_h);
  return TRUE;
}

static gboolean
workload_row(const char *path, RaTable *table, GError **error)
{
  const RaSetupFlags flags = {NULL};
  g_autoptr(RaSetup) setup =
      ra_setup_load(path, RA_FILE_WORKLOAD, &flags, error);
  const RaWorkload *w = setup ? setup->workload : NULL;
  g_autoptr(GString) models = g_string_new(NULL);

  if (!setup)
    return FALSE;
  for (guint m = 0; m < w->n_models; m++)
    g_string_append_printf(models, "%s%s %s", m > 0 ? ", " : "",
                           w->models[m].name, w->models[m].model->name);
  put_text(table, w->algorithm);
  ra_table_text(table, models->str);
  ra_table_integer(table, w->n_prompts);
  return TRUE;
}

static gboolean
plan_row(const char *path, RaTable *table, GError **error)
{
  const RaSetupFlags flags = {NULL};
  g_autoptr(RaSetup) setup = ra_setup_load(path, RA_FILE_PLAN, &flags, error);
  g_autofree char *workload = NULL, *cluster = NULL;

  if (!setup)
    return FALSE;
  workload = g_path_get_basename(setup->workload_path);
  cluster = g_path_get_basename(setup->cluster_path);
  ra_table_text(table, workload);
  ra_table_text(table, cluster);
  ra_table_integer(table, ra_cluster_n_gpus(setup->cluster));
  return TRUE;
}

static gboolean
study_row(const char *path, RaTable *table, GError **error)
{
  g_autoptr(RaKeyFile) file = ra_key_file_load(path, error);
  g_autoptr(RaStudy) study = file ? ra_study_load(file, error) : NULL;

  if (study)
    put_text(table, study->title);
  return study != NULL;
}

static gboolean
system_row(const char *path, RaTable *table, GError **error)
{
  g_autoptr(RaKeyFile) file = ra_key_file_load(path, error);
  g_autoptr(RaSystem) system = file ? ra_system_load(file, error) : NULL;

  if (!system)
    return FALSE;
  put_text(table, system->release);
  ra_table_integer(table, system->n_rows);
  ra_table_real(table, system->error_median_frac);
  return TRUE;
}

/* ---- Tables -------------------------------------------------------------- */

typedef struct {
  const char *name;
  RaUnit unit;
  RaCellType type;
} Column;

/* A kind whose files are rows; models have a table of their own. */
static const struct {
  const char *kind, *folder, *suffix;
  gboolean is_bare; /* named without the suffix, as keys take it */
  gboolean (*row)(const char *path, RaTable *table, GError **error);
  Column columns[4];
} kinds[] = {
    {"gpus",
     "profiles",
     ".profile",
     TRUE,
     gpu_row,
     {{"memory_bytes", RA_UNIT_BYTES, RA_CELL_INTEGER},
      {"hbm_bytes_per_s", RA_UNIT_BYTES_PER_S, RA_CELL_REAL},
      {"bf16_flop_per_s", RA_UNIT_FLOP_PER_S, RA_CELL_REAL},
      {"missing_laws_of", RA_UNIT_NONE, RA_CELL_TEXT}}},
    {"clusters",
     "clusters",
     ".cluster",
     FALSE,
     cluster_row,
     {{"gpu", RA_UNIT_NONE, RA_CELL_TEXT},
      {"nodes", RA_UNIT_NONE, RA_CELL_INTEGER},
      {"gpus_per_node", RA_UNIT_NONE, RA_CELL_INTEGER},
      {"usd_per_gpu_h", RA_UNIT_NONE, RA_CELL_REAL}}},
    {"workloads",
     "workloads",
     ".workload",
     FALSE,
     workload_row,
     {{"algorithm", RA_UNIT_NONE, RA_CELL_TEXT},
      {"models", RA_UNIT_NONE, RA_CELL_TEXT},
      {"prompts", RA_UNIT_NONE, RA_CELL_INTEGER}}},
    {"plans",
     "plans",
     ".plan",
     FALSE,
     plan_row,
     {{"workload", RA_UNIT_NONE, RA_CELL_TEXT},
      {"cluster", RA_UNIT_NONE, RA_CELL_TEXT},
      {"gpus", RA_UNIT_NONE, RA_CELL_INTEGER}}},
    {"studies",
     "studies",
     ".study",
     FALSE,
     study_row,
     {{"title", RA_UNIT_NONE, RA_CELL_TEXT}}},
    {"systems",
     "systems",
     ".system",
     FALSE,
     system_row,
     {{"system", RA_UNIT_NONE, RA_CELL_TEXT},
      {"runs", RA_UNIT_NONE, RA_CELL_INTEGER},
      {"error_median_frac", RA_UNIT_NONE, RA_CELL_FRAC}}},
};

static RaTable *
list_files(guint k, GError **error)
{
  g_autoptr(RaTable) table = ra_table_new(kinds[k].kind);
  g_auto(GStrv) names = ra_share_list(kinds[k].folder, kinds[k].suffix);

  ra_table_column(table, "name", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint c = 0; c < G_N_ELEMENTS(kinds[k].columns); c++) {
    const Column *column = &kinds[k].columns[c];

    if (column->name)
      ra_table_column(table, column->name, column->unit, column->type);
  }
  for (guint i = 0; names[i]; i++) {
    g_autofree char *path =
        ra_share_find(kinds[k].folder, names[i], NULL, error);

    if (!path)
      return NULL;
    if (kinds[k].is_bare)
      names[i][strlen(names[i]) - strlen(kinds[k].suffix)] = '\0';
    ra_table_row(table);
    ra_table_text(table, names[i]);
    if (!kinds[k].row(path, table, error))
      return NULL;
  }
  return g_steal_pointer(&table);
}

/* Configurations, then the names of the table of published models. */
static RaTable *
list_models(GError **error)
{
  g_auto(GStrv) names = ra_share_list("models", ".json");
  g_autofree char *hub_path = ra_share_find("models", "hub.tsv", NULL, error);
  g_autoptr(RaModelHub) hub =
      hub_path ? ra_model_hub_load(hub_path, error) : NULL;

  return hub ? ra_inspect_models((const char *const *)names, hub, error) : NULL;
}

GPtrArray *
ra_catalog(const char *kind, GError **error)
{
  g_autoptr(GPtrArray) tables =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_table_free);

  for (guint i = 0; ra_catalog_kinds[i]; i++) {
    RaTable *table = NULL;

    if (kind && strcmp(kind, ra_catalog_kinds[i]) != 0)
      continue;
    for (guint k = 0; k < G_N_ELEMENTS(kinds) && !table; k++) {
      if (strcmp(kinds[k].kind, ra_catalog_kinds[i]) == 0 &&
          !(table = list_files(k, error)))
        return NULL;
    }
    if (!table && !(table = list_models(error)))
      return NULL;
    g_ptr_array_add(tables, table);
  }
  return g_steal_pointer(&tables);
}
