/* Self-test of a device, before reallot-cuda uses it.
 *
 * Three checks, each against a computation on the host: RMSNorm against its CPU
 * reference (the same bits), a cuBLAS GEMM against one in double precision
 * (within a derived bound), and a one-rank NCCL all-reduce (the identity).
 * They need a few milliseconds and 10 MB.
 *
 *     GError *error = NULL;
 *     char *detail = NULL;
 *     if (ra_cuda_open(&error) && ra_cuda_check_gemm(seed, &detail, &error))
 *       puts(detail);
 *
 * A check that found a difference returns RA_ERROR_NEGATIVE, a call that failed
 * RA_ERROR_DEVICE, and no driver or no device RA_ERROR_NO_DEVICE.
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
 * @seed: seed of the random inputs
 * @out_detail: (transfer full): one line on the comparison; on success only
 * @error: RA_ERROR_NEGATIVE or RA_ERROR_DEVICE
 *
 * One check on the current device.
 *
 * Returns: whether it passed
 */
typedef gboolean (*RaCudaCheck)(guint32 seed, char **out_detail,
                                GError **error);

/* Compares rmsnorm.h's kernel with its reference on eight shapes, bit for
 * bit. */
gboolean ra_cuda_check_rmsnorm(guint32 seed, char **out_detail, GError **error);

/* Checks cublasGemmEx with bf16 inputs, fp32 accumulation and output. */
gboolean ra_cuda_check_gemm(guint32 seed, char **out_detail, GError **error);

/* Checks ncclAllReduce over a communicator of one rank: output equals input. */
gboolean ra_cuda_check_allreduce(guint32 seed, char **out_detail,
                                 GError **error);

#endif
