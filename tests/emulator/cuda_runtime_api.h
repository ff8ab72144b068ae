/* The emulator: the part of CUDA's device language that kernels/NAME.cu needs,
 * on a CPU.  A C++ compiler builds a kernel, and a test runs it without a GPU.
 *
 * A thread of a block is a fiber.  One runs at a time until it waits, in an
 * order sampled from a seed.  So an error in any order of the threads is likely
 * to show with some seed, and the emulation adds no errors of its own:
 *
 *  - shared memory is new, poisoned and bounded in each block (a sanitizer
 *    reports overruns);
 *  - a barrier that a thread of the block has exited without, or lanes of a
 *    warp that meet in two places, end the program with a message;
 *  - an asynchronous copy arrives when it is waited for, and not before;
 *    hopper.h has the features of capability 9.0.
 *
 * A launch that a GPU refuses also ends the program: an empty grid, one that is
 * too high, more shared memory than the kernel is allowed.  So does an address
 * that traps on a GPU.
 *
 * Up to three blocks run together, how many a launch, and turn by turn, is
 * sampled from the seed; they begin in a sampled order.  A block that waits for
 * one which has no room to begin thus ends the program.  Speed, occupancy,
 * memory ordering between blocks, and PTX are not emulated: each piece of PTX
 * in kernels/device.cuh comes with the same in C++.
 */
#ifndef RA_TESTS_EMULATOR_CUDA_RUNTIME_API_H
#define RA_TESTS_EMULATOR_CUDA_RUNTIME_API_H

#include <functional>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <tuple>

#include "tests/emulator/hopper.h"

#define RA_EMULATED 1

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __restrict__ __restrict

struct dim3 {
  unsigned x, y, z;
  dim3(unsigned at_x = 1, unsigned at_y = 1, unsigned at_z = 1)
      : x(at_x), y(at_y), z(at_z)
  {
  }
};
/* Copies of a whole vector, as on the device; an observer sees one access. */
#define RA_EMU_COPIED_WHOLE(type, n_bytes)                                     \
  typedef uint32_t Whole __attribute__((vector_size(n_bytes), __may_alias__)); \
  type() = default;                                                            \
  __attribute__((always_inline)) type(const type &from)                        \
  {                                                                            \
    *reinterpret_cast<Whole *>(this) =                                         \
        *reinterpret_cast<const Whole *>(&from);                               \
  }                                                                            \
  __attribute__((always_inline)) type &operator=(const type &from)             \
  {                                                                            \
    *reinterpret_cast<Whole *>(this) =                                         \
        *reinterpret_cast<const Whole *>(&from);                               \
    return *this;                                                              \
  }

struct alignas(8) uint2 {
  uint32_t x, y;
  RA_EMU_COPIED_WHOLE(uint2, 8)
  uint2(uint32_t a, uint32_t b) : x(a), y(b) {}
};
struct alignas(16) uint4 {
  uint32_t x, y, z, w;
  RA_EMU_COPIED_WHOLE(uint4, 16)
  uint4(uint32_t a, uint32_t b, uint32_t c, uint32_t d) : x(a), y(b), z(c), w(d)
  {
  }
};
struct alignas(8) float2 {
  float x, y;
  RA_EMU_COPIED_WHOLE(float2, 8)
  float2(float a, float b) : x(a), y(b) {}
};
struct alignas(16) float4 {
  float x, y, z, w;
  RA_EMU_COPIED_WHOLE(float4, 16)
  float4(float a, float b, float c, float d) : x(a), y(b), z(c), w(d) {}
};
static inline float2
make_float2(float x, float y)
{
  return {x, y};
}
static inline float4
make_float4(float x, float y, float z, float w)
{
  return {x, y, z, w};
}
static inline uint4
make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
  return {x, y, z, w};
}

/* Indices of the running fiber. */
extern dim3 threadIdx, blockIdx, blockDim, gridDim;

typedef struct RaEmuStream *cudaStream_t;
typedef int cudaError_t;
enum {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorNotSupported = 801
};
enum { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
enum {
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76
};

static inline cudaError_t
cudaGetLastError(void)
{
  return cudaSuccess;
}
/* Allows @kernel more than 48 KiB of dynamic shared memory (refuse.cc). */
int ra_emu_set_dynamic(const void *kernel, size_t n_bytes);
template <typename F>
static inline cudaError_t
cudaFuncSetAttribute(F kernel, int, int value)
{
  return ra_emu_set_dynamic(reinterpret_cast<const void *>(kernel),
                            (size_t)value);
}
static inline cudaError_t
cudaGetDevice(int *device)
{
  *device = 0;
  return cudaSuccess;
}
/* Capability 9.0: its variants of kernels run here too. */
static inline cudaError_t
cudaDeviceGetAttribute(int *value, int attribute, int)
{
  *value = attribute == cudaDevAttrComputeCapabilityMajor ? 9 : 0;
  return cudaSuccess;
}
static inline cudaError_t
cudaMemsetAsync(void *to, int value, size_t n_bytes, cudaStream_t)
{
  memset(to, value, n_bytes);
  return cudaSuccess;
}

/* ---- The machine ----------------------------------------------------------*/

/* Sets the order of threads and blocks from now on. */
extern "C" void ra_emu_seed(uint64_t seed);

/* Runs @kernel on every thread of every block, with @n_dynamic bytes of
 * ra_emu_dynamic() a block; @address identifies the kernel for its limits.
 * @overlaps: it may begin before the kernel in front of it has ended, and each
 * thread has to call ra_emu_after(). */
void ra_emu_launch(const void *address, dim3 grid, dim3 block, size_t n_dynamic,
                   const std::function<void()> &kernel, bool overlaps = false);
void ra_emu_after(void);

/* The call that ra_emu_launch() runs: @kernel with copies of its arguments. */
template <typename Kernel> struct RaEmuCall {
  Kernel *kernel;
  template <typename... Args>
  std::function<void()>
  operator()(const Args &...args) const
  {
    return [k = kernel, all = std::make_tuple(args...)] { std::apply(k, all); };
  }
};

template <typename Kernel>
static inline RaEmuCall<Kernel>
ra_emu_call(Kernel *kernel)
{
  return {kernel};
}

/* Ends the program, where a device traps, unless @at is @align bytes of the
 * block's shared memory, aligned to @align (refuse.cc). */
void ra_emu_allow_shared(const char *what, const void *at, size_t align);

/* The block's shared memory named @key, 128-byte aligned; created by the first
 * thread that calls this. */
void *ra_emu_shared(const char *key, size_t n_bytes);
void *ra_emu_dynamic(void);

/* All 32 lanes of the warp meet at @what, each with @n_bytes <= 64 of its own.
 * Those of lane l are at 64 l of the result, which is valid until the lane's
 * next meeting but one. */
const unsigned char *ra_emu_meet(const char *what, const void *mine,
                                 size_t n_bytes);

/* mma.m16n8k16, whose fragments kernels/device.cuh has. */
void ra_emu_mma(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1);

/* cp.async: copies 16 bytes, or zeroes if @from is NULL, at the wait. */
void ra_emu_copy_later(void *to, const void *from);
void ra_emu_copy_commit(void);
void ra_emu_copy_wait(unsigned n_left); /* all but the last @n_left groups */

/* Waits until another block has made *@gate equal to @turn. */
void ra_emu_turn_wait(const uint32_t *gate, uint32_t turn);

/* ---- What a kernel calls --------------------------------------------------*/

void __syncthreads(void);

static inline void
__syncwarp(unsigned mask = 0xffffffffu)
{
  (void)mask;
  ra_emu_meet("__syncwarp", "", 0);
}

/* Aborts unless @mask names all lanes; kernels use no other mask. */
void ra_emu_whole_warp(unsigned mask);

template <typename T>
static inline T
ra_emu_lane(const unsigned char *all, unsigned lane)
{
  T value;

  memcpy(&value, all + 64 * (lane % 32), sizeof value);
  return value;
}

template <typename T>
static inline T
__shfl_xor_sync(unsigned mask, T value, int lane_mask)
{
  ra_emu_whole_warp(mask);
  const unsigned char *all =
      ra_emu_meet("__shfl_xor_sync", &value, sizeof value);
  return ra_emu_lane<T>(all, (threadIdx.x % 32) ^ (unsigned)lane_mask);
}

template <typename T>
static inline T
__shfl_sync(unsigned mask, T value, int lane)
{
  ra_emu_whole_warp(mask);
  const unsigned char *all = ra_emu_meet("__shfl_sync", &value, sizeof value);
  return ra_emu_lane<T>(all, (unsigned)lane);
}

template <typename T>
static inline T
__shfl_up_sync(unsigned mask, T value, unsigned delta)
{
  ra_emu_whole_warp(mask);
  const unsigned char *all =
      ra_emu_meet("__shfl_up_sync", &value, sizeof value);
  unsigned lane = threadIdx.x % 32;
  return ra_emu_lane<T>(all, lane >= delta ? lane - delta : lane);
}

static inline unsigned
__ballot_sync(unsigned mask, int predicate)
{
  unsigned votes = 0;

  ra_emu_whole_warp(mask);
  const unsigned char *all =
      ra_emu_meet("__ballot_sync", &predicate, sizeof predicate);
  for (unsigned lane = 0; lane < 32; lane++)
    votes |= (unsigned)(ra_emu_lane<int>(all, lane) != 0) << lane;
  return votes;
}

static inline int
__popc(unsigned bits)
{
  return __builtin_popcount(bits);
}

template <typename T>
static inline T
atomicAdd(T *to, T value)
{
  T old = *to;

  *to = old + value;
  return old;
}

template <typename T>
static inline T
__ldg(const T *from)
{
  return *from;
}

static inline float
__int_as_float(int bits)
{
  float value;

  memcpy(&value, &bits, sizeof value);
  return value;
}

#endif
