/* Weights: a model's parameters in a folder, as Hugging Face lays it out.
 *
 * `config.json`, and `model.safetensors` or several files that
 * `model.safetensors.index.json` assigns the tensors to.  Names, shapes and
 * orientation are those of graph/input/model.h.
 *
 *     g_autoptr(RaWeights) weights = ra_weights_open(folder, &error);
 *     if (weights && ra_weights_check(weights, model, &error))
 *       ra_weights_read(weights, params);      what @params has of them
 *     ra_weights_write(folder, model, &weights->numerics, parts, n, 0, &error)
 *
 * Families that store q, k and v in one: exec/weights/stored.h.
 *
 * A language model's weights may begin a critic: its value head then has none
 * and keeps what it had.  A tied head may be left out or be a copy.
 */
#ifndef RA_EXEC_WEIGHTS_WEIGHTS_H
#define RA_EXEC_WEIGHTS_WEIGHTS_H

#include "exec/model/params.h"
#include "exec/model/stage.h"
#include "exec/weights/safetensors.h"

/* Largest file that is written before a next one is begun: transformers'. */
#define RA_WEIGHTS_SHARD_BYTES G_GUINT64_CONSTANT(5000000000)

typedef struct {
  char *folder;        /* owned */
  RaModel *model;      /* as config.json has it, lm head; owned */
  RaNumerics numerics; /* of config.json */
  GPtrArray *files;    /* RaSafetensors, owned */
  GHashTable *tensors; /* RaSafetensor by name, of @files */
} RaWeights;

/**
 * ra_weights_open:
 * @folder: with the files above
 * @error: %RA_ERROR_IO; %RA_ERROR_INPUT `file: ...` or `file:line: ...`: not
 *   JSON, a file that the index names and is not there, a tensor that is in two
 *   files or not in the file that the index says, keys that make other numbers
 *   than the executor does, as rotary frequencies that are scaled
 *
 * Cost: of the heads; nothing of the arrays is read.
 *
 * Returns: (transfer full): ra_weights_free() it
 */
RaWeights *ra_weights_open(const char *folder, GError **error);
void ra_weights_free(RaWeights *weights);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaWeights, ra_weights_free)

/**
 * ra_weights_check:
 * @model: whose parameters they are to be
 * @error: %RA_ERROR_INPUT `folder: ...`: other numbers of heads; a tensor of
 *   the model that is missing, has another shape or no type of weights; a
 *   tensor that the model has not; as ra_stored_supports()
 *
 * Returns: whether ra_weights_read() of @model's parameters may be called
 */
gboolean ra_weights_check(const RaWeights *weights, const RaModel *model,
                          GError **error);

/**
 * ra_weights_read:
 * @weights: checked for the model of @params
 * @params: (inout): the rectangles that it has, from the arrays
 *
 * Cost: of the bytes of these rectangles.   Thread: any.
 */
void ra_weights_read(const RaWeights *weights, RaParams *params);

/**
 * ra_weights_write:
 * @folder: made where it is not there
 * @model: of all @parts
 * @parts: (array length=n_parts): what ranks have, together every parameter
 * @max_bytes: of a file's arrays; 0: %RA_WEIGHTS_SHARD_BYTES
 * @error: %RA_ERROR_IO `path: reason`; as ra_stored_supports()
 *
 * Writes fp32.  Every file is written aside and renamed, the index or the only
 * file last but for config.json.   Cost: one tensor in memory beside @parts,
 * of fused or transposed ones two.
 */
gboolean ra_weights_write(const char *folder, const RaModel *model,
                          const RaNumerics *numerics,
                          const RaParams *const *parts, uint32_t n_parts,
                          uint64_t max_bytes, GError **error);

#endif
