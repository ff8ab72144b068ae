/* cuBLAS and NCCL under their own names, opened at the first call.
 *
 * Every function of theirs that is called needs a row in
 * exec/backend/cuda_forward.c; without one, linking reallot-cuda fails.  If the
 * library is missing, a function returns the error that says so
 * (NOT_INITIALIZED, a system error).
 */
#ifndef RA_EXEC_BACKEND_CUDA_FORWARD_H
#define RA_EXEC_BACKEND_CUDA_FORWARD_H

#include <glib.h>

G_BEGIN_DECLS

/**
 * ra_cuda_forward_open:
 * @error: %RA_ERROR_NO_DEVICE: no cuBLAS, and where it was searched
 *
 * Opens cuBLAS, which every GEMM needs.  Code that needs NCCL calls
 * ra_cuda_forward_has_nccl(); one GPU does not need it.
 *
 * Cost: 70 ms and 220 MB, once.   Thread: any.
 */
gboolean ra_cuda_forward_open(GError **error);

/* TRUE if NCCL is installed.  Cost: opens it, once.   Thread: any. */
gboolean ra_cuda_forward_has_nccl(void);

G_END_DECLS

#endif
