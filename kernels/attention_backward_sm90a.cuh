/* Memory of a block, its copies, and its place among the others, private to
 * attention_backward_sm90a.cu. */
#ifndef RA_KERNELS_ATTENTION_BACKWARD_SM90A_CUH
#define RA_KERNELS_ATTENTION_BACKWARD_SM90A_CUH

#include "kernels/attention_tile.cuh"
#include "kernels/hopper.cuh"

#define GROUPS 2                       /* warpgroups that multiply */
#define WARPS (RA_WARPGROUP / RA_WARP) /* warps of each */
#define THREADS ((GROUPS + 1) * RA_WARPGROUP)
#define TILE 64             /* keys of a warpgroup; rows of a product */
#define OWN (GROUPS * TILE) /* keys of a block */
#define STAGES 2
#define QUERIES(HD) (8192 / (HD)) /* queries of a tile */
#define SUMS(HD) ((HD) / 64)      /* d_q of so many tiles wait to be added */
#define PART (TILE * TILE)        /* floats of a warpgroup of a tile's d_q */

/* Named barrier: of both warpgroups that multiply. */
#define BOTH 1

/* An array of ROWS rows, HD / 64 panels. */
template <int HD, int ROWS> struct Panels {
  enum { PANEL = ROWS * RA_PANEL, SIZE = ROWS * HD };
};

/* `full`: the data has arrived; `free`: all that read it have done so.  The
 * engine reads sums, all others are read by the warps that multiply. */
struct Barriers {
  RaBarrier own_full;
  RaBarrier full[STAGES], free[STAGES];
  RaBarrier sums_full[GROUPS][STAGES], sums_free[GROUPS][STAGES];
};

/* Shared memory: keys and values of the block, queries and gradients of outputs
 * of two tiles, ds of two, d_q of SUMS.  It is one pointer, as registers
 * are scarce. */
template <int HD> struct Memory {
  enum {
    OWN_SIZE = Panels<HD, OWN>::SIZE,
    TILE_SIZE = Panels<HD, QUERIES(HD)>::SIZE,
    DS_SIZE = OWN * QUERIES(HD),
    TILES_AT = 2 * OWN_SIZE,
    DS_AT = TILES_AT + 2 * STAGES * TILE_SIZE,
    SUMS_AT = DS_AT + STAGES * DS_SIZE,
    N_BYTES = 2 * SUMS_AT + 4 * GROUPS * SUMS(HD) * PART
  };
  uint16_t *keys;

  __device__ explicit Memory(unsigned char *memory)
      : keys(reinterpret_cast<uint16_t *>(ra_swizzle_begin(memory)))
  {
  }
  __device__ uint16_t *
  values() const
  {
    return keys + OWN_SIZE;
  }
  __device__ uint16_t *
  queries(int stage) const
  {
    return keys + TILES_AT + stage * 2 * TILE_SIZE;
  }
  __device__ uint16_t *
  d_out(int stage) const
  {
    return queries(stage) + TILE_SIZE;
  }
  /* Rows are the block's keys, in panels of 64 queries. */
  __device__ uint16_t *
  ds(int stage) const
  {
    return keys + DS_AT + stage * DS_SIZE;
  }
  __device__ float *
  sums(int group, int stage) const
  {
    return reinterpret_cast<float *>(keys + SUMS_AT) +
           (group * SUMS(HD) + stage) * PART;
  }
};

/* Sums of d_q over blocks, in fp32: PART floats for each tile of queries, head
 * and warpgroup, and for each how many blocks have added to them. */
struct Sums {
  float *parts;
  uint32_t *turns;
  uint32_t *ticket; /* of the next block */

  __device__ float *
  part(size_t which) const
  {
    return parts + which * PART;
  }
};

/* A block's keys, and its loop over tiles of queries, from the last to the one
 * with its first key, and in it over heads. */
struct Place {
  uint32_t begin; /* first token of the sequence */
  int length;
  int first;         /* first key in the sequence */
  int kv_head;       /* head of the keys */
  int head, n_heads; /* first head of the queries, number of heads */
  int last;          /* first query of the last tile */
  uint32_t turn;     /* blocks that add to d_q before this one */
};

/* Number of a part of @sums.  Queries before the sequence's OWN have none, so
 * that a sequence's parts begin at its first token's number in whole tiles: it
 * has one tile less, and ends before the next one's. */
template <int HD>
__device__ static inline size_t
part_of(const Place &p, const RaKAttention &shape, int query, int head,
        int group)
{
  size_t tile = p.begin / QUERIES(HD) + (unsigned)(query - OWN) / QUERIES(HD);

  return (tile * shape.q_heads + (unsigned)head) * GROUPS + (unsigned)group;
}

__device__ static inline void
init_barriers(Barriers *b)
{
  ra_barrier_init(&b->own_full, 1);
  for (int i = 0; i < STAGES; i++) {
    ra_barrier_init(&b->full[i], 2); /* who copies, and who loads rows */
    ra_barrier_init(&b->free[i], GROUPS * WARPS);
  }
  for (int i = 0; i < GROUPS * STAGES; i++) {
    ra_barrier_init(&b->sums_full[i / STAGES][i % STAGES], WARPS);
    ra_barrier_init(&b->sums_free[i / STAGES][i % STAGES], 1);
  }
}

/* Starts to copy ROWS rows. */
template <int HD, int ROWS>
__device__ static inline void
copy_rows(uint16_t *to, const RaTensorMap *map, int head, uint32_t token,
          RaBarrier *full)
{
  for (int panel = 0; panel < HD / RA_PANEL; panel++)
    ra_bulk_copy(to + panel * Panels<HD, ROWS>::PANEL, map, panel * RA_PANEL,
                 head, (int)token, full);
}

/* Boxes of OWN keys and QUERIES queries; d_out's are of an array of its own. */
struct Maps {
  RaTensorMap q, k, v, d_out;
};

/* Copies keys and values, then tile by tile; run by one thread. */
template <int HD>
__device__ static inline void
produce(const Place &p, const Maps &maps, const Memory<HD> &m, Barriers *b)
{
  int i = 0;

  ra_barrier_expect(&b->own_full, 2 * 2 * Memory<HD>::OWN_SIZE);
  copy_rows<HD, OWN>(m.keys, &maps.k, p.kv_head, p.begin + (unsigned)p.first,
                     &b->own_full);
  copy_rows<HD, OWN>(m.values(), &maps.v, p.kv_head,
                     p.begin + (unsigned)p.first, &b->own_full);
  for (int query = p.last; query >= p.first; query -= QUERIES(HD))
    for (int head = p.head; head < p.head + p.n_heads; head++, i++) {
      int stage = i % STAGES;
      RaBarrier *full = &b->full[stage];

      ra_barrier_wait(&b->free[stage], (unsigned)(i / STAGES + 1) % 2);
      ra_barrier_expect(full, 2 * 2 * Memory<HD>::TILE_SIZE);
      copy_rows<HD, QUERIES(HD)>(m.queries(stage), &maps.q, head,
                                 p.begin + (unsigned)query, full);
      copy_rows<HD, QUERIES(HD)>(m.d_out(stage), &maps.d_out, head,
                                 p.begin + (unsigned)query, full);
    }
}

/* Adds d_q of one warpgroup, tile by tile, when it is this block's turn: the
 * order of additions is that of keys.  The first block stores, so that nothing
 * need be zero before; the tiles with its own keys have no block after it, and
 * are not added but finished.  Run by one thread. */
template <int HD>
__device__ static inline void
add_sums(const Place &p, const RaKAttention &shape, const Memory<HD> &m,
         Barriers *b, const Sums &sums, int group)
{
  unsigned i = 0;

  for (int query = p.last; query >= p.first + OWN; query -= QUERIES(HD))
    for (int head = p.head; head < p.head + p.n_heads; head++, i++) {
      size_t which = part_of<HD>(p, shape, query, head, group);
      unsigned stage = i % SUMS(HD);

      ra_barrier_wait(&b->sums_full[group][stage], i / SUMS(HD) % 2);
      ra_turn_wait(sums.turns + which, p.turn);
      ra_bulk_store(sums.part(which), m.sums(group, (int)stage), PART,
                    p.turn > 0);
      ra_bulk_wait_read();
      ra_barrier_arrive(&b->sums_free[group][stage]);
      ra_bulk_wait_written();
      ra_turn_give(sums.turns + which, p.turn + 1);
    }
}

/* Starts out = 64 keys x transpose of the tile. */
template <int HD>
__device__ static inline void
begin_product(float (&out)[QUERIES(HD) / 8][4], const uint16_t *own,
              const uint16_t *tile)
{
  ra_wgmma_fence(out);
  RA_UNROLL
  for (int step = 0; step < HD / 16; step++) {
    const uint16_t *left = own + step / 4 * Panels<HD, OWN>::PANEL;
    const uint16_t *right = tile + step / 4 * Panels<HD, QUERIES(HD)>::PANEL;

    ra_wgmma(out, ra_descriptor(left, 0) + step % 4 * 2,
             ra_descriptor(right, 0) + step % 4 * 2, step > 0);
  }
}

/* Starts sums += factor x the tile. */
template <int HD>
__device__ static inline void
begin_sums(float (&sums)[HD / 8][4], const uint32_t left[QUERIES(HD) / 16][4],
           const uint16_t *tile)
{
  ra_wgmma_fence(sums);
  RA_UNROLL
  for (int step = 0; step < QUERIES(HD) / 16; step++)
    ra_wgmma_rows(sums, left[step],
                  ra_descriptor(tile + step * 16 * RA_PANEL,
                                2 * Panels<HD, QUERIES(HD)>::PANEL));
}

/* Starts d_q = transpose of ds x the block's keys: 64 queries and 64 elements
 * of the head for each warpgroup, which differ in the elements if the head has
 * 128 and else in the queries. */
template <int HD>
__device__ static inline void
begin_queries(float (&d_q)[TILE / 8][4], const Memory<HD> &m, int stage,
              int group)
{
  const uint16_t *left =
      m.ds(stage) + (HD == 64 ? group * Panels<HD, OWN>::PANEL : 0);
  const uint16_t *right =
      m.keys + (HD == 64 ? 0 : group * Panels<HD, OWN>::PANEL);

  ra_wgmma_fence(d_q);
  RA_UNROLL
  for (int step = 0; step < OWN / 16; step++) {
    int at = step * 16 * RA_PANEL;

    ra_wgmma_columns(d_q, ra_descriptor(left + at, 0),
                     ra_descriptor(right + at, 0), step > 0);
  }
  ra_wgmma_commit();
}

/* Zeroes rows @n and on of two arrays of ROWS, before both warpgroups multiply
 * with them. */
template <int HD, int ROWS>
__device__ static inline void
clear_rows(uint16_t *x, uint16_t *y, int n)
{
  ra_proxy_clear<HD, ROWS>(x, n);
  ra_proxy_clear<HD, ROWS>(y, n);
  ra_proxy_fence();
  ra_named_wait(BOTH, GROUPS * RA_WARPGROUP);
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
