/* Streams: threads that run launches in order. */
#include "config.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "tests/nccl_double_impl.h"

void
nccl_double_resume(Stream *s)
{
  if (s->state == RUNS)
    return;
  s->state = RUNS;
  d.n_active++;
  pthread_cond_broadcast(&d.changed);
}

static gboolean
has_turn(const Launch *l)
{
  for (guint i = 0; i < l->comms->len; i++)
    if (g_array_index(l->comms, Comm *, i)->n_over !=
        g_array_index(l->tickets, uint64_t, i))
      return FALSE;
  return TRUE;
}

static gboolean
is_lost(const Launch *l)
{
  for (guint i = 0; i < l->comms->len; i++)
    if (g_array_index(l->comms, Comm *, i)->is_aborted)
      return TRUE;
  return d.is_stuck;
}

static void
launch_free(Launch *l)
{
  g_ptr_array_unref(l->ops);
  g_array_unref(l->comms);
  g_array_unref(l->tickets);
  g_free(l);
}

/* Some time passes; unlocked meanwhile. */
static void
dawdle(Stream *s)
{
  uint32_t x = s->random = s->random * 1664525u + 1013904223u;

  pthread_mutex_unlock(&d.lock);
  if (x >> 24 < 8)
    usleep(x >> 8 & 63);
  else if (x >> 24 < 128)
    sched_yield();
  pthread_mutex_lock(&d.lock);
}

static void
sleep_as(Stream *s, State state)
{
  s->state = state;
  nccl_double_add_active(-1);
  while (s->state != RUNS && !is_lost(s->launch))
    pthread_cond_wait(&d.changed, &d.lock);
  nccl_double_resume(s);
}

static void
run_launch(Stream *s)
{
  Launch *l = s->launch;

  while (!has_turn(l) && !is_lost(l))
    sleep_as(s, WAITS_TURN);
  dawdle(s);
  for (guint i = 0; i < l->ops->len && !is_lost(l); i++)
    nccl_double_post(l->ops->pdata[i]);
  if (l->n_left > 0 && !is_lost(l))
    sleep_as(s, WAITS_PEERS);
  for (guint i = 0; i < l->ops->len && l->n_left > 0; i++)
    nccl_double_unpost(l->ops->pdata[i]);
  for (guint i = 0; i < l->comms->len; i++)
    g_array_index(l->comms, Comm *, i)->n_over++;
  dawdle(s);
}

static void *
run_stream(void *data)
{
  Stream *s = data;

  pthread_mutex_lock(&d.lock);
  for (;;) {
    while (!s->quits && g_queue_is_empty(&s->launches))
      pthread_cond_wait(&d.changed, &d.lock);
    if (g_queue_is_empty(&s->launches))
      break;
    s->launch = g_queue_pop_head(&s->launches);
    run_launch(s);
    launch_free(g_steal_pointer(&s->launch));
    s->n_over++;
    nccl_double_wake(s, NULL);
    for (guint i = 0; i < d.streams->len; i++) {
      Stream *other = d.streams->pdata[i];

      if (other->state == WAITS_TURN && has_turn(other->launch))
        nccl_double_resume(other);
    }
    if (g_queue_is_empty(&s->launches)) {
      s->is_busy = FALSE;
      nccl_double_add_active(-1);
    }
  }
  pthread_mutex_unlock(&d.lock);
  return NULL;
}

static int
stream_new(RaNcclStream *out_stream)
{
  Stream *s = g_new0(Stream, 1);

  pthread_mutex_lock(&d.lock);
  nccl_double_look(FALSE);
  g_queue_init(&s->launches);
  s->random = d.seed = d.seed * 22695477u + 1u;
  g_ptr_array_add(d.streams, s);
  pthread_mutex_unlock(&d.lock);
  if (pthread_create(&s->thread, NULL, run_stream, s) != 0)
    g_error("no thread for a stream");
  *out_stream = s;
  return RA_NCCL_OK;
}

static void
stream_free(RaNcclStream stream)
{
  Stream *s = stream;

  pthread_mutex_lock(&d.lock);
  s->quits = TRUE;
  pthread_cond_broadcast(&d.changed);
  pthread_mutex_unlock(&d.lock);
  pthread_join(s->thread, NULL);
  pthread_mutex_lock(&d.lock);
  g_ptr_array_remove(d.streams, s);
  pthread_mutex_unlock(&d.lock);
  g_free(s);
}

static int
mark_new(RaNcclStream stream, RaNcclMark *out_mark)
{
  Mark *m = g_new(Mark, 1);

  pthread_mutex_lock(&d.lock);
  nccl_double_look(FALSE);
  *m = (Mark){stream, ((Stream *)stream)->n_given};
  pthread_mutex_unlock(&d.lock);
  *out_mark = m;
  return RA_NCCL_OK;
}

static int
mark_look(RaNcclMark mark)
{
  const Mark *m = mark;
  gboolean is_over;

  pthread_mutex_lock(&d.lock);
  is_over = m->stream->n_over >= m->n;
  if (host && !is_over)
    host->mark = *m;
  nccl_double_look(!is_over);
  pthread_mutex_unlock(&d.lock);
  return is_over ? RA_NCCL_OK : RA_NCCL_BUSY;
}

static int
alloc(void **out_data, gsize n_bytes)
{
  if (d.memory) {
    *out_data = d.memory->alloc(n_bytes);
    return RA_NCCL_OK;
  }
  *out_data = g_malloc(n_bytes + 1);
  memset(*out_data, 0xff, n_bytes);
  return RA_NCCL_OK;
}

static void
free_memory(void *data)
{
  if (d.memory)
    d.memory->free(data);
  else
    g_free(data);
}

static int
copy(void *to, const void *from, gsize n_bytes)
{
  nccl_double_open();
  memcpy(to, from, n_bytes);
  nccl_double_close();
  return RA_NCCL_OK;
}

static gboolean
reaches(uint32_t device, uint32_t other)
{
  return !d.is_cut || (device > 0 && other > 0);
}

static int
copy_peer(void *to, uint32_t to_device, const void *from, uint32_t from_device,
          gsize n_bytes)
{
  pthread_mutex_lock(&d.lock);
  d.tally.n_peer_copies++;
  pthread_mutex_unlock(&d.lock);
  return to_device == from_device ? NCCL_DOUBLE_USAGE : copy(to, from, n_bytes);
}

void
nccl_double_set_streams(RaNcclApi *api)
{
  api->stream_new = stream_new;
  api->stream_free = stream_free;
  api->mark_new = mark_new;
  api->mark_look = mark_look;
  api->mark_free = g_free;
  api->alloc = alloc;
  api->free = free_memory;
  api->copy = copy;
  api->reaches = reaches;
  api->copy_peer = copy_peer;
}
