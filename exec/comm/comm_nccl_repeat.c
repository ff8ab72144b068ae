/* One operation repeatedly, for measurements. */
#include "config.h"

#include "exec/comm/nccl_impl.h"

#define ELEM_BYTES 2 /* bf16 */

static int
start_all_to_all(RaNcclEnd *e, const char *in, char *out, gsize part)
{
  const RaNcclApi *api = e->nccl->options.api;
  int result = api->group_start();

  for (uint32_t r = 0; r < e->comm.n_ranks && result == RA_NCCL_OK; r++) {
    result = api->send(in + r * part, part, r, e->handle, e->stream);
    if (result == RA_NCCL_OK)
      result = api->recv(out + r * part, part, r, e->handle, e->stream);
  }
  return result == RA_NCCL_OK ? api->group_end() : result;
}

static int
start(RaNcclEnd *e, RaOpKind kind, const void *in, void *out, gsize n_bytes)
{
  const RaNcclApi *api = e->nccl->options.api;
  gsize part = n_bytes / e->comm.n_ranks;

  switch (kind) {
  case RA_OP_ALL_REDUCE:
    return api->all_reduce(in, out, n_bytes / ELEM_BYTES, RA_COMM_BF16,
                           RA_REDUCE_SUM, e->handle, e->stream);
  case RA_OP_REDUCE_SCATTER:
    return api->reduce_scatter(in, out, part / ELEM_BYTES, RA_COMM_BF16,
                               e->handle, e->stream);
  case RA_OP_ALL_GATHER:
    return api->all_gather(in, out, part, e->handle, e->stream);
  case RA_OP_ALL_TO_ALL:
    return start_all_to_all(e, in, out, part);
  case RA_OP_BROADCAST:
    return api->broadcast(out, n_bytes, 0, e->handle, e->stream);
  default:
    return e->comm.rank == 0 ? api->send(in, n_bytes, 1, e->handle, e->stream)
                             : api->recv(out, n_bytes, 0, e->handle, e->stream);
  }
}

gsize
ra_nccl_unit(RaOpKind kind, uint32_t n_ranks)
{
  switch (kind) {
  case RA_OP_ALL_REDUCE:
    return ELEM_BYTES;
  case RA_OP_REDUCE_SCATTER:
    return (gsize)ELEM_BYTES * n_ranks;
  case RA_OP_ALL_GATHER:
  case RA_OP_ALL_TO_ALL:
    return n_ranks;
  default:
    return 1;
  }
}

void
ra_nccl_repeat_start(RaComm *comm, RaOpKind kind, const void *in, void *out,
                     gsize n_bytes, guint n)
{
  RaNcclEnd *e = (RaNcclEnd *)comm;

  for (guint i = 0; i < n; i++)
    ra_nccl_check(e, start(e, kind, in, out, n_bytes), "a measurement");
}

void
ra_nccl_repeat_wait(RaComm *comm)
{
  ra_nccl_drain((RaNcclEnd *)comm, "a measurement");
}

void
ra_nccl_repeat(RaComm *comm, RaOpKind kind, const void *in, void *out,
               gsize n_bytes, guint n)
{
  ra_nccl_repeat_start(comm, kind, in, out, n_bytes, n);
  ra_nccl_repeat_wait(comm);
}
