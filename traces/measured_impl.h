/* What measured*.c share: a reader of rows. */
#ifndef RA_TRACES_MEASURED_IMPL_H
#define RA_TRACES_MEASURED_IMPL_H

#include "traces/csv.h"
#include "traces/measured.h"

/* What a reader of rows knows. */
typedef struct {
  GArray *rows;       /* (RaMeasured) */
  const char *source; /* of ra_measured_sources */
  const char *gpu;    /* "h100" */
  GHashTable *found;  /* model's or table's name -> RaMeasuredFound */
  double heads, kv_heads, width, ffn; /* of the file's model */
  uint64_t model;                     /* its number */
} RaMeasuredReader;

/* What the rows of another file say of a model or of a table. */
typedef struct {
  double value[4]; /* heads, kv_heads, width, ffn; NICs' bytes/s */
  uint64_t number; /* in the order found */
} RaMeasuredFound;

/* The nearest whole number. */
uint64_t ra_measured_whole(double x);

/* Adds a row; none where @us is 0: not published. */
void ra_measured_add(RaMeasuredReader *r, RaOp op, double us, uint64_t line,
                     uint64_t other_line);

/* A new record of @name, numbered in the order found. */
RaMeasuredFound *ra_measured_found(RaMeasuredReader *r, const char *name);

/* All files whose names begin with @prefix in @data/@folder. */
gboolean ra_measured_files(const char *data, const char *folder,
                           const char *prefix, RaMeasuredReader *r,
                           const char *const *columns, RaCsvRow read,
                           GError **error);

/* Reads the rows of a source of messages: collectives, sends. */
gboolean ra_measured_messages(RaMeasuredReader *r, const char *data,
                              GError **error);

#endif
