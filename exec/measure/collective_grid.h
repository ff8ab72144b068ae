/* The collectives of a machine that are to be measured.
 *
 * Over every kind of group that the machine offers: pairs of a node, of 2 and 4
 * ... GPUs up to the node, the same GPU of two nodes, and 2, 4 ... whole nodes;
 * 8 B to 1 GiB; each alone, all disjoint groups of a kind at the same time for
 * contention, and beside computation for interference.  Data: what measures it
 * is exec/measure/collective_probe.h.
 *
 *     g_autoptr(GArray) grid = ra_collective_grid(n_nodes, gpus_per_node);
 */
#ifndef RA_EXEC_MEASURE_COLLECTIVE_GRID_H
#define RA_EXEC_MEASURE_COLLECTIVE_GRID_H

#include "graph/op/op.h"

typedef enum {
  RA_BESIDE_NOTHING, /* one group, the others idle */
  RA_BESIDE_GROUPS,  /* all disjoint groups alike, at the same time */
  RA_BESIDE_GEMM,    /* one group, all its GPUs also multiply */
  RA_BESIDE_NORM,    /* one group, all its GPUs also work on their memory */
  RA_N_BESIDE
} RaBeside;

/* The group has members first, first + 1, ... of each of n_nodes nodes. */
typedef struct {
  RaOp op;         /* bf16, count 1; its ranks are those of the group */
  uint32_t n_here; /* members a node */
  uint32_t n_nodes;
  uint32_t n_groups; /* that go at a time */
  uint8_t beside;    /* RaBeside */
} RaCollectivePoint;

#define RA_COLLECTIVE_LEAST_BYTES UINT64_C(8)
#define RA_COLLECTIVE_MOST_BYTES (UINT64_C(1) << 30)

/**
 * ra_collective_grid:
 * @n_nodes: of the machine, >= 1
 * @gpus_per_node: >= 1
 *
 * Sizes go by powers of two; beside others by powers of 16, as what is shared
 * bends with the kind of group more than with the size.
 *
 * Returns: (transfer full) (element-type RaCollectivePoint): by group, kind,
 *   size; empty for one GPU
 */
GArray *ra_collective_grid(uint32_t n_nodes, uint32_t gpus_per_node);

#endif
