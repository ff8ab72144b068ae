/* Kernels whose memory accesses are counted by hand in
 * tests/kernels/check_sectors.c. */
#include "config.h"

#include "kernels/device.cuh"
#include "tests/emulator/sectors.h"

__global__ static void
vectors_kernel(const uint4 *in, uint4 *out)
{
  uint4 x = in[threadIdx.x];

  out[threadIdx.x] = x;
}

__global__ static void
strided_kernel(const uint32_t *in, uint32_t *out)
{
  uint32_t x = in[8 * threadIdx.x];

  out[threadIdx.x] = x;
}

__global__ static void
one_kernel(const uint32_t *in, uint32_t *out)
{
  uint32_t x = in[3];

  out[threadIdx.x] = x;
}

__global__ static void
shifted_kernel(const uint32_t *in, uint32_t *out)
{
  uint32_t x = in[threadIdx.x + 1];

  out[threadIdx.x] = x;
}

__global__ static void
banks_kernel(uint32_t *out, int stride)
{
  RA_SHARED(uint32_t, words, 1024);

  words[(int)threadIdx.x * stride % 1024] = 1;
  __syncthreads();
  out[threadIdx.x] = 1;
}

extern "C" void
emu_read_vectors(const uint32_t *in, uint32_t *out)
{
  RA_LAUNCH(vectors_kernel, 1, 64, 0, nullptr,
            reinterpret_cast<const uint4 *>(in),
            reinterpret_cast<uint4 *>(out));
}

extern "C" void
emu_read_strided(const uint32_t *in, uint32_t *out)
{
  RA_LAUNCH(strided_kernel, 1, 64, 0, nullptr, in, out);
}

extern "C" void
emu_read_one(const uint32_t *in, uint32_t *out)
{
  RA_LAUNCH(one_kernel, 1, 64, 0, nullptr, in, out);
}

extern "C" void
emu_read_shifted(const uint32_t *in, uint32_t *out)
{
  RA_LAUNCH(shifted_kernel, 1, 64, 0, nullptr, in, out);
}

extern "C" void
emu_banks(uint32_t *out, int stride)
{
  RA_LAUNCH(banks_kernel, 1, 64, 0, nullptr, out, stride);
}
