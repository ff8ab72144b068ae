/* Sampling of tokens in the GPU's table: logits stay on the device. */
#include "config.h"

#include <string.h>

#include "exec/backend/backend_cuda_impl.h"
#include "kernels/sample.h"

/* The kernel writes to host memory, so that nothing is copied behind it. */
static void
begin(size_t n_rows, uint32_t n, const RaElem *logits, const RaCpuSampling *how,
      const double *uniforms, const uint32_t *slots, uint32_t *newest,
      RaCpuSample *out)
{
  const void *there =
      ra_cuda_upload(RA_CUDA_WORDS, 2 * n_rows, (gconstpointer)uniforms);

  void *workspace =
      ra_cuda_scratch(RA_CUDA_DRAWS, ra_k_sample_workspace(n_rows));
  uint32_t *counts = ra_cuda_scratch(RA_CUDA_COUNTS, n_rows * sizeof *counts);

  ra_cuda_check(ra_k_sample(n_rows, n, bf16(logits), how, there, slots, newest,
                            out, workspace, counts, ra_device_stream()),
                "sample");
}

void
ra_cuda_sample(size_t n_rows, uint32_t n, const RaElem *logits,
               const RaCpuSampling *how, const double *uniforms,
               RaCpuSample *out)
{
  RaCpuSample *drawn = ra_cuda_pinned(n_rows * sizeof *drawn);

  begin(n_rows, n, logits, how, uniforms, NULL, NULL, drawn);
  ra_backend_cuda()->wait();
  memcpy(out, drawn, n_rows * sizeof *out);
}

void
ra_cuda_draw(size_t n_rows, uint32_t n, const RaElem *logits,
             const RaCpuSampling *how, const double *uniforms, uint32_t n_slots,
             const uint32_t *slots, RaCpuSample *out)
{
  uint32_t *newest = ra_cuda_scratch(RA_CUDA_NEWEST, n_slots * sizeof *newest);

  begin(n_rows, n, logits, how, uniforms,
        ra_cuda_upload(RA_CUDA_BEGINS, n_rows, slots), newest, out);
}
