/* The reader of measured rows, private to measured*.c. */
#ifndef RA_TRACES_MEASURED_IMPL_H
#define RA_TRACES_MEASURED_IMPL_H

#include "traces/csv.h"
#include "traces/measured.h"
#include "traces/trace.h"

/* One shard of a layer of a model, and the groups of its rows. */
typedef struct {
  double heads, kv_heads, head_dim, width, ffn, vocab; /* whole model */
  gboolean gated;                                      /* feed-forward is */
  double tp;
  uint64_t line, model; /* groups of RaMeasured.line */
} RaMeasuredLayer;

/* The state of a reader of rows. */
typedef struct {
  GArray *rows;          /* (RaMeasured) */
  const char *source;    /* one of ra_measured_sources */
  const char *gpu;       /* "h100" */
  GHashTable *found;     /* name of a model or table -> RaMeasuredFound */
  RaKernels kernels;     /* of the source */
  RaMeasuredLayer layer; /* layer of the file's model */
  const char *version;   /* newest NCCL of the rows, interned; NULL: none */
  const RaCsvLine *line; /* line being read; NULL: none */
  RaCsvRow read;         /* reader of that line */
} RaMeasuredReader;

/* Facts about a model or a table, from the rows of another file. */
typedef struct {
  double value[4]; /* heads, kv_heads, width, ffn; or bytes/s of NICs */
  gboolean gated;  /* feed-forward is gated */
  uint64_t number; /* in order of appearance */
} RaMeasuredFound;

/* (transfer full): the type that a source such as "experts.fp8.trtllm" has
 * behind its first point: "fp8". */
char *ra_measured_type(const char *source);

/* The nearest whole number. */
uint64_t ra_measured_whole(double x);

/* Adds a row, unless @us is 0 (not published). */
void ra_measured_add(RaMeasuredReader *r, RaOp op, double us, uint64_t line,
                     uint64_t other_line);

/* A new record of @name, numbered in order of appearance. */
RaMeasuredFound *ra_measured_found(RaMeasuredReader *r, const char *name);

/* Reads all files in @folder of each of @data whose names begin with @prefix.
 */
gboolean ra_measured_files(const char *const *data, const char *folder,
                           const char *prefix, RaMeasuredReader *r,
                           const char *const *columns, RaCsvRow read,
                           GError **error);

/* The folder of @source and the prefix of its file names.  @out_column is the
 * column that names the GPU.  It is NULL if the file name has the GPU, after
 * the prefix, or at the start if the prefix is empty. */
void ra_measured_place(const char *source, const char **out_folder,
                       const char **out_prefix, const char **out_column);

/* Reads rows of a source from profiles of whole layers: vidur's and vLLM's. */
gboolean ra_measured_layers(RaMeasuredReader *r, const char *const *data,
                            GError **error);

/* Reads all files in @folder whose names begin with @prefix. */
gboolean ra_measured_folder(const char *folder, const char *prefix,
                            RaMeasuredReader *r, const char *const *columns,
                            RaCsvRow read, GError **error);

/* Reads rows from vLLM's profiles alone: serving_e2e_vllm/profile. */
gboolean ra_measured_vllm(RaMeasuredReader *r, const char *const *data,
                          GError **error);

/* Reads whole blocks of latent attention, sparse or not: kernels_dsa,
 * kernels_mla. */
gboolean ra_measured_sparse(RaMeasuredReader *r, const char *const *data,
                            GError **error);

/* Adds one kernel of a layer over @tokens tokens, if the source includes it.
 * @name: "qkv", "out", "up", "down" (GEMMs), "norm", "rope", "activation",
 * "add", "embedding" */
void ra_measured_layer(RaMeasuredReader *r, const RaMeasuredLayer *layer,
                       const char *name, double tokens, double us);

/* Reads the rows of a source of collectives or sends. */
gboolean ra_measured_messages(RaMeasuredReader *r, const char *const *data,
                              GError **error);

/* (transfer full): names of the tasks whose ops have rows of their own, such as
 * `TASK/l3/gemm.1` and `TASK/step9/g0/l3/gemm.1`. */
GHashTable *ra_measured_containers(const RaTrace *trace);

#endif
