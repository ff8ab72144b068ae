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
  return ra_resolver_ok(&r) &&
         ra_residual_init(&law->residual, profile, "attention", error) &&
         ra_residual_init(&law->backward_residual, profile,
                          "attention-backward", error);
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
  return is_idle(op) ? 0
                     : (law->floor_s + forward_s(law, op)) *
                           ra_residual_factor(&law->residual, op);
}

double
ra_attention_backward_s(const RaAttentionLaw *law, const RaOp *op)
{
  double grows_s = ra_attention_s(law, op) - law->floor_s;

  return is_idle(op)
             ? 0
             : (law->floor_s + MAX(grows_s, 0) * 2.5 * law->backward_ratio) *
                   ra_residual_factor(&law->backward_residual, op);
}
