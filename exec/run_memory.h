/* Memory of a rank: its slab, the parts of the slab, and what they took.
 * Private to exec/run*.c.
 *
 * A part exists from one task of the rank to another, at an offset that is
 * planned when the run is made (exec/run_slab.c).  Reloads and offloads fill
 * and empty parts while the rank computes (exec/run_copies.c).
 *
 * Invariant: two parts that exist at the same time have no byte in common.
 */
#ifndef RA_EXEC_RUN_MEMORY_H
#define RA_EXEC_RUN_MEMORY_H

#include "exec/model/params.h"
#include "exec/model/slabs.h"
#include "exec/run.h"

typedef struct _RaRank RaRank;

/* An allocation in a rank's slab and the time during which it exists:
 * exec/run_slab.c. */
typedef struct {
  RaTaskId first, last; /* tasks of the rank from and to which it exists */
  uint32_t begin, end;  /* moments (graph/memory/memory_ahead.h) during which
                           its place is taken */
  RaTaskId reload;      /* task that loads it, requested from first on; RA_NONE:
                           none */
  gboolean lasts;       /* exists from before the run until after it */
  gboolean is_there;    /* with params: it has its place now */
  uint32_t call;        /* the call; for parameters and their states, the first
                           call of the copy */
  RaParams *params;     /* borrowed; NULL: the region of a call's passes */
  RaParamsState state;  /* state of params */
  guint64 bytes;
  guint64 offset;
  RaRegion *region; /* region, without params, while it exists */
  RaBackendCopy *in,
      *out; /* reload and offload in progress; owned; NULL: not begun, or known
               to have ended */
} RaRunPart;

typedef struct {
  RaSlabs *slabs;              /* buffers of all its stages, owned */
  RaSlabs *moved;              /* parameters in transit, owned */
  GPtrArray *params;           /* RaParams: all its parameters, owned */
  void *slab;                  /* device memory, owned */
  guint64 slab_bytes;          /* planned size */
  gboolean slab_is_shown;      /* NCCL allocated the slab and registered it */
  GArray *parts;               /* RaRunPart, owned */
  guint64 states_bytes;        /* states placed now */
  guint64 most_states_bytes;   /* peak of states_bytes */
  guint64 account_bytes;       /* peak of the account along the rank's tasks */
  guint64 ops_bytes;           /* see RaRunMemory; read as the rank's thread
                                ends */
  guint64 device_bytes;        /* likewise */
  guint64 communicators_bytes; /* see RaRunMemory */
  RaRunMemory remote;          /* memory of a rank in another process */
} RaRankMemory;

/* --- exec/run_nccl.c ---
 *
 * Allocates device memory for the rank's slab, and frees it.  Over NCCL the
 * library allocates it where it can, and it is registered with all groups of
 * the rank; their ends must then be freed first. */
void ra_rank_slab_new(RaRank *rank, gsize n_bytes);
void ra_rank_slab_free(RaRank *rank);

/* --- exec/run_memory.c --- */

/* Bytes in use on the calling thread's device, by any program, and those that
 * are free; 0 and G_MAXUINT64: unknown. */
guint64 ra_run_device_bytes(const RaRun *run, guint64 *out_free);
/* Reads the memory of its ops and its device as its thread ends. */
void ra_rank_look_at_memory(RaRankMemory *memory, const RaRun *run);

/* --- exec/run_slab.c --- */

/* Plans the rank's slab, allocates it, places its parameters and initialises
 * them. */
void ra_rank_make_slab(RaRank *rank);
void ra_rank_free_slab(RaRank *rank);
/* Allocates the parts that begin with @task; frees those that end with it. */
void ra_rank_begin_parts(RaRank *rank, RaTaskId task);
void ra_rank_end_parts(RaRankMemory *memory, RaTaskId task);
/* Sets the parts as if the iterations before @n had run. */
void ra_rank_skip_parts(RaRank *rank, uint32_t n);
/* Gives @part, which a reload brings, its place in the slab. */
void ra_rank_take_part(RaRank *rank, RaRunPart *part);

/* --- exec/run_copies.c --- */

/* Requests the reloads that follow @task, as soon as the graph permits. */
void ra_rank_reload_ahead(RaRank *rank, RaTaskId task);
/* Orders what is begun next in @queue after copies from the place of @part. */
void ra_rank_follow_offloads(const RaRankMemory *memory, RaBackendQueue queue,
                             const RaRunPart *part);
/* Waits for all copies. */
void ra_rank_end_copies(RaRank *rank);

#endif
