/* Two multiplications of a warpgroup, and blocks that add in turns, with each
 * fault in the use of kernels/hopper.cuh that the emulator detects: see
 * tests/device/check_emulator.c. */
#include "config.h"

#include "kernels/hopper.cuh"
#include "tests/emulator/faults.h"

enum { M = 64, N = 128, K = RA_PANEL };

struct Maps {
  RaTensorMap a, b, c;
};

/* The same numbers to the same place, and a wait for them. */
__device__ static inline void
copy_again(uint16_t *tile, const RaTensorMap *map, RaBarrier *barrier)
{
  if (threadIdx.x == 0) {
    ra_barrier_expect(barrier, 2 * M * K);
    ra_bulk_copy(tile, map, 0, 0, 0, barrier);
  }
  ra_barrier_wait(barrier, 1);
}

/* scores (M, N) = a b^T, all of shared memory; sums (M, N) = a c, a in
 * registers and c (K, N) in two panels.  Row 0 of b is made zeroes first. */
__global__ static void
products_kernel(const __grid_constant__ Maps maps, const uint16_t *a,
                float *out_scores, float *out_sums, EmuHopperFault fault)
{
  RA_DYNAMIC(memory);
  RA_SHARED(RaBarrier, barrier, 1);
  uint16_t *tile_a = reinterpret_cast<uint16_t *>(ra_swizzle_begin(memory));
  uint16_t *tile_b = tile_a + M * K, *tile_c = tile_b + N * K;
  int lane = (int)threadIdx.x % RA_WARP, warp = (int)threadIdx.x / RA_WARP;
  int row = 16 * warp + lane / 4, column = 2 * (lane % 4);
  float scores[N / 8][4], sums[N / 8][4] = {};
  uint64_t from_a, from_b;
  uint32_t left[K / 16][4];

  if (threadIdx.x == 0)
    ra_barrier_init(barrier, 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    bool twice = fault == EMU_TWO_COPIES;

    ra_barrier_expect(barrier, 2 * ((1 + twice) * M * K + 2 * N * K));
    if (twice)
      ra_bulk_copy(tile_a, &maps.a, 0, 0, 0, barrier);
    ra_bulk_copy(tile_a, &maps.a, 0, 0, 0, barrier);
    ra_bulk_copy(tile_b, &maps.b, 0, 0, 0, barrier);
    for (int panel = 0; panel < N / RA_PANEL; panel++)
      ra_bulk_copy(tile_c + panel * K * RA_PANEL, &maps.c, panel * RA_PANEL, 0,
                   0, barrier);
  }
  if (fault != EMU_NO_BARRIER_WAIT)
    ra_barrier_wait(barrier, fault == EMU_WRONG_PARITY);
  if (fault == EMU_UNREAD_COPY)
    copy_again(tile_a, &maps.a, barrier);
  if (threadIdx.x < K / 8)
    ra_proxy_store(tile_b + 8 * threadIdx.x, make_uint4(0, 0, 0, 0));
  if (fault != EMU_NO_PROXY_FENCE)
    ra_proxy_fence();
  ra_named_wait(1, RA_WARPGROUP);

  from_a = ra_descriptor(tile_a, 0);
  from_b = ra_descriptor(tile_b, 0);
  if (fault == EMU_WRONG_SWIZZLE)
    from_b ^= (uint64_t)3 << 62; /* 64 bytes */
  if (fault == EMU_WRONG_STRIDE)
    from_b ^= (uint64_t)96 << 32; /* 512 bytes between 8 rows */
  if (fault != EMU_NO_WGMMA_FENCE)
    ra_wgmma_fence(scores);
  for (int step = 0; step < K / 16; step++)
    ra_wgmma(scores, from_a + 2 * step, from_b + 2 * step, step > 0);
  ra_wgmma_commit();
  if (fault == EMU_LONE_COMMIT && threadIdx.x == RA_WARP + 5)
    ra_wgmma_commit();
  if (fault == EMU_TOUCHED_RESULT)
    scores[0][0] = 0.0f;
  if (fault == EMU_EARLY_STORE && threadIdx.x == 0)
    tile_a[0] ^= 1;
  if (fault == EMU_EARLY_COPY)
    copy_again(tile_a, &maps.a, barrier);
  ra_wgmma_wait<0>(scores);

  for (int step = 0; step < K / 16; step++)
    for (int i = 0; i < 4; i++) {
      const uint16_t *two =
          a + (row + i % 2 * 8) * K + 16 * step + i / 2 * 8 + column;

      left[step][i] = (uint32_t)two[0] | (uint32_t)two[1] << 16;
    }
  ra_wgmma_fence(sums);
  for (int step = 0; step < K / 16; step++)
    ra_wgmma_rows(
        sums, left[step],
        ra_descriptor(tile_c + step * 16 * RA_PANEL,
                      fault == EMU_WRONG_LEADING ? M * K : 2 * K * RA_PANEL));
  ra_wgmma_commit();
  if (fault != EMU_NO_WGMMA_WAIT)
    ra_wgmma_wait<0>(sums);
  for (int j = 0; j < N / 8; j++)
    for (int i = 0; i < 4; i++) {
      int at = (row + i / 2 * 8) * N + 8 * j + column + i % 2;

      out_scores[at] = scores[j][i];
      out_sums[at] = sums[j][i];
    }
}

extern "C" void
emu_hopper(const uint16_t *a, const uint16_t *b, const uint16_t *c,
           float *out_scores, float *out_sums, EmuHopperFault fault)
{
  Maps maps;

  ra_tensor_map(&maps.a, a, K, 1, M, K, M);
  ra_tensor_map(&maps.b, b, K, 1, N, K, N);
  ra_tensor_map(&maps.c, c, N, 1, K, N, K);
  RA_LAUNCH(products_kernel, 1, RA_WARPGROUP,
            2 * (M * K + 2 * N * K) + RA_SWIZZLE_BYTES, NULL, maps, a,
            out_scores, out_sums, fault);
}

extern "C" int
emu_map(const uint16_t *in, int shift, int width, int n_rows, int rows)
{
  RaTensorMap map;

  return ra_tensor_map_matrices(&map, in + shift, (uint64_t)width,
                                (uint64_t)n_rows, 2, (uint32_t)rows);
}

__global__ static void
turns_kernel(float *sum, uint32_t *counts, EmuTurnsFault fault)
{
  RA_DYNAMIC(memory);
  float *mine = reinterpret_cast<float *>(memory);
  uint32_t turn = blockIdx.x, *gate = counts + 1;

  if (threadIdx.x > 0)
    return;
  if (fault != EMU_NO_TICKET)
    turn = atomicAdd(counts, 1u);
  float value = (float)(1u << turn);
  ra_proxy_store(mine, make_float4(value, value, value, value));
  ra_proxy_fence();
  if (fault != EMU_NO_TURN)
    ra_turn_wait(gate, turn);
  ra_bulk_store(sum, mine, 4, turn > 0);
  if (fault == EMU_EARLY_WRITE)
    mine[0] = 0.0f;
  ra_bulk_wait_read();
  mine[0] = 0.0f; /* it may be another's now */
  if (fault == EMU_EARLY_TURN)
    ra_turn_give(gate, turn + 1);
  ra_bulk_wait_written();
  if (fault != EMU_EARLY_TURN)
    ra_turn_give(gate, turn + 1);
}

extern "C" void
emu_turns(float *sum, uint32_t *counts, EmuTurnsFault fault)
{
  RA_LAUNCH(turns_kernel, EMU_N_TURNS, RA_WARP, 16, NULL, sum, counts, fault);
}
