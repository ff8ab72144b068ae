/* Measured ops: rows of published tables as (op, seconds).
 *
 * A source is a set of files below a folder of measurements, laid out as
 * `kernels_gemm/gemm_h100_bf16*.csv` and so on, and the way their columns
 * become an op.  Folders, files and further columns that are missing or
 * unknown are no error; a number that is none is.
 *
 *     GArray *rows = ra_measured_rows("../shared/data", "gemm.bf16", "h100",
 *                                     &error);
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

/* Whole lines of a table, of which a fold leaves out all rows at once: values
 * of n and of k of a product, of query heads of attention, a model's shard of
 * the kernels of a layer, sizes and numbers of GPUs of a collective. */
#define RA_MEASURED_LINES 2

/* The node that rows are from where they do not say: of 8 GPUs and 8 NICs, each
 * of 50 GB/s (400 Gbit/s), as in a DGX H100. */
#define RA_MEASURED_NODE 8
#define RA_MEASURED_NIC_BYTES_PER_S 50e9

typedef struct {
  RaOp op;                /* count 1 */
  double measured_s;      /* > 0 */
  double nic_bytes_per_s; /* of the node's NICs together; 0: one
                             node */
  double nic_latency_s;   /* as a cluster's; 0: InfiniBand's */
  guint gpus_per_node;    /* 0: RA_MEASURED_NODE */
  guint nics_per_node;    /* 0: RA_MEASURED_NODE */
  RaGridCell samples;     /* of ln(sample / measured_s), where a row stands for
                             several; n 0: measured_s is the only one */
  uint64_t line[RA_MEASURED_LINES]; /* which lines the row is on */
  const char *file;                 /* interned: where it stands; may be NULL */
  guint file_line;                  /* there, from 1 */
  double deviation_frac; /* of the source's repeats, of measured_s; 0: not
                            published */
  gboolean of_wall;      /* of a trace by the wall's clock, not of a probe's ops
                            by their core's */
  double wall_per_cpu;   /* of its run, as it measured it; 0: not known */
  gboolean of_run;       /* of a plan's run: its repeats are one draw of what
                            runs differ by */
} RaMeasured;

/* A row with this as a line is never left out. */
#define RA_MEASURED_KEPT UINT64_MAX

/* Names of the sources in the order of the profile's laws, NULL-terminated;
 * the name of the law, without "memory." before it. */
extern const char *const ra_measured_sources[];

/**
 * ra_measured_rows:
 * @data: folder of measurements by others
 * @source: one of ra_measured_sources ("send": the first of "p2p.node" and
 *   "send.pairs" that has any), or "p2p.node", "p2p.nodes": sends between the
 *   GPUs of a node and between nodes, "send.pairs": all-to-alls of two GPUs, or
 *   what no shipped law is fitted on: "all-reduce.dgx", "all-reduce.lut",
 * "inter-node.one": all-reduces in nodes of other sources; "gemm.layer": a
 * layer's products by another engine; "inter-node.efa": across nodes over EFA
 * @gpu: "h100", "a100" ...
 * @error: %RA_ERROR_INPUT `file:line: ...`
 *
 * Returns: (transfer full) (element-type RaMeasured): empty where @data has
 *   none; %NULL on error
 */
GArray *ra_measured_rows(const char *data, const char *source, const char *gpu,
                         GError **error);

/**
 * ra_measured_gpus:
 * @data: as above
 * @source: as above
 * @error: as above
 *
 * Whose rows of @source there are: from names of files or from columns.
 *
 * Returns: (transfer full) (element-type utf8): sorted, each once, as a source
 *   writes it in small letters ("h100"); %NULL on error
 */
GPtrArray *ra_measured_gpus(const char *data, const char *source,
                            GError **error);

#endif
