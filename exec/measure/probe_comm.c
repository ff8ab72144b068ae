/* Collectives of a probe; each runs as in the executor. */
#include "config.h"

#include "exec/measure/probe_impl.h"

/* A reallocation's way: packed, sent, received, unpacked, in slices. */
#define SLICE_FLOATS ((gsize)1 << 18)

static void
move(RaProbeRank *r, gsize n)
{
  RaElem *packed = ra_probe_warm(r, SLICE_FLOATS);

  for (gsize left = n; left > 0 && r->rank < 2;
       left -= MIN(left, SLICE_FLOATS)) {
    gsize part = MIN(left, SLICE_FLOATS);
    gsize n_bytes = part * r->backend->elem_bytes;
    RaElem *place = ra_probe_cold(r, part);

    if (r->rank == 0)
      r->backend->copy_rect(1, part, place, part, packed, part);
    if (r->rank == 0 && r->comm->n_ranks > 1)
      r->comm->table->send(r->comm, 1, packed, n_bytes);
    if (r->rank == 1)
      r->comm->table->recv(r->comm, 0, packed, n_bytes);
    if (r->rank == 1 || r->comm->n_ranks == 1)
      r->backend->copy_rect(1, part, packed, part, place, part);
  }
}

void
ra_probe_communicate(RaProbeRank *r)
{
  RaComm *c = r->comm;
  const uint64_t *d = r->point->op.dim;
  gsize n = MAX(d[0] / sizeof(float), 1), share = MAX(n / c->n_ranks, 1);
  float *in = ra_probe_warm_f32(r, n + c->n_ranks);
  float *out = ra_probe_warm_f32(r, n + c->n_ranks);

  /* Ranks come from work that takes each its own time. */
  ra_probe_begin(r);
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
  ra_probe_stop(r);
  /* Sums must not grow without end. */
  for (gsize i = 0; r->point->op.kind == RA_OP_ALL_REDUCE && i < n; i++)
    in[i] /= (float)c->n_ranks;
}
