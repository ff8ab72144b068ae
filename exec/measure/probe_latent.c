/* Latent attention, as a probe runs it: of a host, whose back end alone has
 * it. */
#include "config.h"

#include <math.h>

#include "exec/measure/probe_impl.h"
#include "graph/input/plan_batching.h"

/* Tokens of a page of the cache. */
#define PAGE RA_BATCHING_KV_BLOCK

/* d: sequences, q_tokens, kv_tokens, pairs, heads, key_dim, value_dim.  Keys
 * and values were made just before; for a backward pass, by the forward. */
static void
whole(RaProbeRank *r, const uint64_t *d, gboolean back)
{
  gsize t = d[1], q = d[4] * d[5], v = d[4] * d[6];
  g_autofree uint32_t *begins = g_new(uint32_t, d[0] + 1);
  RaCpuAttention shape = {.n_sequences = (uint32_t)d[0],
                          .begin = begins,
                          .q_heads = (uint32_t)d[4],
                          .kv_heads = (uint32_t)d[4],
                          .head_dim = (uint32_t)d[5],
                          .value_dim = (uint32_t)d[6],
                          .stride = q,
                          .v_stride = v};
  RaElem *of[3], *out, *d_of[3], *d_out;
  float *lse, *workspace;

  for (uint32_t i = 0; i <= d[0]; i++)
    begins[i] = (uint32_t)(t * i / d[0]);
  workspace =
      ra_probe_warm_f32(r, r->backend->attention_workspace(&shape, back));
  for (guint i = 0; i < 3; i++)
    of[i] = back ? ra_probe_cold(r, t * (i < 2 ? q : v))
                 : ra_probe_warm(r, t * (i < 2 ? q : v));
  out = back ? ra_probe_cold(r, t * v) : ra_probe_out(r, t * v);
  lse = back ? ra_probe_cold_f32(r, t * d[4]) : ra_probe_out_f32(r, t * d[4]);
  if (!back) {
    ra_probe_begin(r);
    r->backend->attention(&shape, of[0], of[1], of[2], out, lse, workspace);
    ra_probe_end_look(r, t * v, out);
    return;
  }
  d_out = ra_probe_cold(r, t * v);
  for (guint i = 0; i < 3; i++)
    d_of[i] = ra_probe_out(r, t * (i < 2 ? q : v));
  ra_probe_begin(r);
  r->backend->attention_backward(&shape, of[0], of[1], of[2], out, lse, d_out,
                                 d_of[0], d_of[1], d_of[2], workspace);
  ra_probe_end_look(r, t * q, d_of[0]);
}

/* d: sequences, q_tokens, kv_tokens, pairs, heads, rank, rope_dim.  The cache
 * of each sequence, latents and what rotates, comes from memory; its rows are
 * the keys and, in their first elements, the values. */
static void
decode(RaProbeRank *r, const uint64_t *d)
{
  gsize n = d[0], length = d[2] / n, cached = d[5] + d[6];
  gsize max_pages = (length + PAGE - 1) / PAGE;
  g_autofree uint32_t *pages = g_new(uint32_t, max_pages + 1);
  g_autofree RaElem **cache = g_new(RaElem *, n);
  RaElem *in = ra_probe_warm(r, n * d[4] * cached);
  RaElem *out = ra_probe_warm(r, n * d[4] * d[5]);
  const uint32_t lengths = (uint32_t)length;
  const RaDecode shape = {.n = 1,
                          .pages = pages,
                          .lengths = &lengths,
                          .max_pages = (uint32_t)max_pages,
                          .page_tokens = PAGE,
                          .page_rows = PAGE,
                          .q_heads = (uint32_t)d[4],
                          .kv_heads = 1,
                          .head_dim = (uint32_t)cached,
                          .value_dim = (uint32_t)d[5],
                          .scale = (float)(1 / sqrt((double)cached)),
                          .stride = d[4] * cached};
  float *workspace = ra_probe_warm_f32(r, r->backend->decode_workspace(&shape));

  for (gsize i = 0; i < max_pages; i++)
    pages[i] = (uint32_t)i;
  for (gsize i = 0; i < n; i++)
    cache[i] = ra_probe_cold(r, max_pages * PAGE * cached);
  ra_probe_begin(r);
  for (gsize i = 0; i < n; i++)
    r->backend->decode_attention(
        &shape, ra_elem_at(r->backend, in, i * d[4] * cached), cache[i],
        cache[i], ra_elem_at(r->backend, out, i * d[4] * d[5]), workspace);
  ra_probe_end_look(r, n * d[4] * d[5], out);
}

void
ra_probe_latent(RaProbeRank *r, const uint64_t *d)
{
  if (r->point->op.kind == RA_OP_LATENT_DECODE)
    decode(r, d);
  else
    whole(r, d, r->point->op.kind == RA_OP_LATENT_BACKWARD);
}
