/* The layout of a model's parameters: what each GPU of a call's mesh holds.
 *
 * A layout is a call plan (mesh, degrees, rank order, stage layers) applied to
 * a model.  Pipeline parallelism hands out *units*: the embedding, what else
 * comes before the layers, each layer, and what comes after.  A rank holds all
 * units of its stages, and of each tensor there the *span* of rows (of columns
 * if split by ROW) that its tensor-parallel rank has.  dp and cp replicate,
 * but for experts: expert-parallel rank e of ep holds experts e E / ep to
 * (e + 1) E / ep of each layer's E.  With zero 3 they cut the
 * span further into shards.
 *
 *     g_autoptr(RaTensorTable) table = ra_tensor_table_new(model);
 *     uint64_t bytes = 2 * ra_layout_n_params(table, &plan, rank);
 *     if (ra_layout_rect(table, &plan, rank, index, &rect))
 *       the rank holds rect of tensor index
 *
 * Invariants: every parameter is on at least one rank; the spans of the ranks
 * of a tp group are in the order of the ranks, and cover the tensor.
 * Layers of one kind are identical, so a model of 37,000 tensors has some 30
 * tensor classes, and nothing here but ra_tensor_table_unit() sees a tensor.
 */
#ifndef RA_GRAPH_AUGMENT_LAYOUT_H
#define RA_GRAPH_AUGMENT_LAYOUT_H

#include <stdint.h>

#include "graph/input/model.h"
#include "graph/input/plan.h"

/* What pipeline parallelism does not divide. */
typedef enum {
  RA_UNIT_EMBEDDING, /* first stage; the last too where the lm head is tied */
  RA_UNIT_FIRST,     /* positions, norm of the embedding: first stage */
  RA_UNIT_DENSE,     /* a layer with a dense MLP */
  RA_UNIT_MOE,       /* a layer of experts */
  RA_UNIT_LAST,      /* final norm and head: last stage */
  RA_N_UNIT_KINDS
} RaUnitKind;

/* A half-open interval. */
typedef struct {
  uint64_t begin; /* first */
  uint64_t end;   /* one past the last */
} RaSpan;

/* A rectangle of a tensor, in the orientation y = W x. */
typedef struct {
  uint64_t row;    /* first row */
  uint64_t n_rows; /* rows */
  uint64_t col;    /* first column */
  uint64_t n_cols; /* columns */
} RaRect;

/* Tensors of one unit kind that have one shape: the k-th of them stands at
 * place first + k * stride from the unit's first tensor. */
typedef struct {
  RaTensor tensor; /* the first of them */
  uint32_t unit;   /* RaUnitKind */
  uint32_t first;  /* place in the unit */
  uint32_t n;      /* 1, or the experts */
  uint32_t stride; /* places from expert to expert */
} RaTensorClass;

typedef struct {
  const RaModel *model;   /* borrowed: outlives the table */
  RaTensorClass *classes; /* (n_classes) by unit kind, then place; owned */
  uint32_t n_classes;     /* 10 to 40 */
  uint32_t n_units;       /* layers + 3: embedding, first, layers, last */
  uint8_t *unit_kind;     /* (n_units) RaUnitKind, owned */
  uint32_t *unit_first;   /* (n_units) index of the first tensor, owned */
} RaTensorTable;

/* The pipeline ranks that hold a unit. */
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

/* The unit that tensor @index of the model belongs to.  O(layers). */
uint32_t ra_tensor_table_unit(const RaTensorTable *table, uint32_t index);

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
 *     K, V, u < tp  unit floor(rank u / tp): neighbours hold the same head
 *     VOCAB         ceil(u / tp) rows each; the padding of the last ranks is
 *                   no parameter, so they hold less or nothing
 *     NONE          all
 *
 * An expert is divided like a dense MLP, over the tp ranks of the
 * expert-parallel rank that holds it.
 * Source: Megatron-LM, arXiv 1909.08053, section 3; its handling of
 * num_query_groups < tensor_model_parallel_size.
 *
 * Returns: the span, perhaps empty
 */
RaSpan ra_layout_span(const RaTensor *tensor, uint32_t tp, uint32_t rank);

/* Experts of a layer that expert-parallel rank @rank of @ep holds, whole; @ep
 * divides the model's experts. */
RaSpan ra_layout_experts(const RaModel *model, uint32_t ep, uint32_t rank);

/**
 * ra_layout_shard_span:
 * @n_shards: that zero 3 cuts the span of @rank into, >= 1
 * @shard: which of them
 *
 * A span of n rows in contiguous parts, of which z has floor(z n / n_shards)
 * to floor((z + 1) n / n_shards).  DeepSpeed and PyTorch FSDP flatten a tensor
 * and cut it evenly, inside of a row: the difference is less than a row a
 * tensor and shard, and a tensor with fewer rows than shards (a value head) is
 * on some of them only.
 *
 * Returns: the span, perhaps empty
 */
RaSpan ra_layout_shard_span(const RaTensor *tensor, uint32_t tp, uint32_t rank,
                            uint32_t n_shards, uint32_t shard);

/**
 * ra_layout_stages:
 * @table: of the model
 * @plan: with stage layers that sum to the model's layers
 * @out_stages: (out) (array): (table->n_units)
 *
 * Which pipeline ranks hold which unit.  Virtual stage v * pp + s is on
 * pipeline rank s.   Cost: O(layers + virtual stages), no allocation.
 */
void ra_layout_stages(const RaTensorTable *table, const RaCallPlan *plan,
                      RaUnitStages *out_stages);

/**
 * ra_layout_rect:
 * @table: of the model
 * @plan: the layout
 * @rank: in the plan's mesh
 * @index: of a tensor of the model
 * @out_rect: (out): untouched if the rank holds nothing of the tensor
 *
 * Cost: O(layers + virtual stages).
 *
 * Returns: whether @rank holds some of tensor @index
 */
gboolean ra_layout_rect(const RaTensorTable *table, const RaCallPlan *plan,
                        uint32_t rank, uint32_t index, RaRect *out_rect);

/* Parameters that @rank of @plan's mesh holds.  O(layers + classes). */
uint64_t ra_layout_n_params(const RaTensorTable *table, const RaCallPlan *plan,
                            uint32_t rank);

/* Parameters of the rank of @plan's mesh that holds most; @out_total (out)
 * (optional): of all its ranks.  O(pp tp (layers + classes)), with
 * zero 3 O(ranks (layers + classes)). */
uint64_t ra_layout_most_params(const RaTensorTable *table,
                               const RaCallPlan *plan, uint64_t *out_total);

/* Parameters of the rank that holds most of each pipeline rank of @plan, of
 * data rank 0; @out_params (array length=pp): as ra_layout_n_params() has them.
 * O(layers + tp (classes + pp)). */
void ra_layout_stage_params(const RaTensorTable *table, const RaCallPlan *plan,
                            uint64_t *out_params);

/* The rectangle of @tensor whose split dimension is @span. */
RaRect ra_layout_span_rect(const RaTensor *tensor, RaSpan span);

#endif
