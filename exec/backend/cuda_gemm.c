/* GEMMs by cuBLASLt, with a cache of algorithms by shape. */
#include "config.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include "base/error.h"
#include "exec/backend/cuda_gemm.h"

#define WORKSPACE_BYTES ((gsize)32 << 20)
enum { N_CANDIDATES = 64, FIRST = 4 /* one of these can run */ };

/* A placeholder for the bias' address in the heuristic, which uses only its
 * alignment: that of all operands. */
#define ALIGN_BYTES 16

/* A shape as the library knows it, and the algorithm that it is run by. */
typedef struct {
  RaCudaProduct product; /* the key */
  gboolean is_known;     /* there is one */
  cublasStatus_t answer; /* the library's, asked for one */
  cublasLtMatmulDesc_t op;
  cublasLtMatrixLayout_t a, b, c; /* of the transposed GEMM: b, a, c */
  cublasLtMatmulHeuristicResult_t best;
} Plan;

struct _RaCudaGemm {
  cublasLtHandle_t handle;
  void *workspace;
  GHashTable *plans; /* Plan, each its own key */
  cublasLtMatmulHeuristicResult_t candidates[N_CANDIDATES];
  guint n_candidates;
};

static gboolean
lt_ok(cublasStatus_t code, const char *what, GError **error)
{
  if (code == CUBLAS_STATUS_SUCCESS)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_DEVICE, "%s failed: %s", what,
              cublasLtGetStatusString(code));
  return FALSE;
}

static guint
product_hash(gconstpointer key)
{
  const RaCudaProduct *p = key;
  guint64 h = (guint64)p->order_a | (guint64)p->order_b << 1 |
              (guint64)p->result << 2 | (guint64)p->bias << 4;
  const gsize sizes[] = {p->m, p->n, p->k, p->lda, p->ldb, p->ldc};

  for (guint i = 0; i < G_N_ELEMENTS(sizes); i++)
    h = (h ^ sizes[i]) * 0x9e3779b97f4a7c15u;
  return (guint)(h >> 32);
}

static gboolean
product_equal(gconstpointer x, gconstpointer y)
{
  const RaCudaProduct *p = x, *q = y;

  return p->order_a == q->order_a && p->order_b == q->order_b &&
         p->result == q->result && p->bias == q->bias && p->m == q->m &&
         p->n == q->n && p->k == q->k && p->lda == q->lda && p->ldb == q->ldb &&
         p->ldc == q->ldc;
}

static void
plan_free(gpointer data)
{
  Plan *plan = data;

  if (plan->c)
    cublasLtMatrixLayoutDestroy(plan->c);
  if (plan->b)
    cublasLtMatrixLayoutDestroy(plan->b);
  if (plan->a)
    cublasLtMatrixLayoutDestroy(plan->a);
  if (plan->op)
    cublasLtMatmulDescDestroy(plan->op);
  g_free(plan);
}

gsize
ra_cuda_gemm_workspace_bytes(void)
{
  return WORKSPACE_BYTES;
}

RaCudaGemm *
ra_cuda_gemm_new(GError **error)
{
  RaCudaGemm *gemm = g_new0(RaCudaGemm, 1);

  gemm->plans =
      g_hash_table_new_full(product_hash, product_equal, NULL, plan_free);
  if (!lt_ok(cublasLtCreate(&gemm->handle), "cublasLtCreate", error)) {
    gemm->handle = NULL;
    ra_cuda_gemm_free(gemm);
    return NULL;
  }
  if (cudaMalloc(&gemm->workspace, WORKSPACE_BYTES) != cudaSuccess) {
    g_set_error(error, RA_ERROR, RA_ERROR_DEVICE,
                "cannot allocate %zu bytes of device memory for cuBLASLt",
                WORKSPACE_BYTES);
    gemm->workspace = NULL;
    ra_cuda_gemm_free(gemm);
    return NULL;
  }
  return gemm;
}

void
ra_cuda_gemm_free(RaCudaGemm *gemm)
{
  if (!gemm)
    return;
  g_hash_table_unref(gemm->plans);
  if (gemm->workspace)
    cudaFree(gemm->workspace);
  if (gemm->handle)
    cublasLtDestroy(gemm->handle);
  g_free(gemm);
}

static gboolean
is_f32(const RaCudaProduct *p)
{
  return p->result == RA_CUDA_ADD_F32 || p->result == RA_CUDA_STORE_F32;
}

/* A row-major (rows, cols) matrix is a column-major (cols, rows) one. */
static gboolean
layout_new(cublasLtMatrixLayout_t *out, cudaDataType_t type, gsize n_rows,
           gsize n_cols, gsize stride, GError **error)
{
  return lt_ok(
      cublasLtMatrixLayoutCreate(out, type, n_cols, n_rows, (int64_t)stride),
      "cublasLtMatrixLayoutCreate", error);
}

static gboolean
set_bias(const Plan *plan, const void *bias, GError **error)
{
  return lt_ok(cublasLtMatmulDescSetAttribute(plan->op,
                                              CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                              &bias, sizeof bias),
               "cublasLtMatmulDescSetAttribute", error);
}

/* A bias runs along the rows of the library's result, which are our columns.  A
 * bias gradient sums the library's second factor, which is our first, over the
 * terms of the GEMM.  Both have the type of the result.  GELU is not among the
 * epilogues: cublasLt.h does not say whether CUBLASLT_EPILOGUE_GELU uses erf or
 * tanh, or its accuracy. */
static gboolean
describe_bias(const Plan *plan, GError **error)
{
  cublasLtEpilogue_t epilogue = plan->product.bias == RA_CUDA_BIAS
                                    ? CUBLASLT_EPILOGUE_BIAS
                                    : CUBLASLT_EPILOGUE_BGRADB;

  if (plan->product.bias == RA_CUDA_NO_BIAS)
    return TRUE;
  return lt_ok(cublasLtMatmulDescSetAttribute(plan->op,
                                              CUBLASLT_MATMUL_DESC_EPILOGUE,
                                              &epilogue, sizeof epilogue),
               "cublasLtMatmulDescSetAttribute", error) &&
         set_bias(plan, GSIZE_TO_POINTER(ALIGN_BYTES), error);
}

/* The transposed GEMM c' = b' a': the library's first operand is our second,
 * and it transposes the operands that we transpose. */
static gboolean
plan_describe(Plan *plan, const RaCudaProduct *p, GError **error)
{
  gboolean ta = p->order_a == RA_CPU_TRANSPOSED;
  gboolean tb = p->order_b == RA_CPU_TRANSPOSED;
  cublasOperation_t first = tb ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasOperation_t second = ta ? CUBLAS_OP_T : CUBLAS_OP_N;

  return lt_ok(cublasLtMatmulDescCreate(&plan->op, CUBLAS_COMPUTE_32F,
                                        CUDA_R_32F),
               "cublasLtMatmulDescCreate", error) &&
         lt_ok(cublasLtMatmulDescSetAttribute(
                   plan->op, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first),
               "cublasLtMatmulDescSetAttribute", error) &&
         lt_ok(cublasLtMatmulDescSetAttribute(plan->op,
                                              CUBLASLT_MATMUL_DESC_TRANSB,
                                              &second, sizeof second),
               "cublasLtMatmulDescSetAttribute", error) &&
         describe_bias(plan, error) &&
         layout_new(&plan->b, CUDA_R_16BF, tb ? p->n : p->k, tb ? p->k : p->n,
                    p->ldb, error) &&
         layout_new(&plan->a, CUDA_R_16BF, ta ? p->k : p->m, ta ? p->m : p->k,
                    p->lda, error) &&
         layout_new(&plan->c, is_f32(p) ? CUDA_R_32F : CUDA_R_16BF, p->m, p->n,
                    p->ldc, error);
}

/* Operands are aligned to 16 bytes, as rows of a slab are; without this the
 * library assumes 256.  For a bf16 result, parts of a sum are added in fp32:
 * two of the library's three reduction schemes would round each part. */
static gboolean
prefer(cublasLtMatmulPreference_t preference, const RaCudaProduct *p,
       GError **error)
{
  static const cublasLtMatmulPreferenceAttributes_t alignments[] = {
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
      CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
  gsize workspace = WORKSPACE_BYTES;
  uint32_t n_bytes = ALIGN_BYTES;
  uint32_t reductions = is_f32(p) ? CUBLASLT_REDUCTION_SCHEME_MASK
                                  : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;

  for (guint i = 0; i < G_N_ELEMENTS(alignments); i++)
    if (!lt_ok(cublasLtMatmulPreferenceSetAttribute(preference, alignments[i],
                                                    &n_bytes, sizeof n_bytes),
               "cublasLtMatmulPreferenceSetAttribute", error))
      return FALSE;
  return lt_ok(cublasLtMatmulPreferenceSetAttribute(
                   preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                   &reductions, sizeof reductions),
               "cublasLtMatmulPreferenceSetAttribute", error) &&
         lt_ok(cublasLtMatmulPreferenceSetAttribute(
                   preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                   &workspace, sizeof workspace),
               "cublasLtMatmulPreferenceSetAttribute", error);
}

/* Those of the @n candidates that the library can run.   Returns: how many */
static guint
keep_sound(RaCudaGemm *gemm, int n)
{
  guint n_kept = 0;

  for (int i = 0; i < n; i++)
    if (gemm->candidates[i].state == CUBLAS_STATUS_SUCCESS &&
        gemm->candidates[i].workspaceSize <= WORKSPACE_BYTES)
      gemm->candidates[n_kept++] = gemm->candidates[i];
  return n_kept;
}

/* The library's proposals for @plan, best first by its own reckoning: there may
 * be none, also because of an error, which is the plan's answer then, so that
 * nobody asks again. */
static gboolean
propose(RaCudaGemm *gemm, Plan *plan, int n_most, GError **error)
{
  cublasLtMatmulPreference_t preference;
  int n = 0;
  gboolean ok;

  gemm->n_candidates = 0;
  if (!lt_ok(cublasLtMatmulPreferenceCreate(&preference),
             "cublasLtMatmulPreferenceCreate", error))
    return FALSE;
  ok = prefer(preference, &plan->product, error);
  if (ok) {
    plan->answer = cublasLtMatmulAlgoGetHeuristic(
        gemm->handle, plan->op, plan->b, plan->a, plan->c, plan->c, preference,
        MIN(n_most, N_CANDIDATES), gemm->candidates, &n);
    if (plan->answer != CUBLAS_STATUS_SUCCESS)
      n = 0;
  }
  cublasLtMatmulPreferenceDestroy(preference);
  gemm->n_candidates = ok ? keep_sound(gemm, n) : 0;
  return ok;
}

static gboolean
has_algorithm(const Plan *plan, gboolean known, GError **error)
{
  const RaCudaProduct *p = &plan->product;

  if (known)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_DEVICE,
              "cuBLASLt has no algorithm for a GEMM of %zu x %zu x %zu (%s)",
              p->m, p->n, p->k, cublasLtGetStatusString(plan->answer));
  return FALSE;
}

/* When the table is full it is begun anew: what is still in use comes back for
 * a question each, with the same answer.
 *
 * (transfer none): NULL: @error is set */
static Plan *
plan_of(RaCudaGemm *gemm, const RaCudaProduct *product, GError **error)
{
  Plan *plan = g_hash_table_lookup(gemm->plans, product);

  if (plan)
    return plan;
  plan = g_new0(Plan, 1);
  plan->product = *product;
  if (!plan_describe(plan, product, error) ||
      !propose(gemm, plan, FIRST, error)) {
    plan_free(plan);
    return NULL;
  }
  plan->is_known = gemm->n_candidates > 0;
  plan->best = gemm->candidates[0];
  if (g_hash_table_size(gemm->plans) >= RA_CUDA_GEMM_SHAPES)
    g_hash_table_remove_all(gemm->plans);
  g_hash_table_insert(gemm->plans, &plan->product, plan);
  return plan;
}

static gboolean
run(RaCudaGemm *gemm, const Plan *plan, const cublasLtMatmulAlgo_t *algorithm,
    const void *a, const void *b, void *c, void *stream, GError **error)
{
  const RaCudaProduct *p = &plan->product;
  float one = 1.0f, beta = 0.0f;

  if (p->result == RA_CUDA_ADD || p->result == RA_CUDA_ADD_F32)
    beta = 1.0f;
  return lt_ok(cublasLtMatmul(gemm->handle, plan->op, &one, b, plan->b, a,
                              plan->a, &beta, c, plan->c, c, plan->c, algorithm,
                              gemm->workspace, WORKSPACE_BYTES, stream),
               "cublasLtMatmul", error);
}

gboolean
ra_cuda_gemm_fuses(RaCudaGemm *gemm, const RaCudaProduct *product)
{
  const Plan *plan = plan_of(gemm, product, NULL);

  return plan && plan->is_known;
}

gboolean
ra_cuda_gemm(RaCudaGemm *gemm, const RaCudaProduct *product, const void *a,
             const void *b, void *bias, void *c, void *stream, GError **error)
{
  Plan *plan = plan_of(gemm, product, error);

  g_return_val_if_fail((product->bias != RA_CUDA_NO_BIAS) == (bias != NULL),
                       FALSE);
  return plan && has_algorithm(plan, plan->is_known, error) &&
         (!bias || set_bias(plan, bias, error)) &&
         run(gemm, plan, &plan->best.algo, a, b, c, stream, error);
}

guint
ra_cuda_gemm_candidates(RaCudaGemm *gemm, const RaCudaProduct *product,
                        guint n_most, GError **error)
{
  Plan *plan = plan_of(gemm, product, error);

  if (!plan || !propose(gemm, plan, (int)MIN(n_most, N_CANDIDATES), error) ||
      !has_algorithm(plan, gemm->n_candidates > 0, error))
    return 0;
  return gemm->n_candidates;
}

gboolean
ra_cuda_gemm_by(RaCudaGemm *gemm, const RaCudaProduct *product, guint which,
                const void *a, const void *b, void *c, void *stream,
                GError **error)
{
  Plan *plan = plan_of(gemm, product, error);

  g_return_val_if_fail(which < gemm->n_candidates, FALSE);
  return plan &&
         run(gemm, plan, &gemm->candidates[which].algo, a, b, c, stream, error);
}
