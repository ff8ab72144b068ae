/* A run: the task graph, really executed.
 *
 * SPMD over the expanded graph at stage fidelity: every GPU of the plan is a
 * rank, a thread, which runs its own tasks in the order of their numbers.  That
 * is program order from node to node and the order of the schedule within a
 * call, so nothing is decided at run time and ranks that share a task meet in
 * it; calls on disjoint meshes run at the same time.  A rank waits where the
 * graph has an edge from another node: for data, for parameters, for a copy to
 * be free.
 *
 *     g_autoptr(RaRun) run = ra_run_new(graph, &options, &error);
 *     ra_run_go(run);
 *     ra_run_iteration(run, 0)->reward
 *     ra_run_trace(run, trace);     tasks by the names of the simulator's
 *
 * What a call does follows from its kind, its model and what it reads:
 *
 *   generate   samples responses of the lengths that the graph drew; makes
 *              texts and log-probabilities
 *   inference  lm head: log-probabilities of the responses (a reference); value
 *              head: values of a model that is trained, else the value of the
 *              last token, the reward
 *   host       the reward by the run's rule
 *   train      lm head: with values among its inputs PPO (arXiv 1707.06347) on
 *              GAE, reward less kl times log-ratio to a reference a token;
 *              with rewards of greedy answers ReMax (arXiv 2310.10505); with
 *              rewards alone GRPO (arXiv 2402.03300) on advantages within a
 *              prompt's samples, of a workload of algorithm rloo RLOO (arXiv
 *              2402.14740); without rewards cross-entropy of the responses,
 *              with a reference of a data set DPO (arXiv 2305.18290).  Value
 *              head: the clipped value loss; of a data set a reward model's
 *              (arXiv 2203.02155)
 *
 * A generate call of which only rewards reach ReMax takes the most likely
 * tokens.  A mini-batch's loss is the mean over its response tokens, or pairs.
 * Parameters are seeded (exec/model/params.h), or those of a checkpoint
 * (exec/weights/weights.h).  A call
 * reads the version that the graph says: with staleness s iteration k reads
 * what iteration k - 1 - s has trained, from as many copies as that takes; in
 * the layout of training too, where each iteration leaves the version that it
 * began with to readers that are behind.
 *
 * With zero 1 a rank steps its shard of the parameters (exec/model/shards.h),
 * with cp it computes its chunks of sequences (exec/model/ring.h).  Not run,
 * and refused: zero 2 and 3, continuous batching, 16-bit
 * types, models that exec/model/stage.h refuses.
 * A send leaves when its computation ends and waits for nobody; a gradient
 * bucket is started where the graph has it and waited for by what reads the
 * gradients, so backwards go on beside it: the last rank of its group to come
 * reduces it, and ranks that wait help.
 */
#ifndef RA_EXEC_RUN_H
#define RA_EXEC_RUN_H

#include "exec/accelerator.h"
#include "exec/comm/world.h"
#include "exec/experience.h"
#include "exec/model/stage.h"
#include "exec/reward.h"
#include "exec/run_nccl.h"
#include "exec/weights/weights.h"
#include "graph/expand/task.h"
#include "traces/trace.h"

typedef struct _RaRun RaRun;

/* Of one iteration; sums over what its ranks found. */
typedef struct {
  double begin_s;     /* seconds from the start of the run */
  double end_s;       /* its last task */
  double reward;      /* mean over sequences; of pairs the share whose chosen
                         answer is ahead, before each step */
  double kl;          /* mean over response tokens of log-prob less reference */
  double policy_loss; /* mean over the mini-batches */
  double value_loss;  /* likewise; of a reward model that of its pairs */
  double grad_norm;   /* of the policy's last mini-batch, before clipping; of
                         what is trained where no policy is */
  uint32_t n_steps;   /* of decoding, of all replicas of generate calls */
  uint32_t n_ties;    /* sampled tokens that a change of 1e-5 of a probability
                         would have changed */
  RaStepsTally steps; /* of calls with launch = graph: of micro-batches, on
                         first stages */
} RaRunIteration;

typedef void (*RaRunFunc)(uint32_t iteration, const RaRunIteration *result,
                          gpointer data);

/* @order: of several, the smallest was first */
typedef void (*RaRunFaultFunc)(const char *line, uint64_t order, gpointer data);

typedef struct {
  uint64_t seed;                   /* of parameters, prompts, sampling */
  RaNumerics numerics;             /* of models without weights of their own */
  const RaWeights *const *weights; /* (nullable) (n_models) borrowed until
                             ra_run_new() returns, checked; NULL: seeded */
  RaCpuSampling sampling;          /* of generate calls */
  RaCpuAdamw policy;               /* of models with an lm head */
  RaCpuAdamw value;                /* of models with a value head */
  float max_grad_norm; /* gradients are scaled down to it; 0: never */
  float clip;          /* of PPO's ratio */
  float value_clip;    /* of a value's change; 0: none */
  float kl_weight;     /* of the KL to the reference */
  float beta;          /* of DPO */
  float gamma, lambda; /* of GAE */
  RaRewardFunc rule;   /* of host calls */
  uint32_t n_threads;  /* of each rank, >= 1; results do not depend on it */
  const RaBackend *backend; /* (nullable) borrowed: of all ranks, which are then
                               threads of one process; NULL: the host's */
  const RaAccelerator *accelerator; /* (nullable) borrowed: the device that they
                                       share, backend is its; NULL: cores */
  const RaRunNccl *nccl; /* (nullable) borrowed: carries between ranks that have
                            a GPU each; NULL: threads and the world do */
  const char *checkpoint; /* (nullable): folder of checkpoints, borrowed while
                             the run goes; exec/checkpoint.h */
  uint32_t every;         /* iterations from one to the next, >= 1 */
  uint32_t keep;          /* how many stay, the newest, >= 1 */
  gboolean check;         /* checksums after every reallocation */
  gboolean ops;           /* rows of ops in the trace */
  gboolean reuse;         /* in which products of decode steps say the reuse of
                             their weights (graph/op/op_reuse.h) */
  gboolean cpu_clock;     /* times are CPU seconds of the process: on a machine
                             that does other things too, for one rank of one
                             thread */
  RaWorld *world;       /* (nullable) borrowed: processes that share the ranks;
                             NULL: all are threads of this one */
  double stall_s;       /* with fault: a rank that neither goes on nor waits for
                         so long has stalled; 0: never */
  RaRunFaultFunc fault; /* (nullable): what ends the run at once, a number that
                           is not finite or a stall; on a thread of its own.
                           NULL, or if it returns: the run ends at the next
                           checkpoint, or goes to its end */
  gpointer fault_data;  /* for fault */
  RaRunFunc progress;   /* (nullable): after every iteration, on some rank's
                             thread, one at a time */
  gpointer progress_data; /* for progress */
} RaRunOptions;

/* Of all that processes which run one graph together have alike: its tasks,
 * their order and shapes, and the options that numbers depend on.  O(graph). */
uint64_t ra_run_hash(const RaTaskGraph *graph, const RaRunOptions *options);

/* Adam 1e-3 (0.9, 0.999), clipped to 1; PPO clip 0.2, values unclipped, kl
 * 0.01, DPO's beta 0.1, gamma 1, lambda 0.95; temperature 1; rule "even". */
void ra_run_options_init(RaRunOptions *options);

/**
 * ra_run_new:
 * @graph: unfolded, stage fidelity; borrowed
 * @options: copied
 * @error: %RA_ERROR_INPUT: what the back end does not run, too few GPUs;
 *   %RA_ERROR_NO_DEVICE: no CBLAS; %RA_ERROR_DEVICE: NCCL's
 *
 * Makes ranks, communicators, parameters, experience.
 *
 * Returns: (transfer full): ra_run_free() it
 */
RaRun *ra_run_new(const RaTaskGraph *graph, const RaRunOptions *options,
                  GError **error);
void ra_run_free(RaRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaRun, ra_run_free)

/**
 * ra_run_go:
 * @error: %RA_ERROR_DEVICE: a reallocation whose checksums differ, an op whose
 *   result is not finite;
 *   %RA_ERROR_IO: a checkpoint that cannot be written
 *
 * Runs every task once, but those of iterations that a checkpoint has
 * (ra_checkpoint_load()).  Where checkpoints are written all ranks wait for
 * each other, and what that takes is in no task's time.   Thread: blocks; makes
 * and joins a thread a rank.
 */
gboolean ra_run_go(RaRun *run, GError **error);

const RaRunIteration *ra_run_iteration(const RaRun *run, uint32_t iteration);

/* What a GPU's rank has held, by the executor's own allocators. */
typedef struct {
  guint64 states_bytes; /* weights of all copies, gradients, moments, at one
                            time at most */
  guint64 passes_bytes; /* activations, workspaces, caches of keys and values,
                            at one time at most */
  guint64 host_bytes;   /* states in pinned host memory */
  guint64
      account_bytes;    /* peak of the account (graph/memory/memory_blocks.h) */
  guint64 slab_bytes;   /* of the slab that was planned by it */
  guint64 beyond_bytes; /* that passes took beside it */
  guint64 ops_bytes;    /* that its ops had besides: RaBackend.held_bytes() */
  guint64 device_bytes; /* that its device had in use, at most, for whatever,
                            when a rank ended; 0: not known */
} RaRunMemory;

/**
 * ra_run_memory:
 * @gpu: of the cluster; one that no call uses holds nothing
 * @out_memory: (out)
 *
 * After ra_run_go().  What it leaves out is on its way for a moment: messages,
 * packed slices, a step's logits.
 */
void ra_run_memory(const RaRun *run, uint32_t gpu, RaRunMemory *out_memory);

/* A row a task, begin: its last rank began, end: its last rank ended; with
 * RaRunOptions.ops also one an op and rank, by the names of op fidelity
 * (graph/expand/op_program.h), `TASK/l3/gemm.1`: every rank of a collective has
 * one. A task of a single op has that in its own row; of what moves, and of
 * host work, that is what the graph says, not what was seen to move.  No row
 * has: tokens that go back to the first stage in decoding, sums over answers
 * that ranks share (DPO), gradients of key heads,
 * norms and routers summed by the ranks that share them, the norm of the
 * gradients, what sequence parallelism gathers a second time. */
void ra_run_trace(const RaRun *run, RaTrace *trace);

/**
 * ra_run_pace:
 *
 * Returns: seconds of the wall that a second of a core took, over the recorded
 *   ops that wait for nobody, of the ranks in this process; 0: not known (ops
 *   were not recorded, or have several threads, another clock or a GPU)
 */
double ra_run_pace(const RaRun *run);

/* (nullable): what GPU @gpu holds for @call, its newest version. */
const RaParams *ra_run_params(const RaRun *run, uint32_t call, uint32_t gpu);

/**
 * ra_run_fetch:
 * @model: whose parameters process 0 has in full from now on
 *
 * By all processes of the world; what other processes have is there, for
 * ra_run_params(), until ra_run_drop().   Cost: of the bytes, in memory too.
 */
void ra_run_fetch(RaRun *run, uint32_t model);
void ra_run_drop(RaRun *run, uint32_t model);

/* What a rank asks for while it does something else, or does not wait for. */
typedef enum {
  RA_AHEAD_STAGES, /* between stages, before the task begins that reads them */
  RA_AHEAD_STEPS,  /* of a decode step, before the group before is computed,
                       and tokens, before what they follow */
  RA_AHEAD_LAPS,   /* tokens of a group's last step that are not waited for when
                       the group before it begins its next */
  RA_AHEAD_SLICES, /* of a reallocation, before their turn */
  RA_AHEAD_EXPERTS, /* rows of experts, before those to others are packed */
  RA_AHEAD_CALLS,   /* ends that only a later stage of a node waits for, when a
                        rank that is not of that stage enters it */
  RA_AHEAD_RELOADS, /* states in host memory, while another call runs */
  RA_N_AHEAD
} RaAhead;

/* How many of a kind there were so far, of all ranks. */
uint32_t ra_run_n_ahead(const RaRun *run, RaAhead kind);

/* The first iteration that the run itself runs: 0 without a checkpoint. */
uint32_t ra_run_first_iteration(const RaRun *run);

/* What calls made in @iteration. */
const RaExperience *ra_run_experience(const RaRun *run, uint32_t iteration);

#endif
