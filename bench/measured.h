/* Measured ops: rows of published tables as (op, seconds).
 *
 * A source is a set of files below the data folder and the way their columns
 * become an op; its rows are one line of the error table.
 *
 *     GArray *rows = measured_rows("../shared/data", "gemm.bf16", "h100");
 *     const Measured *first = &g_array_index(rows, Measured, 0);
 *     g_array_unref(rows);
 *
 * Typical sizes: 20 sources of 36 to 21,546 rows.
 */
#ifndef RA_BENCH_MEASURED_H
#define RA_BENCH_MEASURED_H

#include "graph/cluster.h"
#include "graph/op.h"

typedef struct {
  RaOp op;                /* count 1 */
  double measured_s;      /* > 0 */
  double nic_bytes_per_s; /* of the node's eight NICs together; 0: one node */
} Measured;

/* Names of the sources in the table's order, NULL-terminated. */
extern const char *const measured_sources[];

/**
 * measured_rows:
 * @data: folder of measurements by others
 * @source: one of measured_sources
 * @gpu: "h100" or "a100"
 *
 * Returns: (transfer full) (element-type Measured): empty where @data or a
 *   file of it is missing
 */
GArray *measured_rows(const char *data, const char *source, const char *gpu);

/* Least seconds by the data sheet: FLOP over the peak, bytes over the memory's
 * or the links' bandwidth, no latency. */
double measured_roofline_s(const Measured *row, const RaCluster *cluster);

#endif
