/* Collectives measured: the planned grid (exec/measure/collective_grid.h) over
 * NCCL, as the rows that logs of nccl-tests give (traces/nccl_log.h).
 *
 * Every GPU is a rank, a thread of this process or of another one of the world
 * (ra_collective_probe_meet()).  A point's operation is begun over and over on
 * its stream and then waited for, as nccl-tests do, so that launches are hidden
 * where they are there; some before are left out.  A row is of two passes, in
 * the mean over the members of the groups that go at a time, gathered from all
 * processes by the first.
 *
 * Beside computation (exec/measure/collective_overlap.c) an operation is timed
 * while its company goes on over its end, so that all of it had company:
 * collectives while the group's GPUs multiply or work on their memory, and
 * those computations while their GPUs are in a collective.
 *
 *     g_autoptr(GArray) rows = ra_collective_probe(&probe, beside, &error);
 */
#ifndef RA_EXEC_MEASURE_COLLECTIVE_PROBE_H
#define RA_EXEC_MEASURE_COLLECTIVE_PROBE_H

#include "exec/backend/backend.h"
#include "exec/comm/comm_nccl.h"
#include "exec/comm/world.h"
#include "exec/measure/collective_grid.h"
#include "traces/measured.h"
#include "traces/trace.h"

#define RA_COLLECTIVE_PASSES 2

typedef struct {
  const RaNcclApi *api;
  const RaBackend *backend; /* (nullable): with marks; NULL: nothing is measured
                               beside computation */
  RaWorld *world;           /* (nullable): of the processes with ranks */
  uint32_t n_nodes;         /* that the ranks are taken to be on, in order */
  uint32_t gpus_per_node;
  uint32_t first_rank;   /* whose device is number 0 (exec/comm/places.h) */
  uint64_t most_bytes;   /* points of more are left out */
  guint n_warm;          /* operations before those that count */
  guint n_repeats;       /* in a pass, of small ones; fewer of large ones */
  double patience_s;     /* for a peer */
  double (*clock)(void); /* (nullable): seconds, on the rank's thread */
  void (*fail)(const char *line, gpointer data); /* does not return */
  gpointer fail_data;
} RaCollectiveProbe;

/* What was timed while something else ran on the same GPUs to its end and
 * beyond. */
typedef struct {
  RaOp op;                                /* a collective, or a computation */
  RaOp collective;                        /* it, or its company */
  guint n;                                /* of op, one behind the other */
  double op_s[RA_COLLECTIVE_PASSES];      /* of one, in the mean */
  double company_s[RA_COLLECTIVE_PASSES]; /* of all company, >= n op_s */
} RaCollectiveBeside;

/* On one node of @gpus_per_node, all sizes; 5 operations before, 50 a pass; a
 * minute for a peer.  @fail ends the program. */
void ra_collective_probe_init(RaCollectiveProbe *probe, const RaNcclApi *api,
                              uint32_t gpus_per_node);

/**
 * ra_collective_probe_meet:
 * @probe: of ra_collective_probe_init(); its sizes and repeats are final
 * @world: (nullable)
 * @n_ranks: GPUs of all processes together; 0: all that they see
 * @device: what a GPU of this process is called
 * @error: %RA_ERROR_INPUT: processes that have other GPUs, sizes or repeats,
 *   or not as many; GPUs that are not there; hosts with unlike numbers of them,
 *   or whose processes do not follow each other; one GPU alone
 *
 * By all processes: sets the probe's nodes, a host each.  A host is what NCCL
 * takes for one: $NCCL_HOSTID, else the name that it calls itself.  A process
 * that sees at least as many GPUs as its host has processes shares them with
 * those; one that sees fewer has them for itself.
 */
gboolean ra_collective_probe_meet(RaCollectiveProbe *probe, RaWorld *world,
                                  uint32_t n_ranks, const char *device,
                                  GError **error);

/**
 * ra_collective_probe:
 * @beside: (nullable) (element-type RaCollectiveBeside): appended to
 * @error: %RA_ERROR_DEVICE
 *
 * Sizes are what was carried: multiples of what ranks divide evenly; points
 * that are smaller than that have no row.
 *
 * Thread: blocks; makes and joins a thread a rank.  By all processes.
 *
 * Returns: (transfer full) (element-type RaMeasured): in the grid's order, and
 *   what the computations take alone; on processes other than the first empty
 */
GArray *ra_collective_probe(const RaCollectiveProbe *probe, GArray *beside,
                            GError **error);

/**
 * ra_collective_trace:
 * @rows: of ra_collective_probe()
 * @beside: (nullable): of it
 *
 * Ops of @beside stand beside a row without an op, their company's.  The ranks
 * of a row are those of the first group of its kind: with `gpus-per-node` of
 * the head they say which nodes it spans.
 *
 * Returns: (transfer full): an op a row and pass, one after the other, for
 *   `calibrate --from`
 */
RaTrace *ra_collective_trace(const RaCollectiveProbe *probe, const GArray *rows,
                             const GArray *beside);

#endif
