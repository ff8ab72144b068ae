/* Experts, in the table of a GPU. */
#include "config.h"

#include "exec/backend_cuda_impl.h"
#include "kernels/experts.h"

void
ra_cuda_route(const RaCpuRouting *routing, size_t n_tokens, float *probs,
              uint32_t *choice, float *gates)
{
  ra_cuda_did(
      ra_k_route(routing, n_tokens, probs, choice, gates, ra_device_stream()),
      "route");
}

void
ra_cuda_place_rows(const RaCpuRouting *routing, size_t n,
                   const uint32_t *choice, uint32_t *counts, uint32_t *place)
{
  ra_cuda_did(
      ra_k_place_rows(routing, n, choice, counts, place, ra_device_stream()),
      "place_rows");
}

void
ra_cuda_spread_rows(const RaCpuRouting *routing, size_t n_tokens, size_t width,
                    const uint32_t *place, const RaElem *x, const float *gates,
                    RaElem *rows)
{
  ra_cuda_did(ra_k_spread_rows(routing, n_tokens, width, place, bf16(x), gates,
                               bf16_out(rows), ra_device_stream()),
              "spread_rows");
}

void
ra_cuda_collect_rows(const RaCpuRouting *routing, size_t n_tokens, size_t width,
                     const uint32_t *place, const RaElem *rows,
                     const float *gates, bool add, RaElem *out)
{
  ra_cuda_did(ra_k_collect_rows(routing, n_tokens, width, place, bf16(rows),
                                gates, add, bf16_out(out), ra_device_stream()),
              "collect_rows");
}

void
ra_cuda_route_backward(const RaCpuRouting *routing, size_t n_tokens,
                       size_t width, const float *probs, const uint32_t *choice,
                       const float *gates, const uint32_t *place,
                       const RaElem *d_out, const RaElem *made,
                       RaElem *d_logits)
{
  ra_cuda_did(ra_k_route_backward(routing, n_tokens, width, probs, choice,
                                  gates, place, bf16(d_out), bf16(made),
                                  bf16_out(d_logits), ra_device_stream()),
              "route_backward");
}
