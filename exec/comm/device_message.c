/* Messages of data in device memory. */
#include "config.h"

#include <pthread.h>

#include "exec/comm/device_message.h"

/* A message that lies in the device's memory. */
typedef struct Parcel {
  struct Parcel *next;  /* in the pool */
  const GThread *owner; /* the only thread that takes it; NULL: any */
  void *data;           /* device memory, owned */
  gsize size;           /* bytes it has room for */
} Parcel;

struct _RaDeviceMessage {
  const RaBackend *backend; /* borrowed */
  RaComm *comm;             /* borrowed */
  RaCommRequest *request;   /* owned; NULL: it is there */
  void *data;               /* where it is to go; NULL: anywhere */
  gsize n_bytes;
  void *host;     /* where it comes, owned; NULL: to @data, or by a parcel */
  Parcel *parcel; /* where it comes, owned; the sender's, brought by the
                     request, where the two share a device; NULL: to the host's
                     memory */
};

static Parcel *pool;
static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;

static gboolean
is_shared(const RaBackend *backend, const RaComm *comm)
{
  return !backend->is_host && comm->table->shares_memory;
}

/* (transfer full): the first of the pool of @owner that has room and not four
 * times as much, or a new one.  A thread's device may be another than that of
 * the other threads. */
static Parcel *
parcel_take(const RaBackend *backend, const GThread *owner, gsize n_bytes)
{
  Parcel **at, *parcel = NULL;

  pthread_mutex_lock(&pool_lock);
  for (at = &pool; *at && !parcel; at = &(*at)->next)
    if ((*at)->owner == owner && (*at)->size >= n_bytes &&
        (*at)->size / 4 <= n_bytes) {
      parcel = *at;
      *at = parcel->next;
      break;
    }
  pthread_mutex_unlock(&pool_lock);
  if (parcel)
    return parcel;
  parcel = g_new0(Parcel, 1);
  parcel->owner = owner;
  parcel->size = n_bytes;
  parcel->data = backend->alloc(n_bytes);
  return parcel;
}

static void
parcel_give(Parcel *parcel)
{
  pthread_mutex_lock(&pool_lock);
  parcel->next = pool;
  pool = parcel;
  pthread_mutex_unlock(&pool_lock);
}

void
ra_device_message_clear_all(const RaBackend *backend)
{
  pthread_mutex_lock(&pool_lock);
  while (pool) {
    Parcel *parcel = pool;

    pool = parcel->next;
    backend->free(parcel->data);
    g_free(parcel);
  }
  pthread_mutex_unlock(&pool_lock);
}

/* Waits for the copy, because the receiver has another queue. */
static void
send_parcel(const RaBackend *backend, RaComm *comm, uint32_t to,
            const void *data, gsize n_bytes)
{
  Parcel *parcel = parcel_take(backend, NULL, n_bytes);

  backend->copy(parcel->data, data, n_bytes);
  backend->wait();
  comm->table->send(comm, to, &parcel, sizeof parcel);
}

void
ra_device_message_send(const RaBackend *backend, RaComm *comm, uint32_t to,
                       const void *data, gsize n_bytes)
{
  const RaCommDevice *carrier = backend->is_host ? NULL : comm->table->device;
  g_autofree void *host = NULL;

  if (carrier) {
    backend->wait(); /* the data to send are complete */
    carrier->send(comm, to, data, n_bytes);
  } else if (is_shared(backend, comm)) {
    send_parcel(backend, comm, to, data, n_bytes);
  } else {
    if (!backend->is_host) {
      host = g_malloc(n_bytes + 1);
      backend->read(host, data, n_bytes);
    }
    comm->table->send(comm, to, host ? host : data, n_bytes);
  }
}

/* A device communicator receives into a parcel, never into the destination,
 * which earlier ops may still use. */
RaDeviceMessage *
ra_device_message_start_recv(const RaBackend *backend, RaComm *comm,
                             uint32_t from, void *data, gsize n_bytes)
{
  const RaCommDevice *carrier = backend->is_host ? NULL : comm->table->device;
  RaDeviceMessage *m = g_new0(RaDeviceMessage, 1);

  *m = (RaDeviceMessage){
      .backend = backend, .comm = comm, .data = data, .n_bytes = n_bytes};
  if (carrier) {
    m->parcel = parcel_take(backend, g_thread_self(), n_bytes);
    m->request = carrier->start_recv(comm, from, m->parcel->data, n_bytes);
  } else if (is_shared(backend, comm)) {
    m->request = comm->table->start_recv(comm, from, (void *)&m->parcel,
                                         sizeof m->parcel);
  } else {
    if (!backend->is_host || !data)
      m->host = g_malloc(n_bytes + 1);
    m->request =
        comm->table->start_recv(comm, from, m->host ? m->host : data, n_bytes);
  }
  return m;
}

const void *
ra_device_message_end_recv(RaDeviceMessage *m, double *out_done_s)
{
  double done_s = m->comm->table->wait(m->comm, g_steal_pointer(&m->request));
  const void *where = m->parcel ? m->parcel->data : m->host;

  if (out_done_s)
    *out_done_s = done_s;
  if (m->data && where)
    m->backend->write(m->data, where, m->n_bytes);
  return m->data ? m->data : where;
}

void
ra_device_message_free(RaDeviceMessage *m)
{
  if (!m)
    return;
  if (m->parcel) {
    m->backend->wait(); /* the next user has another queue */
    parcel_give(m->parcel);
  }
  g_free(m->host);
  g_free(m);
}
