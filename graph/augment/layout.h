/* Layout of a model's parameters: the part that each GPU of a call's mesh
 * holds.
 *
 * A layout is a call plan (mesh, degrees, rank order, stage layers) applied to
 * a model.  Pipeline parallelism distributes *units*: the embedding, anything
 * else before the layers, each layer, and the part after them.  A rank holds
 * all units of its stages.  Of each tensor there it holds a *span* of rows
 * (columns if split by ROW), by its tensor-parallel rank.  dp and cp replicate,
 * except for experts: expert-parallel rank e of ep holds experts e E / ep to
 * (e + 1) E / ep of each layer's E, and of each the span of its part of the
 * expert-tp parts.  With zero 3 dp and cp cut the span further into shards.
 *
 *     g_autoptr(RaTensorTable) table = ra_tensor_table_new(model);
 *     uint64_t bytes = 2 * ra_layout_n_params(table, &plan, rank);
 *     if (ra_layout_rect(table, &plan, rank, index, &rect))
 *       the rank holds rect of tensor index
 *
 * Invariants: every parameter is on at least one rank; the spans of the ranks
 * of a tp group are in the order of the ranks, and cover the tensor.
 *
 * Layers of one kind are identical, so a model of 37,000 tensors has some 30
 * tensor classes.
 */
#ifndef RA_GRAPH_AUGMENT_LAYOUT_H
#define RA_GRAPH_AUGMENT_LAYOUT_H

#include <stdint.h>

#include "graph/input/model.h"
#include "graph/input/plan.h"

/* Units, which pipeline parallelism does not divide. */
typedef enum {
  RA_UNIT_EMBEDDING, /* first stage; the last too where the lm head is tied */
  RA_UNIT_FIRST,     /* positions, norm of the embedding: first stage */
  RA_UNIT_LAYER,     /* a layer of kind 0; those of kind k have number + k */
  RA_UNIT_LAST = RA_UNIT_LAYER + RA_MODEL_MAX_KINDS, /* final norm and head:
                                                        last stage */
  RA_N_UNIT_KINDS
} RaUnitKind;

/* Half-open interval. */
typedef struct {
  uint64_t begin; /* first */
  uint64_t end;   /* one past the last */
} RaSpan;

/* Rectangle of a tensor, in the orientation y = W x. */
typedef struct {
  uint64_t row;    /* first row */
  uint64_t n_rows; /* rows */
  uint64_t col;    /* first column */
  uint64_t n_cols; /* columns */
} RaRect;

/* Tensors of one unit kind with one shape: the k-th of them is number
 * first + k * stride of the unit's tensors. */
typedef struct {
  RaTensor tensor; /* the first of them */
  uint32_t unit;   /* RaUnitKind */
  uint32_t first;  /* number in the unit */
  uint32_t n;      /* 1, or the number of experts */
  uint32_t stride; /* distance from expert to expert */
} RaTensorClass;

typedef struct {
  const RaModel *model;   /* borrowed: outlives the table */
  RaTensorClass *classes; /* (n_classes) by unit kind, then place; owned */
  uint32_t n_classes;     /* 10 to 40 */
  uint32_t n_units;       /* layers + 3: embedding, first, layers, last */
  uint8_t *unit_kind;     /* (n_units) RaUnitKind, owned */
  uint32_t *unit_first;   /* (n_units) index of the first tensor, owned */
} RaTensorTable;

/* Pipeline ranks that hold a unit. */
typedef struct {
  uint32_t n;     /* 1, or 2: a tied embedding with pp > 1 */
  uint32_t at[2]; /* (n) ascending, < pp */
} RaUnitStages;

/**
 * ra_tensor_table_new:
 * @model: (not nullable): borrowed, outlives the table
 *
 * Cost: O(layers + classes), some 50 calls of ra_model_tensor().
 *
 * Returns: (transfer full): ra_tensor_table_free() it
 */
RaTensorTable *ra_tensor_table_new(const RaModel *model);
void ra_tensor_table_free(RaTensorTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaTensorTable, ra_tensor_table_free)

/**
 * ra_layout_span:
 * @tensor: borrowed
 * @tp: tensor-parallel degree, >= 1
 * @rank: tensor-parallel rank, < @tp
 *
 * Rows (columns if split by ROW) of @tensor that @rank holds.  With u units
 * of @tensor's grain:
 *
 *     COLUMN, ROW   units floor(rank u / tp) to floor((rank + 1) u / tp)
 *     K, V, u < tp  unit floor(rank u / tp): neighbours hold the same head; so
 *                   of a linear mixer's heads and of norms over heads
 *     VOCAB         ceil(u / tp) rows each; padding is not a parameter, so the
 *                   last ranks hold less or nothing
 *     NONE          all
 *
 * An expert is divided like a dense MLP, over the expert-tp ranks of the
 * expert-parallel rank that holds it: they are @tp then.
 * Source: Megatron-LM, arXiv 1909.08053, section 3; its handling of
 * num_query_groups < tensor_model_parallel_size.
 *
 * Returns: the span, perhaps empty
 */
RaSpan ra_layout_span(const RaTensor *tensor, uint32_t tp, uint32_t rank);

/* Experts of a layer that expert-parallel rank @rank of @ep holds; @ep divides
 * the model's experts. */
RaSpan ra_layout_experts(const RaModel *model, uint32_t ep, uint32_t rank);

/**
 * ra_layout_shard_span:
 * @n_shards: shards into which zero 3 cuts the span of @rank, >= 1
 * @shard: index of the shard, < @n_shards
 *
 * A span of n rows is cut into contiguous parts; part z has rows
 * floor(z n / n_shards) to floor((z + 1) n / n_shards).  DeepSpeed and PyTorch
 * FSDP flatten a tensor and cut it evenly, also within a row.  The difference
 * is less than a row per tensor and shard.  A tensor with fewer rows than
 * shards (a value head) is on some shards only.
 *
 * Returns: the span, perhaps empty
 */
RaSpan ra_layout_shard_span(const RaTensor *tensor, uint32_t tp, uint32_t rank,
                            uint32_t n_shards, uint32_t shard);

/**
 * ra_layout_stages:
 * @table: tensors of the model
 * @plan: a plan whose stage layers sum to the model's layers
 * @out_stages: (out) (array): (table->n_units)
 *
 * Pipeline ranks of each unit.  Virtual stage v * pp + s is on pipeline rank s.
 *
 * Cost: O(layers + virtual stages), no allocation.
 */
void ra_layout_stages(const RaTensorTable *table, const RaCallPlan *plan,
                      RaUnitStages *out_stages);

/**
 * ra_layout_rect:
 * @table: tensors of the model
 * @plan: the layout
 * @rank: rank in the plan's mesh
 * @index: index of a tensor of the model
 * @out_rect: (out): part that the rank holds; untouched if it holds none
 *
 * Cost: O(layers + virtual stages).
 *
 * Returns: %TRUE if @rank holds a part of tensor @index
 */
gboolean ra_layout_rect(const RaTensorTable *table, const RaCallPlan *plan,
                        uint32_t rank, uint32_t index, RaRect *out_rect);

/* Parameters that @rank of @plan's mesh holds.  O(layers + classes). */
uint64_t ra_layout_n_params(const RaTensorTable *table, const RaCallPlan *plan,
                            uint32_t rank);

/* Bytes of the rank of @plan's mesh that holds most, with @param_bytes a
 * parameter, @expert_bytes one of experts; @out_total (out) (optional): sum of
 * its ranks.  O(pp tp (layers + classes)), with zero 3 O(ranks (layers +
 * classes)). */
double ra_layout_most_bytes(const RaTensorTable *table, const RaCallPlan *plan,
                            double param_bytes, double expert_bytes,
                            double *out_total);

/* Largest number of parameters, by ra_layout_n_params(), among the ranks of
 * data rank 0 in each pipeline rank of @plan.  @out_params (array length=pp).
 * O(layers + tp (classes + pp)). */
void ra_layout_stage_params(const RaTensorTable *table, const RaCallPlan *plan,
                            uint64_t *out_params);

/* Like ra_layout_stage_params(), but bytes of blocks of powers of two that each
 * hold a rank's part of one tensor, @bytes_per_param >= 1 a value: pinned host
 * memory as PyTorch allocates it (CachingHostAllocator rounds requests up;
 * pytorch/pytorch issues 95823 and 150517).  @out_bytes (array length=pp). */
void ra_layout_stage_blocks(const RaTensorTable *table, const RaCallPlan *plan,
                            uint32_t bytes_per_param, uint64_t *out_bytes);

/* Rectangle of @tensor whose split dimension is @span. */
RaRect ra_layout_span_rect(const RaTensor *tensor, RaSpan span);

#endif
