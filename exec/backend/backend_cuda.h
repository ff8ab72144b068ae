/* The table of a GPU: bf16 elements, kernels/NAME.cu and the products of
 * exec/backend/cuda_gemm.h; fp32 master weights, moments, gradients and
 * statistics.
 *
 * Every thread that uses it has a stream, a handle and room of its own, so that
 * ranks which are threads share one GPU.  Ops return before they have run; what
 * the host reads it waits for.  A call that fails leaves a line, which
 * RaBackend.failure() tells; what follows it has no meaning.
 */
#ifndef RA_EXEC_BACKEND_BACKEND_CUDA_H
#define RA_EXEC_BACKEND_BACKEND_CUDA_H

#include "exec/backend/backend.h"

/* (transfer none): for the current device. */
const RaBackend *ra_backend_cuda(void);

#endif
