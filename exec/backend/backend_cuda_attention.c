/* Attention and GEMMs of the GPU's table. */
#include "config.h"

#include <string.h>

#include "exec/backend/backend_cuda_impl.h"
#include "exec/backend/cuda_gemm.h"
#include "kernels/attention.h"
#include "kernels/decode_attention.h"

/* --- GEMMs --- */

/* Alignment that exec/backend/cuda_gemm.h requires: checked here, where the
 * message can name it, rather than by a fault on the device. */
static gboolean
is_aligned(const void *x)
{
  return (guintptr)x % 16 == 0;
}

static void
multiply(const RaCudaProduct *product, const void *a, const void *b, void *bias,
         void *c)
{
  RaCudaGemm *gemm = ra_cuda_thread_gemm();
  g_autoptr(GError) error = NULL;

  if (!gemm || product->m == 0 || product->n == 0)
    return;
  if (!is_aligned(a) || !is_aligned(b) || !is_aligned(c))
    ra_cuda_fail(g_strdup("a GEMM of arrays that are not aligned to 16 bytes"));
  else if (!ra_cuda_gemm(gemm, product, a, b, bias, c, ra_device_stream(),
                         &error))
    ra_cuda_fail(g_strdup_printf("a GEMM: %s", error->message));
}

void
ra_cuda_product(RaCpuOrder order_a, RaCpuOrder order_b, size_t m, size_t n,
                size_t k, const RaElem *a, size_t lda, const RaElem *b,
                size_t ldb, float beta, RaElem *c, size_t ldc)
{
  const RaCudaProduct product = {order_a,
                                 order_b,
                                 beta > 0 ? RA_CUDA_ADD : RA_CUDA_STORE,
                                 RA_CUDA_NO_BIAS,
                                 m,
                                 n,
                                 k,
                                 lda,
                                 ldb,
                                 ldc};

  multiply(&product, a, b, NULL, c);
}

/* In one kernel where the library has it. */
void
ra_cuda_product_bias(size_t m, size_t n, size_t k, const RaElem *x,
                     const RaElem *weight, const RaElem *bias, RaElem *y)
{
  const RaCudaProduct product = {.order_b = RA_CPU_TRANSPOSED,
                                 .result = RA_CUDA_STORE,
                                 .bias = RA_CUDA_BIAS,
                                 .m = m,
                                 .n = n,
                                 .k = k,
                                 .lda = k,
                                 .ldb = k,
                                 .ldc = n};
  RaCudaGemm *gemm = ra_cuda_thread_gemm();

  if (gemm && is_aligned(bias) && ra_cuda_gemm_fuses(gemm, &product)) {
    multiply(&product, x, weight, (void *)(guintptr)bias, y);
    return;
  }
  ra_cuda_product(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, m, n, k, x, k, weight, k, 0,
                  y, n);
  ra_backend_cuda()->add_bias(m, n, bias, y);
}

/* Likewise, which spares a look at all of d_y: the library's sums of it are
 * stored, and then added to those of other micro-batches. */
void
ra_cuda_product_bias_backward(size_t m, size_t n, size_t k, const RaElem *d_y,
                              const RaElem *x, float *d_weight, float *d_bias)
{
  const RaCudaProduct product = {.order_a = RA_CPU_TRANSPOSED,
                                 .result = RA_CUDA_ADD_F32,
                                 .bias = RA_CUDA_BIAS_GRADIENT,
                                 .m = n,
                                 .n = k,
                                 .k = m,
                                 .lda = n,
                                 .ldb = k,
                                 .ldc = k};
  RaCudaGemm *gemm = ra_cuda_thread_gemm();

  if (gemm && ra_cuda_gemm_fuses(gemm, &product)) {
    float *sums = ra_cuda_scratch(RA_CUDA_SUMS, n * sizeof *sums);

    multiply(&product, d_y, x, sums, d_weight);
    ra_backend_cuda()->add_f32(n, sums, d_bias);
    return;
  }
  ra_cuda_product_f32(RA_CPU_TRANSPOSED, RA_CPU_PLAIN, n, k, m, d_y, n, x, k, 1,
                      d_weight, k);
  ra_backend_cuda()->add_columns(m, n, d_y, d_bias);
}

void
ra_cuda_product_f32(RaCpuOrder order_a, RaCpuOrder order_b, size_t m, size_t n,
                    size_t k, const RaElem *a, size_t lda, const RaElem *b,
                    size_t ldb, float beta, float *c, size_t ldc)
{
  const RaCudaProduct product = {order_a,
                                 order_b,
                                 beta > 0 ? RA_CUDA_ADD_F32 : RA_CUDA_STORE_F32,
                                 RA_CUDA_NO_BIAS,
                                 m,
                                 n,
                                 k,
                                 lda,
                                 ldb,
                                 ldc};

  multiply(&product, a, b, NULL, c);
}

/* --- attention --- */

/* Numbers of one attention on their way to the device, one behind the other. */
typedef struct {
  uint32_t *numbers; /* the host's, owned */
  gsize n;
} Numbers;

/* (n) of @x more; returns where they begin. */
static gsize
add_numbers(Numbers *to, gsize n, const void *x)
{
  if (n > 0)
    memcpy(to->numbers + to->n, x, n * sizeof *to->numbers);
  to->n += n;
  return to->n - n;
}

static uint32_t
longest(uint32_t n, const uint32_t *begin)
{
  uint32_t most = 0;

  for (uint32_t i = 0; i < n; i++)
    most = MAX(most, begin[i + 1] - begin[i]);
  return most;
}

/* @s for the device, which has its arrays. */
static RaKAttention
attention_shape(const RaCpuAttention *s)
{
  const uint32_t *kv_begin = s->kv_begin ? s->kv_begin : s->begin;
  uint32_t n = s->begin[s->n_sequences], n_keys = kv_begin[s->n_sequences];
  gsize n_begins = (gsize)s->n_sequences + 1;
  Numbers all = {
      g_new(uint32_t, 2 * n_begins + 2 * (gsize)n + n_keys + s->q_heads), 0};
  gsize begin = add_numbers(&all, n_begins, s->begin);
  gsize keys = add_numbers(&all, s->kv_begin ? n_begins : 0, s->kv_begin);
  gsize seen = add_numbers(&all, s->kv_begin ? n : 0, s->seen);
  gsize slopes = add_numbers(&all, s->slopes ? s->q_heads : 0, s->slopes);
  gsize q = add_numbers(&all, s->q_places ? n : 0, s->q_places);
  gsize kv = add_numbers(&all, s->kv_places ? n_keys : 0, s->kv_places);
  const uint32_t *there = ra_cuda_upload(RA_CUDA_BEGINS, all.n, all.numbers);
  RaKAttention shape = {.n_sequences = s->n_sequences,
                        .n_tokens = n,
                        .max_length = longest(s->n_sequences, s->begin),
                        .begin = there + begin,
                        .q_heads = s->q_heads,
                        .kv_heads = s->kv_heads,
                        .head_dim = s->head_dim,
                        .stride = s->stride,
                        .kv_stride = s->kv_stride,
                        .d_q_stride = s->d_q_stride};

  if (s->kv_begin) {
    shape.kv_begin = there + keys;
    shape.seen = there + seen;
    shape.max_keys = longest(s->n_sequences, s->kv_begin);
  }
  if (s->slopes)
    shape.slopes = (const float *)(gconstpointer)(there + slopes);
  shape.q_places = s->q_places ? there + q : NULL;
  shape.kv_places = s->kv_places ? there + kv : NULL;
  g_free(all.numbers);
  return shape;
}

gsize
ra_cuda_attention_workspace(const RaCpuAttention *s, gboolean back)
{
  /* The arrays, which are the host's here, are looked at for being there. */
  const RaKAttention shape = {.n_sequences = s->n_sequences,
                              .n_tokens = s->begin[s->n_sequences],
                              .q_heads = s->q_heads,
                              .kv_heads = s->kv_heads,
                              .head_dim = s->head_dim,
                              .stride = s->stride,
                              .kv_begin = s->kv_begin,
                              .kv_stride = s->kv_stride,
                              .slopes = s->slopes};

  return back ? ra_k_attention_backward_workspace(&shape) : 0;
}

void
ra_cuda_attention(const RaCpuAttention *s, const RaElem *q, const RaElem *k,
                  const RaElem *v, RaElem *out, float *out_lse,
                  float *workspace)
{
  RaKAttention shape = attention_shape(s);

  (void)workspace; /* there is none */
  shape.ticket = ra_cuda_scratch(RA_CUDA_COUNTS, sizeof *shape.ticket);
  shape.n_processors = ra_device_n_processors();
  ra_cuda_check(ra_k_attention(&shape, bf16(q), bf16(k), bf16(v), bf16_out(out),
                               out_lse, ra_device_stream()),
                "attention");
}

void
ra_cuda_attention_backward(const RaCpuAttention *s, const RaElem *q,
                           const RaElem *k, const RaElem *v, const RaElem *out,
                           const float *lse, const RaElem *d_out, RaElem *d_q,
                           RaElem *d_k, RaElem *d_v, float *workspace)
{
  RaKAttention shape = attention_shape(s);

  ra_cuda_check(
      ra_k_attention_backward(&shape, bf16(q), bf16(k), bf16(v), bf16(out), lse,
                              bf16(d_out), bf16_out(d_q), bf16_out(d_k),
                              bf16_out(d_v), workspace, ra_device_stream()),
      "attention_backward");
}

void
ra_cuda_attention_merge(size_t n_tokens, size_t n_heads, size_t head_dim,
                        const RaElem *part, const float *part_lse, RaElem *out,
                        float *lse)
{
  ra_cuda_check(ra_k_attention_merge(n_tokens, (uint32_t)n_heads,
                                     (uint32_t)head_dim, bf16(part), part_lse,
                                     bf16_out(out), lse, ra_device_stream()),
                "attention_merge");
}

static RaKDecode
decode_shape(const RaDecode *s)
{
  uint32_t most = 1;

  for (uint32_t i = 0; i < s->n; i++)
    most = MAX(most, s->lengths[i]);
  return (RaKDecode){.n_sequences = s->n,
                     .max_pages = s->max_pages,
                     .page_tokens = s->page_tokens,
                     .page_rows = s->page_rows,
                     .q_heads = s->q_heads,
                     .kv_heads = s->kv_heads,
                     .head_dim = s->head_dim,
                     .q_stride = s->stride,
                     .n_parts =
                         ra_k_decode_parts(s->n, s->kv_heads, s->head_dim, most,
                                           ra_device_n_processors())};
}

gsize
ra_cuda_decode_workspace(const RaDecode *s)
{
  RaKDecode shape = decode_shape(s);

  return ra_k_decode_workspace(&shape);
}

void
ra_cuda_decode_attention(const RaDecode *s, const RaElem *q, const RaElem *k,
                         const RaElem *v, RaElem *out, float *workspace)
{
  RaKDecode shape = decode_shape(s);

  if (s->n == 0)
    return;
  shape.lengths = ra_cuda_upload(RA_CUDA_WORDS, s->n, s->lengths);
  shape.pages =
      ra_cuda_upload(RA_CUDA_BEGINS, (gsize)s->n * s->max_pages, s->pages);
  if (s->slopes)
    shape.slopes = (const float *)(gconstpointer)ra_cuda_upload(
        RA_CUDA_ORDER, s->q_heads, (const uint32_t *)(gconstpointer)s->slopes);
  if (shape.n_parts > 1)
    shape.counts = ra_cuda_scratch(RA_CUDA_COUNTS, (gsize)s->n * s->kv_heads *
                                                       sizeof *shape.counts);
  ra_cuda_check(ra_k_decode_attention(&shape, bf16(q), bf16(k), bf16(v),
                                      bf16_out(out), workspace,
                                      ra_device_stream()),
                "decode_attention");
}
