/* Ops of experts on the idle GPU (tests/device/idle_gpu.c). */
#include "config.h"

#include "tests/device/idle_gpu.h"

static void
route(const RaCpuRouting *routing, size_t n_tokens, float *probs,
      uint32_t *choice, float *gates)
{
  (void)probs, (void)choice, (void)gates;
  IDLE_OP(RA_OP_ROUTER, 1, n_tokens, routing->n_experts, routing->top_k);
}

static void
place_rows(const RaCpuRouting *routing, size_t n, const uint32_t *choice,
           uint32_t *counts, uint32_t *place)
{
  (void)routing, (void)n, (void)choice, (void)counts, (void)place;
  idle_take(1, 0);
}

static void
spread_rows(const RaCpuRouting *routing, size_t n_tokens, size_t width,
            const uint32_t *place, const RaElem *x, const float *gates,
            RaElem *rows)
{
  (void)place, (void)x, (void)gates, (void)rows;
  IDLE_OP(RA_OP_PERMUTE, 1, n_tokens * routing->top_k, width, routing->top_k);
}

static void
collect_rows(const RaCpuRouting *routing, size_t n_tokens, size_t width,
             const uint32_t *place, const RaElem *rows, const float *gates,
             bool add, RaElem *out)
{
  (void)place, (void)rows, (void)gates, (void)add, (void)out;
  IDLE_OP(RA_OP_PERMUTE, 1, n_tokens * routing->top_k, width, routing->top_k);
}

static void
gemm_experts(RaExpertsProduct product, RaExpertRows *rows, size_t n, size_t k,
             const RaElem *a, const RaElem *b, void *out)
{
  size_t each = rows->n_rows / rows->n_experts;

  (void)a, (void)b, (void)out;
  if (product == RA_EXPERTS_WEIGHT)
    IDLE_OP(RA_OP_GEMM, 1, n, k, each, rows->n_experts);
  else
    IDLE_OP(RA_OP_GEMM, 1, each, n, k, rows->n_experts);
}

void
idle_set_experts(RaBackend *table)
{
  table->route = route;
  table->place_rows = place_rows;
  table->spread_rows = spread_rows;
  table->collect_rows = collect_rows;
  table->gemm_experts = gemm_experts;
}
