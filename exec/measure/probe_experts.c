/* Ops of experts, as a probe runs them. */
#include "config.h"

#include "exec/measure/probe_impl.h"

/* Rows spread over so many where an op does not say. */
#define EXPERTS 64

/* Choices of tokens: words in device memory, owned. */
typedef struct {
  RaCpuRouting routing;
  uint32_t *choice, *place; /* (tokens, top_k) */
  uint32_t *counts;         /* (n_experts) */
} Routed;

static Routed
routed_new(const RaProbeRank *r, gsize t, gsize n_experts, gsize top_k)
{
  const RaBackend *b = r->backend;
  gsize n = t * top_k;

  return (Routed){
      .routing = {.n_experts = (uint32_t)n_experts, .top_k = (uint32_t)top_k},
      .choice = b->alloc(n * sizeof(uint32_t)),
      .place = b->alloc(n * sizeof(uint32_t)),
      .counts = b->alloc(n_experts * sizeof(uint32_t))};
}

static void
routed_clear(const RaProbeRank *r, Routed *routed)
{
  r->backend->free(routed->choice);
  r->backend->free(routed->place);
  r->backend->free(routed->counts);
}

/* d: tokens, experts, chosen */
static void
route(RaProbeRank *r, const uint64_t *d)
{
  float *probs = ra_probe_warm_f32(r, d[0] * d[1]);
  float *gates = ra_probe_warm_f32(r, d[0] * d[2]);
  Routed routed = routed_new(r, d[0], d[1], d[2]);

  ra_probe_begin(r);
  r->backend->route(&routed.routing, d[0], probs, routed.choice, gates);
  ra_probe_stop(r);
  routed_clear(r, &routed);
  r->made = gates;
  r->n_made = d[0] * d[2];
  r->made_f32 = TRUE;
}

/* d: rows, width, copies: tokens to their rows, of variant input back. */
static void
permute(RaProbeRank *r, const uint64_t *d)
{
  gsize top_k = MAX(d[2], 1), t = d[0] / top_k, width = d[1];
  gboolean back = r->point->variant == RA_PROBE_INPUT;
  float *probs = ra_probe_warm_f32(r, t * EXPERTS);
  float *gates = ra_probe_warm_f32(r, t * top_k);
  RaElem *in = ra_probe_warm(r, (back ? t * top_k : t) * width);
  RaElem *out = ra_probe_out(r, (back ? t : t * top_k) * width);
  Routed routed = routed_new(r, t, EXPERTS, top_k);

  r->backend->route(&routed.routing, t, probs, routed.choice, gates);
  r->backend->place_rows(&routed.routing, t * top_k, routed.choice,
                         routed.counts, routed.place);
  ra_probe_begin(r);
  if (back)
    r->backend->collect_rows(&routed.routing, t, width, routed.place, in, gates,
                             FALSE, out);
  else
    r->backend->spread_rows(&routed.routing, t, width, routed.place, in, NULL,
                            out);
  ra_probe_stop(r);
  routed_clear(r, &routed);
  r->made = out;
  r->n_made = (back ? t : t * top_k) * width;
  r->made_f32 = FALSE;
}

/* d: rows of each, columns, terms, experts; of the gradient of the weights
 * their sides, rows of each, experts.  As many rows of each, which the host
 * knows. */
static void
multiply(RaProbeRank *r, const uint64_t *d)
{
  const RaBackend *b = r->backend;
  gboolean is_weight = r->point->variant == RA_PROBE_WEIGHT;
  gsize n = is_weight ? d[0] : d[1], k = is_weight ? d[1] : d[2];
  gsize each = is_weight ? d[2] : d[0], n_rows = each * d[3];
  g_autofree uint32_t *read = g_new(uint32_t, d[3]);
  uint32_t *counts = b->alloc(d[3] * sizeof *counts);
  RaExpertRows rows = {.n_experts = (uint32_t)d[3],
                       .n_rows = n_rows,
                       .counts = counts,
                       .read = read,
                       .is_read = TRUE};
  RaElem *x = ra_probe_warm(r, n_rows * (is_weight ? n : k));
  RaElem *other =
      is_weight ? ra_probe_warm(r, n_rows * k) : ra_probe_cold(r, d[3] * n * k);
  void *out = is_weight ? (void *)ra_probe_sink_f32(r, d[3] * n * k)
                        : ra_probe_out(r, n_rows * n);

  for (gsize i = 0; i < d[3]; i++)
    read[i] = (uint32_t)each;
  b->write(counts, read, d[3] * sizeof *counts);
  ra_probe_begin(r);
  b->gemm_experts(is_weight ? RA_EXPERTS_WEIGHT : RA_EXPERTS_OUTPUT, &rows, n,
                  k, x, other, out);
  ra_probe_stop(r);
  b->free(counts);
  r->made = out;
  r->n_made = is_weight ? d[3] * n * k : n_rows * n;
  r->made_f32 = is_weight;
}

void
ra_probe_experts(RaProbeRank *r, const uint64_t *d)
{
  if (r->point->op.kind == RA_OP_ROUTER)
    route(r, d);
  else if (r->point->op.kind == RA_OP_PERMUTE)
    permute(r, d);
  else
    multiply(r, d);
}
