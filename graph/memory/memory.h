/* The memory account: what every GPU holds, and for whom.
 *
 * A *holder* is a kind of memory and the call it is for; a copy of a model
 * (graph/augment/augment.h) belongs to the first call of its layout.
 *
 *     g_autoptr(RaMemory) memory = ra_memory_new(plan);
 *     memory->calls[call].stages[s].param_bytes
 *     g_autoptr(GArray) items = ra_memory_items(memory, augmented);
 *
 * parameters   the tensor slices of graph/augment/layout.h, the largest of a
 * stage's
 *              ranks (a vocabulary that does not divide), in the model's dtype
 * gradients    one of grad-dtype a parameter, between training calls too:
 *              Megatron-LM's DistributedDataParallel has them in one buffer.
 *              Only where parameters are kept in host memory they go with them
 * optimizer    AdamW: fp32 master weights and two moments, 12 bytes a parameter
 *              (arXiv 1910.02054, section 3.1); 8 where parameters are fp32
 * copy         of a trained model in another layout, as its residency says;
 *              storage of its own even where the same slices lie in the
 *              training layout
 * activations, workspace   graph/op/activation.h
 * KV cache     keys and values of the sequences that are being generated; a
 *              sequence's are given back as it ends, in blocks of
 *              `kv-block` tokens
 * buffers      a layer packed for sending while parameters move; the fp32 copy
 *              of 16-bit gradients while the optimizer runs
 * framework    cluster's framework-memory; slack: allocator-slack of all else
 *
 * ZeRO divides the optimizer's bytes, with 2 the gradients', with 3 the
 * parameters' too, by the ranks of a set of shards.  What is whole while a
 * layer computes is workspace: with 3 its parameters and the next one's, and
 * embedding and head throughout, with 2 and 3 its gradients until they are
 * scattered (a layer is what PyTorch FSDP wraps, the rest its root unit; tasks
 * gather several at a time only so that the graph stays small).
 *
 * Calls run one after the other on a GPU (its compute queue), so transients of
 * two calls are never there together.
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
  RA_HOLD_FRAMEWORK, /* of no call: call 0 */
  RA_HOLD_SLACK,     /* of no call: call 0 */
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

/* What one GPU of a pipeline rank holds of a model, bytes. */
typedef struct {
  uint64_t param_bytes;     /* as this call reads them */
  uint64_t grad_bytes;      /* 0: does not train */
  uint64_t optimizer_bytes; /* 0: does not train */
  uint64_t step_bytes;      /* while the optimizer runs */
  uint64_t packed_bytes;    /* of the largest layer, while parameters move */
} RaStageMemory;

/* One call; without a model only zeroes. */
typedef struct {
  uint32_t copy;         /* first call that reads the same copy; RA_NONE: no
                            model */
  gboolean is_own;       /* the copy that training writes, or the only one */
  gboolean has_grads;    /* the first call that trains this copy */
  RaStageMemory *stages; /* (pp), owned */
  RaShard shard;         /* how it cuts the model */
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

/* The same of @call alone: of the others nothing is known, nor whether they
 * share its copy.  O(stages x tp x tensor classes). */
RaMemory *ra_memory_new_call(const RaPlan *plan, uint32_t call);
void ra_memory_free(RaMemory *memory);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaMemory, ra_memory_free)

/* Holders: RA_N_HOLDS x calls. */
uint32_t ra_memory_n_holders(const RaMemory *memory);

/* Of all holders' bytes. */
static inline uint64_t
ra_memory_sum(const uint64_t *bytes, uint32_t n)
{
  uint64_t sum = 0;

  for (uint32_t i = 0; i < n; i++)
    sum += bytes[i];
  return sum;
}

/* Pipeline rank of @call that cluster GPU @gpu is; RA_NONE: not in its mesh.
 * O(runs). */
uint32_t ra_memory_stage(const RaMemory *memory, uint32_t call, uint32_t gpu);

/* Which bytes of RaStageMemory an item has. */
typedef enum {
  RA_ITEM_PARAMS,
  RA_ITEM_GRADS,
  RA_ITEM_OPTIMIZER,
  RA_ITEM_PACKED
} RaItemKind;

/* What stands on the GPUs of a call from one node to another. */
typedef struct {
  uint32_t holder;
  uint32_t call;  /* in whose mesh and stages */
  uint32_t first; /* node that allocates as it begins; RA_NONE: there when the
                     run begins */
  uint32_t last;  /* node that frees as it ends; RA_NONE: stays to the end */
  uint8_t kind;   /* RaItemKind */
} RaMemoryItem;

/**
 * ra_memory_items:
 * @memory: the account
 * @augmented: of its plan
 *
 * All that calls share or leave behind: copies on GPUs, gradients, and packed
 * layers while parameters move.
 *
 * Returns: (transfer full) (element-type RaMemoryItem): g_array_unref() it
 */
GArray *ra_memory_items(const RaMemory *memory, const RaAugmented *augmented);

/* Bytes of @item on cluster GPU @gpu; 0: not on it. */
uint64_t ra_memory_item_bytes(const RaMemory *memory, const RaMemoryItem *item,
                              uint32_t gpu);

/* Bytes of @gpu when its holders, all but framework and slack, sum to
 * @used_bytes: framework + (1 + slack) x used. */
double ra_memory_total(const RaMemory *memory, double used_bytes);

/**
 * ra_call_train_bytes:
 * @memory: the account
 * @call: a train call
 * @stage: pipeline rank
 * @batch: its largest micro-batch
 * @out_activation_bytes: (out): of the micro-batches in flight, at most
 * @out_workspace_bytes: (out): of a pass, at most
 *
 * In flight, by graph/expand/schedule.h: GPipe m, 1F1B min(p - s, m),
 * interleaved as its program says.   Cost: O(1); interleaved O(v m).
 */
void ra_call_train_bytes(const RaMemory *memory, uint32_t call, uint32_t stage,
                         const RaBatch *batch, uint64_t *out_activation_bytes,
                         uint64_t *out_workspace_bytes);

/* ra_kv_token_bytes() of all pieces of @stage. */
uint64_t ra_call_kv_token_bytes(const RaMemory *memory, uint32_t call,
                                uint32_t stage);

/* What ZeRO 2 and 3 have whole while a pass computes @piece, bytes: with l
 * parameters of its largest layer and e of embedding and head, 2 l + e of the
 * parameters, and backward the larger of l and e of the gradients. */
uint64_t ra_call_whole_bytes(const RaMemory *memory, uint32_t call,
                             RaPhase phase, const RaPiece *piece);

/* Workspace of a pass of @batch through the largest piece of @stage. */
uint64_t ra_call_workspace_bytes(const RaMemory *memory, uint32_t call,
                                 uint32_t stage, RaPhase phase,
                                 const RaBatch *batch);

#endif
