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
ra_table_missing(RaTable *table)
{
  g_return_if_fail(table != NULL);

  add_cell(table,
           1u << RA_CELL_TEXT | 1u << RA_CELL_INTEGER | 1u << RA_CELL_REAL |
               1u << RA_CELL_FRAC,
           (Cell){.missing = TRUE});
}

guint
ra_table_n_rows(const RaTable *table)
{
  g_return_val_if_fail(table != NULL, 0);

  return table->n_rows;
}

const char *
ra_table_title(const RaTable *table)
{
  g_return_val_if_fail(table != NULL, NULL);

  return table->title;
}

/* --- the output formats --- */

#define GAP "  "       /* between columns of the text form */
#define WIDEST_ROW 100 /* columns; a lone row that is wider stands upright */

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
  guint body;  /* widest body, columns of a terminal */
  guint unit;  /* widest unit, 0: none in the column */
  guint total; /* of the whole column, head included */
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
  Width width = {0, 0, 0};

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

static void
append_shown_row(GString *out, const RaTable *table, const GArray *all,
                 const Width *widths, guint row)
{
  guint n_columns = table->columns->len;

  for (guint c = 0; c < n_columns; c++) {
    const Shown *shown = &g_array_index(all, Shown, row * n_columns + c);

    if (c > 0)
      g_string_append(out, GAP);
    if (column_at(table, c)->type == RA_CELL_TEXT) {
      g_string_append(out, shown->body);
      pad(out, widths[c].total - text_width(shown->body));
    } else {
      append_right(out, shown, widths[c], row == 0);
    }
  }
  while (out->len > 0 && out->str[out->len - 1] == ' ')
    g_string_truncate(out, out->len - 1);
  g_string_append_c(out, '\n');
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

    g_string_append(out, name->body);
    pad(out, widest - text_width(name->body));
    g_string_append_printf(out, GAP "%s%s%s\n", value->body,
                           value->unit ? " " : "",
                           value->unit ? value->unit : "");
  }
}

static void
write_text(const RaTable *table, GString *out)
{
  guint n_columns = table->columns->len, width = 0;
  g_autoptr(GArray) all = show_all(table);
  g_autofree Width *widths = g_new(Width, n_columns);

  append_flat(out, table->title);
  g_string_append_c(out, '\n');
  for (guint c = 0; c < n_columns; c++) {
    widths[c] = measure(all, n_columns, c);
    width += widths[c].total + (c > 0 ? (guint)strlen(GAP) : 0);
  }
  if (table->n_rows == 1 && width > WIDEST_ROW) {
    append_upright(out, table, all);
    return;
  }
  append_shown_row(out, table, all, widths, 0);
  for (guint c = 0; c < n_columns; c++) {
    if (c > 0)
      g_string_append(out, GAP);
    for (guint i = 0; i < widths[c].total; i++)
      g_string_append_c(out, '-');
  }
  g_string_append_c(out, '\n');
  for (guint row = 1; row <= table->n_rows; row++)
    append_shown_row(out, table, all, widths, row);
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
append_json_row(const RaTable *table, guint row, GString *out)
{
  g_string_append(out, "  {");
  for (guint c = 0; c < table->columns->len; c++) {
    const Column *column = column_at(table, c);
    const Cell *cell = cell_at(table, row, c);

    if (c > 0)
      g_string_append(out, ", ");
    append_json_string(out, column->name);
    g_string_append(out, ": ");
    if (cell->missing)
      g_string_append(out, "null");
    else if (column->type == RA_CELL_TEXT)
      append_json_string(out, cell->text);
    else
      append_number(out, column, cell);
  }
  g_string_append_c(out, '}');
}

static void
write_json(const RaTable *table, GString *out)
{
  g_string_append_c(out, '[');
  for (guint r = 0; r < table->n_rows; r++) {
    g_string_append(out, r > 0 ? ",\n" : "\n");
    append_json_row(table, r, out);
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
    write_text(table, out);
    break;
  case RA_FORMAT_TSV:
    write_tsv(table, out);
    break;
  case RA_FORMAT_JSON:
    write_json(table, out);
    break;
  }
}
