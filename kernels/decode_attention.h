/* Attention of one new token a sequence over its cached keys and values, which
 * lie in pages; bf16, fp32 inside, grouped query heads on tensor cores.
 *
 * A block has one key head of one sequence and a part of its tokens; all query
 * heads of the group, 16 at most, are rows of one tile, so that each key and
 * value is read once: 4 head_dim bytes a token and key head, which is the time.
 * Parts are put together by a second kernel in their order (flash decoding).
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

typedef struct {
  uint32_t n_sequences;
  const uint32_t *lengths; /* device: (n_sequences) cached tokens, the new one's
                              among them; 0: its output is 0 */
  const uint32_t *pages;   /* device: (n_sequences, max_pages) */
  uint32_t max_pages;
  uint32_t page_tokens;
  uint32_t page_rows; /* (kv_heads, head_dim) from a page to the next */
  uint32_t q_heads; /* a multiple of kv_heads, at most 16 each */
  uint32_t kv_heads;
  uint32_t head_dim;   /* ra_k_attention_head_ok() */
  uint32_t n_parts;    /* of a sequence's tokens: ra_k_decode_parts() */
  const float *slopes; /* device: (q_heads) of ALiBi; NULL: none */
} RaKDecode;

/**
 * ra_k_decode_parts:
 * @n_processors: of the GPU
 * @max_length: of any sequence
 *
 * As many parts as give every processor two blocks, but none below 256 tokens.
 * Independent of which sequences are long, so that it can be kept in a graph.
 */
uint32_t ra_k_decode_parts(uint32_t n_sequences, uint32_t kv_heads,
                           uint32_t max_length, uint32_t n_processors);

/* Floats of workspace; 0 with one part. */
size_t ra_k_decode_workspace(const RaKDecode *shape);

/**
 * ra_k_decode_attention:
 * @q: (n_sequences, q_heads, head_dim) bf16
 * @k: (rows, kv_heads, head_dim) bf16, a page's page_tokens of them together
 * @v: as @k
 * @out: as @q
 * @workspace: ra_k_decode_workspace() floats
 *
 * All device memory, 16-byte aligned.
 *
 * Returns: a cudaError_t; 1: a shape or an alignment that is not allowed
 */
int ra_k_decode_attention(const RaKDecode *shape, const uint16_t *q,
                          const uint16_t *k, const uint16_t *v, uint16_t *out,
                          float *workspace, void *stream);

#ifdef __cplusplus
}
#endif

#endif
