/* Sums of columns: gradients of biases, and totals over groups of rows. */
#ifndef RA_KERNELS_COLUMNS_CUH
#define RA_KERNELS_COLUMNS_CUH

#include "kernels/device.cuh"

#define RA_COLUMNS_THREADS 256
#define RA_COLUMNS_WIDE 32 /* columns of a block */
#define RA_COLUMNS_LANES 4 /* threads of a row, of eight */
#define RA_COLUMNS_ROWS (RA_COLUMNS_THREADS / RA_COLUMNS_LANES) /* at a time */

__device__ static inline void
ra_add_eight(float sums[8], const uint16_t *x)
{
  RaVector v;

  v.raw = *reinterpret_cast<const uint4 *>(x);
  RA_UNROLL
  for (int i = 0; i < 8; i++)
    sums[i] += ra_bf16_to_f32(v.bf16[i]);
}

__device__ static inline void
ra_add_eight(float sums[8], const float *x)
{
  const float4 *from = reinterpret_cast<const float4 *>(x);
  float4 a = from[0], b = from[1];

  sums[0] += a.x, sums[1] += a.y, sums[2] += a.z, sums[3] += a.w;
  sums[4] += b.x, sums[5] += b.y, sums[6] += b.z, sums[7] += b.w;
}

/* A second sum over other columns of the same rows, blockIdx.y = 1's. */
struct RaColumnsMore {
  size_t apart; /* elements from a column of the first */
  float *sum;   /* NULL: there is none */
};

/* sum (n) += the columns of x (n_rows, n), rows @stride apart; 16-byte aligned,
 * n and stride multiples of 8.  A block owns 32 columns: thread t adds rows
 * t / 4, + 64, ... in order, and then the 64 parts are added in order.  So the
 * bits are equal on any GPU, and no path has more additions than rows. */
template <typename T>
__global__ static void
__launch_bounds__(RA_COLUMNS_THREADS)
    ra_columns_kernel(size_t n_rows, size_t n, size_t stride,
                      const T *__restrict__ x, float *sum, RaColumnsMore more)
{
  RA_SHARED(float4, parts, RA_COLUMNS_ROWS * RA_COLUMNS_WIDE / 4);
  int lane = (int)threadIdx.x % RA_COLUMNS_LANES;
  int first = (int)threadIdx.x / RA_COLUMNS_LANES;
  size_t column = (size_t)blockIdx.x * RA_COLUMNS_WIDE + 8 * lane;
  float sums[8] = {};

  ra_after();
  if (blockIdx.y == 1)
    x += more.apart, sum = more.sum;
  if (column < n) {
    RA_UNROLL_FOUR
    for (size_t row = first; row < n_rows; row += RA_COLUMNS_ROWS)
      ra_add_eight(sums, x + row * stride + column);
  }
  for (int half = 0; half < 2; half++) { /* two rows' in different banks */
    int at = half ^ (first & 1);
    float4 four = make_float4(at ? sums[4] : sums[0], at ? sums[5] : sums[1],
                              at ? sums[6] : sums[2], at ? sums[7] : sums[3]);

    parts[first * RA_COLUMNS_WIDE / 4 + 2 * lane + at] = four;
  }
  __syncthreads();
  column = (size_t)blockIdx.x * RA_COLUMNS_WIDE + threadIdx.x;
  if (threadIdx.x < RA_COLUMNS_WIDE && column < n) {
    const float *part = reinterpret_cast<const float *>(parts);
    float all = sum[column];

    for (int row = 0; row < RA_COLUMNS_ROWS; row++)
      all += part[row * RA_COLUMNS_WIDE + threadIdx.x];
    sum[column] = all;
  }
}

template <typename T>
static void
ra_start_columns(size_t n_rows, size_t n, size_t stride, const T *x, float *sum,
                 void *stream, RaColumnsMore more = {0, nullptr})
{
  auto kernel = ra_columns_kernel<T>;
  dim3 grid((unsigned)((n + RA_COLUMNS_WIDE - 1) / RA_COLUMNS_WIDE),
            more.sum ? 2 : 1);

  RA_LAUNCH_AFTER(kernel, grid, RA_COLUMNS_THREADS, 0, stream, n_rows, n,
                  stride, x, sum, more);
}

#endif
