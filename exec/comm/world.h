/* A world: processes that run one task graph together.
 *
 * Every process loads the same files and expands the same graph, has some of
 * its ranks as threads, and meets the others through one table of functions, of
 * which MPI's is the only one (exec/comm/world_mpi.c, linked by `reallot-mpi`
 * alone).  A program without MPI has no world, and all ranks are its threads.
 *
 *     RaWorld *world = ra_world_open(&hooks, &error);    NULL: alone
 *     options.world = world;
 *     ...
 *     ra_world_close(world, error);
 *
 * Beside the ranks' communicators there is what processes say to each other
 * meanwhile: notes, which arrive in the order in which a thread posted them,
 * and what all do together between iterations (gather, share).  A process that
 * dies or falls silent ends all others: exec/comm/failure_detector.h.
 */
#ifndef RA_EXEC_COMM_WORLD_H
#define RA_EXEC_COMM_WORLD_H

#include "exec/comm/comm.h"

typedef struct _RaWorld RaWorld;
typedef struct _RaWorldGroup RaWorldGroup;

/* A note from process @from. */
typedef void (*RaWorldFunc)(uint32_t from, const void *note, gsize n_bytes,
                            gpointer data);

/* A note is no longer. */
#define RA_WORLD_NOTE_BYTES ((gsize)16384)

typedef struct {
  /* Of ranks on processes @process_of (n_ranks); called by those, by one thread
   * of each, for all groups in the same order.  (transfer full) */
  RaWorldGroup *(*group_new)(RaWorld *world, uint32_t n_ranks,
                             const uint32_t *process_of);
  void (*group_free)(RaWorldGroup *group);
  /* (transfer full): the end of member @rank, which is here. */
  RaComm *(*comm_new)(RaWorldGroup *group, uint32_t rank);
  /* Moves on what is under way, by a rank that computes meanwhile: a message
   * that is too long to be laid by for its receiver stands still between its
   * sender's calls.  Cheap where nothing is under way. */
  void (*nudge)(RaWorld *world);
  /* Sends a note and returns at once. */
  void (*post)(RaWorld *world, uint32_t to, const void *note, gsize n_bytes);
  /* Gives @func the notes that have come. */
  void (*take)(RaWorld *world, RaWorldFunc func, gpointer data);
  /* By all, nobody posting: returns when all notes to this process have come;
   * gives them to @func. */
  void (*settle)(RaWorld *world, RaWorldFunc func, gpointer data);
  /* By all: what each has in @mine, at process 0 (element-type GBytes), else
   * %NULL.  (transfer full) (nullable) */
  GPtrArray *(*gather)(RaWorld *world, const void *mine, gsize n_bytes);
  /* By all: @data of process 0 to all. */
  void (*share)(RaWorld *world, void *data, gsize n_bytes);
  /* By process @from and process 0: @data of the one to the other. */
  void (*pass)(RaWorld *world, uint32_t from, void *data, gsize n_bytes);
  /* Which process has which ranks is known from now on, for messages. */
  void (*name_ranks)(RaWorld *world, uint32_t n_ranks);
  /* A process that says nothing for so long has stalled. */
  void (*set_patience)(RaWorld *world, double silent_s);
  /* Ends all processes with one line, of several that say different @order the
   * least; 0: of this process as a whole, which is then named.  Does not
   * return. */
  void (*fail)(RaWorld *world, int status, uint64_t order, const char *line);
} RaWorldTable;

struct _RaWorld {
  const RaWorldTable *table;
  uint32_t process;
  uint32_t n_processes;
  uint32_t n_here;     /* processes on this machine */
  uint32_t first_here; /* the first of them */
  gboolean spins;      /* who waits looks before it sleeps: all have cores */
};

/* What a program does for its world. */
typedef struct {
  void (*say)(const char *line); /* prints it, to the last byte */
  void (*end)(int status);       /* ends the process at once */
  double silent_s; /* a process that says nothing for so long has stalled */
  /* (nullable): SIGTERM has come, as mpirun sends it for Ctrl-C; whether the
   * command ends by itself then.  Else all end. */
  gboolean (*stops)(void);
} RaWorldHooks;

/**
 * ra_world_open:
 * @hooks: copied
 * @error: %RA_ERROR_DEVICE: MPI without threads, or no way to process 0
 *
 * Returns: (transfer full) (nullable): %NULL without @error: this process is
 *   alone, or the program has no MPI
 */
RaWorld *ra_world_open(const RaWorldHooks *hooks, GError **error);

/* Whether the program is linked with MPI. */
gboolean ra_world_is_linked(void);

/**
 * ra_world_close:
 * @world: (nullable) (transfer full)
 * @error: (nullable): with which this process ends
 *
 * Waits for all processes to end, unless one has failed: then all end, with its
 * line.
 */
void ra_world_close(RaWorld *world, const GError *error);

/* The process of rank @rank of @n_ranks: contiguous parts. */
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
 * @hash: of what all must have alike
 * @what: that is, "the task graph"
 * @error: %RA_ERROR_INPUT: the processes that differ from process 0
 *
 * By all.
 */
gboolean ra_world_agree(RaWorld *world, uint64_t hash, const char *what,
                        GError **error);

#endif
