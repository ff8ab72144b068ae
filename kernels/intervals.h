/* Copies of parts of arrays on a GPU, of which a reallocation plan consists.
 *
 * An interval consists of 16-byte units, possibly in strided rows.  Intervals
 * are cut into pieces of 32 KiB.  A block copies a run of pieces, all blocks as
 * many, so that one long interval and thousands of short ones keep the whole
 * GPU busy.  Exact.
 * Bytes: twice the size of the intervals.
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
  uint64_t from_pitch; /* units from a row to the next, if several */
  uint64_t to_pitch;
  uint64_t piece; /* number of its first piece; ra_k_intervals_number() */
} RaKInterval;

/* Numbers the pieces of (n) intervals, on the host.  Returns: total pieces. */
uint64_t ra_k_intervals_number(size_t n, RaKInterval *intervals);

/**
 * ra_k_copy_intervals:
 * @n: intervals
 * @intervals: (n) device memory, numbered
 * @n_pieces: result of ra_k_intervals_number(), below 2^32
 * @from: 16-byte aligned
 * @to: likewise; no unit may be written twice, or be both read and written
 *
 * Returns: a cudaError_t
 */
int ra_k_copy_intervals(size_t n, const RaKInterval *intervals,
                        uint64_t n_pieces, const void *from, void *to,
                        void *stream);

#ifdef __cplusplus
}
#endif

#endif
