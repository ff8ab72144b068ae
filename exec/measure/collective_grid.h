/* The grid of collectives to measure on a machine.
 *
 *   groups      every kind that the machine offers: pairs of a node; 2, 4, ...
 *               GPUs of a node, up to all; the same GPU of two nodes; 2, 4, ...
 *               whole nodes
 *   sizes       8 B to 1 GiB
 *   conditions  isolated; all disjoint groups of a kind concurrently, for
 *               contention; overlapping with computation, for interference
 *
 * exec/measure/collective_probe.h measures it.
 *
 *     g_autoptr(GArray) grid = ra_collective_grid(n_nodes, gpus_per_node);
 */
#ifndef RA_EXEC_MEASURE_COLLECTIVE_GRID_H
#define RA_EXEC_MEASURE_COLLECTIVE_GRID_H

#include "graph/op/op.h"

typedef enum {
  RA_BESIDE_NOTHING, /* one group, all other GPUs idle */
  RA_BESIDE_GROUPS,  /* all disjoint groups of its kind, concurrently */
  RA_BESIDE_GEMM,    /* one group, whose GPUs also run GEMMs */
  RA_BESIDE_NORM,    /* one group, whose GPUs also run norms, which are bound by
                        memory */
  RA_N_BESIDE
} RaBeside;

/* A point; its group has members first, first + 1, ... of each of n_nodes
 * nodes. */
typedef struct {
  RaOp op;         /* bf16, count 1; its ranks are the group's */
  uint32_t n_here; /* members per node */
  uint32_t n_nodes;
  uint32_t n_groups; /* groups that run concurrently */
  uint8_t beside;    /* RaBeside */
} RaCollectivePoint;

#define RA_COLLECTIVE_LEAST_BYTES UINT64_C(8)
#define RA_COLLECTIVE_MOST_BYTES (UINT64_C(1) << 30)

/**
 * ra_collective_grid:
 * @n_nodes: nodes of the machine, >= 1
 * @gpus_per_node: >= 1
 *
 * Sizes are powers of two; with contention or overlap powers of 16, because
 * their effect depends on the kind of group more than on the size.
 *
 * Returns: (transfer full) (element-type RaCollectivePoint): by group, kind,
 *   size; empty for one GPU
 */
GArray *ra_collective_grid(uint32_t n_nodes, uint32_t gpus_per_node);

#endif
