/* Columns and cells of a table, private to table.c and table_write.c.
 *
 * Cells are in one flat array, row by row: cell (r, c) at r * n_columns + c.
 */
#ifndef RA_BASE_TABLE_IMPL_H
#define RA_BASE_TABLE_IMPL_H

#include "base/table.h"

typedef struct {
  const char *name; /* name for machines, with unit suffix */
  RaUnit unit;      /* unit of the values, SI */
  RaCellType type;  /* type of every cell that is not missing */
} RaTableColumn;

typedef struct {
  union {
    const char *text; /* RA_CELL_TEXT, valid UTF-8 */
    uint64_t integer; /* RA_CELL_INTEGER */
    double real;      /* RA_CELL_REAL, RA_CELL_FRAC; finite */
  };
  gboolean missing; /* the union is not read */
} RaTableCell;

struct _RaTable {
  const char *title;
  GStringChunk *texts; /* owns every string */
  GArray *columns;     /* RaTableColumn */
  GArray *cells;       /* RaTableCell */
  guint n_rows;        /* rows begun */
};

static inline const RaTableColumn *
ra_table_column_at(const RaTable *table, guint column)
{
  return &g_array_index(table->columns, RaTableColumn, column);
}

static inline const RaTableCell *
ra_table_cell_at(const RaTable *table, guint row, guint column)
{
  return &g_array_index(table->cells, RaTableCell,
                        row * table->columns->len + column);
}

#endif
