/* Limits of the space, as a user writes them. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "search/space.h"

static const char *const kind_words[RA_N_LIMITS + 1] = {
    "mesh",      "gpus",      "tp", "dp", "pp",       "micro-batches",
    "zero",      "recompute", "cp", "ep", "schedule", "sequence-parallel",
    "residency", NULL};
static const char *const recompute_words[] = {"none", "selective", "full",
                                              NULL};
static const char *const schedule_words[] = {"gpipe", "1f1b", NULL};
static const char *const residency_words[] = {"release", "keep", "host", NULL};
static const char *const switch_words[] = {"false", "true", NULL};

/* Words of kinds that have them. */
static const char *const *const kind_values[RA_N_LIMITS] = {
    [RA_LIMIT_RECOMPUTE] = recompute_words,
    [RA_LIMIT_SCHEDULE] = schedule_words,
    [RA_LIMIT_RESIDENCY] = residency_words,
    [RA_LIMIT_SEQUENCE_PARALLEL] = switch_words};
static const char *const kind_expected[RA_N_LIMITS] = {
    [RA_LIMIT_RECOMPUTE] = "none, selective or full",
    [RA_LIMIT_SCHEDULE] = "gpipe, 1f1b or interleaved:N, N from 2 to 64",
    [RA_LIMIT_RESIDENCY] = "release, keep or host",
    [RA_LIMIT_SEQUENCE_PARALLEL] = "true or false"};

static int
find_word(const char *const *words, const char *word)
{
  for (int i = 0; words[i]; i++)
    if (strcmp(words[i], word) == 0)
      return i;
  return -1;
}

/* A word of the kind, or interleaved:N. */
static gboolean
parse_word(const char *text, const RaLimit *limit, guint64 *out_value,
           GError **error)
{
  int word = find_word(kind_values[limit->kind], text);

  if (word >= 0) {
    *out_value = (guint64)word;
    return TRUE;
  }
  if (limit->kind == RA_LIMIT_SCHEDULE &&
      g_str_has_prefix(text, "interleaved:") &&
      g_ascii_string_to_unsigned(text + strlen("interleaved:"), 10, 2, 64,
                                 out_value, NULL))
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "'%s' is no value of %s, expected %s", text,
              kind_words[limit->kind], kind_expected[limit->kind]);
  return FALSE;
}

static gboolean
parse_value(const char *text, RaLimit *limit, GError **error)
{
  guint64 value = 0;

  if (kind_values[limit->kind]) {
    if (!parse_word(text, limit, &value, error))
      return FALSE;
  } else if (!g_ascii_string_to_unsigned(text, 10, 0, UINT32_MAX - 1, &value,
                                         NULL)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "'%s' is no value of %s, expected a whole number", text,
                kind_words[limit->kind]);
    return FALSE;
  }
  if (limit->n_values == RA_LIMIT_VALUES_MAX) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "too many values, expected at most %d", RA_LIMIT_VALUES_MAX);
    return FALSE;
  }
  limit->values[limit->n_values++] = (uint32_t)value;
  return TRUE;
}

static gboolean
parse_mesh(const char *text, const RaCluster *cluster, RaLimit *limit,
           GError **error)
{
  RaMesh mesh;

  if (!ra_mesh_parse(text, cluster, &mesh, error))
    return FALSE;
  if (mesh.n_nodes > 1 && mesh.gpus_per_node < cluster->gpus_per_node) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "mesh '%s' is slices of several nodes, expected a slice of one "
                "node or whole nodes",
                text);
    return FALSE;
  }
  if (mesh.n_runs > RA_NODE_SET_RUNS) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "mesh '%s' has %u runs of nodes, expected at most %d", text,
                mesh.n_runs, RA_NODE_SET_RUNS);
    return FALSE;
  }
  limit->mesh = mesh;
  limit->values[0] = ra_mesh_gpu(&mesh, cluster, 0);
  limit->values[1] = ra_mesh_n_gpus(&mesh);
  limit->n_values = 2;
  return TRUE;
}

gboolean
ra_limit_parse(const char *text, const RaWorkload *workload,
               const RaCluster *cluster, RaLimit *out_limit, GError **error)
{
  const char *dot = strchr(text, '.'), *equals = strchr(text, '=');
  g_autofree char *name = NULL, *key = NULL;
  g_auto(GStrv) values = NULL;
  RaLimit limit = {.n_values = 0};

  if (!dot || !equals || equals < dot || equals[1] == '\0') {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "'%s' is no limit, expected CALL.KEY=VALUE[,VALUE...]", text);
    return FALSE;
  }
  name = g_strndup(text, (gsize)(dot - text));
  key = g_strndup(dot + 1, (gsize)(equals - dot - 1));
  limit.call = ra_workload_find_call(workload, name);
  limit.kind = find_word(kind_words, key);
  if (limit.call == RA_NONE || limit.kind < 0) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "'%s': %s '%s', expected %s",
                text, limit.kind < 0 ? "unknown key" : "no call",
                limit.kind < 0 ? key : name,
                limit.kind < 0 ? "mesh, gpus, tp, dp, pp, cp, ep, "
                                 "micro-batches, schedule, zero, recompute, "
                                 "sequence-parallel or residency"
                               : "one of the workload's calls");
    return FALSE;
  }
  if (limit.kind == RA_LIMIT_MESH) {
    if (!parse_mesh(equals + 1, cluster, &limit, error))
      return FALSE;
  } else {
    values = g_strsplit(equals + 1, ",", -1);
    for (guint i = 0; values[i]; i++)
      if (!parse_value(values[i], &limit, error))
        return FALSE;
  }
  *out_limit = limit;
  return TRUE;
}
