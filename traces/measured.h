/* Measured ops: rows of published tables as (op, seconds).
 *
 * A source is a set of files below a folder of measurements, such as
 * `kernels_gemm/gemm_h100_bf16*.csv`, and the way in which their columns become
 * an op.  Missing folders and files and unknown columns are not errors; a
 * malformed number is.
 *
 *     const char *data[] = {"../shared/data", NULL};
 *     GArray *rows = ra_measured_rows(data, "gemm.bf16", "h100", &error);
 *     const RaMeasured *first = &g_array_index(rows, RaMeasured, 0);
 *     g_array_unref(rows);
 *
 * Typical sizes: 15 sources of 36 to 21,546 rows.
 */
#ifndef RA_TRACES_MEASURED_H
#define RA_TRACES_MEASURED_H

#include <glib.h>

#include "graph/op/op.h"
#include "traces/grid.h"
#include "traces/law.h"

/* Number of ways to group rows.  A fold of cross-validation leaves out all rows
 * of one group: those with one value of n or of k of a GEMM, one number of
 * query heads of attention, one model's shard of the kernels of a layer, one
 * size or number of GPUs of a collective. */
#define RA_MEASURED_LINES 2

/* The node of rows that do not describe theirs: 8 GPUs and 8 NICs, each of
 * 50 GB/s (400 Gbit/s), as in a DGX H100. */
#define RA_MEASURED_NODE 8
#define RA_MEASURED_NIC_BYTES_PER_S 50e9

/* A whole block of latent attention, of which a row's op is one. */
typedef struct {
  guint8 model; /* counted from 1; 0: the row is of the op alone */
  guint8 gemm_dtype, kv_dtype; /* RaDtype of GEMMs and of the cache */
  guint8 is_step;              /* 1: a decode step */
  guint16 compress;            /* tokens of a compressed entry; 0: none */
  guint32 heads;               /* of attention, on the GPU */
  RaBatch batch;
} RaMeasuredBlock;

typedef struct {
  RaOp op;                /* count 1 */
  double measured_s;      /* > 0 */
  double nic_bytes_per_s; /* rate of all NICs of the node; 0: one node */
  double nic_latency_s;   /* like a cluster's; 0: InfiniBand's */
  guint gpus_per_node;    /* 0: RA_MEASURED_NODE */
  guint nics_per_node;    /* 0: RA_MEASURED_NODE */
  RaGridCell samples;     /* statistics of ln(sample / measured_s), for a row of
                             several samples; n 0: measured_s is the only one */
  uint64_t line[RA_MEASURED_LINES]; /* groups of the row */
  const char *file;                 /* file of the row, interned; may be NULL */
  guint file_line;                  /* line of that file, from 1 */
  double deviation_frac; /* standard deviation of the source's repeats, share of
                            measured_s; 0: not published */
  RaKernels kernels;     /* of the engine that was measured */
  gboolean of_wall;      /* from a trace, in wall time; else from a probe, in
                            CPU time of its core */
  double wall_per_cpu;   /* measured in the row's run; 0: not known */
  gboolean of_run;       /* from the run of a plan: its repeats are one sample
                            of the variation between runs */
  gboolean replayed;     /* alone, again and again: a row of a table */
  RaMeasuredBlock block; /* what was measured, if more than the op */
  double beside_s;       /* predicted of the block's other ops; 0: none */
} RaMeasured;

/**
 * ra_measured_block:
 * @row: is of a block
 * @out_ops: (out) (array length=RA_OP_LIST_MAX): the block as ra_op_list()
 *   lowers a layer on one GPU, without the norm before it and the sum after it
 *
 * Returns: number of ops
 */
guint ra_measured_block(const RaMeasured *row, RaOp *out_ops);

/* Folder of GEMMs on AMD's GPUs. */
#define RA_MEASURED_AMD "kernels_amd"

/* A row of this group is never left out. */
#define RA_MEASURED_KEPT UINT64_MAX

/* Names of the sources, NULL-terminated, in the order of the profile's laws: a
 * law's name without "memory.". */
extern const char *const ra_measured_sources[];

/* (transfer full): letters and digits of the name of a GPU, lower case, without
 * its maker's: "NVIDIA H100 SXM" is "h100sxm". */
char *ra_measured_gpu_name(const char *name);

/**
 * ra_measured_rows:
 * @data: (array zero-terminated=1): folders of published measurements, of
 *   which rows of one kind are taken together
 * @source: one of ra_measured_sources, or one of the list below
 * @gpu: "h100", "a100" ...
 * @error: %RA_ERROR_INPUT `file:line: ...`
 *
 * Reads the rows of a source:
 *
 *     send            the first of p2p.node and send.pairs that has rows
 *     p2p.node        sends between the GPUs of a node
 *     p2p.nodes       sends between nodes
 *     send.pairs      all-to-alls of two GPUs
 *
 * No shipped law is fitted on these:
 *
 *     all-reduce.dgx, all-reduce.lut, inter-node.one
 *                     all-reduces within nodes, from other publications
 *     gemm.layer      GEMMs of a layer by another engine
 *     latent-block, latent-block-step
 *                     whole blocks of latent attention
 *     latent-matrices.vllm
 *                     GEMMs of every head by another engine
 *     gemm.best       the bf16 GEMM with most FLOP/s, of many shapes
 *     inter-node.efa  all-reduces across nodes over EFA
 *
 * Returns: (transfer full) (element-type RaMeasured): empty if @data has none;
 *   %NULL on error
 */
GArray *ra_measured_rows(const char *const *data, const char *source,
                         const char *gpu, GError **error);

/**
 * ra_measured_gpus:
 * @data: as above
 * @source: as above
 * @error: as above
 *
 * The GPUs for which there are rows of @source, from file names or columns.
 *
 * Returns: (transfer full) (element-type utf8): sorted, each once, as in the
 *   source but in lower case ("h100"); %NULL on error
 */
GPtrArray *ra_measured_gpus(const char *const *data, const char *source,
                            GError **error);

#endif
