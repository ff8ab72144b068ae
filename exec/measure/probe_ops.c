/* The ops of a probe; each runs as in the executor. */
#include "config.h"

#include "exec/measure/probe_impl.h"
#include "kernels/cpu/cpu_pointwise.h"
#include "kernels/cpu/cpu_policy.h"

gboolean
ra_probe_has(RaOpKind kind, gboolean on_host)
{
  switch (kind) {
  case RA_OP_LATENT:
  case RA_OP_LATENT_BACKWARD:
  case RA_OP_LATENT_DECODE:
    return on_host;
  case RA_OP_ATTENTION_CORE:
  case RA_OP_ATTENTION_CORE_BACKWARD:
  case RA_OP_HOST:
  case RA_OP_INDEXER: /* no back end runs the mixers of these models */
  case RA_OP_COMPRESSED:
  case RA_OP_COMPRESSED_BACKWARD:
  case RA_OP_CONV:
  case RA_OP_CONV_BACKWARD:
  case RA_OP_SCAN:
  case RA_OP_SCAN_BACKWARD:
  case RA_OP_SCAN_STEP:
  case RA_OP_CAST:    /* nor their casts to 8 bits */
  case RA_OP_EXPERTS: /* measured as its parts */
  case RA_OP_EXPERTS_BACKWARD:
  case RA_N_OPS:
    return FALSE;
  default:
    return TRUE;
  }
}

/* A GEMM came before: its weights, 1 MiB and more, have gone through the core's
 * cache and evicted part of the inputs. */
#define PASSED_FLOATS ((gsize)1 << 18)

void
ra_probe_begin(RaProbeRank *r)
{
  if (r->machine->flush) {
    r->machine->flush();
    ra_probe_warm_up(r);
  } else {
    ra_probe_read_floats(r, PASSED_FLOATS, ra_probe_cold_f32(r, PASSED_FLOATS));
  }
  ra_probe_start(r);
}

/* Between two GEMMs there is always another op, whose output is in the
 * cache. */
static void
begin_product(RaProbeRank *r)
{
  if (r->machine->flush)
    ra_probe_begin(r);
  else
    ra_probe_start(r);
}

static void
made(RaProbeRank *r, gsize n, gconstpointer what, gboolean f32)
{
  r->made = what;
  r->n_made = n;
  r->made_f32 = f32;
}

/* As the executor ends an op: on a host it looks whether the @n elements that
 * it @made are finite; on a device not at every op. */
void
ra_probe_end_look(RaProbeRank *r, gsize n, const RaElem *what)
{
  if (r->backend->is_host)
    r->backend->is_finite(n, what);
  ra_probe_stop(r);
  made(r, n, what, FALSE);
}

static void
end_look_f32(RaProbeRank *r, gsize n, const float *what)
{
  if (r->backend->is_host)
    r->backend->is_finite_f32(n, what);
  ra_probe_stop(r);
  made(r, n, what, TRUE);
}

/* @x as the op before has written it, whatever a repeat made of it. */
static void
make_anew(const RaProbeRank *r, gsize n, RaElem *x)
{
  r->backend->copy(x, r->pool, n * r->backend->elem_bytes);
}

static RaElem *
at(const RaProbeRank *r, RaElem *x, gsize i)
{
  return ra_elem_at(r->backend, x, i);
}

/* A step of generation has few rows, and its layers write to one place. */
#define FEW_ROWS 64

static RaElem *
output(RaProbeRank *r, gsize rows, gsize n)
{
  return rows < FEW_ROWS && !r->machine->flush ? ra_probe_warm(r, rows * n)
                                               : ra_probe_out(r, rows * n);
}

static void
gemm_weight(RaProbeRank *r, gsize m, gsize n, gsize k)
{
  const RaElem *x = ra_probe_cold(r, k * n), *y = ra_probe_warm(r, k * m);
  float *weight = ra_probe_sink_f32(r, m * n);

  begin_product(r);
  r->backend->gemm_f32(RA_CPU_TRANSPOSED, RA_CPU_PLAIN, m, n, k, y, m, x, n, 1,
                       weight, n);
  end_look_f32(r, m * n, weight);
}

/* A value head has floats. */
static void
gemm_values(RaProbeRank *r, gsize m, gsize k)
{
  const RaElem *x = ra_probe_warm(r, m * k), *weight;
  float *y = m < FEW_ROWS && !r->machine->flush ? ra_probe_warm_f32(r, m)
                                                : ra_probe_out_f32(r, m);

  weight = ra_probe_cold(r, k);
  begin_product(r);
  r->backend->gemm_f32(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, m, 1, k, x, k, weight,
                       k, 0, y, 1);
  end_look_f32(r, m, y);
}

/* The weight comes from memory; its input, or the gradient of its output, was
 * made just before. */
static void
gemm(RaProbeRank *r, const uint64_t *d)
{
  gsize m = d[0], n = d[1], k = d[2];
  const RaElem *x, *weight;
  RaElem *y;

  if (r->point->variant == RA_PROBE_WEIGHT) {
    gemm_weight(r, m, n, k);
    return;
  }
  if (r->point->variant == RA_PROBE_FORWARD && n == 1) {
    gemm_values(r, m, k);
    return;
  }
  x = ra_probe_warm(r, m * k);
  y = output(r, m, n);
  weight = ra_probe_cold(r, n * k);
  begin_product(r);
  if (r->point->variant == RA_PROBE_INPUT)
    r->backend->gemm(RA_CPU_PLAIN, RA_CPU_PLAIN, m, n, k, x, k, weight, n, 0, y,
                     n);
  else
    r->backend->gemm(RA_CPU_PLAIN, RA_CPU_TRANSPOSED, m, n, k, x, k, weight, k,
                     0, y, n);
  ra_probe_end_look(r, m * n, y);
}

/* The GEMM before the last made the inputs of the backward passes of attention,
 * norms and activations.  The gradient of its weights has gone through the
 * caches since (exec/model/stage_layer.c), so these inputs come from memory. */

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
  RaElem *qkv, *out, *d_out, *d_qkv;
  float *lse, *workspace;

  for (uint32_t i = 0; i <= d[0]; i++)
    begins[i] = (uint32_t)(t * i / d[0]);
  workspace =
      ra_probe_warm_f32(r, r->backend->attention_workspace(&shape, back));
  if (!back) {
    qkv = ra_probe_warm(r, t * stride);
    out = ra_probe_out(r, t * q);
    lse = ra_probe_out_f32(r, t * d[4]);
    ra_probe_begin(r);
    r->backend->attention(&shape, qkv, at(r, qkv, q), at(r, qkv, q + kv), out,
                          lse, workspace);
    ra_probe_end_look(r, t * q, out);
    return;
  }
  qkv = ra_probe_cold(r, t * stride);
  out = ra_probe_cold(r, t * q);
  lse = ra_probe_cold_f32(r, t * d[4]);
  d_out = ra_probe_cold(r, t * q);
  d_qkv = ra_probe_out(r, t * stride);
  ra_probe_begin(r);
  r->backend->attention_backward(&shape, qkv, at(r, qkv, q), at(r, qkv, q + kv),
                                 out, lse, d_out, d_qkv, at(r, d_qkv, q),
                                 at(r, d_qkv, q + kv), workspace);
  ra_probe_end_look(r, t * stride, d_qkv);
}

static void
norm(RaProbeRank *r, const uint64_t *d, gboolean back)
{
  gsize t = d[0], n = d[1];
  RaElem *x = back ? ra_probe_cold(r, t * n) : ra_probe_warm(r, t * n);
  RaElem *out = back ? ra_probe_sink(r, t * n) : output(r, t, n);
  float *inv = ra_probe_sink_f32(r, t);
  RaElem *weight = ra_probe_cold(r, n);
  float *d_weight = ra_probe_sink_f32(r, n);

  ra_probe_begin(r);
  if (back)
    r->backend->norm_backward(t, n, 1e-5f, x, weight, inv, out, out, d_weight);
  else
    r->backend->norm(t, n, 1e-5f, x, weight, out, inv);
  ra_probe_end_look(r, t * n, out);
}

/* Half as many values as keys and queries lie between tokens where two queries
 * share a key. */
static void
rope(RaProbeRank *r, const uint64_t *d)
{
  gsize t = d[0], stride = d[1] * d[2] * 4 / 3 / 8 * 8;
  uint32_t n_positions = 1024;
  /* A layer has passed since a position's row was read. */
  float *table = ra_probe_cold_f32(r, (gsize)n_positions * d[2]);
  RaElem *x = ra_probe_warm(r, t * stride);
  const uint32_t *positions = ra_probe_numbers(r, t, n_positions);

  make_anew(r, t * stride, x);
  if (r->backend->keep_words) /* as a step has done before its first */
    r->backend->keep_words(t, positions);
  ra_probe_begin(r);
  r->backend->rope(t, d[1], d[2], positions, table, 1, x, stride);
  ra_probe_stop(r);
  if (r->backend->keep_words)
    r->backend->keep_words(0, NULL);
  made(r, t * stride, x, FALSE);
}

static void
activation(RaProbeRank *r, const uint64_t *d, gboolean back)
{
  gsize n = d[0] * d[1];
  RaElem *gate_up = back ? ra_probe_cold(r, 2 * n) : ra_probe_warm(r, 2 * n);
  RaElem *out = back ? ra_probe_cold(r, n) : output(r, d[0], d[1]);
  RaElem *d_gate_up = back ? ra_probe_out(r, 2 * n) : NULL;

  ra_probe_begin(r);
  if (back)
    r->backend->swiglu_backward(d[0], d[1], gate_up, out, d_gate_up);
  else
    r->backend->swiglu(d[0], d[1], gate_up, out);
  if (back)
    ra_probe_end_look(r, 2 * n, d_gate_up);
  else
    ra_probe_end_look(r, n, out);
}

static void
add(RaProbeRank *r, const uint64_t *d)
{
  gsize n = d[0] * d[1];
  RaElem *x = ra_probe_cold(r, n), *y = ra_probe_warm(r, n);

  ra_probe_begin(r);
  r->backend->add(n, x, y);
  ra_probe_stop(r);
  /* It must not grow without end. */
  r->backend->zero(y, n * r->backend->elem_bytes);
}

static void
embedding(RaProbeRank *r, const uint64_t *d, gboolean back)
{
  uint32_t vocab = (uint32_t)d[2];
  RaElem *table = back ? NULL : ra_probe_cold(r, vocab * d[1]);
  float *d_table = back ? ra_probe_sink_f32(r, vocab * d[1]) : NULL;
  RaElem *out = back ? ra_probe_warm(r, d[0] * d[1]) : output(r, d[0], d[1]);
  const uint32_t *tokens = ra_probe_numbers(r, d[0], vocab);

  ra_probe_begin(r);
  if (back) {
    r->backend->embedding_backward(d[0], d[1], 0, vocab, tokens, out, d_table);
    ra_probe_stop(r);
  } else {
    r->backend->embedding(d[0], d[1], 0, vocab, tokens, table, out);
    ra_probe_end_look(r, d[0] * d[1], out);
  }
}

static void
cross_entropy(RaProbeRank *r, const uint64_t *d, gboolean back)
{
  gsize t = d[0], row = ra_logits_row(d[1], r->backend->elem_bytes);
  uint32_t vocab = (uint32_t)d[1];
  RaElem *z = ra_probe_warm(r, t * row);
  float *out = ra_probe_warm_f32(r, 2 * t);
  RaCpuLogSum *sums = (RaCpuLogSum *)(void *)ra_probe_warm_f32(r, 3 * t);
  const uint32_t *targets = ra_probe_numbers(r, t, vocab);

  if (back)
    make_anew(r, t * row, z);
  ra_probe_begin(r);
  if (back) {
    r->backend->log_prob_backward(t, 0, vocab, row, targets, out, out + t, z);
    ra_probe_end_look(r, t * row, z);
  } else {
    r->backend->log_sum(t, 0, vocab, row, z, targets, sums);
    r->backend->log_prob(t, 1, sums, out, out + t);
    end_look_f32(r, t, out);
  }
}

/* On the host with the copy of the logits that its step ends with. */
static void
sample(RaProbeRank *r, const uint64_t *d)
{
  const RaCpuSampling sampling = {1, 0, 1};
  const RaBackend *b = r->backend;
  uint32_t vocab = (uint32_t)d[1];
  g_autofree double *uniforms = g_new(double, d[0]);
  g_autofree RaCpuSample *out = g_new(RaCpuSample, d[0]);
  RaElem *logits = ra_probe_warm(r, d[0] * vocab);
  RaElem *from =
      b->is_host ? ra_host_elems(ra_probe_host(r, d[0] * vocab)) : logits;

  for (gsize i = 0; i < d[0]; i++)
    uniforms[i] = ((double)i + 0.5) / (double)d[0];
  ra_probe_begin(r);
  if (from != logits)
    b->copy_rect(d[0], vocab, logits, vocab, from, vocab);
  b->sample(d[0], vocab, from, &sampling, uniforms, out);
  ra_probe_stop(r);
}

static void
loss(RaProbeRank *r, const uint64_t *d)
{
  gsize n = d[0];
  float *x = ra_probe_host(r, 5 * n);
  RaCpuLoss sum = {0};

  ra_probe_begin(r);
  ra_cpu_policy_loss(n, x, x + n, x + 2 * n, x + 3 * n, 0.2f, 0.01f, 1,
                     x + 4 * n, &sum);
  ra_probe_stop(r);
}

/* An iteration has passed since the last step: nothing is in any cache. */
static void
forget(RaProbeRank *r)
{
  gsize n = r->machine->pool_bytes / sizeof(float);

  if (r->machine->flush)
    return;
  ra_probe_read_floats(r, n, (float *)(gpointer)r->sink);
  ra_probe_read_floats(r, n, (float *)(gpointer)r->pool);
}

/* With the norm of the gradients and the zeros that the next sum begins with,
 * as in the executor. */
static void
optimizer(RaProbeRank *r, const uint64_t *d)
{
  const RaCpuAdamw adamw = {1e-3f, 0.9f, 0.999f, 1e-8f, 0.01f};
  gsize n = d[0];
  float *grad = ra_probe_sink_f32(r, n), *master = ra_probe_sink_f32(r, n);
  float *first = ra_probe_sink_f32(r, n), *second = ra_probe_sink_f32(r, n);
  const float *summed = grad;
  RaElem *weight = ra_host_elems(master);

  if (!r->backend->is_host) {
    weight = ra_probe_out(r, n);
    r->backend->zero(second, n * sizeof *second); /* it has no sign */
  }
  forget(r);
  ra_probe_begin(r);
  r->backend->sum_squares(1, &n, &summed);
  r->backend->adamw(n, &adamw, 100, 1, grad, weight, master, first, second);
  r->backend->zero(grad, n * sizeof *grad);
  ra_probe_stop(r);
  if (!r->backend->is_host)
    made(r, n, weight, FALSE);
}

/* Pinned memory and back; on the host from memory to memory. */
static void
copy(RaProbeRank *r, const uint64_t *d, gboolean back)
{
  gsize n = MIN(d[0], r->machine->pool_bytes);
  gsize n_elems = n / r->backend->elem_bytes;
  RaElem *from = ra_probe_cold(r, n_elems), *to = ra_probe_sink(r, n_elems);
  float *host =
      r->backend->is_host ? NULL : ra_probe_host(r, n / sizeof(float) + 1);

  ra_probe_begin(r);
  for (gsize left = d[0]; left > 0; left -= MIN(left, n)) {
    gsize part = MIN(left, n);

    if (back)
      r->backend->write(to, host ? (gpointer)host : from, part);
    else
      r->backend->read(host ? (gpointer)host : to, from, part);
  }
  ra_probe_stop(r);
}

void
ra_probe_compute(RaProbeRank *r)
{
  const uint64_t *d = r->point->op.dim;

  switch ((RaOpKind)r->point->op.kind) {
  case RA_OP_GEMM:
    (d[3] > 1 ? ra_probe_experts : gemm)(r, d);
    break;
  case RA_OP_ROUTER:
  case RA_OP_PERMUTE:
    ra_probe_experts(r, d);
    break;
  case RA_OP_ATTENTION:
  case RA_OP_ATTENTION_BACKWARD:
    attention(r, d, r->point->op.kind == RA_OP_ATTENTION_BACKWARD);
    break;
  case RA_OP_DECODE_ATTENTION:
    ra_probe_decode_attention(r, d);
    break;
  case RA_OP_LATENT:
  case RA_OP_LATENT_BACKWARD:
  case RA_OP_LATENT_DECODE:
    ra_probe_latent(r, d);
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
    copy(r, d, r->point->op.kind == RA_OP_RELOAD);
    break;
  default:
    g_assert_not_reached();
  }
}
