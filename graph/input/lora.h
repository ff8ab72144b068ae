/* LoRA: low-rank adapters on frozen weights (arXiv 2106.09685).
 *
 * A model of rank r has two small matrices for each of its target matrices W
 * (out, in): A (r, in) and B (out, r), with y = W x + B A x.  Training changes
 * only these, so only they have gradients, reductions and optimizer state.  For
 * all other weights a backward computes the gradients of inputs alone.
 *
 *     [model actor]
 *     trainable = true
 *     lora-rank = 16
 *     lora-targets = q k v o gate up down in out  default: all of them
 *     lora-sync = adapters                    adapters | merged
 *     [model ref]
 *     base-of = actor       the same frozen weights: shares actor's copy where
 *                           that has its layout
 *
 * Targets are the linear layers that PEFT calls `all-linear`, by its names less
 * `_proj`.  `in` and `out` are those of a gated delta net: in_proj_qkv,
 * in_proj_z, in_proj_b and in_proj_a of Qwen3.5, in_proj_qkvz and in_proj_ba of
 * Qwen3-Next, an A each; and out_proj.  Where q has attention's gate too its B
 * has both.
 *
 * Tensor parallelism cuts W as without adapters.  For a column-parallel W every
 * rank has all of A and its rows of B; for a row-parallel W it has its columns
 * of A and all of B (as in NeMo and vLLM).  Training reduces the activations of
 * width r over the ranks, once per pass and matrix.  Elsewhere the reduction of
 * W's own output includes them.
 *
 * With `lora-sync = adapters` a call applies the adapters as it computes.
 * After training, a kept copy receives only the adapters, a released one all
 * weights.  With `merged`, calls that do not train run on W + B A, and all of
 * it moves.
 *
 * Tensors of a model with adapters are those of its base, where each target's A
 * and B follow its matrix.  Three records of one model count different tensors:
 * all (model), the weights alone (base), the adapters alone (adapters).
 * Experts have no adapters: targets gate, up and down need dense layers.
 */
#ifndef RA_GRAPH_INPUT_LORA_H
#define RA_GRAPH_INPUT_LORA_H

#include "base/keyfile.h"
#include "graph/input/workload.h"

typedef enum { RA_LORA_SYNC_ADAPTERS, RA_LORA_SYNC_MERGED } RaLoraSync;

/* Keys of adapters in [model]. */
typedef struct _RaLoraKeys {
  guint32 rank;
  const char *const *targets; /* NULL: all */
  int sync;                   /* RaLoraSync */
  const char *base_of;        /* NULL: none */
} RaLoraKeys;

extern const char *const ra_lora_sync_words[]; /* "adapters", "merged", NULL */

#define RA_LORA_RANK_MAX 4096

/* clang-format off */
/* Rows of a table of keys; @base: offset of an RaLoraKeys. */
#define RA_LORA_KEY_SPECS(base) \
  {"lora-rank", RA_KEY_UINT32, (base) + G_STRUCT_OFFSET(RaLoraKeys, rank), \
   .fallback = "0", .min = 0, .max = RA_LORA_RANK_MAX, \
   .doc = "rank of the adapters, which alone are trained; 0: no adapters"},    \
  {"lora-targets", RA_KEY_STRINGS, \
   (base) + G_STRUCT_OFFSET(RaLoraKeys, targets), \
   .doc = "lora-rank: adapted matrices, of q k v o gate up down in out"}, \
  {"lora-sync", RA_KEY_ENUM, (base) + G_STRUCT_OFFSET(RaLoraKeys, sync), \
   .fallback = "adapters", .names = ra_lora_sync_words, \
   .doc = "lora-rank: weights of other calls: adapters, or merged"},           \
  {"base-of", RA_KEY_STRING, (base) + G_STRUCT_OFFSET(RaLoraKeys, base_of), \
   .doc = "model with adapters that has the frozen weights of this one"}
/* clang-format on */

/**
 * ra_lora_read:
 * @workload: under construction; all models before @model have been read
 * @model: has config, trainable and dtype
 * @error: %RA_ERROR_INPUT `file:line: ...`: adapters of a model that is not
 *   trained, unknown targets, targets that the model does not have
 *
 * Sets the adapters of @model->model, and @model's other two records.
 */
gboolean ra_lora_read(RaWorkload *workload, RaWorkloadModel *model,
                      const RaLoraKeys *keys, GError **error);

/* (transfer full) (nullable): the matrices with adapters as `lora-targets`
 * writes them, "q, k, v"; %NULL: all that can have one. */
char *ra_lora_targets_text(const RaModel *model);

/* TRUE if @word is a possible value in `lora-targets` of some model. */
gboolean ra_lora_is_target(const char *word);

/* Checks `base-of` of all models after they have been read.  The named model
 * must have adapters and the same config, head and dtype, and the model with
 * `base-of` must not be trained. */
gboolean ra_lora_check_bases(const RaWorkload *workload, GError **error);

/* TRUE if @kind's matrices have adapters. */
static inline gboolean
ra_lora_has(const RaModel *model, RaTensorKind kind)
{
  return model->lora_rank > 0 && (model->lora_targets & 1u << kind) != 0;
}

/* Adapter parameters of @n_layers layers from @first_layer on, on one of @tp
 * ranks, which holds A or B of each target whole: the sum of r (in + out) over
 * the targets; 0 without adapters. */
guint64 ra_lora_n_params(const RaModel *model, guint32 first_layer,
                         guint32 n_layers, guint32 tp);

/* TRUE if a gated delta net of @model has its gates in fused matrices. */
gboolean ra_lora_fuses_gates(const RaModel *model);

/* Outputs of the matrices that read the input of a gated delta net, on one of
 * @tp ranks; returns their number. */
guint ra_lora_linear_in(const RaModel *model, guint32 tp, uint64_t out[4]);

/* Record of the model that @call of @workload runs: with adapters, or
 * merged. */
const RaModel *ra_lora_call_model(const RaWorkload *workload, guint32 call);

/* Record of the trained tensors of @model: the adapters alone if it has any. */
const RaModel *ra_lora_trained_model(const RaWorkloadModel *model);

/* Record of the tensors of @model that move into a copy of @residency for a new
 * version. */
const RaModel *ra_lora_moved_model(const RaWorkloadModel *model, int residency);

#endif
