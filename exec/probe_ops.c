/* The ops of a probe: each as the executor runs it. */
#include "config.h"

#include <string.h>

#include "exec/probe_impl.h"
#include "kernels/cpu_pointwise.h"
#include "kernels/cpu_policy.h"

#define e ra_host_elems /* what is probed is the host */

gboolean
ra_probe_has(RaOpKind kind)
{
  switch (kind) {
  case RA_OP_ATTENTION_CORE:
  case RA_OP_ATTENTION_CORE_BACKWARD:
  case RA_OP_ROUTER:
  case RA_OP_PERMUTE:
  case RA_OP_HOST:
  case RA_N_OPS:
    return FALSE;
  default:
    return TRUE;
  }
}

/* A product has stood before: its weights, 1 MiB and more, have gone through
 * the core's cache, and what was at hand is partly gone. */
#define PASSED_FLOATS ((gsize)1 << 18)

/* By both clocks; what the op is timed by is the inner one. */
static void
begin_now(RaProbeRank *r)
{
  r->begin_wall_s = ra_probe_wall_s(r);
  r->begin_s = ra_probe_now_s(r);
}

static void
begin(RaProbeRank *r)
{
  r->backend->sum_squares(PASSED_FLOATS, ra_probe_cold(r, PASSED_FLOATS));
  begin_now(r);
}

/* Behind another product there is always something else: what it reads is at
 * hand. */
static void
begin_product(RaProbeRank *r)
{
  begin_now(r);
}

static void
end(RaProbeRank *r)
{
  r->end_s = ra_probe_now_s(r);
  r->end_wall_s = ra_probe_wall_s(r);
}

/* As the executor ends an op: it looks whether the @n floats that it @made are
 * finite. */
static void
end_look(RaProbeRank *r, gsize n, const float *made)
{
  ra_cpu_is_finite(n, made);
  end(r);
  r->made = made;
  r->n_made = n;
}

/* @x as the op before has written it, whatever a repeat has made of it. */
static void
make_anew(const RaProbeRank *r, gsize n, float *x)
{
  memcpy(x, r->pool, n * sizeof *x);
}

/* A step of generation has few rows, and its layers write to one place. */
#define FEW_ROWS 64

static float *
output(RaProbeRank *r, gsize rows, gsize n)
{
  return rows < FEW_ROWS ? ra_probe_warm(r, rows * n)
                         : ra_probe_sink(r, rows * n);
}

/* The weight comes from memory; its input, or the gradient of its output, was
 * made just before. */
static void
gemm(RaProbeRank *r, const uint64_t *d)
{
  const RaBackend *b = r->backend;
  gsize m = d[0], n = d[1], k = d[2];
  float *x, *y, *weight;

  if (r->point->variant == RA_PROBE_WEIGHT) {
    x = ra_probe_cold(r, k * n);
    y = ra_probe_warm(r, k * m);
    weight = ra_probe_sink(r, m * n);
    begin_product(r);
    b->gemm(RA_CPU_TRANSPOSED, RA_CPU_PLAIN, m, n, k, e(y), m, e(x), n, 1,
            e(weight), n);
    end_look(r, m * n, weight);
    return;
  }
  x = ra_probe_warm(r, m * k);
  y = output(r, m, n);
  weight = ra_probe_cold(r, n * k);
  begin_product(r);
  if (r->point->variant == RA_PROBE_INPUT)
    b->gemm(RA_CPU_PLAIN, RA_CPU_PLAIN, m, n, k, e(x), k, e(weight), n, 0, e(y),
            n);
  else
    b->gemm(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, m, n, k, e(x), k, e(weight), k, 0,
            e(y), n);
  end_look(r, m * n, y);
}

/* What backwards of attention, norms and activations begin with was made by the
 * product before the last: the gradient of its weights has gone through the
 * caches since (exec/stage_layer.c), so it comes from memory there. */

/* d: sequences, q_tokens, kv_tokens, pairs, q_heads, kv_heads, head_dim */
static void
attention(RaProbeRank *r, const uint64_t *d, gboolean back)
{
  gsize t = d[1], q = d[4] * d[6], kv = d[5] * d[6], stride = q + 2 * kv;
  g_autofree uint32_t *begins = g_new(uint32_t, d[0] + 1);
  RaCpuAttention shape = {.n_sequences = (uint32_t)d[0],
                          .begin = begins,
                          .q_heads = (uint32_t)d[4],
                          .kv_heads = (uint32_t)d[5],
                          .head_dim = (uint32_t)d[6],
                          .stride = stride};
  float *qkv, *out, *lse, *workspace, *d_out, *d_qkv;

  for (uint32_t i = 0; i <= d[0]; i++)
    begins[i] = (uint32_t)(t * i / d[0]);
  workspace = ra_probe_warm(r, ra_cpu_attention_workspace(&shape));
  if (!back) {
    qkv = ra_probe_warm(r, t * stride);
    out = ra_probe_sink(r, t * q);
    lse = ra_probe_sink(r, t * d[4]);
    begin(r);
    r->backend->attention(&shape, e(qkv), e(qkv + q), e(qkv + q + kv), e(out),
                          lse, workspace);
    end_look(r, t * q, out);
    return;
  }
  qkv = ra_probe_cold(r, t * stride);
  out = ra_probe_cold(r, t * q);
  lse = ra_probe_cold(r, t * d[4]);
  d_out = ra_probe_cold(r, t * q);
  d_qkv = ra_probe_sink(r, t * stride);
  begin(r);
  r->backend->attention_backward(&shape, e(qkv), e(qkv + q), e(qkv + q + kv),
                                 e(out), lse, e(d_out), e(d_qkv), e(d_qkv + q),
                                 e(d_qkv + q + kv), workspace);
  end_look(r, t * stride, d_qkv);
}

/* Keys and values of each sequence lie apart, with room for as many more. */
static void
decode_attention(RaProbeRank *r, const uint64_t *d)
{
  gsize n = d[0], q = d[4] * d[6], kv = d[5] * d[6], length = d[2] / n;
  float *in = ra_probe_warm(r, n * (q + 2 * kv)),
        *out = ra_probe_warm(r, n * q);
  float *workspace = ra_probe_warm(r, length * (d[4] / d[5]));
  const uint32_t slot = 0, position = (uint32_t)length - 1;
  const RaDecode shape = {.n = 1,
                          .slots = &slot,
                          .positions = &position,
                          .n_slots = 1,
                          .n_positions = (uint32_t)length,
                          .q_heads = (uint32_t)d[4],
                          .kv_heads = (uint32_t)d[5],
                          .head_dim = (uint32_t)d[6],
                          .stride = q + 2 * kv};
  g_autofree float **cache = g_new(float *, 2 * n + 1); /* k, v of each */

  for (gsize i = 0; i < 2 * n; i++)
    cache[i] = ra_probe_cold(r, 2 * length * kv);
  begin(r);
  for (gsize i = 0; i < n; i++)
    r->backend->decode_attention(&shape, e(in + i * (q + 2 * kv)),
                                 e(cache[2 * i]), e(cache[2 * i + 1]),
                                 e(out + i * q), workspace);
  end_look(r, n * q, out);
}

static void
norm(RaProbeRank *r, const uint64_t *d, gboolean back)
{
  gsize t = d[0], n = d[1];
  float *x = back ? ra_probe_cold(r, t * n) : ra_probe_warm(r, t * n);
  float *out = back ? ra_probe_sink(r, t * n) : output(r, t, n);
  float *inv = ra_probe_sink(r, t), *weight = ra_probe_cold(r, n);
  float *d_weight = ra_probe_sink(r, n);

  begin(r);
  if (back)
    r->backend->norm_backward(t, n, 1e-5f, e(x), e(weight), inv, e(out), e(out),
                              d_weight);
  else
    r->backend->norm(t, n, 1e-5f, e(x), e(weight), e(out), inv);
  end_look(r, t * n, out);
}

/* Half as many values as keys and queries lie between tokens where two queries
 * share a key. */
static void
rope(RaProbeRank *r, const uint64_t *d)
{
  gsize t = d[0], stride = d[1] * d[2] * 4 / 3;
  uint32_t n_positions = 1024;
  /* A layer has passed since a position's row was read. */
  float *table = ra_probe_cold(r, (gsize)n_positions * d[2]);
  float *x = ra_probe_warm(r, t * stride);
  const uint32_t *positions = ra_probe_numbers(r, t, n_positions);

  make_anew(r, t * stride, x);
  begin(r);
  r->backend->rope(t, d[1], d[2], positions, table, 1, e(x), stride);
  end(r);
  r->made = x;
  r->n_made = t * stride;
}

static void
activation(RaProbeRank *r, const uint64_t *d, gboolean back)
{
  gsize n = d[0] * d[1];
  float *gate_up = back ? ra_probe_cold(r, 2 * n) : ra_probe_warm(r, 2 * n);
  float *out = back ? ra_probe_cold(r, n) : output(r, d[0], d[1]);
  float *d_gate_up = back ? ra_probe_sink(r, 2 * n) : NULL;

  begin(r);
  if (back)
    r->backend->swiglu_backward(d[0], d[1], e(gate_up), e(out), e(d_gate_up));
  else
    r->backend->swiglu(d[0], d[1], e(gate_up), e(out));
  if (back)
    end_look(r, 2 * n, d_gate_up);
  else
    end_look(r, n, out);
}

static void
add(RaProbeRank *r, const uint64_t *d)
{
  gsize n = d[0] * d[1];
  float *x = ra_probe_cold(r, n), *y = ra_probe_warm(r, n);

  begin(r);
  r->backend->add(n, e(x), e(y));
  end(r);
  memset(y, 0, n * sizeof *y); /* it must not grow without end */
}

static void
embedding(RaProbeRank *r, const uint64_t *d, gboolean back)
{
  uint32_t vocab = (uint32_t)d[2];
  float *table =
      back ? ra_probe_sink(r, vocab * d[1]) : ra_probe_cold(r, vocab * d[1]);
  float *out = back ? ra_probe_warm(r, d[0] * d[1]) : output(r, d[0], d[1]);
  const uint32_t *tokens = ra_probe_numbers(r, d[0], vocab);

  begin(r);
  if (back)
    r->backend->embedding_backward(d[0], d[1], 0, vocab, tokens, e(out), table);
  else
    r->backend->embedding(d[0], d[1], 0, vocab, tokens, e(table), e(out));
  if (back)
    end(r);
  else
    end_look(r, d[0] * d[1], out);
}

static void
cross_entropy(RaProbeRank *r, const uint64_t *d, gboolean back)
{
  gsize t = d[0];
  uint32_t vocab = (uint32_t)d[1];
  float *logits = ra_probe_warm(r, t * vocab), *out = ra_probe_warm(r, 2 * t);
  RaCpuLogSum *sums = (RaCpuLogSum *)(void *)ra_probe_warm(r, 3 * t);
  const uint32_t *targets = ra_probe_numbers(r, t, vocab);

  if (back)
    make_anew(r, t * vocab, logits);
  begin(r);
  if (back) {
    r->backend->log_prob_backward(t, 0, vocab, targets, out, out + t,
                                  e(logits));
    end_look(r, t * vocab, logits);
  } else {
    r->backend->log_sum(t, 0, vocab, e(logits), targets, sums);
    r->backend->log_prob(t, 1, sums, out, out + t);
    end_look(r, t, out);
  }
}

/* With the copy of the logits that a step ends with. */
static void
sample(RaProbeRank *r, const uint64_t *d)
{
  const RaCpuSampling sampling = {1, 0, 1};
  uint32_t vocab = (uint32_t)d[1];
  float *logits = ra_probe_warm(r, d[0] * vocab);
  float *copy = ra_probe_warm(r, d[0] * vocab);
  float *workspace = ra_probe_warm(r, 2 * (gsize)vocab);

  begin(r);
  r->backend->copy_rect(d[0], vocab, e(logits), vocab, e(copy), vocab);
  for (gsize i = 0; i < d[0]; i++)
    r->backend->sample(vocab, copy + i * vocab, &sampling,
                       ((double)i + 0.5) / (double)d[0], workspace);
  end(r);
}

static void
loss(RaProbeRank *r, const uint64_t *d)
{
  gsize n = d[0];
  float *x = ra_probe_warm(r, 5 * n);
  RaCpuLoss sum = {0};

  begin(r);
  ra_cpu_policy_loss(n, x, x + n, x + 2 * n, x + 3 * n, 0.2f, 0.01f, 1,
                     x + 4 * n, &sum);
  end(r);
}

/* With the norm of the gradients and the zeros that the next sum begins with,
 * as in the executor. */
static void
optimizer(RaProbeRank *r, const uint64_t *d)
{
  const RaCpuAdamw adamw = {1e-3f, 0.9f, 0.999f, 1e-8f, 0.01f};
  gsize n = d[0];
  float *grad = ra_probe_sink(r, n), *weight = ra_probe_sink(r, n);
  float *first = ra_probe_sink(r, n), *second = ra_probe_sink(r, n);

  /* An iteration has passed since the last step: nothing is in any cache. */
  r->backend->sum_squares(RA_PROBE_POOL_FLOATS, r->sink);
  r->backend->sum_squares(RA_PROBE_POOL_FLOATS, r->pool);
  begin(r);
  r->backend->sum_squares(n, grad);
  r->backend->adamw(n, &adamw, 100, 1, grad, e(weight), weight, first, second);
  memset(grad, 0, n * sizeof *grad);
  end(r);
}

static void
copy(RaProbeRank *r, const uint64_t *d)
{
  gsize n = MIN(d[0], RA_PROBE_POOL_FLOATS * sizeof(float));
  const float *from = ra_probe_cold(r, n / sizeof(float));
  float *to = ra_probe_sink(r, n / sizeof(float));

  begin(r);
  for (gsize left = d[0]; left > 0; left -= MIN(left, n))
    memcpy(to, from, MIN(left, n));
  end(r);
}

void
ra_probe_compute(RaProbeRank *r)
{
  const uint64_t *d = r->point->op.dim;

  switch ((RaOpKind)r->point->op.kind) {
  case RA_OP_GEMM:
    gemm(r, d);
    break;
  case RA_OP_ATTENTION:
  case RA_OP_ATTENTION_BACKWARD:
    attention(r, d, r->point->op.kind == RA_OP_ATTENTION_BACKWARD);
    break;
  case RA_OP_DECODE_ATTENTION:
    decode_attention(r, d);
    break;
  case RA_OP_NORM:
  case RA_OP_NORM_BACKWARD:
    norm(r, d, r->point->op.kind == RA_OP_NORM_BACKWARD);
    break;
  case RA_OP_ROPE:
    rope(r, d);
    break;
  case RA_OP_ACTIVATION:
  case RA_OP_ACTIVATION_BACKWARD:
    activation(r, d, r->point->op.kind == RA_OP_ACTIVATION_BACKWARD);
    break;
  case RA_OP_ADD:
    add(r, d);
    break;
  case RA_OP_EMBEDDING:
  case RA_OP_EMBEDDING_BACKWARD:
    embedding(r, d, r->point->op.kind == RA_OP_EMBEDDING_BACKWARD);
    break;
  case RA_OP_CROSS_ENTROPY:
  case RA_OP_CROSS_ENTROPY_BACKWARD:
    cross_entropy(r, d, r->point->op.kind == RA_OP_CROSS_ENTROPY_BACKWARD);
    break;
  case RA_OP_SAMPLE:
    sample(r, d);
    break;
  case RA_OP_LOSS:
    loss(r, d);
    break;
  case RA_OP_OPTIMIZER:
    optimizer(r, d);
    break;
  case RA_OP_OFFLOAD:
  case RA_OP_RELOAD:
    copy(r, d);
    break;
  default:
    g_assert_not_reached();
  }
}

/* A reallocation's way: packed, sent, received, unpacked, in slices. */
#define SLICE_FLOATS ((gsize)1 << 18)

static void
move(RaProbeRank *r, gsize n)
{
  float *packed = ra_probe_warm(r, SLICE_FLOATS);

  for (gsize left = n; left > 0 && r->rank < 2;
       left -= MIN(left, SLICE_FLOATS)) {
    gsize part = MIN(left, SLICE_FLOATS);
    float *at = ra_probe_cold(r, part);

    if (r->rank == 0)
      r->backend->copy_rect(1, part, e(at), part, e(packed), part);
    if (r->rank == 0 && r->comm->n_ranks > 1)
      r->comm->table->send(r->comm, 1, packed, part * sizeof *packed);
    if (r->rank == 1)
      r->comm->table->recv(r->comm, 0, packed, part * sizeof *packed);
    if (r->rank == 1 || r->comm->n_ranks == 1)
      r->backend->copy_rect(1, part, e(packed), part, e(at), part);
  }
}

void
ra_probe_communicate(RaProbeRank *r)
{
  RaComm *c = r->comm;
  const uint64_t *d = r->point->op.dim;
  gsize n = MAX(d[0] / sizeof(float), 1), share = MAX(n / c->n_ranks, 1);
  float *in = ra_probe_warm(r, n + c->n_ranks);
  float *out = ra_probe_warm(r, n + c->n_ranks);

  /* Ranks come from work that takes each its own time. */
  begin(r);
  switch ((RaOpKind)r->point->op.kind) {
  case RA_OP_ALL_REDUCE:
    ra_comm_all_reduce(c, RA_REDUCE_SUM, in, n);
    break;
  case RA_OP_REDUCE_SCATTER:
    c->table->reduce_scatter(c, in, out, share);
    break;
  case RA_OP_ALL_GATHER:
    c->table->all_gather(c, in, out, share * sizeof *in);
    break;
  case RA_OP_ALL_TO_ALL:
    c->table->all_to_all(c, in, out, share * sizeof *in);
    break;
  case RA_OP_BROADCAST:
    c->table->broadcast(c, 0, in, n * sizeof *in);
    break;
  case RA_OP_SEND:
    if (c->rank == 0 && c->n_ranks > 1)
      c->table->send(c, 1, in, n * sizeof *in);
    else if (c->rank == 1)
      c->table->recv(c, 0, in, n * sizeof *in);
    break;
  case RA_OP_REALLOC:
    move(r, n);
    break;
  default:
    g_assert_not_reached();
  }
  end(r);
  /* Sums must not grow without end. */
  for (gsize i = 0; r->point->op.kind == RA_OP_ALL_REDUCE && i < n; i++)
    in[i] /= (float)c->n_ranks;
}
