/* Stored tensors: the name, shape and order of a tensor's numbers in a
 * checkpoint.
 *
 * graph/input/model.h has q, k and v as three tensors, and all matrices in the
 * orientation y = W x.  Some families fuse q, k and v or transpose matrices:
 *
 *     gpt2   c_attn (hidden, 3 hidden): columns of q, then of k, then of v; all
 *            matrices of layers are (inputs, outputs)
 *     bloom  query_key_value (n_heads, 3, head_dim, hidden): head by head
 *     mpt    Wqkv (3 hidden, hidden): rows of q, then of k, then of v
 *
 * gpt_oss has all experts of a layer in one, as (inputs, outputs): gate_up_proj
 * (experts, hidden, 2 ffn), gates and ups in turns, down_proj (experts, ffn,
 * hidden).
 *
 * Biases are in the order of their rows.
 *
 *     RaStored stored;
 *     ra_stored_init(&stored, model, &tensor);
 *     if (ra_stored_matches(&stored, found))
 *       ra_stored_read(&stored, found, &rect, out);
 *
 * Source: modeling_gpt2.py (Conv1D, c_attn split in three), modeling_bloom.py
 * (_reshape) and modeling_mpt.py (chunk) of huggingface/transformers 4.51.
 */
#ifndef RA_EXEC_WEIGHTS_STORED_H
#define RA_EXEC_WEIGHTS_STORED_H

#include "exec/weights/safetensors.h"
#include "graph/augment/layout.h"

typedef struct {
  char name[RA_TENSOR_NAME_BYTES]; /* stored name, the same for fused tensors */
  uint32_t n_dims;                 /* 1: a vector; not counting experts */
  uint64_t dims[2];                /* stored shape; a vector's second is 1 */
  uint64_t n_experts;              /* as many such in one, one after the other;
                                      0: it is alone */
  uint64_t expert;                 /* number of this one */
  uint64_t n_rows, n_cols;         /* shape of the tensor */
  uint64_t first;                  /* stored row, as y = W x, of the tensor's
                                      first row */
  uint64_t together;               /* rows of the tensor that are contiguous */
  uint64_t stride;                 /* stored rows from the first of these to the
                                      first of the next */
  gboolean transposed;             /* stored transposed */
} RaStored;

/**
 * ra_stored_init:
 * @tensor: a tensor of @model
 */
void ra_stored_init(RaStored *stored, const RaModel *model,
                    const RaTensor *tensor);

/* Its stored shape, that of all experts in one; returns its dimensions. */
uint32_t ra_stored_shape(const RaStored *stored,
                         uint64_t out_dims[RA_SAFETENSORS_MAX_DIMS]);

/* TRUE if @found has the shape of @stored. */
gboolean ra_stored_matches(const RaStored *stored, const RaSafetensor *found);

/* Number of rows from @row on that are contiguous where they are stored. */
uint64_t ra_stored_n_neighbours(const RaStored *stored, uint64_t row);

/**
 * ra_stored_read:
 * @found: matches @stored and has a type of weights
 * @rect: part of the tensor; its rows are contiguous where they are stored
 * @out: (out): (n_rows, n_cols) of @rect, dense
 */
void ra_stored_read(const RaStored *stored, const RaSafetensor *found,
                    const RaRect *rect, float *out);

/**
 * ra_stored_place:
 * @tensor: (n_rows, n_cols) the whole tensor, dense
 * @out: (inout): the whole stored tensor; this tensor's part of it is set
 */
void ra_stored_place(const RaStored *stored, const float *tensor, float *out);

/**
 * ra_stored_supports:
 * @error: %RA_ERROR_INPUT, without "file:line: "
 *
 * TRUE if transformers has a checkpoint format for models like @model.
 */
gboolean ra_stored_supports(const RaModel *model, GError **error);

#endif
