/* Functions for any communicator, by its table. */
#include "config.h"

#include "exec/comm/comm.h"

void
ra_comm_all_reduce(RaComm *comm, RaReduce reduce, float *data, gsize n)
{
  if (comm && comm->n_ranks > 1)
    comm->table->all_reduce(comm, reduce, data, n);
}

void
ra_comm_barrier(RaComm *comm)
{
  if (comm && comm->n_ranks > 1)
    comm->table->barrier(comm);
}

/* No send waits, so all sends first; then broadcasts in their order. */
static void
exchange(const RaCommPart *parts, guint n)
{
  for (guint i = 0; i < n; i++)
    if (parts[i].kind == RA_PART_SEND)
      parts[i].comm->table->send(parts[i].comm, parts[i].peer, parts[i].data,
                                 parts[i].n_bytes);
  for (guint i = 0; i < n; i++)
    if (parts[i].kind == RA_PART_BROADCAST)
      parts[i].comm->table->broadcast(parts[i].comm, parts[i].peer,
                                      parts[i].data, parts[i].n_bytes);
  for (guint i = 0; i < n; i++)
    if (parts[i].kind == RA_PART_RECV)
      parts[i].comm->table->recv(parts[i].comm, parts[i].peer, parts[i].data,
                                 parts[i].n_bytes);
}

void
ra_comm_exchange(const RaCommPart *parts, guint n)
{
  if (n > 0 && parts[0].comm->table->exchange)
    parts[0].comm->table->exchange(parts, n);
  else
    exchange(parts, n);
}

void
ra_comm_free(RaComm *comm)
{
  if (comm)
    comm->table->free(comm);
}
