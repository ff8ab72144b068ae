/* A communicator: one rank's end of a group of ranks.
 *
 * Ranks communicate through one table of functions, so the same executor runs
 * on threads of a process (`local`, exec/comm/comm_local.h), on processes
 * (`mpi`, exec/comm/comm_mpi.c) and on GPUs (`nccl`, exec/comm/comm_nccl.h).  A
 * rank has one RaComm per group; the members call the same collectives in the
 * same order.
 *
 *     comm->table->all_reduce(comm, RA_REDUCE_SUM, gradients, n);
 *
 * `local` and `mpi` add the terms of a reduction in the order of the group's
 * ranks, so all members get the same bits, and the same bits in every run.
 * NCCL adds in its own order; all members still get the same bits.
 *
 * A started operation uses its buffers until ra_comm_wait() returns.  All
 * members of a group start operations in the same order, too.
 */
#ifndef RA_EXEC_COMM_COMM_H
#define RA_EXEC_COMM_COMM_H

#include <glib.h>
#include <stdint.h>

typedef struct _RaComm RaComm;
typedef struct _RaCommRequest RaCommRequest;

typedef enum { RA_REDUCE_SUM, RA_REDUCE_MAX } RaReduce;

typedef enum { RA_PART_SEND, RA_PART_RECV, RA_PART_BROADCAST } RaPartKind;

/* One of the messages that a rank exchanges concurrently. */
typedef struct {
  RaComm *comm;
  RaPartKind kind;
  uint32_t peer; /* destination or source; the root of a broadcast */
  void *data;    /* buffer that is sent or written */
  gsize n_bytes;
} RaCommPart;

typedef enum { RA_COMM_F32, RA_COMM_BF16 } RaCommType;

/* Phases of a capture of the thread's ops, in which a communicator's
 * collectives are ops too. */
typedef enum {
  RA_COMM_CAPTURE,  /* from now on they are captured */
  RA_COMM_CAPTURED, /* no longer */
  RA_COMM_BEGINS,   /* a graph that may have collectives begins next */
  RA_COMM_BEGUN     /* it has begun: the next waits check its collectives */
} RaCommCapture;

/* The same functions for data in device memory, if the communicator can access
 * it: each as in RaCommTable, but reductions are sums only.
 *
 * A collective starts after the ops that the calling thread has given its
 * device, and the thread's next ops follow it.  The host continues; where it
 * next waits for the device, it also checks these collectives.  A started
 * collective follows the earlier ops, but the next ops do not wait for it.
 *
 * all_to_all(), exchange() and messages are synchronous with the host: their
 * input must be complete, and their output is complete on return or after the
 * wait.
 */
typedef struct {
  void (*all_reduce)(RaComm *comm, RaCommType type, void *data, gsize n);
  void (*reduce_scatter)(RaComm *comm, RaCommType type, const void *in,
                         void *out, gsize n);
  void (*all_gather)(RaComm *comm, const void *in, void *out, gsize n_bytes);
  void (*broadcast)(RaComm *comm, uint32_t root, void *data, gsize n_bytes);
  void (*all_to_all)(RaComm *comm, const void *in, void *out, gsize n_bytes);
  void (*send)(RaComm *comm, uint32_t to, const void *data, gsize n_bytes);
  RaCommRequest *(*start_recv)(RaComm *comm, uint32_t from, void *data,
                               gsize n_bytes);
  RaCommRequest *(*start_all_reduce)(RaComm *comm, float *data, gsize n);
  RaCommRequest *(*start_reduce_scatter)(RaComm *comm, float *data, gsize n);
  void (*exchange)(const RaCommPart *parts, guint n);
  /* For all_reduce(), reduce_scatter() and all_gather(), which the rank has run
   * on @comm before. */
  void (*capture)(RaComm *comm, RaCommCapture phase);
} RaCommDevice;

typedef struct {
  const char *name;       /* "local" */
  gboolean shares_memory; /* members are threads of one process */
  /* @data: (n) of every rank, replaced by the sum or maximum over the ranks */
  void (*all_reduce)(RaComm *comm, RaReduce reduce, float *data, gsize n);
  /* @in: (n_ranks, n) of every rank; @out: (n) the sum over the ranks of part
   *   @comm->rank */
  void (*reduce_scatter)(RaComm *comm, const float *in, float *out, gsize n);
  /* @in: @n_bytes; @out: (n_ranks, n_bytes), by rank; @in may be this rank's
   *   part of @out */
  void (*all_gather)(RaComm *comm, const void *in, void *out, gsize n_bytes);
  /* Copies @data of rank @root to all others. */
  void (*broadcast)(RaComm *comm, uint32_t root, void *data, gsize n_bytes);
  /* @in: (n_ranks, n_bytes) to each; @out: (n_ranks, n_bytes) from each */
  void (*all_to_all)(RaComm *comm, const void *in, void *out, gsize n_bytes);
  /* Sends to rank @to, which receives the messages of one rank in the order in
   * which they were sent.  Does not wait for the receiver; @data may be reused
   * on return. */
  void (*send)(RaComm *comm, uint32_t to, const void *data, gsize n_bytes);
  void (*recv)(RaComm *comm, uint32_t from, void *data, gsize n_bytes);
  /* Waits until all members have called it. */
  void (*barrier)(RaComm *comm);
  /* all_reduce() that returns at once and continues until it is waited for. */
  RaCommRequest *(*start_all_reduce)(RaComm *comm, RaReduce reduce, float *data,
                                     gsize n);
  /* Its first half: elements n r / n_ranks to n (r + 1) / n_ranks of rank r's
   * @data become the sum; the others stay. */
  RaCommRequest *(*start_reduce_scatter)(RaComm *comm, float *data, gsize n);
  /* recv() that returns at once: the next message of rank @from that has no
   * receive yet goes to @data, at the latest during the wait. */
  RaCommRequest *(*start_recv)(RaComm *comm, uint32_t from, void *data,
                               gsize n_bytes);
  /* (nullable): ra_comm_exchange() for communicators whose sends wait for their
   * receives. */
  void (*exchange)(const RaCommPart *parts, guint n);
  const RaCommDevice *device; /* (nullable): host data only */
  /* @request: (transfer full).  Returns: when the operation ended, seconds of
   *   the monotonic clock. */
  double (*wait)(RaComm *comm, RaCommRequest *request);
  void (*free)(RaComm *comm);
} RaCommTable;

struct _RaComm {
  const RaCommTable *table; /* functions of this kind of communicator */
  uint32_t rank;            /* rank in the group */
  uint32_t n_ranks;         /* size of the group, >= 1 */
};

/* Return at once for a group of one rank and for %NULL. */
void ra_comm_all_reduce(RaComm *comm, RaReduce reduce, float *data, gsize n);
void ra_comm_barrier(RaComm *comm);

/**
 * ra_comm_exchange:
 * @parts: (array length=n): of communicators of one kind, possibly of several
 *
 * Exchanges all parts concurrently; returns when they are done.  Messages
 * between two ranks arrive in the order of @parts.  All ranks give the
 * broadcasts that they share in the same order.
 */
void ra_comm_exchange(const RaCommPart *parts, guint n);

/* @comm: (nullable) (transfer full) */
void ra_comm_free(RaComm *comm);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaComm, ra_comm_free)

#endif
