/* The CPU's table: elements are fp32, and device memory is host memory. */
#include "config.h"

#include <dlfcn.h>
#include <string.h>

#include "base/error.h"
#include "exec/backend/backend_impl.h"
#include "exec/backend/expert_rows.h"
#include "exec/backend/floats.h"
#include "kernels/cpu/cpu_norm.h"
#include "kernels/cpu/cpu_pointwise.h"

#define f ra_host_floats

/* --- memory --- */

static void *
alloc(gsize n_bytes)
{
  return ra_floats_new(n_bytes / sizeof(float));
}

static void
zero(void *to, gsize n_bytes)
{
  memset(to, 0, n_bytes);
}

static void
copy(void *to, const void *from, gsize n_bytes)
{
  memcpy(to, from, n_bytes);
}

/* At once. */
static RaBackendCopy *
begin_copy(void *to, const void *from, gsize n_bytes, gboolean to_host)
{
  (void)to_host;
  memcpy(to, from, n_bytes);
  return NULL;
}

static void
read_elems(gsize n, const RaElem *from, float *to)
{
  memcpy(to, from, n * sizeof *to);
}

static void
write_elems(gsize n, const float *from, RaElem *to)
{
  memcpy(to, from, n * sizeof *from);
}

static void
wait(void)
{
}

static const char *
failure(void)
{
  return NULL;
}

/* --- ops --- */

static void
gemm(RaCpuOrder order_a, RaCpuOrder order_b, size_t m, size_t n, size_t k,
     const RaElem *a, size_t lda, const RaElem *b, size_t ldb, float beta,
     RaElem *c, size_t ldc)
{
  ra_host_gemm(order_a, order_b, m, n, k, f(a), lda, f(b), ldb, beta, f(c),
               ldc);
}

static void
gemm_f32(RaCpuOrder order_a, RaCpuOrder order_b, size_t m, size_t n, size_t k,
         const RaElem *a, size_t lda, const RaElem *b, size_t ldb, float beta,
         float *c, size_t ldc)
{
  ra_host_gemm(order_a, order_b, m, n, k, f(a), lda, f(b), ldb, beta, c, ldc);
}

static void
gemm_bias(size_t m, size_t n, size_t k, const RaElem *x, const RaElem *weight,
          const RaElem *bias, RaElem *y)
{
  ra_host_gemm(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, m, n, k, f(x), k, f(weight), k,
               0, f(y), n);
  ra_cpu_add_bias(m, n, f(bias), f(y));
}

static void
gemm_bias_backward(size_t m, size_t n, size_t k, const RaElem *d_y,
                   const RaElem *x, float *d_weight, float *d_bias)
{
  ra_host_gemm(RA_CPU_TRANSPOSED, RA_CPU_PLAIN, n, k, m, f(d_y), n, f(x), k, 1,
               d_weight, k);
  ra_cpu_add_columns(m, n, f(d_y), d_bias);
}

static void
copy_rect(size_t n_rows, size_t n_cols, const RaElem *in, size_t in_stride,
          RaElem *out, size_t out_stride)
{
  ra_host_copy_rect(n_rows, n_cols, f(in), in_stride, f(out), out_stride);
}

static void
copy_rects(guint n, const RaBackendRect *rects)
{
  for (guint i = 0; i < n; i++)
    copy_rect(rects[i].n_rows, rects[i].n_cols, rects[i].from,
              rects[i].from_stride, rects[i].to, rects[i].to_stride);
}

static void
add(size_t n, const RaElem *x, RaElem *y)
{
  ra_host_add(n, f(x), f(y));
}

static void
add_bias(size_t n_rows, size_t n, const RaElem *bias, RaElem *y)
{
  ra_cpu_add_bias(n_rows, n, f(bias), f(y));
}

static double
sum_squares(guint n_arrays, const gsize *n, const float *const *x)
{
  double sum = 0;

  for (guint i = 0; i < n_arrays; i++)
    sum += ra_cpu_sum_squares(n[i], x[i]);
  return sum;
}

static void
add_columns(size_t n_rows, size_t n, const RaElem *x, float *sum)
{
  ra_cpu_add_columns(n_rows, n, f(x), sum);
}

static void
norm(size_t n_rows, size_t n, float eps, const RaElem *x, const RaElem *weight,
     RaElem *out, float *out_inv)
{
  ra_host_norm(n_rows, n, eps, f(x), f(weight), f(out), out_inv);
}

static void
norm_backward(size_t n_rows, size_t n, float eps, const RaElem *x,
              const RaElem *weight, const float *inv, const RaElem *d_out,
              RaElem *d_x, float *d_weight)
{
  (void)eps; /* it is in @inv */
  ra_host_norm_backward(n_rows, n, f(x), f(weight), inv, f(d_out), f(d_x),
                        d_weight);
}

static void
layer_norm(size_t n_rows, size_t n, float eps, const RaElem *x,
           const RaElem *weight, const RaElem *bias, RaElem *out,
           float *out_stats)
{
  ra_host_layer_norm(n_rows, n, eps, f(x), f(weight), f(bias), f(out),
                     out_stats);
}

static void
layer_norm_backward(size_t n_rows, size_t n, const RaElem *x,
                    const RaElem *weight, const float *stats,
                    const RaElem *d_out, RaElem *d_x, float *d_weight,
                    float *d_bias)
{
  ra_host_layer_norm_backward(n_rows, n, f(x), f(weight), stats, f(d_out),
                              f(d_x), d_weight, d_bias);
}

static void
rope(size_t n_tokens, size_t n_heads, size_t head_dim,
     const uint32_t *positions, const float *cos_sin, int direction, RaElem *x,
     size_t stride)
{
  ra_host_rope(n_tokens, n_heads, head_dim, positions, cos_sin, direction, f(x),
               stride);
}

static void
rope_pairs(size_t n_tokens, size_t n_heads, size_t head_dim,
           const uint32_t *positions, const float *cos_sin, int direction,
           RaElem *x, size_t stride)
{
  ra_cpu_rope_pairs(n_tokens, n_heads, head_dim, positions, cos_sin, direction,
                    f(x), stride);
}

static void
swiglu(size_t n_tokens, size_t width, const RaElem *gate_up, RaElem *out)
{
  ra_host_swiglu(n_tokens, width, FALSE, f(gate_up), f(out));
}

static void
clamped_swiglu(size_t n_tokens, size_t width, const RaElem *gate_up,
               RaElem *out)
{
  ra_host_swiglu(n_tokens, width, TRUE, f(gate_up), f(out));
}

static void
gate_rows(size_t n_rows, size_t n, const RaElem *gate, const RaElem *x,
          RaElem *out)
{
  ra_cpu_gate_rows(n_rows, n, f(gate), f(x), f(out));
}

static void
gate_rows_backward(size_t n_rows, size_t n, const RaElem *gate, const RaElem *x,
                   const RaElem *d_out, RaElem *d_x, RaElem *d_gate)
{
  ra_cpu_gate_rows_backward(n_rows, n, f(gate), f(x), f(d_out), f(d_x),
                            f(d_gate));
}

static void
swiglu_backward(size_t n_tokens, size_t width, const RaElem *gate_up,
                const RaElem *d_out, RaElem *d_gate_up)
{
  ra_host_swiglu_backward(n_tokens, width, FALSE, f(gate_up), f(d_out),
                          f(d_gate_up));
}

static void
clamped_swiglu_backward(size_t n_tokens, size_t width, const RaElem *gate_up,
                        const RaElem *d_out, RaElem *d_gate_up)
{
  ra_host_swiglu_backward(n_tokens, width, TRUE, f(gate_up), f(d_out),
                          f(d_gate_up));
}

static void
activation(RaActivation kind, size_t n, const RaElem *x, RaElem *out)
{
  ra_host_activation(kind, n, f(x), f(out));
}

static void
activation_backward(RaActivation kind, size_t n, const RaElem *x,
                    const RaElem *d_out, RaElem *d_x)
{
  ra_host_activation_backward(kind, n, f(x), f(d_out), f(d_x));
}

static void
embedding(size_t n_tokens, size_t width, uint32_t first, uint32_t n_rows,
          const uint32_t *tokens, const RaElem *table, RaElem *out)
{
  ra_host_embedding(n_tokens, width, first, n_rows, tokens, f(table), f(out));
}

static void
cache_rows(size_t n, size_t width, const uint32_t *rows, const RaElem *in,
           size_t stride, RaElem *k, RaElem *v)
{
  ra_host_cache_rows(n, width, rows, f(in), stride, f(k), f(v));
}

static void
rope_rows(size_t n, size_t q_heads, size_t kv_heads, size_t head_dim,
          const uint32_t *positions, const uint32_t *rows, const float *cos_sin,
          RaElem *qkv, size_t stride, RaElem *k, RaElem *v)
{
  rope(n, q_heads + kv_heads, head_dim, positions, cos_sin, 1, qkv, stride);
  ra_host_cache_rows(n, kv_heads * head_dim, rows, f(qkv) + q_heads * head_dim,
                     stride, f(k), f(v));
}

static void
embedding_backward(size_t n_tokens, size_t width, uint32_t first,
                   uint32_t n_rows, const uint32_t *tokens, const RaElem *d_out,
                   float *d_table)
{
  ra_cpu_embedding_backward(n_tokens, width, first, n_rows, tokens, f(d_out),
                            d_table);
}

static void
attention(const RaCpuAttention *shape, const RaElem *q, const RaElem *k,
          const RaElem *v, RaElem *out, float *out_lse, float *workspace)
{
  ra_host_attention(shape, f(q), f(k), f(v), f(out), out_lse, workspace);
}

static void
attention_backward(const RaCpuAttention *shape, const RaElem *q,
                   const RaElem *k, const RaElem *v, const RaElem *out,
                   const float *lse, const RaElem *d_out, RaElem *d_q,
                   RaElem *d_k, RaElem *d_v, float *workspace)
{
  ra_host_attention_backward(shape, f(q), f(k), f(v), f(out), lse, f(d_out),
                             f(d_q), f(d_k), f(d_v), workspace);
}

static void
sinks_backward(size_t n_tokens, uint32_t n_heads, size_t head_dim,
               const float *sinks, const RaElem *out, const float *lse,
               const RaElem *d_out, float *d_sinks)
{
  ra_cpu_sinks_backward(n_tokens, n_heads, head_dim, sinks, f(out), lse,
                        f(d_out), d_sinks);
}

static void
attention_merge(size_t n_tokens, size_t n_heads, size_t head_dim,
                const RaElem *part, const float *part_lse, RaElem *out,
                float *lse)
{
  ra_host_attention_merge(n_tokens, n_heads, head_dim, f(part), part_lse,
                          f(out), lse);
}

static void
sample(size_t n_rows, uint32_t n, const RaElem *logits,
       const RaCpuSampling *how, const double *uniforms, RaCpuSample *out)
{
  ra_host_sample(n_rows, n, f(logits), how, uniforms, out);
}

static void
decode_attention(const RaDecode *shape, const RaElem *q, const RaElem *k,
                 const RaElem *v, RaElem *out, float *workspace)
{
  ra_host_decode_attention(shape, f(q), f(k), f(v), f(out), workspace);
}

static void
spread_rows(const RaCpuRouting *routing, size_t n_tokens, size_t width,
            const uint32_t *place, const RaElem *x, const float *gates,
            RaElem *rows)
{
  ra_cpu_spread_rows(routing, n_tokens, width, place, f(x), gates, f(rows));
}

static void
collect_rows(const RaCpuRouting *routing, size_t n_tokens, size_t width,
             const uint32_t *place, const RaElem *rows, const float *gates,
             bool add, RaElem *out)
{
  ra_cpu_collect_rows(routing, n_tokens, width, place, f(rows), gates, add,
                      f(out));
}

static void
route_backward(const RaCpuRouting *routing, size_t n_tokens, size_t width,
               const float *probs, const uint32_t *choice, const float *gates,
               const uint32_t *place, const RaElem *d_out, const RaElem *made,
               RaElem *d_logits)
{
  ra_cpu_route_backward(routing, n_tokens, width, probs, choice, gates, place,
                        f(d_out), f(made), f(d_logits));
}

static void
gemm_experts(RaExpertsProduct product, RaExpertRows *rows, size_t n, size_t k,
             const RaElem *a, const RaElem *b, void *out)
{
  ra_expert_rows_multiply(ra_backend_host_memory(), product, rows, n, k, a, b,
                          out);
}

static void
log_sum(size_t n_rows, uint32_t first, uint32_t n, size_t stride,
        const RaElem *logits, const uint32_t *targets, RaCpuLogSum *out)
{
  ra_host_log_sum(n_rows, first, n, stride, f(logits), targets, out);
}

static void
log_prob_backward(size_t n_rows, uint32_t first, uint32_t n, size_t stride,
                  const uint32_t *targets, const float *lse,
                  const float *d_log_prob, RaElem *logits)
{
  ra_host_log_prob_backward(n_rows, first, n, stride, targets, lse, d_log_prob,
                            f(logits));
}

static void
adamw(size_t n, const RaCpuAdamw *adamw, uint64_t step, float clip,
      const float *grad, RaElem *weight, float *master, float *first,
      float *second)
{
  (void)master; /* it is @weight */
  ra_host_adamw(n, adamw, step, clip, grad, f(weight), first, second);
}

static gsize
attention_workspace(const RaCpuAttention *shape, gboolean back)
{
  (void)back;
  return ra_cpu_attention_workspace(shape);
}

static gsize
decode_workspace(const RaDecode *shape)
{
  return (gsize)shape->n * (shape->q_heads / shape->kv_heads) *
         shape->max_pages * shape->page_tokens;
}

static gboolean
is_finite(size_t n, const RaElem *x)
{
  return ra_host_is_finite(n, f(x));
}

/* Ranks that share the host's memory have a communicator of their own for it.
 */
static void
reduce(uint32_t n_ranks, const void *const *in, uint32_t n_out,
       void *const *out, gsize n, gboolean f32, gboolean largest)
{
  (void)f32;
  for (gsize i = 0; i < n; i++) {
    float sum = ((const float *)in[0])[i];

    for (uint32_t rank = 1; rank < n_ranks; rank++) {
      float x = ((const float *)in[rank])[i];

      sum = !largest ? sum + x : x > sum ? x : sum;
    }
    for (uint32_t rank = 0; rank < n_out; rank++)
      ((float *)out[rank])[i] = sum;
  }
}

static const RaBackend host = {
    .name = "host",
    .elem_bytes = sizeof(float),
    .align_bytes = sizeof(float),
    .is_host = TRUE,
    .alloc = alloc,
    .free = g_free,
    .alloc_host = alloc,
    .free_host = g_free,
    .zero = zero,
    .copy = copy,
    .read = copy,
    .write = copy,
    .read_elems = read_elems,
    .write_elems = write_elems,
    .wait = wait,
    .begin_copy = begin_copy,
    .failure = failure,
    .add_f32 = ra_host_add,
    .log_prob = ra_cpu_log_prob,
    .sample = sample,
    .sum_squares = sum_squares,
    .is_finite = is_finite,
    .is_finite_f32 = ra_host_is_finite,
    .reduce = reduce,
    .attention_workspace = attention_workspace,
    .decode_workspace = decode_workspace,
    .gemm = gemm,
    .gemm_f32 = gemm_f32,
    .gemm_bias = gemm_bias,
    .gemm_bias_backward = gemm_bias_backward,
    .copy_rect = copy_rect,
    .copy_rects = copy_rects,
    .add = add,
    .add_bias = add_bias,
    .add_columns = add_columns,
    .norm = norm,
    .norm_backward = norm_backward,
    .layer_norm = layer_norm,
    .layer_norm_backward = layer_norm_backward,
    .rope = rope,
    .rope_pairs = rope_pairs,
    .gate_rows = gate_rows,
    .gate_rows_backward = gate_rows_backward,
    .swiglu = swiglu,
    .swiglu_backward = swiglu_backward,
    .clamped_swiglu = clamped_swiglu,
    .clamped_swiglu_backward = clamped_swiglu_backward,
    .activation = activation,
    .activation_backward = activation_backward,
    .embedding = embedding,
    .embedding_backward = embedding_backward,
    .cache_rows = cache_rows,
    .rope_rows = rope_rows,
    .attention = attention,
    .attention_backward = attention_backward,
    .sinks_backward = sinks_backward,
    .attention_merge = attention_merge,
    .decode_attention = decode_attention,
    .route = ra_cpu_route,
    .place_rows = ra_cpu_place_rows,
    .spread_rows = spread_rows,
    .collect_rows = collect_rows,
    .route_backward = route_backward,
    .gemm_experts = gemm_experts,
    .log_sum = log_sum,
    .log_prob_backward = log_prob_backward,
    .adamw = adamw,
};

const RaBackend *
ra_backend_host(GError **error)
{
  const char *why;

  if (ra_cpu_gemm_open())
    return &host;
  why = dlerror(); /* that there is no such file needs no reason */
  if (why && !strstr(why, "No such file"))
    g_set_error(error, RA_ERROR, RA_ERROR_NO_DEVICE,
                "libopenblas.so.0 cannot be loaded: %s", why);
  else
    g_set_error(error, RA_ERROR, RA_ERROR_NO_DEVICE,
                "libopenblas.so.0 cannot be loaded, expected it for the host "
                "back end (Debian: libopenblas0-pthread)");
  return NULL;
}

const RaBackend *
ra_backend_host_memory(void)
{
  return &host;
}

const float *
ra_elem_floats(const RaBackend *backend, gsize n, const RaElem *x,
               float **out_room)
{
  *out_room = NULL;
  if (backend->is_host)
    return f(x);
  *out_room = g_new(float, n + 1);
  backend->read_elems(n, x, *out_room);
  return *out_room;
}
