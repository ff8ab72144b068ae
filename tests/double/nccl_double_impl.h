/* What nccl_double*.c share. */
#ifndef RA_TESTS_DOUBLE_NCCL_DOUBLE_IMPL_H
#define RA_TESTS_DOUBLE_NCCL_DOUBLE_IMPL_H

#include <pthread.h>

#include "tests/double/nccl_double.h"

typedef struct _Comm Comm;
typedef struct _Launch Launch;
typedef struct _Stream Stream;
typedef struct _Link Link; /* to another process: nccl_double_link.c */

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
  uint32_t peer; /* or root */
  gboolean is_over;
  Launch *launch;   /* NULL: of a stand-in */
  uint64_t number;  /* as a link's; 0: none */
  gsize back_bytes; /* of a stand-in: that go to its end */
} Op;

typedef struct {
  Stream *stream; /* NULL: of a thread's ops */
  uint64_t n;     /* launches before it */
  void *of_ops;   /* the device's, owned; NULL: it has none, and it is passed */
} Mark;

/* One group call, an operation alone, or that a mark is followed. */
struct _Launch {
  GPtrArray *ops;  /* Op, owned */
  GArray *comms;   /* of Comm *, each once */
  GArray *tickets; /* of uint64_t: its number among those of the communicator */
  guint n_left;
  Mark *behind; /* of ops; NULL: it follows none; owned: who gave it may free
                   its own at once */
};

typedef enum { RUNS, WAITS_TURN, WAITS_PEERS, WAITS_MARK } State;

struct _Stream {
  pthread_t thread;
  GQueue launches;
  Launch *launch; /* at hand */
  State state;
  gboolean is_busy;
  gboolean quits;
  uint64_t n_given;
  _Atomic uint64_t n_over; /* ops of a device ask for it without the lock */
  uint32_t random;
};

/* A collective on its way, or a split. */
typedef struct {
  uint32_t n_here;
  Op **ops; /* (n_ranks) owned */
} Meeting;

typedef struct {
  uint32_t n_here;
  int *colour, *key; /* (n_ranks) owned */
  Comm **ends;       /* (n_ranks) that are made, owned */
} Split;

/* What the ends of a communicator share. */
typedef struct {
  uint32_t n_ranks, n_here, n_ended;
  RaNcclId id;
  Comm **ends;         /* (n_ranks) owned array */
  GQueue *sent, *want; /* (n_ranks from, n_ranks to) of Op */
  GPtrArray *meetings; /* Meeting */
  GPtrArray *splits;   /* Split */
} Shared;

struct _Comm {
  Shared *shared;
  uint32_t rank;
  gboolean is_ready;
  gboolean is_splitting;
  gboolean is_ending; /* the others have not come to its end */
  gboolean is_aborted;
  int result;
  uint64_t n_given, n_over; /* launches */
  guint n_meetings, n_splits;
  /* To the process where it meets its peers, or, of a stand-in, where the end
   * is that it stands for (tests/double/nccl_double_far.h).  Borrowed; NULL:
   * all ends are in this process. */
  Link *link;
  gboolean stands_in;
  uint64_t number; /* as its link's */
};

/* Memory that a communicator knows. */
typedef struct {
  Comm *comm;
  const char *begin, *end;
} Enrolment;

/* A thread that calls the library. */
typedef struct {
  gboolean looks;   /* at what is not there yet */
  Mark mark;        /* stream NULL: at a communicator */
  const Mark *seen; /* that it found not passed, last; never looked into */
  Comm *comm;
} Host;

/* All that is going on. */
typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  guint n_active; /* hosts and streams that can go on */
  guint n_hosts, n_inside;
  guint n_absent; /* of n_active: hosts that have not entered yet */
  gboolean is_stuck;
  gboolean adds_in_order;
  uint32_t n_devices; /* 0: any number */
  gboolean is_cut;    /* device 0 from all others */
  gboolean goes_far, tells, has_own_id, hangs, damages; /* nccl_double.h */
  const NcclDoubleMemory *memory; /* NULL: the process's */
  uint32_t seed;
  GPtrArray *hosts, *streams, *comms, *shared;
  GPtrArray *enrolments; /* of Enrolment, owned */
  NcclDoubleTally tally;
  guint n_follows[NCCL_DOUBLE_N_FOLLOWS];
  gboolean forgets[NCCL_DOUBLE_N_FOLLOWS];
} NcclDouble;

extern NcclDouble nccl_double_all;
extern _Thread_local Host *nccl_double_host;

#define d nccl_double_all
#define host nccl_double_host

/* What is between them may look into the memory. */
void nccl_double_open(void);
void nccl_double_close(void);
/* @n more can go on; nobody: then all are stuck.  These are called locked. */
void nccl_double_add_active(int n);
/* That the calling host looks at what is not there yet. */
void nccl_double_look(gboolean looks);
/* Those that looked at what is there now. */
void nccl_double_wake(const Stream *stream, const Comm *comm);

/* Fills the functions of groups and operations, of streams, of communicators.
 */
void nccl_double_set_groups(RaNcclApi *api);
void nccl_double_set_streams(RaNcclApi *api);
void nccl_double_set_comms(RaNcclApi *api);
/* Fills those of enrolled memory. */
void nccl_double_set_enrol(RaNcclApi *api);

/* Whether @op's memory is enrolled; counts what is wrong with that. */
gboolean nccl_double_is_shown(const Op *op);
/* That @comm ends, whose memory should be withdrawn. */
void nccl_double_end_enrol(const Comm *comm);

/* What an operation does when its launch begins; takes it away again. */
void nccl_double_post(Op *op);
void nccl_double_unpost(Op *op);
void nccl_double_over(Op *op);
/* @data comes to @op, which has room. */
void nccl_double_arrive(Op *op, const void *data, gsize n_bytes);
/* What a rank of @n_ranks reads and writes. */
void nccl_double_bytes(const Op *op, uint32_t n_ranks, gsize *out_in_bytes,
                       gsize *out_out_bytes);
/* @s goes on. */
void nccl_double_resume(Stream *s);
/* Whether ops that streams wait for have got there, or get there now. */
gboolean nccl_double_drive_ops(void);
/* (transfer full): of @ops, owned */
Launch *nccl_double_launch_new(GPtrArray *ops);
/* A launch for @s, which owns it. */
void nccl_double_push(Stream *s, Launch *l);
void nccl_double_shared_free(gpointer shared);
Shared *nccl_double_shared_new(uint32_t n_ranks);

/* Of communicators: the parts that are done where the ends meet.  @c has no
 * peers yet; @made: (nullable). */
Comm *nccl_double_comm_new(void);
void nccl_double_join(Comm *c, uint32_t n_ranks, const RaNcclId *id,
                      uint32_t rank);
void nccl_double_split(Comm *c, int colour, int key, Comm *made);
void nccl_double_set_ready(Comm *c);
void nccl_double_set_split(Comm *c);

#endif
