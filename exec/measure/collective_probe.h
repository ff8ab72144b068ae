/* Measurement of collectives: runs the planned grid
 * (exec/measure/collective_grid.h) over NCCL and gives rows like those of
 * nccl-tests' logs (traces/nccl_log.h).
 *
 * Every GPU is a rank: a thread of this process or of another one of the world
 * (ra_collective_probe_meet()).  The operation of a point is begun repeatedly
 * on its stream and then waited for, as in nccl-tests, so launches are hidden
 * in the same way; the first repeats do not count.  A row has two passes; each
 * is the mean over the members of the groups that run concurrently.  The first
 * process gathers the rows.
 *
 * To measure interference with computation (exec/measure/collective_overlap.c),
 * an operation is timed while other work overlaps with all of it and continues
 * past its end.  Collectives are timed while their GPUs run GEMMs or norms, and
 * these computations while their GPUs run a collective.
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
  const RaBackend *backend; /* (nullable): with marks; NULL: interference with
                               computation is not measured */
  RaWorld *world;           /* (nullable): of the processes with ranks */
  uint32_t n_nodes;         /* nodes that the ranks are assumed to be on, in
                               order */
  uint32_t gpus_per_node;
  /* rank whose device is number 0 (exec/comm/places.h) */
  uint32_t first_rank;
  uint64_t most_bytes; /* larger points are skipped */
  /* operations before those that count */
  guint n_warm;
  /* operations per pass if they are small; fewer if they are large */
  guint n_repeats;
  double patience_s; /* maximal wait for a peer */
  /* (nullable): seconds, on the rank's thread */
  double (*clock)(void);
  void (*fail)(const char *line, gpointer data); /* does not return */
  gpointer fail_data;
} RaCollectiveProbe;

/* Times of an operation that overlapped with other work on the same GPUs, to
 * its end and past it. */
typedef struct {
  RaOp op;                                /* a collective, or a computation */
  RaOp collective;                        /* op itself, or the collective that
                                             it overlapped with */
  guint n;                                /* repeats of op, back to back */
  double op_s[RA_COLLECTIVE_PASSES];      /* mean time of one */
  double company_s[RA_COLLECTIVE_PASSES]; /* time of all overlapping work, >= n
                                             op_s */
} RaCollectiveBeside;

/* Sets the defaults: one node of @gpus_per_node, all sizes; 5 operations
 * before those that count, 50 per pass; a minute for a peer.  @fail ends the
 * program. */
void ra_collective_probe_init(RaCollectiveProbe *probe, const RaNcclApi *api,
                              uint32_t gpus_per_node);

/**
 * ra_collective_probe_meet:
 * @probe: from ra_collective_probe_init(), with its final sizes and repeats
 * @world: (nullable)
 * @n_ranks: GPUs of all processes together; 0: all that they see
 * @device: name of a GPU of this process
 * @error: %RA_ERROR_INPUT: processes with other GPUs, sizes or repeats, or with
 *   too few; GPUs that do not exist; hosts with different numbers of GPUs, or
 *   whose processes are not consecutive; a single GPU
 *
 * By all processes.  Sets the probe's nodes, one per host.  A host is what NCCL
 * considers one: $NCCL_HOSTID, else the host name.  A process that sees at
 * least as many GPUs as its host has processes shares them with these; one that
 * sees fewer has them to itself.
 */
gboolean ra_collective_probe_meet(RaCollectiveProbe *probe, RaWorld *world,
                                  uint32_t n_ranks, const char *device,
                                  GError **error);

/**
 * ra_collective_probe:
 * @beside: (nullable) (element-type RaCollectiveBeside): appended to
 * @error: %RA_ERROR_DEVICE
 *
 * Sizes of rows are the measured ones, rounded to multiples that ranks divide
 * evenly; points smaller than that have no row.
 *
 * Thread: blocks; makes and joins a thread per rank.  By all processes.
 *
 * Returns: (transfer full) (element-type RaMeasured): in the grid's order, and
 *   the isolated times of the computations; empty except on the first process
 */
GArray *ra_collective_probe(const RaCollectiveProbe *probe, GArray *beside,
                            GError **error);

/**
 * ra_collective_trace:
 * @rows: from ra_collective_probe()
 * @beside: (nullable): from the same call
 *
 * An op of @beside overlaps with a row that has no op, which is the other work.
 * The ranks of a row are those of the first group of its kind; with
 * `gpus-per-node` of the header they give the nodes that it spans.
 *
 * Returns: (transfer full): an op per row and pass, one after the other, for
 *   `calibrate --from`
 */
RaTrace *ra_collective_trace(const RaCollectiveProbe *probe, const GArray *rows,
                             const GArray *beside);

#endif
