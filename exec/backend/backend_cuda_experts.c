/* Ops of experts in the GPU's table. */
#include "config.h"

#include "exec/backend/backend_cuda_impl.h"
#include "exec/backend/expert_rows.h"
#include "kernels/experts.h"
#include "kernels/grouped.h"

/* Mean number of rows per expert up to which one grouped kernel computes the
 * GEMMs of all experts.  With more rows it is one cuBLASLt GEMM per expert,
 * whose counts the host waits for.  A GEMM of m rows has m FLOP per byte of its
 * matrix.  At the rate of mma.sync (kernels/grouped.h) it is bound by memory
 * below 0.6 x 989e12 / 3.35e12 = 177 rows on an H100, and 0.6 x 989e12 / 4.8e12
 * = 124 on an H200.  The variant for capability 9.0 has not run: what
 * bench/gpu_kernels prints of it may raise this. */
#define GROUPED_ROWS 128

void
ra_cuda_route(const RaCpuRouting *routing, size_t n_tokens, float *probs,
              uint32_t *choice, float *gates)
{
  ra_cuda_check(
      ra_k_route(routing, n_tokens, probs, choice, gates, ra_device_stream()),
      "route");
}

void
ra_cuda_place_rows(const RaCpuRouting *routing, size_t n,
                   const uint32_t *choice, uint32_t *counts, uint32_t *place)
{
  ra_cuda_check(
      ra_k_place_rows(routing, n, choice, counts, place, ra_device_stream()),
      "place_rows");
}

void
ra_cuda_spread_rows(const RaCpuRouting *routing, size_t n_tokens, size_t width,
                    const uint32_t *place, const RaElem *x, const float *gates,
                    RaElem *rows)
{
  ra_cuda_check(ra_k_spread_rows(routing, n_tokens, width, place, bf16(x),
                                 gates, bf16_out(rows), ra_device_stream()),
                "spread_rows");
}

void
ra_cuda_collect_rows(const RaCpuRouting *routing, size_t n_tokens, size_t width,
                     const uint32_t *place, const RaElem *rows,
                     const float *gates, bool add, RaElem *out)
{
  ra_cuda_check(ra_k_collect_rows(routing, n_tokens, width, place, bf16(rows),
                                  gates, add, bf16_out(out),
                                  ra_device_stream()),
                "collect_rows");
}

void
ra_cuda_route_backward(const RaCpuRouting *routing, size_t n_tokens,
                       size_t width, const float *probs, const uint32_t *choice,
                       const float *gates, const uint32_t *place,
                       const RaElem *d_out, const RaElem *made,
                       RaElem *d_logits)
{
  ra_cuda_check(ra_k_route_backward(routing, n_tokens, width, probs, choice,
                                    gates, place, bf16(d_out), bf16(made),
                                    bf16_out(d_logits), ra_device_stream()),
                "route_backward");
}

void
ra_cuda_gemm_experts(RaExpertsProduct product, RaExpertRows *rows, size_t n,
                     size_t k, const RaElem *a, const RaElem *b, void *out)
{
  const RaKGroups groups = {.n_groups = rows->n_experts,
                            .n_rows = rows->n_rows,
                            .counts = rows->counts,
                            .n = n,
                            .k = k,
                            .n_processors = ra_device_n_processors()};
  void *stream = ra_device_stream();

  if (rows->n_rows > (gsize)GROUPED_ROWS * rows->n_experts)
    ra_expert_rows_multiply(ra_backend_cuda(), product, rows, n, k, a, b, out);
  else if (product == RA_EXPERTS_OUTPUT)
    ra_cuda_check(ra_k_grouped(&groups, bf16(a), bf16(b), out, stream),
                  "gemm_experts");
  else if (product == RA_EXPERTS_INPUT)
    ra_cuda_check(ra_k_grouped_input(&groups, bf16(a), bf16(b), out, stream),
                  "gemm_experts, of the input");
  else
    ra_cuda_check(ra_k_grouped_weight(&groups, bf16(a), bf16(b), out, stream),
                  "gemm_experts, of the weights");
}
