/* Memory of a block and its loop over the other side, private to the two
 * kernels of attention_backward_sm90a.cu. */
#ifndef RA_KERNELS_ATTENTION_BACKWARD_SM90A_CUH
#define RA_KERNELS_ATTENTION_BACKWARD_SM90A_CUH

#include "kernels/attention_tile.cuh"
#include "kernels/hopper.cuh"

#define GROUPS 2                       /* warpgroups that multiply */
#define WARPS (RA_WARPGROUP / RA_WARP) /* warps of each */
#define THREADS ((GROUPS + 1) * RA_WARPGROUP)
#define TILE 64
#define OWN (GROUPS * TILE)
#define STAGES 2

/* Named barriers, one within each warpgroup. */
#define WITHIN 1

/* An array of ROWS rows, HD / 64 panels. */
template <int HD, int ROWS> struct Panels {
  enum { PANEL = ROWS * RA_PANEL, SIZE = ROWS * HD };
};

/* `full`: the data has arrived; `free`: all multiplying warps have read it. */
struct Barriers {
  RaBarrier own_full;
  RaBarrier full[STAGES], free[STAGES];
};

/* Shared memory of the block's own rows and of tiles, two arrays each.  It is
 * one pointer, as registers are scarce. */
template <int HD> struct Memory {
  uint16_t *own_x;

  __device__ explicit Memory(unsigned char *memory)
      : own_x(reinterpret_cast<uint16_t *>(ra_swizzle_begin(memory)))
  {
  }
  __device__ uint16_t *
  own_y() const
  {
    return own_x + Panels<HD, OWN>::SIZE;
  }
  __device__ uint16_t *
  tile_x(int stage) const
  {
    return own_x + 2 * Panels<HD, OWN>::SIZE +
           stage * 2 * Panels<HD, TILE>::SIZE;
  }
  __device__ uint16_t *
  tile_y(int stage) const
  {
    return tile_x(stage) + Panels<HD, TILE>::SIZE;
  }
};

/* The rows of a block, and the loop over the other side: heads with n_each
 * tiles each, from token @from of the sequence on. */
struct Place {
  uint32_t begin; /* first token of the sequence */
  int length;
  int first;          /* first own row in the sequence */
  int head;           /* head of the own rows */
  int other, n_heads; /* first head of the other side, number of heads */
  int from, n_each;
};

__device__ static inline void
init_barriers(Barriers *b)
{
  ra_barrier_init(&b->own_full, 1);
  for (int i = 0; i < STAGES; i++) {
    ra_barrier_init(&b->full[i], 1);
    ra_barrier_init(&b->free[i], GROUPS * WARPS);
  }
}

/* Starts to copy TILE rows to panels of PANEL elements. */
template <int HD, int PANEL>
__device__ static inline void
copy_rows(uint16_t *to, const RaTensorMap *map, int head, int token,
          RaBarrier *full)
{
  for (int panel = 0; panel < HD / RA_PANEL; panel++)
    ra_bulk_copy(to + panel * PANEL, map, panel * RA_PANEL, head, token, full);
}

/* Copies the rows of the block, then tile by tile; run by one thread. */
template <int HD>
__device__ static inline void
produce(const Place &p, const RaTensorMap *own_x, const RaTensorMap *own_y,
        const RaTensorMap *x, const RaTensorMap *y, const Memory<HD> &m,
        Barriers *b)
{
  const uint32_t tile_bytes = 2 * Panels<HD, TILE>::SIZE;
  int token = (int)p.begin + p.first;

  ra_barrier_expect(&b->own_full, 2 * GROUPS * tile_bytes);
  for (int half = 0; half < GROUPS; half++) {
    copy_rows<HD, Panels<HD, OWN>::PANEL>(m.own_x + half * TILE * RA_PANEL,
                                          own_x, p.head, token + half * TILE,
                                          &b->own_full);
    copy_rows<HD, Panels<HD, OWN>::PANEL>(m.own_y() + half * TILE * RA_PANEL,
                                          own_y, p.head, token + half * TILE,
                                          &b->own_full);
  }
  for (int i = 0; i < p.n_heads * p.n_each; i++) {
    int stage = i % STAGES, head = p.other + i / p.n_each;

    token = (int)p.begin + p.from + i % p.n_each * TILE;
    ra_barrier_wait(&b->free[stage], (unsigned)(i / STAGES + 1) % 2);
    ra_barrier_expect(&b->full[stage], 2 * tile_bytes);
    copy_rows<HD, Panels<HD, TILE>::PANEL>(m.tile_x(stage), x, head, token,
                                           &b->full[stage]);
    copy_rows<HD, Panels<HD, TILE>::PANEL>(m.tile_y(stage), y, head, token,
                                           &b->full[stage]);
  }
}

/* Starts out = 64 own rows x transpose of the tile. */
template <int HD>
__device__ static inline void
begin_product(float (&out)[TILE / 8][4], const uint16_t *own,
              const uint16_t *tile)
{
  ra_wgmma_fence(out);
  RA_UNROLL
  for (int step = 0; step < HD / 16; step++) {
    const uint16_t *left = own + step / 4 * Panels<HD, OWN>::PANEL;
    const uint16_t *right = tile + step / 4 * Panels<HD, TILE>::PANEL;

    ra_wgmma(out, ra_descriptor(left, 0) + step % 4 * 2,
             ra_descriptor(right, 0) + step % 4 * 2, step > 0);
  }
}

/* Starts sums += factor x the tile. */
template <int HD>
__device__ static inline void
begin_sums(float (&sums)[HD / 8][4], const uint32_t left[TILE / 16][4],
           const uint16_t *tile)
{
  ra_wgmma_fence(sums);
  RA_UNROLL
  for (int step = 0; step < TILE / 16; step++)
    ra_wgmma_rows(sums, left[step],
                  ra_descriptor(tile + step * 16 * RA_PANEL,
                                2 * Panels<HD, TILE>::PANEL));
}

/* Zeroes rows @n and on of a tile.  Each warpgroup does so before it multiplies
 * with the tile. */
template <int HD>
__device__ static inline void
clear_rows(uint16_t *x, uint16_t *y, int n, int group)
{
  ra_proxy_clear<HD, TILE>(x, n);
  ra_proxy_clear<HD, TILE>(y, n);
  ra_proxy_fence();
  ra_named_wait((unsigned)(WITHIN + group), RA_WARPGROUP);
}

/* First row of a lane among the 64 of its warpgroup; its second is 8 further.
 */
__device__ static inline int
lane_row()
{
  return (int)threadIdx.x / RA_WARP % WARPS * 16 +
         (int)threadIdx.x % RA_WARP / 4;
}

#endif
