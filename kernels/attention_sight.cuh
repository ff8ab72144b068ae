/* The keys that a query sees, and their distances, for the forward and backward
 * pass of attention.
 *
 * PLAIN is the default of kernels/attention.h: a query sees the keys of its own
 * sequence up to itself, and no distance is added.
 */
#ifndef RA_KERNELS_ATTENTION_SIGHT_CUH
#define RA_KERNELS_ATTENTION_SIGHT_CUH

#include "kernels/attention.h"
#include "kernels/device.cuh"

/* @shape with its defaults filled in. */
static inline RaKAttention
ra_attention_whole(const RaKAttention *shape)
{
  RaKAttention s = *shape;

  if (!s.kv_begin) {
    s.kv_begin = s.begin;
    s.max_keys = s.max_length;
  }
  s.kv_stride = s.kv_stride > 0 ? s.kv_stride : s.stride;
  s.d_q_stride = s.d_q_stride > 0 ? s.d_q_stride : s.stride;
  return s;
}

/* Number of queries of blockIdx.z's sequence, and of keys. */
__device__ static inline int
ra_n_queries(const RaKAttention &s)
{
  return (int)(s.begin[blockIdx.z + 1] - s.begin[blockIdx.z]);
}

__device__ static inline int
ra_n_keys(const RaKAttention &s)
{
  return (int)(s.kv_begin[blockIdx.z + 1] - s.kv_begin[blockIdx.z]);
}

/* A query of blockIdx.z's sequence and a head. */
struct RaSight {
  int seen;    /* number of keys that it sees */
  float place; /* its place, for ALiBi */
  float slope; /* score added for each place, in powers of two */
};

/* Number of keys that query @i of @n sees; a query that does not exist sees as
 * few as possible. */
template <bool PLAIN>
__device__ static inline int
ra_seen_by(const RaKAttention &s, int i, int n)
{
  if (PLAIN)
    return i + 1;
  if (i < 0 || i >= n)
    return 0;
  return s.seen ? (int)s.seen[s.begin[blockIdx.z] + (uint32_t)i] : i + 1;
}

template <bool PLAIN>
__device__ static inline RaSight
ra_sight_of(const RaKAttention &s, uint32_t head, int i, int n)
{
  const float log2_e = 1.4426950408889634f;
  RaSight sight = {ra_seen_by<PLAIN>(s, i, n), (float)i, 0.0f};

  if (PLAIN || !s.slopes || i >= n)
    return sight;
  sight.slope = s.slopes[head] * log2_e;
  if (s.q_places)
    sight.place = (float)s.q_places[s.begin[blockIdx.z] + (uint32_t)i];
  return sight;
}

/* The first of @n queries that sees key @key; @n: none. */
template <bool PLAIN>
__device__ static inline int
ra_first_that_sees(const RaKAttention &s, int key, int n)
{
  int low = PLAIN ? key : 0, high = PLAIN ? key : n;

  while (low < high) {
    int middle = (low + high) / 2;

    if (ra_seen_by<false>(s, middle, n) > key)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* Place of key @i, which exists. */
template <bool PLAIN>
__device__ static inline float
ra_place_of_key(const RaKAttention &s, int i)
{
  return PLAIN || !s.kv_places
             ? (float)i
             : (float)s.kv_places[s.kv_begin[blockIdx.z] + (uint32_t)i];
}

/* A score in powers of two, with the distance of a key at @place added. */
template <bool PLAIN>
__device__ static inline float
ra_look_far(float score, float place, const RaSight &sight)
{
  return PLAIN || sight.slope == 0.0f
             ? score
             : score + sight.slope * (place - sight.place);
}

#endif
