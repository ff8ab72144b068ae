/* Limits of the space, as a user writes them. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "search/space/space.h"

static const char *const kind_words[RA_N_LIMITS + 1] = {
    "mesh",      "gpus",      "tp",
    "dp",        "pp",        "micro-batches",
    "zero",      "recompute", "cp",
    "ep",        "schedule",  "sequence-parallel",
    "residency", "batching",  "mini-batches",
    NULL};
static const char *const recompute_words[] = {"none", "selective", "full",
                                              NULL};
static const char *const schedule_words[] = {"gpipe", "1f1b", NULL};
static const char *const residency_words[] = {"release", "keep", "host", NULL};
static const char *const batching_words[] = {"static", "continuous", NULL};
static const char *const switch_words[] = {"false", "true", NULL};

/* Words of kinds that have them. */
static const char *const *const kind_values[RA_N_LIMITS] = {
    [RA_LIMIT_RECOMPUTE] = recompute_words,
    [RA_LIMIT_SCHEDULE] = schedule_words,
    [RA_LIMIT_RESIDENCY] = residency_words,
    [RA_LIMIT_BATCHING] = batching_words,
    [RA_LIMIT_SEQUENCE_PARALLEL] = switch_words};
static const char *const kind_expected[RA_N_LIMITS] = {
    [RA_LIMIT_RECOMPUTE] = "none, selective or full",
    [RA_LIMIT_SCHEDULE] = "gpipe, 1f1b or interleaved:N, N from 2 to 64",
    [RA_LIMIT_RESIDENCY] = "release, keep or host",
    [RA_LIMIT_BATCHING] = "static or continuous",
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
              "'%s' is not a value of %s, expected %s", text,
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
                "'%s' is not a value of %s, expected a whole number", text,
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

/* `<=4`, `>=2`. */
static gboolean
parse_range(const char *text, RaLimit *limit, GError **error)
{
  guint64 value;

  if (kind_values[limit->kind] ||
      !g_ascii_string_to_unsigned(text + 2, 10, 0, UINT32_MAX - 1, &value,
                                  NULL)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "'%s' is not a range of %s, expected %s", text,
                kind_words[limit->kind],
                kind_values[limit->kind] ? kind_expected[limit->kind]
                                         : "a whole number behind <= or >=");
    return FALSE;
  }
  limit->has_range = TRUE;
  limit->least = *text == '>' ? (uint32_t)value : 0;
  limit->most = *text == '<' ? (uint32_t)value : UINT32_MAX;
  return TRUE;
}

static gboolean
parse_all(const char *text, const RaCluster *cluster, RaLimit *limit,
          GError **error)
{
  g_auto(GStrv) values = NULL;

  if (limit->kind == RA_LIMIT_MESH)
    return parse_mesh(text, cluster, limit, error);
  if (g_str_has_prefix(text, "<=") || g_str_has_prefix(text, ">="))
    return parse_range(text, limit, error);
  values = g_strsplit(text, ",", -1);
  for (guint i = 0; values[i]; i++)
    if (!parse_value(g_strstrip(values[i]), limit, error))
      return FALSE;
  return TRUE;
}

static gboolean
parse_kind(const char *key, RaLimit *limit, GError **error)
{
  limit->kind = find_word(kind_words, key);
  if (limit->kind >= 0)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "unknown key '%s', expected mesh, gpus, tp, dp, pp, cp, ep, "
              "micro-batches, mini-batches, schedule, zero, recompute, "
              "sequence-parallel, residency or batching",
              key);
  return FALSE;
}

/* TRUE if @kind has more than one value for such a call. */
static gboolean
says_something(const RaCall *call, int kind)
{
  if (call->model == RA_NONE)
    return FALSE;
  if (kind == RA_LIMIT_SCHEDULE || kind == RA_LIMIT_RECOMPUTE ||
      kind == RA_LIMIT_MINI_BATCHES)
    return call->kind == RA_CALL_TRAIN;
  if (kind == RA_LIMIT_BATCHING)
    return call->kind == RA_CALL_GENERATE;
  if (kind == RA_LIMIT_SEQUENCE_PARALLEL || kind == RA_LIMIT_CP)
    return call->kind != RA_CALL_GENERATE;
  return TRUE;
}

/* A number of mini-batches that no plan may have is a slip, no answer. */
static gboolean
check_mini_batches(const RaCall *call, const RaLimit *limit, GError **error)
{
  if (limit->kind != RA_LIMIT_MINI_BATCHES)
    return TRUE;
  if (call->kind != RA_CALL_TRAIN) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "'%s' does not train, expected mini-batches of a train call",
                call->name);
    return FALSE;
  }
  for (uint32_t i = 0; i < limit->n_values; i++)
    if (limit->values[i] == 0 || call->n_sequences % limit->values[i] != 0 ||
        limit->values[i] % call->n_parts != 0) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "'%s' cannot have %u mini-batches, expected a divisor of %u, "
                  "its sequences, and a multiple of %u, its parts",
                  call->name, limit->values[i], call->n_sequences,
                  call->n_parts);
      return FALSE;
    }
  return TRUE;
}

/* Appends what @key of @name, a call or `all`, may be. */
static gboolean
add_limits(GArray *limits, const char *name, const char *key, const char *value,
           const RaWorkload *workload, const RaCluster *cluster, GError **error)
{
  RaLimit limit = {.n_values = 0};

  limit.call = ra_workload_find_call(workload, name);
  if (limit.call == RA_NONE && strcmp(name, "all") != 0) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "no call '%s', expected one of the workload's calls or all",
                name);
    return FALSE;
  }
  if (!parse_kind(key, &limit, error) ||
      !parse_all(value, cluster, &limit, error))
    return FALSE;
  if (limit.call != RA_NONE) {
    if (!check_mini_batches(&workload->calls[limit.call], &limit, error))
      return FALSE;
    g_array_append_val(limits, limit);
    return TRUE;
  }
  for (guint c = 0; c < workload->n_calls; c++)
    if (says_something(&workload->calls[c], limit.kind)) {
      if (!check_mini_batches(&workload->calls[c], &limit, error))
        return FALSE;
      limit.call = c;
      g_array_append_val(limits, limit);
    }
  return TRUE;
}

gboolean
ra_limits_add(GArray *limits, const char *text, const RaWorkload *workload,
              const RaCluster *cluster, GError **error)
{
  const char *dot = strchr(text, '.'), *equals = strchr(text, '=');
  g_autofree char *name = NULL, *key = NULL;

  /* `tp<=4` is meant. */
  if (equals && equals > text && (equals[-1] == '<' || equals[-1] == '>'))
    equals--;
  if (!dot || !equals || equals < dot || equals[1] == '\0') {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "'%s' is not a limit, expected CALL.KEY=VALUE[,VALUE...] or "
                "CALL.KEY<=NUMBER",
                text);
    return FALSE;
  }
  name = g_strndup(text, (gsize)(dot - text));
  key = g_strndup(dot + 1, (gsize)(equals - dot - 1));
  if (add_limits(limits, name, key, *equals == '=' ? equals + 1 : equals,
                 workload, cluster, error))
    return TRUE;
  g_prefix_error(error, "'%s': ", text);
  return FALSE;
}

gboolean
ra_limits_read(GArray *limits, const RaKeyFile *file,
               const RaWorkload *workload, const RaCluster *cluster,
               GError **error)
{
  static const char *const nouns[] = {"call *", NULL};

  if (!ra_key_file_check_nouns(file, nouns, error))
    return FALSE;
  for (guint g = 0; g < ra_key_file_n_groups(file); g++) {
    const char *key;

    for (guint i = 0; (key = ra_key_file_key(file, g, i)) != NULL; i++) {
      GError *cause = NULL;

      if (add_limits(limits, ra_key_file_group_name(file, g), key,
                     ra_key_file_value(file, g, i), workload, cluster, &cause))
        continue;
      ra_key_file_fail(file, g, key, error, "%s", cause->message);
      g_error_free(cause);
      return FALSE;
    }
  }
  return TRUE;
}
