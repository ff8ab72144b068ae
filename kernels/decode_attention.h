/* Attention of one new token a sequence over its KV cache, which is in
 * pages; bf16, fp32 inside, grouped query heads on tensor cores.
 *
 * A block has one key head of one sequence and a part of its tokens.  All query
 * heads of the group, at most 16, are rows of one tile, so that each key and
 * value is read once.  Reading these 4 head_dim bytes a token and key head
 * determines the time.  The last block of a key head to end combines the parts
 * in their order (flash decoding), so that the result does not depend on which
 * block that is.
 *
 * The reference is ra_cpu_decode_attention() on the widened inputs; the error
 * is that of kernels/attention.h with i = the cached tokens.
 */
#ifndef RA_KERNELS_DECODE_ATTENTION_H
#define RA_KERNELS_DECODE_ATTENTION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RA_K_DECODE_GROUP 16 /* most query heads of a key head */
#define RA_K_DECODE_TILE 64  /* tokens that a block reads at a time */
#define RA_K_DECODE_PART 128 /* fewest tokens of a part */

typedef struct {
  uint32_t n_sequences;
  const uint32_t *lengths; /* device: (n_sequences) cached tokens, with the new
                              one; 0: the output is 0 */
  const uint32_t *pages;   /* device: (n_sequences, max_pages) */
  uint32_t max_pages;
  uint32_t page_tokens;
  uint32_t page_rows; /* rows (kv_heads, head_dim) from a page to the next */
  uint32_t q_heads;   /* a multiple of kv_heads, at most 16 each */
  uint32_t kv_heads;
  uint32_t head_dim;   /* ra_k_attention_head_ok() */
  size_t q_stride;     /* elements from a sequence's q to the next, a multiple
                          of 8 */
  uint32_t n_parts;    /* parts of the tokens: ra_k_decode_parts() */
  uint32_t *counts;    /* device: (n_sequences, kv_heads) zeroes, and zeroes
                          again afterwards; NULL: one part */
  const float *slopes; /* device: (q_heads) of ALiBi; NULL: none */
} RaKDecode;

/**
 * ra_k_decode_parts:
 * @n_processors: multiprocessors of the GPU
 * @max_length: longest sequence, tokens
 *
 * The number of parts that gives every multiprocessor two blocks, or four with
 * heads of 64, whose tiles have half the bytes: by Little's law 32 KiB have to
 * be under way on each for 4.2 TB/s at a latency of a microsecond.  A part has
 * at least RA_K_DECODE_PART tokens.  It does not depend on which sequences are
 * long, so that a CUDA graph can keep it.
 *
 * Returns: number of parts
 */
uint32_t ra_k_decode_parts(uint32_t n_sequences, uint32_t kv_heads,
                           uint32_t head_dim, uint32_t max_length,
                           uint32_t n_processors);

/* Floats of workspace; 0 with one part. */
size_t ra_k_decode_workspace(const RaKDecode *shape);

/**
 * ra_k_decode_attention:
 * @q: (n_sequences) of (q_heads, head_dim) bf16, q_stride apart
 * @k: (rows, kv_heads, head_dim) bf16, the page_tokens of a page together
 * @v: as @k
 * @out: (n_sequences, q_heads, head_dim) bf16
 * @workspace: ra_k_decode_workspace() floats
 *
 * All arrays are device memory, 16-byte aligned.
 *
 * Returns: a cudaError_t; 1: a shape or an alignment is not allowed
 */
int ra_k_decode_attention(const RaKDecode *shape, const uint16_t *q,
                          const uint16_t *k, const uint16_t *v, uint16_t *out,
                          float *workspace, void *stream);

#ifdef __cplusplus
}
#endif

#endif
