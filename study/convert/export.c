/* Exported settings as text, and what was lost. */
#include "config.h"

#include <string.h>

#include "base/quote.h"
#include "study/convert/export_impl.h"

static void
free_pair(void *item)
{
  RaExportPair *pair = item;

  g_free(pair->key);
  g_free(pair->value);
  g_free(pair);
}

RaExport *
ra_export_new(const char *source)
{
  RaExport *export = g_new0(RaExport, 1);

  export->source = g_path_get_basename(source);
  export->pairs = g_ptr_array_new_with_free_func(free_pair);
  export->lost = ra_table_new("not expressed");
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
  g_free(export);
}

static RaExportPair *
add_pair(RaExport *export, const char *prefix, const char *key)
{
  RaExportPair *pair = g_new0(RaExportPair, 1);

  pair->key = g_strconcat(prefix, key, NULL);
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

  ra_quote_comment(out,
                   "%s for verl.  Add data, rewards, learning rates and paths.",
                   export->source);
  g_string_append(out, "python3 -m verl.trainer.main_ppo");
  for (guint i = 0; i < export->pairs->len; i++) {
    const RaExportPair *pair = export->pairs->pdata[i];
    g_autofree char *value = ra_quote_shell(pair->value);

    g_string_append_printf(out, " \\\n    %s=%s", pair->key, value);
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
          pair->is_text ? ra_quote_yaml(pair->value) : g_strdup(pair->value);

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
  ra_quote_comment(out, "%s for verl: merge it into its ppo_trainer.yaml.",
                   export->source);
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
