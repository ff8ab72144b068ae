/* Columns and cells of a table, and its three output formats.
 *
 * Cells are in one flat array, row by row: cell (r, c) at r * n_columns + c.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/table.h"

typedef struct {
  const char *name; /* name for machines, with unit suffix */
  RaUnit unit;      /* unit of the values, SI */
  RaCellType type;  /* type of every cell that is not missing */
} Column;

typedef struct {
  union {
    const char *text; /* RA_CELL_TEXT, valid UTF-8 */
    uint64_t integer; /* RA_CELL_INTEGER */
    double real;      /* RA_CELL_REAL, RA_CELL_FRAC; finite */
    gboolean truth;   /* RA_CELL_TRUTH */
  };
  gboolean missing; /* the union is not read */
} Cell;

struct _RaTable {
  const char *title;
  GStringChunk *texts; /* owns every string */
  GArray *columns;     /* Column */
  GArray *cells;       /* Cell */
  guint n_rows;        /* rows begun */
};

static const Column *
column_at(const RaTable *table, guint column)
{
  return &g_array_index(table->columns, Column, column);
}

static const Cell *
cell_at(const RaTable *table, guint row, guint column)
{
  return &g_array_index(table->cells, Cell, row * table->columns->len + column);
}

RaTable *
ra_table_new(const char *title)
{
  g_return_val_if_fail(title != NULL, NULL);

  RaTable *table = g_new0(RaTable, 1);

  table->texts = g_string_chunk_new(4096);
  table->title = g_string_chunk_insert(table->texts, title);
  table->columns = g_array_new(FALSE, FALSE, sizeof(Column));
  table->cells = g_array_new(FALSE, FALSE, sizeof(Cell));
  return table;
}

void
ra_table_free(RaTable *table)
{
  if (table == NULL)
    return;
  g_array_unref(table->cells);
  g_array_unref(table->columns);
  g_string_chunk_free(table->texts);
  g_free(table);
}

void
ra_table_column(RaTable *table, const char *name, RaUnit unit, RaCellType type)
{
  g_return_if_fail(table != NULL && name != NULL);
  g_return_if_fail((guint)unit < RA_N_UNITS && table->n_rows == 0);

  Column column = {
      .name = g_string_chunk_insert(table->texts, name),
      .unit = unit,
      .type = type,
  };

  for (guint i = 0; i < table->columns->len; i++)
    g_return_if_fail(strcmp(column_at(table, i)->name, name) != 0);
  g_array_append_val(table->columns, column);
}

void
ra_table_row(RaTable *table)
{
  g_return_if_fail(table != NULL);

  /* The row before must be full. */
  g_assert(table->cells->len == table->n_rows * table->columns->len);
  table->n_rows++;
}

/* Appends a cell to the row; it must be of one of its column's types. */
static void
add_cell(RaTable *table, guint types, Cell cell)
{
  guint n_columns = table->columns->len;

  g_assert(table->cells->len < table->n_rows * n_columns);
  g_assert(types >> column_at(table, table->cells->len % n_columns)->type & 1);
  g_array_append_val(table->cells, cell);
}

void
ra_table_text(RaTable *table, const char *text)
{
  g_return_if_fail(table != NULL && text != NULL);

  g_autofree char *valid = g_utf8_make_valid(text, -1);
  Cell cell = {.text = g_string_chunk_insert(table->texts, valid)};

  add_cell(table, 1u << RA_CELL_TEXT, cell);
}

void
ra_table_integer(RaTable *table, uint64_t value)
{
  g_return_if_fail(table != NULL);

  add_cell(table, 1u << RA_CELL_INTEGER, (Cell){.integer = value});
}

void
ra_table_real(RaTable *table, double value)
{
  g_return_if_fail(table != NULL);

  add_cell(table, 1u << RA_CELL_REAL | 1u << RA_CELL_FRAC,
           (Cell){.real = value, .missing = !isfinite(value)});
}

void
ra_table_truth(RaTable *table, gboolean value)
{
  g_return_if_fail(table != NULL);

  add_cell(table, 1u << RA_CELL_TRUTH, (Cell){.truth = value});
}

void
ra_table_missing(RaTable *table)
{
  g_return_if_fail(table != NULL);

  add_cell(table, ~0u, (Cell){.missing = TRUE});
}

guint
ra_table_n_rows(const RaTable *table)
{
  g_return_val_if_fail(table != NULL, 0);

  return table->n_rows;
}

/* --- the output formats --- */

#define GAP "  "       /* between columns of the text form */
#define WIDEST_ROW 100 /* columns of a terminal; what is wider folds */
#define WIDEST_KEYS 44 /* columns of the keys, which blocks repeat */
#define NARROWEST 24   /* columns of a text that goes on in the next line */

/* A cell of the text form.  Numbers stand right, units left of one line:
 *
 *     12.3 ms
 *        1 s
 */
typedef struct {
  char *body; /* owned: the number, or all of a text */
  char *unit; /* owned, nullable: what follows the number and a space */
} Shown;

typedef struct {
  guint body;      /* widest body, columns of a terminal */
  guint unit;      /* widest unit, 0: none in the column */
  guint total;     /* of the whole column, head included */
  gboolean broken; /* its text goes on in the next lines, @total wide */
} Width;

static void
clear_shown(void *item)
{
  Shown *shown = item;

  g_free(shown->body);
  g_free(shown->unit);
}

/* Columns that @text takes on a terminal. */
static guint
text_width(const char *text)
{
  guint width = 0;

  for (; *text; text = g_utf8_next_char(text)) {
    gunichar c = g_utf8_get_char(text);

    if (!g_unichar_iszerowidth(c))
      width += g_unichar_iswide(c) ? 2 : 1;
  }
  return width;
}

static void
pad(GString *out, guint n)
{
  while (n-- > 0)
    g_string_append_c(out, ' ');
}

/* One line and no tabs, whatever the text was. */
static void
append_flat(GString *out, const char *text)
{
  for (; *text; text++)
    g_string_append_c(out, g_ascii_iscntrl(*text) ? ' ' : *text);
}

static void
append_real(GString *out, double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];

  g_string_append(out, g_ascii_formatd(text, sizeof text, "%.9g", value));
}

/* 6,738,415,616 */
static char *
with_thousands(uint64_t value)
{
  g_autofree char *digits = g_strdup_printf("%" G_GUINT64_FORMAT, value);
  gsize n = strlen(digits);
  GString *out = g_string_new(NULL);

  for (gsize i = 0; i < n; i++) {
    if (i > 0 && (n - i) % 3 == 0)
      g_string_append_c(out, ',');
    g_string_append_c(out, digits[i]);
  }
  return g_string_free(out, FALSE);
}

static Shown
show_quantity(double value, RaUnit unit)
{
  char *text = ra_quantity_format(value, unit);
  char *space = strchr(text, ' ');
  Shown shown = {text, NULL};

  if (space) {
    shown.unit = g_strdup(space + 1);
    *space = '\0';
  }
  return shown;
}

static Shown
show_cell(const Column *column, const Cell *cell)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  GString *flat;

  if (cell->missing)
    return (Shown){g_strdup("-"), NULL};
  switch (column->type) {
  case RA_CELL_TEXT:
    flat = g_string_new(NULL);
    append_flat(flat, cell->text);
    return (Shown){g_string_free(flat, FALSE), NULL};
  case RA_CELL_INTEGER:
    if (column->unit != RA_UNIT_NONE)
      return show_quantity((double)cell->integer, column->unit);
    return (Shown){with_thousands(cell->integer), NULL};
  case RA_CELL_REAL:
    return show_quantity(cell->real, column->unit);
  case RA_CELL_FRAC:
    g_ascii_formatd(text, sizeof text, "%.1f", cell->real * 100);
    return (Shown){g_strdup(text), g_strdup("%")};
  case RA_CELL_TRUTH:
    return (Shown){g_strdup(cell->truth ? "yes" : "no"), NULL};
  }
  g_assert_not_reached();
}

/* "time_s" is "time": every cell shows its unit. */
static char *
show_name(const Column *column)
{
  static const char *const suffixes[RA_N_UNITS] = {
      [RA_UNIT_NONE] = "",
      [RA_UNIT_SECONDS] = "_s",
      [RA_UNIT_BYTES] = "_bytes",
      [RA_UNIT_BYTES_PER_S] = "_bytes_per_s",
      [RA_UNIT_FLOP_PER_S] = "_flop_per_s",
      [RA_UNIT_USD_PER_GPU_H] = "_usd_per_gpu_h",
      [RA_UNIT_WATT] = "_w",
      [RA_UNIT_HERTZ] = "_hz",
  };
  const char *suffix =
      column->type == RA_CELL_FRAC ? "_frac" : suffixes[column->unit];
  char *name = g_strdup(column->name);

  if (g_str_has_suffix(name, suffix))
    name[strlen(name) - strlen(suffix)] = '\0';
  return g_strdelimit(name, "_", ' ');
}

/* Row 0 is the head. */
static GArray *
show_all(const RaTable *table)
{
  GArray *all = g_array_new(FALSE, FALSE, sizeof(Shown));

  g_array_set_clear_func(all, clear_shown);
  for (guint c = 0; c < table->columns->len; c++) {
    Shown name = {show_name(column_at(table, c)), NULL};

    g_array_append_val(all, name);
  }
  for (guint i = 0; i < table->cells->len; i++) {
    guint c = i % table->columns->len;
    Shown shown =
        show_cell(column_at(table, c), &g_array_index(table->cells, Cell, i));

    g_array_append_val(all, shown);
  }
  return all;
}

static Width
measure(const GArray *all, guint n_columns, guint column)
{
  Width width = {0, 0, 0, FALSE};

  for (guint i = n_columns + column; i < all->len; i += n_columns) {
    const Shown *shown = &g_array_index(all, Shown, i);

    width.body = MAX(width.body, text_width(shown->body));
    if (shown->unit)
      width.unit = MAX(width.unit, text_width(shown->unit));
  }
  width.total = width.body + (width.unit > 0 ? 1 + width.unit : 0);
  width.total =
      MAX(width.total, text_width(g_array_index(all, Shown, column).body));
  return width;
}

/* A number, its end before the column of units; the head over all of it. */
static void
append_right(GString *out, const Shown *shown, Width width, gboolean head)
{
  guint behind = !head && width.unit > 0 ? 1 + width.unit : 0;
  guint unit = shown->unit ? 1 + text_width(shown->unit) : 0;

  pad(out, width.total - behind - text_width(shown->body));
  g_string_append(out, shown->body);
  if (shown->unit)
    g_string_append_printf(out, " %s", shown->unit);
  pad(out, behind - unit);
}

static gboolean
is_left(const Column *column)
{
  return column->type == RA_CELL_TEXT || column->type == RA_CELL_TRUTH;
}

/* Bytes of the first line of @text, broken at a space within @n_columns; a
 * longer word is not broken. */
static gsize
line_bytes(const char *text, guint n_columns)
{
  const char *best = NULL, *space = text;

  while ((space = strchr(space, ' ')) != NULL) {
    g_autofree char *line = g_strndup(text, (gsize)(space - text));

    if (best && text_width(line) > n_columns)
      return (gsize)(best - text);
    best = space++;
  }
  return best && text_width(text) > n_columns ? (gsize)(best - text)
                                              : strlen(text);
}

/* Next line of a broken text: @text moves behind it. */
static char *
take_line(const char **text, guint n_columns)
{
  gsize n = line_bytes(*text, n_columns);
  char *line = g_strndup(*text, n);

  *text += n;
  while (**text == ' ')
    (*text)++;
  return line;
}

/* Columns of the table that stand side by side: the keys, which are the first
 * ones, and then those from @begin to before @end. */
typedef struct {
  const RaTable *table;
  const GArray *all;   /* Shown, row 0 the head */
  const Width *widths; /* a column each */
  guint n_keys;        /* at least 1 */
  guint begin, end;
} Block;

/* Column after @c; those of no width are left out. */
static guint
next_column(const Block *b, guint c)
{
  do
    c = c + 1 == b->n_keys ? MAX(b->begin, b->n_keys) : c + 1;
  while (c < b->end && b->widths[c].total == 0);
  return c;
}

/* Ends a line: without spaces at its end. */
static void
end_line(GString *out)
{
  while (out->len > 0 && out->str[out->len - 1] == ' ')
    g_string_truncate(out, out->len - 1);
  g_string_append_c(out, '\n');
}

/* Next line of a broken @text, or nothing, @width wide. */
static void
append_next(GString *out, const char **text, guint width)
{
  g_autofree char *line = take_line(text, width);

  g_string_append(out, line);
  pad(out, width - MIN(width, text_width(line)));
}

/* Lines below the first one, until no column has a rest in @rests. */
static void
append_rests(GString *out, const Block *b, const char **rests)
{
  gboolean any;

  do {
    any = FALSE;
    for (guint c = 0; c < b->end; c = next_column(b, c))
      any |= *rests[c] != '\0';
    for (guint c = 0; any && c < b->end; c = next_column(b, c)) {
      g_string_append(out, c > 0 ? GAP : "");
      append_next(out, &rests[c], b->widths[c].total);
    }
    if (any)
      end_line(out);
  } while (any);
}

static void
append_shown_row(GString *out, const Block *b, guint row)
{
  guint n_columns = b->table->columns->len;
  g_autofree const char **rests = g_new(const char *, n_columns);

  for (guint c = 0; c < b->end; c = next_column(b, c)) {
    const Shown *shown = &g_array_index(b->all, Shown, row * n_columns + c);

    g_string_append(out, c > 0 ? GAP : "");
    rests[c] = "";
    if (b->widths[c].broken && row > 0) {
      rests[c] = shown->body;
      append_next(out, &rests[c], b->widths[c].total);
    } else if (is_left(column_at(b->table, c))) {
      g_string_append(out, shown->body);
      pad(out, b->widths[c].total - text_width(shown->body));
    } else {
      append_right(out, shown, b->widths[c], row == 0);
    }
  }
  end_line(out);
  append_rests(out, b, rests);
}

/* Head, rule and rows of a block. */
static void
append_block(GString *out, const Block *b, guint n_rows)
{
  append_shown_row(out, b, 0);
  for (guint c = 0; c < b->end; c = next_column(b, c)) {
    if (c > 0)
      g_string_append(out, GAP);
    for (guint i = 0; i < b->widths[c].total; i++)
      g_string_append_c(out, '-');
  }
  g_string_append_c(out, '\n');
  for (guint row = 1; row <= n_rows; row++)
    append_shown_row(out, b, row);
}

/* Breaks the text of @column into lines of at most @most columns. */
static void
break_column(const Block *b, Width *widths, guint column, guint most)
{
  widths[column].broken = TRUE;
  widths[column].total =
      text_width(g_array_index(b->all, Shown, column).body); /* head */
  for (guint row = 1; row <= b->table->n_rows; row++) {
    const Shown *shown =
        &g_array_index(b->all, Shown, row * b->table->columns->len + column);
    const char *rest = shown->body;

    while (*rest) {
      g_autofree char *line = take_line(&rest, most);

      widths[column].total = MAX(widths[column].total, text_width(line));
    }
  }
}

/* The widest text but keys gives what the table is too wide by; if less than
 * NARROWEST were left of it, it gets a block that it fills beside @keys.  So
 * does another that is too wide for a block. */
static void
break_texts(const Block *b, Width *widths, guint excess, guint keys)
{
  guint widest = 0;
  guint room =
      WIDEST_ROW - MIN(keys + (guint)strlen(GAP), WIDEST_ROW - NARROWEST);

  for (guint c = b->n_keys; c < b->table->columns->len; c++)
    if (column_at(b->table, c)->type == RA_CELL_TEXT &&
        (widest == 0 || widths[c].total > widths[widest].total))
      widest = c;
  if (widest > 0 && widths[widest].total > NARROWEST)
    break_column(b, widths, widest,
                 widths[widest].total >= NARROWEST + excess
                     ? widths[widest].total - excess
                     : room);
  for (guint c = b->n_keys; c < b->table->columns->len; c++)
    if (column_at(b->table, c)->type == RA_CELL_TEXT && !widths[c].broken &&
        widths[c].total > room)
      break_column(b, widths, c, room);
}

/* The only row: a line a column, names before values. */
static void
append_upright(GString *out, const RaTable *table, const GArray *all)
{
  guint n_columns = table->columns->len, widest = 0;

  for (guint c = 0; c < n_columns; c++)
    widest = MAX(widest, text_width(g_array_index(all, Shown, c).body));
  for (guint c = 0; c < n_columns; c++) {
    const Shown *name = &g_array_index(all, Shown, c);
    const Shown *value = &g_array_index(all, Shown, n_columns + c);

    const char *text = value->body;
    guint room = WIDEST_ROW - MIN(widest + (guint)strlen(GAP), WIDEST_ROW / 2);
    g_autofree char *line = take_line(&text, room);

    g_string_append(out, name->body);
    pad(out, widest - text_width(name->body));
    g_string_append_printf(out, GAP "%s%s%s\n", line, value->unit ? " " : "",
                           value->unit ? value->unit : "");
    while (*text) {
      g_free(line);
      line = take_line(&text, room);
      pad(out, widest);
      g_string_append_printf(out, GAP "%s\n", line);
    }
  }
}

/* A text that no row of several has is left out. */
static gboolean
is_blank(const RaTable *table, guint column)
{
  if (column == 0 || table->n_rows < 2 ||
      column_at(table, column)->type != RA_CELL_TEXT)
    return FALSE;
  for (guint r = 0; r < table->n_rows; r++)
    if (!cell_at(table, r, column)->missing)
      return FALSE;
  return TRUE;
}

/* A column and the gap beside it; of none, nothing. */
static guint
gapped(Width width)
{
  return width.total > 0 ? width.total + (guint)strlen(GAP) : 0;
}

void
ra_table_write_top(const RaTable *table, guint n_rows, GString *out)
{
  g_return_if_fail(table != NULL && out != NULL);

  guint n = table->columns->len, width = 0;
  g_autoptr(GArray) all = show_all(table);
  g_autofree Width *widths = g_new0(Width, n);
  Block b = {table, all, widths, 1, 0, 0};
  guint keys;

  append_flat(out, table->title);
  g_string_append_c(out, '\n');
  for (guint c = 0; c < n; c++) {
    if (is_blank(table, c))
      continue;
    widths[c] = measure(all, n, c);
    width += c > 0 ? gapped(widths[c]) : widths[c].total;
  }
  if (table->n_rows == 1 && width > WIDEST_ROW) {
    append_upright(out, table, all);
    return;
  }
  keys = widths[0].total;
  while (b.n_keys < n && column_at(table, b.n_keys)->type == RA_CELL_TEXT &&
         keys + gapped(widths[b.n_keys]) <= WIDEST_KEYS)
    keys += gapped(widths[b.n_keys++]);
  if (width > WIDEST_ROW)
    break_texts(&b, widths, width - WIDEST_ROW, keys);
  while (b.end < n) {
    b.begin = b.end;
    width = b.begin > 0 ? keys + (guint)strlen(GAP) : 0;
    do {
      width += gapped(widths[b.end++]);
    } while (b.end < n && ((b.begin == 0 && b.end <= b.n_keys) ||
                           width + widths[b.end].total <= WIDEST_ROW));
    if (b.begin > 0)
      g_string_append_c(out, '\n');
    append_block(out, &b, MIN(n_rows, table->n_rows));
  }
}

static void
append_number(GString *out, const Column *column, const Cell *cell)
{
  if (column->type == RA_CELL_INTEGER)
    g_string_append_printf(out, "%" G_GUINT64_FORMAT, cell->integer);
  else
    append_real(out, cell->real);
}

static void
write_tsv(const RaTable *table, GString *out)
{
  guint n_columns = table->columns->len;

  g_string_append(out, "# ");
  append_flat(out, table->title);
  g_string_append_c(out, '\n');
  for (guint c = 0; c < n_columns; c++)
    g_string_append_printf(out, "%s%s", c ? "\t" : "",
                           column_at(table, c)->name);
  g_string_append_c(out, '\n');
  for (guint r = 0; r < table->n_rows; r++) {
    for (guint c = 0; c < n_columns; c++) {
      const Column *column = column_at(table, c);
      const Cell *cell = cell_at(table, r, c);

      if (c > 0)
        g_string_append_c(out, '\t');
      if (cell->missing)
        g_string_append_c(out, '-');
      else if (column->type == RA_CELL_TEXT)
        append_flat(out, cell->text);
      else if (column->type == RA_CELL_TRUTH)
        g_string_append(out, cell->truth ? "yes" : "no");
      else
        append_number(out, column, cell);
    }
    g_string_append_c(out, '\n');
  }
}

/* RFC 8259 section 7: quote, backslash and control characters. */
static void
append_json_string(GString *out, const char *text)
{
  g_string_append_c(out, '"');
  for (; *text; text++) {
    if (*text == '"' || *text == '\\')
      g_string_append_printf(out, "\\%c", *text);
    else if (g_ascii_iscntrl(*text))
      g_string_append_printf(out, "\\u%04x", (guint)*text);
    else
      g_string_append_c(out, *text);
  }
  g_string_append_c(out, '"');
}

static void
append_json_key(GString *out, const char *name)
{
  gboolean gap = FALSE, begun = FALSE;

  for (; *name; name = g_utf8_next_char(name)) {
    gunichar c = g_utf8_get_char(name);

    if (c != '-' && c != '_' && !g_unichar_isalnum(c)) {
      gap = TRUE;
      continue;
    }
    if (gap && begun)
      g_string_append_c(out, '_');
    gap = FALSE;
    begun = TRUE;
    g_string_append_unichar(out, c);
  }
}

void
ra_table_json_key(const RaTable *table, GString *out)
{
  g_return_if_fail(table != NULL && out != NULL);

  append_json_key(out, table->title);
}

/* Keys of all columns; names that become one key get their column's number. */
static char **
json_keys(const RaTable *table)
{
  guint n = table->columns->len;
  char **keys = g_new0(char *, n + 1);

  for (guint c = 0; c < n; c++) {
    g_autoptr(GString) key = g_string_new(NULL);

    append_json_key(key, column_at(table, c)->name);
    if (g_strv_contains((const char *const *)keys, key->str))
      g_string_append_printf(key, "_%u", c + 1);
    keys[c] = g_strdup(key->str);
  }
  return keys;
}

static void
append_json_row(const RaTable *table, char *const *keys, guint row,
                GString *out)
{
  g_string_append(out, "  {");
  for (guint c = 0; c < table->columns->len; c++) {
    const Column *column = column_at(table, c);
    const Cell *cell = cell_at(table, row, c);

    if (c > 0)
      g_string_append(out, ", ");
    append_json_string(out, keys[c]);
    g_string_append(out, ": ");
    if (cell->missing)
      g_string_append(out, "null");
    else if (column->type == RA_CELL_TEXT)
      append_json_string(out, cell->text);
    else if (column->type == RA_CELL_TRUTH)
      g_string_append(out, cell->truth ? "true" : "false");
    else
      append_number(out, column, cell);
  }
  g_string_append_c(out, '}');
}

static void
write_json(const RaTable *table, GString *out)
{
  g_auto(GStrv) keys = json_keys(table);

  g_string_append_c(out, '[');
  for (guint r = 0; r < table->n_rows; r++) {
    g_string_append(out, r > 0 ? ",\n" : "\n");
    append_json_row(table, keys, r, out);
  }
  g_string_append(out, table->n_rows > 0 ? "\n]" : "]");
}

void
ra_table_write(const RaTable *table, RaFormat format, GString *out)
{
  g_return_if_fail(table != NULL && out != NULL);

  g_assert(table->cells->len == table->n_rows * table->columns->len);
  switch (format) {
  case RA_FORMAT_TEXT:
    ra_table_write_top(table, table->n_rows, out);
    break;
  case RA_FORMAT_TSV:
    write_tsv(table, out);
    break;
  case RA_FORMAT_JSON:
    write_json(table, out);
    break;
  }
}
