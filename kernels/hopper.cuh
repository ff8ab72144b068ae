/* Device primitives of kernels for compute capability 9.0, in addition to
 * device.cuh: barriers in shared memory that count bytes, the bulk copy engine
 * (TMA), and asynchronous matrix multiplications of a warpgroup (wgmma).  Files
 * named *_sm90a.cu include this header and are compiled for sm_90a alone.
 *
 * As in device.cuh, each piece of PTX for a GPU (PTX ISA 8.0, with its section)
 * comes with the same in C++.  The emulator follows the descriptors of a
 * multiplication through shared memory and delivers its results at the wait;
 * until then the registers are poisoned.
 */
#ifndef RA_KERNELS_HOPPER_CUH
#define RA_KERNELS_HOPPER_CUH

#include "kernels/device.cuh"

#ifdef __CUDACC__
#include <cuda.h> /* types alone: the entry point is looked up */

typedef CUtensorMap RaTensorMap;
#else
typedef RaEmuTensorMap RaTensorMap;
#endif

/* Threads of a warpgroup; a panel of a tile has rows of 128 bytes, 64 bf16. */
#define RA_WARPGROUP 128
#define RA_PANEL 64

/* Period of the 128-byte swizzle: 8 rows of a panel.  Within it, chunk c (16
 * bytes) of row r is at c ^ (r mod 8). */
#define RA_SWIZZLE_BYTES 1024

/* Address in the shared-memory window of the block. */
__device__ static inline uint32_t
ra_shared_address(const void *shared)
{
#ifdef __CUDACC__
  return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
#else
  return ra_emu_window_address(shared);
#endif
}

/* First address from @memory on at which a swizzled tile may begin. */
__device__ static inline unsigned char *
ra_swizzle_begin(unsigned char *memory)
{
  return memory + (0u - ra_shared_address(memory)) % RA_SWIZZLE_BYTES;
}

/* ---- Barriers that count (9.7.12.15, mbarrier) ----------------------------*/

/* A barrier in shared memory, at first in phase 0.  A phase ends when the
 * number of arrivals given at initialisation and all expected bytes have
 * arrived. */
typedef uint64_t RaBarrier;

/* Called by one thread; __syncthreads() before others use the barrier. */
__device__ static inline void
ra_barrier_init(RaBarrier *barrier, unsigned n_arrivals)
{
#ifdef __CUDACC__
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n"
               "fence.mbarrier_init.release.cluster;\n" ::"r"(
                   ra_shared_address(barrier)),
               "r"(n_arrivals)
               : "memory");
#else
  ra_emu_barrier_init(barrier, n_arrivals);
#endif
}

__device__ static inline void
ra_barrier_arrive(RaBarrier *barrier)
{
#ifdef __CUDACC__
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];\n" ::"r"(
                   ra_shared_address(barrier))
               : "memory");
#else
  ra_emu_barrier_arrive(barrier, 0);
#endif
}

/* Arrives, and makes the phase also wait for @n_bytes of bulk copies. */
__device__ static inline void
ra_barrier_expect(RaBarrier *barrier, uint32_t n_bytes)
{
#ifdef __CUDACC__
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(
                   ra_shared_address(barrier)),
               "r"(n_bytes)
               : "memory");
#else
  ra_emu_barrier_arrive(barrier, n_bytes);
#endif
}

/* Waits until the phase of this parity, 0 or 1, is over.  On a new barrier,
 * parity 1 (the phase before the first) is over. */
__device__ static inline void
ra_barrier_wait(RaBarrier *barrier, unsigned parity)
{
#ifdef __CUDACC__
  uint32_t is_over = 0;

  do {
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "selp.u32 %0, 1, 0, p;\n"
                 "}\n"
                 : "=r"(is_over)
                 : "r"(ra_shared_address(barrier)), "r"(parity)
                 : "memory");
  } while (!is_over);
#else
  ra_emu_barrier_wait(barrier, parity);
#endif
}

/* Barrier @id (1 to 15; 0 is __syncthreads()) of @n_threads threads; the
 * waiting ones continue when all have arrived (9.7.12.1, bar). */
__device__ static inline void
ra_named_wait(unsigned id, unsigned n_threads)
{
#ifdef __CUDACC__
  asm volatile("bar.sync %0, %1;\n" ::"r"(id), "r"(n_threads) : "memory");
#else
  ra_emu_named_barrier(id, n_threads, true);
#endif
}

__device__ static inline void
ra_named_arrive(unsigned id, unsigned n_threads)
{
#ifdef __CUDACC__
  asm volatile("bar.arrive %0, %1;\n" ::"r"(id), "r"(n_threads) : "memory");
#else
  ra_emu_named_barrier(id, n_threads, false);
#endif
}

/* ---- The bulk copy engine (9.7.8.24.9, cp.async.bulk.tensor) --------------*/

/* A function of the driver, as CUDA 12.0 has it.  The first form is since 12.5,
 * the other one until 12.9. */
#if defined(CUDART_VERSION) && CUDART_VERSION >= 12050
#define RA_DRIVER_ENTRY(name, out, found)                                      \
  cudaGetDriverEntryPointByVersion(name, out, 12000, cudaEnableDefault, found)
#else
#define RA_DRIVER_ENTRY(name, out, found)                                      \
  cudaGetDriverEntryPoint(name, out, cudaEnableDefault, found)
#endif

/* Makes the tensor map @out of three dimensions of bf16, the first dense, the
 * others @pitch bytes apart: multiples of 16.  One copy moves a panel's width
 * of the first and @box of the others, 256 each at most.
 *
 * Returns: a cudaError_t; cudaErrorNotSupported: the driver makes no maps */
static inline int
ra_tensor_map_of(RaTensorMap *out, const uint16_t *from, const uint64_t size[3],
                 const uint64_t pitch[2], const uint32_t box[2])
{
#ifdef __CUDACC__
  typedef CUresult (*Encode)(CUtensorMap *, CUtensorMapDataType, cuuint32_t,
                             void *, const cuuint64_t *, const cuuint64_t *,
                             const cuuint32_t *, const cuuint32_t *,
                             CUtensorMapInterleave, CUtensorMapSwizzle,
                             CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  const cuuint64_t of_all[3] = {size[0], size[1], size[2]};
  const cuuint64_t apart[2] = {pitch[0], pitch[1]};
  const cuuint32_t moved[3] = {RA_PANEL, box[0], box[1]}, step[3] = {1, 1, 1};
  static void *known; /* the driver's function, as any thread has found it */
  cudaDriverEntryPointQueryResult found;
  void *entry = __atomic_load_n(&known, __ATOMIC_RELAXED);

  if (!entry && (RA_DRIVER_ENTRY("cuTensorMapEncodeTiled", &entry, &found) !=
                     cudaSuccess ||
                 found != cudaDriverEntryPointSuccess || !entry))
    return cudaErrorNotSupported;
  __atomic_store_n(&known, entry, __ATOMIC_RELAXED);
  return reinterpret_cast<Encode>(entry)(
             out, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3,
             const_cast<uint16_t *>(from), of_all, apart, moved, step,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS
             ? cudaSuccess
             : cudaErrorInvalidValue;
#else
  *out = {reinterpret_cast<const char *>(from),
          {size[0], size[1], size[2]},
          {2, pitch[0], pitch[1]},
          {RA_PANEL, box[0], box[1]}};
  return ra_emu_map_is_allowed(out) ? cudaSuccess : cudaErrorInvalidValue;
#endif
}

/* The map of (n_tokens, n_heads, width), tokens @stride elements apart: a copy
 * moves @rows tokens of a head. */
static inline int
ra_tensor_map(RaTensorMap *out, const uint16_t *from, uint32_t width,
              uint32_t n_heads, uint32_t n_tokens, size_t stride, uint32_t rows)
{
  const uint64_t size[3] = {width, n_heads, n_tokens};
  const uint64_t pitch[2] = {2 * (uint64_t)width, 2 * (uint64_t)stride};
  const uint32_t box[2] = {1, rows};

  return ra_tensor_map_of(out, from, size, pitch, box);
}

/* The map of (n_matrices, n_rows, width), dense: a copy moves @rows rows of a
 * matrix, with zeroes for those that it does not have. */
static inline int
ra_tensor_map_matrices(RaTensorMap *out, const uint16_t *from, uint64_t width,
                       uint64_t n_rows, uint64_t n_matrices, uint32_t rows)
{
  const uint64_t size[3] = {width, n_rows, n_matrices};
  const uint64_t pitch[2] = {2 * width, 2 * width * n_rows};
  const uint32_t box[2] = {rows, 1};

  return ra_tensor_map_of(out, from, size, pitch, box);
}

/* Starts to copy one box from (@column, @y, @z) on, in the order of the map's
 * dimensions, swizzled, to @panel, at a multiple of RA_SWIZZLE_BYTES; zeroes
 * for what does not exist.  Its bytes count at @barrier.  Called by one thread.
 */
__device__ static inline void
ra_bulk_copy(uint16_t *panel, const RaTensorMap *map, int column, int y, int z,
             RaBarrier *barrier)
{
#ifdef __CUDACC__
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global"
               ".mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
               "\n" ::"r"(ra_shared_address(panel)),
               "l"(map), "r"(column), "r"(y), "r"(z),
               "r"(ra_shared_address(barrier))
               : "memory");
#else
  const int at[3] = {column, y, z};

  ra_emu_bulk_copy(panel, map, at, barrier);
#endif
}

/* Writes 16 bytes, which wgmma and the bulk copy engine may read after
 * ra_proxy_fence() of this thread and a barrier (9.7.12.4, fence.proxy.async).
 */
template <typename Vector>
__device__ static inline void
ra_proxy_store(void *shared, const Vector &value)
{
  static_assert(sizeof(Vector) == 16, "16 bytes");
#ifdef __CUDACC__
  *static_cast<Vector *>(shared) = value;
#else
  ra_emu_proxy_store(shared, &value);
#endif
}

/* stmatrix.x4 (9.7.13.4.16), the reverse of ra_load_matrices(): four 8 x 8
 * matrices of bf16.  Lane l gives the address of row l % 8 of matrix l / 8, and
 * in @in[m] the elements (l / 4, 2 (l % 4)) and the next of matrix m.  Visible
 * as ra_proxy_store()'s. */
__device__ static inline void
ra_proxy_store_matrices(void *row, const uint32_t in[4])
{
#ifdef __CUDACC__
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], "
               "{%1, %2, %3, %4};\n" ::"r"(ra_shared_address(row)),
               "r"(in[0]), "r"(in[1]), "r"(in[2]), "r"(in[3])
               : "memory");
#else
  const unsigned char *all = ra_emu_meet("stmatrix", in, 4 * sizeof *in);
  unsigned lane = threadIdx.x % RA_WARP;
  uint32_t mine[4];

  for (unsigned i = 0; i < 4; i++)
    memcpy(&mine[i], all + 64 * (lane % 8 * 4 + i) + 4 * (lane / 8), 4);
  ra_emu_proxy_store(row, mine);
#endif
}

/* Zeroes rows @n and on of a tile of (ROWS, HD), likewise; by a warpgroup. */
template <int HD, int ROWS>
__device__ static inline void
ra_proxy_clear(uint16_t *tile, int n)
{
  int thread = (int)threadIdx.x % RA_WARPGROUP;

  for (int at = n * 8 + thread; at < ROWS * 8; at += RA_WARPGROUP)
    for (int panel = 0; panel < HD / RA_PANEL; panel++)
      ra_proxy_store(tile + panel * ROWS * RA_PANEL + at * 8,
                     make_uint4(0, 0, 0, 0));
}

__device__ static inline void
ra_proxy_fence()
{
#ifdef __CUDACC__
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
#else
  ra_emu_proxy_fence();
#endif
}

/* Starts to write (@n) floats of shared memory to @global, or to add them there
 * (9.7.8.24.6, cp.async.bulk; .7, cp.reduce.async.bulk).  @n is a multiple of
 * 4, both addresses of 16 bytes.  What this thread has seen of @global, the
 * engine sees too. */
__device__ static inline void
ra_bulk_store(float *global, const float *shared, uint32_t n, bool adds)
{
#ifdef __CUDACC__
  asm volatile("fence.proxy.async.global;\n" ::: "memory");
  if (adds)
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 "
                 "[%0], [%1], %2;\n" ::"l"(global),
                 "r"(ra_shared_address(shared)), "r"(4 * n)
                 : "memory");
  else
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 "\n" ::"l"(global),
                 "r"(ra_shared_address(shared)), "r"(4 * n)
                 : "memory");
  asm volatile("cp.async.bulk.commit_group;\n" ::: "memory");
#else
  ra_emu_bulk_store(global, shared, n, adds);
#endif
}

/* Waits until this thread's bulk stores have read what they write. */
__device__ static inline void
ra_bulk_wait_read()
{
#ifdef __CUDACC__
  asm volatile("cp.async.bulk.wait_group.read 0;\n" ::: "memory");
#else
  ra_emu_bulk_wait(false);
#endif
}

/* Waits until they have written it, which this thread then sees. */
__device__ static inline void
ra_bulk_wait_written()
{
#ifdef __CUDACC__
  asm volatile("cp.async.bulk.wait_group 0;\n" ::: "memory");
#else
  ra_emu_bulk_wait(true);
#endif
}

/* Starts to bring @n_bytes of @global to the L2 cache (9.7.8.24.8,
 * cp.async.bulk.prefetch); both are multiples of 16.  Nobody waits for it. */
__device__ static inline void
ra_bulk_prefetch(const void *global, uint32_t n_bytes)
{
#ifdef __CUDACC__
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;\n" ::"l"(global),
               "r"(n_bytes)
               : "memory");
#else
  ra_emu_bulk_prefetch(global, n_bytes);
#endif
}

/* ---- Matrix multiplication by a warpgroup (9.7.14, wgmma) -----------------*/

/* Descriptor of a factor in shared memory: panels of 64 columns with the
 * 128-byte swizzle from @panel on (9.7.14.5.1).  It has, in units of 16 bytes,
 * the address, the distance between panels (if the factor's columns are those
 * of the result) and the distance between groups of 8 rows.
 *
 * Adding 2 to a descriptor moves it by 16 columns within a panel. */
__device__ static inline uint64_t
ra_descriptor(const uint16_t *panel, uint32_t panel_bytes)
{
  return (uint64_t)(ra_shared_address(panel) >> 4 & 0x3fff) |
         (uint64_t)(panel_bytes >> 4 & 0x3fff) << 16 |
         (uint64_t)(RA_SWIZZLE_BYTES >> 4) << 32 | (uint64_t)1 << 62;
}

/* Fence that makes earlier register writes visible to later multiplications;
 * called before the first of each group. */
template <int J>
__device__ static inline void
ra_wgmma_fence(float (&d)[J][4])
{
#ifdef __CUDACC__
  RA_UNROLL
  for (int j = 0; j < J; j++)
    asm volatile(""
                 : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]),
                   "+f"(d[j][3])::"memory");
  asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
#else
  (void)d;
  ra_emu_wgmma_fence();
#endif
}

__device__ static inline void
ra_wgmma_commit()
{
#ifdef __CUDACC__
  asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
#else
  ra_emu_wgmma_commit();
#endif
}

/* Waits until all but the last N groups are done; @d is one of their results.
 */
template <int N, int J>
__device__ static inline void
ra_wgmma_wait(float (&d)[J][4])
{
#ifdef __CUDACC__
  asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(N) : "memory");
  RA_UNROLL
  for (int j = 0; j < J; j++)
    asm volatile(""
                 : "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]),
                   "+f"(d[j][3])::"memory");
#else
  (void)d;
  ra_emu_wgmma_wait(N);
#endif
}

/* Holds what comes next, a wait, until @x is known, by a store of it to @shared
 * that nobody reads: ptxas moves a wait in front of arithmetic that does not
 * need it. */
__device__ static inline void
ra_before(float *shared, float x)
{
#ifdef __CUDACC__
  asm volatile(
      "st.volatile.shared.f32 [%0], %1;\n" ::"r"(ra_shared_address(shared)),
      "f"(x)
      : "memory");
#else
  *shared = x;
#endif
}

#ifdef __CUDACC__
#define RA_F4(j) "+f"(d[j][0]), "+f"(d[j][1]), "+f"(d[j][2]), "+f"(d[j][3])
#define RA_F32(j)                                                              \
  RA_F4(j), RA_F4(j + 1), RA_F4(j + 2), RA_F4(j + 3), RA_F4(j + 4),            \
      RA_F4(j + 5), RA_F4(j + 6), RA_F4(j + 7)
#define RA_NAMES_32                                                            \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "     \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, "     \
  "%30, %31"
#define RA_NAMES_64                                                            \
  RA_NAMES_32                                                                  \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "   \
  "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, "     \
  "%60, %61, %62, %63"
#define RA_NAMES_128                                                           \
  RA_NAMES_64                                                                  \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, "   \
  "%78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, "     \
  "%92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, "     \
  "%105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, "   \
  "%117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#endif

/* d (= or +=) a b, 64 x N, a sum over 16.  The layout of d in a warp and lane
 * is that of ra_mma(): warp w of the warpgroup has rows 16 w to + 15, and
 * columns 8 j and on are in d[j].  Rows of @b's tile are columns of the factor.
 */
__device__ static inline void
ra_wgmma(float (&d)[16][4], uint64_t a, uint64_t b, bool adds)
{
#ifdef __CUDACC__
  asm volatile("{\n"
               ".reg .pred p;\n"
               "setp.ne.b32 p, %66, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
               "{" RA_NAMES_64 "}, %64, %65, p, 1, 1, 0, 0;\n"
               "}\n"
               : RA_F32(0), RA_F32(8)
               : "l"(a), "l"(b), "r"((int)adds));
#else
  ra_emu_wgmma(d[0], 128, nullptr, a, b, false, false, adds);
#endif
}

__device__ static inline void
ra_wgmma(float (&d)[8][4], uint64_t a, uint64_t b, bool adds)
{
#ifdef __CUDACC__
  asm volatile("{\n"
               ".reg .pred p;\n"
               "setp.ne.b32 p, %34, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
               "{" RA_NAMES_32 "}, %32, %33, p, 1, 1, 0, 0;\n"
               "}\n"
               : RA_F32(0)
               : "l"(a), "l"(b), "r"((int)adds));
#else
  ra_emu_wgmma(d[0], 64, nullptr, a, b, false, false, adds);
#endif
}

/* d += a b, with @a in registers as for ra_mma(); rows of @b's tile are rows of
 * the factor. */
__device__ static inline void
ra_wgmma_rows(float (&d)[16][4], const uint32_t a[4], uint64_t b)
{
#ifdef __CUDACC__
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
               "{" RA_NAMES_64 "}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;\n"
               : RA_F32(0), RA_F32(8)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
#else
  ra_emu_wgmma(d[0], 128, a, 0, b, false, true, true);
#endif
}

__device__ static inline void
ra_wgmma_rows(float (&d)[8][4], const uint32_t a[4], uint64_t b)
{
#ifdef __CUDACC__
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
               "{" RA_NAMES_32 "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;\n"
               : RA_F32(0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
#else
  ra_emu_wgmma(d[0], 64, a, 0, b, false, true, true);
#endif
}

/* d (= or +=) a^T b, 64 x 64, a sum over 16 rows of both tiles. */
__device__ static inline void
ra_wgmma_columns(float (&d)[8][4], uint64_t a, uint64_t b, bool adds)
{
#ifdef __CUDACC__
  asm volatile("{\n"
               ".reg .pred p;\n"
               "setp.ne.b32 p, %34, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
               "{" RA_NAMES_32 "}, %32, %33, p, 1, 1, 1, 1;\n"
               "}\n"
               : RA_F32(0)
               : "l"(a), "l"(b), "r"((int)adds));
#else
  ra_emu_wgmma(d[0], 64, nullptr, a, b, true, true, adds);
#endif
}

/* d (= or +=) a b, 64 x 256, a sum over 16.  A factor has its sum over the rows
 * of its tile (A_ROWS, B_ROWS), or over the columns. */
template <bool A_ROWS, bool B_ROWS>
__device__ static inline void
ra_wgmma_wide(float (&d)[32][4], uint64_t a, uint64_t b, bool adds)
{
#ifdef __CUDACC__
  asm volatile("{\n"
               ".reg .pred p;\n"
               "setp.ne.b32 p, %130, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
               "{" RA_NAMES_128 "}, %128, %129, p, 1, 1, %131, %132;\n"
               "}\n"
               : RA_F32(0), RA_F32(8), RA_F32(16), RA_F32(24)
               : "l"(a), "l"(b), "r"((int)adds), "n"((int)A_ROWS),
                 "n"((int)B_ROWS));
#else
  ra_emu_wgmma(d[0], 256, nullptr, a, b, A_ROWS, B_ROWS, adds);
#endif
}

/* ---- The device -----------------------------------------------------------*/

/* TRUE if the current device can run this code. */
static inline bool
ra_is_sm90(void)
{
  return ra_capability() == 90;
}

/* ---- Registers of a warpgroup (9.7.19.5, setmaxnreg) ----------------------*/

template <int N>
__device__ static inline void
ra_registers_fewer()
{
#ifdef __CUDACC__
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" ::"n"(N));
#endif
}

template <int N>
__device__ static inline void
ra_registers_more()
{
#ifdef __CUDACC__
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;\n" ::"n"(N));
#endif
}

#endif
