#include "config.h"

#include "estimator/attention.h"
#include "estimator/resolve.h"

/* Names of dim[] of the attention ops. */
enum { SEQUENCES, Q_TOKENS, KV_TOKENS, PAIRS, Q_HEADS, KV_HEADS, HEAD_DIM };

gboolean
ra_attention_law_init(RaAttentionLaw *law, const RaProfile *profile,
                      const RaDevice *device, GError **error)
{
  RaResolver r;

  ra_resolver_init(&r, profile, "attention", error);
  law->floor_s = ra_resolve(&r, "floor-s");
  law->s_per_flop =
      ra_rate_s(device->bf16_flop_per_s * ra_resolve(&r, "peak-frac"));
  law->sms = ra_resolve(&r, "sms");
  law->ramp_tokens = ra_resolve(&r, "ramp-tokens");
  law->head_dim_half = ra_resolve(&r, "head-dim-half");
  law->tile_tokens = ra_resolve(&r, "tile-tokens");
  law->s_per_byte =
      ra_rate_s(device->memory_bytes_per_s * ra_resolve(&r, "bandwidth-frac"));
  law->head_s = ra_resolve(&r, "head-s");
  if (!ra_resolver_ok(&r))
    return FALSE;
  ra_resolver_init(&r, profile, "attention-backward", error);
  law->backward_ratio = ra_rate_s(ra_resolve(&r, "efficiency-frac"));
  return ra_resolver_ok(&r);
}

gboolean
ra_decode_attention_law_init(RaDecodeAttentionLaw *law,
                             const RaProfile *profile, const RaDevice *device,
                             GError **error)
{
  RaResolver r;

  ra_resolver_init(&r, profile, "decode-attention", error);
  law->floor_s = ra_resolve(&r, "floor-s");
  law->base_s = ra_resolve(&r, "base-s");
  law->head_s = ra_resolve(&r, "head-s");
  law->sequence_s = ra_resolve(&r, "sequence-s");
  law->s_per_byte =
      ra_rate_s(device->memory_bytes_per_s * ra_resolve(&r, "bandwidth-frac"));
  return ra_resolver_ok(&r);
}

/* The forward without its floor; 0 without work. */
static double
forward_s(const RaAttentionLaw *law, const RaOp *op)
{
  const uint64_t *d = op->dim;
  double sequences = (double)d[SEQUENCES], q_tokens = (double)d[Q_TOKENS];
  double q_heads = (double)d[Q_HEADS], head_dim = (double)d[HEAD_DIM];
  /* 4 head_dim / (rate's share of head_dim): the width cancels. */
  double s_per_pair = 4 * (head_dim + law->head_dim_half) * law->s_per_flop;
  double work_s =
      ((double)d[PAIRS] + q_tokens * law->ramp_tokens) * q_heads * s_per_pair;
  double tile_s = law->tile_tokens *
                  ((double)d[KV_TOKENS] / sequences + law->ramp_tokens) *
                  law->sms * s_per_pair;
  double elements =
      2 * head_dim *
      (q_tokens * q_heads + (double)d[KV_TOKENS] * (double)d[KV_HEADS]);
  double memory_s = ra_dtype_bytes(op->dtype) * elements * law->s_per_byte +
                    sequences * q_heads * law->head_s;

  return MAX(MAX(work_s, tile_s), memory_s);
}

static gboolean
is_idle(const RaOp *op)
{
  return op->dim[SEQUENCES] == 0 || op->dim[Q_TOKENS] == 0 ||
         op->dim[Q_HEADS] == 0 || op->dim[HEAD_DIM] == 0;
}

double
ra_attention_s(const RaAttentionLaw *law, const RaOp *op)
{
  return is_idle(op) ? 0 : law->floor_s + forward_s(law, op);
}

double
ra_attention_backward_s(const RaAttentionLaw *law, const RaOp *op)
{
  return is_idle(op)
             ? 0
             : law->floor_s + forward_s(law, op) * 2.5 * law->backward_ratio;
}

/* Seconds for each token of the cache, on the sloped line. */
static double
s_per_token(const RaDecodeAttentionLaw *law, const RaOp *op)
{
  return 2.0 * (double)op->dim[KV_HEADS] * (double)op->dim[HEAD_DIM] *
         ra_dtype_bytes(op->dtype) * law->s_per_byte;
}

double
ra_decode_attention_s(const RaDecodeAttentionLaw *law, const RaOp *op)
{
  const uint64_t *d = op->dim;
  double grows_s = law->base_s + (double)d[KV_TOKENS] * s_per_token(law, op);

  if (is_idle(op))
    return 0;
  return (double)d[SEQUENCES] *
             ((double)d[Q_HEADS] * law->head_s + law->sequence_s) +
         MAX(law->floor_s, grows_s);
}

double
ra_decode_attention_line(const RaDecodeAttentionLaw *law, const RaOp *op,
                         uint64_t *out_until_tokens)
{
  double slope = s_per_token(law, op);
  double knot_tokens = slope > 0 ? (law->floor_s - law->base_s) / slope : 0;

  *out_until_tokens = UINT64_MAX;
  if (is_idle(op))
    return 0;
  /* At the knot itself the next token already costs the slope. */
  if ((double)op->dim[KV_TOKENS] >= knot_tokens)
    return slope;
  if (knot_tokens < 0x1p63)
    *out_until_tokens = (uint64_t)knot_tokens;
  return 0;
}
