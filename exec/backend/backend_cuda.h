/* The back end of a GPU: bf16 elements, kernels/NAME.cu and the GEMMs of
 * exec/backend/cuda_gemm.h; master weights, moments, gradients and statistics
 * are fp32.
 *
 * Every thread that uses it has its own stream, cuBLAS handle and scratch
 * buffers, so ranks that are threads share one GPU.  Ops return before they
 * have run; the host waits for what it reads.  The first failure is kept for
 * RaBackend.failure(); results after it are undefined.
 */
#ifndef RA_EXEC_BACKEND_BACKEND_CUDA_H
#define RA_EXEC_BACKEND_BACKEND_CUDA_H

#include "exec/backend/backend.h"

/* (transfer none): the table for the current device. */
const RaBackend *ra_backend_cuda(void);

#endif
