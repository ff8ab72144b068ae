/* Key tables: every key of every file that users write. */
#include "config.h"

#include <float.h>
#include <string.h>

#include "graph/input/cluster.h"
#include "graph/input/plan.h"
#include "graph/input/workload.h"
#include "study/report/key_table.h"
#include "study/sweep/study.h"
#include "traces/profile.h"
#include "traces/system.h"

#define COMMENT_AT 34 /* column of what a commented key means */

typedef const RaKeySpec *(*KeySpecs)(const char *noun, gsize *out_n);

/* Groups, in the order of their files. */
static const struct {
  const char *kind, *noun;
  gboolean is_named;
  KeySpecs specs;
  const char *doc; /* one line about the group */
} groups[] = {
    {"workload", "workload", FALSE, ra_workload_key_specs,
     "one iteration: amount and lengths of data"},
    {"workload", "model", TRUE, ra_workload_key_specs,
     "a model that calls use"},
    {"workload", "call", TRUE, ra_workload_key_specs,
     "a model function call: its inputs and outputs"},
    {"cluster", "cluster", FALSE, ra_cluster_key_specs,
     "nodes, GPUs, network, price"},
    {"cluster", "link", TRUE, ra_cluster_key_specs,
     "a link that differs from the others"},
    {"cluster", "kind", TRUE, ra_cluster_key_specs,
     "nodes that differ from the others"},
    {"plan", "plan", FALSE, ra_plan_key_specs,
     "the files that the plan is for"},
    {"plan", "call", TRUE, ra_plan_key_specs,
     "mesh and strategy of a call of the workload"},
    {"study", "study", FALSE, ra_study_key_specs, "a question of many plans"},
    {"study", "axis", TRUE, ra_study_key_specs,
     "the values that points of the study differ in"},
    {"study", "failures", FALSE, ra_study_key_specs,
     "failures and checkpoints, for goodput"},
    {"system", "system", FALSE, ra_system_key_specs,
     "the framework, and the source of its constants"},
    {"system", "constants", FALSE, ra_system_key_specs,
     "time that the framework adds to the kernels"},
    {"system", "memory", FALSE, ra_system_key_specs,
     "what the framework holds on a GPU, and when"},
    {"profile", "profile", FALSE, ra_profile_key_specs, "the GPU model"},
    {"profile", "device", FALSE, ra_profile_key_specs, "data sheet of the GPU"},
    {"profile", "pace", FALSE, ra_profile_key_specs,
     "hosts: wall seconds and CPU seconds"},
};

const char *const ra_key_kinds[] = {"workload", "cluster", "plan", "study",
                                    "system",   "profile", NULL};

/* (transfer full): how a value is written. */
static char *
form_of(const RaKeySpec *spec)
{
  switch (spec->type) {
  case RA_KEY_STRING:
    return g_strdup("text");
  case RA_KEY_STRINGS:
    return g_strdup("texts, separated by commas");
  case RA_KEY_UINT32:
  case RA_KEY_UINT64:
    return g_strdup("whole number");
  case RA_KEY_DOUBLE:
    return g_strdup("number");
  case RA_KEY_BOOL:
    return g_strdup("true, false");
  case RA_KEY_ENUM:
    return g_strjoinv(", ", (char **)spec->names);
  case RA_KEY_QUANTITY:
    return g_strdup(ra_unit_accepted(spec->unit));
  }
  g_return_val_if_reached(NULL);
}

/* (transfer full): "1 to 100", "at least 0", "". */
static char *
bounds_of(const RaKeySpec *spec)
{
  if (spec->type == RA_KEY_STRING || spec->type == RA_KEY_STRINGS ||
      spec->type == RA_KEY_BOOL || spec->type == RA_KEY_ENUM)
    return g_strdup("");
  if (spec->min >= 0 && spec->min <= 0 && spec->max >= 0 && spec->max <= 0)
    return g_strdup("");
  if (spec->max >= DBL_MAX)
    return g_strdup_printf("at least %.10g", spec->min);
  return g_strdup_printf("%.10g to %.10g", spec->min, spec->max);
}

static const char *
fallback_of(const RaKeySpec *spec)
{
  return spec->required ? "required" : spec->fallback ? spec->fallback : "";
}

static RaTable *
make_table(guint index)
{
  static const char *const columns[] = {"key", "value", "default", "bounds",
                                        "meaning"};
  g_autofree char *title =
      g_strdup_printf("%s: [%s%s]", groups[index].kind, groups[index].noun,
                      groups[index].is_named ? " NAME" : "");
  RaTable *table = ra_table_new(title);
  gsize n = 0;
  const RaKeySpec *specs = groups[index].specs(groups[index].noun, &n);

  for (guint i = 0; i < G_N_ELEMENTS(columns); i++)
    ra_table_column(table, columns[i], RA_UNIT_NONE, RA_CELL_TEXT);
  for (gsize i = 0; i < n; i++) {
    g_autofree char *form = form_of(&specs[i]);
    g_autofree char *bounds = bounds_of(&specs[i]);

    ra_table_row(table);
    ra_table_text(table, specs[i].key);
    ra_table_text(table, form);
    ra_table_text(table, fallback_of(&specs[i]));
    ra_table_text(table, bounds);
    ra_table_text(table, specs[i].doc ? specs[i].doc : "");
  }
  return table;
}

GPtrArray *
ra_key_tables(const char *kind)
{
  GPtrArray *tables =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_table_free);

  for (guint i = 0; i < G_N_ELEMENTS(groups); i++) {
    if (!kind || g_str_equal(kind, groups[i].kind))
      g_ptr_array_add(tables, make_table(i));
  }
  return tables;
}

/* Text of a cell, with bars escaped, which would end it. */
static void
put_cell(GString *out, const char *text)
{
  for (; *text; text++) {
    if (*text == '|')
      g_string_append_c(out, '\\');
    g_string_append_c(out, *text);
  }
}

/* Words of a value, as code. */
static void
put_words(GString *out, const char *const *words)
{
  for (guint i = 0; words[i]; i++)
    g_string_append_printf(out, "%s`%s`", i ? ", " : "", words[i]);
}

static void
put_group(GString *out, guint index)
{
  gsize n = 0;
  const RaKeySpec *specs = groups[index].specs(groups[index].noun, &n);

  g_string_append_printf(out, "\n### `[%s%s]`\n\n%s\n\n", groups[index].noun,
                         groups[index].is_named ? " NAME" : "",
                         groups[index].doc);
  g_string_append(out, "| key | value | default | bounds | meaning |\n"
                       "|---|---|---|---|---|\n");
  for (gsize i = 0; i < n; i++) {
    g_autofree char *form = form_of(&specs[i]);
    g_autofree char *bounds = bounds_of(&specs[i]);

    g_string_append_printf(out, "| `%s` | ", specs[i].key);
    if (specs[i].type == RA_KEY_ENUM)
      put_words(out, specs[i].names);
    else
      put_cell(out, form);
    g_string_append(out, " | ");
    put_cell(out, fallback_of(&specs[i]));
    g_string_append_printf(out, " | %s | ", bounds);
    put_cell(out, specs[i].doc ? specs[i].doc : "");
    g_string_append(out, " |\n");
  }
}

char *
ra_key_markdown(void)
{
  GString *out = g_string_new(
      "# Keys of files\n\n"
      "`reallot keys --markdown` writes this page from the tables that read "
      "the files: do not edit it. The terminal has the\nsame by `reallot keys "
      "KIND`. `man share/man/reallot-files.5` describes many keys at "
      "length. An empty default means\nnothing, or what the last column says. "
      "Coefficients of `[law NAME]` of profiles are fitted, not written.\n");
  const char *kind = "";

  for (guint i = 0; i < G_N_ELEMENTS(groups); i++) {
    if (!g_str_equal(kind, groups[i].kind)) {
      kind = groups[i].kind;
      g_string_append_printf(out, "\n## `.%s`\n", kind);
    }
    put_group(out, i);
  }
  return g_string_free(out, FALSE);
}

char *
ra_key_optional(const char *kind, const char *noun, const char *const *skip)
{
  GString *out = g_string_new(NULL);

  for (guint i = 0; i < G_N_ELEMENTS(groups); i++) {
    gsize n = 0;
    const RaKeySpec *specs;

    if (!g_str_equal(groups[i].kind, kind) ||
        !g_str_equal(groups[i].noun, noun))
      continue;
    specs = groups[i].specs(noun, &n);
    for (gsize k = 0; k < n; k++) {
      g_autofree char *text = NULL;

      if (specs[k].required || !specs[k].doc ||
          (skip && g_strv_contains(skip, specs[k].key)))
        continue;
      text = g_strconcat("# ", specs[k].key, " = ", specs[k].fallback, NULL);
      g_string_append_printf(out, "%-*s # %s\n", COMMENT_AT, text,
                             specs[k].doc);
    }
  }
  return g_string_free(out, FALSE);
}
