/* The trace in memory: head, rows, strings kept once. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "traces/trace.h"
#include "traces/trace_impl.h"

#define FIRST_SLOTS 256
#define FIRST_ROWS 64

const char *const ra_trace_columns[RA_TRACE_N_COLUMNS] = {
    "name", "iteration", "call",    "kind",  "ranks", "stream",
    "op",   "shape",     "begin_s", "end_s", "flop",  "bytes",
};

static void
clear_field(void *data)
{
  RaTraceField *field = data;

  g_free(field->key);
  g_free(field->value);
}

RaTrace *
ra_trace_new(void)
{
  RaTrace *trace = g_new0(RaTrace, 1);

  trace->head = g_array_new(FALSE, FALSE, sizeof(RaTraceField));
  g_array_set_clear_func(trace->head, clear_field);
  trace->text = ra_arena_new(0);
  trace->n_slots = FIRST_SLOTS;
  trace->strings = g_new0(const char *, trace->n_slots);
  return trace;
}

void
ra_trace_free(RaTrace *trace)
{
  if (trace == NULL)
    return;
  g_array_free(trace->head, TRUE);
  ra_arena_free(trace->text);
  g_free(trace->strings);
  g_free(trace->rows);
  g_free(trace);
}

void
ra_trace_drop_rows(RaTrace *trace)
{
  ra_arena_free(trace->text);
  trace->text = ra_arena_new(0);
  memset(trace->strings, 0, trace->n_slots * sizeof *trace->strings);
  trace->n_strings = 0;
  trace->n_rows = 0;
}

/* A field is one line and its separator a tab, so neither may be inside. */
static char *
one_line(const char *text)
{
  char *copy = g_strdup(text);

  for (char *p = copy; *p; p++) {
    if (g_ascii_iscntrl(*p))
      *p = ' ';
  }
  return copy;
}

void
ra_trace_set_head(RaTrace *trace, const char *key, const char *value)
{
  g_return_if_fail(trace != NULL && key != NULL && key[0] != '\0');
  g_return_if_fail(strchr(key, ':') == NULL);

  g_autofree char *clean = one_line(key);
  RaTraceField added;

  for (guint i = 0; i < trace->head->len; i++) {
    RaTraceField *field = &g_array_index(trace->head, RaTraceField, i);

    if (strcmp(field->key, clean) != 0)
      continue;
    if (value == NULL) {
      g_array_remove_index(trace->head, i);
    } else {
      char *old = field->value;

      field->value = one_line(value);
      g_free(old);
    }
    return;
  }
  if (value == NULL)
    return;
  added.key = g_steal_pointer(&clean);
  added.value = one_line(value);
  g_array_append_val(trace->head, added);
}

const char *
ra_trace_head(const RaTrace *trace, const char *key)
{
  g_return_val_if_fail(trace != NULL && key != NULL, NULL);

  for (guint i = 0; i < trace->head->len; i++) {
    const RaTraceField *field = &g_array_index(trace->head, RaTraceField, i);

    if (strcmp(field->key, key) == 0)
      return field->value;
  }
  return NULL;
}

gboolean
ra_trace_is_from(const RaTrace *trace, const char *source)
{
  return g_strcmp0(ra_trace_head(trace, "source"), source) == 0;
}

/* The slot that holds @text, or the free one where it belongs. */
static gsize
find_slot(const RaTrace *trace, const char *text, gsize n_bytes)
{
  gsize slot =
      (gsize)ra_hash_bytes(RA_HASH_INIT, text, n_bytes) & (trace->n_slots - 1);

  while (trace->strings[slot] && strcmp(trace->strings[slot], text) != 0)
    slot = (slot + 1) & (trace->n_slots - 1);
  return slot;
}

static void
grow_table(RaTrace *trace)
{
  const char **old = trace->strings;
  gsize n_old = trace->n_slots;

  trace->n_slots *= 2;
  trace->strings = g_new0(const char *, trace->n_slots);
  for (gsize i = 0; i < n_old; i++) {
    if (old[i])
      trace->strings[find_slot(trace, old[i], strlen(old[i]))] = old[i];
  }
  g_free(old);
}

/* The trace's own copy of @text; @like is tried first. */
static const char *
intern(RaTrace *trace, const char *text, const char *like)
{
  gsize n_bytes, slot;
  char *copy;

  if (text == NULL || (like && strcmp(like, text) == 0))
    return text ? like : NULL;
  n_bytes = strlen(text);
  slot = find_slot(trace, text, n_bytes);
  if (trace->strings[slot])
    return trace->strings[slot];
  for (const char *p = text; *p; p++) {
    if (g_ascii_iscntrl(*p)) {
      g_autofree char *clean = one_line(text);

      return intern(trace, clean, NULL);
    }
  }
  if (2 * (trace->n_strings + 1) > trace->n_slots) {
    grow_table(trace);
    slot = find_slot(trace, text, n_bytes);
  }
  copy = ra_arena_strdup(trace->text, text);
  trace->strings[slot] = copy;
  trace->n_strings++;
  return copy;
}

void
ra_trace_add(RaTrace *trace, const RaTraceRow *row)
{
  g_return_if_fail(trace != NULL && row != NULL);
  g_return_if_fail(row->name != NULL && row->call != NULL);
  g_return_if_fail(row->kind != NULL && row->ranks != NULL);
  g_return_if_fail(row->stream != NULL);
  g_return_if_fail(row->begin_s >= 0 && row->end_s >= row->begin_s);
  g_return_if_fail(row->end_s <= RA_TRACE_MAX_S);
  g_return_if_fail(trace->n_rows < G_MAXUINT / 2);

  const RaTraceRow none = {.name = NULL};
  const RaTraceRow *last = &none;
  RaTraceRow *added;

  if (trace->n_rows == trace->n_reserved) {
    trace->n_reserved = trace->n_reserved ? 2 * trace->n_reserved : FIRST_ROWS;
    trace->rows = g_renew(RaTraceRow, trace->rows, trace->n_reserved);
  }
  added = &trace->rows[trace->n_rows];
  if (trace->n_rows > 0)
    last = added - 1;
  *added = *row;
  added->name = intern(trace, row->name, last->name);
  added->call = intern(trace, row->call, last->call);
  added->kind = intern(trace, row->kind, last->kind);
  added->ranks = intern(trace, row->ranks, last->ranks);
  added->stream = intern(trace, row->stream, last->stream);
  added->op = intern(trace, row->op, last->op);
  added->shape = intern(trace, row->shape, last->shape);
  trace->n_rows++;
}

guint
ra_trace_n_rows(const RaTrace *trace)
{
  g_return_val_if_fail(trace != NULL, 0);

  return trace->n_rows;
}

const RaTraceRow *
ra_trace_row(const RaTrace *trace, guint index)
{
  g_return_val_if_fail(trace != NULL && index < trace->n_rows, NULL);

  return &trace->rows[index];
}

/* A row and where it stood, which settles ties. */
typedef struct {
  RaTraceRow row; /* moved with its place */
  guint index;    /* before sorting */
} Placed;

static int
compare_placed(const void *a, const void *b)
{
  const Placed *p = a, *q = b;

  if (p->row.begin_s != q->row.begin_s)
    return p->row.begin_s < q->row.begin_s ? -1 : 1;
  return p->index < q->index ? -1 : 1;
}

void
ra_trace_sort(RaTrace *trace)
{
  g_return_if_fail(trace != NULL);

  gboolean sorted = TRUE;
  Placed *placed;

  for (guint i = 1; i < trace->n_rows && sorted; i++)
    sorted = trace->rows[i - 1].begin_s <= trace->rows[i].begin_s;
  if (sorted)
    return;
  placed = g_new(Placed, trace->n_rows);
  for (guint i = 0; i < trace->n_rows; i++) {
    placed[i].row = trace->rows[i];
    placed[i].index = i;
  }
  qsort(placed, trace->n_rows, sizeof *placed, compare_placed);
  for (guint i = 0; i < trace->n_rows; i++)
    trace->rows[i] = placed[i].row;
  g_free(placed);
}
