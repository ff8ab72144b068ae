/* Exported settings as text, and what was lost. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/quote.h"
#include "base/text.h"
#include "graph/input/length.h"
#include "graph/input/plan_write.h"
#include "graph/input/turns.h"
#include "study/convert/export_impl.h"
#include "study/convert/model_name.h"

static void
free_pair(void *item)
{
  RaExportPair *pair = item;

  g_free(pair->key);
  g_free(pair->value);
  g_free(pair);
}

static RaExport *
new_export(const char *source, const char *framework, const char *version)
{
  RaExport *export = g_new0(RaExport, 1);

  export->source = g_path_get_basename(source);
  export->framework = framework;
  export->version = version;
  export->pairs = g_ptr_array_new_with_free_func(free_pair);
  export->lost = ra_table_new("not representable");
  ra_table_column(export->lost, "where", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(export->lost, "key", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(export->lost, "plan", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(export->lost, "exported", RA_UNIT_NONE, RA_CELL_TEXT);
  return export;
}

void
ra_export_free(RaExport *export)
{
  if (!export)
    return;
  g_free(export->source);
  g_ptr_array_unref(export->pairs);
  if (export->lost)
    ra_table_free(export->lost);
  g_free(export->first_lost);
  g_free(export);
}

static RaExportPair *
add_pair(RaExport *export, const char *prefix, const char *key)
{
  RaExportPair *pair = g_new0(RaExportPair, 1);

  pair->is_added = *prefix == '+';
  pair->key = g_strconcat(prefix + pair->is_added, key, NULL);
  g_ptr_array_add(export->pairs, pair);
  return pair;
}

void
ra_export_put(RaExport *export, const char *prefix, const char *key,
              const char *format, ...)
{
  va_list arguments;

  va_start(arguments, format);
  add_pair(export, prefix, key)->value = g_strdup_vprintf(format, arguments);
  va_end(arguments);
}

void
ra_export_put_switch(RaExport *export, const char *key)
{
  add_pair(export, "", key);
}

void
ra_export_put_text(RaExport *export, const char *prefix, const char *key,
                   const char *text)
{
  RaExportPair *pair = add_pair(export, prefix, key);

  pair->value = g_strdup(text);
  pair->is_text = TRUE;
}

void
ra_export_lose(RaExport *export, const char *where, const char *key,
               const char *plan, const char *exported)
{
  RaTable *table = export->lost;

  if (!export->first_lost)
    export->first_lost =
        !g_str_equal(key, "call")
            ? g_strdup_printf("%s %s: %s would be %s", where, key,
                              plan ? plan : "none",
                              exported ? exported : "none")
            : g_strdup_printf("its iteration has %s %s",
                              plan ? "no call" : "a further call",
                              plan ? plan : exported);
  ra_table_row(table);
  ra_table_text(table, where);
  ra_table_text(table, key);
  if (plan)
    ra_table_text(table, plan);
  else
    ra_table_missing(table);
  if (exported)
    ra_table_text(table, exported);
  else
    ra_table_missing(table);
}

char *
ra_export_script(const RaExport *export)
{
  GString *out = g_string_new("#!/bin/sh\n");

  ra_quote_comment(out, "%s for %s, %s.  Add data, rewards, learning rates and",
                   export->source, export->framework, export->version);
  ra_quote_comment(out, "paths.");
  g_string_append_printf(out, "%s %s", export->launcher, export->entry);
  if (export->config)
    g_string_append_printf(out, " \\\n    %s", export->config);
  for (guint i = 0; i < export->pairs->len; i++) {
    const RaExportPair *pair = export->pairs->pdata[i];
    g_autofree char *value = ra_quote_shell(pair->value ? pair->value : "");

    g_string_append(out, " \\\n    ");
    if (!pair->value)
      g_string_append_printf(out, "--%s", pair->key);
    else if (export->has_flags)
      g_string_append_printf(out, "--%s %s", pair->key, value);
    else
      g_string_append_printf(out, "%s%s=%s", pair->is_added ? "++" : "",
                             pair->key, value);
  }
  g_string_append(out, " \"$@\"\n");
  return g_string_free(out, FALSE);
}

/* The first component of @key behind @depth of them; its length. */
static const char *
component(const char *key, guint depth, gsize *out_length)
{
  for (guint i = 0; i < depth && key; i++) {
    key = strchr(key, '.');
    if (key)
      key++;
  }
  *out_length = key ? strcspn(key, ".") : 0;
  return key;
}

/* Writes the pairs from @from to below @to, which share @depth components. */
static void
put_yaml(const RaExport *export, guint from, guint to, guint depth,
         GString *out)
{
  for (guint i = from; i < to;) {
    const RaExportPair *pair = export->pairs->pdata[i];
    gsize n;
    const char *name = component(pair->key, depth, &n);
    guint end = i + 1;

    g_string_append_printf(out, "%*s%.*s:", (int)(2 * depth), "", (int)n, name);
    if (name[n] == '\0') {
      g_autofree char *quoted =
          pair->is_text ? ra_quote_yaml(pair->value)
                        : g_strdup(pair->value ? pair->value : "true");

      g_string_append_printf(out, " %s\n", quoted);
      i++;
      continue;
    }
    for (; end < to; end++) {
      const RaExportPair *next = export->pairs->pdata[end];
      gsize m;
      const char *other = component(next->key, depth, &m);

      if (!other || m != n || strncmp(other, name, n) != 0)
        break;
    }
    g_string_append_c(out, '\n');
    put_yaml(export, i, end, depth + 1, out);
    i = end;
  }
}

static int
by_key(const void *a, const void *b)
{
  return strcmp((*(RaExportPair *const *)a)->key,
                (*(RaExportPair *const *)b)->key);
}

char *
ra_export_yaml(const RaExport *export)
{
  GString *out = g_string_new(NULL);
  RaExport sorted = *export;

  sorted.pairs = g_ptr_array_sized_new(export->pairs->len);
  for (guint i = 0; i < export->pairs->len; i++)
    g_ptr_array_add(sorted.pairs, export->pairs->pdata[i]);
  g_ptr_array_sort(sorted.pairs, by_key);
  ra_quote_comment(out, "%s for %s, %s: merge it into the configuration of",
                   export->source, export->framework, export->version);
  ra_quote_comment(out, "%s.", export->entry);
  put_yaml(&sorted, 0, sorted.pairs->len, 0, out);
  g_ptr_array_unref(sorted.pairs);
  return g_string_free(out, FALSE);
}

RaTable *
ra_export_table(const RaExport *export)
{
  g_return_val_if_fail(export->lost != NULL, NULL);

  RaTable *table = export->lost;

  ((RaExport *)export)->lost = NULL;
  return table;
}

/* ---- What every writer asks ---------------------------------------------- */

void
ra_export_put_model(RaExport *export, const char *prefix, const char *key,
                    const RaPlan *plan, uint32_t c)
{
  const RaWorkload *workload = plan->workload;
  g_autofree char *name = ra_model_name_published(
      workload->models[workload->calls[c].model].config);

  ra_export_put_text(export, prefix, key, name);
}

uint32_t
ra_export_micro(const RaPlan *plan, uint32_t c)
{
  const RaCall *call = &plan->workload->calls[c];
  const RaCallPlan *how = &plan->calls[c];

  return MAX(1, call->n_sequences / MAX(1, ra_call_plan_n_pieces(call, how) *
                                               how->dp * how->n_micro_batches));
}

uint32_t
ra_export_micro_tokens(const RaPlan *plan, uint32_t c, gboolean holds_longest)
{
  const RaWorkload *w = plan->workload;
  const RaCallPlan *how = &plan->calls[c];
  double share = (double)w->calls[c].n_sequences /
                 MAX(1, ra_call_plan_n_pieces(&w->calls[c], how) * how->dp);
  double mean = ra_length_mean(&w->prompt_length) + ra_turns_mean_tokens(w);
  double longest =
      holds_longest
          ? (double)(w->prompt_length.max_tokens + ra_turns_max_tokens(w))
          : 0;
  double tokens = share * mean / (how->n_micro_batches - 0.5);

  if (how->balance != RA_BALANCE_TOKENS)
    return 0;
  return (uint32_t)MIN(ceil(MAX(tokens, longest)), RA_RECIPE_COUNT_MAX);
}

double
ra_export_memory_frac(const RaPlan *plan, uint32_t c)
{
  const RaCallPlan *how = &plan->calls[c];
  const RaWorkloadModel *m =
      &plan->workload->models[plan->workload->calls[c].model];
  const RaModel *model = m->model;
  double weights_bytes =
      ra_dtype_bytes(ra_call_plan_dtype(how, m)) *
      ra_recipe_rank_params(model, how->tp, how->pp, how->ep,
                            how->ep > 1 ? ra_call_plan_expert_tp(how) : 0);
  double step_bytes = ra_recipe_step_bytes(model, how->tp, how->max_sequences,
                                           how->prefill_tokens);

  return MIN(1.0, ((double)how->kv_memory_bytes + weights_bytes + step_bytes) /
                      plan->cluster->device.memory_bytes);
}

uint32_t
ra_export_host_gpus(const RaCluster *cluster)
{
  uint32_t tray = ra_recipe_tray_gpus(cluster->gpu);

  return tray > 0 && cluster->gpus_per_node % tray == 0
             ? tray
             : cluster->gpus_per_node;
}

gboolean
ra_export_is_apart(const RaCluster *cluster, const RaMesh *a, const RaMesh *b)
{
  for (uint32_t i = 0; i < ra_mesh_n_gpus(a); i++) {
    for (uint32_t k = 0; k < ra_mesh_n_gpus(b); k++) {
      if (ra_mesh_gpu(a, cluster, i) == ra_mesh_gpu(b, cluster, k))
        return FALSE;
    }
  }
  return TRUE;
}

/* The role of @call: by its kind, and by its model's head and training. */
static RaRecipeKind
role_of(const RaWorkload *workload, const RaCall *call)
{
  const RaWorkloadModel *model;
  gboolean value;

  if (call->kind == RA_CALL_HOST)
    return RA_N_RECIPE_CALLS;
  model = &workload->models[call->model];
  value = model->head != RA_HEAD_LM;
  if (call->kind == RA_CALL_GENERATE)
    return RA_RECIPE_GENERATE;
  if (call->kind == RA_CALL_TRAIN)
    return value ? RA_RECIPE_CRITIC_TRAIN : RA_RECIPE_ACTOR_TRAIN;
  if (model->trainable)
    return value ? RA_RECIPE_CRITIC_INFERENCE : RA_RECIPE_ACTOR_INFERENCE;
  return value ? RA_RECIPE_REWARD_INFERENCE : RA_RECIPE_REF_INFERENCE;
}

static RaExportRoles
roles_of(const RaWorkload *workload)
{
  RaExportRoles roles;

  for (guint k = 0; k < RA_N_RECIPE_CALLS; k++)
    roles.call[k] = RA_NONE;
  for (guint i = 0; i < workload->n_calls; i++) {
    uint32_t c = workload->order[i];
    RaRecipeKind kind = role_of(workload, &workload->calls[c]);

    if (kind < RA_N_RECIPE_CALLS && roles.call[kind] == RA_NONE)
      roles.call[kind] = c;
  }
  return roles;
}

/* ---- Targets ------------------------------------------------------------- */

static const RaExportWriter *const writers[] = {
    &ra_export_writer_verl, &ra_export_writer_nemo_rl,
    &ra_export_writer_openrlhf, &ra_export_writer_slime};

/* @target is of no writer; @writer (nullable) has its framework, not its
 * version. */
static void
fail_target(const char *target, const RaExportWriter *writer, GError **error)
{
  g_autofree char *name = g_strndup(target, strcspn(target, "@"));
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
  g_autofree char *all = NULL;
  const char *near = NULL;

  for (guint v = 0; writer && writer->versions[v]; v++)
    g_ptr_array_add(names, g_strconcat(name, "@", writer->versions[v], NULL));
  for (guint i = 0; !writer && i < G_N_ELEMENTS(writers); i++)
    g_ptr_array_add(names, g_strdup(ra_framework_names[writers[i]->framework]));
  g_ptr_array_add(names, NULL);
  all = g_strjoinv(", ", (char **)names->pdata);
  if (!writer && g_strv_contains(ra_framework_names, name)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "'%s' is imported but not exported, expected one of %s", name,
                all);
    return;
  }
  if (!writer)
    near = ra_text_nearest(name, (const char *const *)names->pdata);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "unknown '%s', expected one of %s%s%s%s", target, all,
              near ? ", did you mean '" : "", near ? near : "",
              near ? "'?" : "");
}

/* The writer that @target names, and the version; %NULL with @error. */
static const RaExportWriter *
find_writer(const char *target, guint *out_version, GError **error)
{
  const char *at = strchr(target, '@');
  gsize n = at ? (gsize)(at - target) : strlen(target);
  const RaExportWriter *other = NULL;

  for (guint i = 0; i < G_N_ELEMENTS(writers); i++) {
    const char *name = ra_framework_names[writers[i]->framework];

    if (strlen(name) != n || strncmp(name, target, n) != 0)
      continue;
    other = writers[i];
    for (guint v = 0; other->versions[v]; v++) {
      *out_version = v;
      if (!at || g_str_equal(at + 1, other->versions[v]))
        return other;
    }
  }
  fail_target(target, other, error);
  return NULL;
}

/* The configuration of @from, not yet read back. */
static RaExport *
write_export(const RaExportSource *from, const char *target,
             RaExportRoles *out_roles, GError **error)
{
  guint version;
  const RaExportWriter *writer = find_writer(target, &version, error);
  RaExport *export;
  const char *name;

  if (!writer)
    return NULL;
  *out_roles = roles_of(from->plan->workload);
  name = ra_framework_names[writer->framework];
  if (out_roles->call[RA_RECIPE_GENERATE] == RA_NONE ||
      out_roles->call[RA_RECIPE_ACTOR_TRAIN] == RA_NONE) {
    g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE,
                "%s: no model both generates and is trained, as %s requires",
                from->plan_path, name);
    return NULL;
  }
  export = new_export(from->plan_path, name, writer->versions[version]);
  writer->put(export, from, out_roles, version);
  return export;
}

RaExport *
ra_export_plan(const RaExportSource *from, const char *target, GError **error)
{
  g_return_val_if_fail(from != NULL && from->plan != NULL, NULL);

  RaExportRoles roles;
  g_autoptr(RaExport) export = write_export(from, target, &roles, error);
  g_autofree char *script = NULL;
  GError *cause = NULL;

  if (!export)
    return NULL;
  script = ra_export_script(export);
  if (!ra_export_compare(export, from, &roles, script, &cause)) {
    g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE,
                "%s: %s cannot run the closest configuration: %s",
                from->plan_path, export->framework, cause->message);
    g_error_free(cause);
    return NULL;
  }
  return g_steal_pointer(&export);
}

RaFramework
ra_export_check(const char *target, GError **error)
{
  guint version;
  const RaExportWriter *writer = find_writer(target, &version, error);

  return writer ? writer->framework : RA_N_FRAMEWORKS;
}

/* ---- The closest plan ---------------------------------------------------- */

/* (transfer full) (nullable): the first key of call @name in @x that @y has
 * otherwise; @is_back: @x is what comes back. */
static char *
difference_of(const RaKeyFile *x, const RaKeyFile *y, const char *name,
              gboolean is_back)
{
  int at = ra_key_file_find_group(x, "call", name);
  int other = ra_key_file_find_group(y, "call", name);
  const char *key;

  for (guint i = 0;
       at >= 0 && other >= 0 && (key = ra_key_file_key(x, (guint)at, i)); i++) {
    const char *one = ra_key_file_value(x, (guint)at, i);
    const char *two = ra_key_file_get(y, (guint)other, key);

    if (g_strcmp0(one, two) != 0)
      return g_strdup_printf("%s of %s would be %s", key, name,
                             is_back ? one
                             : two   ? two
                                     : "the default");
  }
  return NULL;
}

/* (transfer full): the first key in which plans differ, as the one writer has
 * them. */
static char *
first_difference(const RaWorkload *workload, const char *mine, const char *back)
{
  g_autoptr(RaKeyFile) a = ra_key_file_parse("plan", mine, strlen(mine), NULL);
  g_autoptr(RaKeyFile) b = ra_key_file_parse("plan", back, strlen(back), NULL);
  char *found = NULL;

  for (uint32_t i = 0; a && b && !found && i < workload->n_calls; i++) {
    const char *name = workload->calls[workload->order[i]].name;

    found = difference_of(a, b, name, FALSE);
    if (!found)
      found = difference_of(b, a, name, TRUE);
  }
  return found ? found : g_strdup("a call would be another");
}

char *
ra_export_closest(const RaExportSource *from, const char *target,
                  const RaPlanWords *words, char **out_differs, GError **error)
{
  g_return_val_if_fail(from != NULL && from->plan != NULL, NULL);

  RaExportRoles roles;
  g_autoptr(RaExport) export = write_export(from, target, &roles, error);
  g_autofree char *script = NULL, *raw = NULL, *mine = NULL, *text = NULL;
  g_autoptr(RaKeyFile) file = NULL;
  RaPlan *plan = NULL;
  GError *cause = NULL;

  if (!export)
    return NULL;
  script = ra_export_script(export);
  raw = ra_export_read_back(export, from, &roles, script, &cause);
  if (raw && export->first_lost)
    g_set_error(&cause, RA_ERROR, RA_ERROR_NEGATIVE, "%s", export->first_lost);
  else if (raw)
    file = ra_key_file_parse("exported", raw, strlen(raw), &cause);
  if (file)
    plan =
        ra_plan_load(file, from->plan->workload, from->plan->cluster, &cause);
  if (plan)
    text = ra_plan_write(plan, words, &cause);
  if (text)
    mine = ra_plan_write(from->plan, words, &cause);
  if (mine && strcmp(mine, text) != 0)
    *out_differs = first_difference(from->plan->workload, mine, text);
  ra_plan_free(plan);
  if (cause) {
    g_propagate_error(error, cause);
    return NULL;
  }
  return g_steal_pointer(&text);
}

GPtrArray *
ra_export_sets(const RaExport *export)
{
  GPtrArray *sets = g_ptr_array_new_with_free_func(g_free);

  for (guint i = 0; i < export->pairs->len; i++) {
    const RaExportPair *pair = export->pairs->pdata[i];

    if (pair->value)
      g_ptr_array_add(sets, g_strconcat(pair->is_added ? "++" : "", pair->key,
                                        "=", pair->value, NULL));
  }
  return sets;
}
