/* cuBLAS and NCCL under their own names, opened when first called.
 *
 * A function of theirs that something calls is a row of
 * exec/backend/cuda_forward.c: one that has none is undefined where
 * reallot-cuda is linked.  Where the library is missing it returns what says so
 * (NOT_INITIALIZED, a system error).
 */
#ifndef RA_EXEC_BACKEND_CUDA_FORWARD_H
#define RA_EXEC_BACKEND_CUDA_FORWARD_H

#include <glib.h>

G_BEGIN_DECLS

/**
 * ra_cuda_forward_open:
 * @error: %RA_ERROR_NO_DEVICE: no cuBLAS, and where it was looked for
 *
 * Opens cuBLAS, which every product needs.  NCCL is asked for by what needs it
 * (ra_cuda_forward_has_nccl()): one GPU does without.
 *
 * Cost: 70 ms and 220 MB, once.   Thread: any.
 */
gboolean ra_cuda_forward_open(GError **error);

/* Whether there is an NCCL.  Cost: opens it, once.   Thread: any. */
gboolean ra_cuda_forward_has_nccl(void);

G_END_DECLS

#endif
