/* The reference of RMSNorm forward, bit for bit that of the GPU. */
#include "config.h"

#include "kernels/rmsnorm.h"

/* The butterfly of a warp: after it, every lane would hold this sum.  Each
 * level adds the same pairs as lane and lane ^ half do, and a + b = b + a.
 */
static float
butterfly(float lanes[32])
{
  for (int half = 16; half > 0; half /= 2)
    for (int lane = 0; lane < half; lane++)
      lanes[lane] += lanes[lane + half];
  return lanes[0];
}

/* Sum of squares of @row in the order that ra_k_rmsnorm_threads() states. */
static float
sum_squares(const uint16_t *row, size_t n_hidden)
{
  size_t n_threads = (size_t)ra_k_rmsnorm_threads(n_hidden);
  float warps[32] = {0};

  for (size_t warp = 0; warp < n_threads / 32; warp++) {
    float lanes[32] = {0};

    for (size_t lane = 0; lane < 32; lane++) {
      size_t first = 8 * (32 * warp + lane);

      for (size_t at = first; at < n_hidden; at += 8 * n_threads)
        for (size_t i = at; i < at + 8; i++) {
          float value = ra_bf16_to_f32(row[i]);

          lanes[lane] += value * value;
        }
    }
    warps[warp] = butterfly(lanes);
  }
  return butterfly(warps);
}

int
ra_k_rmsnorm_ref(uint16_t *out, uint16_t *residual, const uint16_t *x,
                 const uint16_t *weight, size_t n_rows, size_t n_hidden,
                 float eps)
{
  if (!ra_k_rmsnorm_shape_ok(n_rows, n_hidden, eps))
    return 1;
  for (size_t row = 0; row < n_rows; row++) {
    uint16_t *r = residual + row * n_hidden; /* [n_hidden] */
    float inv;

    for (size_t i = 0; i < n_hidden; i++)
      r[i] = ra_bf16_from_f32(ra_bf16_to_f32(x[row * n_hidden + i]) +
                              ra_bf16_to_f32(r[i]));
    inv = ra_k_rmsnorm_inv(sum_squares(r, n_hidden), (int)n_hidden, eps);
    for (size_t i = 0; i < n_hidden; i++)
      out[row * n_hidden + i] = ra_k_rmsnorm_scale(r[i], inv, weight[i]);
  }
  return 0;
}
