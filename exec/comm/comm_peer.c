/* Copies between the devices of one process. */
#include "config.h"

#include <pthread.h>

#include "base/error.h"
#include "exec/comm/comm_peer.h"
#include "exec/comm/heartbeat.h"

/* Data that a rank has for another. */
typedef struct {
  const void *data; /* borrowed */
  gsize n_bytes;
  gboolean is_taken;
} Offer;

struct _RaPeers {
  const RaNcclApi *api; /* borrowed */
  uint32_t n_ranks;
  uint32_t *devices; /* (n_ranks) owned */
  GQueue *offers;    /* (n_ranks from, n_ranks to) of Offer, borrowed */
  pthread_mutex_t lock;
  pthread_cond_t changed;
};

typedef struct {
  RaComm comm;
  RaPeers *peers; /* borrowed */
  void (*fail)(const char *line, gpointer data);
  gpointer fail_data;
} End;

static GQueue *
offers_of(RaPeers *p, uint32_t from, uint32_t to)
{
  return &p->offers[from * p->n_ranks + to];
}

static void
offer_all(End *e, const RaCommPart *parts, guint n, Offer *offers)
{
  pthread_mutex_lock(&e->peers->lock);
  for (guint i = 0; i < n; i++) {
    g_assert(parts[i].kind != RA_PART_BROADCAST);
    if (parts[i].kind != RA_PART_SEND)
      continue;
    offers[i] = (Offer){parts[i].data, parts[i].n_bytes, FALSE};
    g_queue_push_tail(offers_of(e->peers, e->comm.rank, parts[i].peer),
                      &offers[i]);
  }
  pthread_cond_broadcast(&e->peers->changed);
  pthread_mutex_unlock(&e->peers->lock);
}

/* It is this rank's work, of which a guard is to see that it goes on; what is
 * waited for before and after is its peers'. */
static void
copy(End *e, const RaCommPart *part, const Offer *offer)
{
  RaPeers *p = e->peers;
  g_autofree char *line = NULL;
  int result;

  g_assert_cmpuint(part->n_bytes, ==, offer->n_bytes);
  ra_heartbeat_wait(FALSE);
  result = p->api->copy_peer(part->data, p->devices[e->comm.rank], offer->data,
                             p->devices[part->peer], part->n_bytes);
  ra_heartbeat_wait(TRUE);
  if (result == RA_NCCL_OK)
    return;
  line = g_strdup_printf("nccl: a copy from rank %u to rank %u: %s", part->peer,
                         e->comm.rank, p->api->error(result, NULL));
  e->fail(line, e->fail_data);
  g_assert_not_reached();
}

static void
take(End *e, const RaCommPart *part)
{
  RaPeers *p = e->peers;
  GQueue *queue = offers_of(p, part->peer, e->comm.rank);
  Offer *offer;

  pthread_mutex_lock(&p->lock);
  while (!(offer = g_queue_pop_head(queue)))
    pthread_cond_wait(&p->changed, &p->lock);
  pthread_mutex_unlock(&p->lock);
  copy(e, part, offer);
  pthread_mutex_lock(&p->lock);
  offer->is_taken = TRUE;
  pthread_cond_broadcast(&p->changed);
  pthread_mutex_unlock(&p->lock);
}

static void
exchange(const RaCommPart *parts, guint n)
{
  End *e = (End *)parts[0].comm;
  g_autofree Offer *offers = g_new0(Offer, n);

  ra_heartbeat_wait(TRUE);
  offer_all(e, parts, n, offers);
  for (guint i = 0; i < n; i++)
    if (parts[i].kind == RA_PART_RECV)
      take(e, &parts[i]);
  pthread_mutex_lock(&e->peers->lock);
  for (guint i = 0; i < n; i++)
    while (parts[i].kind == RA_PART_SEND && !offers[i].is_taken)
      pthread_cond_wait(&e->peers->changed, &e->peers->lock);
  pthread_mutex_unlock(&e->peers->lock);
  ra_heartbeat_wait(FALSE);
}

static void
end_free(RaComm *comm)
{
  g_free(comm);
}

static const RaCommDevice device = {.exchange = exchange};

static const RaCommTable table = {
    .name = "peer", .exchange = exchange, .device = &device, .free = end_free};

gboolean
ra_peers_check(const RaNcclApi *api, const uint32_t *devices, uint32_t n_ranks,
               GError **error)
{
  for (uint32_t i = 0; i < n_ranks; i++)
    for (uint32_t k = 0; k < n_ranks; k++)
      if (i != k && !api->reaches(devices[i], devices[k])) {
        g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                    "copies between peers: device %u of rank %u does not reach "
                    "device %u of rank %u, expected grouped messages",
                    devices[i], i, devices[k], k);
        return FALSE;
      }
  return TRUE;
}

RaPeers *
ra_peers_new(const RaNcclApi *api, const uint32_t *devices, uint32_t n_ranks)
{
  RaPeers *p = g_new0(RaPeers, 1);

  p->api = api;
  p->n_ranks = n_ranks;
  p->devices = g_memdup2(devices, n_ranks * sizeof *devices);
  p->offers = g_new0(GQueue, (gsize)n_ranks * n_ranks);
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->changed, NULL);
  return p;
}

void
ra_peers_free(RaPeers *peers)
{
  if (!peers)
    return;
  for (gsize i = 0; i < (gsize)peers->n_ranks * peers->n_ranks; i++)
    g_queue_clear(&peers->offers[i]);
  pthread_mutex_destroy(&peers->lock);
  pthread_cond_destroy(&peers->changed);
  g_free(peers->offers);
  g_free(peers->devices);
  g_free(peers);
}

RaComm *
ra_peers_comm_new(RaPeers *peers, uint32_t rank,
                  void (*fail)(const char *line, gpointer data),
                  gpointer fail_data)
{
  End *e = g_new0(End, 1);

  e->comm = (RaComm){&table, rank, peers->n_ranks};
  e->peers = peers;
  e->fail = fail;
  e->fail_data = fail_data;
  return &e->comm;
}
