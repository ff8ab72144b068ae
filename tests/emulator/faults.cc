/* Kernels with the faults that the emulator detects, and two without: see
 * tests/device/check_emulator.c. */
#include "config.h"

#include "kernels/device.cuh"
#include "tests/emulator/faults.h"

enum { THREADS = 64 };

/* Turns 64 numbers round through shared memory. */
__global__ static void
turn_kernel(const int *in, int *out, bool with_barrier)
{
  RA_SHARED(int, held, THREADS);

  held[threadIdx.x] = in[threadIdx.x];
  if (with_barrier)
    __syncthreads();
  out[threadIdx.x] = held[THREADS - 1 - threadIdx.x];
}

/* The same through an asynchronous copy of four numbers a thread. */
__global__ static void
copy_kernel(const int *in, int *out, bool with_wait)
{
  RA_SHARED(uint4, held, THREADS / 4);
  const int *numbers = reinterpret_cast<const int *>(held);

  if (threadIdx.x < THREADS / 4)
    ra_copy_async(&held[threadIdx.x], in + 4 * threadIdx.x, true);
  ra_copy_commit();
  if (with_wait)
    ra_copy_wait<0>();
  __syncthreads();
  out[threadIdx.x] = numbers[THREADS - 1 - threadIdx.x];
  __syncthreads();
  ra_copy_wait<0>();
}

__global__ static void
lonely_barrier_kernel()
{
  if (threadIdx.x < RA_WARP)
    __syncthreads();
}

__global__ static void
split_warp_kernel(int *out)
{
  int value = 0;

  if (threadIdx.x % 2 == 0)
    value = __shfl_xor_sync(RA_ALL_LANES, 1, 1);
  else
    value = __shfl_sync(RA_ALL_LANES, 2, 0);
  out[threadIdx.x] = value;
}

/* Overlaps with the kernel in front, and only its first thread waits for it. */
__global__ static void
eager_kernel()
{
  if (threadIdx.x == 0)
    ra_after();
}

__global__ static void
lost_copy_kernel(const int *in)
{
  RA_SHARED(uint4, held, THREADS);

  ra_copy_async(&held[threadIdx.x], in, true);
}

extern "C" void
emu_turn(const int *in, int *out, int with_barrier)
{
  RA_LAUNCH(turn_kernel, 1, THREADS, 0, NULL, in, out, with_barrier != 0);
}

extern "C" void
emu_copy(const int *in, int *out, int with_wait)
{
  RA_LAUNCH(copy_kernel, 1, THREADS, 0, NULL, in, out, with_wait != 0);
}

extern "C" void
emu_lonely_barrier(void)
{
  RA_LAUNCH(lonely_barrier_kernel, 1, THREADS, 0, NULL);
}

extern "C" void
emu_split_warp(int *out)
{
  RA_LAUNCH(split_warp_kernel, 1, THREADS, 0, NULL, out);
}

extern "C" int
emu_text(const int *architectures, int n, int capability)
{
  return ra_text_for(architectures, n, capability);
}

extern "C" void
emu_eager(void)
{
  RA_LAUNCH_AFTER(eager_kernel, 1, THREADS, 0, NULL);
}

extern "C" void
emu_lost_copy(const int *in)
{
  RA_LAUNCH(lost_copy_kernel, 1, THREADS, 0, NULL, in);
}

/* Touches nothing. */
__global__ static void
idle_kernel()
{
}

extern "C" void
emu_launch(unsigned width, unsigned height, unsigned n_threads)
{
  dim3 grid(width, height);

  RA_LAUNCH(idle_kernel, grid, n_threads, 0, NULL);
}

extern "C" int
emu_dynamic(int n_bytes, int asks)
{
  int code = asks ? cudaFuncSetAttribute(
                        idle_kernel,
                        cudaFuncAttributeMaxDynamicSharedMemorySize, n_bytes)
                  : 0;

  if (code == cudaSuccess)
    RA_LAUNCH(idle_kernel, 1, RA_WARP, n_bytes, NULL);
  return code;
}

__global__ static void
wide_kernel()
{
  RA_SHARED(uint4, held, (48 << 10) / 16);
  RA_SHARED(int, more, 1);

  held[0] = make_uint4(0, 0, 0, 0);
  more[0] = 0;
}

extern "C" void
emu_static(void)
{
  RA_LAUNCH(wide_kernel, 1, RA_WARP, 0, NULL);
}

/* A copy and a load of matrices @shift and @row_shift elements off, or from
 * where no block has memory. */
__global__ static void
address_kernel(const uint16_t *in, int shift, int row_shift, bool elsewhere)
{
  RA_SHARED(uint4, held, RA_WARP + 1);
  const uint16_t *rows = reinterpret_cast<const uint16_t *>(held);
  uint32_t out[4];

  ra_copy_async(&held[threadIdx.x], in + shift, true);
  ra_copy_commit();
  ra_copy_wait<0>();
  __syncwarp();
  ra_load_matrices<false>(out,
                          elsewhere ? in : rows + 8 * threadIdx.x + row_shift);
}

extern "C" void
emu_address(const uint16_t *in, int shift, int row_shift, int elsewhere)
{
  RA_LAUNCH(address_kernel, 1, RA_WARP, 0, NULL, in, shift, row_shift,
            elsewhere != 0);
}

/* d = a b of one warp, a (16, 16), b (16, 8) in bf16, row by row. */
__global__ static void
product_kernel(const uint16_t *a, const uint16_t *b, float *d)
{
  RA_SHARED(uint4, memory, 32 + 16);
  uint16_t *tile_a = reinterpret_cast<uint16_t *>(memory);
  uint16_t *tile_b = tile_a + 256;
  int lane = (int)threadIdx.x;
  uint32_t left[4], right[4];
  float sums[4] = {};

  for (int i = lane; i < 256; i += RA_WARP)
    tile_a[i] = a[i];
  for (int i = lane; i < 128; i += RA_WARP)
    tile_b[i] = b[i];
  __syncwarp();
  ra_load_matrices<false>(left, tile_a + (lane % 16) * 16 + lane / 16 * 8);
  ra_load_matrices<true>(right, tile_b + (lane % 16) * 8);
  ra_mma(sums, left, right[0], right[1]);
  for (int i = 0; i < 4; i++)
    d[(lane / 4 + i / 2 * 8) * 8 + 2 * (lane % 4) + i % 2] = sums[i];
}

extern "C" void
emu_product(const uint16_t *a, const uint16_t *b, float *d)
{
  RA_LAUNCH(product_kernel, 1, RA_WARP, 0, NULL, a, b, d);
}
