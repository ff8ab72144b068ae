/* Advantages (GAE, GRPO), and the losses of policy and value. */
#include "kernels/device.cuh"
#include "kernels/policy.h"

#define THREADS 256

/* A warp a sequence, from its end: lane l has the l-th token before it, and
 * A_t = delta_t + gamma lambda A_(t+1) is a prefix sum with decay over
 * lanes. */
__global__ static void
__launch_bounds__(THREADS)
    gae_kernel(uint32_t n_sequences, const uint32_t *__restrict__ begin,
               const float *rewards, const float *__restrict__ values,
               float gamma, float decay, float *out_advantages,
               float *__restrict__ out_returns)
{
  uint32_t s = blockIdx.x * (THREADS / RA_WARP) + threadIdx.x / RA_WARP;
  int lane = (int)threadIdx.x % RA_WARP;
  uint32_t first, n;
  float carry = 0.0f; /* the advantage behind this stretch */
  float reach = decay;

  if (s >= n_sequences) /* of the whole warp */
    return;
  first = begin[s];
  n = begin[s + 1] - first;
  for (int l = 0; l < lane; l++)
    reach *= decay; /* decay^(lane + 1) */
  for (uint32_t done = 0; done < n; done += RA_WARP) {
    uint32_t back = done + (uint32_t)lane;
    bool is_there = back < n;
    uint32_t t = is_there ? first + n - 1 - back : first;
    float value = is_there ? values[t] : 0.0f;
    float next = is_there && back > 0 ? values[t + 1] : 0.0f;
    float sum = is_there ? rewards[t] + gamma * next - value : 0.0f;
    float power = decay;

    for (int step = 1; step < RA_WARP; step *= 2) {
      float other = __shfl_up_sync(RA_ALL_LANES, sum, (unsigned)step);

      if (lane >= step)
        sum += power * other;
      power *= power;
    }
    sum += reach * carry;
    if (is_there) {
      out_advantages[t] = sum;
      if (out_returns)
        out_returns[t] = sum + value;
    }
    carry = __shfl_sync(RA_ALL_LANES, sum, RA_WARP - 1);
  }
}

extern "C" int
ra_k_gae(uint32_t n_sequences, const uint32_t *begin, const float *rewards,
         const float *values, float gamma, float lambda, float *out_advantages,
         float *out_returns, void *stream)
{
  const uint32_t per_block = THREADS / RA_WARP;
  auto kernel = gae_kernel;

  if (n_sequences == 0)
    return cudaSuccess;
  RA_LAUNCH(kernel, (n_sequences + per_block - 1) / per_block, THREADS, 0,
            stream, n_sequences, begin, rewards, values, gamma, gamma * lambda,
            out_advantages, out_returns);
  return cudaGetLastError();
}

/* A thread a group: groups are many and small. */
__global__ static void
__launch_bounds__(THREADS)
    group_kernel(size_t n_groups, size_t n_samples,
                 const float *__restrict__ rewards, float *__restrict__ out)
{
  size_t g = (size_t)blockIdx.x * THREADS + threadIdx.x;
  const float *group = rewards + g * n_samples;
  double sum = 0.0, squares = 0.0, mean, deviation;

  if (g >= n_groups)
    return;
  for (size_t i = 0; i < n_samples; i++)
    sum += (double)group[i];
  mean = sum / (double)n_samples;
  for (size_t i = 0; i < n_samples; i++)
    squares += ((double)group[i] - mean) * ((double)group[i] - mean);
  deviation = n_samples > 1 ? sqrt(squares / (double)(n_samples - 1)) : 0.0;
  for (size_t i = 0; i < n_samples; i++)
    out[g * n_samples + i] =
        (float)(((double)group[i] - mean) / (deviation + 1e-4));
}

extern "C" int
ra_k_group_advantages(size_t n_groups, size_t n_samples, const float *rewards,
                      float *out, void *stream)
{
  auto kernel = group_kernel;

  if (n_groups > (size_t)0x7fffffff * THREADS)
    return cudaErrorInvalidValue;
  if (n_groups == 0 || n_samples == 0)
    return cudaSuccess;
  RA_LAUNCH(kernel, (unsigned)((n_groups + THREADS - 1) / THREADS), THREADS, 0,
            stream, n_groups, n_samples, rewards, out);
  return cudaGetLastError();
}

__device__ static inline double
warp_sum(double value)
{
  for (int half = 16; half > 0; half /= 2)
    value += __shfl_xor_sync(RA_ALL_LANES, value, half);
  return value;
}

/* Of the block's threads, to @out. */
__device__ static inline void
store_sums(RaCpuLoss mine, RaCpuLoss *warps, RaCpuLoss *out)
{
  mine.loss = warp_sum(mine.loss);
  mine.clipped = warp_sum(mine.clipped);
  mine.kl = warp_sum(mine.kl);
  if (threadIdx.x % RA_WARP == 0)
    warps[threadIdx.x / RA_WARP] = mine;
  __syncthreads();
  if (threadIdx.x > 0)
    return;
  for (int w = 1; w < THREADS / RA_WARP; w++) {
    mine.loss += warps[w].loss;
    mine.clipped += warps[w].clipped;
    mine.kl += warps[w].kl;
  }
  *out = mine;
}

__global__ static void
__launch_bounds__(THREADS)
    policy_kernel(size_t n, const float *__restrict__ log_prob,
                  const float *__restrict__ old,
                  const float *__restrict__ reference,
                  const float *__restrict__ advantages, float clip,
                  float kl_weight, float scale, float *__restrict__ d_log_prob,
                  RaCpuLoss *__restrict__ parts)
{
  RA_SHARED(RaCpuLoss, warps, THREADS / RA_WARP);
  RaCpuLoss mine = {0.0, 0.0, 0.0};

  for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n;
       i += (size_t)gridDim.x * THREADS) {
    float gradient =
        ra_k_policy_term(log_prob[i], old[i], reference ? reference + i : NULL,
                         advantages[i], clip, kl_weight, &mine);

    if (d_log_prob)
      d_log_prob[i] = gradient * scale;
  }
  store_sums(mine, warps, parts + blockIdx.x);
}

__global__ static void
__launch_bounds__(THREADS)
    value_kernel(size_t n, const float *__restrict__ values,
                 const float *__restrict__ old,
                 const float *__restrict__ returns, float clip, float scale,
                 float *__restrict__ d_values, RaCpuLoss *__restrict__ parts)
{
  RA_SHARED(RaCpuLoss, warps, THREADS / RA_WARP);
  RaCpuLoss mine = {0.0, 0.0, 0.0};

  for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n;
       i += (size_t)gridDim.x * THREADS) {
    float gradient =
        ra_k_value_term(values[i], old[i], returns[i], clip, &mine);

    if (d_values)
      d_values[i] = gradient * scale;
  }
  store_sums(mine, warps, parts + blockIdx.x);
}

__global__ static void
add_parts_kernel(const RaCpuLoss *__restrict__ parts, RaCpuLoss *out)
{
  if (threadIdx.x > 0)
    return;
  for (int p = 0; p < RA_K_LOSS_BLOCKS; p++) {
    out->loss += parts[p].loss;
    out->clipped += parts[p].clipped;
    out->kl += parts[p].kl;
  }
}

extern "C" int
ra_k_policy_loss(size_t n, const float *log_prob, const float *old,
                 const float *reference, const float *advantages, float clip,
                 float kl_weight, float scale, float *d_log_prob,
                 RaCpuLoss *workspace, RaCpuLoss *out, void *stream)
{
  auto kernel = policy_kernel;
  auto add_parts = add_parts_kernel;

  RA_LAUNCH(kernel, RA_K_LOSS_BLOCKS, THREADS, 0, stream, n, log_prob, old,
            reference, advantages, clip, kl_weight, scale, d_log_prob,
            workspace);
  RA_LAUNCH(add_parts, 1, RA_WARP, 0, stream, workspace, out);
  return cudaGetLastError();
}

extern "C" int
ra_k_value_loss(size_t n, const float *values, const float *old,
                const float *returns, float clip, float scale, float *d_values,
                RaCpuLoss *workspace, RaCpuLoss *out, void *stream)
{
  auto kernel = value_kernel;
  auto add_parts = add_parts_kernel;

  RA_LAUNCH(kernel, RA_K_LOSS_BLOCKS, THREADS, 0, stream, n, values, old,
            returns, clip, scale, d_values, workspace);
  RA_LAUNCH(add_parts, 1, RA_WARP, 0, stream, workspace, out);
  return cudaGetLastError();
}
