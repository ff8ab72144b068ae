/* Moving pieces of arrays on a GPU: the copies that a reallocation plan is made
 * of, and the transpose.
 *
 * Intervals are of 16-byte units, and may be rows that lie apart.  They are cut
 * into pieces of 32 KiB, and a block copies pieces in turn, so that one long
 * interval and thousands of short ones keep the whole GPU busy.  Exact; bytes:
 * twice what is moved.
 */
#ifndef RA_KERNELS_INTERVALS_H
#define RA_KERNELS_INTERVALS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RA_K_PIECE 2048 /* units of 16 bytes */

typedef struct {
  uint64_t from;       /* first unit in the source */
  uint64_t to;         /* first unit in the destination */
  uint64_t n;          /* units of a row, >= 1 */
  uint64_t n_rows;     /* >= 1 */
  uint64_t from_pitch; /* units from a row of several to the next */
  uint64_t to_pitch;
  uint64_t piece; /* number of its first piece; ra_k_intervals_number() */
} RaKInterval;

/* Numbers the pieces of (n) intervals, on the host.  Returns: pieces in all. */
uint64_t ra_k_intervals_number(size_t n, RaKInterval *intervals);

/**
 * ra_k_copy_intervals:
 * @n: intervals
 * @intervals: (n) device memory, numbered
 * @n_pieces: of ra_k_intervals_number()
 * @from: 16-byte aligned
 * @to: likewise; no unit is written twice, and none read that is written
 *
 * Returns: a cudaError_t
 */
int ra_k_copy_intervals(size_t n, const RaKInterval *intervals,
                        uint64_t n_pieces, const void *from, void *to,
                        void *stream);

/* @out (n_cols, n_rows) = the transposed of @in (n_rows, n_cols), bf16; both
 * multiples of 8, arrays 16-byte aligned. */
int ra_k_transpose(size_t n_rows, size_t n_cols, const uint16_t *in,
                   uint16_t *out, void *stream);

#ifdef __cplusplus
}
#endif

#endif
