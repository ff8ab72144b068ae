/* Shared declarations of exec/comm/nccl.c and exec/comm/comm_nccl*.c. */
#ifndef RA_EXEC_COMM_NCCL_IMPL_H
#define RA_EXEC_COMM_NCCL_IMPL_H

#include "exec/comm/comm_nccl.h"
#include "exec/comm/nccl_guard.h"

typedef struct _RaNcclEnd RaNcclEnd;

#define RA_NCCL_SIZES 48 /* powers of two */

/* Maximal number of collectives in progress, as seen by the host.  After one
 * that never ends the host continues until the device's queue is full, where a
 * launch blocks and no poll runs.  NEEDSWORK: a guess, from some 16 ops per
 * collective and a queue of 1024; the size of a GPU's queue has not been
 * measured. */
#define RA_NCCL_MOST_UNDER_WAY 32

/* A collective in progress, between two marks: in the stream of the rank's ops
 * and in NCCL's.
 */
typedef struct {
  RaNcclMark before; /* mark in the ops: its input is complete; owned */
  RaNcclMark after;  /* mark in NCCL's stream: it has ended; owned */
  gboolean has_come; /* the ops have reached before */
  RaNcclHandle handle;
  const char *group, *what; /* borrowed, from its end */
} RaNcclUnderWay;

struct _RaNccl {
  RaNcclOptions options;
  uint32_t n_ranks, rank;
  RaNcclHandle world;
  const RaCommGroups *splits; /* borrowed */
  const RaPlan *plan;         /* borrowed; nullable */
  /* (n_groups) NULL: the rank is not a member; owned */
  RaNcclHandle *handles;
  RaNcclHandle no_group; /* what a split without a colour writes: NULL */
  RaNcclStream streams[RA_N_STREAMS]; /* NULL: none yet; owned */
  /* free buffers in device memory, of 2^i bytes; NULL: none yet; owned */
  GPtrArray *spare[RA_NCCL_SIZES];
  /* ring buffer, oldest first */
  RaNcclUnderWay under_way[RA_NCCL_MOST_UNDER_WAY];
  guint first_under_way, n_under_way;
  gboolean captures;       /* collectives are captured with the ops */
  RaNcclMark graph_before; /* before the graph that begins next; owned */
  double came_s;           /* when the ops reached the oldest, if they have */
  guint n_looks;           /* polls in the current wait */
  gboolean is_waiting;     /* state that its pulse has */
  gboolean is_dropped;
  RaNcclGuard *closing; /* of its communicators; NULL: not begun; owned */
  gboolean is_left;     /* a call that makes or closes them goes on */
};

/* A request on device data, or on host data, which is staged in device
 * memory. */
struct _RaCommRequest {
  RaNcclEnd *end;    /* borrowed */
  RaNcclMark before; /* mark of the ops that it follows; NULL: none; owned */
  RaNcclMark mark;   /* NULL: not started yet */
  const char *what;
  void *staged; /* owned; NULL: no staging */
  gsize staged_bytes;
  void *out;                 /* destination in host memory; NULL: nothing to
                                copy back */
  gsize first_byte, n_bytes; /* range of staged to copy back */
};

/* A member's end of a group. */
struct _RaNcclEnd {
  RaComm comm;
  RaNccl *nccl;        /* borrowed */
  RaNcclHandle handle; /* belongs to nccl */
  RaNcclStream stream;
  gboolean has_own_stream;
  char *name;        /* owned */
  GArray *waiting;   /* RaNcclPart: messages not yet started; owned */
  GArray *sent;      /* RaNcclSent: started messages, owned */
  GPtrArray *enrols; /* handles of registered buffers, owned */
};

typedef struct {
  RaCommPart part;
  void *staged;           /* in device memory, owned; NULL: a receive */
  RaCommRequest *request; /* borrowed; NULL: a send */
} RaNcclPart;

typedef struct {
  void *staged; /* owned */
  gsize n_bytes;
  RaNcclMark mark;
} RaNcclSent;

/* Polls @handles for errors until @mark is reached.  FALSE: *@out_result is an
 * error, or RA_NCCL_BUSY: the patience is over. */
gboolean ra_nccl_look(RaNccl *nccl, const RaNcclHandle *handles, guint n,
                      RaNcclMark mark, int *out_result);
/* Polls once, without @mark (nullable) for errors only.  Returns: whether it is
 * reached; RA_NCCL_BUSY: the wait continues. */
gboolean ra_nccl_look_once(RaNccl *nccl, const RaNcclHandle *handles, guint n,
                           RaNcclMark mark, int *out_result);
/* Pauses between two polls, after @n_looks polls. */
void ra_nccl_pause(guint n_looks);
double ra_nccl_now_s(void);

/* Orders later work of @e's stream after the ops that the thread has begun.
 *
 * Returns: (transfer full): the mark of these ops
 */
RaNcclMark ra_nccl_follow_ops(RaNcclEnd *e, const char *what);
/* Orders the thread's later ops after the work in @e's stream; from now on,
 * waits for the device poll it.  @before: (transfer full): of
 * ra_nccl_follow_ops() */
void ra_nccl_ops_follow(RaNcclEnd *e, RaNcclMark before, const char *what);
/* Waits until the thread's ops have reached @before (transfer full).  That is
 * the rank's own work: it waits for peers only through collectives in
 * progress. */
void ra_nccl_pass_ops(RaNcclEnd *e, RaNcclMark before, const char *what);
/* RaCommDevice.capture: a graph is in progress as its collectives would be,
 * from the ops before it to its end. */
void ra_nccl_capture(RaComm *comm, RaCommCapture phase);
/* Polls until no collective is in progress. */
void ra_nccl_pass_all(RaNccl *nccl);

/* Aborts all communicators and ends the run. */
void ra_nccl_fail(RaNccl *nccl, const char *group, RaNcclHandle handle,
                  const char *what, int result);

/* Take and return device memory of @n_bytes.  Buffers are reused and freed only
 * at the end, because freeing waits for all work of the device, including
 * peers. */
void *ra_nccl_take(RaNccl *nccl, gsize n_bytes);
void ra_nccl_give(RaNccl *nccl, void *data, gsize n_bytes);

/* The stream of the rank for @stream, made at the first call; NULL: the device
 * has none. */
RaNcclStream ra_nccl_stream(RaNccl *nccl, RaStream stream);

/* --- exec/comm/comm_nccl.c, comm_nccl_host.c, comm_nccl_pairs.c ---
 *
 * ra_nccl_check() ends the run unless @result is success.
 * ra_nccl_send_staged() and ra_nccl_start_recv() queue messages for the next
 * ra_nccl_flush(), which starts all; a send returns its memory.  ra_nccl_wait()
 * waits for @request.
 */
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
/* Waits for all work of its stream. */
void ra_nccl_drain(RaNcclEnd *e, const char *what);

/* (transfer full): the end of @group; @own_stream: with a stream of its own.
 * RA_NONE: of all ranks. */
RaNcclEnd *ra_nccl_end_new(RaNccl *nccl, uint32_t group, gboolean own_stream);

/* The functions for data in the device's memory, and for the host's. */
extern const RaCommDevice ra_nccl_device;
extern const RaCommTable ra_nccl_table;

#endif
