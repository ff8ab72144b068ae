/* Sampling of tokens in the GPU's table: logits stay on the device. */
#include "config.h"

#include <string.h>

#include "exec/backend/backend_cuda_impl.h"
#include "kernels/sample.h"

/* The kernel writes to host memory, so that nothing is copied behind it. */
void
ra_cuda_sample(size_t n_rows, uint32_t n, const RaElem *logits,
               const RaCpuSampling *how, const double *uniforms,
               RaCpuSample *out)
{
  const void *there;
  RaCpuSample *drawn = ra_cuda_pinned(n_rows * sizeof *drawn);

  there = ra_cuda_upload(RA_CUDA_WORDS, 2 * n_rows, (gconstpointer)uniforms);
  ra_cuda_check(ra_k_sample(n_rows, n, bf16(logits), how, there, drawn,
                            ra_device_stream()),
                "sample");
  ra_backend_cuda()->wait();
  memcpy(out, drawn, n_rows * sizeof *out);
}
