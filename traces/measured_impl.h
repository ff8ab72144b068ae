/* What measured*.c share: a reader of rows. */
#ifndef RA_TRACES_MEASURED_IMPL_H
#define RA_TRACES_MEASURED_IMPL_H

#include "traces/csv.h"
#include "traces/measured.h"
#include "traces/trace.h"

/* One shard of a layer of a model, and where its rows stand. */
typedef struct {
  double heads, kv_heads, head_dim, width, ffn, vocab; /* whole model */
  gboolean gated;                                      /* its feed-forward */
  double tp;
  uint64_t line, model; /* of the folds */
} RaMeasuredLayer;

/* What a reader of rows knows. */
typedef struct {
  GArray *rows;          /* (RaMeasured) */
  const char *source;    /* of ra_measured_sources */
  const char *gpu;       /* "h100" */
  GHashTable *found;     /* model's or table's name -> RaMeasuredFound */
  RaMeasuredLayer layer; /* of the file's model */
  const char *version;   /* interned: newest NCCL of the rows; NULL: none */
  const RaCsvLine *line; /* being read; NULL: none */
  RaCsvRow read;         /* of it */
} RaMeasuredReader;

/* What the rows of another file say of a model or of a table. */
typedef struct {
  double value[4]; /* heads, kv_heads, width, ffn; NICs' bytes/s */
  gboolean gated;  /* feed-forward */
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

/* The folder and the beginning of the names of the files of @source;
 * @out_column names the column that says the GPU, or is NULL where the file's
 * name does, behind the prefix or (empty prefix) at its beginning. */
void ra_measured_place(const char *source, const char **out_folder,
                       const char **out_prefix, const char **out_column);

/* Reads the rows of a source from profiles of whole layers: vidur's, vLLM's. */
gboolean ra_measured_layers(RaMeasuredReader *r, const char *data,
                            GError **error);

/* All files in @folder whose names begin with @prefix. */
gboolean ra_measured_folder(const char *folder, const char *prefix,
                            RaMeasuredReader *r, const char *const *columns,
                            RaCsvRow read, GError **error);

/* The same of vLLM's alone: serving_e2e_vllm/profile. */
gboolean ra_measured_vllm(RaMeasuredReader *r, const char *data,
                          GError **error);

/* Adds one kernel of a layer over @tokens tokens, where the source wants it.
 * @name: "qkv", "out", "up", "down" (products), "norm", "rope", "activation",
 * "add", "embedding" */
void ra_measured_layer(RaMeasuredReader *r, const RaMeasuredLayer *layer,
                       const char *name, double tokens, double us);

/* Reads the rows of a source of messages: collectives, sends. */
gboolean ra_measured_messages(RaMeasuredReader *r, const char *data,
                              GError **error);

/* (transfer full): names of tasks whose ops are rows of their own,
 * `TASK/l3/gemm.1`, `TASK/step9/g0/l3/gemm.1`. */
GHashTable *ra_measured_containers(const RaTrace *trace);

#endif
