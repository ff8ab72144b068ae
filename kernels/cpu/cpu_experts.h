/* Experts of a layer: routing, rows to experts and back.
 *
 * The router computes a softmax p over all experts.  The k largest are the
 * experts of a token, with weights p_j divided by the sum of the k, or
 * undivided (Mixtral, arXiv 2401.04088, section 2.1; norm_topk_prob of
 * Qwen3-MoE's config.json).  DeepSeek-V3 (arXiv 2412.19437, section 2.1.2) has
 * sigmoids instead, adds a bias to them for the choice, keeps the groups whose
 * two largest have the largest sum, and scales the weights.  DeepSeek-V2 (arXiv
 * 2405.04434, section 2.2.2) keeps those of a softmax whose largest is largest.
 *
 * Each choice is a row; rows are sorted by expert, and within an expert in the
 * order of the tokens.
 */
#ifndef RA_KERNELS_CPU_CPU_EXPERTS_H
#define RA_KERNELS_CPU_CPU_EXPERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu/bf16.h"

typedef struct {
  uint32_t n_experts;
  uint32_t top_k;    /* experts of a token, <= n_experts */
  bool raw;          /* their weights are not divided by their sum */
  bool sigmoid;      /* scores are sigmoids of the logits, not their softmax */
  uint32_t n_groups; /* equal groups of neighbours; 0: one */
  uint32_t top_groups; /* of which a token's experts are */
  bool by_largest;     /* groups compare by their largest score, not by the sum
                          of their two largest */
  float scale;         /* factor on the weights; 0: 1 */
  const float *bias;   /* (n_experts) added to the scores for the choice alone;
                          NULL: none */
} RaCpuRouting;

/* TRUE if expert @i of probability @p is chosen before @j of @q; of equal ones
 * the first.  NaN equals everything, so that there always is a choice.
 * j = n_experts with probability -1, below every score, comes after every
 * expert. */
RA_HD bool
ra_cpu_expert_before(float p, uint32_t i, float q, uint32_t j)
{
  return p > q || (!(p < q) && i < j);
}

/**
 * ra_cpu_route:
 * @probs: (n_tokens, n_experts) logits, replaced by their softmax or sigmoids
 * @choice: (n_tokens, top_k) experts of each token, the largest first
 * @gates: (n_tokens, top_k) their weights
 *
 * Error: 2^-24 of each, in addition to that of expf(): sums are in double.
 */
void ra_cpu_route(const RaCpuRouting *routing, size_t n_tokens, float *probs,
                  uint32_t *choice, float *gates);

/* From @choice (n): @counts (n_experts), rows of each expert, and @place (n),
 * the row of each choice. */
void ra_cpu_place_rows(const RaCpuRouting *routing, size_t n,
                       const uint32_t *choice, uint32_t *counts,
                       uint32_t *place);

/* Copies each token of @x (n_tokens, width) to its rows of @rows
 * (n_tokens top_k, width), times their weights @gates (nullable). */
void ra_cpu_spread_rows(const RaCpuRouting *routing, size_t n_tokens,
                        size_t width, const uint32_t *place, const float *x,
                        const float *gates, float *rows);

/* Sums the @rows of each token, times their weights @gates (nullable), to @out
 * (n_tokens, width); @add: adds to @out. */
void ra_cpu_collect_rows(const RaCpuRouting *routing, size_t n_tokens,
                         size_t width, const uint32_t *place, const float *rows,
                         const float *gates, bool add, float *out);

/**
 * ra_cpu_route_backward:
 * @d_out: (n_tokens, width) gradient of the sum of rows times weights
 * @made: (n_tokens top_k, width) these rows
 * @d_logits: (n_tokens, n_experts), written
 *
 * Gradients:
 *
 *     weight w_j  d_j = d_out . its row
 *     p_j         (scale d_j - sum d w) / (sum of the chosen p), or scale d_j
 *                 if raw; 0 for experts that were not chosen
 *     logit x     p_x (d_x - sum p d), with d the gradient of p; of sigmoids
 *                 p_x (1 - p_x) d_x
 */
void ra_cpu_route_backward(const RaCpuRouting *routing, size_t n_tokens,
                           size_t width, const float *probs,
                           const uint32_t *choice, const float *gates,
                           const uint32_t *place, const float *d_out,
                           const float *made, float *d_logits);

#endif
