/* Tables of measurements: comma separated, no quotes, one head line.
 *
 * Columns are found by name, in any order; further columns are ignored.
 *
 *     static const char *const columns[] = {"m", "n", "latency_us", NULL};
 *     ra_csv_read("gemm.csv", columns, read_row, rows, &error);
 *
 * Typical sizes: 20,000 rows, 40 ms.
 */
#ifndef RA_TRACES_CSV_H
#define RA_TRACES_CSV_H

#include <glib.h>

#define RA_CSV_COLUMNS 48 /* most columns that a reader can ask for */

/* One line below the head. */
typedef struct {
  const char *path;                  /* path of the file, for messages */
  guint number;                      /* line number, from 1 */
  const char *const *columns;        /* names, NULL-terminated */
  const char *field[RA_CSV_COLUMNS]; /* text of each column */
} RaCsvLine;

/* Called for a line; to return FALSE with @error set ends the reading. */
typedef gboolean (*RaCsvRow)(const RaCsvLine *line, gpointer data,
                             GError **error);

/**
 * ra_csv_read:
 * @columns: (array zero-terminated=1): names that the head must have; a name
 *   after '?' is optional, and its fields are empty if it is missing
 * @read: called for each line, in order
 * @error: %RA_ERROR_IO: @path cannot be read; %RA_ERROR_INPUT `file:line: ...`:
 *   a column is missing, or a line has not as many fields as the head
 */
gboolean ra_csv_read(const char *path, const char *const *columns,
                     RaCsvRow read, gpointer data, GError **error);

/**
 * ra_csv_number:
 * @out_value: (out): 0 for an empty field, which means "not published"
 * @error: `file:line: 'm' is 'x', expected a number of at least 0`
 */
gboolean ra_csv_number(const RaCsvLine *line, guint column, double *out_value,
                       GError **error);

/* The @n columns from @first on, as numbers. */
gboolean ra_csv_numbers(const RaCsvLine *line, guint first, guint n,
                        double *out_values, GError **error);

/**
 * ra_csv_find:
 * @folder: searched with its subfolders; need not exist
 * @prefix: start of the file names, which end with `.csv`
 *
 * Returns: (transfer full): (element-type filename): paths, sorted
 */
GPtrArray *ra_csv_find(const char *folder, const char *prefix);

/* The same in the subfolder @folder of each of @data, NULL-terminated, one
 * after another. */
GPtrArray *ra_csv_find_all(const char *const *data, const char *folder,
                           const char *prefix);

#endif
