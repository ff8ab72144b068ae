/* Parameters: the part of a model that one rank has in a layout, in one array.
 *
 * The layout (graph/augment/layout.h) gives the rectangle of each tensor that
 * the rank has.  Here these are contiguous, each dense and row major, in the
 * memory of a back end: weights in the type it computes with, the rest in fp32.
 * Within a layer q, k and v are adjacent, and so are gate and up, so that one
 * GEMM covers several tensors.
 *
 *     g_autoptr(RaParams) params = ra_params_new(table, plan, rank);
 *     ra_params_seed(params, 1);
 *     const RaParam *q = ra_params_find(params, RA_TENSOR_Q, 0, FALSE);
 *     ra_elem_at(params->backend, params->weights, q->offset)
 *                                      (q->rect.n_rows, q->rect.n_cols)
 *
 * Gradients have the same offsets; so have optimizer moments, unless ranks
 * share them (exec/model/shards.h).
 */
#ifndef RA_EXEC_MODEL_PARAMS_H
#define RA_EXEC_MODEL_PARAMS_H

#include "exec/backend/backend.h"
#include "graph/augment/layout.h"

typedef struct {
  RaTensor tensor; /* tensor of the model */
  uint32_t index;  /* for ra_model_tensor() */
  RaRect rect;     /* rectangle that is here */
  gsize offset;    /* index of its first element */
} RaParam;

/* A contiguous range that ranks cut as one: exec/model/shards.h. */
typedef struct {
  RaSpan all;       /* elements of the arrays */
  RaSpan own;       /* elements that this rank steps */
  gsize moments;    /* index of the moments of own.begin */
  uint32_t param;   /* its first parameter */
  uint32_t n_ranks; /* ranks that cut it, >= 1 */
  gboolean expert;  /* its parameters are experts' */
} RaParamRun;

/* States, each of which has memory of its own. */
typedef enum {
  RA_STATE_WEIGHTS,
  RA_STATE_OPTIMIZER, /* first, second and master, contiguous */
  RA_STATE_GRADS,     /* never offloaded */
  RA_N_STATES
} RaParamsState;

typedef struct {
  const RaModel *model; /* borrowed */
  RaParam *params;      /* (n_params) by unit, owned */
  uint32_t n_params;
  RaParamRun *runs; /* (n_runs) cover all params, in order, owned */
  uint32_t n_runs;
  gsize n;                  /* total elements */
  gsize n_moments;          /* elements that this rank steps */
  const RaBackend *backend; /* back end of the arrays, borrowed */
  gboolean is_trained;
  RaElem *weights;         /* (n); NULL: not on the device now */
  float *master;           /* (n_moments) weights before rounding; NULL: not
                              trained, not on the device now, or weights are
                              fp32 */
  float *grads;            /* (n) NULL: not trained, or not allocated now */
  float *first;            /* (n_moments) moments; NULL: not trained, or not on
                              the device now */
  float *second;           /* (n_moments) likewise */
  uint8_t borrowed;        /* bits of RaParamsState: memory that the caller
                              owns */
  void *away[RA_N_STATES]; /* the same in pinned host memory, owned; NULL: not
                              offloaded */
} RaParams;

/**
 * ra_params_new:
 * @table: tensors of the model
 * @plan: the layout
 * @rank: in the plan's mesh
 *
 * Allocates host memory; weights are zero.   Cost: O(tensors x (layers +
 * virtual stages)).
 *
 * Returns: (transfer full): free with ra_params_free()
 */
RaParams *ra_params_new(const RaTensorTable *table, const RaCallPlan *plan,
                        uint32_t rank);
/* As ra_params_new(), in the memory of @backend, borrowed. */
RaParams *ra_params_new_on(const RaBackend *backend, const RaTensorTable *table,
                           const RaCallPlan *plan, uint32_t rank);
/* As ra_params_new_on(), without memory: ra_params_place() assigns it. */
RaParams *ra_params_new_bare(const RaBackend *backend,
                             const RaTensorTable *table, const RaCallPlan *plan,
                             uint32_t rank);
void ra_params_free(RaParams *params);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaParams, ra_params_free)

/* (transfer full): the same weights, in fp32 on the host, and nothing else. */
RaParams *ra_params_copy(const RaParams *params);

/* Makes zeroed gradients and moments, if there are none; for weights that are
 * not fp32 also master weights, which start equal to them. */
void ra_params_make_trainable(RaParams *params);

/* Bytes of @state on the device, including gaps between its arrays. */
gsize ra_params_state_bytes(const RaParams *params, RaParamsState state);

/**
 * ra_params_place:
 * @memory: (nullable): ra_params_state_bytes() of uninitialised device memory,
 *   borrowed; %NULL: @state is not on the device from now on
 */
void ra_params_place(RaParams *params, RaParamsState state, void *memory);
/* (nullable) (transfer none): the memory of @state. */
void *ra_params_where(const RaParams *params, RaParamsState state);

/* Copy @state to pinned host memory, and from there back to its place, bit for
 * bit.  While it has no place, reads and writes use the copy. */
void ra_params_offload(RaParams *params, RaParamsState state);
void ra_params_reload(RaParams *params, RaParamsState state);
/* The same, concurrent with ops, as the back end's begin_copy(): nothing may
 * read or write the destination before the copy has ended. */
RaBackendCopy *ra_params_begin_offload(RaParams *params, RaParamsState state);
RaBackendCopy *ra_params_begin_reload(RaParams *params, RaParamsState state);

/**
 * ra_params_seed:
 * @seed: seed of the run
 *
 * Sets norms to 1, biases to 0 and the rest to uniform numbers of deviation
 * 0.02 (GPT-2's, and initializer_range of Llama).  A number is a function of
 * the seed, the tensor, the row and the column, so every layout gets the same
 * model.
 */
void ra_params_seed(RaParams *params, uint64_t seed);

/* (nullable) (transfer none): a layer's first tensor of @kind that is or is not
 * a @bias; for norms, the first of the layer.  @layer: RA_TENSOR_NO_LAYER for
 * tensors of no layer.  %NULL: not on this rank.  O(log params). */
const RaParam *ra_params_find(const RaParams *params, RaTensorKind kind,
                              gint32 layer, gboolean bias);

/* The same of routed experts, where shared ones come before them: of the first
 * that is here. */
const RaParam *ra_params_find_expert(const RaParams *params, RaTensorKind kind,
                                     gint32 layer, gboolean bias);

/* (nullable) (transfer none): the part of tensor @index on this rank. */
const RaParam *ra_params_at(const RaParams *params, uint32_t index);

/* Number of elements of @param on this rank. */
static inline gsize
ra_param_n(const RaParam *param)
{
  return param->rect.n_rows * param->rect.n_cols;
}

/* Arrays of parameters. */
typedef enum {
  RA_PARAMS_WEIGHTS,
  RA_PARAMS_FIRST, /* moments, if trained */
  RA_PARAMS_SECOND,
  RA_N_PARAMS_ARRAYS
} RaParamsArray;

/* TRUE if the array exists: only trained parameters have moments.
 */
static inline gboolean
ra_params_has(const RaParams *params, RaParamsArray which)
{
  return which == RA_PARAMS_WEIGHTS || params->is_trained;
}

/* Copy @n numbers of array @which, from element @at, to or from fp32 in host
 * memory.  For weights: read the master weights if there are any, write
 * both. */
void ra_params_read(const RaParams *params, RaParamsArray which, gsize at,
                    gsize n, float *out);
void ra_params_write(RaParams *params, RaParamsArray which, gsize at, gsize n,
                     const float *in);

/* Number of elements of the array. */
static inline gsize
ra_params_array_n(const RaParams *params, RaParamsArray which)
{
  return which == RA_PARAMS_WEIGHTS ? params->n : params->n_moments;
}

/* Range of elements of @param, counted from its first, in array @which here;
 * @out_at: index in the array of the first of them. */
RaSpan ra_param_held(const RaParams *params, const RaParam *param,
                     RaParamsArray which, gsize *out_at);

/**
 * ra_params_gather:
 * @parts: (array length=n_parts): of one model, together all of tensor @index
 * @out: (out): (rows, cols) of the tensor, dense
 *
 * Assembles a tensor from the rectangles of ranks or, for moments, from shards.
 */
void ra_params_gather(const RaParams *const *parts, uint32_t n_parts,
                      uint32_t index, RaParamsArray which, float *out);

/**
 * ra_params_hash:
 * @param: one of @params
 *
 * A checksum of the bits of one tensor's part here: the sum over elements of
 * hash(row, column, bits).  Sums of disjoint parts add up to that of the whole.
 */
uint64_t ra_params_hash(const RaParams *params, const RaParam *param);

#endif
