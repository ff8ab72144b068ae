/* The communicator `nccl`: each rank has a GPU, and NCCL communicates.
 *
 *     RaNccl *nccl = ra_nccl_new(&options, &id, n_ranks, rank, &error);
 *     ra_nccl_split(nccl, splits, plan, &error);           all, once
 *     RaComm *tp = ra_nccl_comm_new(nccl, ra_comm_groups_find(splits, ...));
 *     RaComm *forward = ra_nccl_pairs_new(nccl, RA_STREAM_PP_SEND);
 *
 * One rank makes the id (ra_nccl_id()), which MPI or the process shares.  The
 * id gives one communicator of all ranks; all others are split from it
 * (exec/comm/comm_groups.h).
 *
 * Communicators are made, connected and closed on a thread of their own, which
 * the rank leaves after its patience (exec/comm/nccl_guard.h).  A collective
 * returns when it is enqueued.  NEEDSWORK: the first that is large enough for
 * another algorithm connects its members again (NCCL 2.22, enqueue.cc), which
 * waits in the library; a peer that is gone by then ends the run by the rank's
 * own watchdog, not by its patience.
 *
 * A waiting rank polls its communicators for errors, and after the patience it
 * considers its peers dead or stalled.  It then aborts all its communicators,
 * so no peer waits for it longer than that peer's own patience, and passes one
 * line to the hook that ends the run.
 *
 * Differences from `local`:
 *
 *   order     sums are in NCCL's order; all members still get the same bits
 *   memory    RaCommDevice's functions use data in device memory directly; the
 *             others copy through device memory
 *   messages  a send between pipeline neighbours starts at once, as a pair has
 *             its own communicator and stream; in a larger group all pending
 *             messages start when the rank next waits for anything of that
 *             group
 */
#ifndef RA_EXEC_COMM_COMM_NCCL_H
#define RA_EXEC_COMM_COMM_NCCL_H

#include "exec/comm/comm_groups.h"
#include "exec/comm/nccl_api.h"

/* The communicators of one rank. */
typedef struct _RaNccl RaNccl;

typedef struct {
  const RaNcclApi *api;
  double patience_s; /* time after which an absent peer counts as stalled */
  /* Ends the run: does not return. */
  void (*fail)(const char *line, gpointer data);
  gpointer fail_data;
  uint32_t device; /* of the rank, for threads that guard its calls */
} RaNcclOptions;

/* Makes an id, on one rank.  @error: %RA_ERROR_DEVICE */
gboolean ra_nccl_id(const RaNcclApi *api, RaNcclId *out_id, GError **error);

/**
 * ra_nccl_new:
 * @options: copied
 * @id: made by one rank, the same for all
 * @error: %RA_ERROR_DEVICE: the library's; it does not know which rank is
 *   absent
 *
 * By all ranks; returns when all have joined.
 *
 * Returns: (transfer full): free with ra_nccl_free(), after its ends
 */
RaNccl *ra_nccl_new(const RaNcclOptions *options, const RaNcclId *id,
                    uint32_t n_ranks, uint32_t rank, GError **error);
/* Begins to close its communicators, whose ends have been freed.  If one thread
 * has several ranks, all must leave before the first is freed, because freeing
 * waits for the other members. */
void ra_nccl_leave(RaNccl *nccl);
/* Aborts its communicators; no peer must come to close them.  Nothing but
 * ra_nccl_free() may follow. */
void ra_nccl_drop(RaNccl *nccl);
/* Closes its communicators; waits at most for the patience. */
void ra_nccl_free(RaNccl *nccl);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaNccl, ra_nccl_free)

/**
 * ra_nccl_split:
 * @splits: borrowed as long as @nccl exists; the same on all ranks
 * @plan: (nullable): names calls in messages
 * @error: %RA_ERROR_DEVICE
 *
 * By all ranks, once.  Makes the communicators and connects their members, by
 * an operation of one number on each.
 */
gboolean ra_nccl_split(RaNccl *nccl, const RaCommGroups *splits,
                       const RaPlan *plan, GError **error);

/* (transfer full): the rank's end of @group of the splits, of which it is a
 * member; RA_NONE: of the communicator of all ranks. */
RaComm *ra_nccl_comm_new(RaNccl *nccl, uint32_t group);

/* (transfer full): sends and receives on the pairs of @stream that have this
 * rank, addressed by number among all ranks; no other operation. */
RaComm *ra_nccl_pairs_new(RaNccl *nccl, RaStream stream);

/* Allocates device memory that suits ra_nccl_enrol() best (NCCL 2.19).
 *
 * Returns: (transfer full) (nullable): %NULL: the library cannot
 */
void *ra_nccl_shown_new(RaNccl *nccl, gsize n_bytes);
/* @data: (transfer full): must no longer be registered. */
void ra_nccl_shown_free(const RaNcclApi *api, void *data);

/**
 * ra_nccl_enrol:
 * @comm: from ra_nccl_comm_new()
 * @data: buffer that its collectives use often; must exist until @comm is freed
 *
 * Registers a buffer, if the library can (NCCL 2.19).
 *
 * Returns: whether it did
 */
gboolean ra_nccl_enrol(RaComm *comm, void *data, gsize n_bytes);

/**
 * ra_nccl_repeat:
 * @comm: from ra_nccl_comm_new()
 * @in: in device memory, as @out: input of the operation, @n_bytes
 * @n_bytes: as in RaOp, a multiple of ra_nccl_unit(); elements are bf16
 *
 * Runs an operation @n times on the stream of @comm and waits for them, for
 * measurements.  A send is from rank 0 to rank 1.
 */
void ra_nccl_repeat(RaComm *comm, RaOpKind kind, const void *in, void *out,
                    gsize n_bytes, guint n);
/* Its two halves: other work may begin between them. */
void ra_nccl_repeat_start(RaComm *comm, RaOpKind kind, const void *in,
                          void *out, gsize n_bytes, guint n);
void ra_nccl_repeat_wait(RaComm *comm);
gsize ra_nccl_unit(RaOpKind kind, uint32_t n_ranks);

#endif
