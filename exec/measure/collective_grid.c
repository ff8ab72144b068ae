/* The grid of collectives to measure. */
#include "config.h"

#include "exec/measure/collective_grid.h"

#define BESIDE_STEP 16 /* from a size to the next, with contention or overlap */

typedef struct {
  GArray *points;
  uint32_t n_nodes, per_node; /* size of the machine */
} Grid;

/* Disjoint groups that the machine has room for; what joins nodes they share,
 * and groups across nodes that have one node each in common count too. */
static uint32_t
n_disjoint(const Grid *g, uint32_t n_here, uint32_t n_nodes)
{
  return g->per_node / n_here * (g->n_nodes / n_nodes);
}

static RaOp
op_of(RaOpKind kind, uint64_t bytes, uint32_t n_here, uint32_t n_nodes,
      uint32_t n_groups)
{
  RaOp op = {.kind = (uint8_t)kind, .dtype = RA_DTYPE_BF16, .count = 1};

  op.dim[0] = bytes;
  if (kind == RA_OP_SEND) {
    op.dim[1] = n_nodes > 1;
    op.dim[2] = n_groups;
  } else {
    op.dim[1] = (uint64_t)n_here * n_nodes;
    op.dim[2] = n_here;
    op.dim[3] = n_groups;
  }
  return op;
}

static void
add_kind(Grid *g, RaOpKind kind, uint32_t n_here, uint32_t n_nodes)
{
  uint32_t n_all = n_disjoint(g, n_here, n_nodes);
  uint32_t per_node = n_all / MAX(g->n_nodes / n_nodes, 1);

  for (guint beside = 0; beside < RA_N_BESIDE; beside++) {
    gboolean groups = beside == RA_BESIDE_GROUPS;
    uint64_t step = beside == RA_BESIDE_NOTHING ? 2 : BESIDE_STEP;

    if (groups && n_all < 2)
      continue;
    for (uint64_t bytes = RA_COLLECTIVE_LEAST_BYTES;
         bytes <= RA_COLLECTIVE_MOST_BYTES; bytes *= step) {
      RaCollectivePoint p = {
          .op = op_of(kind, bytes, n_here, n_nodes, groups ? per_node : 1),
          .n_here = n_here,
          .n_nodes = n_nodes,
          .n_groups = groups ? n_all : 1,
          .beside = (uint8_t)beside};

      g_array_append_val(g->points, p);
    }
  }
}

static void
add_group(Grid *g, uint32_t n_here, uint32_t n_nodes)
{
  for (guint kind = RA_OP_ALL_REDUCE; kind <= RA_OP_BROADCAST; kind++)
    add_kind(g, (RaOpKind)kind, n_here, n_nodes);
  if (n_here * n_nodes == 2)
    add_kind(g, RA_OP_SEND, n_here, n_nodes);
}

GArray *
ra_collective_grid(uint32_t n_nodes, uint32_t gpus_per_node)
{
  Grid g = {g_array_new(FALSE, FALSE, sizeof(RaCollectivePoint)), n_nodes,
            gpus_per_node};

  for (uint32_t n = 2; n < gpus_per_node; n *= 2)
    add_group(&g, n, 1);
  if (gpus_per_node > 1)
    add_group(&g, gpus_per_node, 1);
  for (uint32_t nodes = 2; nodes <= n_nodes; nodes *= 2) {
    add_group(&g, 1, nodes);
    if (gpus_per_node > 1)
      add_group(&g, gpus_per_node, nodes);
  }
  return g.points;
}
