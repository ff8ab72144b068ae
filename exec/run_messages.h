/* Messages of a rank: to and from its neighbours in the pipeline, reductions
 * under way, and notes for other processes.  Private to exec/run*.c.
 *
 * Receives are started before the task that needs them, so that messages arrive
 * while the rank computes; n_ahead counts what came of that.
 */
#ifndef RA_EXEC_RUN_MESSAGES_H
#define RA_EXEC_RUN_MESSAGES_H

#include "exec/comm/device_message.h"
#include "exec/run.h"

typedef struct _RaRank RaRank;

/* A reduction that overlaps with the rank's computation. */
typedef struct {
  RaTaskId task;
  double begin_s;
  RaComm *comm;        /* borrowed */
  GPtrArray *requests; /* RaCommRequest, owned */
} RaPending;

/* A message that a task will read. */
typedef struct {
  RaTaskId task;
  RaDeviceMessage *message; /* owned */
} RaReceive;

typedef struct {
  RaComm *forward, *backward;   /* between pipeline stages; owned */
  GArray *pending;              /* RaPending, owned */
  GArray *receives;             /* RaReceive, owned */
  RaTaskId looked;              /* receives have been started up to this task */
  uint32_t n_ahead[RA_N_AHEAD]; /* requests made ahead, by kind */
  GByteArray *outbox;           /* notes for other processes; owned, nullable */
} RaRankMessages;

/* --- exec/run_pipeline.c --- */

/* Starts the receives of @task, about to run, and of the next tasks of its
 * node, so that messages arrive while the rank computes. */
void ra_rank_receive_ahead(RaRank *rank, RaTaskId task);
/* FALSE over a communicator between devices: there a receive that is posted
 * occupies multiprocessors and one of the device's queues until its sender
 * comes.  If the sender still needs an op of this rank that waits behind it,
 * both stand still: memory that is freed, a kernel's first load, or a queue
 * that is shared.  So only the message of the task, or of the group's step, at
 * hand is received, before which the rank has no other work. */
gboolean ra_rank_receives_ahead(const RaRank *rank);

/* --- exec/run_world.c --- */

/* Queues a note: the current task has written @n elements from @first of the
 * output of @call in its iteration. */
void ra_rank_publish(RaRank *rank, uint32_t call, gboolean is_text,
                     uint32_t first, uint32_t n);
/* Posts to the processes that wait for it that @task has ended on @rank. */
void ra_rank_tell(RaRank *rank, RaTaskId task);

#endif
