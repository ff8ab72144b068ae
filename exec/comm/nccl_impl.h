/* What exec/comm/nccl.c and exec/comm/comm_nccl*.c share. */
#ifndef RA_EXEC_COMM_NCCL_IMPL_H
#define RA_EXEC_COMM_NCCL_IMPL_H

#include "exec/comm/comm_nccl.h"

typedef struct _RaNcclEnd RaNcclEnd;

#define RA_NCCL_SIZES 48 /* powers of two */

/* Collectives that the host has begun and not seen the end of, at most: behind
 * one that never ends it goes on until the device's queue is full, where a
 * launch waits and nobody looks.  NEEDSWORK: a guess, of some 16 ops a
 * collective and a queue of 1024; nobody has seen where a GPU's ends. */
#define RA_NCCL_MOST_UNDER_WAY 32

/* One of them, between two marks in the streams of NCCL and of the rank's ops.
 */
typedef struct {
  RaNcclMark before; /* of the ops: what it takes is there; owned */
  RaNcclMark after;  /* of NCCL's stream: it is over; owned */
  gboolean has_come; /* the ops to before */
  RaNcclHandle handle;
  const char *group, *what; /* borrowed, of its end */
} RaNcclUnderWay;

struct _RaNccl {
  RaNcclOptions options;
  uint32_t n_ranks, rank;
  RaNcclHandle world;
  const RaCommGroups *splits; /* borrowed */
  const RaPlan *plan;         /* borrowed; nullable */
  RaNcclHandle *handles; /* (n_groups) NULL: the rank is not in it; owned */
  RaNcclStream streams[RA_N_STREAMS]; /* NULL: none yet; owned */
  GPtrArray *spare[RA_NCCL_SIZES];    /* memory of the device, of 2^i bytes that
                                      nobody uses; NULL: none yet; owned */
  RaNcclUnderWay under_way[RA_NCCL_MOST_UNDER_WAY]; /* oldest first, in turn */
  guint first_under_way, n_under_way;
  double came_s;       /* when the ops had come to the oldest, if they have */
  guint n_looks;       /* in the wait at hand */
  gboolean is_waiting; /* as its pulse was told */
  gboolean is_dropped;
  gboolean is_leaving;
};

/* A request: of the device's data, or of the host's, which then goes by way of
 * the device. */
struct _RaCommRequest {
  RaNcclEnd *end;    /* borrowed */
  RaNcclMark before; /* of the ops that it follows; NULL: of none; owned */
  RaNcclMark mark;   /* NULL: has not been started yet */
  const char *what;
  void *staged; /* owned; NULL: nothing is */
  gsize staged_bytes;
  void *out;                 /* of the host; NULL: nothing is copied back */
  gsize first_byte, n_bytes; /* that are, from the first of what is staged */
};

/* A member's end of a group. */
struct _RaNcclEnd {
  RaComm comm;
  RaNccl *nccl;        /* borrowed */
  RaNcclHandle handle; /* of nccl */
  RaNcclStream stream;
  gboolean has_own_stream;
  char *name;        /* owned */
  GArray *waiting;   /* of RaNcclPart: messages that have not left; owned */
  GArray *sent;      /* of RaNcclSent: that have, owned */
  GPtrArray *enrols; /* handles of buffers, owned */
};

typedef struct {
  RaCommPart part;
  void *staged;           /* of the device, owned; NULL: a receive */
  RaCommRequest *request; /* borrowed; NULL: a send */
} RaNcclPart;

typedef struct {
  void *staged; /* owned */
  gsize n_bytes;
  RaNcclMark mark;
} RaNcclSent;

/* Looks at @handles until @mark is passed or, where it is NULL, the first is
 * ready.  FALSE: *@out_result is an error, or RA_NCCL_BUSY: patience is out. */
gboolean ra_nccl_look(RaNccl *nccl, const RaNcclHandle *handles, guint n,
                      RaNcclMark mark, int *out_result);
/* The same, once: whether it is over; RA_NCCL_BUSY: it goes on. */
gboolean ra_nccl_look_once(RaNccl *nccl, const RaNcclHandle *handles, guint n,
                           RaNcclMark mark, int *out_result);
/* Between two looks, of which @n_looks were. */
void ra_nccl_pause(guint n_looks);
double ra_nccl_now_s(void);

/* What @e's stream is given next is behind the ops that the thread has begun.
 *
 * Returns: (transfer full): the mark of those */
RaNcclMark ra_nccl_follow_ops(RaNcclEnd *e, const char *what);
/* The ops that the thread begins next are behind what @e's stream has; waits
 * for the device look at that from now on.  @before: (transfer full): of
 * ra_nccl_follow_ops() */
void ra_nccl_ops_follow(RaNcclEnd *e, RaNcclMark before, const char *what);
/* Until the thread's ops have passed @before (transfer full), which is its own
 * work, and no wait for others but for those of what is under way. */
void ra_nccl_pass_ops(RaNcclEnd *e, RaNcclMark before, const char *what);
/* Looks until all that are under way are over. */
void ra_nccl_pass_all(RaNccl *nccl);

/* (transfer full): why @result ends what a rank waits for. */
char *ra_nccl_why(const RaNccl *nccl, RaNcclHandle handle, int result);

/* Drops all communicators and ends the run. */
void ra_nccl_fail(RaNccl *nccl, const char *group, RaNcclHandle handle,
                  const char *what, int result);

/* Memory of the device for @n_bytes, and back: what was given is taken again,
 * none freed before the end, as that would wait for all that the device does,
 * peers among it. */
void *ra_nccl_take(RaNccl *nccl, gsize n_bytes);
void ra_nccl_give(RaNccl *nccl, void *data, gsize n_bytes);

/* The stream of the rank for @stream, made when first asked for; NULL: the
 * device has none. */
RaNcclStream ra_nccl_stream(RaNccl *nccl, RaStream stream);

/* What exec/comm/comm_nccl.c, comm_nccl_host.c and comm_nccl_pairs.c share:
 * what a call gave may go on for a while, or end the run; a copy; messages that
 * leave at the next flush, a send with memory that is given back; all of them
 * leave; waits for @request. */
void ra_nccl_check(RaNcclEnd *e, int result, const char *what);
void ra_nccl_copy(RaNcclEnd *e, void *to, const void *from, gsize n_bytes);
void ra_nccl_send_staged(RaNcclEnd *e, uint32_t to, void *staged,
                         gsize n_bytes);
RaCommRequest *ra_nccl_start_recv(RaNcclEnd *e, uint32_t from, void *data,
                                  gsize n_bytes);
void ra_nccl_flush(RaNcclEnd *e);
RaCommRequest *ra_nccl_start_reduce(RaNcclEnd *e, RaReduce reduce, float *data,
                                    gsize n);
double ra_nccl_wait(RaComm *comm, RaCommRequest *request);
void ra_nccl_end_free(RaComm *comm);
/* Waits for all that its stream was given. */
void ra_nccl_drain(RaNcclEnd *e, const char *what);

/* (transfer full): the end of @group; with the stream of its own @own_stream.
 * RA_NONE: of all ranks. */
RaNcclEnd *ra_nccl_end_new(RaNccl *nccl, uint32_t group, gboolean own_stream);

/* The functions for data in the device's memory, and for the host's. */
extern const RaCommDevice ra_nccl_device;
extern const RaCommTable ra_nccl_table;

#endif
