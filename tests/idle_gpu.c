#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/idle_gpu.h"

#define SLOW 50

static IdleGpu *gpu; /* the one that there is */

/* ---- Memory: addresses ---------------------------------------------------*/

static void *
alloc(gsize n_bytes)
{
  gsize *at = mmap(NULL, n_bytes + 4096, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

  if (at == MAP_FAILED)
    abort();
  return at;
}

static void
keep(void *memory) /* addresses are not scarce */
{
  (void)memory;
}

static void *
alloc_host(gsize n_bytes)
{
  return g_malloc(n_bytes);
}

static void
zero(void *to, gsize n)
{
  (void)to, (void)n;
}

static void
copy(void *to, const void *from, gsize n)
{
  (void)to, (void)from, (void)n;
}

static void
write_elems(gsize n, const float *from, RaElem *to)
{
  (void)n, (void)from, (void)to;
}

static void
nothing(void)
{
}

static const char *
failure(void)
{
  return NULL;
}

/* ---- Ops -----------------------------------------------------------------*/

static void
gemm(RaCpuOrder a, RaCpuOrder b, size_t m, size_t n, size_t k, const RaElem *x,
     size_t lda, const RaElem *y, size_t ldb, float beta, RaElem *c, size_t ldc)
{
  (void)a, (void)b, (void)m, (void)n, (void)k, (void)x, (void)lda, (void)y;
  (void)ldb, (void)beta, (void)c, (void)ldc;
}

static void
gemm_f32(RaCpuOrder a, RaCpuOrder b, size_t m, size_t n, size_t k,
         const RaElem *x, size_t lda, const RaElem *y, size_t ldb, float beta,
         float *c, size_t ldc)
{
  (void)a, (void)b, (void)m, (void)n, (void)k, (void)x, (void)lda, (void)y;
  (void)ldb, (void)beta, (void)c, (void)ldc;
}

static void
add(size_t n, const RaElem *x, RaElem *y)
{
  (void)n, (void)x, (void)y;
}

static void
norm(size_t n_rows, size_t n, float eps, const RaElem *x, const RaElem *weight,
     RaElem *out, float *inv)
{
  (void)n_rows, (void)n, (void)eps, (void)x, (void)weight, (void)out, (void)inv;
}

static void
norm_backward(size_t n_rows, size_t n, float eps, const RaElem *x,
              const RaElem *weight, const float *inv, const RaElem *d_out,
              RaElem *d_x, float *d_weight)
{
  (void)n_rows, (void)n, (void)eps, (void)x, (void)weight, (void)inv;
  (void)d_out, (void)d_x, (void)d_weight;
}

static void
rope(size_t n_tokens, size_t n_heads, size_t head_dim,
     const uint32_t *positions, const float *cos_sin, int direction, RaElem *x,
     size_t stride)
{
  (void)n_tokens, (void)n_heads, (void)head_dim, (void)positions, (void)cos_sin;
  (void)direction, (void)x, (void)stride;
}

static void
swiglu(size_t n_tokens, size_t width, const RaElem *gate_up, RaElem *out)
{
  (void)n_tokens, (void)width, (void)gate_up, (void)out;
}

static void
swiglu_backward(size_t n_tokens, size_t width, const RaElem *gate_up,
                const RaElem *d_out, RaElem *d_gate_up)
{
  (void)n_tokens, (void)width, (void)gate_up, (void)d_out, (void)d_gate_up;
}

static void
embedding(size_t n_tokens, size_t width, uint32_t first, uint32_t n_rows,
          const uint32_t *tokens, const RaElem *table, RaElem *out)
{
  (void)n_tokens, (void)width, (void)first, (void)n_rows, (void)tokens;
  (void)table, (void)out;
}

static void
embedding_backward(size_t n_tokens, size_t width, uint32_t first,
                   uint32_t n_rows, const uint32_t *tokens, const RaElem *d_out,
                   float *d_table)
{
  (void)n_tokens, (void)width, (void)first, (void)n_rows, (void)tokens;
  (void)d_out, (void)d_table;
}

static gsize
attention_workspace(const RaCpuAttention *shape)
{
  (void)shape;
  return 0;
}

static void
attention(const RaCpuAttention *shape, const RaElem *q, const RaElem *k,
          const RaElem *v, RaElem *out, float *out_lse, float *workspace)
{
  (void)shape, (void)q, (void)k, (void)v, (void)out, (void)out_lse;
  (void)workspace;
}

static void
attention_backward(const RaCpuAttention *shape, const RaElem *q,
                   const RaElem *k, const RaElem *v, const RaElem *out,
                   const float *lse, const RaElem *d_out, RaElem *d_q,
                   RaElem *d_k, RaElem *d_v, float *workspace)
{
  (void)shape, (void)q, (void)k, (void)v, (void)out, (void)lse, (void)d_out;
  (void)d_q, (void)d_k, (void)d_v, (void)workspace;
}

static gsize
decode_workspace(const RaDecode *shape)
{
  (void)shape;
  return 0;
}

static void
decode_attention(const RaDecode *shape, const RaElem *q, const RaElem *k,
                 const RaElem *v, RaElem *out, float *workspace)
{
  (void)shape, (void)q, (void)k, (void)v, (void)out, (void)workspace;
}

static void
log_sum(size_t n_rows, uint32_t first, uint32_t n, size_t stride,
        const RaElem *logits, const uint32_t *targets, RaCpuLogSum *out)
{
  (void)n_rows, (void)first, (void)n, (void)stride, (void)logits, (void)targets,
      (void)out;
}

static void
log_prob(size_t n_rows, size_t n_ranks, const RaCpuLogSum *sums, float *out,
         float *out_lse)
{
  (void)n_rows, (void)n_ranks, (void)sums, (void)out, (void)out_lse;
}

static void
log_prob_backward(size_t n_rows, uint32_t first, uint32_t n, size_t stride,
                  const uint32_t *targets, const float *lse,
                  const float *d_log_prob, RaElem *logits)
{
  (void)n_rows, (void)first, (void)n, (void)stride, (void)targets, (void)lse;
  (void)d_log_prob, (void)logits;
}

static void
sample(size_t n_rows, uint32_t n, const RaElem *logits,
       const RaCpuSampling *how, const double *uniforms, RaCpuSample *out)
{
  (void)n_rows, (void)n, (void)logits, (void)how, (void)uniforms, (void)out;
}

static void
adamw(size_t n, const RaCpuAdamw *constants, uint64_t step, float clip,
      const float *grad, RaElem *weight, float *master, float *first,
      float *second)
{
  (void)n, (void)constants, (void)step, (void)clip, (void)grad, (void)weight;
  (void)master, (void)first, (void)second;
}

static double
sum_squares(guint n_arrays, const gsize *n, const float *const *x)
{
  (void)n_arrays, (void)n, (void)x;
  return 0;
}

static gboolean
is_finite(size_t n, const RaElem *x)
{
  (void)n, (void)x;
  return TRUE;
}

static gboolean
is_finite_f32(size_t n, const float *x)
{
  (void)n, (void)x;
  return TRUE;
}

static const RaBackend table = {
    .name = "cuda",
    .elem_bytes = 2,
    .align_bytes = 16,
    .alloc = alloc,
    .free = keep,
    .alloc_host = alloc_host,
    .free_host = g_free,
    .zero = zero,
    .copy = copy,
    .read = copy,
    .write = copy,
    .write_elems = write_elems,
    .wait = nothing,
    .failure = failure,
    .gemm = gemm,
    .gemm_f32 = gemm_f32,
    .add = add,
    .norm = norm,
    .norm_backward = norm_backward,
    .rope = rope,
    .swiglu = swiglu,
    .swiglu_backward = swiglu_backward,
    .embedding = embedding,
    .embedding_backward = embedding_backward,
    .attention_workspace = attention_workspace,
    .attention = attention,
    .attention_backward = attention_backward,
    .decode_workspace = decode_workspace,
    .decode_attention = decode_attention,
    .log_sum = log_sum,
    .log_prob = log_prob,
    .log_prob_backward = log_prob_backward,
    .sample = sample,
    .adamw = adamw,
    .sum_squares = sum_squares,
    .is_finite = is_finite,
    .is_finite_f32 = is_finite_f32,
};

/* ---- The machine ---------------------------------------------------------*/

static gpointer
timer_new(void)
{
  return gpu;
}

static void
timer_start(gpointer timer, const RaOp *op)
{
  IdleGpu *g = timer;
  gboolean same = memcmp(op, &g->last, sizeof *op) == 0;

  g->n_same = same ? g->n_same + 1 : 1;
  g->last = *op;
  g->n_begun++;
}

static double
timer_stop_s(gpointer timer)
{
  const IdleGpu *g = timer;
  double s = ra_estimator_op_s(g->truth, &g->last) * g->unit;

  return g->n_same <= g->n_slow ? SLOW * s : s;
}

static gboolean
launch(double op_s, RaProbeLaunch *out)
{
  (void)op_s;
  *out = (RaProbeLaunch){IDLE_EAGER_S, IDLE_GRAPH_S, IDLE_GAP_S};
  return TRUE;
}

static gboolean
memory(uint64_t *out_free, uint64_t *out_all)
{
  *out_all = (uint64_t)80 << 30;
  *out_free = *out_all - IDLE_TAKEN;
  return TRUE;
}

IdleGpu *
idle_gpu_new(const RaProfile *truth)
{
  const RaCluster cluster = {
      .n_nodes = 1, .gpus_per_node = 1, .device = truth->spec};

  gpu = g_new0(IdleGpu, 1);
  gpu->truth = ra_estimator_new(truth, &cluster, NULL);
  g_assert(gpu->truth);
  gpu->n_slow = 2;
  gpu->unit = 1;
  gpu->machine = (RaProbeMachine){.backend = &table,
                                  .dtype = RA_DTYPE_BF16,
                                  .pool_bytes = (gsize)2 << 30,
                                  .lap_bytes = (gsize)2 << 30,
                                  .cache_bytes = (gsize)50 << 20,
                                  .clock_hz = 1.98e9,
                                  .flush = nothing,
                                  .timer_new = timer_new,
                                  .timer_free = keep,
                                  .timer_start = timer_start,
                                  .timer_stop_s = timer_stop_s,
                                  .launch = launch,
                                  .memory = memory};
  return gpu;
}

void
idle_gpu_free(IdleGpu *g)
{
  ra_estimator_free(g->truth);
  g_free(g);
}
