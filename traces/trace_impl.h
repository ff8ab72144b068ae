/* Memory layout of a trace, private to its reader and writer.
 *
 * Rows are in one array that doubles.  Strings are in an arena, each once; an
 * open-addressing table of pointers finds them.  A row's strings mostly repeat
 * those of the previous row, which are tried first.
 *
 * Typical sizes: 10^6 rows = 100 MB, their names 40 MB, the table 16 MB.
 */
#ifndef RA_TRACES_TRACE_IMPL_H
#define RA_TRACES_TRACE_IMPL_H

#include <glib.h>

#include "base/arena.h"
#include "traces/trace.h"

#define RA_TRACE_MAGIC "# reallot trace "
#define RA_TRACE_VERSION "1"
#define RA_TRACE_N_COLUMNS 12

/* Column names in file order. */
extern const char *const ra_trace_columns[RA_TRACE_N_COLUMNS];

/* A head field. */
typedef struct {
  char *key;   /* owned */
  char *value; /* owned, one line */
} RaTraceField;

struct _RaTrace {
  GArray *head;         /* RaTraceField, in order of first setting */
  RaArena *text;        /* owns the rows' strings */
  const char **strings; /* (n_slots) table of them, NULL: free */
  gsize n_slots;        /* power of two */
  gsize n_strings;      /* in the table, at most half of the slots */
  RaTraceRow *rows;     /* (n_reserved) */
  guint n_rows;         /* rows in use */
  guint n_reserved;     /* rows allocated */
};

/* Forgets rows and their strings, not the head; keeps the room of both. */
void ra_trace_drop_rows(RaTrace *trace);

#endif
