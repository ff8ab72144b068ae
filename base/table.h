/* A table of results that people read at a glance and machines can parse.
 *
 * Columns have a name and a unit; cells are text, integers, reals or missing.
 * A table has three output formats:
 *
 *     text  aligned, values in suitable units, header with rule
 *     tsv   head line `name_unit`, SI values with %.9g
 *     json  array of objects, the same values
 *
 *     RaTable *t = ra_table_new("calls");
 *     ra_table_column(t, "call", RA_UNIT_NONE, RA_CELL_TEXT);
 *     ra_table_column(t, "time_s", RA_UNIT_SECONDS, RA_CELL_REAL);
 *     ra_table_row(t);
 *     ra_table_text(t, "actor_train");
 *     ra_table_real(t, 12.5);
 *     GString *out = g_string_new(NULL);
 *     ra_table_write(t, RA_FORMAT_TEXT, out);
 */
#ifndef RA_BASE_TABLE_H
#define RA_BASE_TABLE_H

#include <glib.h>
#include <stdint.h>

#include "base/units.h"

typedef struct _RaTable RaTable;

typedef enum { RA_FORMAT_TEXT, RA_FORMAT_TSV, RA_FORMAT_JSON } RaFormat;

typedef enum {
  RA_CELL_TEXT,
  RA_CELL_INTEGER, /* uint64_t; in text with thousands separated, or like
                      RA_CELL_REAL if the column has a unit */
  RA_CELL_REAL,    /* SI; in text by ra_quantity_format() for its unit */
  RA_CELL_FRAC,    /* [0,1]; in text as 12.3 %, else the fraction */
  RA_CELL_TRUTH    /* `yes` or `no`, in JSON true or false */
} RaCellType;

RaTable *ra_table_new(const char *title);
void ra_table_free(RaTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaTable, ra_table_free)

/* Adds a column, before the first row.  @name is the unique name for machines,
 * in snake case with a unit suffix (`time_s`).  The text format shows it
 * without the suffix and with spaces for underscores. */
void ra_table_column(RaTable *table, const char *name, RaUnit unit,
                     RaCellType type);

void ra_table_row(RaTable *table); /* begins a row; the previous one is full */
/* Copies @text; repairs invalid UTF-8 and shows control characters as spaces
 * (escaped in JSON). */
void ra_table_text(RaTable *table, const char *text);
void ra_table_integer(RaTable *table, uint64_t value);
/* For RA_CELL_REAL and RA_CELL_FRAC; a non-finite value counts as missing. */
void ra_table_real(RaTable *table, double value);
void ra_table_truth(RaTable *table, gboolean value); /* for RA_CELL_TRUTH */
void ra_table_missing(RaTable *table); /* `-` in text and TSV, null in JSON */

guint ra_table_n_rows(const RaTable *table);

/**
 * ra_table_json_key:
 * @out: appended to
 *
 * The title as a key of JSON: what is no letter, digit, `-` or `_` is `_`, once
 * for several in a row and never at an end (`plan: [plan]` is `plan_plan`).
 */
void ra_table_json_key(const RaTable *table, GString *out);

/**
 * ra_table_write:
 * @out: appended to
 *
 *     text  title line, head, rule and rows; text left-aligned, numbers
 *           right-aligned, by UTF-8 width.  A table wider than 100 columns
 *           folds: one row stands upright, one line a column; of several, the
 *           widest text, and any other that has no room beside the first ones,
 *           goes on in the next lines, and columns that are still too many
 *           stand below, behind the first texts again.  A text that is missing
 *           in all of several rows has no column.
 *     tsv   `# title` line, head line of names, rows
 *     json  the array of row objects alone, one object a line, strings
 *           escaped, keys as ra_table_json_key() makes them, without a newline
 *           at the end
 *
 * Every row must have as many cells as there are columns (g_assert).
 */
void ra_table_write(const RaTable *table, RaFormat format, GString *out);

/**
 * ra_table_write_top:
 * @n_rows: at most so many rows, the first
 * @out: appended to
 *
 * Text form of the first rows, as wide as that of all.
 */
void ra_table_write_top(const RaTable *table, guint n_rows, GString *out);

#endif
