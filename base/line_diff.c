/* Unified differences: the longest common subsequence of lines, in hunks. */
#include "config.h"

#include <string.h>

#include "base/line_diff.h"

#define CONTEXT 3
#define PAIRS_MAX 4000000u

/* A line of the result. */
typedef struct {
  char mark;        /* ' ', '-' or '+' */
  const char *line; /* borrowed */
  gsize length;     /* without the line feed */
  gboolean is_open; /* the text ends without one */
} Edit;

typedef struct {
  const char **at; /* (n + 1) beginnings; the last is the end; owned */
  guint n;
  gboolean is_open; /* the last line has no line feed */
} Lines;

static void
split(const char *text, Lines *out)
{
  GPtrArray *at = g_ptr_array_new();
  gsize length = strlen(text);
  const char *end = text + length;

  for (const char *line = text; line < end;) {
    const char *feed = strchr(line, '\n');

    g_ptr_array_add(at, (gpointer)line);
    line = feed ? feed + 1 : end;
  }
  out->n = at->len;
  out->is_open = length > 0 && end[-1] != '\n';
  g_ptr_array_add(at, (gpointer)end);
  out->at = (const char **)g_ptr_array_free(at, FALSE);
}

/* With its line feed, so that a last line without one differs. */
static gsize
length_of(const Lines *lines, guint i)
{
  return (gsize)(lines->at[i + 1] - lines->at[i]);
}

static gboolean
is_same(const Lines *a, guint i, const Lines *b, guint k)
{
  return length_of(a, i) == length_of(b, k) &&
         memcmp(a->at[i], b->at[k], length_of(a, i)) == 0;
}

static void
add(GArray *edits, char mark, const Lines *lines, guint i)
{
  Edit edit = {mark, lines->at[i], length_of(lines, i),
               i + 1 == lines->n && lines->is_open};

  if (!edit.is_open)
    edit.length--;
  g_array_append_val(edits, edit);
}

/* Lines @from to below @a_end and @b_end: what is common stays. */
static void
add_middle(GArray *edits, const Lines *a, const Lines *b, guint from,
           guint a_end, guint b_end)
{
  guint rows = a_end - from, columns = b_end - from, i = 0, k = 0;
  gboolean is_small = (guint64)rows * columns <= PAIRS_MAX;
  gsize width = (gsize)columns + 1;
  /* [i * width + k]: the most common lines from i and k on. */
  g_autofree guint32 *most =
      is_small ? g_new0(guint32, ((gsize)rows + 1) * width) : NULL;

  for (guint r = rows; is_small && r-- > 0;)
    for (guint c = columns; c-- > 0;)
      most[r * width + c] =
          is_same(a, from + r, b, from + c)
              ? most[(r + 1) * width + c + 1] + 1
              : MAX(most[(r + 1) * width + c], most[r * width + c + 1]);
  while (i < rows || k < columns) {
    if (is_small && i < rows && k < columns &&
        is_same(a, from + i, b, from + k)) {
      add(edits, ' ', a, from + i);
      i++;
      k++;
    } else if (i < rows &&
               (k == columns || !is_small ||
                most[(i + 1) * width + k] >= most[i * width + k + 1])) {
      add(edits, '-', a, from + i++);
    } else {
      add(edits, '+', b, from + k++);
    }
  }
}

static GArray *
list_edits(const Lines *a, const Lines *b)
{
  GArray *edits = g_array_new(FALSE, FALSE, sizeof(Edit));
  guint head = 0, tail = 0, least = MIN(a->n, b->n);

  while (head < least && is_same(a, head, b, head))
    head++;
  while (tail < least - head && is_same(a, a->n - 1 - tail, b, b->n - 1 - tail))
    tail++;
  for (guint i = 0; i < head; i++)
    add(edits, ' ', a, i);
  add_middle(edits, a, b, head, a->n - tail, b->n - tail);
  for (guint i = a->n - tail; i < a->n; i++)
    add(edits, ' ', a, i);
  return edits;
}

/* End of the hunk of the change at @first: behind its last change, where as
 * many lines as two contexts have none. */
static guint
hunk_end(const GArray *edits, guint first)
{
  guint end = first + 1;

  for (guint i = end; i < edits->len && i < end + 2 * CONTEXT + 1; i++)
    if (g_array_index(edits, Edit, i).mark != ' ')
      end = i + 1;
  return end;
}

/* `12,3`; a range without lines begins at the line before it. */
static void
append_range(GString *out, char sign, guint before, guint n)
{
  g_string_append_printf(out, " %c%u", sign, n > 0 ? before + 1 : before);
  if (n != 1)
    g_string_append_printf(out, ",%u", n);
}

/* Edits @from to below @to; @a and @b lines of the texts are before. */
static void
append_hunk(GString *out, const GArray *edits, guint from, guint to, guint a,
            guint b)
{
  guint n_a = 0, n_b = 0;

  for (guint i = from; i < to; i++) {
    n_a += g_array_index(edits, Edit, i).mark != '+';
    n_b += g_array_index(edits, Edit, i).mark != '-';
  }
  g_string_append(out, "@@");
  append_range(out, '-', a, n_a);
  append_range(out, '+', b, n_b);
  g_string_append(out, " @@\n");
  for (guint i = from; i < to; i++) {
    const Edit *edit = &g_array_index(edits, Edit, i);

    g_string_append_c(out, edit->mark);
    g_string_append_len(out, edit->line, (gssize)edit->length);
    g_string_append(out,
                    edit->is_open ? "\n\\ No newline at end of file\n" : "\n");
  }
}

char *
ra_line_diff(const char *a_name, const char *b_name, const char *a,
             const char *b)
{
  GString *out = g_string_new(NULL);
  Lines lines_a, lines_b;
  g_autoptr(GArray) edits = NULL;
  guint done = 0, n_a = 0, n_b = 0;

  split(a, &lines_a);
  split(b, &lines_b);
  edits = list_edits(&lines_a, &lines_b);
  for (guint i = 0; i < edits->len; i++) {
    guint from, to;

    if (g_array_index(edits, Edit, i).mark == ' ')
      continue;
    if (out->len == 0)
      g_string_append_printf(out, "--- %s\n+++ %s\n", a_name, b_name);
    from = MAX(done, i > CONTEXT ? i - CONTEXT : 0);
    i = hunk_end(edits, i);
    to = MIN(edits->len, i + CONTEXT);
    n_a += from - done; /* all of them common */
    n_b += from - done;
    append_hunk(out, edits, from, to, n_a, n_b);
    for (guint k = from; k < to; k++) {
      n_a += g_array_index(edits, Edit, k).mark != '+';
      n_b += g_array_index(edits, Edit, k).mark != '-';
    }
    done = to;
    i = to - 1;
  }
  g_free(lines_a.at);
  g_free(lines_b.at);
  return g_string_free(out, FALSE);
}
