/* A double of NCCL on threads: the library's blocking semantics without a GPU.
 *
 * Every stream is a thread that does what it is given in order, a group call as
 * a whole: it is over when each of its operations is.  A send is over when its
 * receive has come and the other way round, a collective when all members have
 * come to it; of one communicator a rank's groups start in the order in which
 * they were given, whatever their streams.  Communicators are made without
 * blocking and may be used when they are ready, not before.  Between all this
 * are delays drawn from a seed.  Sums are added from the last rank to the
 * first, as nobody may count on an order.
 *
 *     nccl_double_begin(n_hosts, seed);
 *     ... on n_hosts threads: nccl_double_enter(), nccl_double()->init() ...,
 *         nccl_double_leave()
 *     nccl_double_end()
 *
 * The watchdog is exact: when every host has left or looks at a mark that has
 * not been passed, and no stream can go on, nothing ever will; then all
 * communicators answer with NCCL_DOUBLE_STUCK.  A host that does something else
 * (or sleeps, as a stalled peer does) is not stuck.
 */
#ifndef RA_TESTS_DOUBLE_NCCL_DOUBLE_H
#define RA_TESTS_DOUBLE_NCCL_DOUBLE_H

#include "exec/comm/nccl_api.h"

#define NCCL_DOUBLE_GONE 2  /* ncclSystemError: a peer's process has ended */
#define NCCL_DOUBLE_USAGE 5 /* ncclInvalidUsage: not ready, sizes that differ */
#define NCCL_DOUBLE_STUCK 6 /* ncclRemoteError */

const RaNcclApi *nccl_double(void);

void nccl_double_begin(uint32_t n_hosts, uint32_t seed);
void nccl_double_end(void);

/* The device that the double works on: else memory is the process's own, and
 * what a host does is over as it is begun. */
typedef struct {
  void (*enter)(void); /* around all that looks into it */
  void (*leave)(void);
  void *(*alloc)(gsize n_bytes);
  void (*free)(void *memory);
  /* The stream of the ops of the calling thread, which may be late: a mark in
   * it; ops from now on wait for @is_reached of a copy of @data, FALSE: ops are
   * over as they are begun; the thread waits for them; something goes on, of
   * what is to reach a mark if that can, FALSE: nothing can. */
  void *(*mark)(void);
  gboolean (*is_reached)(const void *mark);
  void (*mark_free)(void *mark);
  gboolean (*follow)(int (*is_reached)(const void *data), const void *data,
                     gsize n_bytes);
  void (*wait)(void);
  gboolean (*go_on)(const void *towards);
  void (*look_with)(RaDeviceLook look, void *data);
} NcclDoubleMemory;

void nccl_double_set_memory(const NcclDoubleMemory *memory);

/* The calling thread is a host from now on, and no more.  Where all have left,
 * all may enter again, on other threads.  nccl_double()'s enter() and leave()
 * are the same. */
void nccl_double_enter(void);
void nccl_double_leave(void);

/* Whether the watchdog has found that nothing goes on. */
gboolean nccl_double_is_stuck(void);

/* Sums are added from the first rank to the last, as `local` does, from now on.
 */
void nccl_double_add_in_order(gboolean in_order);

/* Device 0 reaches no other from now on, or all do. */
void nccl_double_cut_off(gboolean is_cut);

/* Ids are places where processes meet, from now on: what the ends of a
 * communicator share is kept by the process that made the id, and the others'
 * operations go there and back (tests/double/nccl_double_far.c).  Such a run
 * has no watchdog: nobody knows all hosts. */
void nccl_double_go_far(void);

/* What is other than usual from now on, of these words (@words: nullable):
 *   gpus=N  this process sees N devices, from 0 on; else as many as it asks for
 *   tells   who has a communicator with a process that dies hears of it, as
 *           over a network; else nobody does, as over memory that GPUs share
 *   id      this process comes with an id that nobody else has
 *   hang    after a while what this process gives meets nobody, as on a GPU
 *           that hangs
 *   damage  the last number of whatever comes in a group of messages arrives
 *           with the other sign */
void nccl_double_obey(const char *words);

/* A fault: streams of NCCL's are told to follow marks of ops, or ops those of
 * NCCL's, and from now on @kind forgets it.  How often it was told since
 * nccl_double_begin(). */
typedef enum {
  NCCL_DOUBLE_AFTER_OPS,
  NCCL_DOUBLE_OPS_AFTER,
  NCCL_DOUBLE_N_FOLLOWS
} NcclDoubleFollow;

void nccl_double_forget(NcclDoubleFollow kind);
guint nccl_double_n_follows(NcclDoubleFollow kind);

/* @comm, NULL: all, answers with @result from now on. */
void nccl_double_fail(RaNcclHandle comm, int result);

/* What was done since the begin. */
typedef struct {
  guint n_groups;  /* that had several operations */
  guint n_ops;     /* of all kinds */
  guint n_splits;  /* calls */
  guint n_comms;   /* ends of communicators made */
  guint n_aborted; /* of them */
  guint n_peer_copies;
  guint n_enrolled, n_withdrawn;
  guint n_shown;   /* operations of n_ops whose memory is enrolled */
  guint n_misuses; /* of memory: enrolled twice, withdrawn when it is not, used
                      beyond its end, freed or its communicator ended before */
} NcclDoubleTally;

NcclDoubleTally nccl_double_tally(void);

#endif
