#include "config.h"

#include "exec/comm.h"

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

void
ra_comm_free(RaComm *comm)
{
  if (comm)
    comm->table->free(comm);
}
