/* Study files: parsing, checks, and points. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "search/family/strategy.h"
#include "study/sweep/study_impl.h"

#define MAX_ITERATIONS 1000
#define MAX_DRAWS 1000
#define MAX_BISECT 20

const char *const ra_question_names[] = {
    "fits", "minimum", "maximum", "knee", "crossover", "pareto", NULL};
static const char *const nouns[] = {"study!", "axis *", "failures", NULL};
static const char *const scale_words[] = {"linear", "log", NULL};
static const char *const network_words[] = {"off", "flows", NULL};
static const char *const fidelity_words[] = {"call", "stage", "op", NULL};

/* [study] as it is written. */
typedef struct {
  const char *title, *plan, *workload, *cluster, *profile, *system, *placement;
  const char *const *sets;
  const char *const *of;
  const char *const *where;
  const char *along;
  int question, fidelity, network, batching;
  uint32_t iterations, draws, bisect;
  uint64_t seed, steps;
} StudyKeys;

#define STUDY(field) G_STRUCT_OFFSET(StudyKeys, field)
/* clang-format off */
static const RaKeySpec study_keys[] = {
  {"title", RA_KEY_STRING, STUDY(title), .required = TRUE,
   .doc = "question in words"},
  {"plan", RA_KEY_STRING, STUDY(plan), .doc = "plan that is varied"},
  {"workload", RA_KEY_STRING, STUDY(workload),
   .doc = "workload in place of the plan's, or to make plans for"},
  {"cluster", RA_KEY_STRING, STUDY(cluster),
   .doc = "cluster in place of the plan's, or to make plans for"},
  {"profile", RA_KEY_STRING, STUDY(profile),
   .doc = "profile in place of that of the cluster's GPU"},
  {"system", RA_KEY_STRING, STUDY(system),
   .doc = "system profile that the plans run under"},
  {"placement", RA_KEY_STRING, STUDY(placement),
   .doc = "placement strategy that makes the plans, or search"},
  {"batching", RA_KEY_ENUM, STUDY(batching), .fallback = "auto",
   .names = ra_strategy_batchings,
   .doc = "placement: batching of generation: static where that fits "
          "(auto), static, continuous, or the fastest"},
  {"set", RA_KEY_STRINGS, STUDY(sets), .doc = "changes as of --set"},
  {"question", RA_KEY_ENUM, STUDY(question), .required = TRUE,
   .names = ra_question_names,
   .doc = "fits, minimum, maximum, knee, crossover or pareto"},
  {"of", RA_KEY_STRINGS, STUDY(of),
   .doc = "metric of the question; two for pareto"},
  {"along", RA_KEY_STRING, STUDY(along),
   .doc = "axis of a curve (default: the first)"},
  {"where", RA_KEY_STRINGS, STUDY(where),
   .doc = "constraints of points, such as fits, iteration < 60 s; default: "
          "fits"},
  {"fidelity", RA_KEY_ENUM, STUDY(fidelity), .fallback = "stage",
   .names = fidelity_words, .doc = "fidelity of the replays"},
  {"network", RA_KEY_ENUM, STUDY(network), .fallback = "off",
   .names = network_words, .doc = "contention for links: off or flows"},
  {"iterations", RA_KEY_UINT32, STUDY(iterations), .fallback = "3", .min = 1,
   .max = MAX_ITERATIONS, .doc = "iterations of a replay"},
  {"seed", RA_KEY_UINT64, STUDY(seed), .fallback = "0",
   .doc = "seed of the sampled lengths"},
  {"seeds", RA_KEY_UINT32, STUDY(draws), .fallback = "1", .min = 1,
   .max = MAX_DRAWS, .doc = "replays of a point, each with its own seed"},
  {"bisect", RA_KEY_UINT32, STUDY(bisect), .fallback = "4", .min = 0,
   .max = MAX_BISECT,
   .doc = "bisections of a crossover between two values"},
  {"steps", RA_KEY_UINT64, STUDY(steps), .fallback = "256", .min = 1,
   .max = 1e12, .doc = "placement = search: MCMC proposals of each chain"},
};

static const RaKeySpec failure_keys[] = {
  {"gpu-mtbf", RA_KEY_QUANTITY, G_STRUCT_OFFSET(RaFailures, gpu_mtbf_s),
   .required = TRUE, .min = 1, .max = 1e15, .unit = RA_UNIT_SECONDS,
   .doc = "mean time between failures of a GPU, including what fails with it"},
  {"checkpoint-time", RA_KEY_QUANTITY,
   G_STRUCT_OFFSET(RaFailures, checkpoint_s), .required = TRUE, .min = 0,
   .max = 1e9, .unit = RA_UNIT_SECONDS,
   .doc = "time that a run stops for a checkpoint"},
  {"restart-time", RA_KEY_QUANTITY, G_STRUCT_OFFSET(RaFailures, restart_s),
   .required = TRUE, .min = 0, .max = 1e9, .unit = RA_UNIT_SECONDS,
   .doc = "time from a failure until the run continues"},
  {"interval", RA_KEY_QUANTITY, G_STRUCT_OFFSET(RaFailures, interval_s),
   .min = 1, .max = 1e9, .unit = RA_UNIT_SECONDS,
   .doc = "time of work between checkpoints; left out: the best"},
};

static const RaKeySpec axis_keys[] = {
  {"key", RA_KEY_STRINGS, G_STRUCT_OFFSET(RaStudyAxisKeys, keys),
   .required = TRUE,
   .doc = "key that changes: GROUP.KEY as for --set, placement, split, "
          "batching, plan, workload, cluster, profile, system, seed, runs, "
          "failures.KEY"},
  {"values", RA_KEY_STRINGS, G_STRUCT_OFFSET(RaStudyAxisKeys, values),
   .required = TRUE,
   .doc = "values of the key, with | between those of several keys"},
  {"labels", RA_KEY_STRINGS, G_STRUCT_OFFSET(RaStudyAxisKeys, labels),
   .doc = "names of the values in tables; left out: as they are written"},
  {"scale", RA_KEY_ENUM, G_STRUCT_OFFSET(RaStudyAxisKeys, scale),
   .names = scale_words,
   .doc = "scale of curves, linear or log (default: log where numbers span "
          "more than 8 times)"},
};
/* clang-format on */

const RaKeySpec *
ra_study_key_specs(const char *noun, gsize *out_n)
{
  g_return_val_if_fail(noun != NULL && out_n != NULL, NULL);
  *out_n = 0;
  if (g_str_equal(noun, "study")) {
    *out_n = G_N_ELEMENTS(study_keys);
    return study_keys;
  }
  if (g_str_equal(noun, "axis")) {
    *out_n = G_N_ELEMENTS(axis_keys);
    return axis_keys;
  }
  if (g_str_equal(noun, "failures")) {
    *out_n = G_N_ELEMENTS(failure_keys);
    return failure_keys;
  }
  return NULL;
}

gboolean
ra_study_set_failures(RaFailures *failures, const char *key, const char *value,
                      GError **error)
{
  const char *name = key + strlen("failures.");

  for (guint i = 0; i < G_N_ELEMENTS(failure_keys); i++) {
    const RaKeySpec *spec = &failure_keys[i];
    double s;

    if (!g_str_equal(spec->key, name))
      continue;
    if (!ra_quantity_parse(value, spec->unit, &s, error))
      return FALSE;
    if (s >= spec->min && s <= spec->max) {
      G_STRUCT_MEMBER(double, failures, spec->offset) = s;
      return TRUE;
    }
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "'%s' is %s, expected %g to %g s", name, value, spec->min,
                spec->max);
    return FALSE;
  }
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "no key '%s' in [failures], expected gpu-mtbf, checkpoint-time, "
              "restart-time or interval",
              name);
  return FALSE;
}

/* `fits`, `iteration < 60 s`. */
static gboolean
read_limit(const RaStudy *study, const char *text, RaStudyLimit *limit,
           GError **error)
{
  gsize n = strcspn(text, "<>");
  g_autofree char *name = g_strstrip(g_strndup(text, n));
  g_autofree char *names = ra_metric_names();
  GError *cause = NULL;
  const char *value = text + n;

  if (g_str_equal(text, "fits"))
    return TRUE;
  limit->metric = *value ? ra_metric_find(name) : NULL;
  if (!limit->metric)
    return ra_key_file_fail(study->file, 0, "where", error,
                            "'where': '%s', expected fits, or a metric, < or "
                            ">, and a value; metrics are %s",
                            text, names);
  limit->is_upper = *value == '<';
  limit->is_strict = value[1] != '=';
  value += limit->is_strict ? 1 : 2;
  while (*value == ' ')
    value++;
  if (ra_metric_parse(limit->metric, value, &limit->value, &cause))
    return TRUE;
  ra_key_file_fail(study->file, 0, "where", error, "'where': %s: %s",
                   limit->metric->name, cause->message);
  g_error_free(cause);
  return FALSE;
}

static gboolean
read_limits(RaStudy *study, const char *const *where, GError **error)
{
  static const char *const fits[] = {"fits", NULL};

  if (!where)
    where = fits;
  study->n_limits = g_strv_length((char **)where);
  study->limits = g_new0(RaStudyLimit, study->n_limits + 1);
  for (guint i = 0; i < study->n_limits; i++)
    if (!read_limit(study, where[i], &study->limits[i], error))
      return FALSE;
  return TRUE;
}

static gboolean
read_metrics(RaStudy *study, const char *const *of, GError **error)
{
  guint n = of ? g_strv_length((char **)of) : 0;
  guint wanted = study->question == RA_QUESTION_PARETO ? 2
                 : study->question == RA_QUESTION_FITS ? 0
                                                       : 1;
  g_autofree char *names = ra_metric_names();

  if (n != wanted && !(wanted == 0 && n == 1))
    return ra_key_file_fail(study->file, 0, "of", error,
                            "%u metrics, expected %u for %s; metrics are %s", n,
                            wanted, ra_question_names[study->question], names);
  for (guint i = 0; i < n; i++) {
    study->metrics[i] = ra_metric_find(of[i]);
    if (!study->metrics[i])
      return ra_key_file_fail(study->file, 0, "of", error,
                              "'of' is '%s', expected one of %s", of[i], names);
  }
  study->n_metrics = n;
  if (n == 0) {
    study->metrics[0] = ra_metric_find("memory");
    study->n_metrics = 1;
  }
  return TRUE;
}

/* A file that the study names; *out NULL where it names none. */
static gboolean
find_file(const RaStudy *study, const char *key, const char *name,
          RaFileKind kind, char **out, GError **error)
{
  GError *cause = NULL;

  if (!name)
    return TRUE;
  *out = ra_share_find(ra_file_kind_folder(kind), name,
                       ra_key_file_name(study->file), &cause);
  if (*out)
    return TRUE;
  ra_key_file_fail(study->file, 0, key, error, "'%s': %s", key, cause->message);
  g_error_free(cause);
  return FALSE;
}

/* TRUE if plans can come about. */
static gboolean
check_plans(const RaStudy *study, GError **error)
{
  gboolean has_placement = study->placement != NULL,
           has_plan = study->plan != NULL;

  for (guint a = 0; a < study->n_axes; a++)
    for (guint k = 0; k < study->axes[a].n_keys; k++) {
      has_placement |= study->axes[a].kinds[k] == RA_AXIS_PLACEMENT;
      has_plan |= study->axes[a].kinds[k] == RA_AXIS_PLAN;
    }
  if (has_placement == has_plan)
    return ra_key_file_fail(study->file, 0, has_plan ? "plan" : NULL, error,
                            "%s, expected one of plan and placement",
                            has_plan ? "plan and placement" : "no plan");
  if (study->placement && !g_str_equal(study->placement, "search") &&
      !g_strv_contains(ra_strategy_names, study->placement))
    return ra_key_file_fail(study->file, 0, "placement", error,
                            "'placement' is '%s', expected a placement "
                            "strategy such as hybridflow, or search",
                            study->placement);
  return TRUE;
}

static gboolean
read_along(RaStudy *study, const char *along, GError **error)
{
  for (guint a = 0; along && a < study->n_axes; a++)
    if (g_str_equal(study->axes[a].name, along)) {
      study->along = a;
      return TRUE;
    }
  return !along || ra_key_file_fail(study->file, 0, "along", error,
                                    "'along' is '%s', expected the name of an "
                                    "axis",
                                    along);
}

static gboolean
read_axes(RaStudy *study, GError **error)
{
  guint64 n_points = 1;

  study->axes = g_new0(RaStudyAxis, RA_STUDY_AXES_MAX);
  for (guint g = 0; g < ra_key_file_n_groups(study->file); g++) {
    const char *noun = ra_key_file_group_noun(study->file, g);

    if (g_str_equal(noun, "failures")) {
      study->has_failures = TRUE;
      if (!ra_key_file_read_group(study->file, g, failure_keys,
                                  G_N_ELEMENTS(failure_keys), &study->failures,
                                  error))
        return FALSE;
    }
    if (!g_str_equal(noun, "axis"))
      continue;
    if (study->n_axes == RA_STUDY_AXES_MAX)
      return ra_key_file_fail(study->file, g, NULL, error,
                              "too many axes, expected %d at most",
                              RA_STUDY_AXES_MAX);
    study->n_axes++;
    if (!ra_study_read_axis(study, g, error))
      return FALSE;
    n_points *= study->axes[study->n_axes - 1].n_values;
    if (n_points > RA_STUDY_POINTS_MAX)
      return ra_key_file_fail(study->file, g, "values", error,
                              "too many points, expected %d at most",
                              RA_STUDY_POINTS_MAX);
  }
  study->n_points = (guint)n_points;
  return study->n_axes > 0 ||
         ra_key_file_fail(study->file, 0, NULL, error,
                          "no axis, expected a group [axis NAME]");
}

static gboolean
read_study(RaStudy *study, guint group, GError **error)
{
  StudyKeys keys = {.fidelity = RA_FIDELITY_STAGE};

  if (!ra_key_file_read_group(study->file, group, study_keys,
                              G_N_ELEMENTS(study_keys), &keys, error))
    return FALSE;
  study->title = keys.title;
  study->placement = keys.placement;
  study->batching = keys.batching;
  study->sets = keys.sets;
  study->question = keys.question;
  study->n_steps = keys.steps;
  study->n_draws = keys.draws;
  study->n_bisect = keys.bisect;
  study->replay.n_iterations = keys.iterations;
  study->replay.seed = keys.seed;
  study->replay.flows = keys.network == 1;
  study->replay.fidelity = keys.fidelity == 0   ? RA_FIDELITY_CALL
                           : keys.fidelity == 1 ? RA_FIDELITY_STAGE
                                                : RA_FIDELITY_OP;
  return find_file(study, "plan", keys.plan, RA_FILE_PLAN, &study->plan,
                   error) &&
         find_file(study, "workload", keys.workload, RA_FILE_WORKLOAD,
                   &study->workload, error) &&
         find_file(study, "cluster", keys.cluster, RA_FILE_CLUSTER,
                   &study->cluster, error) &&
         find_file(study, "profile", keys.profile, RA_FILE_PROFILE,
                   &study->profile, error) &&
         find_file(study, "system", keys.system, RA_FILE_SYSTEM, &study->system,
                   error) &&
         read_metrics(study, keys.of, error) &&
         read_limits(study, keys.where, error) && read_axes(study, error) &&
         read_along(study, keys.along, error) && check_plans(study, error);
}

RaStudy *
ra_study_load(RaKeyFile *file, GError **error)
{
  g_autoptr(RaStudy) study = g_new0(RaStudy, 1);

  g_return_val_if_fail(file != NULL, NULL);
  study->file = ra_key_file_ref(file);
  if (!ra_key_file_check_nouns(file, nouns, error) ||
      !read_study(study, (guint)ra_key_file_find_group(file, "study", ""),
                  error))
    return NULL;
  return g_steal_pointer(&study);
}

void
ra_study_free(RaStudy *study)
{
  if (!study)
    return;
  for (guint a = 0; study->axes && a < study->n_axes; a++)
    ra_study_axis_clear(&study->axes[a]);
  g_free(study->axes);
  g_free(study->limits);
  g_free(study->plan);
  g_free(study->workload);
  g_free(study->cluster);
  g_free(study->profile);
  g_free(study->system);
  ra_key_file_unref(study->file);
  g_free(study);
}
