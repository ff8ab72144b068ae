/* A test double of NCCL on threads: the library's blocking semantics without a
 * GPU.
 *
 * Every stream is a thread that runs its launches in order.  A group call is
 * over when each of its operations is.  A send is over when its receive has
 * arrived, and the reverse; a collective is over when all members have arrived.
 * The groups of a rank on one communicator start in the order of their calls,
 * on any streams.  Communicators are blocking: who makes or closes one waits
 * for all, outside the watchdog, and on any thread.  Operations on a stream
 * that follows a captured mark are captured, as CUDA has it; such a mark cannot
 * be polled.  There are random delays, sampled from a seed, between all this.
 * Sums are added from the last rank to the first, as callers must not rely on
 * an order.
 *
 *     nccl_double_begin(n_hosts, seed);
 *     ... on n_hosts threads: nccl_double_enter(), nccl_double()->init() ...,
 *         nccl_double_leave()
 *     nccl_double_end()
 *
 * The watchdog is exact.  If every host has left or waits for a mark that has
 * not been passed, and no stream can continue, nothing ever will.  Then all
 * communicators return NCCL_DOUBLE_STUCK.  A host that does something else (or
 * sleeps, like a stalled peer) is not stuck.
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

/* The device of the double.  Without one, memory is that of the process, and
 * the ops of a host are over as soon as they start. */
typedef struct {
  void (*enter)(void); /* before any access to its memory; leave() after it */
  void (*leave)(void);
  void *(*alloc)(gsize n_bytes);
  void (*free)(void *memory);
  /* The calling thread's device, on which alloc() takes memory; and that of
   * @memory, G_MAXUINT32: none's. */
  void (*use)(uint32_t device);
  uint32_t (*device)(void);
  uint32_t (*device_of)(const void *memory);
  /* The stream of the calling thread's ops, which may be late.
   *
   * mark:    a mark in it
   * follow:  later ops wait for @is_reached of a copy of @data; FALSE: ops are
   *          over as soon as they start
   * wait:    the thread waits for its ops
   * go_on:   one op runs, one that leads to the mark @towards if possible;
   *          FALSE: none can */
  void *(*mark)(void);
  gboolean (*is_reached)(const void *mark);
  void (*mark_free)(void *mark);
  gboolean (*follow)(int (*is_reached)(const void *data), const void *data,
                     gsize n_bytes);
  void (*wait)(void);
  gboolean (*go_on)(const void *towards);
  void (*look_with)(RaDeviceLook look, void *data);
  /* The calling thread's ops may be captured instead.
   *
   * capture: the number of the capture in progress; 0: none
   * note:    whenever the captured graph begins, @call of @data, at this place
   *          among its ops; the graph frees @data */
  uint64_t (*capture)(void);
  void (*note)(void (*call)(void *data), void *data,
               void (*free_data)(void *data));
} NcclDoubleMemory;

void nccl_double_set_memory(const NcclDoubleMemory *memory);

/* The calling thread becomes a host, or ceases to be one.  When all have left,
 * all may enter again, on other threads.  enter() and leave() of nccl_double()
 * do the same. */
void nccl_double_enter(void);
void nccl_double_leave(void);

/* TRUE if the watchdog has found that nothing can continue. */
gboolean nccl_double_is_stuck(void);

/* From now on, adds sums from the first rank to the last, as `local` does. */
void nccl_double_add_in_order(gboolean in_order);

/* From now on, device 0 can reach no other device, or all can. */
void nccl_double_cut_off(gboolean is_cut);

/* From now on, communicators may span processes.  The process that created an
 * id has the shared state of the communicator, and operations of the others go
 * there and back (tests/double/nccl_double_far.c).  Such a run has no watchdog,
 * as no process knows all hosts. */
void nccl_double_go_far(void);

/* Sets deviations from normal behaviour, from now on (@words: nullable):
 *   gpus=N  this process sees N devices, from 0 on; else as many as it requests
 *   tells   peers on a communicator learn of the death of a process, as over a
 *           network; else they do not, as over memory that GPUs share
 *   id      this process uses an id that no other has
 *   hang    after a while, operations of this process never match, as on a GPU
 *           that hangs
 *   damage  the last number of each message in a group of messages arrives with
 *           the opposite sign */
void nccl_double_obey(const char *words);

/* A fault: NCCL streams are ordered after marks of ops, or ops after marks of
 * NCCL; from now on @kind ignores that.  Returns how often the order was given
 * since nccl_double_begin(). */
typedef enum {
  NCCL_DOUBLE_AFTER_OPS,
  NCCL_DOUBLE_OPS_AFTER,
  NCCL_DOUBLE_N_FOLLOWS
} NcclDoubleFollow;

void nccl_double_forget(NcclDoubleFollow kind);
guint nccl_double_n_follows(NcclDoubleFollow kind);

/* From now on, @comm (NULL: all) returns @result. */
void nccl_double_fail(RaNcclHandle comm, int result);

/* From now on, a split takes @made_bytes of the device for an end that it
 * makes, and the first operation of an end @n_bytes for each other member,
 * until the end is destroyed.  0 at first. */
void nccl_double_take(gsize made_bytes, gsize n_bytes);

/* Waits for all that has begun on the streams of the calling thread's device,
 * or until nothing can continue: as the load of a module does. */
void nccl_double_wait_device(void);

/* Counts since nccl_double_begin(). */
typedef struct {
  guint n_groups;  /* groups of several operations */
  guint n_ops;     /* operations of all kinds */
  guint n_splits;  /* calls of split */
  guint n_comms;   /* ends of communicators created */
  guint n_aborted; /* ends of communicators aborted */
  guint n_destroyed;
  guint n_peer_copies;
  guint n_enrolled, n_withdrawn;
  guint n_shown;   /* operations of n_ops with registered memory */
  guint n_misuses; /* misuses of memory: registered twice, deregistered when it
                      is not registered, used past its end, freed or its
                      communicator ended while registered, or of another
                      device than the thread's */
} NcclDoubleTally;

NcclDoubleTally nccl_double_tally(void);

#endif
