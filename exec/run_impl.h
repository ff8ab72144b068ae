/* A run while it runs.  Private to exec/run*.c. */
#ifndef RA_EXEC_RUN_IMPL_H
#define RA_EXEC_RUN_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "exec/backend/team.h"
#include "exec/comm/comm_local.h"
#include "exec/comm/comm_nccl.h"
#include "exec/comm/comm_peer.h"
#include "exec/comm/device_message.h"
#include "exec/comm/heartbeat.h"
#include "exec/comm/world.h"
#include "exec/model/reshard.h"
#include "exec/run.h"
#include "graph/augment/realloc.h"
#include "graph/memory/memory_table.h"

/* A micro-batch under way on a rank. */
typedef struct {
  RaTokens *tokens; /* owned */
  RaPass *pass;     /* owned */
  uint32_t first;   /* of its sequences, in order of arrival */
  float *d_output;  /* gradient of the head's output, in its backward; owned */
} RaMicroBatch;

/* What a rank has of a generation under way. */
typedef struct {
  RaCache *cache;   /* owned */
  uint32_t first;   /* of the replica's sequences */
  uint32_t *newest; /* (n_sequences) newest token of each, owned */
  uint32_t *n_done; /* (n_sequences) response tokens so far, owned */
  uint32_t n_steps; /* of decoding so far, of all parts */
} RaGeneration;

/* A call on a rank. */
typedef struct {
  gboolean is_in;      /* the rank is in its mesh */
  RaCoord coord;       /* where */
  RaComm *tp, *dp;     /* of the rank's ends; dp: who has the same parameters */
  RaComm *cp;          /* who shares sequences; NULL: nobody */
  RaComm *mesh, *ends; /* the whole mesh; first and last stage */
  RaComm *ep, *experts; /* ranks that share experts; that hold the same; NULL:
                           all hold all */
  RaParams **params;    /* (n_versions) borrowed from the rank; of the copy that
                          training writes the newest, then older ones */
  RaStage **stages;     /* (n_versions) owned */
  uint32_t n_versions;  /* copies: 1 + the staleness of their readers */
  gboolean is_own;      /* the copy is the one that training writes */
  gboolean is_after;    /* runs after the training of its model */
  RaMicroBatch *micro;  /* (n_pieces, n_micro) owned */
  uint32_t n_pieces;
  uint64_t n_steps; /* optimizer steps taken */
  uint32_t n_left;  /* versions that training has left to who is behind */
  RaGeneration generation;
  float clip_scale;       /* of the mini-batch at hand */
  float *advantages;      /* of the iteration at hand, owned; NULL: not made */
  float *returns;         /* likewise */
  uint32_t advantages_of; /* iteration */
} RaRankCall;

/* A task of another node that a node waits for. */
typedef struct {
  RaTaskId task;
  RaTaskId head; /* of a later stage, whose ranks alone wait: those of one lane
                    follow each other; RA_NONE: all ranks of the node do */
} RaEntry;

/* When a task ran on a rank. */
typedef struct {
  RaTaskId task;
  double begin_s, end_s;
} RaTaskTime;

/* A reduction that goes on beside what the rank computes. */
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
  RaRun *run;
  uint32_t rank;
  uint32_t gpu;
  uint32_t device; /* of its process, with NCCL */
  pthread_t thread;
  RaTeam *team;  /* its threads, owned */
  RaComm **ends; /* (groups) of the run's splits; NULL: not in it; owned */
  RaComm *alone; /* of itself, owned */
  RaNccl *nccl;  /* owned; NULL: others carry */
  RaComm *world; /* for reallocation, of ends */
  RaComm *peer;  /* for it in its place; owned; NULL: world */
  RaComm *forward, *backward;   /* between stages; owned */
  RaRankCall *calls;            /* (n_calls) owned */
  RaSlabs *slabs;               /* of all its stages, owned */
  RaSlabs *moved;               /* parameters on their way, owned */
  void *slab;                   /* memory of the device, owned */
  guint64 slab_bytes;           /* planned */
  gboolean slab_is_shown;       /* it is memory of NCCL's, and enrolled */
  guint64 account_bytes;        /* peak of the account in its order */
  GArray *parts;                /* of RaRunPart, owned */
  guint64 states_bytes;         /* placed now */
  guint64 most_states_bytes;    /* at one time, at most */
  guint64 ops_bytes;            /* of RaRunMemory, as its thread ended */
  guint64 device_bytes;         /* likewise */
  GPtrArray *params;            /* all its parameters, owned */
  GArray *times;                /* of RaTaskTime, owned */
  GArray *pending;              /* of RaPending, owned */
  GArray *receives;             /* of RaReceive, owned */
  RaTaskId looked;              /* receives have been started up to it */
  uint32_t n_ahead[RA_N_AHEAD]; /* asked for ahead, by kind */
  GArray *ops;                  /* of exec/run_ops.c, owned; NULL: none */
  GArray *task_ops;             /* likewise */
  RaCpuTime paced;              /* of its ops that wait for nobody */
  uint32_t node;                /* that it has waited for */
  atomic_uint task;             /* at hand */
  atomic_bool is_at_work;       /* its thread runs */
  RaHeartbeat pulse;            /* of its thread */
  GByteArray *news;             /* of exec/run_world.c; owned, nullable */
  RaRunMemory memory;           /* of a rank in another process */
  double begin_s; /* of the task at hand: what it waits for may move it */
} RaRank;

/* What a training began an iteration with, for checkpoints: the graph's last
 * versions go to no reader of the graph, but to those of a run that goes on. */
typedef struct {
  uint32_t model;
  uint32_t version;
  GPtrArray *parts; /* of RaParams, owned */
} RaPast;

/* What has a place in a rank's slab for some time: exec/run_slab.c. */
typedef struct {
  RaTaskId first, last; /* of the rank's, while which it is there */
  uint32_t begin, end;  /* moments (graph/memory/memory_ahead.h) of its place */
  RaTaskId reload;      /* that brings it, asked for from first on; RA_NONE */
  gboolean lasts;       /* from before the run until after it */
  gboolean is_there;    /* params: it has its place now */
  uint32_t call;        /* of PARAMS and what goes with them the copy's first */
  RaParams *params;     /* borrowed; NULL: what passes hold */
  RaParamsState state;  /* with params */
  guint64 bytes;
  guint64 offset;
  RaRegion *region; /* without params, while it is there */
  RaBackendCopy *in,
      *out; /* its reload, its offload; owned; NULL: not begun, or
                              known to be over */
} RaRunPart;

/* A group of ranks of exec/run_groups.c. */
typedef struct _RaRunGroup RaRunGroup;

/* What ranks have found wrong; see exec/run_fault.c. */
typedef struct {
  double at_s;    /* monotonic, when the first was found; 0: nothing */
  uint64_t order; /* of what counts: tasks, then ops */
  char line[512];
} RaFault;

struct _RaRun {
  const RaTaskGraph *graph; /* borrowed */
  RaWorld *world;           /* borrowed; NULL: all ranks are here */
  const RaPlan *plan;
  const RaWorkload *workload;
  const RaBackend *backend;
  RaMemoryTable *account; /* owned */
  RaRunOptions options;
  uint32_t n_ranks;
  gboolean has_cores;     /* one for each thread */
  uint32_t *rank_of_gpu;  /* (cluster GPUs) RA_NONE: no call uses it; owned */
  RaRank *ranks;          /* (n_ranks) owned */
  RaCommGroups *splits;   /* which groups there are, owned */
  GPtrArray *groups;      /* RaRunGroup, owned */
  RaPeers *peers;         /* owned; NULL: reallocations are messages */
  RaTensorTable **tables; /* (n_models) owned */
  RaExperience **experience; /* (n_iterations) owned */
  uint32_t *pred_begin;      /* (n_tasks + 1) CSR of predecessors, owned */
  RaTaskId *pred;            /* owned */
  GArray **entries;          /* (n_nodes) RaEntry: what each waits for, owned */
  atomic_uint *n_ended;      /* (n_tasks) ranks that have ended it, owned */
  uint32_t *n_needed;        /* (n_tasks) ranks that run it, owned */
  uint32_t *n_left;          /* (n_iterations) tasks to end, locked, owned */
  pthread_mutex_t lock;      /* of what follows, and of results */
  pthread_cond_t progressed;
  atomic_uint n_waiting;
  RaRunIteration *results; /* (n_iterations) owned */
  GArray **slices;   /* (n_calls) RaSlice of the reallocation to it, by tensor,
                         owned; NULL: none */
  RaRounds **rounds; /* (n_calls) of the same with NCCL, owned; NULL: none */
  uint32_t **sets;   /* (n_calls) of each groups of its broadcasts, owned */
  GHashTable *sums;  /* of checksums of reallocations, by task; owned */
  uint8_t *awaited;  /* (n_tasks, n_processes) whether a process waits for it;
                         owned; NULL: no world */
  uint32_t *n_reports; /* (n_iterations) processes that have ended it, locked;
                          owned; NULL: no world */
  uint32_t begin_iteration; /* that ranks run now, and one past the last */
  uint32_t end_iteration;
  GArray *past;             /* of RaPast, owned */
  uint32_t first_iteration; /* that is not in a checkpoint */
  const char *fault;        /* first that a rank found, static */
  RaFault found;            /* locked */
  pthread_t guard;          /* looks on, with RaRunOptions.fault */
  atomic_bool is_over;      /* for it */
  double origin_s;
};

/* Seconds since the run began. */
double ra_run_now_s(const RaRun *run);

/* The node of @task, and the rank's part in its call. */
static inline const RaNode *
ra_run_node(const RaRun *run, RaTaskId task)
{
  return &run->graph->augmented->nodes[run->graph->node[task]];
}

/* Version of the parameters that @call reads in @iteration: trainings before
 * it; of a model that nothing trains 0. */
uint32_t ra_run_version(const RaRun *run, uint32_t call, uint32_t iteration);

/* Whether @gpu is in the mesh of @call.  A transfer is run by its readers: they
 * take the data from where it lies, so that a source that computes does not
 * hold them up. */
gboolean ra_run_reads(const RaRun *run, uint32_t call, uint32_t gpu);

/* Whether rank @rank is a thread of this process. */
static inline gboolean
ra_run_is_here(const RaRun *run, uint32_t rank)
{
  return !run->world || ra_world_process(run->world, rank, run->n_ranks) ==
                            run->world->process;
}

/* Ranks that share this machine's cores. */
uint32_t ra_run_n_here(const RaRun *run);

/* exec/run_fault.c: @task on @rank has met @what; the same if one of its ops
 * has made what is not finite; who looks for it and for ranks that stall. */
void ra_rank_fault(RaRank *rank, RaTaskId task, const char *what);
void ra_rank_check(RaRank *rank, RaTaskId task);
/* The rank's peers are lost to it: later than all else of its task. */
void ra_rank_lose(RaRank *rank, const char *line);
void ra_run_guard(RaRun *run);
void ra_run_unguard(RaRun *run);

/* exec/run_groups.c: where each rank is in each call, and its ends of all
 * groups.  @error: of NCCL's */
gboolean ra_run_add_groups(RaRun *run, GError **error);
/* They are freed, and what they were of is left: of all ranks before any. */
void ra_rank_clear_ends(RaRank *rank);

/* exec/run_nccl.c: the rounds of all reallocations, whose sets are groups; then
 * the ends of all ranks here, by all processes.  @error: %RA_ERROR_DEVICE;
 * %RA_ERROR_INPUT: too few devices */
void ra_run_add_rounds(RaRun *run);
gboolean ra_run_join_nccl(RaRun *run, GError **error);
/* What the calling thread makes is on the rank's device. */
void ra_rank_use(const RaRank *rank);
/* The calling thread is the rank's, and no more. */
void ra_rank_enter(RaRank *rank);
void ra_rank_leave(RaRank *rank);
/* Gives the rank memory of its device for a slab, and takes it.  Over NCCL it
 * is the library's own, enrolled in all groups that the rank is in, where it
 * can; then the ends of these are freed first. */
void ra_rank_slab_new(RaRank *rank, gsize n_bytes);
void ra_rank_slab_free(RaRank *rank);
/* As ra_reshard(), to @call. */
void ra_rank_realloc_rounds(RaRank *rank, uint32_t call,
                            const RaReshard *reshard, const RaParams *source,
                            RaParams *target);

/* exec/run_world.c: what ranks in other processes wait for; its memory. */
void ra_run_meet(RaRun *run);
void ra_run_part(RaRun *run);
/* That the task at hand has written @n elements from @first of what @call makes
 * of its iteration. */
void ra_rank_publish(RaRank *rank, uint32_t call, gboolean is_text,
                     uint32_t first, uint32_t n);
/* That @task has ended on @rank, to processes that wait for it. */
void ra_rank_tell(RaRank *rank, RaTaskId task);
/* What others have said. */
void ra_run_listen(RaRun *run);
/* All ranks here have ended @iteration; locked. */
void ra_run_report(RaRun *run, uint32_t iteration);
/* Adds a rank's checksums (n) of a reallocation; when all have, compares. */
void ra_run_add_sums(RaRun *run, RaTaskId task, uint32_t n,
                     const uint64_t *sums);
void ra_run_compare_sums(RaRun *run, const RaNode *node, const uint64_t *sums);
/* All processes begin, and so do their clocks; all have ended what they run,
 * and know of each other's faults; what process 0 makes a trace of. */
void ra_run_begin_together(RaRun *run);
void ra_run_settle(RaRun *run);
void ra_run_collect(RaRun *run);

/* The first call that reads the copy that @call reads. */
uint32_t ra_run_copy_of(const RaPlan *plan, uint32_t call);

/* Whether @task is among those that @rank ends. */
gboolean ra_rank_runs(const RaRank *rank, RaTaskId task);

/* Which of the copies of @call on a rank @iteration reads. */
uint32_t ra_rank_copy_index(const RaRank *rank, uint32_t call,
                            uint32_t iteration);

/* The rank's stage of @call for @iteration. */
RaStage *ra_rank_stage(const RaRank *rank, uint32_t call, uint32_t iteration);

/* Where @call keeps version @version of its parameters; RA_NONE: not there.
 * @n: trainings so far, the newest version. */
uint32_t ra_checkpoint_slot(const RaRankCall *call, uint32_t version,
                            uint32_t n);
/* Keeps what training has made after @n iterations. */
void ra_checkpoint_keep(RaRun *run, uint32_t n);
/* The most versions that a reader is behind. */
uint32_t ra_checkpoint_most_lag(const RaRun *run);
/* (transfer full): the checksum of a model that nothing trains. */
char *ra_checkpoint_frozen_sum(const RaRun *run, uint32_t model);

/* Whether generate call @call answers with the most likely tokens: ReMax's
 * baseline, of which nothing is trained on. */
gboolean ra_run_is_greedy(const RaRun *run, uint32_t call);

/* Whether @task sums gradients of experts alone. */
gboolean ra_run_is_experts(const RaRun *run, RaTaskId task);
/* Replicas, first and one past the last, whose decode steps exchange rows with
 * those of @replica. */
RaSpan ra_run_replicas_met(const RaRun *run, uint32_t call, uint32_t replica);

/* exec/run_train.c: whether the ranks of @call each have shards of the moments;
 * cuts @params, of the rank's part in it, which trains, accordingly. */
gboolean ra_run_has_shards(const RaRun *run, uint32_t call);
void ra_rank_cut(const RaRank *rank, uint32_t call, RaParams *params);

/* Rank of the run at coordinates @coord of @call. */
uint32_t ra_run_rank_at(const RaRun *run, uint32_t call, const RaCoord *coord);

/* What a task does on this rank; by kind. */
void ra_rank_forward(RaRank *rank, RaTaskId task);
void ra_rank_backward(RaRank *rank, RaTaskId task);
void ra_rank_send(RaRank *rank, RaTaskId task);
/* Starts to receive what @task, about to run, and the next tasks of its node
 * will read, so that messages arrive beside what the rank computes. */
void ra_rank_receive_ahead(RaRank *rank, RaTaskId task);
/* Whether the rank runs @task in its own order; sends are run by the task
 * before them. */
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

/* From now on @rank's stages record their ops. */
void ra_rank_record(RaRank *rank);
/* What they have recorded is @task's, which is over. */
void ra_rank_take_ops(RaRank *rank, RaTaskId task);
/* @task is one op: this one, as this rank has run it. */
void ra_rank_set_op(RaRank *rank, RaTaskId task, RaOpKind kind, uint64_t d0,
                    uint64_t d1);
/* (transfer full) (nullable): (n_tasks) of tasks that were one op the first
 * rank's, of what moves what the graph says that it is; kind RA_N_OPS: several.
 * NULL: ops were not recorded. */
RaOp *ra_run_task_ops(const RaRun *run);
/* A row an op and rank, at the end of @trace. */
void ra_run_trace_ops(const RaRun *run, RaTrace *trace);

/* After a prefill's micro-batch: its first tokens, where the head is. */
void ra_rank_first_tokens(RaRank *rank, RaTaskId task, RaMicroBatch *micro);
/* What a pass of generation @task is to draw: the next token of @n sequences,
 * @slots, to @chosen (n); fills @uniforms (n). */
RaDraw ra_rank_draw(const RaRank *rank, RaTaskId task, uint32_t n,
                    const uint32_t *slots, double *uniforms,
                    RaCpuSample *chosen);
/* The tokens of @chosen, which the first tensor-parallel rank writes down. */
void ra_rank_keep_drawn(RaRank *rank, RaTaskId task, uint32_t n,
                        const uint32_t *slots, const RaCpuSample *chosen,
                        uint32_t *out_tokens);
/* The generation that @task is of, of its replica. */
const RaDynamic *ra_run_dynamic(const RaRun *run, RaTaskId task);
/* The cache of the generation of @task's node, made when first asked for. */
RaGeneration *ra_rank_generation(RaRank *rank, RaTaskId task);
/* @slots (n) have one token more, which may be on its way; those that have all
 * of theirs need their keys and values no more. */
void ra_generation_count(RaGeneration *generation, const RaDynamic *dynamic,
                         uint32_t n, const uint32_t *slots);
void ra_generation_clear(RaGeneration *generation);

/* After a forward with the head: what the call makes of it. */
void ra_rank_finish_inference(RaRank *rank, RaTaskId task, RaMicroBatch *micro);
/* The loss of a micro-batch, or in its backward the gradient of it. */
void ra_rank_loss(RaRank *rank, RaTaskId task, RaMicroBatch *micro,
                  gboolean gradient);

/* Writes down an op of @task that the rank's stage does not see and that ends
 * now, if ops are recorded: where the stage is. */
void ra_rank_add_op(const RaRank *rank, RaTaskId task, RaOpKind kind,
                    double begin_s, uint64_t d0, uint64_t d1);

void ra_micro_batch_clear(RaMicroBatch *micro);

/* --- exec/run_memory.c --- */

/* What its ops and its device have, as its thread ends. */
void ra_rank_look_at_memory(RaRank *rank);

/* --- exec/run_slab.c --- */

/* Plans the rank's slab, takes its memory, and gives its parameters places and
 * what they begin as. */
void ra_rank_make_slab(RaRank *rank);
void ra_rank_free_slab(RaRank *rank);
/* What comes with @task, what goes with it. */
void ra_rank_begin_parts(RaRank *rank, RaTaskId task);
void ra_rank_end_parts(RaRank *rank, RaTaskId task);
/* As if iterations before @n had run. */
void ra_rank_skip_parts(RaRank *rank, uint32_t n);
/* Gives @part, which a reload brings, its place. */
void ra_rank_take_part(RaRank *rank, RaRunPart *part);

/* --- exec/run_copies.c --- */

/* Asks for what reloads behind @task bring, as soon as the graph lets them. */
void ra_rank_reload_ahead(RaRank *rank, RaTaskId task);
/* What is begun in @queue next may write where @part is: it comes behind what
 * still goes from there. */
void ra_rank_follow_offloads(const RaRank *rank, RaBackendQueue queue,
                             const RaRunPart *part);
/* Waits for all copies. */
void ra_rank_end_copies(RaRank *rank);

#endif
