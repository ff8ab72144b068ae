/* The laws of attention over whole sequences and of its gradient. */
#include "config.h"

#include "estimator/attention.h"
#include "estimator/flash.h"
#include "estimator/resolve.h"

/* Names of dim[] of the attention ops. */
enum { SEQUENCES, Q_TOKENS, KV_TOKENS, PAIRS, Q_HEADS, KV_HEADS, HEAD_DIM };

gboolean
ra_attention_law_init(RaAttentionLaw *law, const RaProfile *profile,
                      const RaDevice *device, const char *name, GError **error)
{
  double peak = device->bf16_flop_per_s;
  RaResolver r;

  ra_resolver_init(&r, profile, name, error);
  law->sms = ra_resolve(&r, "sms");
  law->flash = (guint)ra_resolve(&r, "flash");
  law->floor_s = ra_resolve(&r, "floor-s");
  if (g_str_has_suffix(name, ".fp8"))
    peak = MAX(peak, device->fp8_flop_per_s);
  law->s_per_flop = ra_rate_s(peak * ra_resolve(&r, "peak-frac"));
  law->head_dim_half = ra_resolve(&r, "head-dim-half");
  law->tile_s = ra_resolve(&r, "tile-s");
  law->row_s = ra_resolve(&r, "row-s");
  law->lone_ratio = ra_resolve(&r, "lone-frac");
  law->s_per_byte =
      ra_rate_s(device->memory_bytes_per_s * ra_resolve(&r, "bandwidth-frac"));
  if (!ra_resolver_ok(&r))
    return FALSE;
  ra_resolver_init(&r, profile, "attention-backward", error);
  law->backward_ratio = ra_rate_s(ra_resolve(&r, "efficiency-frac"));
  return ra_resolver_ok(&r) &&
         ra_residual_init(&law->residual, profile, name, error) &&
         ra_residual_init(&law->backward_residual, profile,
                          "attention-backward", error);
}

/* The forward without its floor; 0 without work. */
static double
forward_s(const RaAttentionLaw *law, const RaOp *op)
{
  const uint64_t *d = op->dim;
  double q_tokens = (double)d[Q_TOKENS], head_dim = (double)d[HEAD_DIM];
  double q_heads = (double)d[Q_HEADS];
  /* 4 head_dim / (rate's share of head_dim): the width cancels. */
  double s_per_pair = 4 * (head_dim + law->head_dim_half) * law->s_per_flop;
  double elements =
      2 * head_dim *
      (q_tokens * q_heads + (double)d[KV_TOKENS] * (double)d[KV_HEADS]);
  double memory_s = ra_dtype_bytes(op->dtype) * elements * law->s_per_byte;
  double start_s, work_s, chain_s = 0, parts_s = 0, twice, edge, keys;
  RaFlash cut;

  ra_flash_cut(law->flash, law->sms, op, &cut);
  start_s = law->tile_s + cut.tile_rows * law->row_s;
  twice = 2 * (double)d[PAIRS] / q_tokens;
  edge = law->flash > 0 ? CLAMP(cut.n_keys - twice, 0, RA_FLASH_KEYS / 2) : 0;
  work_s = cut.n_rows * ((double)d[PAIRS] / q_tokens + edge) * s_per_pair +
           cut.n_tiles * start_s / law->sms;
  keys = MIN(cut.n_keys / cut.n_splits, twice + RA_FLASH_KEYS);
  if (law->flash > 0)
    chain_s = start_s +
              law->lone_ratio * cut.tile_rows * keys * law->sms * s_per_pair;
  if (cut.n_splits > 1)
    parts_s = 2 * sizeof(float) * cut.n_splits * q_tokens * q_heads *
              (head_dim + 1) * law->s_per_byte;
  return parts_s + MAX(MAX(work_s, chain_s), memory_s);
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
