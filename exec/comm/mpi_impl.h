/* What exec/comm/world_mpi.c, exec/comm/comm_mpi.c share. */
#ifndef RA_EXEC_COMM_MPI_IMPL_H
#define RA_EXEC_COMM_MPI_IMPL_H

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>

#include "exec/comm/failure_detector.h"
#include "exec/comm/world.h"

/* A message that has left; its bytes are kept until it has arrived. */
typedef struct _RaMpiSent {
  struct _RaMpiSent *next;
  MPI_Request request;
  void *data; /* owned */
} RaMpiSent;

typedef struct {
  RaWorld world;
  MPI_Comm notes;         /* of all processes */
  MPI_Comm all;           /* for what they do together */
  gboolean one_at_a_time; /* MPI_THREAD_SERIALIZED: calls are locked */
  pthread_mutex_t lock;   /* of those */
  pthread_mutex_t sent_lock;
  RaMpiSent *sent;           /* messages under way; sent_lock */
  atomic_uint n_sent;        /* of those */
  pthread_mutex_t take_lock; /* of what follows */
  char *note;                /* (RA_WORLD_NOTE_BYTES) that is received */
  MPI_Request next_note;     /* persistent */
  uint64_t *n_posted;        /* (n_processes) notes; sent_lock */
  uint64_t *n_taken;         /* (n_processes) take_lock */
  RaFailureDetector *watch;
} RaMpiWorld;

/* Around every MPI call: where the library takes one thread at a time. */
void ra_mpi_enter(RaMpiWorld *w);
void ra_mpi_leave(RaMpiWorld *w);

/* Until all of @requests are done: looks, then sleeps between looks, so that
 * more ranks than cores only make it slower. */
void ra_mpi_wait(RaMpiWorld *w, gsize n, MPI_Request *requests);

/* @data: (transfer full): keeps it until @request is done. */
void ra_mpi_keep(RaMpiWorld *w, MPI_Request request, void *data);

/* Appends requests for @n_bytes from or to @process: more than one where MPI's
 * counts are too small. */
void ra_mpi_recv(RaMpiWorld *w, MPI_Comm comm, int process, int tag, void *data,
                 gsize n_bytes, GArray *requests);
void ra_mpi_send(RaMpiWorld *w, MPI_Comm comm, int process, int tag,
                 const void *data, gsize n_bytes, GArray *requests);

RaWorldGroup *ra_mpi_group_new(RaWorld *world, uint32_t n_ranks,
                               const uint32_t *process_of);
void ra_mpi_group_free(RaWorldGroup *group);
RaComm *ra_mpi_comm_new(RaWorldGroup *group, uint32_t rank);

#endif
