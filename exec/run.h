/* A run: executes the task graph for real.
 *
 * SPMD over the expanded graph at stage fidelity: every GPU of the plan is a
 * rank, which is a thread.  A rank runs its own tasks in the order of their
 * numbers: program order from node to node, the order of the schedule within a
 * call.  Nothing is decided at run time, and ranks that share a task meet in
 * it.  Calls on disjoint meshes run concurrently.  A rank waits where the graph
 * has an edge from another node: for data, for parameters, for a copy to be
 * free.
 *
 *     g_autoptr(RaRun) run = ra_run_new(graph, &options, &error);
 *     ra_run_go(run);
 *     ra_run_iteration(run, 0)->reward
 *     ra_run_trace(run, trace);     tasks have the simulator's names
 *
 * The kind of a call, its model and its inputs determine what it does:
 *
 *   generate   samples responses of the lengths that the graph has; makes texts
 *              and log-probabilities
 *   inference  lm head: log-probabilities of the responses (a reference); value
 *              head: values if the model is trained, else the value of the last
 *              token, which is the reward
 *   host       the reward by the run's rule
 *   train      see below
 *
 * The rule of a train call with an lm head follows from what it reads:
 *
 *   values                PPO (arXiv 1707.06347) on GAE; the reward of a token
 *                         is reduced by kl times the log-ratio to a reference
 *   rewards and rewards of greedy responses
 *                         ReMax (arXiv 2310.10505)
 *   rewards alone         GRPO (arXiv 2402.03300) on advantages within a
 *                         prompt's samples; RLOO (arXiv 2402.14740) if the
 *                         workload's algorithm is rloo
 *   no rewards            cross-entropy of the responses; with a reference and
 *                         a data set, DPO (arXiv 2305.18290)
 *
 * A value head learns by the clipped value loss; on a data set, by the loss of
 * a reward model (arXiv 2203.02155).
 *
 * A generate call that reaches ReMax only through rewards takes the most likely
 * tokens.  The loss of a mini-batch is the mean over its response tokens, or
 * over its pairs.
 *
 * Parameters are seeded (exec/model/params.h) or come from a checkpoint
 * (exec/weights/weights.h).  A call reads the version that the graph gives:
 * with staleness s, iteration k reads what iteration k - 1 - s has trained,
 * from as many copies as that needs.  In the layout of training too, each
 * iteration leaves the version that it began with to readers that lag.
 *
 * With zero 1 a rank steps its shard of the parameters (exec/model/shards.h);
 * with cp it computes its chunks of the sequences (exec/model/ring.h).
 * Refused: zero 2 and 3, continuous batching, 16-bit types, and models that
 * exec/model/stage.h refuses.
 *
 * A send leaves when its computation ends, and its sender does not wait.  A
 * gradient bucket starts where the graph has it, and the reader of the
 * gradients waits for it; so the reduction overlaps with later backward passes.
 * The last rank of the group to arrive reduces it, with the help of ranks that
 * wait.
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

/* Results of one iteration: sums over what its ranks found. */
typedef struct {
  double begin_s;     /* start, seconds from the start of the run */
  double end_s;       /* end of its last task */
  double reward;      /* mean over sequences; for pairs, the fraction whose
                         chosen response scores higher, before each step */
  double kl;          /* mean over response tokens of the log-probability minus
                         the reference's */
  double policy_loss; /* mean over the mini-batches */
  double value_loss;  /* likewise; for a reward model, the loss of its pairs */
  double grad_norm;   /* norm in the policy's last mini-batch, before clipping;
                         without a policy, that of the trained model */
  uint32_t n_steps;   /* decode steps of all replicas of generate calls */
  uint32_t n_step_waits; /* of the host for tokens of these, where a replica is
                            one stage: exec/run_drawn.h */
  uint32_t n_ties;    /* sampled tokens that a change of a probability by 1e-5
                         would have changed */
  RaStepsTally steps; /* micro-batches of calls with launch = graph, counted on
                         first stages */
} RaRunIteration;

typedef void (*RaRunFunc)(uint32_t iteration, const RaRunIteration *result,
                          gpointer data);

/* Reports a fault; if several are found, that with the smallest @order came
 * first. */
typedef void (*RaRunFaultFunc)(const char *line, uint64_t order, gpointer data);

typedef struct {
  uint64_t seed;                   /* seed of parameters, prompts and
                                      sampling */
  RaNumerics numerics;             /* for models without weights of their own */
  const RaWeights *const *weights; /* (nullable) (n_models) borrowed until
                                      ra_run_new() returns, checked; NULL:
                                      seeded parameters */
  RaCpuSampling sampling;          /* for generate calls */
  RaCpuAdamw policy;               /* optimizer of models with an lm head */
  RaCpuAdamw value;                /* optimizer of models with a value head */
  float max_grad_norm;             /* gradients with a larger norm are scaled
                                      down to it; 0: never */
  float clip;                      /* PPO's limit of the ratio */
  float value_clip;                /* limit of a value's change; 0: none */
  float kl_weight;                 /* weight of the KL to the reference */
  float beta;                      /* DPO's beta */
  float gamma, lambda;             /* GAE's */
  RaRewardFunc rule;               /* rule of host calls */
  uint32_t n_threads;              /* threads of a rank, >= 1; results do not
                                      depend on it */
  /* (nullable) borrowed: back end of all ranks, which are then threads of one
   * process; NULL: the host's */
  const RaBackend *backend;
  /* (nullable) borrowed: the device that all ranks share, whose back end is
   * @backend; NULL: the cores */
  const RaAccelerator *accelerator;
  /* (nullable) borrowed: NCCL, between ranks that have a GPU each; NULL:
   * threads and the world communicate */
  const RaRunNccl *nccl;
  const char *checkpoint; /* (nullable) folder of checkpoints, borrowed while
                             the run goes; exec/checkpoint.h */
  gboolean anyway;        /* resume a checkpoint of another workload too */
  uint32_t every;         /* iterations from one checkpoint to the next, >= 1 */
  uint32_t keep;          /* number of newest checkpoints to keep, >= 1 */
  gboolean check;         /* compare checksums after every reallocation, and
                             check the result of every op on a device too */
  gboolean ops;           /* rows of ops in the trace */
  gboolean reuse;         /* with ops: GEMMs of decode steps state the reuse of
                             their weights (graph/op/op_reuse.h) */
  gboolean cpu_clock;     /* times are CPU seconds of the process; for one rank
                             of one thread, on a machine that has other work
                             too */
  RaWorld *world;         /* (nullable) borrowed: processes that share the
                             ranks; NULL: all ranks are threads of this
                             process */
  double stall_s;         /* with fault: a rank has stalled if it neither
                             advances nor waits for so long; 0: never */
  /* (nullable) called on a thread of its own at a number that is not finite or
   * a stall, to end the program at once.  If NULL, or if it returns, the run
   * ends at the next checkpoint or at its own end */
  RaRunFaultFunc fault;
  gpointer fault_data;    /* argument of fault */
  RaRunFunc progress;     /* (nullable) called after every iteration on the
                             thread of some rank, one call at a time */
  gpointer progress_data; /* argument of progress */
} RaRunOptions;

/* Hash of all that must agree between processes which run one graph together:
 * tasks, their order and shapes, and options that change numbers.  O(graph). */
uint64_t ra_run_hash(const RaTaskGraph *graph, const RaRunOptions *options);

/* Sets the defaults: Adam 1e-3 (0.9, 0.999), norm clipped to 1; PPO clip 0.2,
 * values unclipped, kl 0.01; DPO's beta 0.1; gamma 1, lambda 0.95; temperature
 * 1; rule "even". */
void ra_run_options_init(RaRunOptions *options);

/**
 * ra_run_new:
 * @graph: unfolded, stage fidelity; borrowed
 * @options: copied
 * @error: %RA_ERROR_INPUT: the back end does not run this, or has too few GPUs;
 *   %RA_ERROR_NO_DEVICE: no CBLAS; %RA_ERROR_DEVICE: NCCL has failed
 *
 * Makes ranks, communicators, parameters and experience.
 *
 * Returns: (transfer full): free with ra_run_free()
 */
RaRun *ra_run_new(const RaTaskGraph *graph, const RaRunOptions *options,
                  GError **error);
void ra_run_free(RaRun *run);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaRun, ra_run_free)

/**
 * ra_run_go:
 * @error: %RA_ERROR_DEVICE: the checksums of a reallocation differ, or the
 *   result of an op is not finite; %RA_ERROR_IO: a checkpoint cannot be written
 *
 * Runs every task once, except those of iterations that a loaded checkpoint has
 * (ra_checkpoint_load()).  At a checkpoint all ranks wait for each other; no
 * task's time includes that.   Thread: blocks; makes and joins a thread per
 * rank.
 */
gboolean ra_run_go(RaRun *run, GError **error);

const RaRunIteration *ra_run_iteration(const RaRun *run, uint32_t iteration);

/* Memory that the rank of a GPU has used, by the executor's own allocators. */
typedef struct {
  /* peak of weights of all copies, gradients and optimizer moments */
  guint64 states_bytes;
  /* peak of activations, workspaces and caches of keys and values */
  guint64 passes_bytes;
  guint64 host_bytes; /* states in pinned host memory */
  guint64
      /* peak of the account (graph/memory/memory_blocks.h) */
      account_bytes;
  guint64 slab_bytes;   /* slab, planned by the account */
  guint64 beyond_bytes; /* used by passes outside the slab */
  /* besides, by the ops of the rank: RaBackend.held_bytes() */
  guint64 ops_bytes;
  /* in use on its device by any program, the maximum over the ends of ranks; 0:
   * unknown */
  guint64 device_bytes;
  /* of these, what its communicators over NCCL took before the first task: made
   * and connected, with the library's kernels */
  guint64 communicators_bytes;
} RaRunMemory;

/**
 * ra_run_memory:
 * @gpu: GPU of the cluster; one that no call uses has zeros
 * @out_memory: (out)
 *
 * After ra_run_go().  Excludes short-lived buffers: messages, packed slices,
 * the logits of a step.
 */
void ra_run_memory(const RaRun *run, uint32_t gpu, RaRunMemory *out_memory);

/* Adds a row per task: it begins when the last of its ranks begins, and ends
 * when the last one ends.  With RaRunOptions.ops also a row per op and rank,
 * with the names of op fidelity (graph/expand/op_program.h), such as
 * `TASK/l3/gemm.1`.  Every rank of a collective has a row.
 *
 * A task of a single op has that op in its own row; for moves and host work it
 * is the op of the graph, not what was measured.
 *
 * No row has: tokens that return to the first stage in decoding; sums over
 * responses that ranks share (DPO); gradients of key heads, norms and routers,
 * summed by the ranks that share them; the norm of the gradients; what sequence
 * parallelism gathers a second time.
 */
void ra_run_trace(const RaRun *run, RaTrace *trace);

/**
 * ra_run_pace:
 *
 * Returns: wall seconds per CPU second of a core, over ops that wait for no
 *   other rank, all that are recorded or one of 16, for ranks of this process;
 *   0: unknown (ops have several threads, another clock or a GPU)
 */
double ra_run_pace(const RaRun *run);

/* Numbers that the shape of @model leaves open. */
const RaNumerics *ra_run_numerics(const RaRun *run, uint32_t model);

/* (nullable): parameters of @call on GPU @gpu, the newest version. */
const RaParams *ra_run_params(const RaRun *run, uint32_t call, uint32_t gpu);

/**
 * ra_run_fetch:
 * @model: model whose parameters process 0 has in full from now on
 *
 * Called by all processes of the world.  Parameters of other processes are then
 * available to ra_run_params(), until ra_run_drop().   Cost: proportional to
 * the bytes, in time and memory.
 */
void ra_run_fetch(RaRun *run, uint32_t model);
void ra_run_drop(RaRun *run, uint32_t model);

/* Kinds of requests that a rank starts ahead of their use, or does not wait
 * for. */
typedef enum {
  /* messages between stages, before the task that reads them */
  RA_AHEAD_STAGES,
  /* messages of a decode step, before the previous group is computed; tokens,
   * before what they follow */
  RA_AHEAD_STEPS,
  /* tokens of a group's last step that do not delay the next step of the group
   * before it */
  RA_AHEAD_LAPS,
  RA_AHEAD_SLICES, /* slices of a reallocation, before their turn */
  /* rows of experts, before the rows for other ranks are packed */
  RA_AHEAD_EXPERTS,
  /* ends that only a later stage of a node waits for, when a rank of another
   * stage enters the node */
  RA_AHEAD_CALLS,
  /* states in host memory, while another call runs */
  RA_AHEAD_RELOADS,
  RA_N_AHEAD
} RaAhead;

/* Number of requests of @kind so far, of all ranks. */
uint32_t ra_run_n_ahead(const RaRun *run, RaAhead kind);

/* The first iteration that the run itself executes: 0 without a checkpoint. */
uint32_t ra_run_first_iteration(const RaRun *run);

/* Outputs of the calls of @iteration. */
const RaExperience *ra_run_experience(const RaRun *run, uint32_t iteration);

#endif
