/* State of a run while it executes.  Private to exec/run*.c.
 *
 * RaRun has what all ranks of a process share, RaRank what one rank has:
 * RaRankCall of one call, RaRankMemory, RaRankMessages and RaRankClock, each in
 * a header of its own.  exec/run_new.c makes them,
 * exec/run.c is the loop.
 */
#ifndef RA_EXEC_RUN_IMPL_H
#define RA_EXEC_RUN_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "exec/backend/team.h"
#include "exec/comm/comm_local.h"
#include "exec/comm/comm_nccl.h"
#include "exec/comm/comm_peer.h"
#include "exec/comm/world.h"
#include "exec/model/reshard.h"
#include "exec/run.h"
#include "exec/run_clock.h"
#include "exec/run_drawn.h"
#include "exec/run_memory.h"
#include "exec/run_messages.h"
#include "graph/augment/realloc.h"
#include "graph/memory/memory_table.h"

/* A micro-batch in progress on a rank. */
typedef struct {
  RaTokens *tokens;          /* owned */
  RaPass *pass;              /* owned */
  uint32_t first;            /* first of its sequences, in the call's order */
  const uint32_t *sequences; /* they, borrowed from the experience */
  float *d_output; /* gradient of the head's output, in the backward pass;
                       owned */
} RaMicroBatch;

/* A generation in progress on a rank. */
typedef struct {
  RaCache *cache;   /* owned */
  uint32_t first;   /* first of the replica's sequences */
  uint32_t *newest; /* (n_sequences) newest token of each, or RA_TOKEN_DRAWN
                       and its slot: the device has it; owned */
  uint32_t *n_done; /* (n_sequences) response tokens so far, owned */
  uint32_t n_steps; /* decode steps so far, of all parts */
} RaGeneration;

/* State of one call on one rank. */
typedef struct {
  gboolean is_in;       /* the rank is in the mesh of the call */
  RaCoord coord;        /* coordinates of the rank in the mesh */
  RaComm *tp, *dp;      /* communicators, from the rank's ends; dp: ranks with
                           the same parameters */
  RaComm *cp;           /* ranks that share sequences; NULL: none */
  RaComm *mesh, *ends;  /* the whole mesh; first and last stage */
  RaComm *ep, *experts; /* ranks that share experts; ranks that have the same
                           experts; NULL: all ranks have all experts */
  RaParams **params;    /* (n_versions) borrowed from the rank; for the copy
                           that training writes: the newest version, then older
                           ones */
  RaStage **stages;     /* (n_versions) owned */
  uint32_t n_versions;  /* versions of the copy: 1 + the staleness of its
                           readers */
  gboolean is_own;      /* training writes this copy */
  gboolean is_after;    /* runs after the training of its model */
  RaMicroBatch *micro;  /* (n_pieces, n_micro) owned */
  uint32_t n_pieces;
  uint64_t n_steps; /* optimizer steps taken */
  uint32_t n_left;  /* 1 + the last iteration whose first version is kept for
                       lagging readers; 0: none */
  RaGeneration generation;
  float clip_scale;       /* scale of the current mini-batch */
  float *advantages;      /* for iteration advantages_of, owned; NULL: not
                             made */
  float *returns;         /* likewise */
  uint32_t advantages_of; /* iteration that they belong to */
} RaRankCall;

/* A task of another node that a node waits for. */
typedef struct {
  RaTaskId task;
  RaTaskId head; /* only ranks that run this task, at a later stage, wait: it
                    follows in their lane; RA_NONE: all ranks of the node */
} RaEntry;

struct _RaRank {
  RaRun *run;
  uint32_t rank;
  uint32_t gpu;
  uint32_t device; /* device within its process, with NCCL */
  pthread_t thread;
  RaTeam *team;  /* threads of the rank, owned */
  RaComm **ends; /* (groups) ends of the run's splits; NULL: not a member;
                       owned */
  RaComm *alone; /* communicator of this rank only, owned */
  RaNccl *nccl;  /* owned; NULL: another communicator than NCCL */
  RaComm *world; /* communicator of reallocations, one of ends */
  RaComm *peer;  /* replaces world in reallocations; owned; NULL: use world */
  RaRankCall *calls; /* (n_calls) owned */
  RaDrawn drawn;
  RaRankMemory memory;
  RaRankMessages messages;
  RaRankClock clock;
};

/* The parameters with which a training began an iteration, kept for
 * checkpoints.  The graph has no reader of its last versions, but a resumed run
 * has. */
typedef struct {
  uint32_t model;
  uint32_t version;
  GPtrArray *parts; /* RaParams, owned */
} RaPast;

/* A group of ranks; see exec/run_groups.c. */
typedef struct _RaRunGroup RaRunGroup;

/* The fault that counts, of those that ranks have found; see
 * exec/run_fault.c. */
typedef struct {
  double at_s;    /* monotonic time at which the first was found; 0: none */
  uint64_t order; /* order of the fault in line: by task, then by op */
  char line[512];
} RaFault;

struct _RaRun {
  const RaTaskGraph *graph; /* borrowed */
  RaWorld *world;           /* borrowed; NULL: all ranks are threads of this
                               process */
  const RaPlan *plan;
  const RaWorkload *workload;
  const RaBackend *backend;
  RaMemoryTable *account; /* owned */
  RaRunOptions options;
  RaNumerics *numerics; /* (n_models) owned */
  uint32_t n_ranks;
  gboolean has_cores;        /* each thread has a core */
  uint32_t *rank_of_gpu;     /* (cluster GPUs) RA_NONE: no call uses the GPU;
                                owned */
  RaRank *ranks;             /* (n_ranks) owned */
  RaCommGroups *splits;      /* the communicators of the plan, owned */
  GPtrArray *groups;         /* RaRunGroup, owned */
  RaPeers *peers;            /* owned; NULL: reallocations are messages */
  RaTensorTable **tables;    /* (n_models) owned */
  RaExperience **experience; /* (n_iterations) owned */
  uint32_t *pred_begin;      /* (n_tasks + 1) CSR of predecessors, owned */
  RaTaskId *pred;            /* owned */
  GArray **entries;          /* (n_nodes) RaEntry: predecessors of each node,
                                owned */
  atomic_uint *n_ended;      /* (n_tasks) ranks that have ended the task,
                                owned */
  uint32_t *n_needed;        /* (n_tasks) ranks that run the task, owned */
  uint32_t *n_left;          /* (n_iterations) tasks that have not ended,
                                locked, owned */
  pthread_mutex_t lock;      /* guards the fields below, and results */
  pthread_cond_t progressed;
  atomic_uint n_waiting;
  RaRunIteration *results;  /* (n_iterations) owned */
  GArray **slices;          /* (n_calls) RaSlice of the reallocation to the
                               call, by tensor, owned; NULL: none */
  RaRounds **rounds;        /* (n_calls) the same as rounds, with NCCL, owned;
                               NULL: none */
  uint32_t **sets;          /* (n_calls) groups of each broadcast of a call's
                               rounds, owned */
  GHashTable *sums;         /* checksums of reallocations by task; owned */
  uint8_t *awaited;         /* (n_tasks, n_processes) whether the process waits
                               for the task; owned; NULL: no world */
  uint32_t *n_reports;      /* (n_iterations) processes that have ended the
                               iteration, locked; owned; NULL: no world */
  uint32_t begin_iteration; /* iterations that ranks run now: the first, and one
                               past the last */
  uint32_t end_iteration;
  GArray *past;             /* RaPast, owned */
  uint32_t first_iteration; /* first that no checkpoint has */
  const char *fault;        /* first fault that a rank found, static */
  RaFault found;            /* locked */
  pthread_t guard;          /* thread that detects faults, with
                               RaRunOptions.fault */
  atomic_bool is_over;      /* tells guard to end */
  double origin_s;
};

/* Seconds since the run began. */
double ra_run_now_s(const RaRun *run);

/* The node of @task. */
static inline const RaNode *
ra_run_node(const RaRun *run, RaTaskId task)
{
  return &run->graph->augmented->nodes[run->graph->node[task]];
}

/* TRUE if @gpu is in the mesh of @call.  The readers of a transfer run it: they
 * copy the data from the source's memory, so a source that computes does not
 * delay them. */
gboolean ra_run_reads(const RaRun *run, uint32_t call, uint32_t gpu);

/* TRUE if rank @rank is a thread of this process. */
static inline gboolean
ra_run_is_here(const RaRun *run, uint32_t rank)
{
  return !run->world || ra_world_process(run->world, rank, run->n_ranks) ==
                            run->world->process;
}

/* Number of ranks that share this machine's cores. */
uint32_t ra_run_n_here(const RaRun *run);

/* --- exec/run_fault.c ---
 *
 * ra_rank_fault() reports that @what happened in @task on @rank;
 * ra_rank_check() reports an op whose result is not finite.  ra_run_guard()
 * starts the thread that detects reports and stalled ranks, ra_run_unguard()
 * ends it.
 */
void ra_rank_fault(RaRank *rank, RaTaskId task, const char *what);
void ra_rank_check(RaRank *rank, RaTaskId task);
/* Reports that the rank has lost its peers.  It orders after all other faults
 * of its task. */
void ra_rank_lose(RaRank *rank, const char *line);
void ra_run_guard(RaRun *run);
void ra_run_unguard(RaRun *run);

/* --- exec/run_groups.c ---
 *
 * Sets the place of each rank in each call, and its ends of all groups.
 * @error: NCCL's.
 */
gboolean ra_run_add_groups(RaRun *run, GError **error);
/* Frees the rank's ends and leaves their groups; for all ranks before any slab
 * is freed. */
void ra_rank_clear_ends(RaRank *rank);

/* --- exec/run_nccl.c ---
 *
 * ra_run_add_rounds() makes the rounds of all reallocations, whose sets are
 * groups. ra_run_join_nccl() then makes the ends of all ranks here; all
 * processes call it.  @error: %RA_ERROR_DEVICE; %RA_ERROR_INPUT: too few
 * devices.
 */
void ra_run_add_rounds(RaRun *run);
gboolean ra_run_join_nccl(RaRun *run, GError **error);
/* Selects the rank's device for what the calling thread makes. */
void ra_rank_use(const RaRank *rank);
/* Between these calls the calling thread acts for @rank. */
void ra_rank_enter(RaRank *rank);
void ra_rank_leave(RaRank *rank);
/* Reallocates to @call as ra_reshard() does, in rounds. */
void ra_rank_realloc_rounds(RaRank *rank, uint32_t call,
                            const RaReshard *reshard, const RaParams *source,
                            RaParams *target);

/* --- exec/run_world.c ---
 *
 * ra_run_meet() finds what ranks in other processes wait for; ra_run_part()
 * frees that.
 */
void ra_run_meet(RaRun *run);
void ra_run_part(RaRun *run);
/* Reads the notes of other processes. */
void ra_run_listen(RaRun *run);
/* Reports that all ranks here have ended @iteration; locked. */
void ra_run_report(RaRun *run, uint32_t iteration);
/* Adds a rank's checksums (n) of a reallocation; compares them once all ranks
 * have added theirs. */
void ra_run_add_sums(RaRun *run, RaTaskId task, uint32_t n,
                     const uint64_t *sums);
void ra_run_compare_sums(RaRun *run, const RaNode *node, const uint64_t *sums);
/* ra_run_begin_together() starts all processes and their clocks together.
 * ra_run_settle() returns when all have ended and know each other's faults.
 * ra_run_collect() sends process 0 what it needs for a trace. */
void ra_run_begin_together(RaRun *run);
void ra_run_settle(RaRun *run);
void ra_run_collect(RaRun *run);

/* The first call that reads the copy that @call reads. */
uint32_t ra_run_copy_of(const RaPlan *plan, uint32_t call);

/* TRUE if @rank takes part in ending @task. */
gboolean ra_rank_runs(const RaRank *rank, RaTaskId task);

/* Index of the version of @call's copy on @rank that @iteration reads. */
uint32_t ra_rank_copy_index(const RaRank *rank, uint32_t call,
                            uint32_t iteration);

/* The rank's stage of @call for @iteration. */
RaStage *ra_rank_stage(const RaRank *rank, uint32_t call, uint32_t iteration);

/* Index at which @call keeps version @version of its parameters; RA_NONE: it
 * does not.  @n: trainings so far, which is the newest version. */
uint32_t ra_checkpoint_slot(const RaRankCall *call, uint32_t version,
                            uint32_t n);
/* Keeps the result of training after @n iterations. */
void ra_checkpoint_keep(RaRun *run, uint32_t n);
/* The largest lag of a reader, in versions. */
uint32_t ra_checkpoint_most_lag(const RaRun *run);
/* (transfer full): the checksum of a model that is not trained. */
char *ra_checkpoint_frozen_sum(const RaRun *run, uint32_t model);

/* TRUE if generate call @call samples greedily: it makes ReMax's baseline, on
 * which no model is trained. */
gboolean ra_run_is_greedy(const RaRun *run, uint32_t call);

/* TRUE if @task sums gradients of experts only. */
gboolean ra_run_is_experts(const RaRun *run, RaTaskId task);
/* Replicas (first, and one past the last) whose decode steps exchange rows with
 * those of @replica. */
RaSpan ra_run_replicas_met(const RaRun *run, uint32_t call, uint32_t replica);

/* --- exec/run_train.c ---
 *
 * ra_rank_cut() cuts @params to the rank's part in @call, which trains: where
 * the ranks have a shard of the moments each, to that shard.
 */
void ra_rank_cut(const RaRank *rank, uint32_t call, RaParams *params);

/* Rank of the run at coordinates @coord of @call. */
uint32_t ra_run_rank_at(const RaRun *run, uint32_t call, const RaCoord *coord);

/* Execution of a task on this rank, by the kind of the task. */
void ra_rank_forward(RaRank *rank, RaTaskId task);
void ra_rank_backward(RaRank *rank, RaTaskId task);
void ra_rank_send(RaRank *rank, RaTaskId task);
/* TRUE if the rank runs @task in its own order; the task before a send runs
 * it. */
gboolean ra_rank_has_turn(const RaRank *rank, RaTaskId task);
void ra_rank_reduce(RaRank *rank, RaTaskId task);
void ra_rank_reduce_embedding(RaRank *rank, RaTaskId task);
void ra_rank_gather(RaRank *rank, RaTaskId task);
void ra_rank_clip(RaRank *rank, RaTaskId task);
void ra_rank_step(RaRank *rank, RaTaskId task);
void ra_rank_decode(RaRank *rank, RaTaskId task);
void ra_rank_realloc(RaRank *rank, RaTaskId task);
void ra_rank_transfer(RaRank *rank, RaTaskId task);
void ra_rank_host(RaRank *rank, RaTaskId task);
void ra_rank_copy(RaRank *rank, RaTaskId task);

/* Samples the first tokens after a micro-batch of a prefill, where the head
 * is. */
void ra_rank_first_tokens(RaRank *rank, RaTaskId task, RaMicroBatch *micro);
/* --- exec/run_sample.c ---
 *
 * ra_rank_draw() is the sampling request of a pass of generation @task: the
 * next token of @n sequences, @slots; fills @uniforms (n).
 * ra_rank_draw_later() leaves those tokens, of a decode step of @group, on the
 * device.
 * ra_rank_keep_drawn() stores what was drawn, and waited for, as the newest
 * tokens; the first tensor-parallel rank also writes it to the experience.
 * ra_rank_settle_drawn() waits for what was left, if any, and does likewise.
 */
RaDraw ra_rank_draw(RaRank *rank, RaTaskId task, uint32_t n,
                    const uint32_t *slots, double *uniforms);
void ra_rank_draw_later(RaRank *rank, RaTaskId task, uint32_t group,
                        const uint32_t *slots, RaDraw *draw);
void ra_rank_keep_drawn(RaRank *rank, RaTaskId task);
void ra_rank_settle_drawn(RaRank *rank, RaTaskId task);
/* The generation that @task belongs to, for its replica. */
const RaDynamic *ra_run_dynamic(const RaRun *run, RaTaskId task);
/* The generation of @task's node on the rank; makes its cache at the first
 * call. */
RaGeneration *ra_rank_generation(RaRank *rank, RaTaskId task);
/* Counts one more token for @slots (n), which may not have arrived yet.
 * Sequences that are complete lose their keys and values. */
void ra_generation_count(RaGeneration *generation, const RaDynamic *dynamic,
                         uint32_t n, const uint32_t *slots);
void ra_generation_clear(RaGeneration *generation);

/* Makes the output of an inference call after a forward pass with the head. */
void ra_rank_finish_inference(RaRank *rank, RaTaskId task, RaMicroBatch *micro);
/* Adds the loss of a micro-batch or, in its backward pass, computes its
 * gradient. */
void ra_rank_loss(RaRank *rank, RaTaskId task, RaMicroBatch *micro,
                  gboolean gradient);

void ra_micro_batch_clear(RaMicroBatch *micro);

#endif
