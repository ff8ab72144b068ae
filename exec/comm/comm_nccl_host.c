/* The communicator `nccl` on host data, staged in device memory. */
#include "config.h"

#include "exec/comm/nccl_impl.h"

static RaNcclEnd *
end_of(RaComm *comm)
{
  return (RaNcclEnd *)comm;
}

/* (transfer full): @n_bytes of the device, with @data (nullable) in them. */
static void *
stage(RaNcclEnd *e, const void *data, gsize n_bytes)
{
  void *staged = ra_nccl_take(e->nccl, n_bytes);

  if (data)
    ra_nccl_copy(e, staged, data, n_bytes);
  return staged;
}

/* Copies to @out (nullable), and returns the buffer to the pool. */
static void
unstage(RaNcclEnd *e, void *staged, void *out, gsize n_bytes)
{
  if (out)
    ra_nccl_copy(e, out, staged, n_bytes);
  ra_nccl_give(e->nccl, staged, n_bytes);
}

static void
send_message(RaComm *comm, uint32_t to, const void *data, gsize n_bytes)
{
  RaNcclEnd *e = end_of(comm);

  ra_nccl_send_staged(e, to, stage(e, data, n_bytes), n_bytes);
}

/* Makes @r copy @n bytes of @staged, from @first on, to @out when it is done.
 */
static RaCommRequest *
with_staged(RaCommRequest *r, void *staged, gsize staged_bytes, void *out,
            gsize first, gsize n)
{
  r->staged = staged;
  r->staged_bytes = staged_bytes;
  r->out = out;
  r->first_byte = first;
  r->n_bytes = n;
  return r;
}

static RaCommRequest *
start_recv(RaComm *comm, uint32_t from, void *data, gsize n_bytes)
{
  RaNcclEnd *e = end_of(comm);
  void *staged = stage(e, NULL, n_bytes);

  return with_staged(ra_nccl_start_recv(e, from, staged, n_bytes), staged,
                     n_bytes, data, 0, n_bytes);
}

static void
recv_message(RaComm *comm, uint32_t from, void *data, gsize n_bytes)
{
  ra_nccl_wait(comm, start_recv(comm, from, data, n_bytes));
}

/* TRUE if the rank has what @part carries when it begins. */
static gboolean
has_data(const RaCommPart *part)
{
  return part->kind == RA_PART_SEND ||
         (part->kind == RA_PART_BROADCAST && part->peer == part->comm->rank);
}

static void
exchange(const RaCommPart *parts, guint n)
{
  g_autofree RaCommPart *staged = g_memdup2(parts, n * sizeof *parts);

  for (guint i = 0; i < n; i++)
    staged[i].data =
        stage(end_of(parts[i].comm), has_data(&parts[i]) ? parts[i].data : NULL,
              parts[i].n_bytes);
  ra_nccl_device.exchange(staged, n);
  for (guint i = 0; i < n; i++)
    unstage(end_of(parts[i].comm), staged[i].data,
            has_data(&parts[i]) ? NULL : parts[i].data, parts[i].n_bytes);
}

static RaCommRequest *
start_all_reduce(RaComm *comm, RaReduce reduce, float *data, gsize n)
{
  RaNcclEnd *e = end_of(comm);
  gsize n_bytes = n * sizeof *data;
  void *staged = stage(e, data, n_bytes);

  return with_staged(ra_nccl_start_reduce(e, reduce, staged, n), staged,
                     n_bytes, data, 0, n_bytes);
}

static RaCommRequest *
start_reduce_scatter(RaComm *comm, float *data, gsize n)
{
  RaNcclEnd *e = end_of(comm);
  gsize begin = n * comm->rank / comm->n_ranks;
  gsize end = n * (comm->rank + 1) / comm->n_ranks;
  void *staged = stage(e, data, n * sizeof *data);

  return with_staged(ra_nccl_device.start_reduce_scatter(comm, staged, n),
                     staged, n * sizeof *data, data, begin * sizeof *data,
                     (end - begin) * sizeof *data);
}

static void
all_reduce(RaComm *comm, RaReduce reduce, float *data, gsize n)
{
  ra_nccl_wait(comm, start_all_reduce(comm, reduce, data, n));
}

static void
reduce_scatter(RaComm *comm, const float *in, float *out, gsize n)
{
  RaNcclEnd *e = end_of(comm);
  gsize n_bytes = n * sizeof *in;
  void *staged_in = stage(e, in, comm->n_ranks * n_bytes);
  void *staged_out = stage(e, NULL, n_bytes);

  ra_nccl_device.reduce_scatter(comm, RA_COMM_F32, staged_in, staged_out, n);
  ra_nccl_drain(e, "a reduce-scatter");
  unstage(e, staged_in, NULL, comm->n_ranks * n_bytes);
  unstage(e, staged_out, out, n_bytes);
}

static void
all_gather(RaComm *comm, const void *in, void *out, gsize n_bytes)
{
  RaNcclEnd *e = end_of(comm);
  char *staged = stage(e, NULL, comm->n_ranks * n_bytes);
  char *own = staged + comm->rank * n_bytes;

  ra_nccl_copy(e, own, in, n_bytes);
  ra_nccl_device.all_gather(comm, own, staged, n_bytes);
  ra_nccl_drain(e, "an all-gather");
  unstage(e, staged, out, comm->n_ranks * n_bytes);
}

static void
broadcast(RaComm *comm, uint32_t root, void *data, gsize n_bytes)
{
  RaNcclEnd *e = end_of(comm);
  gboolean is_root = root == comm->rank;
  void *staged = stage(e, is_root ? data : NULL, n_bytes);

  ra_nccl_device.broadcast(comm, root, staged, n_bytes);
  ra_nccl_drain(e, "a broadcast"); /* the root's copy has no other wait */
  unstage(e, staged, is_root ? NULL : data, n_bytes);
}

static void
all_to_all(RaComm *comm, const void *in, void *out, gsize n_bytes)
{
  RaNcclEnd *e = end_of(comm);
  gsize all_bytes = comm->n_ranks * n_bytes;
  void *staged_in = stage(e, in, all_bytes);
  void *staged_out = stage(e, NULL, all_bytes);

  ra_nccl_device.all_to_all(comm, staged_in, staged_out, n_bytes);
  unstage(e, staged_in, NULL, all_bytes);
  unstage(e, staged_out, out, all_bytes);
}

static void
barrier(RaComm *comm)
{
  float zero = 0;

  all_reduce(comm, RA_REDUCE_SUM, &zero, 1);
}

const RaCommTable ra_nccl_table = {
    .name = "nccl",
    .all_reduce = all_reduce,
    .reduce_scatter = reduce_scatter,
    .all_gather = all_gather,
    .broadcast = broadcast,
    .all_to_all = all_to_all,
    .send = send_message,
    .recv = recv_message,
    .barrier = barrier,
    .start_all_reduce = start_all_reduce,
    .start_reduce_scatter = start_reduce_scatter,
    .start_recv = start_recv,
    .exchange = exchange,
    .device = &ra_nccl_device,
    .wait = ra_nccl_wait,
    .free = ra_nccl_end_free,
};
