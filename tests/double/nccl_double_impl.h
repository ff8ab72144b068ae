/* State of the double of NCCL, private to nccl_double*.c. */
#ifndef RA_TESTS_DOUBLE_NCCL_DOUBLE_IMPL_H
#define RA_TESTS_DOUBLE_NCCL_DOUBLE_IMPL_H

#include <pthread.h>

#include "tests/double/nccl_double.h"

typedef struct _Comm Comm;
typedef struct _Launch Launch;
typedef struct _Stream Stream;
typedef struct _Link Link; /* link to another process: nccl_double_link.c */

typedef enum {
  ALL_REDUCE,
  REDUCE,
  REDUCE_SCATTER,
  ALL_GATHER,
  BROADCAST,
  SEND,
  RECV
} Kind;

typedef struct {
  Kind kind;
  Comm *comm;
  const void *in;
  void *out;
  gsize n; /* numbers, or bytes */
  RaCommType type;
  RaReduce reduce;
  uint32_t peer; /* peer or root */
  gboolean is_over;
  Launch *launch;   /* NULL: operation of a stand-in */
  uint64_t number;  /* number on a link; 0: none */
  gsize back_bytes; /* of a stand-in: bytes to send to its end */
} Op;

typedef struct _Mark Mark;

struct _Mark {
  Stream *stream; /* NULL: stream of a thread's ops */
  uint64_t n;     /* launches before it */
  void *of_ops;   /* mark of the device, owned; NULL: none, and it is passed */
  gboolean is_captured;
  Mark *now; /* it, as its graph last began; owned */
};

/* A group call, a single operation, or a wait for a mark. */
struct _Launch {
  GPtrArray *ops;  /* Op, owned */
  GArray *comms;   /* (Comm *) each once */
  GArray *tickets; /* (uint64_t) number of the launch on each communicator */
  guint n_left;
  Mark *behind; /* mark of ops to wait for; NULL: none; owned, a copy of the
                   caller's */
};

typedef enum { RUNS, WAITS_TURN, WAITS_PEERS, WAITS_MARK } State;

struct _Stream {
  pthread_t thread;
  GQueue launches;
  Launch *launch; /* current launch */
  State state;
  gboolean is_busy;
  gboolean quits;
  uint32_t device;  /* of the thread that made it */
  uint64_t capture; /* the last that it was part of; 0: none */
  uint64_t n_given;
  _Atomic uint64_t n_over; /* ops of a device read it without the lock */
  uint32_t random;
};

/* A collective in progress, or a split. */
typedef struct {
  uint32_t n_here;
  Op **ops; /* (n_ranks) owned */
} Meeting;

typedef struct {
  uint32_t n_here;
  int *colour, *key; /* (n_ranks) owned */
  Comm **ends;       /* (n_ranks) new ends, owned */
} Split;

/* The shared state of a communicator. */
typedef struct {
  uint32_t n_ranks, n_here, n_ended;
  RaNcclId id;
  Comm **ends;         /* (n_ranks) owned array */
  GQueue *sent, *want; /* (n_ranks from, n_ranks to) queues of Op */
  GPtrArray *meetings; /* Meeting */
  GPtrArray *splits;   /* Split */
} Shared;

struct _Comm {
  Shared *shared;
  uint32_t rank;
  gboolean is_ready;
  gboolean is_splitting;
  gboolean is_ending; /* waits for the others to end */
  gboolean is_aborted;
  int result;
  uint64_t n_given, n_over; /* launches */
  guint n_meetings, n_splits;
  /* Link to the process that matches its operations, or, for a stand-in, to the
   * process of its end (tests/double/nccl_double_far.h).  Borrowed; NULL: all
   * ends are in this process. */
  Link *link;
  gboolean stands_in;
  uint64_t number;        /* number on its link */
  void *made, *connected; /* device memory that it takes; NULL: none */
};

/* Memory that is registered with a communicator. */
typedef struct {
  Comm *comm;
  const char *begin, *end;
} Enrolment;

/* A thread that calls the library. */
typedef struct {
  gboolean looks;   /* waits for something */
  Mark mark;        /* mark it waits for */
  const Mark *seen; /* last mark found not passed; never dereferenced */
} Host;

/* The global state. */
typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  guint n_active; /* hosts and streams that can continue */
  guint n_hosts, n_inside;
  guint n_absent; /* hosts of n_active that have not entered yet */
  gboolean is_stuck;
  gboolean adds_in_order;
  uint32_t n_devices; /* 0: any number */
  gboolean is_cut;    /* device 0 cannot reach the others */
  gboolean goes_far, tells, has_own_id, hangs, damages; /* nccl_double.h */
  const NcclDoubleMemory *memory; /* NULL: the process's */
  uint32_t seed;
  guint n_ends; /* nccl_double_end(): what waits from before has no state */
  GPtrArray *hosts, *streams, *comms, *shared;
  GPtrArray *enrolments;             /* Enrolment, owned */
  gsize made_bytes, connected_bytes; /* nccl_double_take() */
  NcclDoubleTally tally;
  guint n_follows[NCCL_DOUBLE_N_FOLLOWS];
  gboolean forgets[NCCL_DOUBLE_N_FOLLOWS];
} NcclDouble;

extern NcclDouble nccl_double_all;
extern _Thread_local Host *nccl_double_host;

#define d nccl_double_all
#define host nccl_double_host

/* Code between open and close may access the memory. */
void nccl_double_open(void);
void nccl_double_close(void);
/* Adds @n to those that can continue; if none are left, all are stuck.  This
 * and the next two are called with the lock held. */
void nccl_double_add_active(int n);
/* Records that the calling host waits for something, or no longer. */
void nccl_double_look(gboolean looks);
/* Wakes the hosts that wait for @stream. */
void nccl_double_wake(const Stream *stream);

/* Set the functions of groups and operations, streams, and communicators. */
void nccl_double_set_groups(RaNcclApi *api);
void nccl_double_set_streams(RaNcclApi *api);
void nccl_double_set_comms(RaNcclApi *api);
/* Sets the functions of registered memory. */
void nccl_double_set_enrol(RaNcclApi *api);

/* TRUE if the memory of @op is registered; counts misuses. */
gboolean nccl_double_is_shown(const Op *op);
/* Records the end of @comm, whose memory should be deregistered by then. */
void nccl_double_end_enrol(const Comm *comm);

/* Posts an operation when its launch starts; and withdraws it. */
void nccl_double_post(Op *op);
void nccl_double_unpost(Op *op);
void nccl_double_over(Op *op);
/* Delivers @data to @op, which has room for it. */
void nccl_double_arrive(Op *op, const void *data, gsize n_bytes);
/* Bytes that one of @n_ranks ranks reads and writes. */
void nccl_double_bytes(const Op *op, uint32_t n_ranks, gsize *out_in_bytes,
                       gsize *out_out_bytes);
/* TRUE if the calling thread captures, and @s (NULL: its ops) is part of it. */
gboolean nccl_double_is_captured(const Stream *s);
/* Lets @s continue. */
void nccl_double_resume(Stream *s);
/* TRUE if ops that streams wait for have reached their marks, or do so now. */
gboolean nccl_double_drive_ops(void);
/* (transfer full): a launch of @ops, which it owns. */
Launch *nccl_double_launch_new(GPtrArray *ops);
/* Appends a launch to @s, which owns it. */
void nccl_double_push(Stream *s, Launch *l);
void nccl_double_shared_free(gpointer shared);
Shared *nccl_double_shared_new(uint32_t n_ranks);

/* The first operation of @c, which its thread begins. */
void nccl_double_connect(Comm *c);

/* The parts of communicators that run in the process that matches their ends.
 * @c has no peers yet; @made: (nullable). */
Comm *nccl_double_comm_new(void);
void nccl_double_join(Comm *c, uint32_t n_ranks, const RaNcclId *id,
                      uint32_t rank);
void nccl_double_split(Comm *c, int colour, int key, Comm *made);
void nccl_double_set_ready(Comm *c);
void nccl_double_set_split(Comm *c);
/* Waits, with the lock held, until @c has come so far: *@until is @value.
 * Returns: a result */
int nccl_double_come(const Comm *c, const gboolean *until, gboolean value);

#endif
