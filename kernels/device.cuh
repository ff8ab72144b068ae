/* Device primitives of the kernels: launches, shared memory, reductions,
 * 16-byte vectors of bf16, asynchronous copies and tensor cores.
 *
 * Each piece of PTX for a GPU (PTX ISA 8.0, with its section) comes with the
 * same in C++ for tests/emulator, which runs kernels on a CPU.
 */
#ifndef RA_KERNELS_DEVICE_CUH
#define RA_KERNELS_DEVICE_CUH

#include <cuda_runtime_api.h>

#include "kernels/cpu/bf16.h"

#ifdef __CUDACC__

#define RA_LAUNCH(kernel, grid, threads, n_dynamic, stream, ...)               \
  kernel<<<grid, threads, n_dynamic, static_cast<cudaStream_t>(stream)>>>(     \
      __VA_ARGS__)
/* The same for a kernel that calls ra_after(): its blocks may begin before the
 * kernel in front of it in the stream has ended. */
#define RA_LAUNCH_AFTER(kernel, grid, threads, n_dynamic, stream, ...)         \
  ra_launch_after(kernel, grid, threads, n_dynamic, stream, __VA_ARGS__)
#define RA_SHARED(type, name, count) __shared__ type name[count]
/* Dynamic shared memory, at most one in a kernel. */
#define RA_DYNAMIC(name) extern __shared__ __align__(128) unsigned char name[]
#define RA_UNROLL _Pragma("unroll")
#define RA_UNROLL_TWO _Pragma("unroll 2")
#define RA_UNROLL_FOUR _Pragma("unroll 4")

#else

#define RA_EMU_TEXT2(x) #x
#define RA_EMU_TEXT(x) RA_EMU_TEXT2(x)
#define RA_LAUNCH(kernel, grid, threads, n_dynamic, stream, ...)               \
  ((void)(stream),                                                             \
   ra_emu_launch(reinterpret_cast<const void *>(kernel), grid, threads,        \
                 n_dynamic, ra_emu_call(kernel)(__VA_ARGS__)))
#define RA_LAUNCH_AFTER(kernel, grid, threads, n_dynamic, stream, ...)         \
  ((void)(stream),                                                             \
   ra_emu_launch(reinterpret_cast<const void *>(kernel), grid, threads,        \
                 n_dynamic, ra_emu_call(kernel)(__VA_ARGS__), true))
#define RA_SHARED(type, name, count)                                           \
  type *name = static_cast<type *>(ra_emu_shared(                              \
      __FILE__ ":" RA_EMU_TEXT(__LINE__) " " #name, sizeof(type) * (count)))
#define RA_DYNAMIC(name)                                                       \
  unsigned char *name = static_cast<unsigned char *>(ra_emu_dynamic())
#define RA_UNROLL
#define RA_UNROLL_TWO
#define RA_UNROLL_FOUR

#endif

#define RA_WARP 32
#define RA_ALL_LANES 0xffffffffu

/* ---- Launches that overlap ------------------------------------------------*/

/* Waits until the kernel in front of this one has ended and what it wrote can
 * be seen, and lets the one behind begin (griddepcontrol, 9.7.13.13).  All
 * threads call it, before they return, before they write anything and before
 * they read what the kernel in front writes: that one has done so too, so that
 * what was in front of it has long ended.  Between two kernels of two
 * microseconds lies one that is saved so. */
__device__ static inline void
ra_after()
{
#ifndef __CUDACC__
  ra_emu_after();
#elif __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;\n"
               "griddepcontrol.launch_dependents;\n" ::
                   : "memory");
#endif
}

/* Compute capability of the current device, 90 for 9.0; 0: there is none. */
static inline int
ra_capability(void)
{
  int device, major = 0, minor = 0;

  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                             device) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor,
                             device) != cudaSuccess)
    return 0;
  return 10 * major + minor;
}

/* Architecture, 900 for 9.0, that the text which runs on a device of
 * @capability was compiled for: the highest of @n that the device has; 0: it
 * runs none.  Text for 8.0 runs on a 9.0 too, and waits for no kernel. */
static inline int
ra_text_for(const int *architectures, int n, int capability)
{
  int most = 0;

  for (int i = 0; i < n; i++)
    if (architectures[i] <= 10 * capability && architectures[i] > most)
      most = architectures[i];
  return most;
}

#ifdef __CUDACC__

template <typename... Parameters, typename... Arguments>
static inline void
ra_launch_after(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                size_t n_dynamic, void *stream, Arguments... arguments)
{
  static const int architectures[] = {__CUDA_ARCH_LIST__};
  cudaLaunchAttribute attribute = {};
  cudaLaunchConfig_t config = {};

  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = n_dynamic;
  config.stream = static_cast<cudaStream_t>(stream);
  config.attrs = &attribute;
  config.numAttrs =
      ra_text_for(architectures,
                  (int)(sizeof architectures / sizeof *architectures),
                  ra_capability()) >= 900;
  (void)cudaLaunchKernelEx(&config, kernel, arguments...); /* a last error */
}

#endif

/* Eight bf16 of one row as the 16 bytes that one load moves. */
union RaVector {
  uint4 raw;
  uint16_t bf16[8];
};

/* Stores a vector in one access (9.7.8.11, st): nvcc 13 makes four of the store
 * of a uint4 whose parts come from asm. */
__device__ static inline void
ra_store_whole(uint2 *to, const uint2 &x)
{
#ifdef __CUDACC__
  asm volatile("st.global.v2.u32 [%0], {%1, %2};\n" ::"l"(to), "r"(x.x),
               "r"(x.y)
               : "memory");
#else
  *to = x;
#endif
}

__device__ static inline void
ra_store_whole(uint4 *to, const uint4 &x)
{
#ifdef __CUDACC__
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};\n" ::"l"(to), "r"(x.x),
               "r"(x.y), "r"(x.z), "r"(x.w)
               : "memory");
#else
  *to = x;
#endif
}

__device__ static inline void
ra_store_whole(float4 *to, const float4 &x)
{
#ifdef __CUDACC__
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};\n" ::"l"(to), "f"(x.x),
               "f"(x.y), "f"(x.z), "f"(x.w)
               : "memory");
#else
  *to = x;
#endif
}

static inline bool
ra_is_aligned(const void *pointer)
{
  return reinterpret_cast<uintptr_t>(pointer) % 16 == 0;
}

/* 2^x by the special function unit alone, within 2^-22; results that are not
 * normal numbers become 0 (9.7.3.21, ex2). */
__device__ static inline float
ra_exp2_fast(float x)
{
#ifdef __CUDACC__
  float out;

  asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(out) : "f"(x));
  return out;
#else
  return exp2f(x);
#endif
}

/* @i / @n, and the rest: by 32 bits where they are enough, as a division of 64
 * takes longer than the copy of a vector. */
__device__ static inline size_t
ra_divide(size_t i, size_t n, size_t *out_rest)
{
  if ((i | n) >> 32 == 0) {
    *out_rest = (uint32_t)i % (uint32_t)n;
    return (uint32_t)i / (uint32_t)n;
  }
  *out_rest = i % n;
  return i / n;
}

/* ---- Reductions -----------------------------------------------------------*/

/* Sum over the warp, in every lane; a butterfly, so that all lanes add the same
 * pairs. */
__device__ static inline float
ra_warp_sum(float value)
{
  for (int half = 16; half > 0; half /= 2)
    value += __shfl_xor_sync(RA_ALL_LANES, value, half);
  return value;
}

__device__ static inline float
ra_warp_max(float value)
{
  for (int half = 16; half > 0; half /= 2)
    value = fmaxf(value, __shfl_xor_sync(RA_ALL_LANES, value, half));
  return value;
}

/* Sum over the block, in every thread.  @warps: 32 floats of shared memory that
 * no other code reads or writes until the next barrier.  Every warp adds the
 * sums of all warps, which saves a second barrier. */
__device__ static inline float
ra_block_sum(float value, float *warps)
{
  int lane = threadIdx.x % RA_WARP;

  value = ra_warp_sum(value);
  if (lane == 0)
    warps[threadIdx.x / RA_WARP] = value;
  __syncthreads();
  return ra_warp_sum(lane < (int)blockDim.x / RA_WARP ? warps[lane] : 0.0f);
}

/* Two sums over the block, in repeated rounds.  @warps has room for two rounds,
 * which alternate, so that one barrier a round is enough: a warp that is one
 * round ahead writes where the slowest warp does not read. */
__device__ static inline float2
ra_block_sums(float2 value, float2 *warps, int turn)
{
  int lane = (int)threadIdx.x % RA_WARP;
  bool is_there = lane < (int)blockDim.x / RA_WARP;

  warps += turn % 2 * RA_WARP;
  value.x = ra_warp_sum(value.x);
  value.y = ra_warp_sum(value.y);
  if (lane == 0)
    warps[threadIdx.x / RA_WARP] = value;
  __syncthreads();
  return make_float2(ra_warp_sum(is_there ? warps[lane].x : 0.0f),
                     ra_warp_sum(is_there ? warps[lane].y : 0.0f));
}

__device__ static inline float
ra_block_max(float value, float *warps)
{
  int lane = threadIdx.x % RA_WARP;

  value = ra_warp_max(value);
  if (lane == 0)
    warps[threadIdx.x / RA_WARP] = value;
  __syncthreads();
  return ra_warp_max(lane < (int)blockDim.x / RA_WARP ? warps[lane]
                                                      : -INFINITY);
}

/* Stores the sums of the block's threads over @n_vectors vectors of columns to
 * @to, 16 bytes a store; vector threadIdx.x + j blockDim.x is in sums[j]. */
template <int VPT>
__device__ static inline void
ra_store_columns(float *to, const float sums[VPT][8], int n_vectors)
{
  RA_UNROLL
  for (int j = 0; j < VPT; j++) {
    int at = (int)(threadIdx.x + j * blockDim.x);
    float4 *vector = reinterpret_cast<float4 *>(to) + 2 * at;
    const float *x = sums[j];

    if (at >= n_vectors)
      break;
    vector[0] = make_float4(x[0], x[1], x[2], x[3]);
    vector[1] = make_float4(x[4], x[5], x[6], x[7]);
  }
}

/* ---- Blocks --------------------------------------------------------------*/

/* TRUE in the last of @n_blocks blocks to call it with @count, which then sees
 * what all of them have written.  @count: 0 before, and again afterwards.
 * @is_last: shared memory.  All threads of a block call it. */
__device__ static inline bool
ra_block_is_last(uint32_t *count, uint32_t n_blocks, uint32_t *is_last)
{
#ifdef __CUDACC__
  __threadfence();
#endif
  __syncthreads();
  if (threadIdx.x == 0) {
    *is_last = atomicAdd(count, 1u) + 1 == n_blocks;
    if (*is_last)
      *count = 0;
  }
  __syncthreads();
#ifdef __CUDACC__
  __threadfence();
#endif
  return *is_last != 0;
}

/* Waits until *@gate is @turn, which makes visible what the thread that gave
 * the turn had seen (8.9, release and acquire patterns).  A block may only wait
 * for blocks that run whatever it does: those with lower tickets of a counter.
 */
__device__ static inline void
ra_turn_wait(const uint32_t *gate, uint32_t turn)
{
#ifdef __CUDACC__
  uint32_t now;

  do {
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];\n"
                 : "=r"(now)
                 : "l"(gate)
                 : "memory");
  } while (now != turn);
#else
  ra_emu_turn_wait(gate, turn);
#endif
}

__device__ static inline void
ra_turn_give(uint32_t *gate, uint32_t turn)
{
#ifdef __CUDACC__
  asm volatile("st.release.gpu.global.u32 [%0], %1;\n" ::"l"(gate), "r"(turn)
               : "memory");
#else
  *gate = turn;
#endif
}

/* ---- Asynchronous copies (9.7.8.24) ---------------------------------------*/

/* Starts to copy 16 bytes to shared memory; zeroes unless @is_there. */
__device__ static inline void
ra_copy_async(void *to, const void *from, bool is_there)
{
#ifdef __CUDACC__
  unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
  int n_bytes = is_there ? 16 : 0;

  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(at),
               "l"(from), "r"(n_bytes)
               : "memory");
#else
  ra_emu_copy_later(to, is_there ? from : nullptr);
#endif
}

__device__ static inline void
ra_copy_commit()
{
#ifdef __CUDACC__
  asm volatile("cp.async.commit_group;\n" ::: "memory");
#else
  ra_emu_copy_commit();
#endif
}

/* Waits until all but the last N groups of this thread are complete. */
template <int N>
__device__ static inline void
ra_copy_wait()
{
#ifdef __CUDACC__
  asm volatile("cp.async.wait_group %0;\n" ::"n"(N) : "memory");
#else
  ra_emu_copy_wait(N);
#endif
}

/* ---- Tensor cores ---------------------------------------------------------*/

__device__ static inline uint32_t
ra_pack_bf16(float low, float high)
{
  return (uint32_t)ra_bf16_from_f32(low) | (uint32_t)ra_bf16_from_f32(high)
                                               << 16;
}

/* Two bf16, rounded to nearest even like ra_pack_bf16(), in one instruction
 * (cvt.rn.bf16x2.f32, 9.7.9.21), for speed. */
__device__ static inline uint32_t
ra_pack_bf16_fast(float low, float high)
{
#ifdef __CUDACC__
  uint32_t out;

  asm("cvt.rn.bf16x2.f32 %0, %1, %2;\n" : "=r"(out) : "f"(high), "f"(low));
  return out;
#else
  return ra_pack_bf16(low, high);
#endif
}

/* ldmatrix.x4 (9.7.13.4.15): four 8 x 8 matrices of bf16.  Lane l gives the
 * address of row l % 8 of matrix l / 8.  In out[m] it gets the elements
 * (l / 4, 2 (l % 4)) and the next of matrix m, or with TRANS of its transpose.
  */
template <bool TRANS>
__device__ static inline void
ra_load_matrices(uint32_t out[4], const void *row)
{
#ifdef __CUDACC__
  unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(row));

  if (TRANS)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 "
                 "{%0, %1, %2, %3}, [%4];\n"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(at)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                 "{%0, %1, %2, %3}, [%4];\n"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(at)
                 : "memory");
#else
  ra_emu_allow_shared("ldmatrix", row, 16);
  const unsigned char *all = ra_emu_meet("ldmatrix", row, 16);
  unsigned lane = threadIdx.x % RA_WARP;

  for (unsigned m = 0; m < 4; m++) {
    uint16_t two[2];

    for (unsigned j = 0; j < 2; j++) {
      unsigned r = lane / 4, c = 2 * (lane % 4) + j;
      unsigned from = TRANS ? c : r, at = TRANS ? r : c;

      memcpy(&two[j], all + 64 * (8 * m + from) + 2 * at, 2);
    }
    out[m] = (uint32_t)two[0] | (uint32_t)two[1] << 16;
  }
#endif
}

/* d += a b (9.7.13.4.8, mma.m16n8k16): a is 16 x 16, b 16 x 8 of bf16, d fp32.
 * With g = lane / 4 and t = lane % 4 a lane has, two in a register,
 *
 *     a: (g, 2t..), (g + 8, 2t..), (g, 2t + 8..), (g + 8, 2t + 8..)
 *     b: (2t.., g), (2t + 8.., g)
 *     d: (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1)
 */
__device__ static inline void
ra_mma(float d[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
#ifdef __CUDACC__
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};\n"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  ra_emu_mma(d, a, b0, b1);
#endif
}

#endif
