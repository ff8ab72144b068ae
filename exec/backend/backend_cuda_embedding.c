/* Rows by index in the GPU's table: of the embedding, of a cache. */
#include "config.h"

#include <stdlib.h>

#include "exec/backend/backend_cuda_impl.h"
#include "kernels/pointwise.h"

G_STATIC_ASSERT(RA_TOKEN_DRAWN == RA_K_DRAWN);

void
ra_cuda_embedding(size_t n_tokens, size_t width, uint32_t first,
                  uint32_t n_rows, const uint32_t *tokens, const RaElem *table,
                  RaElem *out)
{
  const uint32_t *newest = ra_cuda_scratch(RA_CUDA_NEWEST, 0);

  ra_cuda_check(ra_k_embedding(n_tokens, width, first, n_rows,
                               ra_cuda_upload(RA_CUDA_WORDS, n_tokens, tokens),
                               newest, bf16(table), bf16_out(out),
                               ra_device_stream()),
                "embedding");
}

void
ra_cuda_cache_rows(size_t n, size_t width, const uint32_t *rows,
                   const RaElem *in, size_t stride, RaElem *k, RaElem *v)
{
  ra_cuda_check(ra_k_cache_rows(
                    n, width, ra_cuda_upload(RA_CUDA_WORDS, n, rows), bf16(in),
                    stride, bf16_out(k), bf16_out(v), ra_device_stream()),
                "a cache's rows");
}

void
ra_cuda_rope_rows(size_t n, size_t q_heads, size_t kv_heads, size_t head_dim,
                  const uint32_t *positions, const uint32_t *rows,
                  const float *cos_sin, RaElem *qkv, size_t stride, RaElem *k,
                  RaElem *v)
{
  ra_cuda_check(ra_k_rope_rows(n, q_heads, kv_heads, head_dim,
                               ra_cuda_upload(RA_CUDA_WORDS, n, positions),
                               ra_cuda_upload(RA_CUDA_BEGINS, n, rows), cos_sin,
                               bf16_out(qkv), stride, bf16_out(k), bf16_out(v),
                               ra_device_stream()),
                "rope and a cache's rows");
}

static int
compare_entries(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

  return (x > y) - (x < y);
}

void
ra_cuda_embedding_backward(size_t n_tokens, size_t width, uint32_t first,
                           uint32_t n_rows, const uint32_t *tokens,
                           const RaElem *d_out, float *d_table)
{
  g_autofree uint64_t *entries = g_new(uint64_t, n_tokens + 1);
  g_autofree uint32_t *kinds = g_new(uint32_t, n_tokens + 1);
  g_autofree uint32_t *begin = g_new(uint32_t, n_tokens + 1);
  g_autofree uint32_t *order = g_new(uint32_t, n_tokens + 1);
  gsize n = 0, n_kinds = 0;

  for (gsize i = 0; i < n_tokens; i++)
    if (tokens[i] >= first && tokens[i] - first < n_rows)
      entries[n++] = (uint64_t)(tokens[i] - first) << 32 | i;
  if (n == 0)
    return;
  qsort(entries, n, sizeof *entries, compare_entries);
  for (gsize i = 0; i < n; i++) {
    uint32_t kind = (uint32_t)(entries[i] >> 32);

    order[i] = (uint32_t)entries[i];
    if (n_kinds > 0 && kinds[n_kinds - 1] == kind)
      continue;
    kinds[n_kinds] = kind;
    begin[n_kinds++] = (uint32_t)i;
  }
  begin[n_kinds] = (uint32_t)n;
  ra_cuda_check(ra_k_embedding_backward(
                    n_kinds, width,
                    ra_cuda_upload(RA_CUDA_WORDS, n_kinds, kinds),
                    ra_cuda_upload(RA_CUDA_BEGINS, n_kinds + 1, begin),
                    ra_cuda_upload(RA_CUDA_ORDER, n, order), bf16(d_out),
                    d_table, ra_device_stream()),
                "embedding_backward");
}
