/* What reallot-cuda can say about a device before it is trusted with work.
 *
 * Three checks, each against something computed on the host: our RMSNorm
 * against its CPU reference (the same bits), a cuBLAS GEMM against a double
 * precision product (within a derived bound), and a one-rank NCCL all-reduce
 * (the identity).  They need a few milliseconds and 10 MB.
 *
 *     GError *error = NULL;
 *     char *detail = NULL;
 *     if (ra_cuda_open(&error) && ra_cuda_check_gemm(seed, &detail, &error))
 *       puts(detail);
 *
 * A check that ran and found a difference is RA_ERROR_NEGATIVE; a call that
 * failed is RA_ERROR_DEVICE; no driver or no device is RA_ERROR_NO_DEVICE.
 */
#ifndef RA_EXEC_BACKEND_CUDA_SELFTEST_H
#define RA_EXEC_BACKEND_CUDA_SELFTEST_H

#include <glib.h>

/**
 * ra_cuda_open:
 * @error: RA_ERROR_NO_DEVICE
 *
 * Finds a driver and selects device 0.
 *
 * Returns: whether there is a device
 */
gboolean ra_cuda_open(GError **error);

/**
 * RaCudaCheck:
 * @seed: of the random inputs
 * @out_detail: (transfer full): what was compared, one line; on success only
 * @error: RA_ERROR_NEGATIVE or RA_ERROR_DEVICE
 *
 * One check on the current device.
 *
 * Returns: whether it passed
 */
typedef gboolean (*RaCudaCheck)(guint32 seed, char **out_detail,
                                GError **error);

/* rmsnorm.h's kernel and reference on eight shapes: every bit is the same. */
gboolean ra_cuda_check_rmsnorm(guint32 seed, char **out_detail, GError **error);

/* cublasGemmEx, bf16 inputs, fp32 accumulation and output. */
gboolean ra_cuda_check_gemm(guint32 seed, char **out_detail, GError **error);

/* ncclAllReduce over a communicator of one rank: out equals in. */
gboolean ra_cuda_check_allreduce(guint32 seed, char **out_detail,
                                 GError **error);

#endif
