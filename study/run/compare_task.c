/* The tasks of a trace, some of which it may have as ops alone. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "study/run/compare_impl.h"

/* Where the last component of @name, which ends at @end, begins. */
static gsize
component(const char *name, gsize end)
{
  while (end > 0 && name[end - 1] != '/')
    end--;
  return end;
}

/* TRUE if name[begin, end) is @letters and digits. */
static gboolean
is_numbered(const char *name, gsize begin, gsize end, const char *letters)
{
  gsize n = strlen(letters);

  if (end - begin <= n || strncmp(name + begin, letters, n) != 0)
    return FALSE;
  for (gsize i = begin + n; i < end; i++)
    if (!g_ascii_isdigit(name[i]))
      return FALSE;
  return TRUE;
}

static gboolean
is_word(const char *name, gsize begin, gsize end, const char *word)
{
  return end - begin == strlen(word) &&
         strncmp(name + begin, word, end - begin) == 0;
}

/* Rest of name[0, end) without a component that a step may have. */
static gsize
strip(const char *name, gsize end, const char *letters)
{
  gsize begin = component(name, end);

  return begin > 0 && is_numbered(name, begin, end, letters) ? begin - 1 : end;
}

gsize
ra_op_row_task(const RaTraceRow *row)
{
  const char *name = row->name;
  gsize n = strlen(name), at = component(name, n), end;
  g_autofree char *op = row->op ? g_strconcat(row->op, ".", NULL) : NULL;

  if (!op || at == 0)
    return n;
  end = at - 1;
  if (is_word(name, end + 1, n, row->op)) { /* between stages, or the task */
    if (strip(name, end, "s") == end)
      return n;
    end = strip(name, end, "s");
    if (strip(name, end, "g") == end)
      return n;
  } else if (!is_numbered(name, end + 1, n, op)) {
    return n;
  }
  at = component(name, end);
  if (at > 0 &&
      (is_word(name, at, end, "head") || is_word(name, at, end, "embedding")))
    end = at - 1;
  else
    end = strip(name, end, "l");
  at = strip(name, end, "g");
  return at < end ? strip(name, at, "step") : end;
}

static void
add_row(RaTaskRows *rows, const RaTraceRow *row, const char *name)
{
  RaTraceRow task = *row;

  task.name = name;
  g_array_append_val(rows->rows, task);
  g_hash_table_insert(rows->by_name, (gpointer)name,
                      GUINT_TO_POINTER(rows->rows->len));
}

static RaTraceRow *
find(const RaTaskRows *rows, const char *name)
{
  guint at = GPOINTER_TO_UINT(g_hash_table_lookup(rows->by_name, name));

  return at > 0 ? &g_array_index(rows->rows, RaTraceRow, at - 1) : NULL;
}

const RaTraceRow *
ra_task_rows_find(const RaTaskRows *rows, const char *name)
{
  return find(rows, name);
}

/* An op's row is its task's where that has none. */
static void
add_op(RaTaskRows *rows, const RaTraceRow *op, gsize n_task,
       GHashTable *have_rows)
{
  g_autofree char *name = g_strndup(op->name, n_task);
  RaTraceRow *task = find(rows, name);

  if (g_hash_table_contains(have_rows, name))
    return;
  if (!task) {
    add_row(rows, op, g_string_chunk_insert(rows->names, name));
    task = find(rows, name);
    task->stream = "compute";
    task->op = task->shape = NULL;
    return;
  }
  task->begin_s = fmin(task->begin_s, op->begin_s);
  task->end_s = fmax(task->end_s, op->end_s);
}

static int
compare_begins(const void *a, const void *b)
{
  const RaTraceRow *x = a, *y = b;

  if (x->begin_s < y->begin_s || x->begin_s > y->begin_s)
    return x->begin_s < y->begin_s ? -1 : 1;
  return strcmp(x->name, y->name);
}

RaTaskRows *
ra_task_rows_new(const RaTrace *trace, GError **error)
{
  g_autoptr(RaTaskRows) rows = g_new0(RaTaskRows, 1);
  g_autoptr(GHashTable) have_rows = g_hash_table_new(g_str_hash, g_str_equal);
  guint n = ra_trace_n_rows(trace);

  rows->rows = g_array_new(FALSE, FALSE, sizeof(RaTraceRow));
  rows->by_name = g_hash_table_new(g_str_hash, g_str_equal);
  rows->names = g_string_chunk_new(1024);
  for (guint i = 0; i < n; i++) {
    const RaTraceRow *row = ra_trace_row(trace, i);

    if (ra_op_row_task(row) != strlen(row->name))
      continue;
    if (!g_hash_table_add(have_rows, (gpointer)row->name)) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "task '%s' occurs twice, expected one trace of one run",
                  row->name);
      return NULL;
    }
    add_row(rows, row, row->name);
  }
  for (guint i = 0; i < n; i++) {
    const RaTraceRow *row = ra_trace_row(trace, i);
    gsize n_task = ra_op_row_task(row);

    if (n_task != strlen(row->name))
      add_op(rows, row, n_task, have_rows);
  }
  g_array_sort(rows->rows, compare_begins);
  for (guint i = 0; i < rows->rows->len; i++)
    g_hash_table_insert(rows->by_name,
                        (gpointer)g_array_index(rows->rows, RaTraceRow, i).name,
                        GUINT_TO_POINTER(i + 1));
  return g_steal_pointer(&rows);
}

void
ra_task_rows_free(RaTaskRows *rows)
{
  if (!rows)
    return;
  g_array_unref(rows->rows);
  g_hash_table_unref(rows->by_name);
  g_string_chunk_free(rows->names);
  g_free(rows);
}
