/* Parameters: what one rank holds of a model in a layout, in one array.
 *
 * The layout (graph/augment/layout.h) says which rectangle of which tensor the
 * rank has; here they lie one after the other, each dense and row major, in the
 * memory of a back end: weights as it computes with them, the rest fp32.  In a
 * layer q, k and v are neighbours, and gate and up, so that one product does
 * what several tensors stand for.
 *
 *     g_autoptr(RaParams) params = ra_params_new(table, plan, rank);
 *     ra_params_seed(params, 1);
 *     const RaParam *q = ra_params_find(params, RA_TENSOR_Q, 0, FALSE);
 *     ra_elem_at(params->backend, params->weights, q->offset)
 *                                      (q->rect.n_rows, q->rect.n_cols)
 *
 * Gradients have the same offsets, and moments where no other rank has a part
 * of them.
 */
#ifndef RA_EXEC_MODEL_PARAMS_H
#define RA_EXEC_MODEL_PARAMS_H

#include "exec/backend/backend.h"
#include "graph/augment/layout.h"

typedef struct {
  RaTensor tensor; /* of the model */
  uint32_t index;  /* for ra_model_tensor() */
  RaRect rect;     /* what of it is here */
  gsize offset;    /* of its first element */
} RaParam;

/* What lies behind each other and is cut among ranks as one:
 * exec/model/shards.h. */
typedef struct {
  RaSpan all;       /* elements of the arrays */
  RaSpan own;       /* those that this rank steps */
  gsize moments;    /* where the moments of the first of these are */
  uint32_t param;   /* its first */
  uint32_t n_ranks; /* that cut it, >= 1 */
  gboolean expert;  /* it is of experts */
} RaParamRun;

/* What has memory of its own. */
typedef enum {
  RA_STATE_WEIGHTS,
  RA_STATE_OPTIMIZER, /* first, second, master behind each other */
  RA_STATE_GRADS,     /* never away */
  RA_N_STATES
} RaParamsState;

typedef struct {
  const RaModel *model; /* borrowed */
  RaParam *params;      /* (n_params) by unit, owned */
  uint32_t n_params;
  RaParamRun *runs; /* (n_runs) all params, in order, owned */
  uint32_t n_runs;
  gsize n;                  /* elements of all */
  gsize n_moments;          /* elements that this rank steps */
  const RaBackend *backend; /* that has the arrays, borrowed */
  gboolean is_trained;
  RaElem *weights;  /* (n); NULL: not on the device now */
  float *master;    /* (n_moments) what weights are made of; NULL: not trained,
                      not on the device now, or weights are fp32 */
  float *grads;     /* (n) NULL: not trained, or not there now */
  float *first;     /* (n_moments) moments; NULL: not trained, not there now */
  float *second;    /* (n_moments) likewise */
  uint8_t borrowed; /* bits of RaParamsState: memory is somebody else's */
  void *away[RA_N_STATES]; /* the same in pinned host memory, owned; NULL: not
                              there */
} RaParams;

/**
 * ra_params_new:
 * @table: of the model
 * @plan: the layout
 * @rank: in the plan's mesh
 *
 * Weights are zero.   Cost: O(tensors x (layers + virtual stages)).
 *
 * Returns: (transfer full): ra_params_free() it
 */
RaParams *ra_params_new(const RaTensorTable *table, const RaCallPlan *plan,
                        uint32_t rank);
/* The same in the memory of @backend, borrowed; ra_params_new() takes the
 * host's. */
RaParams *ra_params_new_on(const RaBackend *backend, const RaTensorTable *table,
                           const RaCallPlan *plan, uint32_t rank);
/* The same without memory: ra_params_place() gives it some. */
RaParams *ra_params_new_bare(const RaBackend *backend,
                             const RaTensorTable *table, const RaCallPlan *plan,
                             uint32_t rank);
void ra_params_free(RaParams *params);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaParams, ra_params_free)

/* (transfer full): the same weights, in fp32 on the host, and nothing else. */
RaParams *ra_params_copy(const RaParams *params);

/* Makes zeroed gradients and moments, if there are none, and of weights that
 * are not fp32 the master weights, which begin as they are. */
void ra_params_make_trainable(RaParams *params);

/* Bytes of @state on the device, with what lies between its arrays. */
gsize ra_params_state_bytes(const RaParams *params, RaParamsState state);

/**
 * ra_params_place:
 * @memory: (nullable): as many bytes of the device, of any value, borrowed;
 *   %NULL: @state is not there from now on
 */
void ra_params_place(RaParams *params, RaParamsState state, void *memory);
/* (nullable) (transfer none): where it is placed. */
void *ra_params_where(const RaParams *params, RaParamsState state);

/* Copies @state to pinned host memory, and from there back to where it is
 * placed: bit for bit.  While it is not placed it is read and written there. */
void ra_params_offload(RaParams *params, RaParamsState state);
void ra_params_reload(RaParams *params, RaParamsState state);
/* The same beside ops, as the back end's begin_copy(): what is on the way is
 * neither read nor written before it is there. */
RaBackendCopy *ra_params_begin_offload(RaParams *params, RaParamsState state);
RaBackendCopy *ra_params_begin_reload(RaParams *params, RaParamsState state);

/**
 * ra_params_seed:
 * @seed: of the run
 *
 * Norms to 1, biases to 0, the rest uniform with deviation 0.02 (GPT-2's, and
 * initializer_range of Llama): a function of the seed, the tensor, the row and
 * the column, so that every layout gets the same model.
 */
void ra_params_seed(RaParams *params, uint64_t seed);

/* (nullable) (transfer none): a layer's first tensor of @kind that is or is not
 * a @bias; of the norms of a layer the first.  @layer: RA_TENSOR_NO_LAYER
 * outside of layers.  %NULL: not on this rank.  O(log params). */
const RaParam *ra_params_find(const RaParams *params, RaTensorKind kind,
                              gint32 layer, gboolean bias);

/* (nullable) (transfer none): what is here of tensor @index. */
const RaParam *ra_params_at(const RaParams *params, uint32_t index);

/* Elements of @param here. */
static inline gsize
ra_param_n(const RaParam *param)
{
  return param->rect.n_rows * param->rect.n_cols;
}

/* What there is an array of. */
typedef enum {
  RA_PARAMS_WEIGHTS,
  RA_PARAMS_FIRST, /* moments: of what is trained */
  RA_PARAMS_SECOND,
  RA_N_PARAMS_ARRAYS
} RaParamsArray;

/* Whether there is such an array: there are no moments of what is not trained.
 */
static inline gboolean
ra_params_has(const RaParams *params, RaParamsArray which)
{
  return which == RA_PARAMS_WEIGHTS || params->is_trained;
}

/* @n numbers of array @which from element @at, from the device or to it, fp32
 * in the host's memory; of weights the master's where there is one, and written
 * to both. */
void ra_params_read(const RaParams *params, RaParamsArray which, gsize at,
                    gsize n, float *out);
void ra_params_write(RaParams *params, RaParamsArray which, gsize at, gsize n,
                     const float *in);

/* Elements of it. */
static inline gsize
ra_params_array_n(const RaParams *params, RaParamsArray which)
{
  return which == RA_PARAMS_WEIGHTS ? params->n : params->n_moments;
}

/* Which elements of @param, counted from its first, are in array @which here;
 * @out_at: of the array that of the first of them. */
RaSpan ra_param_held(const RaParams *params, const RaParam *param,
                     RaParamsArray which, gsize *out_at);

/**
 * ra_params_gather:
 * @parts: (array length=n_parts): of one model, together all of tensor @index
 * @out: (out): (rows, cols) of the tensor, dense
 *
 * A tensor from the ranks that have rectangles, or of moments shards, of it.
 */
void ra_params_gather(const RaParams *const *parts, uint32_t n_parts,
                      uint32_t index, RaParamsArray which, float *out);

/**
 * ra_params_hash:
 * @param: of @params
 *
 * A checksum of the bits of what is here of one tensor, a sum over elements of
 * hash(row, column, bits): sums of disjoint parts are those of the whole.
 */
uint64_t ra_params_hash(const RaParams *params, const RaParam *param);

#endif
