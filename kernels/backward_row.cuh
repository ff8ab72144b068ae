/* Rows of a norm's gradient, read ahead. */
#ifndef RA_KERNELS_BACKWARD_ROW_CUH
#define RA_KERNELS_BACKWARD_ROW_CUH

#include "kernels/device.cuh"

/* A thread's vectors of a row: what was normed, the gradient from above, and
 * what the result is added to. */
template <int VPT> struct RaBackwardRow {
  uint4 r[VPT], d[VPT], out[VPT];
};

/* All of it at once, so that one latency is waited for; more than two vectors
 * find no registers for what the result is added to. */
template <int VPT>
__device__ static inline void
ra_backward_load(RaBackwardRow<VPT> *to, const uint4 *r, const uint4 *d,
                 const uint4 *out, size_t row, int n_vectors, bool adds)
{
  RA_UNROLL
  for (int j = 0; j < VPT; j++) {
    int at = (int)(threadIdx.x + j * blockDim.x);

    if (at >= n_vectors)
      break;
    to->r[j] = r[row * n_vectors + at];
    to->d[j] = d[row * n_vectors + at];
    to->out[j] =
        adds && VPT <= 2 ? out[row * n_vectors + at] : make_uint4(0, 0, 0, 0);
  }
}

#endif
