/* The communicator `nccl`: each rank has a GPU, and NCCL carries.
 *
 *     RaNccl *nccl = ra_nccl_new(&options, &id, n_ranks, rank, &error);
 *     ra_nccl_split(nccl, splits, plan, &error);           all, once
 *     RaComm *tp = ra_nccl_comm_new(nccl, ra_comm_groups_find(splits, ...));
 *     RaComm *forward = ra_nccl_pairs_new(nccl, RA_STREAM_PP_SEND);
 *
 * The id is made by one rank (ra_nccl_id()) and shared over MPI or within the
 * process; one communicator of all ranks is made of it, all others are split
 * from that (exec/comm/comm_groups.h).  Nothing blocks in the library: while a
 * rank waits it looks whether the communicator has failed, and after the
 * patience it takes its peers for dead or stalled.  Then all its communicators
 * are dropped, so that no peer is left waiting on it for longer than its own
 * patience, and the hook that ends the run is told one line.
 *
 * What is other than of `local`: sums are added in NCCL's order (all members
 * still get the same bits); RaCommDevice's functions take data where the device
 * reaches them, and the others' go by way of its memory; a send
 * between neighbours of a pipeline starts at once, as a pair has a communicator
 * and a stream of its own, but within a larger group messages leave, all at a
 * time, when the rank next waits for anything of that group.
 */
#ifndef RA_EXEC_COMM_COMM_NCCL_H
#define RA_EXEC_COMM_COMM_NCCL_H

#include "exec/comm/comm_groups.h"
#include "exec/comm/nccl_api.h"

/* One rank's communicators. */
typedef struct _RaNccl RaNccl;

typedef struct {
  const RaNcclApi *api;
  double patience_s; /* a peer that does not come for so long has stalled */
  /* Ends the run: does not return. */
  void (*fail)(const char *line, gpointer data);
  gpointer fail_data;
} RaNcclOptions;

/* By one rank.  @error: %RA_ERROR_DEVICE */
gboolean ra_nccl_id(const RaNcclApi *api, RaNcclId *out_id, GError **error);

/**
 * ra_nccl_new:
 * @options: copied
 * @id: of one rank, to all
 * @error: %RA_ERROR_DEVICE: the library's; who has not come is not known to it
 *
 * By all ranks; returns when all have come.
 *
 * Returns: (transfer full): ra_nccl_free() it, after its ends
 */
RaNccl *ra_nccl_new(const RaNcclOptions *options, const RaNcclId *id,
                    uint32_t n_ranks, uint32_t rank, GError **error);
/* Begins the end of its communicators, whose ends are freed.  Several ranks of
 * a thread all leave before the first of them is freed, which waits for those
 * that it was with. */
void ra_nccl_leave(RaNccl *nccl);
/* One that never comes is waited for with patience. */
void ra_nccl_free(RaNccl *nccl);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaNccl, ra_nccl_free)

/**
 * ra_nccl_split:
 * @splits: borrowed for as long as @nccl; of all ranks the same
 * @plan: (nullable): names calls in messages
 * @error: %RA_ERROR_DEVICE
 *
 * By all ranks, once.
 */
gboolean ra_nccl_split(RaNccl *nccl, const RaCommGroups *splits,
                       const RaPlan *plan, GError **error);

/* (transfer full): the rank's end of @group of the splits, which it is in;
 * RA_NONE: of the communicator of all ranks. */
RaComm *ra_nccl_comm_new(RaNccl *nccl, uint32_t group);

/* (transfer full): sends and receives on the pairs of @stream that the rank is
 * in, by numbers of all ranks; nothing else. */
RaComm *ra_nccl_pairs_new(RaNccl *nccl, RaStream stream);

/* Memory of the rank's device that ra_nccl_enrol() makes most of (NCCL 2.19).
 *
 * Returns: (transfer full) (nullable): %NULL: the library has none */
void *ra_nccl_shown_new(RaNccl *nccl, gsize n_bytes);
/* @data: (transfer full), which nobody has enrolled any more. */
void ra_nccl_shown_free(const RaNcclApi *api, void *data);

/**
 * ra_nccl_enrol:
 * @comm: of ra_nccl_comm_new()
 * @data: that collectives of it will often have; until @comm is freed
 *
 * Registers a buffer, where the library can (NCCL 2.19).
 *
 * Returns: whether it did
 */
gboolean ra_nccl_enrol(RaComm *comm, void *data, gsize n_bytes);

/**
 * ra_nccl_repeat:
 * @comm: of ra_nccl_comm_new()
 * @in: in the device's memory, as @out: what the operation takes of @n_bytes
 * @n_bytes: as of RaOp, a multiple of ra_nccl_unit(); numbers are bf16
 *
 * An operation @n times on the stream of @comm, then waits for them: for
 * measurements.  A send is of rank 0 to rank 1.
 */
void ra_nccl_repeat(RaComm *comm, RaOpKind kind, const void *in, void *out,
                    gsize n_bytes, guint n);
/* The two halves of it: something else may be begun between them. */
void ra_nccl_repeat_start(RaComm *comm, RaOpKind kind, const void *in,
                          void *out, gsize n_bytes, guint n);
void ra_nccl_repeat_wait(RaComm *comm);
gsize ra_nccl_unit(RaOpKind kind, uint32_t n_ranks);

#endif
