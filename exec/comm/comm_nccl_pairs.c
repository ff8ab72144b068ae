/* Pairs of pipeline neighbours: messages that start at once. */
#include "config.h"

#include "exec/comm/nccl_impl.h"

typedef struct {
  RaComm comm;
  RaNcclEnd **to, **from; /* (n_ranks) NULL: no pair; owned */
} Pairs;

static RaNcclEnd *
end_to(RaComm *comm, uint32_t to)
{
  RaNcclEnd *e = ((Pairs *)comm)->to[to];

  g_assert(e);
  return e;
}

/* The pair's stream has what goes this way alone. */
static void
send_message(RaComm *comm, uint32_t to, const void *data, gsize n_bytes)
{
  RaNcclEnd *e = end_to(comm, to);

  e->comm.table->send(&e->comm, 1, data, n_bytes);
  ra_nccl_flush(e);
}

static void
device_send(RaComm *comm, uint32_t to, const void *data, gsize n_bytes)
{
  RaNcclEnd *e = end_to(comm, to);

  ra_nccl_device.send(&e->comm, 1, data, n_bytes);
  ra_nccl_flush(e);
}

static RaCommRequest *
start_recv(RaComm *comm, uint32_t from, void *data, gsize n_bytes)
{
  RaNcclEnd *e = ((Pairs *)comm)->from[from];
  RaCommRequest *request;

  g_assert(e);
  request = e->comm.table->start_recv(&e->comm, 0, data, n_bytes);
  ra_nccl_flush(e);
  return request;
}

static void
recv_message(RaComm *comm, uint32_t from, void *data, gsize n_bytes)
{
  ra_nccl_wait(comm, start_recv(comm, from, data, n_bytes));
}

static void
pairs_free(RaComm *comm)
{
  Pairs *p = (Pairs *)comm;

  for (uint32_t i = 0; i < comm->n_ranks; i++) {
    if (p->to[i])
      ra_nccl_end_free(&p->to[i]->comm);
    if (p->from[i])
      ra_nccl_end_free(&p->from[i]->comm);
  }
  g_free(p->to);
  g_free(p->from);
  g_free(p);
}

static RaCommRequest *
device_start_recv(RaComm *comm, uint32_t from, void *data, gsize n_bytes)
{
  RaNcclEnd *e = ((Pairs *)comm)->from[from];
  RaCommRequest *request;

  g_assert(e);
  request = ra_nccl_start_recv(e, 0, data, n_bytes);
  ra_nccl_flush(e);
  return request;
}

static const RaCommDevice device = {.send = device_send,
                                    .start_recv = device_start_recv};

static const RaCommTable table = {.name = "nccl",
                                  .send = send_message,
                                  .recv = recv_message,
                                  .start_recv = start_recv,
                                  .device = &device,
                                  .wait = ra_nccl_wait,
                                  .free = pairs_free};

RaComm *
ra_nccl_pairs_new(RaNccl *nccl, RaStream stream)
{
  Pairs *p = g_new0(Pairs, 1);

  p->comm =
      (RaComm){.table = &table, .rank = nccl->rank, .n_ranks = nccl->n_ranks};
  p->to = g_new0(RaNcclEnd *, nccl->n_ranks);
  p->from = g_new0(RaNcclEnd *, nccl->n_ranks);
  for (uint32_t i = 0; i < nccl->splits->groups->len; i++) {
    const RaCommGroup *g = &g_array_index(nccl->splits->groups, RaCommGroup, i);
    const uint32_t *members =
        &g_array_index(nccl->splits->members, uint32_t, g->first);

    if (g->kind != RA_GROUP_PAIR || g->stream != stream)
      continue;
    if (members[0] == nccl->rank)
      p->to[members[1]] = ra_nccl_end_new(nccl, i, TRUE);
    else if (members[1] == nccl->rank)
      p->from[members[0]] = ra_nccl_end_new(nccl, i, TRUE);
  }
  return &p->comm;
}
