/* The idle GPU: memory, ops, and the table of a back end. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/device/idle_gpu.h"
#include "tests/device/idle_time.h"

#define SLOW 50

static IdleGpu *gpu; /* the one that there is */

double
idle_gpu_now_s(void)
{
  return idle_host_s();
}

void
idle_op(RaOpKind kind, guint n_launches, const uint64_t *dims)
{
  RaOp o = {.kind = (uint8_t)kind, .dtype = RA_DTYPE_BF16, .count = 1};

  for (guint i = 0; i < RA_OP_DIMS; i++)
    o.dim[i] = dims[i];
  idle_take(n_launches, ra_estimator_op_s(gpu->truth, &o) *
                            (kind == gpu->odd_op ? gpu->odd : 1));
}

/* --- Memory: addresses, which nobody looks at --- */

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

/* Bytes that are read and written. */
static void
move(gsize n)
{
  idle_take(1, 2 * (double)n / IDLE_COPY_BYTES_PER_S);
}

static void
zero(void *to, gsize n)
{
  (void)to, (void)n;
  idle_take(1, 0);
}

static void
copy(void *to, const void *from, gsize n)
{
  (void)to, (void)from;
  move(n);
}

static void
copy_rect(size_t n_rows, size_t n_cols, const RaElem *in, size_t in_stride,
          RaElem *out, size_t out_stride)
{
  (void)in, (void)in_stride, (void)out, (void)out_stride;
  move(n_rows * n_cols * 2);
}

static void
cache_rows(size_t n, size_t width, const uint32_t *rows, const RaElem *in,
           size_t stride, RaElem *k, RaElem *v)
{
  (void)n, (void)width, (void)in, (void)stride, (void)k, (void)v;
  idle_take(1 + idle_words(rows),
            0); /* where they go, and that: its time is in the attention's */
}

static void
read_bytes(void *to, const void *from, gsize n)
{
  (void)from;
  memset(to, 0, n);
  IDLE_OP(RA_OP_OFFLOAD, 1, n);
  idle_wait();
}

static void
write_bytes(void *to, const void *from, gsize n)
{
  (void)to, (void)from;
  IDLE_OP(RA_OP_RELOAD, 1, n);
}

static void
read_elems(gsize n, const RaElem *from, float *to)
{
  (void)from;
  memset(to, 0, n * sizeof *to);
  IDLE_OP(RA_OP_OFFLOAD, 1, 2 * n);
  idle_wait();
}

static void
write_elems(gsize n, const float *from, RaElem *to)
{
  write_bytes(to, from, 2 * n);
}

/* Which no op hides behind. */
static void
flush(void)
{
  idle_take(1, 1e-3);
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
  (void)a, (void)b, (void)x, (void)lda, (void)y, (void)ldb, (void)beta;
  (void)c, (void)ldc;
  IDLE_OP(RA_OP_GEMM, 1, m, n, k, 1);
}

static void
gemm_f32(RaCpuOrder a, RaCpuOrder b, size_t m, size_t n, size_t k,
         const RaElem *x, size_t lda, const RaElem *y, size_t ldb, float beta,
         float *c, size_t ldc)
{
  (void)a, (void)b, (void)x, (void)lda, (void)y, (void)ldb, (void)beta;
  (void)c, (void)ldc;
  IDLE_OP(RA_OP_GEMM, 1, m, n, k, 1);
}

static void
add(size_t n, const RaElem *x, RaElem *y)
{
  (void)x, (void)y;
  IDLE_OP(RA_OP_ADD, 1, 1, n);
}

static void
norm(size_t n_rows, size_t n, float eps, const RaElem *x, const RaElem *weight,
     RaElem *out, float *inv)
{
  (void)eps, (void)x, (void)weight, (void)out, (void)inv;
  IDLE_OP(RA_OP_NORM, 1, n_rows, n);
}

static void
norm_backward(size_t n_rows, size_t n, float eps, const RaElem *x,
              const RaElem *weight, const float *inv, const RaElem *d_out,
              RaElem *d_x, float *d_weight)
{
  (void)eps, (void)x, (void)weight, (void)inv, (void)d_out, (void)d_x;
  (void)d_weight;
  IDLE_OP(RA_OP_NORM_BACKWARD, 2, n_rows, n);
}

static void
rope(size_t n_tokens, size_t n_heads, size_t head_dim,
     const uint32_t *positions, const float *cos_sin, int direction, RaElem *x,
     size_t stride)
{
  (void)cos_sin, (void)direction, (void)x, (void)stride;
  IDLE_OP(RA_OP_ROPE, 1 + idle_words(positions), n_tokens, n_heads, head_dim);
}

static void
rope_rows(size_t n, size_t q_heads, size_t kv_heads, size_t head_dim,
          const uint32_t *positions, const uint32_t *rows, const float *cos_sin,
          RaElem *qkv, size_t stride, RaElem *k, RaElem *v)
{
  (void)rows, (void)cos_sin, (void)qkv, (void)stride, (void)k, (void)v;
  IDLE_OP(RA_OP_ROPE, 1 + idle_words(positions), n, q_heads + kv_heads,
          head_dim);
}

static void
swiglu(size_t n_tokens, size_t width, const RaElem *gate_up, RaElem *out)
{
  (void)gate_up, (void)out;
  IDLE_OP(RA_OP_ACTIVATION, 1, n_tokens, width, 1);
}

static void
swiglu_backward(size_t n_tokens, size_t width, const RaElem *gate_up,
                const RaElem *d_out, RaElem *d_gate_up)
{
  (void)gate_up, (void)d_out, (void)d_gate_up;
  IDLE_OP(RA_OP_ACTIVATION_BACKWARD, 1, n_tokens, width, 1);
}

static void
embedding(size_t n_tokens, size_t width, uint32_t first, uint32_t n_rows,
          const uint32_t *tokens, const RaElem *table, RaElem *out)
{
  (void)first, (void)table, (void)out;
  IDLE_OP(RA_OP_EMBEDDING, 1 + idle_words(tokens), n_tokens, width, n_rows);
}

static void
embedding_backward(size_t n_tokens, size_t width, uint32_t first,
                   uint32_t n_rows, const uint32_t *tokens, const RaElem *d_out,
                   float *d_table)
{
  (void)first, (void)tokens, (void)d_out, (void)d_table;
  IDLE_OP(RA_OP_EMBEDDING_BACKWARD, 4, n_tokens, width, n_rows);
}

static gsize
attention_workspace(const RaCpuAttention *shape, gboolean back)
{
  return (void)shape, (void)back, 0;
}

static void
attend(RaOpKind kind, guint n_launches, const RaCpuAttention *shape)
{
  uint64_t pairs = 0, tokens = shape->begin[shape->n_sequences];

  for (uint32_t i = 0; i < shape->n_sequences; i++) {
    uint64_t n = shape->begin[i + 1] - shape->begin[i];

    pairs += n * (n + 1) / 2;
  }
  IDLE_OP(kind, n_launches, shape->n_sequences, tokens, tokens, pairs,
          shape->q_heads, shape->kv_heads, shape->head_dim);
}

static void
attention(const RaCpuAttention *shape, const RaElem *q, const RaElem *k,
          const RaElem *v, RaElem *out, float *out_lse, float *workspace)
{
  (void)q, (void)k, (void)v, (void)out, (void)out_lse, (void)workspace;
  attend(RA_OP_ATTENTION, 2, shape);
}

static void
attention_backward(const RaCpuAttention *shape, const RaElem *q,
                   const RaElem *k, const RaElem *v, const RaElem *out,
                   const float *lse, const RaElem *d_out, RaElem *d_q,
                   RaElem *d_k, RaElem *d_v, float *workspace)
{
  (void)q, (void)k, (void)v, (void)out, (void)lse, (void)d_out, (void)d_q;
  (void)d_k, (void)d_v, (void)workspace;
  attend(RA_OP_ATTENTION_BACKWARD, 4, shape);
}

static gsize
decode_workspace(const RaDecode *shape)
{
  return (void)shape, 0;
}

static void
decode_attention(const RaDecode *shape, const RaElem *q, const RaElem *k,
                 const RaElem *v, RaElem *out, float *workspace)
{
  uint64_t seen = 0;

  (void)q, (void)k, (void)v, (void)out, (void)workspace;
  for (uint32_t i = 0; i < shape->n; i++)
    seen += shape->lengths[i];
  IDLE_OP(RA_OP_DECODE_ATTENTION,
          1 + idle_words(shape->lengths) + idle_words(shape->pages), shape->n,
          shape->n, seen, seen, shape->q_heads, shape->kv_heads,
          shape->head_dim);
}

static void
log_sum(size_t n_rows, uint32_t first, uint32_t n, size_t stride,
        const RaElem *logits, const uint32_t *targets, RaCpuLogSum *out)
{
  (void)first, (void)stride, (void)logits, (void)targets, (void)out;
  IDLE_OP(RA_OP_CROSS_ENTROPY, 2, n_rows, n);
}

static void
log_prob(size_t n_rows, size_t n_ranks, const RaCpuLogSum *sums, float *out,
         float *out_lse)
{
  (void)n_rows, (void)n_ranks, (void)sums, (void)out, (void)out_lse;
  idle_take(1, 0);
}

static void
log_prob_backward(size_t n_rows, uint32_t first, uint32_t n, size_t stride,
                  const uint32_t *targets, const float *lse,
                  const float *d_log_prob, RaElem *logits)
{
  (void)first, (void)stride, (void)targets, (void)lse, (void)d_log_prob;
  (void)logits;
  IDLE_OP(RA_OP_CROSS_ENTROPY_BACKWARD, 2, n_rows, n);
}

/* The host waits for what was drawn: the first token. */
static void
sample(size_t n_rows, uint32_t n, const RaElem *logits,
       const RaCpuSampling *how, const double *uniforms, RaCpuSample *out)
{
  (void)logits, (void)how;
  memset(out, 0, n_rows * sizeof *out);
  IDLE_OP(RA_OP_SAMPLE, 1 + idle_words(uniforms), n_rows, n);
  idle_wait();
}

static void
adamw(size_t n, const RaCpuAdamw *constants, uint64_t step, float clip,
      const float *grad, RaElem *weight, float *master, float *first,
      float *second)
{
  (void)constants, (void)step, (void)clip, (void)grad, (void)weight;
  (void)master, (void)first, (void)second;
  IDLE_OP(RA_OP_OPTIMIZER, 1, n);
}

static double
sum_squares(guint n_arrays, const gsize *n, const float *const *x)
{
  (void)n, (void)x;
  if (n_arrays == 0)
    return 0;
  idle_take(n_arrays + 2, 0);
  idle_wait();
  return 0;
}

static gboolean
is_finite(size_t n, const RaElem *x)
{
  (void)n, (void)x;
  idle_take(1, 0);
  return TRUE;
}

static gboolean
is_finite_f32(size_t n, const float *x)
{
  (void)x;
  return is_finite(n, NULL);
}

static gsize
workspace_bytes(void)
{
  return (gsize)32 << 20;
}

static RaBackend table = {
    .name = "cuda",
    .elem_bytes = 2,
    .align_bytes = 16,
    .alloc = alloc,
    .free = keep,
    .alloc_host = g_malloc0,
    .free_host = g_free,
    .zero = zero,
    .copy = copy,
    .read = read_bytes,
    .write = write_bytes,
    .read_elems = read_elems,
    .write_elems = write_elems,
    .wait = idle_wait,
    .workspace_bytes = workspace_bytes,
    .failure = failure,
    .gemm = gemm,
    .gemm_f32 = gemm_f32,
    .copy_rect = copy_rect,
    .cache_rows = cache_rows,
    .add = add,
    .norm = norm,
    .norm_backward = norm_backward,
    .rope = rope,
    .rope_rows = rope_rows,
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
timer_start(gpointer timer, const RaOp *op_begun)
{
  IdleGpu *g = timer;
  gboolean same = memcmp(op_begun, &g->last, sizeof *op_begun) == 0;

  g->n_same = same ? g->n_same + 1 : 1;
  g->last = *op_begun;
  g->n_begun++;
  g->begin_s = idle_device_s();
}

/* A loss is the host's, which calls no function of the device. */
static double
timer_stop_s(gpointer timer)
{
  const IdleGpu *g = timer;
  double s = g->last.kind == RA_OP_LOSS ? ra_estimator_op_s(g->truth, &g->last)
                                        : idle_device_s() - g->begin_s;

  idle_wait();
  return (g->n_same <= g->n_slow ? SLOW * s : s) * g->unit;
}

static gboolean
launch(double op_s, RaProbeLaunch *out)
{
  (void)op_s;
  *out = (RaProbeLaunch){IDLE_EAGER_S, IDLE_GRAPH_S, IDLE_GAP_S, 0};
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

  idle_set_entries(&table);
  idle_set_experts(&table);
  gpu = g_new0(IdleGpu, 1);
  gpu->truth = ra_estimator_new(truth, &cluster, NULL);
  g_assert(gpu->truth);
  gpu->n_slow = 2;
  gpu->unit = 1;
  gpu->odd_op = RA_N_OPS;
  gpu->machine = (RaProbeMachine){.backend = &table,
                                  .dtype = RA_DTYPE_BF16,
                                  .pool_bytes = (gsize)2 << 30,
                                  .lap_bytes = (gsize)2 << 30,
                                  .cache_bytes = (gsize)50 << 20,
                                  .clock_hz = 1.98e9,
                                  .flush = flush,
                                  .timer_new = timer_new,
                                  .timer_free = keep,
                                  .timer_start = timer_start,
                                  .timer_stop_s = timer_stop_s,
                                  .host_s = idle_gpu_now_s,
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
