/* The back end of a GPU: the table and its pointwise ops. */
#include "config.h"

#include "base/error.h"
#include "exec/backend/backend_cuda_impl.h"
#include "kernels/adamw.h"
#include "kernels/attention.h"
#include "kernels/experts.h"
#include "kernels/layernorm.h"
#include "kernels/logprob.h"
#include "kernels/pointwise.h"
#include "kernels/rmsnorm.h"
#include "kernels/seed.h"
#include "kernels/sums.h"

/* --- memory --- */

static void *
alloc(gsize n_bytes)
{
  void *memory;

  ra_cuda_spill();
  memory = ra_device_alloc(n_bytes);

  if (!memory)
    g_error("the device cannot allocate %" G_GSIZE_FORMAT " bytes", n_bytes);
  return memory;
}

static void
free_memory(void *memory)
{
  if (!memory)
    return;
  ra_cuda_spill();
  ra_device_free(memory);
}

static void *
alloc_host(gsize n_bytes)
{
  void *memory;

  ra_cuda_spill();
  memory = ra_device_alloc_host(n_bytes);
  if (!memory)
    g_error("the host cannot allocate %" G_GSIZE_FORMAT
            " bytes of pinned memory",
            n_bytes);
  return memory;
}

static void
free_host(void *memory)
{
  if (!memory)
    return;
  ra_cuda_spill();
  ra_device_free_host(memory);
}

static void
zero(void *to, gsize n_bytes)
{
  ra_cuda_check(ra_device_zero(to, n_bytes), "zeroes");
}

static void
copy(void *to, const void *from, gsize n_bytes)
{
  ra_cuda_check(ra_device_copy(to, from, n_bytes), "a copy");
}

static void
read_bytes(void *to, const void *from, gsize n_bytes)
{
  ra_cuda_spill();
  ra_cuda_check_wait(ra_device_read(to, from, n_bytes), "a copy to the host");
}

static void
write_bytes(void *to, const void *from, gsize n_bytes)
{
  ra_cuda_spill();
  ra_cuda_check(ra_device_write(to, from, n_bytes), "a copy from the host");
}

static void
read_elems(gsize n, const RaElem *from, float *to)
{
  g_autofree uint16_t *narrow = g_new(uint16_t, n + 1);

  read_bytes(narrow, from, n * sizeof *narrow);
  for (gsize i = 0; i < n; i++)
    to[i] = ra_bf16_to_f32(narrow[i]);
}

static void
write_elems(gsize n, const float *from, RaElem *to)
{
  g_autofree uint16_t *narrow = g_new(uint16_t, n + 1);

  for (gsize i = 0; i < n; i++)
    narrow[i] = ra_bf16_from_f32(from[i]);
  write_bytes(to, narrow, n * sizeof *narrow);
}

static void
seed(gsize n, const RaSeedRect *rect, RaElem *out)
{
  ra_cuda_check(ra_k_seed(n, rect, (uint16_t *)out, ra_device_stream()),
                "the first weights");
}

static void
widen(gsize n, const RaElem *x, float *out)
{
  ra_cuda_check(ra_k_widen(n, (const uint16_t *)x, out, ra_device_stream()),
                "weights in fp32");
}

static void
wait_for(void)
{
  ra_cuda_spill();
  ra_cuda_check_wait(ra_device_wait(), "an op");
}

/* --- sums and copies --- */

static void
add(size_t n, const RaElem *x, RaElem *y)
{
  ra_cuda_check(ra_k_add(n, bf16(x), bf16_out(y), ra_device_stream()), "add");
}

static void
reduce(uint32_t n_ranks, const void *const *in, uint32_t n_out,
       void *const *out, gsize n, gboolean f32, gboolean largest)
{
  RaKRanks ranks = {.n_in = n_ranks, .n_out = n_out};

  g_return_if_fail(n_ranks <= RA_K_RANKS && n_out <= RA_K_RANKS);
  for (uint32_t rank = 0; rank < n_ranks; rank++)
    ranks.in[rank] = in[rank];
  for (uint32_t rank = 0; rank < n_out; rank++)
    ranks.out[rank] = out[rank];
  ra_cuda_check(ra_k_reduce(&ranks, n, f32, largest, ra_device_stream()),
                "an all-reduce over ranks");
}

static void
add_f32(size_t n, const float *x, float *y)
{
  const void *in[] = {y, x};
  void *out[] = {y};

  reduce(2, in, 1, out, n, TRUE, FALSE);
}

static void
add_bias(size_t n_rows, size_t n, const RaElem *bias, RaElem *y)
{
  ra_cuda_check(
      ra_k_add_bias(n_rows, n, bf16(bias), bf16_out(y), ra_device_stream()),
      "add_bias");
}

static void
add_columns(size_t n_rows, size_t n, const RaElem *x, float *sum)
{
  ra_cuda_check(ra_k_add_columns(n_rows, n, bf16(x), sum, ra_device_stream()),
                "add_columns");
}

/* --- rows --- */

/* The kernel only reads @x where it adds nothing to it. */
static void
norm(size_t n_rows, size_t n, float eps, const RaElem *x, const RaElem *weight,
     RaElem *out, float *out_inv)
{
  (void)out_inv; /* the gradient makes it again */
  ra_cuda_check(ra_k_rmsnorm(bf16_out(out), (uint16_t *)(gpointer)x, NULL,
                             bf16(weight), n_rows, n, eps, ra_device_stream()),
                "norm");
}

static void
norm_backward(size_t n_rows, size_t n, float eps, const RaElem *x,
              const RaElem *weight, const float *inv, const RaElem *d_out,
              RaElem *d_x, float *d_weight)
{
  float *room =
      ra_cuda_scratch(RA_CUDA_SUMS, RA_K_RMSNORM_BLOCKS * n * sizeof *room);

  (void)inv;
  ra_cuda_check(ra_k_rmsnorm_backward_alone(bf16_out(d_x), bf16(x), bf16(d_out),
                                            bf16(weight), d_weight, room,
                                            n_rows, n, eps, ra_device_stream()),
                "norm_backward");
}

static void
layer_norm(size_t n_rows, size_t n, float eps, const RaElem *x,
           const RaElem *weight, const RaElem *bias, RaElem *out,
           float *out_stats)
{
  ra_cuda_check(ra_k_layernorm(bf16_out(out), (uint16_t *)(gpointer)x, NULL,
                               bf16(weight), bf16(bias), out_stats, n_rows, n,
                               eps, ra_device_stream()),
                "layer_norm");
}

static void
add_norm(size_t n_rows, size_t n, float eps, const RaElem *y, RaElem *x,
         const RaElem *weight, RaElem *out)
{
  ra_cuda_check(ra_k_rmsnorm(bf16_out(out), bf16_out(x), bf16(y), bf16(weight),
                             n_rows, n, eps, ra_device_stream()),
                "add_norm");
}

static void
add_layer_norm(size_t n_rows, size_t n, float eps, const RaElem *y, RaElem *x,
               const RaElem *weight, const RaElem *bias, RaElem *out)
{
  ra_cuda_check(ra_k_layernorm(bf16_out(out), bf16_out(x), bf16(y),
                               bf16(weight), bf16(bias), NULL, n_rows, n, eps,
                               ra_device_stream()),
                "add_layer_norm");
}

static void
layer_norm_backward(size_t n_rows, size_t n, const RaElem *x,
                    const RaElem *weight, const float *stats,
                    const RaElem *d_out, RaElem *d_x, float *d_weight,
                    float *d_bias)
{
  float *room = ra_cuda_scratch(RA_CUDA_SUMS,
                                2 * RA_K_LAYERNORM_BLOCKS * n * sizeof *room);

  ra_cuda_check(ra_k_layernorm_backward(bf16_out(d_x), FALSE, bf16(x), stats,
                                        bf16(d_out), bf16(weight), d_weight,
                                        d_bias, room, n_rows, n,
                                        ra_device_stream()),
                "layer_norm_backward");
}

static void
rope(size_t n_tokens, size_t n_heads, size_t head_dim,
     const uint32_t *positions, const float *cos_sin, int direction, RaElem *x,
     size_t stride)
{
  ra_cuda_check(ra_k_rope(n_tokens, n_heads, head_dim,
                          ra_cuda_upload(RA_CUDA_WORDS, n_tokens, positions),
                          cos_sin, direction, bf16_out(x), stride,
                          ra_device_stream()),
                "rope");
}

static void
swiglu(size_t n_tokens, size_t width, const RaElem *gate_up, RaElem *out)
{
  ra_cuda_check(ra_k_swiglu(n_tokens, width, bf16(gate_up), bf16_out(out),
                            ra_device_stream()),
                "swiglu");
}

static void
swiglu_backward(size_t n_tokens, size_t width, const RaElem *gate_up,
                const RaElem *d_out, RaElem *d_gate_up)
{
  ra_cuda_check(ra_k_swiglu_backward(n_tokens, width, bf16(gate_up),
                                     bf16(d_out), bf16_out(d_gate_up),
                                     ra_device_stream()),
                "swiglu_backward");
}

static void
activation(RaActivation kind, size_t n, const RaElem *x, RaElem *out)
{
  ra_cuda_check(
      ra_k_activate(kind, n, bf16(x), bf16_out(out), ra_device_stream()),
      "activation");
}

static void
activation_backward(RaActivation kind, size_t n, const RaElem *x,
                    const RaElem *d_out, RaElem *d_x)
{
  ra_cuda_check(ra_k_activate_backward(kind, n, bf16(x), bf16(d_out),
                                       bf16_out(d_x), ra_device_stream()),
                "activation_backward");
}

/* --- log-probabilities, optimizer --- */

static void
log_sum(size_t n_rows, uint32_t first, uint32_t n, size_t stride,
        const RaElem *logits, const uint32_t *targets, RaCpuLogSum *out)
{
  ra_cuda_check(ra_k_log_sum(n_rows, first, n, stride, bf16(logits),
                             ra_cuda_upload(RA_CUDA_WORDS, n_rows, targets),
                             out, ra_device_stream()),
                "log_sum");
}

static void
log_prob(size_t n_rows, size_t n_ranks, const RaCpuLogSum *sums,
         float *out_log_prob, float *out_lse)
{
  ra_cuda_check(ra_k_log_prob(n_rows, n_ranks, sums, out_log_prob, out_lse,
                              ra_device_stream()),
                "log_prob");
}

static void
log_prob_backward(size_t n_rows, uint32_t first, uint32_t n, size_t stride,
                  const uint32_t *targets, const float *lse,
                  const float *d_log_prob, RaElem *logits)
{
  ra_cuda_check(ra_k_log_prob_backward(
                    n_rows, first, n, stride,
                    ra_cuda_upload(RA_CUDA_WORDS, n_rows, targets), lse,
                    d_log_prob, bf16_out(logits), ra_device_stream()),
                "log_prob_backward");
}

static void
adamw(size_t n, const RaCpuAdamw *constants, uint64_t step, float clip,
      const float *grad, RaElem *weight, float *master, float *first,
      float *second)
{
  ra_cuda_check(ra_k_adamw(n, constants, step, clip, NULL, 0, grad, master,
                           first, second, bf16_out(weight), ra_device_stream()),
                "adamw");
}

static double
sum_squares(guint n_arrays, const gsize *n, const float *const *x)
{
  double *room =
      ra_cuda_scratch(RA_CUDA_SUMS, (RA_K_SQUARES_BLOCKS + 1) * sizeof *room);
  double sum = 0;

  if (n_arrays == 0)
    return 0;
  zero(room + RA_K_SQUARES_BLOCKS, sizeof *room);
  for (guint i = 0; i < n_arrays; i++)
    ra_cuda_check(ra_k_sum_squares(n[i], x[i], room, room + RA_K_SQUARES_BLOCKS,
                                   ra_device_stream()),
                  "sum_squares");
  read_bytes(&sum, room + RA_K_SQUARES_BLOCKS, sizeof sum);
  return sum;
}

/* --- what is not a number --- */

static gboolean
is_finite(size_t n, const RaElem *x)
{
  return ra_cuda_look(n, x, FALSE);
}

static gboolean
is_finite_f32(size_t n, const float *x)
{
  return ra_cuda_look(n, x, TRUE);
}

/* Checks the limits of the kernels. */
static gboolean
supports(const RaModel *model, uint32_t n_tp, GError **error)
{
  uint32_t kv_heads = MAX(model->n_kv_heads / n_tp, 1u);
  const char *what = NULL;

  if (model->family == RA_FAMILY_OTHER)
    what = "layers of a family for plans alone";
  else if (ra_model_has_window(model))
    what = "attention within windows";
  else if (!ra_k_attention_head_ok(model->head_dim))
    what = "heads of a dimension that is not 64 or 128";
  else if (model->hidden % 8 != 0 || model->ffn / n_tp % 8 != 0 ||
           model->expert_ffn / n_tp % 8 != 0 || model->n_experts % 8 != 0)
    what = "widths of a rank that are not multiples of 8";
  else if (model->n_heads / n_tp / kv_heads > 16)
    what = "more than 16 query heads of a key head";
  else if (model->n_experts > RA_K_EXPERTS ||
           model->experts_per_token > RA_K_TOP)
    what = "more experts, or of a token, than 1024 and 32";
  if (!what)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "model '%s' has %s, expected what the kernels of the cuda back "
              "end take",
              model->name, what);
  return FALSE;
}

static const RaBackend table = {
    .name = "cuda",
    .elem_bytes = sizeof(uint16_t),
    .align_bytes = 16, /* width of the kernels' vector loads */
    .alloc = alloc,
    .free = free_memory,
    .alloc_host = alloc_host,
    .free_host = free_host,
    .zero = zero,
    .copy = copy,
    .read = read_bytes,
    .write = write_bytes,
    .read_elems = read_elems,
    .write_elems = write_elems,
    .seed = seed,
    .widen = widen,
    .wait = wait_for,
    .begin_copy = ra_cuda_begin_copy,
    .follow_copy = ra_cuda_follow_copy,
    .end_copy = ra_cuda_end_copy,
    .n_marks = RA_CUDA_MARKS,
    .mark = ra_cuda_mark,
    .read_marks = ra_cuda_read_marks,
    .keep_words = ra_cuda_keep_words,
    .begin_capture = ra_cuda_begin_capture,
    .end_capture = ra_cuda_end_capture,
    .holds_graph = ra_cuda_holds_graph,
    .begin_graph = ra_cuda_begin_graph,
    .free_graph = ra_cuda_free_graph,
    .odd = ra_cuda_odd,
    .workspace_bytes = ra_cuda_gemm_workspace_bytes,
    .held_bytes = ra_cuda_held_bytes,
    .failure = ra_cuda_failure,
    .gemm = ra_cuda_product,
    .gemm_f32 = ra_cuda_product_f32,
    .gemm_bias = ra_cuda_product_bias,
    .gemm_bias_backward = ra_cuda_product_bias_backward,
    .copy_rect = ra_cuda_copy_rect,
    .copy_rects = ra_cuda_copy_rects,
    .add = add,
    .add_f32 = add_f32,
    .add_bias = add_bias,
    .add_columns = add_columns,
    .reduce = reduce,
    .norm = norm,
    .norm_backward = norm_backward,
    .layer_norm = layer_norm,
    .add_norm = add_norm,
    .add_layer_norm = add_layer_norm,
    .layer_norm_backward = layer_norm_backward,
    .rope = rope,
    .swiglu = swiglu,
    .swiglu_backward = swiglu_backward,
    .activation = activation,
    .activation_backward = activation_backward,
    .embedding = ra_cuda_embedding,
    .embedding_backward = ra_cuda_embedding_backward,
    .cache_rows = ra_cuda_cache_rows,
    .rope_rows = ra_cuda_rope_rows,
    .attention_workspace = ra_cuda_attention_workspace,
    .attention = ra_cuda_attention,
    .attention_backward = ra_cuda_attention_backward,
    .attention_merge = ra_cuda_attention_merge,
    .decode_workspace = ra_cuda_decode_workspace,
    .decode_attention = ra_cuda_decode_attention,
    .route = ra_cuda_route,
    .place_rows = ra_cuda_place_rows,
    .spread_rows = ra_cuda_spread_rows,
    .collect_rows = ra_cuda_collect_rows,
    .route_backward = ra_cuda_route_backward,
    .gemm_experts = ra_cuda_gemm_experts,
    .log_sum = log_sum,
    .log_prob = log_prob,
    .log_prob_backward = log_prob_backward,
    .sample = ra_cuda_sample,
    .draw = ra_cuda_draw,
    .adamw = adamw,
    .sum_squares = sum_squares,
    .is_finite = is_finite,
    .is_finite_f32 = is_finite_f32,
    .supports = supports,
};

const RaBackend *
ra_backend_cuda(void)
{
  return &table;
}
