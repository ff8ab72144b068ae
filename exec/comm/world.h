/* A world: processes that run one task graph together.
 *
 * Every process loads the same files, expands the same graph and runs some of
 * its ranks as threads.  Processes meet through a table of functions, of which
 * MPI's is the only one (exec/comm/world_mpi.c, linked by `reallot-mpi` alone).
 * A program without MPI has no world, and all ranks are its threads.
 *
 *     RaWorld *world = ra_world_open(&hooks, &error);    NULL: one process
 *     options.world = world;
 *     ...
 *     ra_world_close(world, error);
 *
 * Besides the ranks' communicators, processes exchange notes, which arrive in
 * the order in which a thread posted them.  They also have collective
 * operations between iterations (gather, share).  If a process dies or hangs,
 * all others end: exec/comm/failure_detector.h.
 */
#ifndef RA_EXEC_COMM_WORLD_H
#define RA_EXEC_COMM_WORLD_H

#include "exec/comm/comm.h"

typedef struct _RaWorld RaWorld;
typedef struct _RaWorldGroup RaWorldGroup;

/* Receives a note from process @from. */
typedef void (*RaWorldFunc)(uint32_t from, const void *note, gsize n_bytes,
                            gpointer data);

/* Maximal size of a note. */
#define RA_WORLD_NOTE_BYTES ((gsize)16384)

typedef struct {
  /* Makes a group of ranks on processes @process_of (n_ranks).  One thread of
   * each of these processes calls it, for all groups in the same order.
   * (transfer full) */
  RaWorldGroup *(*group_new)(RaWorld *world, uint32_t n_ranks,
                             const uint32_t *process_of);
  void (*group_free)(RaWorldGroup *group);
  /* (transfer full): the end of member @rank, which is a rank of this
   * process. */
  RaComm *(*comm_new)(RaWorldGroup *group, uint32_t rank);
  /* Makes progress on pending messages while a rank computes: a long message,
   * which MPI does not buffer, stalls between its sender's calls.  Cheap if
   * none is pending. */
  void (*nudge)(RaWorld *world);
  /* Sends a note and returns at once. */
  void (*post)(RaWorld *world, uint32_t to, const void *note, gsize n_bytes);
  /* Passes the notes that have arrived to @func. */
  void (*take)(RaWorld *world, RaWorldFunc func, gpointer data);
  /* By all processes, when none posts any more: passes all remaining notes to
   * this process to @func, then returns. */
  void (*settle)(RaWorld *world, RaWorldFunc func, gpointer data);
  /* By all: gathers each process's @mine at process 0 (element-type GBytes);
   * returns %NULL to the others.  (transfer full) (nullable) */
  GPtrArray *(*gather)(RaWorld *world, const void *mine, gsize n_bytes);
  /* By all: broadcasts @data of process 0. */
  void (*share)(RaWorld *world, void *data, gsize n_bytes);
  /* By process @from and process 0: sends @data from @from to process 0. */
  void (*pass)(RaWorld *world, uint32_t from, void *data, gsize n_bytes);
  /* Tells the world the number of ranks, so that messages can name the ranks of
   * a process. */
  void (*name_ranks)(RaWorld *world, uint32_t n_ranks);
  /* Sets the time without a heartbeat after which a process counts as
   * stalled. */
  void (*set_patience)(RaWorld *world, double silent_s);
  /* Ends all processes with one line: the one with the smallest @order if
   * several report; 0: a fault of this process as a whole, which the message
   * then names.  Does not return. */
  void (*fail)(RaWorld *world, int status, uint64_t order, const char *line);
} RaWorldTable;

struct _RaWorld {
  const RaWorldTable *table;
  uint32_t process;
  uint32_t n_processes;
  uint32_t n_here;     /* processes on this machine */
  uint32_t first_here; /* the first of them */
  gboolean spins;      /* waiting threads spin before they block: all have
                          cores */
};

/* Functions that a program gives its world. */
typedef struct {
  void (*say)(const char *line); /* prints the line completely */
  void (*end)(int status);       /* ends the process at once */
  double silent_s;               /* time without a heartbeat after which a
                                    process counts as stalled */
  /* (nullable): called at SIGTERM, which mpirun sends for Ctrl-C; %TRUE: the
   * command will end by itself.  Else all processes end. */
  gboolean (*stops)(void);
} RaWorldHooks;

/**
 * ra_world_open:
 * @hooks: copied
 * @error: %RA_ERROR_DEVICE: MPI without threads, or no connection to process 0
 *
 * Returns: (transfer full) (nullable): %NULL without @error: this is the only
 *   process, or the program has no MPI
 */
RaWorld *ra_world_open(const RaWorldHooks *hooks, GError **error);

/* TRUE if the program is linked with MPI. */
gboolean ra_world_is_linked(void);

/**
 * ra_world_close:
 * @world: (nullable) (transfer full)
 * @error: (nullable): error with which this process ends
 *
 * Waits for all processes to end; if one has failed, all end with its line.
 */
void ra_world_close(RaWorld *world, const GError *error);

/* The process of rank @rank of @n_ranks; processes have contiguous ranks. */
static inline uint32_t
ra_world_process(const RaWorld *world, uint32_t rank, uint32_t n_ranks)
{
  uint32_t p;

  if (!world)
    return 0;
  p = (uint32_t)((uint64_t)rank * world->n_processes / n_ranks);
  while (rank >= (uint64_t)(p + 1) * n_ranks / world->n_processes)
    p++;
  return p;
}

/**
 * ra_world_agree:
 * @world: (nullable)
 * @hash: hash of data that all processes must have in common
 * @what: name of the data, "the task graph"
 * @error: %RA_ERROR_INPUT: the processes that differ from process 0
 *
 * By all processes.
 */
gboolean ra_world_agree(RaWorld *world, uint64_t hash, const char *what,
                        GError **error);

#endif
