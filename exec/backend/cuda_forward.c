/* cuBLAS and NCCL functions that open their library at the first call. */
#include "config.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <dlfcn.h>
#include <nccl.h>

#include "base/error.h"
#include "exec/backend/cuda_forward.h"
#include "exec/backend/cuda_library.h"

#define MISSING "the library is not on this machine"

typedef enum { CUBLAS_LT, CUBLAS, NCCL, N_LIBRARIES } Library;

/* The numbers of the interfaces that this was compiled with. */
static const char *const sonames[N_LIBRARIES] = {
    "libcublasLt.so." G_STRINGIFY(CUBLAS_VER_MAJOR),
    "libcublas.so." G_STRINGIFY(CUBLAS_VER_MAJOR),
    "libnccl.so." G_STRINGIFY(NCCL_MAJOR)};

static void *
library(Library which)
{
  static gsize done[N_LIBRARIES];
  static void *opened[N_LIBRARIES];

  if (which == CUBLAS)
    library(CUBLAS_LT); /* which it needs, and which may lie elsewhere */
  if (g_once_init_enter(&done[which])) {
    opened[which] = ra_cuda_library_open(sonames[which]);
    g_once_init_leave(&done[which], 1);
  }
  return opened[which];
}

/* ISO C has no conversion from an object's to a function's address. */
typedef union {
  void *address;
  void (*call)(void);
} Entry;

/* (nullable): @name of @which, looked up once into @cache. */
static void (*entry(Library which, const char *name, void **cache))(void)
{
  Entry e = {g_atomic_pointer_get(cache)};

  if (!e.address && library(which)) {
    e.address = dlsym(library(which), name);
    g_atomic_pointer_set(cache, e.address);
  }
  return e.call;
}

/* The headers' own declarations hold the types of the rows. */
#define FORWARD(which, type, missing, name, parameters, arguments)             \
  type name parameters                                                         \
  {                                                                            \
    static void *cache;                                                        \
    void (*call)(void) = entry(which, #name, &cache);                          \
                                                                               \
    return call ? ((type(*) parameters)call)arguments : missing;               \
  }

#define BLAS(name, parameters, arguments)                                      \
  FORWARD(CUBLAS, cublasStatus_t, CUBLAS_STATUS_NOT_INITIALIZED, name,         \
          parameters, arguments)
#define BLAS_LT(name, parameters, arguments)                                   \
  FORWARD(CUBLAS_LT, cublasStatus_t, CUBLAS_STATUS_NOT_INITIALIZED, name,      \
          parameters, arguments)
#define NCCL_CALL(name, parameters, arguments)                                 \
  FORWARD(NCCL, ncclResult_t, ncclSystemError, name, parameters, arguments)

/* nccl.h has no prototypes of these. */
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);

BLAS(cublasCreate_v2, (cublasHandle_t * handle), (handle))
BLAS(cublasDestroy_v2, (cublasHandle_t handle), (handle))
BLAS(cublasGemmEx,
     (cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
      int m, int n, int k, const void *alpha, const void *A, cudaDataType Atype,
      int lda, const void *B, cudaDataType Btype, int ldb, const void *beta,
      void *C, cudaDataType Ctype, int ldc, cublasComputeType_t computeType,
      cublasGemmAlgo_t algo),
     (handle, transa, transb, m, n, k, alpha, A, Atype, lda, B, Btype, ldb,
      beta, C, Ctype, ldc, computeType, algo))
FORWARD(CUBLAS, size_t, 0, cublasGetCudartVersion, (void), ())
FORWARD(CUBLAS, const char *, MISSING, cublasGetStatusString,
        (cublasStatus_t status), (status))
BLAS_LT(cublasLtCreate, (cublasLtHandle_t * lightHandle), (lightHandle))
BLAS_LT(cublasLtDestroy, (cublasLtHandle_t lightHandle), (lightHandle))
FORWARD(CUBLAS_LT, const char *, MISSING, cublasLtGetStatusString,
        (cublasStatus_t status), (status))
BLAS_LT(cublasLtMatmul,
        (cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t computeDesc,
         const void *alpha, const void *A, cublasLtMatrixLayout_t Adesc,
         const void *B, cublasLtMatrixLayout_t Bdesc, const void *beta,
         const void *C, cublasLtMatrixLayout_t Cdesc, void *D,
         cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t *algo,
         void *workspace, size_t workspaceSizeInBytes, cudaStream_t stream),
        (lightHandle, computeDesc, alpha, A, Adesc, B, Bdesc, beta, C, Cdesc, D,
         Ddesc, algo, workspace, workspaceSizeInBytes, stream))
BLAS_LT(cublasLtMatmulAlgoGetHeuristic,
        (cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t operationDesc,
         cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
         cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
         cublasLtMatmulPreference_t preference, int requestedAlgoCount,
         cublasLtMatmulHeuristicResult_t heuristicResultsArray[],
         int *returnAlgoCount),
        (lightHandle, operationDesc, Adesc, Bdesc, Cdesc, Ddesc, preference,
         requestedAlgoCount, heuristicResultsArray, returnAlgoCount))
BLAS_LT(cublasLtMatmulDescCreate,
        (cublasLtMatmulDesc_t * matmulDesc, cublasComputeType_t computeType,
         cudaDataType_t scaleType),
        (matmulDesc, computeType, scaleType))
BLAS_LT(cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t matmulDesc),
        (matmulDesc))
BLAS_LT(cublasLtMatmulDescSetAttribute,
        (cublasLtMatmulDesc_t matmulDesc, cublasLtMatmulDescAttributes_t attr,
         const void *buf, size_t sizeInBytes),
        (matmulDesc, attr, buf, sizeInBytes))
BLAS_LT(cublasLtMatmulPreferenceCreate, (cublasLtMatmulPreference_t * pref),
        (pref))
BLAS_LT(cublasLtMatmulPreferenceDestroy, (cublasLtMatmulPreference_t pref),
        (pref))
BLAS_LT(cublasLtMatmulPreferenceSetAttribute,
        (cublasLtMatmulPreference_t pref,
         cublasLtMatmulPreferenceAttributes_t attr, const void *buf,
         size_t sizeInBytes),
        (pref, attr, buf, sizeInBytes))
BLAS_LT(cublasLtMatrixLayoutCreate,
        (cublasLtMatrixLayout_t * matLayout, cudaDataType type, uint64_t rows,
         uint64_t cols, int64_t ld),
        (matLayout, type, rows, cols, ld))
BLAS_LT(cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t matLayout),
        (matLayout))
NCCL_CALL(ncclAllGather,
          (const void *sendbuff, void *recvbuff, size_t sendcount,
           ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream),
          (sendbuff, recvbuff, sendcount, datatype, comm, stream))
NCCL_CALL(ncclAllReduce,
          (const void *sendbuff, void *recvbuff, size_t count,
           ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
           cudaStream_t stream),
          (sendbuff, recvbuff, count, datatype, op, comm, stream))
NCCL_CALL(ncclBroadcast,
          (const void *sendbuff, void *recvbuff, size_t count,
           ncclDataType_t datatype, int root, ncclComm_t comm,
           cudaStream_t stream),
          (sendbuff, recvbuff, count, datatype, root, comm, stream))
NCCL_CALL(ncclCommAbort, (ncclComm_t comm), (comm))
NCCL_CALL(ncclCommDeregister, (const ncclComm_t comm, void *handle),
          (comm, handle))
NCCL_CALL(ncclCommDestroy, (ncclComm_t comm), (comm))
NCCL_CALL(ncclCommFinalize, (ncclComm_t comm), (comm))
NCCL_CALL(ncclCommGetAsyncError, (ncclComm_t comm, ncclResult_t *asyncError),
          (comm, asyncError))
NCCL_CALL(ncclCommInitAll, (ncclComm_t * comm, int ndev, const int *devlist),
          (comm, ndev, devlist))
NCCL_CALL(ncclCommInitRankConfig,
          (ncclComm_t * comm, int nranks, ncclUniqueId commId, int rank,
           ncclConfig_t *config),
          (comm, nranks, commId, rank, config))
NCCL_CALL(ncclCommRegister,
          (const ncclComm_t comm, void *buff, size_t size, void **handle),
          (comm, buff, size, handle))
NCCL_CALL(ncclCommSplit,
          (ncclComm_t comm, int color, int key, ncclComm_t *newcomm,
           ncclConfig_t *config),
          (comm, color, key, newcomm, config))
FORWARD(NCCL, const char *, MISSING, ncclGetErrorString, (ncclResult_t result),
        (result))
FORWARD(NCCL, const char *, MISSING, ncclGetLastError, (ncclComm_t comm),
        (comm))
NCCL_CALL(ncclGetUniqueId, (ncclUniqueId * uniqueId), (uniqueId))
NCCL_CALL(ncclGetVersion, (int *version), (version))
NCCL_CALL(ncclGroupEnd, (void), ())
NCCL_CALL(ncclGroupStart, (void), ())
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 0)
NCCL_CALL(ncclMemAlloc, (void **ptr, size_t size), (ptr, size))
NCCL_CALL(ncclMemFree, (void *ptr), (ptr))
#endif
NCCL_CALL(ncclRecv,
          (void *recvbuff, size_t count, ncclDataType_t datatype, int peer,
           ncclComm_t comm, cudaStream_t stream),
          (recvbuff, count, datatype, peer, comm, stream))
NCCL_CALL(ncclReduce,
          (const void *sendbuff, void *recvbuff, size_t count,
           ncclDataType_t datatype, ncclRedOp_t op, int root, ncclComm_t comm,
           cudaStream_t stream),
          (sendbuff, recvbuff, count, datatype, op, root, comm, stream))
NCCL_CALL(ncclReduceScatter,
          (const void *sendbuff, void *recvbuff, size_t recvcount,
           ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
           cudaStream_t stream),
          (sendbuff, recvbuff, recvcount, datatype, op, comm, stream))
NCCL_CALL(ncclSend,
          (const void *sendbuff, size_t count, ncclDataType_t datatype,
           int peer, ncclComm_t comm, cudaStream_t stream),
          (sendbuff, count, datatype, peer, comm, stream))

gboolean
ra_cuda_forward_open(GError **error)
{
  for (int i = CUBLAS_LT; i <= CUBLAS; i++) {
    g_auto(GStrv) folders = NULL;
    g_autofree char *text = NULL;

    if (library((Library)i))
      continue;
    folders = ra_cuda_library_folders();
    text = g_strjoinv(":", folders);
    g_set_error(error, RA_ERROR, RA_ERROR_NO_DEVICE,
                "no CUDA library %s, expected it on the loader's path, in "
                "RA_CUDA_LIBRARIES or in '%s'",
                sonames[i], text);
    return FALSE;
  }
  return TRUE;
}

gboolean
ra_cuda_forward_has_nccl(void)
{
  return library(NCCL) != NULL;
}
