/* Experts of a layer: which rows go to whom, and back.
 *
 * The router's softmax p over all experts; the k largest are a token's experts,
 * and their weights p_j divided by the sum of the k, or as they are (Mixtral,
 * arXiv 2401.04088, section 2.1; norm_topk_prob of Qwen3-MoE's config.json).
 * A choice is a row, rows lie by expert and of an expert in the order of the
 * tokens.
 */
#ifndef RA_KERNELS_CPU_CPU_EXPERTS_H
#define RA_KERNELS_CPU_CPU_EXPERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu/bf16.h"

typedef struct {
  uint32_t n_experts;
  uint32_t top_k; /* experts of a token, <= n_experts */
  bool raw;       /* their weights are not divided by their sum */
} RaCpuRouting;

/* Whether expert @i of probability @p is chosen before @j of @q: of equal ones
 * the first.  What is no number equals all, so that there always is a choice;
 * j = n_experts of probability -1 is chosen after every expert. */
RA_HD bool
ra_cpu_expert_before(float p, uint32_t i, float q, uint32_t j)
{
  return p > q || (!(p < q) && i < j);
}

/**
 * ra_cpu_route:
 * @probs: (n_tokens, n_experts) logits, replaced by their softmax
 * @choice: (n_tokens, top_k) experts of each, the largest first
 * @gates: (n_tokens, top_k) their weights
 *
 * Error: 2^-24 of each beside that of expf(): sums are in double.
 */
void ra_cpu_route(const RaCpuRouting *routing, size_t n_tokens, float *probs,
                  uint32_t *choice, float *gates);

/* From (n) choices: @counts (n_experts) rows of each, @place (n) of each choice
 * among all rows. */
void ra_cpu_place_rows(const RaCpuRouting *routing, size_t n,
                       const uint32_t *choice, uint32_t *counts,
                       uint32_t *place);

/* @x: (n_tokens, width) to @rows (n_tokens top_k, width), each token to its
 * rows, @gates (nullable): times their weights. */
void ra_cpu_spread_rows(const RaCpuRouting *routing, size_t n_tokens,
                        size_t width, const uint32_t *place, const float *x,
                        const float *gates, float *rows);

/* A token's @rows to their sum, @gates (nullable) times their weights, to
 * @out (n_tokens, width); @add: beside what is there. */
void ra_cpu_collect_rows(const RaCpuRouting *routing, size_t n_tokens,
                         size_t width, const uint32_t *place, const float *rows,
                         const float *gates, bool add, float *out);

/**
 * ra_cpu_route_backward:
 * @d_out: (n_tokens, width) gradient of the sum of rows times weights
 * @made: (n_tokens top_k, width) these rows
 * @d_logits: (n_tokens, n_experts), written
 *
 * A weight's gradient is d_out . its row; d_j that of p_j, (d_j - sum d w) /
 * (sum of the chosen p) unless raw, and 0 of experts that were not chosen;
 * of a logit p_x (d_x - sum p d).
 */
void ra_cpu_route_backward(const RaCpuRouting *routing, size_t n_tokens,
                           size_t width, const float *probs,
                           const uint32_t *choice, const float *gates,
                           const uint32_t *place, const float *d_out,
                           const float *made, float *d_logits);

#endif
