/* The communicator `nccl` on data in device memory. */
#include "config.h"

#include <string.h>
#include <time.h>

#include "exec/comm/nccl_impl.h"

static const RaNcclApi *
api_of(const RaNcclEnd *e)
{
  return e->nccl->options.api;
}

static RaNcclEnd *
end_of(RaComm *comm)
{
  return (RaNcclEnd *)comm;
}

void
ra_nccl_check(RaNcclEnd *e, int result, const char *what)
{
  if (result != RA_NCCL_OK)
    ra_nccl_fail(e->nccl, e->name, e->handle, what, result);
}

void
ra_nccl_copy(RaNcclEnd *e, void *to, const void *from, gsize n_bytes)
{
  if (n_bytes > 0)
    ra_nccl_check(e, api_of(e)->copy(to, from, n_bytes), "a copy of a message");
}

static RaNcclMark
mark_here(RaNcclEnd *e, const char *what)
{
  RaNcclMark mark = NULL;

  ra_nccl_check(e, api_of(e)->mark_new(e->stream, &mark), what);
  return mark;
}

/* Until the stream has passed @mark (owned). */
static void
pass(RaNcclEnd *e, RaNcclMark mark, const char *what)
{
  int result;

  if (!ra_nccl_look(e->nccl, &e->handle, 1, mark, &result))
    ra_nccl_fail(e->nccl, e->name, e->handle, what, result);
  api_of(e)->mark_free(mark);
}

void
ra_nccl_drain(RaNcclEnd *e, const char *what)
{
  pass(e, mark_here(e, what), what);
}

/* ---- messages -------------------------------------------------------------*/

/* Takes back what has been sent; @all: waits for it. */
static void
reap(RaNcclEnd *e, gboolean all)
{
  guint n = 0;

  while (n < e->sent->len) {
    RaNcclSent *s = &g_array_index(e->sent, RaNcclSent, n);

    if (!all && api_of(e)->mark_look(s->mark) != RA_NCCL_OK)
      break;
    pass(e, s->mark, "a send");
    ra_nccl_give(e->nccl, s->staged, s->n_bytes);
    n++;
  }
  g_array_remove_range(e->sent, 0, n);
}

static void
start_part(RaNcclEnd *e, const RaCommPart *part, RaNcclStream stream)
{
  const RaNcclApi *api = api_of(e);

  if (part->kind == RA_PART_SEND)
    ra_nccl_check(
        e, api->send(part->data, part->n_bytes, part->peer, e->handle, stream),
        "a send");
  else if (part->kind == RA_PART_RECV)
    ra_nccl_check(
        e, api->recv(part->data, part->n_bytes, part->peer, e->handle, stream),
        "a receive");
  else
    ra_nccl_check(e,
                  api->broadcast(part->data, part->n_bytes, part->peer,
                                 e->handle, stream),
                  "a broadcast");
}

void
ra_nccl_flush(RaNcclEnd *e)
{
  if (e->waiting->len == 0)
    return;
  ra_nccl_check(e, api_of(e)->group_start(), "messages");
  for (guint i = 0; i < e->waiting->len; i++)
    start_part(e, &g_array_index(e->waiting, RaNcclPart, i).part, e->stream);
  ra_nccl_check(e, api_of(e)->group_end(), "messages");
  for (guint i = 0; i < e->waiting->len; i++) {
    RaNcclPart *p = &g_array_index(e->waiting, RaNcclPart, i);
    RaNcclMark mark = mark_here(e, p->request ? "a receive" : "a send");
    RaNcclSent sent = {p->staged, p->part.n_bytes, mark};

    if (p->request)
      p->request->mark = mark;
    else
      g_array_append_val(e->sent, sent);
  }
  g_array_set_size(e->waiting, 0);
  reap(e, FALSE);
}

void
ra_nccl_send_staged(RaNcclEnd *e, uint32_t to, void *staged, gsize n_bytes)
{
  RaNcclPart p = {{&e->comm, RA_PART_SEND, to, staged, n_bytes}, staged, NULL};

  g_array_append_val(e->waiting, p);
}

RaCommRequest *
ra_nccl_start_recv(RaNcclEnd *e, uint32_t from, void *data, gsize n_bytes)
{
  RaCommRequest *request = g_new0(RaCommRequest, 1);
  RaNcclPart p = {{&e->comm, RA_PART_RECV, from, data, n_bytes}, NULL, request};

  request->end = e;
  request->what = "a receive";
  g_array_append_val(e->waiting, p);
  return request;
}

double
ra_nccl_wait(RaComm *comm, RaCommRequest *r)
{
  RaNcclEnd *e = r->end;
  struct timespec t;

  if (!r->mark)
    ra_nccl_flush(e);
  if (r->before)
    ra_nccl_pass_ops(e, r->before, r->what);
  pass(e, r->mark, r->what);
  if (r->out)
    ra_nccl_copy(e, (char *)r->out + r->first_byte,
                 (char *)r->staged + r->first_byte, r->n_bytes);
  if (r->staged)
    ra_nccl_give(e->nccl, r->staged, r->staged_bytes);
  g_free(r);
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
device_send(RaComm *comm, uint32_t to, const void *data, gsize n_bytes)
{
  RaNcclEnd *e = end_of(comm);
  void *staged = ra_nccl_take(e->nccl, n_bytes);

  ra_nccl_copy(e, staged, data, n_bytes);
  ra_nccl_send_staged(e, to, staged, n_bytes);
}

/* On the stream of the first; on any of the communicators it may fail. */
static void
exchange(const RaCommPart *parts, guint n)
{
  RaNcclEnd *first;
  g_autofree RaNcclHandle *handles = g_new(RaNcclHandle, n);
  RaNcclMark mark;
  int result;

  if (n == 0) /* few tokens: no expert's row comes or goes */
    return;
  first = end_of(parts[0].comm);
  for (guint i = 0; i < n; i++) {
    handles[i] = end_of(parts[i].comm)->handle;
    ra_nccl_flush(end_of(parts[i].comm));
  }
  ra_nccl_check(first, api_of(first)->group_start(), "an exchange");
  for (guint i = 0; i < n; i++)
    start_part(end_of(parts[i].comm), &parts[i], first->stream);
  ra_nccl_check(first, api_of(first)->group_end(), "an exchange");
  mark = mark_here(first, "an exchange");
  if (!ra_nccl_look(first->nccl, handles, n, mark, &result))
    ra_nccl_fail(first->nccl, first->name, first->handle, "an exchange",
                 result);
  api_of(first)->mark_free(mark);
}

static void
all_to_all(RaComm *comm, const void *in, void *out, gsize n_bytes)
{
  g_autofree RaCommPart *parts = g_new(RaCommPart, 2 * comm->n_ranks);

  for (uint32_t r = 0; r < comm->n_ranks; r++) {
    parts[2 * r] = (RaCommPart){comm, RA_PART_SEND, r,
                                (char *)(guintptr)in + r * n_bytes, n_bytes};
    parts[2 * r + 1] =
        (RaCommPart){comm, RA_PART_RECV, r, (char *)out + r * n_bytes, n_bytes};
  }
  exchange(parts, 2 * comm->n_ranks);
}

/* ---- collectives ----------------------------------------------------------*/

/* Messages that wait leave first; then behind the ops. */
static RaNcclMark
ready(RaNcclEnd *e, const char *what)
{
  ra_nccl_flush(e);
  return ra_nccl_follow_ops(e, what);
}

/* Ops overlap with it, until it is waited for. */
static RaCommRequest *
started(RaNcclEnd *e, RaNcclMark before, int result, const char *what)
{
  RaCommRequest *request = g_new0(RaCommRequest, 1);

  ra_nccl_check(e, result, what);
  request->end = e;
  request->before = before;
  request->what = what;
  request->mark = mark_here(e, what);
  return request;
}

/* Ops go on behind it.  What the library has not taken yet no mark is behind.
 */
static void
begun(RaNcclEnd *e, RaNcclMark before, int result, const char *what)
{
  ra_nccl_check(e, result, what);
  ra_nccl_ops_follow(e, before, what);
}

RaCommRequest *
ra_nccl_start_reduce(RaNcclEnd *e, RaReduce reduce, float *data, gsize n)
{
  RaNcclMark before = ready(e, "an all-reduce");

  return started(e, before,
                 api_of(e)->all_reduce(data, data, n, RA_COMM_F32, reduce,
                                       e->handle, e->stream),
                 "an all-reduce");
}

static RaCommRequest *
start_all_reduce(RaComm *comm, float *data, gsize n)
{
  return ra_nccl_start_reduce(end_of(comm), RA_REDUCE_SUM, data, n);
}

/* Parts of unlike sizes are a reduction each. */
static RaCommRequest *
start_reduce_scatter(RaComm *comm, float *data, gsize n)
{
  RaNcclEnd *e = end_of(comm);
  uint32_t n_ranks = comm->n_ranks;
  gsize part = n / n_ranks;
  RaNcclMark before = ready(e, "a reduce-scatter");

  if (n % n_ranks == 0)
    return started(e, before,
                   api_of(e)->reduce_scatter(data, data + comm->rank * part,
                                             part, RA_COMM_F32, e->handle,
                                             e->stream),
                   "a reduce-scatter");
  ra_nccl_check(e, api_of(e)->group_start(), "a reduce-scatter");
  for (uint32_t r = 0; r < n_ranks; r++) {
    gsize begin = n * r / n_ranks, end = n * (r + 1) / n_ranks;

    if (end > begin)
      ra_nccl_check(e,
                    api_of(e)->reduce(data + begin, data + begin, end - begin,
                                      r, e->handle, e->stream),
                    "a reduce-scatter");
  }
  return started(e, before, api_of(e)->group_end(), "a reduce-scatter");
}

static void
all_reduce(RaComm *comm, RaCommType type, void *data, gsize n)
{
  RaNcclEnd *e = end_of(comm);
  RaNcclMark before = ready(e, "an all-reduce");

  begun(e, before,
        api_of(e)->all_reduce(data, data, n, type, RA_REDUCE_SUM, e->handle,
                              e->stream),
        "an all-reduce");
}

static void
reduce_scatter(RaComm *comm, RaCommType type, const void *in, void *out,
               gsize n)
{
  RaNcclEnd *e = end_of(comm);
  RaNcclMark before = ready(e, "a reduce-scatter");

  begun(e, before,
        api_of(e)->reduce_scatter(in, out, n, type, e->handle, e->stream),
        "a reduce-scatter");
}

static void
all_gather(RaComm *comm, const void *in, void *out, gsize n_bytes)
{
  RaNcclEnd *e = end_of(comm);
  RaNcclMark before = ready(e, "an all-gather");

  begun(e, before,
        api_of(e)->all_gather(in, out, n_bytes, e->handle, e->stream),
        "an all-gather");
}

static void
broadcast(RaComm *comm, uint32_t root, void *data, gsize n_bytes)
{
  RaNcclEnd *e = end_of(comm);
  RaNcclMark before = ready(e, "a broadcast");

  begun(e, before,
        api_of(e)->broadcast(data, n_bytes, root, e->handle, e->stream),
        "a broadcast");
}

static RaCommRequest *
device_start_recv(RaComm *comm, uint32_t from, void *data, gsize n_bytes)
{
  return ra_nccl_start_recv(end_of(comm), from, data, n_bytes);
}

const RaCommDevice ra_nccl_device = {
    .all_reduce = all_reduce,
    .reduce_scatter = reduce_scatter,
    .all_gather = all_gather,
    .broadcast = broadcast,
    .all_to_all = all_to_all,
    .send = device_send,
    .start_recv = device_start_recv,
    .start_all_reduce = start_all_reduce,
    .start_reduce_scatter = start_reduce_scatter,
    .exchange = exchange,
    .capture = ra_nccl_capture,
};

/* ---- ends -----------------------------------------------------------------*/

/* Messages that have not arrived when a run is ended stay in progress. */
void
ra_nccl_end_free(RaComm *comm)
{
  RaNcclEnd *e = end_of(comm);

  if (!e->nccl->is_dropped) {
    ra_nccl_pass_all(e->nccl);
    ra_nccl_flush(e);
    reap(e, TRUE);
    for (guint i = 0; i < e->enrols->len; i++)
      api_of(e)->withdraw(e->handle, e->enrols->pdata[i]);
  }
  if (e->has_own_stream)
    api_of(e)->stream_free(e->stream);
  g_array_unref(e->waiting);
  g_array_unref(e->sent);
  g_ptr_array_unref(e->enrols);
  g_free(e->name);
  g_free(e);
}

RaNcclEnd *
ra_nccl_end_new(RaNccl *nccl, uint32_t group, gboolean own_stream)
{
  const RaCommGroup *g = group == RA_NONE ? NULL
                                          : &g_array_index(nccl->splits->groups,
                                                           RaCommGroup, group);
  RaNcclEnd *e = g_new0(RaNcclEnd, 1);

  e->comm = (RaComm){
      .table = &ra_nccl_table,
      .rank = g ? ra_comm_groups_rank_in(nccl->splits, group, nccl->rank)
                : nccl->rank,
      .n_ranks = g ? g->n : nccl->n_ranks};
  e->nccl = nccl;
  e->handle = g ? nccl->handles[group] : nccl->world;
  g_assert(e->handle);
  e->name = g ? ra_comm_groups_name(nccl->splits, group, nccl->plan)
              : g_strdup("all ranks");
  e->waiting = g_array_new(FALSE, FALSE, sizeof(RaNcclPart));
  e->sent = g_array_new(FALSE, FALSE, sizeof(RaNcclSent));
  e->enrols = g_ptr_array_new();
  e->has_own_stream = own_stream;
  if (own_stream)
    ra_nccl_check(e, api_of(e)->stream_new(&e->stream), "a stream");
  else
    e->stream =
        ra_nccl_stream(nccl, g ? (RaStream)g->stream : RA_STREAM_REALLOC);
  return e;
}

RaComm *
ra_nccl_comm_new(RaNccl *nccl, uint32_t group)
{
  return &ra_nccl_end_new(nccl, group, FALSE)->comm;
}

gboolean
ra_nccl_enrol(RaComm *comm, void *data, gsize n_bytes)
{
  RaNcclEnd *e = end_of(comm);
  void *handle;

  if (!api_of(e)->enrol)
    return FALSE;
  ra_nccl_check(e, api_of(e)->enrol(e->handle, data, n_bytes, &handle),
                "a buffer");
  g_ptr_array_add(e->enrols, handle);
  return TRUE;
}
