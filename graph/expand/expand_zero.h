/* Sharding of a call: reductions over sets of shards, and the gathers and
 * reductions of ZeRO 2 and 3 around every micro-batch.
 *
 * Private to graph/.  The dp replicas of a call (each with its cp ranks) form
 * n_sets sets of set_size neighbours.  A set has one copy of the sharded data
 * (zero 0: one set of all replicas, which share only the sum of gradients).
 *
 * Conventions, with m micro-batches, d ranks of a set, P bytes of parameters
 * and G of gradients:
 *
 *   zero 0  all-reduce of G, once per mini-batch: 2 (d - 1) / d G per rank
 *   zero 1  reduce-scatter of G and all-gather of P, once per mini-batch
 *           (Megatron-LM's distributed optimizer)
 *   zero 2  reduce-scatter of G after every micro-batch, as gradients are kept
 *           as shards; all-gather of P once per mini-batch
 *   zero 3  all-gather of P before forward and again before backward, and
 *           reduce-scatter of G, every micro-batch (arXiv 1910.02054, sections
 *           5 and 7; DeepSpeed with gradient accumulation, PyTorch FSDP
 *           without no_sync())
 *   experts that are spread (ep, expert-tp): the same, over the ranks that hold
 *           the same ones; those of one rank alone are whole (FSDP with expert
 *           parallelism: nemo_automodel, torchtitan)
 *   sets    scatter within the set, then all-reduce of the shards across sets
 *           once per mini-batch (two-hop synchronization of MiCS, arXiv
 *           2205.00119, section 3.4)
 *
 * A stage with zero 3 runs in at most 8 buckets of layers.  Its forwards and
 * backwards are one chain of buckets i = 0, 1, ... in the order of its
 * schedule.  The gather of i overlaps the computation of i - 1 and waits for
 * the end of i - 2, so two buckets are whole at a time; with `gathers =
 * in-turn` a forward's waits for the end of i - 1.  Backward gathers again what
 * forward has just used.  The first gather of a pass waits for the
 * preceding computation of the GPU.
 */
#ifndef RA_GRAPH_EXPAND_EXPAND_ZERO_H
#define RA_GRAPH_EXPAND_EXPAND_ZERO_H

#include "graph/expand/expand_call.h"

/* Largest number of buckets of a stage's forward or backward with zero 3.
 * FSDP's unit is a layer; the limit keeps the graph of a deep model small. */
#define RA_ZERO_MAX_BUCKETS 8

/**
 * ra_zero_reduce:
 * @spec: kind, stage, mini_batch, micro_batch, bucket and node of the tasks
 * @n_params: parameters whose gradients are reduced
 * @ready: (array length=dp): task after which a replica has its gradients;
 *   RA_NONE: it is folded into another
 * @across: reduce across sets too; else a later call does
 * @out_ends: (out) (array length=n_sets) (optional): last task of each set
 *
 * Reduces gradients of one stage over dp.
 */
void ra_zero_reduce(RaCallContext *context, const RaTaskSpec *spec,
                    uint64_t n_params, const RaTaskId *ready, gboolean across,
                    RaTaskId *out_ends);

/* Experts' share of a collective: a task of its own, behind the dense one of
 * @spec in its queue; @bucket sets its name apart.  %RA_NONE: a rank alone has
 * them. */
RaTaskId ra_zero_experts_task(const RaCallContext *context, RaTaskSpec spec,
                              uint32_t bucket, RaOpKind kind, RaDtype dtype,
                              uint64_t n_params);

/* Collective of a set over @n_params; each tp rank has its own. */
RaOp ra_zero_op(const RaCallContext *context, RaOpKind kind, RaDtype dtype,
                uint64_t n_params);

/* Trained parameters of experts of @piece's layers in fp8, on a GPU. */
uint64_t ra_zero_n_fp8_experts(const RaCallContext *context,
                               const RaPiece *piece);

/* Gather of the @n_params updated parameters of stage @stage that all data
 * ranks have, with zero 1 and 2; those stored in fp8 are gathered so.
 * @pieces: of the call. */
RaOp ra_zero_gather_op(const RaCallContext *context, const RaPiece *pieces,
                       uint32_t stage, uint64_t n_params);

/* Group of the lanes of stage @stage in set @set. */
uint32_t ra_zero_lanes(const RaCallContext *context, uint32_t set,
                       uint32_t stage);

/* TRUE if set @set has tasks; FALSE: the whole set is folded into another. */
gboolean ra_zero_has(const RaCallContext *context, uint32_t set);

/* Tasks of a gather, one behind the other: of what all data ranks have, then
 * of experts. */
typedef struct {
  RaTaskId first, last; /* the same without experts; RA_NONE: folded */
} RaGather;

/* Pass: the pipelines of one mini-batch, or the forwards of a part. */
typedef struct {
  RaCallContext *x;
  uint32_t node;
  uint16_t mini_batch;
  RaGather *first; /* (pp x n_sets) first gathers; NULL below zero 3 */
} RaZeroPass;

/* Begins a pass, before its pipelines are appended.  @gates: (array
 * length=n_gates): tasks for which the first gathers wait. */
void ra_zero_begin(RaZeroPass *pass, RaCallContext *context, uint32_t node,
                   uint16_t mini_batch, const RaTaskId *gates, guint n_gates);

/* Ends a pass: adds the gathers and, with zero 2 and 3, the reductions.
 * @pipelines: (array length=dp), NULL where folded. */
void ra_zero_end(RaZeroPass *pass, RaPipeline *const *pipelines);

#endif
