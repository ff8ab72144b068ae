/* Streams: threads that run launches in order. */
#include "config.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "tests/double/nccl_double_impl.h"

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

Launch *
nccl_double_launch_new(GPtrArray *ops)
{
  Launch *l = g_new0(Launch, 1);

  l->ops = ops;
  l->n_left = ops->len;
  l->comms = g_array_new(FALSE, FALSE, sizeof(Comm *));
  l->tickets = g_array_new(FALSE, FALSE, sizeof(uint64_t));
  return l;
}

void
nccl_double_push(Stream *s, Launch *l)
{
  g_queue_push_tail(&s->launches, l);
  s->n_given++;
  if (!s->is_busy) {
    s->is_busy = TRUE;
    nccl_double_add_active(1);
  }
  pthread_cond_broadcast(&d.changed);
}

static void
mark_clear(gpointer mark)
{
  Mark *m = mark;

  if (m->now)
    g_atomic_rc_box_release_full(m->now, mark_clear);
  if (m->of_ops)
    d.memory->mark_free(m->of_ops);
}

static void
launch_free(Launch *l)
{
  if (l->behind)
    g_atomic_rc_box_release_full(l->behind, mark_clear);
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

/* Makes the ops before @mark, as far as they can go on. */
static gboolean
gets_to(const void *mark)
{
  while (!d.memory->is_reached(mark))
    if (!d.memory->go_on(mark))
      return FALSE;
  return TRUE;
}

gboolean
nccl_double_drive_ops(void)
{
  gboolean any = FALSE;

  for (guint i = 0; i < d.streams->len; i++) {
    Stream *s = d.streams->pdata[i];

    if (s->state == WAITS_MARK && gets_to(s->launch->behind->of_ops)) {
      nccl_double_resume(s);
      any = TRUE;
    }
  }
  return any;
}

/* A stream drives the ops that it waits for, as a device would: whoever began
 * them may wait for something else.  Nobody tells it when they go on, so it
 * looks again after a while. */
static void
wait_for_ops(Stream *s)
{
  const void *mark = s->launch->behind->of_ops;
  gboolean has_come = FALSE;

  while (!(has_come = gets_to(mark)) && !d.is_stuck) {
    struct timespec at;

    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += 1000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    s->state = WAITS_MARK;
    nccl_double_add_active(-1);
    if (s->state != RUNS && !d.is_stuck)
      pthread_cond_timedwait(&d.changed, &d.lock, &at);
    nccl_double_resume(s);
  }
}

static void
run_launch(Stream *s)
{
  Launch *l = s->launch;

  if (l->behind)
    wait_for_ops(s);
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
    nccl_double_wake(s);
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
  s->device = d.memory ? d.memory->device() : 0;
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

static int own; /* its place stands for the calling thread's */

static RaNcclStream
own_stream(void)
{
  return &own;
}

static uint64_t
capture(void)
{
  return d.memory && d.memory->capture ? d.memory->capture() : 0;
}

gboolean
nccl_double_is_captured(const Stream *s)
{
  uint64_t now = capture();

  return now > 0 && (!s || s->capture == now);
}

/* At the end of @stream; NULL: of the thread's ops. */
static Mark *
mark_now(Stream *stream)
{
  Mark *m = g_atomic_rc_box_new0(Mark);

  if (!stream) {
    if (d.memory)
      m->of_ops = d.memory->mark();
    return m;
  }
  pthread_mutex_lock(&d.lock);
  nccl_double_look(FALSE);
  m->stream = stream;
  m->n = stream->n_given;
  pthread_mutex_unlock(&d.lock);
  return m;
}

/* An edge of a graph. */
typedef struct {
  Mark *mark;     /* a reference */
  Stream *stream; /* where it is, or that follows it; NULL: the ops */
} Edge;

static void
edge_free(void *data)
{
  Edge *e = data;

  g_atomic_rc_box_release_full(e->mark, mark_clear);
  g_free(e);
}

static void
note(void (*call)(void *data), Mark *mark, Stream *stream)
{
  Edge edge = {g_atomic_rc_box_acquire(mark), stream};

  d.memory->note(call, g_memdup2(&edge, sizeof edge), edge_free);
}

static void
mark_again(void *data)
{
  const Edge *e = data;

  if (e->mark->now)
    g_atomic_rc_box_release_full(e->mark->now, mark_clear);
  e->mark->now = mark_now(e->stream);
}

static int
mark_new(RaNcclStream stream, RaNcclMark *out_mark)
{
  Stream *s = stream == &own ? NULL : stream;
  Mark *m;

  if (nccl_double_is_captured(s)) {
    m = g_atomic_rc_box_new0(Mark);
    m->is_captured = TRUE;
    note(mark_again, m, s);
  } else {
    m = mark_now(s);
  }
  *out_mark = m;
  return RA_NCCL_OK;
}

static int
is_passed(const void *data)
{
  const Mark *m = data;

  if (m->stream)
    return m->stream->n_over >= m->n;
  return !m->of_ops || d.memory->is_reached(m->of_ops);
}

static int
mark_look(RaNcclMark mark)
{
  const Mark *m = mark;
  gboolean is_over, waits;

  if (m->is_captured)
    return NCCL_DOUBLE_USAGE;
  pthread_mutex_lock(&d.lock);
  is_over = is_passed(m);
  /* Ops go on, or wait for a stream that does.  Who looks once does something
   * else next. */
  waits = !is_over && m->stream && host && (host->looks || host->seen == m);
  if (waits)
    host->mark = *m;
  nccl_double_look(waits);
  if (host && !is_over && m->stream)
    host->seen = m;
  pthread_mutex_unlock(&d.lock);
  return is_over ? RA_NCCL_OK : RA_NCCL_BUSY;
}

/* (nullable) (transfer full): a mark at the end of a stream of @device that is
 * not empty. */
static Mark *
mark_busy(uint32_t device)
{
  Mark *m = NULL;

  pthread_mutex_lock(&d.lock);
  for (guint i = 0; i < d.streams->len && !m && !d.is_stuck; i++) {
    Stream *s = d.streams->pdata[i];

    if (s->device != device || s->n_over == s->n_given)
      continue;
    m = g_atomic_rc_box_new0(Mark);
    m->stream = s;
    m->n = s->n_given;
  }
  pthread_mutex_unlock(&d.lock);
  return m;
}

void
nccl_double_wait_device(void)
{
  Mark *m;

  while (host && (m = mark_busy(d.memory->device()))) {
    while (mark_look(m) != RA_NCCL_OK && !nccl_double_is_stuck())
      sched_yield();
    pthread_mutex_lock(&d.lock);
    nccl_double_look(FALSE);
    pthread_mutex_unlock(&d.lock);
    g_atomic_rc_box_release_full(m, mark_clear);
  }
}

static void
mark_free(RaNcclMark mark)
{
  g_atomic_rc_box_release_full(mark, mark_clear);
}

static _Thread_local RaDeviceLook look;
static _Thread_local void *look_data;

/* The host's own, and it does not look any more. */
static void
look_on(void *data, int is_over)
{
  (void)data;
  if (look)
    look(look_data, is_over);
  if (!is_over)
    return;
  pthread_mutex_lock(&d.lock);
  nccl_double_look(FALSE);
  pthread_mutex_unlock(&d.lock);
}

static void
look_with(RaDeviceLook with, void *data)
{
  look = with;
  look_data = data;
  if (d.memory)
    d.memory->look_with(with ? look_on : NULL, NULL);
}

static gboolean
is_forgotten(NcclDoubleFollow kind)
{
  gboolean is_so;

  pthread_mutex_lock(&d.lock);
  d.n_follows[kind]++;
  is_so = d.forgets[kind];
  pthread_mutex_unlock(&d.lock);
  return is_so;
}

/* The thread's ops are late, or over as they are begun: then it waits. */
static void
own_follow(RaNcclMark mark)
{
  Mark copy = *(Mark *)mark; /* who looks may free it */

  if (d.memory && d.memory->follow(is_passed, mark, sizeof(Mark)))
    return;
  while (mark_look(&copy) != RA_NCCL_OK) {
    look_on(NULL, FALSE);
    sched_yield();
  }
  look_on(NULL, TRUE);
}

static void
follow_now(Stream *stream, Mark *mark)
{
  Launch *l;

  if (is_forgotten(stream ? NCCL_DOUBLE_AFTER_OPS : NCCL_DOUBLE_OPS_AFTER))
    return;
  if (!stream) {
    own_follow(mark);
  } else if (mark->of_ops) {
    l = nccl_double_launch_new(g_ptr_array_new_with_free_func(g_free));
    l->behind = g_atomic_rc_box_acquire(mark);
    pthread_mutex_lock(&d.lock);
    nccl_double_look(FALSE);
    nccl_double_push(stream, l);
    pthread_mutex_unlock(&d.lock);
  }
}

static void
follow_again(void *data)
{
  const Edge *e = data;

  follow_now(e->stream, e->mark->now);
}

/* A stream that follows a captured mark joins the capture; no other mark can be
 * followed within it, and no captured one outside. */
static int
follow(RaNcclStream stream, RaNcclMark mark)
{
  Stream *s = stream == &own ? NULL : stream;
  Mark *m = mark;

  if (m->is_captured ? capture() == 0 : nccl_double_is_captured(s))
    return NCCL_DOUBLE_USAGE;
  if (!m->is_captured) {
    follow_now(s, m);
    return RA_NCCL_OK;
  }
  if (s)
    s->capture = capture();
  note(follow_again, m, s);
  return RA_NCCL_OK;
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
  if (d.memory)
    d.memory->wait();
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
  api->mark_free = mark_free;
  api->own_stream = own_stream;
  api->follow = follow;
  api->look_with = look_with;
  api->alloc = alloc;
  api->free = free_memory;
  api->copy = copy;
  api->reaches = reaches;
  api->copy_peer = copy_peer;
}
