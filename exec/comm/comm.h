/* A communicator: one rank's end of a group of ranks.
 *
 * What ranks do together goes through one table of functions, so that the same
 * executor runs on threads of a process (`local`, exec/comm/comm_local.h), on
 * processes (`mpi`, exec/comm/comm_mpi.c) and later on NCCL.  A rank has one
 * RaComm a group; the members call the same collectives in the same order.
 *
 *     comm->table->all_reduce(comm, RA_REDUCE_SUM, gradients, n);
 *
 * Every reduction adds its terms in the order of the ranks of the group, so
 * that all members get the same bits, and the same bits every time.
 *
 * A started operation reads and writes its buffers until ra_comm_wait(); of
 * one group those too are started in the same order by all.
 */
#ifndef RA_EXEC_COMM_COMM_H
#define RA_EXEC_COMM_COMM_H

#include <glib.h>
#include <stdint.h>

typedef struct _RaComm RaComm;
typedef struct _RaCommRequest RaCommRequest;

typedef enum { RA_REDUCE_SUM, RA_REDUCE_MAX } RaReduce;

typedef enum { RA_PART_SEND, RA_PART_RECV, RA_PART_BROADCAST } RaPartKind;

/* One message of those that a rank exchanges at a time. */
typedef struct {
  RaComm *comm;
  RaPartKind kind;
  uint32_t peer; /* to which, from which; of a broadcast the root */
  void *data;    /* that is sent or written */
  gsize n_bytes;
} RaCommPart;

typedef enum { RA_COMM_F32, RA_COMM_BF16 } RaCommType;

/* The same for data in the memory of the ranks' devices, of a communicator that
 * carries from there: as RaCommTable's functions of these names, sums alone.
 *
 * Collectives are begun behind the ops that the calling thread has given its
 * device, and those it gives it next come behind them; the host goes on, and
 * where it next waits for the device it looks at them too.  Started ones are
 * behind the ops before them alone.  all_to_all(), exchange() and messages are
 * the host's: they take what is there, and are over on return or when they are
 * waited for. */
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
} RaCommDevice;

typedef struct {
  const char *name;       /* "local" */
  gboolean shares_memory; /* members are threads of one process */
  /* @data: (n) of every rank, replaced by the sum or maximum over the ranks */
  void (*all_reduce)(RaComm *comm, RaReduce reduce, float *data, gsize n);
  /* @in: (n_ranks, n) of every rank; @out: (n) the sum of the parts of this
   * rank's number */
  void (*reduce_scatter)(RaComm *comm, const float *in, float *out, gsize n);
  /* @in: @n_bytes; @out: (n_ranks, n_bytes), by rank; @in may be its own place
   * in @out */
  void (*all_gather)(RaComm *comm, const void *in, void *out, gsize n_bytes);
  /* @data of rank @root to all others */
  void (*broadcast)(RaComm *comm, uint32_t root, void *data, gsize n_bytes);
  /* @in: (n_ranks, n_bytes) to each; @out: (n_ranks, n_bytes) from each */
  void (*all_to_all)(RaComm *comm, const void *in, void *out, gsize n_bytes);
  /* To rank @to, which receives messages of one rank in the order in which
   * they were sent.  Does not wait for the receiver; @data may be used again
   * on return. */
  void (*send)(RaComm *comm, uint32_t to, const void *data, gsize n_bytes);
  void (*recv)(RaComm *comm, uint32_t from, void *data, gsize n_bytes);
  /* Waits until all have called it. */
  void (*barrier)(RaComm *comm);
  /* all_reduce() that goes on until it is waited for; returns at once. */
  RaCommRequest *(*start_all_reduce)(RaComm *comm, RaReduce reduce, float *data,
                                     gsize n);
  /* The first half of it: of @data elements n r / n_ranks to
   * n (r + 1) / n_ranks of rank r become the sum, others stay. */
  RaCommRequest *(*start_reduce_scatter)(RaComm *comm, float *data, gsize n);
  /* recv() that goes on until it is waited for: the next message of rank @from
   * that nobody has asked for goes to @data, meanwhile or at once. */
  RaCommRequest *(*start_recv)(RaComm *comm, uint32_t from, void *data,
                               gsize n_bytes);
  /* (nullable): ra_comm_exchange() where sends wait for their receives. */
  void (*exchange)(const RaCommPart *parts, guint n);
  const RaCommDevice *device; /* (nullable): it carries the host's data only */
  /* @request: (transfer full).  When it was done, seconds of the monotonic
   * clock. */
  double (*wait)(RaComm *comm, RaCommRequest *request);
  void (*free)(RaComm *comm);
} RaCommTable;

struct _RaComm {
  const RaCommTable *table; /* of the kind of communicator */
  uint32_t rank;            /* in the group */
  uint32_t n_ranks;         /* of the group, >= 1 */
};

/* A group of one is no group: these return at once for it and for %NULL. */
void ra_comm_all_reduce(RaComm *comm, RaReduce reduce, float *data, gsize n);
void ra_comm_barrier(RaComm *comm);

/**
 * ra_comm_exchange:
 * @parts: (array length=n): of communicators of one kind, several perhaps
 *
 * All of them at the same time; returns when they are done.  Messages between
 * two ranks arrive in the order of @parts; ranks give broadcasts that they
 * share in one order.
 */
void ra_comm_exchange(const RaCommPart *parts, guint n);

/* @comm: (nullable) (transfer full) */
void ra_comm_free(RaComm *comm);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaComm, ra_comm_free)

#endif
