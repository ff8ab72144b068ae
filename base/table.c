/* Columns and cells of a table; table_write.c has the output formats. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/table_impl.h"

RaTable *
ra_table_new(const char *title)
{
  g_return_val_if_fail(title != NULL, NULL);

  RaTable *table = g_new0(RaTable, 1);

  table->texts = g_string_chunk_new(4096);
  table->title = g_string_chunk_insert(table->texts, title);
  table->columns = g_array_new(FALSE, FALSE, sizeof(RaTableColumn));
  table->cells = g_array_new(FALSE, FALSE, sizeof(RaTableCell));
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

  RaTableColumn column = {
      .name = g_string_chunk_insert(table->texts, name),
      .unit = unit,
      .type = type,
  };

  for (guint i = 0; i < table->columns->len; i++)
    g_return_if_fail(strcmp(ra_table_column_at(table, i)->name, name) != 0);
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
add_cell(RaTable *table, guint types, RaTableCell cell)
{
  guint n_columns = table->columns->len;

  g_assert(table->cells->len < table->n_rows * n_columns);
  g_assert(types >>
               ra_table_column_at(table, table->cells->len % n_columns)->type &
           1);
  g_array_append_val(table->cells, cell);
}

void
ra_table_text(RaTable *table, const char *text)
{
  g_return_if_fail(table != NULL && text != NULL);

  g_autofree char *valid = g_utf8_make_valid(text, -1);
  RaTableCell cell = {.text = g_string_chunk_insert(table->texts, valid)};

  add_cell(table, 1u << RA_CELL_TEXT, cell);
}

void
ra_table_integer(RaTable *table, uint64_t value)
{
  g_return_if_fail(table != NULL);

  add_cell(table, 1u << RA_CELL_INTEGER, (RaTableCell){.integer = value});
}

void
ra_table_real(RaTable *table, double value)
{
  g_return_if_fail(table != NULL);

  add_cell(table, 1u << RA_CELL_REAL | 1u << RA_CELL_FRAC,
           (RaTableCell){.real = value, .missing = !isfinite(value)});
}

void
ra_table_missing(RaTable *table)
{
  g_return_if_fail(table != NULL);

  add_cell(table,
           1u << RA_CELL_TEXT | 1u << RA_CELL_INTEGER | 1u << RA_CELL_REAL |
               1u << RA_CELL_FRAC,
           (RaTableCell){.missing = TRUE});
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
