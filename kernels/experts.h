/* Experts on a GPU: routing, rows to experts and back, and their gradients.
 *
 * Formulas and layouts are those of kernels/cpu/cpu_experts.h, whose functions
 * on the widened inputs are the reference; rows are bf16, statistics fp32 as
 * there.  @width is a multiple of 8, pointers to rows are 16-byte aligned,
 * n_experts <= RA_K_EXPERTS and top_k <= RA_K_TOP.  All functions return a
 * cudaError_t: 1 (cudaErrorInvalidValue) if an argument is not allowed, and
 * nothing runs.  There are no atomics: the order of every sum and of the rows
 * is that of the tokens.
 *
 * Errors (u = 2^-24, U = 2^-8; expf of the device within 2 ulp):
 *
 *     route, probs   (n_experts / 32 + 15 + 2 D) u p, D the distance of the
 *                    token's smallest logit to its largest
 *     route, gates   (top_k + 1) u gate, for the computed probs; choices are
 *                    exactly those of these probs
 *     place_rows     exact
 *     spread_rows    (U + u) |exact|; 0 without gates
 *     collect_rows   U |exact| + (top_k + 2) u sum |terms|
 *     route_backward U |exact| + (width / 8 + 8 top_k + 44) u p G / s
 *
 * In the last line, G is the largest sum |d_out row| of the token's choices,
 * and s the sum of their probabilities, 1 if raw.  The error of a dot product
 * is E G, E = (width / 32 + 7) u (32 lanes, five halvings).  The error of (d_j
 * - mean) / sum is (2 E + (3 k + 5) u) G / s, and that of sum p d is as much
 * again, as s <= 1.
 */
#ifndef RA_KERNELS_EXPERTS_H
#define RA_KERNELS_EXPERTS_H

#include "kernels/cpu/cpu_experts.h"

#define RA_K_EXPERTS 1024u /* those of a lane are bits of a word */
#define RA_K_TOP 32u       /* one choice a lane */

#ifdef __cplusplus
extern "C" {
#endif

int ra_k_route(const RaCpuRouting *routing, size_t n_tokens, float *probs,
               uint32_t *choice, float *gates, void *stream);

/* n < 2^32 */
int ra_k_place_rows(const RaCpuRouting *routing, size_t n,
                    const uint32_t *choice, uint32_t *counts, uint32_t *place,
                    void *stream);

int ra_k_spread_rows(const RaCpuRouting *routing, size_t n_tokens, size_t width,
                     const uint32_t *place, const uint16_t *x,
                     const float *gates, uint16_t *rows, void *stream);

int ra_k_collect_rows(const RaCpuRouting *routing, size_t n_tokens,
                      size_t width, const uint32_t *place, const uint16_t *rows,
                      const float *gates, bool add, uint16_t *out,
                      void *stream);

int ra_k_route_backward(const RaCpuRouting *routing, size_t n_tokens,
                        size_t width, const float *probs,
                        const uint32_t *choice, const float *gates,
                        const uint32_t *place, const uint16_t *d_out,
                        const uint16_t *made, uint16_t *d_logits, void *stream);

#ifdef __cplusplus
}
#endif

#endif
