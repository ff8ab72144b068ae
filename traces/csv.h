/* Tables of measurements: comma separated, no quotes, one head line.
 *
 * Columns are found by name, wherever they stand; further ones are ignored.
 *
 *     static const char *const columns[] = {"m", "n", "latency_us", NULL};
 *     ra_csv_read("gemm.csv", columns, read_row, rows, &error);
 *
 * Typical sizes: 20,000 rows, 40 ms.
 */
#ifndef RA_TRACES_CSV_H
#define RA_TRACES_CSV_H

#include <glib.h>

#define RA_CSV_COLUMNS 32 /* that one reader may ask for */

/* One line below the head. */
typedef struct {
  const char *path;                  /* of the file, for messages */
  guint number;                      /* of the line, from 1 */
  const char *const *columns;        /* names, NULL-terminated */
  const char *field[RA_CSV_COLUMNS]; /* text of each column */
} RaCsvLine;

/* FALSE with @error set ends the reading. */
typedef gboolean (*RaCsvRow)(const RaCsvLine *line, gpointer data,
                             GError **error);

/**
 * ra_csv_read:
 * @columns: (array zero-terminated=1): names that the head must have; one with
 *   '?' before it may be missing, its fields are then empty
 * @read: called for each line in order
 * @error: %RA_ERROR_IO: @path cannot be read; %RA_ERROR_INPUT `file:line: ...`
 *   for a column that is missing and a line with another number of fields than
 *   the head
 */
gboolean ra_csv_read(const char *path, const char *const *columns,
                     RaCsvRow read, gpointer data, GError **error);

/**
 * ra_csv_number:
 * @out_value: (out): 0 where the field is empty: not published
 * @error: `file:line: 'm' is 'x', expected a number of at least 0`
 */
gboolean ra_csv_number(const RaCsvLine *line, guint column, double *out_value,
                       GError **error);

/* All columns from @first on as numbers, as many as @n. */
gboolean ra_csv_numbers(const RaCsvLine *line, guint first, guint n,
                        double *out_values, GError **error);

/**
 * ra_csv_find:
 * @folder: below it files are looked for; it need not exist
 * @prefix: that their names begin with; `.csv` ends them
 *
 * Returns: (transfer full): (element-type filename): paths, sorted
 */
GPtrArray *ra_csv_find(const char *folder, const char *prefix);

#endif
