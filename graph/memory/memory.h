/* Memory account: the memory of every GPU, by kind and call.
 *
 * A *holder* is a kind of memory and the call to which it belongs.  A copy of a
 * model (graph/augment/augment.h) belongs to the first call of its layout.
 *
 *     g_autoptr(RaMemory) memory = ra_memory_new(plan);
 *     memory->calls[call].stages[s].param_bytes
 *     g_autoptr(GArray) items = ra_memory_items(memory, augmented);
 *
 * parameters   Tensor slices of graph/augment/layout.h in the model's dtype;
 *              the largest of a stage's ranks (a vocabulary may not divide).
 * gradients    One value of grad-dtype per parameter, between training calls
 *              too: Megatron-LM's DistributedDataParallel has them in one
 *              buffer.  With `grad-residency = release`, and with parameters
 *              that live in host memory, they exist while training runs.
 * optimizer    AdamW: fp32 master weights and two moments, 12 bytes per
 *              parameter (arXiv 1910.02054, section 3.1); 8 if parameters are
 *              fp32; 4 less with 16-bit moments.  None if the CPU steps.
 * copy         Copy of a trained model in another layout, by its residency.  It
 *              has its own storage even if the training layout has the same
 *              slices.
 * activations, workspace   See graph/op/activation.h.  Workspace includes the
 *              8-bit copies of weights where linear layers compute in fp8 and
 *              store 16 bits: two with their scales to train, one to infer.
 * KV cache     Keys and values of the sequences in generation, in blocks of
 *              `kv-block` tokens; freed when a sequence ends.
 * buffers      A layer packed for sending while parameters move; the fp32 copy
 *              of 16-bit gradients while the optimizer runs.
 * framework    The cluster's framework-memory.
 * slack        The cluster's allocator-slack times all other memory except
 *              framework and what is firm, see ra_memory_is_firm().
 *
 * The system that runs the plan may have other habits
 * (graph/input/cluster.h).
 *
 * ZeRO divides the optimizer's bytes by the ranks of a set of shards; 2 also
 * divides gradients, 3 also parameters.  Data that is whole while a layer
 * computes is workspace.  With 3 this is the layer's parameters and the next
 * layer's, and always embedding and head; with 2 and 3 the layer's gradients
 * until they are scattered.  (PyTorch FSDP wraps each layer, and the rest is
 * its root unit.  Tasks gather several layers at a time only to keep the graph
 * small.)
 *
 * Calls run one after the other on a GPU (its compute queue), so transients of
 * two calls never coexist.
 *
 * Typical sizes: 6 calls of 1 to 16 stages; 10 to 50 items.
 */
#ifndef RA_GRAPH_MEMORY_MEMORY_H
#define RA_GRAPH_MEMORY_MEMORY_H

#include "graph/augment/augment.h"
#include "graph/op/op.h"

typedef enum {
  RA_HOLD_PARAMS,
  RA_HOLD_GRADS,
  RA_HOLD_OPTIMIZER,
  RA_HOLD_COPY,
  RA_HOLD_ACTIVATIONS,
  RA_HOLD_WORKSPACE,
  RA_HOLD_KV,
  RA_HOLD_BUFFERS,
  RA_HOLD_FRAMEWORK, /* belongs to no call: call 0 */
  RA_HOLD_SLACK,     /* belongs to no call: call 0 */
  RA_N_HOLDS
} RaHold;

/* Holder number of @kind and @call: below RA_N_HOLDS x calls. */
static inline uint32_t
ra_holder(RaHold kind, uint32_t call)
{
  return call * RA_N_HOLDS + (uint32_t)kind;
}

static inline RaHold
ra_holder_kind(uint32_t holder)
{
  return (RaHold)(holder % RA_N_HOLDS);
}

static inline uint32_t
ra_holder_call(uint32_t holder)
{
  return holder / RA_N_HOLDS;
}

/* (transfer full): "optimizer of actor", "activations of actor_train". */
char *ra_holder_name(const RaWorkload *workload, uint32_t holder);

/* Memory of a model on one GPU of a pipeline rank, bytes. */
typedef struct {
  uint64_t param_bytes;     /* as this call reads them */
  uint64_t grad_bytes;      /* 0: does not train */
  uint64_t optimizer_bytes; /* 0: does not train */
  uint64_t step_bytes;      /* while the optimizer runs */
  uint64_t owned_params;    /* whose optimizer state the GPU has, or the host
                               in its place; 0: does not train */
  uint64_t packed_bytes;    /* of the largest layer, while parameters move */
  uint64_t fp8_bytes;       /* 8-bit copies of weights, while the call runs */
  uint32_t like; /* first stage whose pieces are alike, perhaps this one */
} RaStageMemory;

/* Account of one call; all zero for a call without a model. */
typedef struct {
  uint32_t copy;         /* first call that reads the same copy; RA_NONE: no
                            model */
  gboolean is_own;       /* the copy that training writes, or the only one */
  gboolean has_grads;    /* the first call that trains this copy */
  RaStageMemory *stages; /* (pp), owned */
  RaShard shard;         /* partition of the model */
  RaPiece *pieces;       /* (n_pieces) virtual stages, owned */
  uint32_t n_pieces;     /* pp x chunks */
} RaCallMemory;

typedef struct {
  const RaPlan *plan;  /* borrowed */
  RaCallMemory *calls; /* (n_calls), owned */
  uint32_t n_calls;    /* of the workload */
} RaMemory;

/**
 * ra_memory_new:
 * @plan: borrowed, outlives the account
 *
 * Cost: O(calls x stages x tp x tensor classes).
 *
 * Returns: (transfer full): ra_memory_free() it
 */
RaMemory *ra_memory_new(const RaPlan *plan);

/* (transfer full): account of @call alone; it ignores other calls, even if they
 * share its copy.  O(stages x tp x tensor classes). */
RaMemory *ra_memory_new_call(const RaPlan *plan, uint32_t call);
void ra_memory_free(RaMemory *memory);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaMemory, ra_memory_free)

/* Number of holders: RA_N_HOLDS x calls. */
uint32_t ra_memory_n_holders(const RaMemory *memory);

/* Sum of the bytes of @n holders. */
static inline uint64_t
ra_memory_sum(const uint64_t *bytes, uint32_t n)
{
  uint64_t sum = 0;

  for (uint32_t i = 0; i < n; i++)
    sum += bytes[i];
  return sum;
}

/* Pipeline rank of cluster GPU @gpu in @call; RA_NONE: not in its mesh.
 * O(runs). */
uint32_t ra_memory_stage(const RaMemory *memory, uint32_t call, uint32_t gpu);

/* Kind of an item: selects the bytes of RaStageMemory. */
typedef enum {
  RA_ITEM_PARAMS,
  RA_ITEM_GRADS,
  RA_ITEM_OPTIMIZER,
  RA_ITEM_PACKED
} RaItemKind;

/* Item: memory on the GPUs of a call from one node to another. */
typedef struct {
  uint32_t holder;
  uint32_t call;  /* call whose mesh and stages it uses */
  uint32_t first; /* node that allocates it at its begin; RA_NONE: present when
                     the run begins */
  uint32_t last;  /* node that frees it at its end; RA_NONE: never freed */
  uint8_t kind;   /* RaItemKind */
} RaMemoryItem;

/**
 * ra_memory_items:
 * @memory: the account
 * @augmented: augmented graph of its plan
 *
 * Items for all memory that calls share or leave allocated: copies on GPUs,
 * gradients, and packed layers while parameters move.
 *
 * Returns: (transfer full) (element-type RaMemoryItem): g_array_unref() it
 */
GArray *ra_memory_items(const RaMemory *memory, const RaAugmented *augmented);

/* Bytes of @item on cluster GPU @gpu; 0: none there. */
uint64_t ra_memory_item_bytes(const RaMemory *memory, const RaMemoryItem *item,
                              uint32_t gpu);

/* TRUE if @holder is *firm*, without allocator slack: memory of an engine of
 * its own (graph/input/cluster.h), whose weights, cache and workspace are
 * allocations of one size in its part of the GPU; all memory where segments
 * grow page by page. */
gboolean ra_memory_is_firm(const RaMemory *memory, uint32_t holder);

/* Sum of those of @bytes (n_holders), without framework and slack, that are
 * firm. */
uint64_t ra_memory_firm_sum(const RaMemory *memory, const uint64_t *bytes);

/* Total bytes of a GPU whose holders, except framework and slack, sum to
 * @used_bytes: framework + (1 + slack) x used. */
double ra_memory_total(const RaMemory *memory, double used_bytes);

/* @used_bytes, of which @firm_bytes are firm, as ra_memory_total() takes them:
 * used - firm + firm / (1 + slack). */
double ra_memory_weighed(const RaMemory *memory, double used_bytes,
                         double firm_bytes);

/* Allocator slack of @bytes (n_holders), those of framework and slack 0. */
uint64_t ra_memory_slack(const RaMemory *memory, const uint64_t *bytes);

/**
 * ra_call_activation_bytes:
 * @memory: the account
 * @call: a train call
 * @stage: pipeline rank
 * @batch: its largest micro-batch
 *
 * Micro-batches in flight, by graph/expand/schedule.h: GPipe m, 1F1B
 * min(p - s, m), interleaved by its program.
 *
 * Cost: O(1); interleaved O(v m).
 *
 * Returns: bytes, the largest sum over the micro-batches in flight
 */
uint64_t ra_call_activation_bytes(const RaMemory *memory, uint32_t call,
                                  uint32_t stage, const RaBatch *batch);

/* Bytes that all sequences of a replica decoding together hold on @stage
 * whatever their lengths: ra_kv_sequence_bytes() of each; 0 where they are in
 * blocks of `kv-memory`. */
uint64_t ra_call_kv_fixed_bytes(const RaMemory *memory, uint32_t call,
                                uint32_t stage);

/* Sum of ra_kv_token_bytes() over the pieces of @stage. */
uint64_t ra_call_kv_token_bytes(const RaMemory *memory, uint32_t call,
                                uint32_t stage);

/* Bytes that are whole under ZeRO 2 and 3 while a pass computes @piece.  With l
 * parameters in its largest layer and e in embedding and head: 2 l + e
 * parameters, and in the backward max(l, e) gradients. */
uint64_t ra_call_whole_bytes(const RaMemory *memory, uint32_t call,
                             RaPhase phase, const RaPiece *piece);

/* Workspace of a pass of @batch through the largest piece of @stage; as large
 * on all stages that are alike. */
uint64_t ra_call_workspace_bytes(const RaMemory *memory, uint32_t call,
                                 uint32_t stage, RaPhase phase,
                                 const RaBatch *batch);

#endif
