/* Shared declarations of exec/comm/world_mpi.c and exec/comm/comm_mpi.c. */
#ifndef RA_EXEC_COMM_MPI_IMPL_H
#define RA_EXEC_COMM_MPI_IMPL_H

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>

#include "exec/comm/failure_detector.h"
#include "exec/comm/world.h"

/* A message in progress; keeps its bytes until it is sent. */
typedef struct _RaMpiSent {
  struct _RaMpiSent *next;
  MPI_Request request;
  void *data; /* owned */
} RaMpiSent;

typedef struct {
  RaWorld world;
  MPI_Comm notes;         /* communicator of all processes, for notes */
  MPI_Comm all;           /* communicator of all processes, for collective
                             operations */
  gboolean one_at_a_time; /* MPI_THREAD_SERIALIZED: calls hold the lock */
  pthread_mutex_t lock;   /* for one_at_a_time */
  pthread_mutex_t sent_lock;
  RaMpiSent *sent;           /* messages in progress; sent_lock */
  atomic_uint n_sent;        /* length of sent */
  pthread_mutex_t take_lock; /* guards the fields below */
  char *note;                /* (RA_WORLD_NOTE_BYTES) buffer of the next note */
  MPI_Request next_note;     /* persistent receive of note */
  uint64_t *n_posted;        /* (n_processes) notes posted; sent_lock */
  uint64_t *n_taken;         /* (n_processes) notes taken; take_lock */
  RaFailureDetector *watch;
} RaMpiWorld;

/* Enclose every MPI call: they lock where the library allows one thread at a
 * time. */
void ra_mpi_enter(RaMpiWorld *w);
void ra_mpi_leave(RaMpiWorld *w);

/* Waits for all @requests: spins, then sleeps between tests, so that more ranks
 * than cores are only slower. */
void ra_mpi_wait(RaMpiWorld *w, gsize n, MPI_Request *requests);

/* @data: (transfer full): kept until @request is done. */
void ra_mpi_keep(RaMpiWorld *w, MPI_Request request, void *data);

/* Appends requests for @n_bytes from or to @process: several if MPI's counts
 * are too small. */
void ra_mpi_recv(RaMpiWorld *w, MPI_Comm comm, int process, int tag, void *data,
                 gsize n_bytes, GArray *requests);
void ra_mpi_send(RaMpiWorld *w, MPI_Comm comm, int process, int tag,
                 const void *data, gsize n_bytes, GArray *requests);

RaWorldGroup *ra_mpi_group_new(RaWorld *world, uint32_t n_ranks,
                               const uint32_t *process_of);
void ra_mpi_group_free(RaWorldGroup *group);
RaComm *ra_mpi_comm_new(RaWorldGroup *group, uint32_t rank);

#endif
