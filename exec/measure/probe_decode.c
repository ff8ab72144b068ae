/* Attention of a decode step, as a probe runs it. */
#include "config.h"

#include "exec/measure/probe_impl.h"
#include "graph/input/plan_batching.h"

/* Pages of this many tokens. */
#define PAGE RA_BATCHING_KV_BLOCK

/* Keys and values of each sequence are separate, with room for as many more.  A
 * device has all of them at once and gets their addresses; the new ones are
 * stored by the op before (RaBackend.rope_rows). */
void
ra_probe_decode_attention(RaProbeRank *r, const uint64_t *d)
{
  gsize n = d[0], q = d[4] * d[6], kv = d[5] * d[6], length = d[2] / n;
  gsize calls = r->backend->is_host ? n : 1, each = n / calls;
  gsize room = r->backend->is_host ? length : 2 * length;
  gsize max_pages = (room + PAGE - 1) / PAGE;
  RaElem *in = ra_probe_warm(r, n * (q + 2 * kv));
  RaElem *out =
      r->backend->is_host ? ra_probe_warm(r, n * q) : ra_probe_out(r, n * q);
  gsize n_words = (1 + max_pages) * each;
  g_autofree uint32_t *lengths = g_new(uint32_t, n_words + 1); /* kept */
  uint32_t *pages = lengths + each;
  const RaDecode shape = {.n = (uint32_t)each,
                          .pages = pages,
                          .lengths = lengths,
                          .max_pages = (uint32_t)max_pages,
                          .page_tokens = PAGE,
                          .page_rows = PAGE,
                          .q_heads = (uint32_t)d[4],
                          .kv_heads = (uint32_t)d[5],
                          .head_dim = (uint32_t)d[6],
                          .stride = q + 2 * kv};
  g_autofree RaElem **cache = g_new(RaElem *, 2 * calls); /* k, v of each */
  float *workspace;

  for (gsize i = 0; i < each; i++)
    lengths[i] = (uint32_t)length;
  for (gsize i = 0; i < each * max_pages; i++)
    pages[i] = (uint32_t)i;
  workspace = ra_probe_warm_f32(r, r->backend->decode_workspace(&shape));
  for (gsize i = 0; i < 2 * calls; i++)
    cache[i] = ra_probe_cold(r, each * max_pages * PAGE * kv);
  if (r->backend->keep_words)
    r->backend->keep_words(n_words, lengths);
  ra_probe_begin(r);
  for (gsize i = 0; i < calls; i++)
    r->backend->decode_attention(
        &shape, ra_elem_at(r->backend, in, i * (q + 2 * kv)), cache[2 * i],
        cache[2 * i + 1], ra_elem_at(r->backend, out, i * q), workspace);
  ra_probe_end_look(r, n * q, out);
  if (r->backend->keep_words)
    r->backend->keep_words(0, NULL);
}
