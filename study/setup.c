/* Setup: reads a plan and the files that it names, with the profiles of the
 * cluster's node kinds. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "study/change.h"
#include "study/gpu_cluster.h"
#include "study/setup.h"

/* A setup while it is made. */
typedef struct {
  RaSetup *setup;            /* being filled */
  const RaSetupFlags *flags; /* borrowed */
  RaFileKind kind;           /* of the file that was named */
  GArray *changes;           /* RaChange, in the order of the flags */
} Loader;

/* Loads the GPU profile of each further node kind, after the cluster's own
 * profile. */
static gboolean
load_kinds(RaSetup *setup, GError **error)
{
  RaCluster *cluster = setup->cluster;

  if (cluster->n_kinds == 0)
    return TRUE;
  cluster->kinds[0].device = cluster->device;
  for (uint32_t k = 1; k < cluster->n_kinds; k++) {
    RaMachineKind *kind = &cluster->kinds[k];
    g_autofree char *name = g_strconcat(kind->gpu, ".profile", NULL);
    g_autofree char *path = NULL;
    g_autoptr(RaKeyFile) file = NULL;
    GError *cause = NULL;

    path = ra_share_find("profiles", name, ra_key_file_name(cluster->file),
                         &cause);
    if (!path) {
      ra_key_file_fail(cluster->file, kind->group, "gpu", error, "'gpu': %s",
                       cause->message);
      g_error_free(cause);
      return FALSE;
    }
    file = ra_key_file_load(path, error);
    setup->kind_profiles[k] = file ? ra_profile_load(file, error) : NULL;
    if (!setup->kind_profiles[k])
      return FALSE;
    kind->device = setup->kind_profiles[k]->spec;
    setup->kind_clusters[k] = g_new(RaCluster, 1);
    *setup->kind_clusters[k] = ra_cluster_of_kind(cluster, k);
  }
  return TRUE;
}

/* Creates an estimator of the setup's cluster, with those of its node kinds. */
static RaEstimator *
new_estimator(const RaSetup *setup, GError **error)
{
  RaEstimator *estimator =
      ra_estimator_new(setup->profile, setup->cluster, error);

  for (uint32_t k = 1; estimator && k < setup->cluster->n_kinds; k++) {
    RaEstimator *kind = ra_estimator_new(setup->kind_profiles[k],
                                         setup->kind_clusters[k], error);

    if (kind)
      ra_estimator_add_kind(estimator, kind);
    else
      g_clear_pointer(&estimator, ra_estimator_free);
  }
  return estimator;
}

static void
clear_change(void *item)
{
  ra_change_clear(item);
}

/* TRUE if a setup of @kind has a file of @wanted to change. */
static gboolean
reads(RaFileKind kind, RaFileKind wanted)
{
  return kind == RA_FILE_PLAN || kind == wanted ||
         (kind == RA_FILE_CLUSTER && wanted == RA_FILE_PROFILE);
}

static gboolean
parse_changes(Loader *loader, GError **error)
{
  const char *const *sets = loader->flags->sets;

  for (guint i = 0; sets && sets[i]; i++) {
    RaChange change;

    if (!ra_change_parse(sets[i], &change, error))
      return FALSE;
    g_array_append_val(loader->changes, change);
    if (!reads(loader->kind, change.kind)) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "--set '%s': changes a %s, found a %s", sets[i],
                  ra_file_kind_name(change.kind),
                  ra_file_kind_name(loader->kind));
      return FALSE;
    }
  }
  return TRUE;
}

static gboolean
refuse_flags(const Loader *loader, GError **error)
{
  const RaSetupFlags *flags = loader->flags;
  const char *flag = NULL;

  if (loader->kind != RA_FILE_PLAN && flags->workload)
    flag = "--workload";
  else if (loader->kind != RA_FILE_PLAN && flags->cluster)
    flag = "--cluster";
  else if (loader->kind != RA_FILE_PLAN && flags->system)
    flag = "--system";
  else if (loader->kind == RA_FILE_WORKLOAD && flags->profile)
    flag = "--profile";
  if (!flag)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: expected a plan, found a %s", flag,
              ra_file_kind_name(loader->kind));
  return FALSE;
}

/* Makes the changes of groups of @noun (nullable: of all) of @file. */
static gboolean
apply_changes(const Loader *loader, RaFileKind kind, const char *noun,
              RaKeyFile *file, GError **error)
{
  const RaWorkload *workload = loader->setup->workload;

  for (guint i = 0; i < loader->changes->len; i++) {
    const RaChange *change = &g_array_index(loader->changes, RaChange, i);

    if (change->kind == kind && (!noun || g_str_equal(noun, change->noun)) &&
        !ra_change_apply(change, file, workload ? workload->file : NULL, error))
      return FALSE;
  }
  return TRUE;
}

/* Finds and reads a key file and makes its changes; @out_path is kept. */
static RaKeyFile *
open_file(const Loader *loader, RaFileKind kind, const char *name,
          const char *relative_to, char **out_path, GError **error)
{
  g_autoptr(RaKeyFile) file = NULL;

  *out_path =
      ra_share_find(ra_file_kind_folder(kind), name, relative_to, error);
  if (!*out_path)
    return NULL;
  if (!ra_file_keep(*out_path, loader->flags->outputs, error))
    return NULL;
  file = ra_key_file_load(*out_path, error);
  if (!file || !apply_changes(loader, kind, NULL, file, error))
    return NULL;
  return g_steal_pointer(&file);
}

static gboolean
load_workload(Loader *loader, const char *name, const char *relative_to,
              GError **error)
{
  RaSetup *setup = loader->setup;
  g_autoptr(RaKeyFile) file =
      open_file(loader, RA_FILE_WORKLOAD, name, relative_to,
                &setup->workload_path, error);

  if (file)
    setup->workload = ra_workload_load(file, error);
  return setup->workload != NULL;
}

/* The profile of the cluster's GPU, which fills the cluster's device. */
static gboolean
load_profile(Loader *loader, GError **error)
{
  RaSetup *setup = loader->setup;
  RaCluster *cluster = setup->cluster;
  const char *flag = loader->flags->profile;
  g_autofree char *name = g_strconcat(cluster->gpu, ".profile", NULL);
  g_autoptr(RaKeyFile) file = NULL;
  GError *cause = NULL;

  file = open_file(loader, RA_FILE_PROFILE, flag ? flag : name,
                   flag ? NULL : ra_key_file_name(cluster->file),
                   &setup->profile_path, &cause);
  if (file)
    setup->profile = ra_profile_load(file, &cause);
  if (setup->profile) {
    cluster->device = setup->profile->spec;
    return TRUE;
  }
  if (setup->profile_path) { /* found: the message names the place in it */
    g_propagate_error(error, cause);
    return FALSE;
  }
  if (flag) {
    g_propagate_prefixed_error(error, cause, "--profile: ");
    return FALSE;
  }
  ra_key_file_fail(cluster->file,
                   (guint)ra_key_file_find_group(cluster->file, "cluster", ""),
                   "gpu", error, "'gpu': %s", cause->message);
  g_error_free(cause);
  return FALSE;
}

/* TRUE if a flag sets @key of the cluster. */
static gboolean
sets_cluster(const Loader *loader, const char *key)
{
  for (guint i = 0; i < loader->changes->len; i++) {
    const RaChange *change = &g_array_index(loader->changes, RaChange, i);

    if (g_str_equal(change->noun, "cluster") && g_str_equal(change->key, key))
      return TRUE;
  }
  return FALSE;
}

/* The price of a cluster whose GPU a flag sets, and not the price: that of the
 * GPU's own shipped cluster, as the file's is another GPU's. */
static void
take_price(Loader *loader)
{
  RaSetup *setup = loader->setup;
  RaCluster *cluster = setup->cluster;
  g_autoptr(RaKeyFile) file = NULL, shipped = NULL;
  g_autoptr(RaCluster) other = NULL;
  g_autofree char *was = NULL, *is = NULL;
  const char *gpu;

  if (!sets_cluster(loader, "gpu") || sets_cluster(loader, "price") ||
      isnan(cluster->usd_per_gpu_h) || cluster->n_kinds > 0)
    return;
  file = ra_key_file_load(setup->cluster_path, NULL);
  gpu = file ? ra_key_file_get(
                   file, (guint)ra_key_file_find_group(file, "cluster", ""),
                   "gpu")
             : NULL;
  was = gpu ? ra_gpu_name(gpu) : NULL;
  is = ra_gpu_name(cluster->gpu);
  if (g_strcmp0(was, is) == 0)
    return;
  shipped = ra_gpu_cluster(cluster->gpu, &setup->price_cluster);
  other = shipped ? ra_cluster_load(shipped, NULL) : NULL;
  cluster->usd_per_gpu_h = other ? other->usd_per_gpu_h : (double)NAN;
  if (isnan(cluster->usd_per_gpu_h)) {
    g_free(setup->price_cluster);
    setup->price_cluster = g_strdup("");
  }
}

static gboolean
load_cluster(Loader *loader, const char *name, const char *relative_to,
             GError **error)
{
  RaSetup *setup = loader->setup;
  g_autoptr(RaKeyFile) file = open_file(
      loader, RA_FILE_CLUSTER, name, relative_to, &setup->cluster_path, error);

  if (file)
    setup->cluster = ra_cluster_load(file, error);
  if (setup->cluster)
    take_price(loader);
  return setup->cluster != NULL && load_profile(loader, error) &&
         load_kinds(loader->setup, error);
}

/* In a plan `reallhf-2024` is short for `reallhf-2024.system`. */
static gboolean
load_system(Loader *loader, const char *name, const char *relative_to,
            GError **error)
{
  RaSetup *setup = loader->setup;
  gboolean is_short = relative_to && !g_str_has_suffix(name, ".system");
  g_autofree char *full = g_strconcat(name, is_short ? ".system" : "", NULL);
  g_autoptr(RaKeyFile) file = open_file(
      loader, RA_FILE_SYSTEM, full, relative_to, &setup->system_path, error);

  if (file)
    setup->system = ra_system_load(file, error);
  if (setup->system)
    ra_system_apply(setup->system, setup->cluster);
  return setup->system != NULL;
}

/* Reader of a file that a plan names by its key, or that a flag names instead.
 */
typedef gboolean (*LoadPart)(Loader *loader, const char *name,
                             const char *relative_to, GError **error);

static gboolean
load_part(Loader *loader, RaKeyFile *plan, const char *key, const char *value,
          const char *flag, LoadPart load, char *const *path, GError **error)
{
  GError *cause = NULL;

  if (load(loader, flag ? flag : value, flag ? NULL : ra_key_file_name(plan),
           &cause))
    return TRUE;
  if (flag && !*path) {
    g_propagate_prefixed_error(error, cause, "--%s: ", key);
    return FALSE;
  }
  if (*path) { /* found: the message names the place in it */
    g_propagate_error(error, cause);
    return FALSE;
  }
  ra_key_file_fail(plan, (guint)ra_key_file_find_group(plan, "plan", ""), key,
                   error, "'%s': %s", key, cause->message);
  g_error_free(cause);
  return FALSE;
}

/* Changes of a system where none runs the plan are refused. */
static gboolean
check_system(const Loader *loader, GError **error)
{
  for (guint i = 0; i < loader->changes->len && !loader->setup->system; i++) {
    const RaChange *change = &g_array_index(loader->changes, RaChange, i);

    if (change->kind != RA_FILE_SYSTEM)
      continue;
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--set '%s': changes a system, expected --system=FILE",
                change->text);
    return FALSE;
  }
  return TRUE;
}

/* Further inputs of an estimator; %FALSE where there is none. */
static gboolean
finish_estimator(const Loader *loader)
{
  RaSetup *setup = loader->setup;

  if (!setup->estimator)
    return FALSE;
  if (setup->system)
    ra_estimator_set_system(setup->estimator, &setup->system->constants);
  ra_estimator_set_real(setup->estimator, loader->flags->real);
  return TRUE;
}

/* Whoever runs the plan, if it or a flag says so. */
static gboolean
make_estimator(Loader *loader, RaKeyFile *plan, GError **error)
{
  RaSetup *setup = loader->setup;
  const char *system = ra_plan_system(plan), *flag = loader->flags->system;

  if ((system || flag) && !load_part(loader, plan, "system", system, flag,
                                     load_system, &setup->system_path, error))
    return FALSE;
  if (!check_system(loader, error))
    return FALSE;
  setup->estimator = new_estimator(setup, error);
  return finish_estimator(loader);
}

static gboolean
load_plan(Loader *loader, const char *name, GError **error)
{
  RaSetup *setup = loader->setup;
  const RaSetupFlags *flags = loader->flags;
  g_autoptr(RaKeyFile) file = NULL;
  const char *workload, *cluster;

  setup->plan_path = ra_share_find("plans", name, NULL, error);
  if (!setup->plan_path ||
      !ra_file_keep(setup->plan_path, flags->outputs, error))
    return FALSE;
  file = ra_key_file_load(setup->plan_path, error);
  if (!file)
    return FALSE;
  /* The changes of calls come last: the workload says what calls there are. */
  if (!apply_changes(loader, RA_FILE_PLAN, "plan", file, error) ||
      !ra_plan_files(file, &workload, &cluster, error))
    return FALSE;
  if (!load_part(loader, file, "workload", workload, flags->workload,
                 load_workload, &setup->workload_path, error) ||
      !load_part(loader, file, "cluster", cluster, flags->cluster, load_cluster,
                 &setup->cluster_path, error) ||
      !apply_changes(loader, RA_FILE_PLAN, "call", file, error))
    return FALSE;
  setup->plan = ra_plan_load(file, setup->workload, setup->cluster, error);
  return setup->plan != NULL && make_estimator(loader, file, error);
}

RaSetup *
ra_setup_load(const char *path, RaFileKind kind, const RaSetupFlags *flags,
              GError **error)
{
  g_autoptr(RaSetup) setup = g_new0(RaSetup, 1);
  g_autoptr(GArray) changes = g_array_new(FALSE, FALSE, sizeof(RaChange));
  Loader loader = {setup, flags, kind, changes};
  gboolean ok;

  g_return_val_if_fail(path != NULL && flags != NULL, NULL);
  g_array_set_clear_func(changes, clear_change);
  if (!parse_changes(&loader, error) || !refuse_flags(&loader, error))
    return NULL;
  switch (kind) {
  case RA_FILE_PLAN:
    ok = load_plan(&loader, path, error);
    break;
  case RA_FILE_WORKLOAD:
    ok = load_workload(&loader, path, NULL, error);
    break;
  case RA_FILE_CLUSTER:
    ok = load_cluster(&loader, path, NULL, error);
    break;
  default:
    g_return_val_if_reached(NULL);
  }
  return ok ? g_steal_pointer(&setup) : NULL;
}

/* Changes of a plan that is not there yet are refused. */
static gboolean
refuse_plan_changes(const Loader *loader, GError **error)
{
  for (guint i = 0; i < loader->changes->len; i++) {
    const RaChange *change = &g_array_index(loader->changes, RaChange, i);

    if (change->kind != RA_FILE_PLAN)
      continue;
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "--set '%s': changes a plan, expected a change of the workload "
                "or the cluster",
                change->text);
    return FALSE;
  }
  return TRUE;
}

RaSetup *
ra_setup_load_pair(const RaSetupFlags *flags, GError **error)
{
  g_autoptr(RaSetup) setup = g_new0(RaSetup, 1);
  g_autoptr(GArray) changes = g_array_new(FALSE, FALSE, sizeof(RaChange));
  Loader loader = {setup, flags, RA_FILE_PLAN, changes};
  GError *cause = NULL;

  g_return_val_if_fail(flags != NULL, NULL);
  g_array_set_clear_func(changes, clear_change);
  if (!flags->workload || !flags->cluster) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "expected --workload and --cluster");
    return NULL;
  }
  if (!parse_changes(&loader, error) || !refuse_plan_changes(&loader, error))
    return NULL;
  if (!load_workload(&loader, flags->workload, NULL, &cause)) {
    g_propagate_prefixed_error(error, cause, "%s",
                               setup->workload_path ? "" : "--workload: ");
    return NULL;
  }
  if (!load_cluster(&loader, flags->cluster, NULL, &cause)) {
    g_propagate_prefixed_error(error, cause, "%s",
                               setup->cluster_path ? "" : "--cluster: ");
    return NULL;
  }
  if (flags->system && !load_system(&loader, flags->system, NULL, &cause)) {
    g_propagate_prefixed_error(error, cause, "%s",
                               setup->system_path ? "" : "--system: ");
    return NULL;
  }
  if (!check_system(&loader, error))
    return NULL;
  setup->estimator = new_estimator(setup, error);
  return finish_estimator(&loader) ? g_steal_pointer(&setup) : NULL;
}

gboolean
ra_setup_read_plan(RaSetup *setup, const char *name, const char *text,
                   GError **error)
{
  g_autoptr(RaKeyFile) file =
      ra_key_file_parse(name, text, strlen(text), error);
  RaPlan *plan =
      file ? ra_plan_load(file, setup->workload, setup->cluster, error) : NULL;

  if (!plan)
    return FALSE;
  ra_plan_free(setup->plan);
  g_free(setup->plan_path);
  setup->plan = plan;
  setup->plan_path = g_strdup(name);
  return TRUE;
}

char *
ra_setup_name_in_plan(const char *folder, const char *path, const char *output)
{
  g_autofree char *base = g_path_get_basename(path);
  g_autofree char *whole = g_canonicalize_filename(path, NULL);
  g_autofree char *found = ra_share_find(folder, base, output, NULL);
  g_autofree char *whole_found =
      found ? g_canonicalize_filename(found, NULL) : NULL;

  if (g_strcmp0(whole, whole_found) == 0)
    return g_steal_pointer(&base);
  return g_steal_pointer(&whole);
}

void
ra_setup_free(RaSetup *setup)
{
  if (!setup)
    return;
  ra_estimator_free(setup->estimator);
  for (guint k = 0; k < RA_NODE_KINDS_MAX; k++) {
    g_free(setup->kind_clusters[k]);
    ra_profile_free(setup->kind_profiles[k]);
  }
  ra_plan_free(setup->plan);
  ra_cluster_free(setup->cluster);
  ra_profile_free(setup->profile);
  ra_system_free(setup->system);
  ra_workload_free(setup->workload);
  g_free(setup->price_cluster);
  g_free(setup->workload_path);
  g_free(setup->cluster_path);
  g_free(setup->plan_path);
  g_free(setup->profile_path);
  g_free(setup->system_path);
  g_free(setup);
}

RaProfileError
ra_profile_error(const RaProfile *profile)
{
  RaProfileError found = {.n_laws = profile->n_laws,
                          .least_frac = (double)NAN,
                          .most_frac = (double)NAN};

  for (guint i = 0; i < profile->n_laws; i++) {
    double frac = profile->laws[i].error_median_frac;

    if (isnan(frac))
      continue;
    found.n_measured++;
    found.least_frac = fmin(found.least_frac, frac); /* ignores NAN */
    found.most_frac = fmax(found.most_frac, frac);
  }
  return found;
}
