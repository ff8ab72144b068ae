/* Collectives on data in device memory. */
#include "config.h"

#include "exec/comm/device_comm.h"
#include "exec/comm/device_message.h"

/* TRUE if members see each other's device memory. */
static gboolean
is_shared(const RaComm *comm)
{
  return comm->table->shares_memory && comm->n_ranks <= RA_BACKEND_RANKS;
}

/* The functions of a communicator that carries from device to device, behind
 * the thread's ops; NULL. */
static const RaCommDevice *
carrier_of(const RaBackend *backend, const RaComm *comm)
{
  return backend->is_host ? NULL : comm->table->device;
}

static RaCommType
type_of(const RaBackend *backend)
{
  return backend->elem_bytes == sizeof(float) ? RA_COMM_F32 : RA_COMM_BF16;
}

/* Where every member's array is, once what made them is done. */
static void **
meet(const RaBackend *backend, RaComm *comm, const void *mine)
{
  void **all = g_new(void *, comm->n_ranks);

  backend->wait();
  comm->table->all_gather(comm, &mine, all, sizeof mine);
  return all;
}

/* All members are done with each other's arrays. */
static void
part(const RaBackend *backend, RaComm *comm)
{
  backend->wait();
  comm->table->barrier(comm);
}

void
ra_device_comm_all_gather(const RaBackend *backend, RaComm *comm,
                          const void *in, void *out, gsize n_bytes)
{
  const RaCommDevice *carrier = carrier_of(backend, comm);

  if (carrier) {
    carrier->all_gather(comm, in, out, n_bytes);
  } else if (backend->is_host) {
    comm->table->all_gather(comm, in, out, n_bytes);
  } else if (is_shared(comm)) {
    g_autofree void **all = meet(backend, comm, in);

    for (uint32_t rank = 0; rank < comm->n_ranks; rank++) {
      char *to = (char *)out + rank * n_bytes;

      if (to != all[rank])
        backend->copy(to, all[rank], n_bytes);
    }
    part(backend, comm);
  } else {
    g_autofree void *one = g_malloc(n_bytes + 1);
    g_autofree void *whole = g_malloc(comm->n_ranks * n_bytes + 1);

    backend->read(one, in, n_bytes);
    comm->table->all_gather(comm, one, whole, n_bytes);
    backend->write(out, whole, comm->n_ranks * n_bytes);
  }
}

/* The sum over ranks of an array of elements, or floats, of @width bytes each,
 * in place: every member makes a part of it for all. */
static void
reduce_shared(const RaBackend *backend, RaComm *comm, void *x, gsize n,
              gsize width, gboolean f32)
{
  g_autofree void **all = meet(backend, comm, x);
  gsize begin = n * comm->rank / comm->n_ranks;
  gsize end = n * (comm->rank + 1) / comm->n_ranks;

  for (uint32_t rank = 0; rank < comm->n_ranks; rank++)
    all[rank] = (char *)all[rank] + begin * width;
  backend->reduce(comm->n_ranks, (const void *const *)all, comm->n_ranks, all,
                  end - begin, f32, FALSE);
  part(backend, comm);
}

void
ra_device_comm_all_reduce(const RaBackend *backend, RaComm *comm, RaElem *x,
                          gsize n)
{
  const RaCommDevice *carrier;
  g_autofree float *host = NULL;

  if (!comm || comm->n_ranks == 1)
    return;
  carrier = carrier_of(backend, comm);
  if (carrier) {
    carrier->all_reduce(comm, type_of(backend), x, n);
  } else if (backend->is_host) {
    ra_comm_all_reduce(comm, RA_REDUCE_SUM, ra_host_floats(x), n);
  } else if (is_shared(comm)) {
    reduce_shared(backend, comm, x, n, backend->elem_bytes, FALSE);
  } else {
    host = g_new(float, n + 1);
    backend->read_elems(n, x, host);
    ra_comm_all_reduce(comm, RA_REDUCE_SUM, host, n);
    backend->write_elems(n, host, x);
  }
}

void
ra_device_comm_all_reduce_f32(const RaBackend *backend, RaComm *comm, float *x,
                              gsize n)
{
  const RaCommDevice *carrier;
  g_autofree float *host = NULL;

  if (!comm || comm->n_ranks == 1)
    return;
  carrier = carrier_of(backend, comm);
  if (carrier) {
    carrier->all_reduce(comm, RA_COMM_F32, x, n);
  } else if (backend->is_host) {
    ra_comm_all_reduce(comm, RA_REDUCE_SUM, x, n);
  } else if (is_shared(comm)) {
    reduce_shared(backend, comm, x, n, sizeof *x, TRUE);
  } else {
    host = g_new(float, n + 1);
    backend->read(host, x, n * sizeof *x);
    ra_comm_all_reduce(comm, RA_REDUCE_SUM, host, n);
    backend->write(x, host, n * sizeof *x);
  }
}

void
ra_device_comm_reduce_scatter(const RaBackend *backend, RaComm *comm,
                              const RaElem *in, RaElem *out, gsize n)
{
  const RaCommDevice *carrier = carrier_of(backend, comm);

  if (carrier) {
    carrier->reduce_scatter(comm, type_of(backend), in, out, n);
  } else if (backend->is_host) {
    comm->table->reduce_scatter(comm, ra_host_floats(in), ra_host_floats(out),
                                n);
  } else if (is_shared(comm)) {
    g_autofree void **all = meet(backend, comm, in);
    void *to[1] = {out};

    for (uint32_t rank = 0; rank < comm->n_ranks; rank++)
      all[rank] = ra_elem_at(backend, (RaElem *)all[rank], comm->rank * n);
    backend->reduce(comm->n_ranks, (const void *const *)all, 1, to, n, FALSE,
                    FALSE);
    part(backend, comm);
  } else {
    g_autofree float *all = g_new(float, comm->n_ranks *n + 1);
    g_autofree float *sum = g_new(float, n + 1);

    backend->read_elems(comm->n_ranks * n, in, all);
    comm->table->reduce_scatter(comm, all, sum, n);
    backend->write_elems(n, sum, out);
  }
}

struct _RaDeviceExchange {
  const RaBackend *backend;
  RaComm *comm;
  char *out;
  const gsize *n_bytes;
  RaCommRequest **coming; /* by rank; NULL: no receive */
  char *room;             /* where it comes; NULL: where it goes to */
};

static gsize
sum_of(uint32_t n, const gsize *x)
{
  gsize sum = 0;

  for (uint32_t i = 0; i < n; i++)
    sum += x[i];
  return sum;
}

RaDeviceExchange *
ra_device_comm_start_all_to_all(const RaBackend *backend, RaComm *comm,
                                void *out, const gsize *n_bytes)
{
  RaDeviceExchange *x = g_new0(RaDeviceExchange, 1);
  char *to = out;

  *x = (RaDeviceExchange){
      .backend = backend, .comm = comm, .out = out, .n_bytes = n_bytes};
  if (!backend->is_host && (comm->table->device || is_shared(comm)))
    return x;
  if (!backend->is_host)
    to = x->room = g_malloc(sum_of(comm->n_ranks, n_bytes) + 1);
  x->coming = g_new0(RaCommRequest *, comm->n_ranks);
  for (uint32_t rank = 0; rank < comm->n_ranks; to += n_bytes[rank++])
    if (rank != comm->rank)
      x->coming[rank] = comm->table->start_recv(comm, rank, to, n_bytes[rank]);
  return x;
}

/* Each rank tells every other where its part is, which copies it. */
static void
fetch_shared(const RaDeviceExchange *x, const char *in, const gsize *n_bytes)
{
  RaComm *comm = x->comm;
  uint32_t n = comm->n_ranks;
  g_autofree const char **mine = g_new(const char *, n);
  g_autofree const char **all = g_new(const char *, (gsize)n *n);
  char *to = x->out;

  for (uint32_t rank = 0; rank < n; in += n_bytes[rank++])
    mine[rank] = in;
  x->backend->wait();
  comm->table->all_gather(comm, mine, all, n * sizeof *mine);
  for (uint32_t rank = 0; rank < n; to += x->n_bytes[rank++])
    if (rank != comm->rank && x->n_bytes[rank] > 0)
      x->backend->copy(to, all[rank * n + comm->rank], x->n_bytes[rank]);
  part(x->backend, comm);
}

/* Messages are no op's: what they carry is there, and then what they bring. */
static void
carry_parts(const RaDeviceExchange *x, const char *in, const gsize *n_bytes)
{
  const RaCommDevice *carrier = x->comm->table->device;
  uint32_t n = x->comm->n_ranks, n_parts = 0;
  g_autofree RaCommPart *parts = g_new(RaCommPart, 2 * (gsize)n);
  char *to = x->out;

  for (uint32_t rank = 0; rank < n; rank++) {
    if (rank != x->comm->rank && n_bytes[rank] > 0)
      parts[n_parts++] = (RaCommPart){x->comm, RA_PART_SEND, rank, (gpointer)in,
                                      n_bytes[rank]};
    if (rank != x->comm->rank && x->n_bytes[rank] > 0)
      parts[n_parts++] =
          (RaCommPart){x->comm, RA_PART_RECV, rank, to, x->n_bytes[rank]};
    in += n_bytes[rank];
    to += x->n_bytes[rank];
  }
  x->backend->wait();
  carrier->exchange(parts, n_parts);
}

/* Through the communicator for the host's data. */
static void
send_parts(const RaDeviceExchange *x, const char *in, const gsize *n_bytes)
{
  const RaCommTable *table = x->comm->table;
  uint32_t n = x->comm->n_ranks;
  gsize at = 0;

  for (uint32_t rank = 0; rank < n; in += n_bytes[rank++])
    if (rank != x->comm->rank)
      ra_device_message_send(x->backend, x->comm, rank, in, n_bytes[rank]);
  for (uint32_t rank = 0; rank < n; at += x->n_bytes[rank++]) {
    if (rank == x->comm->rank)
      continue;
    table->wait(x->comm, x->coming[rank]);
    if (x->room)
      x->backend->write(x->out + at, x->room + at, x->n_bytes[rank]);
  }
}

void
ra_device_comm_end_all_to_all(RaDeviceExchange *exchange, const void *in,
                              const gsize *n_bytes)
{
  RaDeviceExchange *x = exchange;

  if (x->coming)
    send_parts(x, in, n_bytes);
  else if (x->comm->table->device)
    carry_parts(x, in, n_bytes);
  else
    fetch_shared(x, in, n_bytes);
  g_free(x->coming);
  g_free(x->room);
  g_free(x);
}

RaCommRequest *
ra_device_comm_start_reduce(const RaBackend *backend, RaComm *comm,
                            gboolean scatter, float *data, gsize n)
{
  const RaCommDevice *carrier = carrier_of(backend, comm);

  if (carrier)
    return scatter ? carrier->start_reduce_scatter(comm, data, n)
                   : carrier->start_all_reduce(comm, data, n);
  if (backend->is_host)
    return scatter
               ? comm->table->start_reduce_scatter(comm, data, n)
               : comm->table->start_all_reduce(comm, RA_REDUCE_SUM, data, n);
  ra_device_comm_all_reduce_f32(backend, comm, data, n);
  return NULL;
}

gboolean
ra_device_comm_is_captured(const RaBackend *backend, const RaComm *comm)
{
  return comm && comm->n_ranks > 1 && carrier_of(backend, comm);
}

void
ra_device_comm_capture(const RaBackend *backend, RaComm *comm,
                       RaCommCapture phase)
{
  if (ra_device_comm_is_captured(backend, comm))
    carrier_of(backend, comm)->capture(comm, phase);
}
