/* Sums of columns: gradients of biases, and totals over groups of rows. */
#ifndef RA_KERNELS_COLUMNS_CUH
#define RA_KERNELS_COLUMNS_CUH

#include "kernels/device.cuh"

#define RA_COLUMNS_THREADS 1024
#define RA_COLUMNS_WIDE 32 /* columns of a block */
#define RA_COLUMNS_LANES 4 /* threads of a row, of eight */
#define RA_COLUMNS_ROWS (RA_COLUMNS_THREADS / RA_COLUMNS_LANES) /* at a time */
#define RA_COLUMNS_AHEAD 4 /* rows of a thread that are loaded together */
/* Parts of a column that a thread adds. */
#define RA_COLUMNS_PARTS                                                       \
  (RA_COLUMNS_ROWS / (RA_COLUMNS_THREADS / RA_COLUMNS_WIDE))

/* Eight numbers of a row, by loads of 16 bytes. */
template <typename T> union RaEight {
  uint4 raw[sizeof(T) / 2];
  T x[8];
  __device__
  RaEight()
  {
  }
};

template <typename T>
__device__ static inline void
ra_load_eight(RaEight<T> *eight, const T *from)
{
  RA_UNROLL
  for (int i = 0; i < (int)sizeof(T) / 2; i++)
    eight->raw[i] = reinterpret_cast<const uint4 *>(from)[i];
}

__device__ static inline void
ra_add_eight(float sums[8], const RaEight<uint16_t> &eight)
{
  RA_UNROLL
  for (int i = 0; i < 8; i++)
    sums[i] += ra_bf16_to_f32(eight.x[i]);
}

__device__ static inline void
ra_add_eight(float sums[8], const RaEight<float> &eight)
{
  RA_UNROLL
  for (int i = 0; i < 8; i++)
    sums[i] += eight.x[i];
}

/* A second sum over other columns of the same rows, blockIdx.y = 1's. */
struct RaColumnsMore {
  size_t apart; /* elements from a column of the first */
  float *sum;   /* NULL: there is none */
};

/* sums (8) += those of this thread's rows of @x, in order.  A compiler that
 * unrolls a loop does not begin a load before the test that it is there, so
 * four rows are loaded and then added. */
template <typename T>
__device__ static inline void
ra_add_rows(size_t n_rows, size_t stride, const T *__restrict__ x,
            float sums[8])
{
  size_t row = threadIdx.x / RA_COLUMNS_LANES;
  RaEight<T> eight[RA_COLUMNS_AHEAD];

  for (; row + (RA_COLUMNS_AHEAD - 1) * RA_COLUMNS_ROWS < n_rows;
       row += RA_COLUMNS_AHEAD * RA_COLUMNS_ROWS) {
    RA_UNROLL
    for (int i = 0; i < RA_COLUMNS_AHEAD; i++)
      ra_load_eight(&eight[i], x + (row + i * RA_COLUMNS_ROWS) * stride);
    RA_UNROLL
    for (int i = 0; i < RA_COLUMNS_AHEAD; i++)
      ra_add_eight(sums, eight[i]);
  }
  for (; row < n_rows; row += RA_COLUMNS_ROWS) {
    ra_load_eight(&eight[0], x + row * stride);
    ra_add_eight(sums, eight[0]);
  }
}

/* sum (n) += the columns of x (n_rows, n), rows @stride apart; 16-byte aligned,
 * n and stride multiples of 8.  A block owns 32 columns: thread t adds rows
 * t / 4, + 256, ... in order; the 256 parts are added in order, eight each, and
 * then those 32.  So the bits are equal on any GPU, and no path has more
 * additions of other numbers than zero than rows.
 *
 * Few blocks read all, so each has much under way: 1,024 threads, four loads of
 * 16 bytes each. */
template <typename T>
__global__ static void
__launch_bounds__(RA_COLUMNS_THREADS)
    ra_columns_kernel(size_t n_rows, size_t n, size_t stride,
                      const T *__restrict__ x, float *sum, RaColumnsMore more)
{
  RA_SHARED(float4, parts, RA_COLUMNS_ROWS * RA_COLUMNS_WIDE / 4);
  float *part =
      reinterpret_cast<float *>(parts) + threadIdx.x % RA_COLUMNS_WIDE;
  int own = (int)threadIdx.x / RA_COLUMNS_WIDE * RA_COLUMNS_PARTS;
  int lane = (int)threadIdx.x % RA_COLUMNS_LANES;
  int first = (int)threadIdx.x / RA_COLUMNS_LANES;
  size_t column = (size_t)blockIdx.x * RA_COLUMNS_WIDE + 8 * lane;
  float sums[8] = {}, few;

  ra_after();
  if (blockIdx.y == 1)
    x += more.apart, sum = more.sum;
  if (column < n)
    ra_add_rows(n_rows, stride, x + column, sums);
  for (int half = 0; half < 2; half++) { /* two rows' in different banks */
    int at = half ^ (first & 1);
    float4 four = make_float4(at ? sums[4] : sums[0], at ? sums[5] : sums[1],
                              at ? sums[6] : sums[2], at ? sums[7] : sums[3]);

    parts[first * RA_COLUMNS_WIDE / 4 + 2 * lane + at] = four;
  }
  __syncthreads();
  few = part[own * RA_COLUMNS_WIDE];
  RA_UNROLL
  for (int i = 1; i < RA_COLUMNS_PARTS; i++)
    few += part[(own + i) * RA_COLUMNS_WIDE];
  part[own * RA_COLUMNS_WIDE] = few; /* nobody else reads these */
  __syncthreads();
  column = (size_t)blockIdx.x * RA_COLUMNS_WIDE + threadIdx.x;
  if (threadIdx.x < RA_COLUMNS_WIDE && column < n) {
    float all = sum[column];

    for (int row = 0; row < RA_COLUMNS_ROWS; row += RA_COLUMNS_PARTS)
      all += part[row * RA_COLUMNS_WIDE];
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
