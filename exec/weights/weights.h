/* Weights: a model's parameters in a folder with Hugging Face's layout.
 *
 * The folder has `config.json` and either `model.safetensors` or several files,
 * to which `model.safetensors.index.json` assigns the tensors.  Names, shapes
 * and orientation are those of graph/input/model.h; exec/weights/stored.h has
 * the families that fuse q, k and v.
 *
 *     g_autoptr(RaWeights) weights = ra_weights_open(folder, &error);
 *     if (weights && ra_weights_check(weights, model, &error))
 *       ra_weights_read(weights, params);      the part that @params has
 *     ra_weights_write(folder, model, &weights->numerics, parts, n, 0, &error)
 *
 * A critic may start from a language model's weights: these lack its value
 * head, which keeps its previous values.  A tied head may be missing or a copy.
 */
#ifndef RA_EXEC_WEIGHTS_WEIGHTS_H
#define RA_EXEC_WEIGHTS_WEIGHTS_H

#include "exec/model/params.h"
#include "exec/model/stage.h"
#include "exec/weights/safetensors.h"

/* Maximal size of a file before the next one is begun: transformers'. */
#define RA_WEIGHTS_SHARD_BYTES G_GUINT64_CONSTANT(5000000000)

typedef struct {
  char *folder;        /* owned */
  RaModel *model;      /* model of config.json, lm head; owned */
  RaNumerics numerics; /* numerics of config.json */
  float *router_bias;  /* (n_layers, n_experts) of numerics, owned; nullable */
  GPtrArray *files;    /* RaSafetensors, owned */
  GHashTable *tensors; /* RaSafetensor by name, borrowed from @files */
} RaWeights;

/**
 * ra_weights_open:
 * @folder: with the files above
 * @error: %RA_ERROR_IO; %RA_ERROR_INPUT `file: ...` or `file:line: ...`: not
 *   JSON; a file of the index that is missing; a tensor in two files, or not in
 *   the file of the index; keys that require numerics other than the
 *   executor's, such as scaled rotary frequencies
 *
 * Cost: proportional to the JSON headers; no array is read.
 *
 * Returns: (transfer full): free with ra_weights_free()
 */
RaWeights *ra_weights_open(const char *folder, GError **error);
void ra_weights_free(RaWeights *weights);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaWeights, ra_weights_free)

/**
 * ra_weights_model_numerics:
 * @inout_numerics: replaced by those of the file that states @model's shape, if
 *   its family needs more than a shape
 * @error: %RA_ERROR_INPUT: a key that the executor does not run
 *
 * The numerics of a model without weights.
 */
gboolean ra_weights_model_numerics(const RaModel *model,
                                   RaNumerics *inout_numerics, GError **error);

/**
 * ra_weights_check:
 * @model: model to read the weights for
 * @error: %RA_ERROR_INPUT `folder: ...`: other numbers of heads; a tensor of
 *   the model that is missing, has another shape or no type of weights; a
 *   tensor that the model does not have; as ra_stored_supports()
 *
 * Returns: whether ra_weights_read() may be called for parameters of @model
 */
gboolean ra_weights_check(const RaWeights *weights, const RaModel *model,
                          GError **error);

/**
 * ra_weights_read:
 * @weights: checked for the model of @params
 * @params: (inout): reads the rectangles that it has
 *
 * Cost: proportional to the bytes of these rectangles.   Thread: any.
 */
void ra_weights_read(const RaWeights *weights, RaParams *params);

/**
 * ra_weights_write:
 * @folder: created if it does not exist
 * @model: model of all @parts
 * @parts: (array length=n_parts): parts of ranks, together every parameter
 * @max_bytes: maximal size of a file's arrays; 0: %RA_WEIGHTS_SHARD_BYTES
 * @error: %RA_ERROR_IO `path: reason`; as ra_stored_supports()
 *
 * Writes fp32.  Every file is replaced atomically; the index, or the only file,
 * comes last except for config.json.   Cost: memory for one tensor besides
 * @parts, for two if they are fused or transposed.
 */
gboolean ra_weights_write(const char *folder, const RaModel *model,
                          const RaNumerics *numerics,
                          const RaParams *const *parts, uint32_t n_parts,
                          uint64_t max_bytes, GError **error);

#endif
