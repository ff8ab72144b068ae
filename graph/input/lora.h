/* LoRA: low-rank adapters beside frozen weights (arXiv 2106.09685).
 *
 * A model of rank r has, beside each of its target matrices W (out, in), two
 * small ones, A (r, in) and B (out, r): y = W x + B A x.  Only they are
 * trained, so gradients, optimizer state and their reductions are of them, and
 * a backward makes gradients of inputs alone for the rest.
 *
 *     [model actor]
 *     trainable = true
 *     lora-rank = 16
 *     lora-targets = q k v o gate up down     default: all of them
 *     lora-sync = adapters                    merged
 *     [model ref]
 *     base-of = actor       the same frozen weights: where actor's copy has its
 *                           layout, it needs none of its own
 *
 * Tensor parallelism cuts W as ever.  Of a column-parallel one every rank has
 * all of A and its rows of B, of a row-parallel one its columns of A and all of
 * B (as NeMo and vLLM do): training sums what is r wide over the ranks, once a
 * pass and matrix; elsewhere W's own sum has it in it.
 *
 * With `lora-sync = adapters` a call applies them as it computes, and a copy
 * that is kept gets only them after training; one that is released gets all.
 * With `merged` calls that do not train run on W + B A, and all of it moves.
 *
 * Tensors of a model with adapters are those of its base, each target's A and B
 * behind its matrix.  Three records of one model differ in what they count: all
 * (model), the weights alone (base), the adapters alone (adapters).
 * Experts have no adapters: targets gate, up and down need dense layers.
 */
#ifndef RA_GRAPH_INPUT_LORA_H
#define RA_GRAPH_INPUT_LORA_H

#include "base/keyfile.h"
#include "graph/input/workload.h"

typedef enum { RA_LORA_SYNC_ADAPTERS, RA_LORA_SYNC_MERGED } RaLoraSync;

/* Keys of [model], read with it. */
typedef struct _RaLoraKeys {
  guint32 rank;
  const char *const *targets; /* NULL: all */
  int sync;                   /* RaLoraSync */
  const char *base_of;        /* NULL: none */
} RaLoraKeys;

extern const char *const ra_lora_sync_words[]; /* "adapters", "merged", NULL */

#define RA_LORA_RANK_MAX 4096

/* clang-format off */
/* Rows of the table of keys, @base being where RaLoraKeys stands. */
#define RA_LORA_KEY_SPECS(base) \
  {"lora-rank", RA_KEY_UINT32, (base) + G_STRUCT_OFFSET(RaLoraKeys, rank), \
   .fallback = "0", .min = 0, .max = RA_LORA_RANK_MAX, \
   .doc = "rank of adapters, which alone are trained; 0: none"}, \
  {"lora-targets", RA_KEY_STRINGS, \
   (base) + G_STRUCT_OFFSET(RaLoraKeys, targets), \
   .doc = "lora-rank: matrices that have them, of q k v o gate up down"}, \
  {"lora-sync", RA_KEY_ENUM, (base) + G_STRUCT_OFFSET(RaLoraKeys, sync), \
   .fallback = "adapters", .names = ra_lora_sync_words, \
   .doc = "lora-rank: adapters, or merged: what other calls run on"}, \
  {"base-of", RA_KEY_STRING, (base) + G_STRUCT_OFFSET(RaLoraKeys, base_of), \
   .doc = "a model with adapters whose frozen weights this one is"}
/* clang-format on */

/**
 * ra_lora_read:
 * @workload: in the making; all of its models before @model are read
 * @model: with config, trainable and dtype
 * @error: %RA_ERROR_INPUT `file:line: ...`: adapters of a model that is not
 *   trained, unknown targets, targets that the model has not
 *
 * Sets the adapters of @model->model, and its other two records.
 */
gboolean ra_lora_read(RaWorkload *workload, RaWorkloadModel *model,
                      const RaLoraKeys *keys, GError **error);

/* (transfer full) (nullable): what has adapters, "q, k, v" as `lora-targets`
 * has it; %NULL: all that could. */
char *ra_lora_targets_text(const RaModel *model);

/* Whether @word is one of `lora-targets`, of some model. */
gboolean ra_lora_is_target(const char *word);

/* `base-of` of all models, once they are read: what it names must have adapters
 * and the same config, head and dtype, and this model must not be trained. */
gboolean ra_lora_check_bases(const RaWorkload *workload, GError **error);

/**
 * ra_lora_set:
 * @model: fresh from a reader, not yet shared
 * @rank: >= 1
 * @targets: bits by RaTensorKind, not empty
 */
void ra_lora_set(RaModel *model, guint32 rank, guint32 targets);

/* (transfer full): @model, which has adapters, without them, or they alone. */
RaModel *ra_lora_base_new(const RaModel *model);
RaModel *ra_lora_adapters_new(const RaModel *model);

/* Whether @kind's matrices have adapters. */
static inline gboolean
ra_lora_has(const RaModel *model, RaTensorKind kind)
{
  return model->lora_rank > 0 && (model->lora_targets & 1u << kind) != 0;
}

/**
 * ra_lora_layer_n_params:
 *
 * Of a layer, over all targets: r (in + out).
 *
 * Returns: parameters; 0 without adapters
 */
guint64 ra_lora_layer_n_params(const RaModel *model);

/* The same of one of @tp ranks, A or B of a target being whole. */
guint64 ra_lora_rank_layer_n_params(const RaModel *model, guint32 tp);

/* What @call of @workload runs: with its adapters, or merged. */
const RaModel *ra_lora_call_model(const RaWorkload *workload, guint32 call);

/* What of @model is trained: the adapters alone where it has any. */
const RaModel *ra_lora_trained_model(const RaWorkloadModel *model);

/* What a version moves of @model into a copy of @residency. */
const RaModel *ra_lora_moved_model(const RaWorkloadModel *model, int residency);

#endif
