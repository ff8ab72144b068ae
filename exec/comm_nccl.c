#include "config.h"

#include <string.h>
#include <time.h>

#include "exec/nccl_impl.h"

struct _RaCommRequest {
  RaNcclEnd *end;  /* borrowed */
  RaNcclMark mark; /* NULL: has not been started yet */
  const char *what;
};

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

/* What a call gave: it may go on for a while, or end the run. */
static void
check(RaNcclEnd *e, int result, const char *what)
{
  if (result == RA_NCCL_OK)
    return;
  if (result == RA_NCCL_BUSY &&
      ra_nccl_look(e->nccl, &e->handle, 1, NULL, &result))
    return;
  ra_nccl_fail(e->nccl, e->name, e->handle, what, result);
}

static RaNcclMark
mark_here(RaNcclEnd *e, const char *what)
{
  RaNcclMark mark = NULL;

  check(e, api_of(e)->mark_new(e->stream, &mark), what);
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

static void *
stage(RaNcclEnd *e, const void *data, gsize n_bytes)
{
  void *staged = NULL;

  check(e, api_of(e)->alloc(&staged, MAX(n_bytes, 1)), "memory of a message");
  if (data)
    check(e, api_of(e)->copy(staged, data, n_bytes), "a copy of a message");
  return staged;
}

/* Frees what has been sent; @all: waits for it. */
static void
reap(RaNcclEnd *e, gboolean all)
{
  guint n = 0;

  while (n < e->sent->len) {
    RaNcclSent *s = &g_array_index(e->sent, RaNcclSent, n);

    if (!all && api_of(e)->mark_look(s->mark) != RA_NCCL_OK)
      break;
    pass(e, s->mark, "a send");
    api_of(e)->free(s->staged);
    n++;
  }
  g_array_remove_range(e->sent, 0, n);
}

static void
keep(RaNcclEnd *e, void *staged)
{
  RaNcclSent sent = {staged, mark_here(e, "a send")};

  g_array_append_val(e->sent, sent);
}

static void
start_part(RaNcclEnd *e, const RaCommPart *part, RaNcclStream stream)
{
  const RaNcclApi *api = api_of(e);

  if (part->kind == RA_PART_SEND)
    check(e,
          api->send(part->data, part->n_bytes, part->peer, e->handle, stream),
          "a send");
  else if (part->kind == RA_PART_RECV)
    check(e,
          api->recv(part->data, part->n_bytes, part->peer, e->handle, stream),
          "a receive");
  else
    check(e,
          api->broadcast(part->data, part->n_bytes, part->peer, e->handle,
                         stream),
          "a broadcast");
}

/* All messages that have not left, at a time. */
static void
flush(RaNcclEnd *e)
{
  if (e->waiting->len == 0)
    return;
  check(e, api_of(e)->group_start(), "messages");
  for (guint i = 0; i < e->waiting->len; i++)
    start_part(e, &g_array_index(e->waiting, RaNcclPart, i).part, e->stream);
  check(e, api_of(e)->group_end(), "messages");
  for (guint i = 0; i < e->waiting->len; i++) {
    RaNcclPart *p = &g_array_index(e->waiting, RaNcclPart, i);

    if (p->request)
      p->request->mark = mark_here(e, "a receive");
    else
      keep(e, p->staged);
  }
  g_array_set_size(e->waiting, 0);
  reap(e, FALSE);
}

static void
send_message(RaComm *comm, uint32_t to, const void *data, gsize n_bytes)
{
  RaNcclEnd *e = end_of(comm);
  void *staged = stage(e, data, n_bytes);
  RaNcclPart p = {{comm, RA_PART_SEND, to, staged, n_bytes}, staged, NULL};

  g_array_append_val(e->waiting, p);
}

static RaCommRequest *
start_recv(RaComm *comm, uint32_t from, void *data, gsize n_bytes)
{
  RaCommRequest *request = g_new0(RaCommRequest, 1);
  RaNcclPart p = {{comm, RA_PART_RECV, from, data, n_bytes}, NULL, request};

  request->end = end_of(comm);
  request->what = "a receive";
  g_array_append_val(request->end->waiting, p);
  return request;
}

static double
wait_request(RaComm *comm, RaCommRequest *request)
{
  struct timespec t;

  if (!request->mark)
    flush(request->end);
  pass(request->end, request->mark, request->what);
  g_free(request);
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
recv_message(RaComm *comm, uint32_t from, void *data, gsize n_bytes)
{
  wait_request(comm, start_recv(comm, from, data, n_bytes));
}

/* On the stream of the first; on any of the communicators it may fail. */
static void
exchange(const RaCommPart *parts, guint n)
{
  RaNcclEnd *first = end_of(parts[0].comm);
  g_autofree RaNcclHandle *handles = g_new(RaNcclHandle, n);
  RaNcclMark mark;
  int result;

  for (guint i = 0; i < n; i++) {
    handles[i] = end_of(parts[i].comm)->handle;
    flush(end_of(parts[i].comm));
  }
  check(first, api_of(first)->group_start(), "an exchange");
  for (guint i = 0; i < n; i++)
    start_part(end_of(parts[i].comm), &parts[i], first->stream);
  if (api_of(first)->group_end() != RA_NCCL_OK)
    for (guint i = 0; i < n; i++)
      check(end_of(parts[i].comm), RA_NCCL_BUSY, "an exchange");
  mark = mark_here(first, "an exchange");
  if (!ra_nccl_look(first->nccl, handles, n, mark, &result))
    ra_nccl_fail(first->nccl, first->name, first->handle, "an exchange",
                 result);
  api_of(first)->mark_free(mark);
}

static RaCommRequest *
started(RaNcclEnd *e, int result, const char *what)
{
  RaCommRequest *request = g_new0(RaCommRequest, 1);

  check(e, result, what);
  request->end = e;
  request->what = what;
  request->mark = mark_here(e, what);
  return request;
}

static void
finish(RaNcclEnd *e, int result, const char *what)
{
  check(e, result, what);
  pass(e, mark_here(e, what), what);
}

static RaCommRequest *
start_all_reduce(RaComm *comm, RaReduce reduce, float *data, gsize n)
{
  RaNcclEnd *e = end_of(comm);

  flush(e);
  return started(
      e, api_of(e)->all_reduce(data, data, n, reduce, e->handle, e->stream),
      "an all-reduce");
}

/* Parts of unlike sizes are a reduction each. */
static RaCommRequest *
start_reduce_scatter(RaComm *comm, float *data, gsize n)
{
  RaNcclEnd *e = end_of(comm);
  uint32_t n_ranks = comm->n_ranks;
  gsize part = n / n_ranks;

  flush(e);
  if (n % n_ranks == 0)
    return started(e,
                   api_of(e)->reduce_scatter(data, data + comm->rank * part,
                                             part, e->handle, e->stream),
                   "a reduce-scatter");
  check(e, api_of(e)->group_start(), "a reduce-scatter");
  for (uint32_t r = 0; r < n_ranks; r++) {
    gsize begin = n * r / n_ranks, end = n * (r + 1) / n_ranks;

    if (end > begin)
      check(e,
            api_of(e)->reduce(data + begin, data + begin, end - begin, r,
                              e->handle, e->stream),
            "a reduce-scatter");
  }
  return started(e, api_of(e)->group_end(), "a reduce-scatter");
}

static void
all_reduce(RaComm *comm, RaReduce reduce, float *data, gsize n)
{
  wait_request(comm, start_all_reduce(comm, reduce, data, n));
}

static void
reduce_scatter(RaComm *comm, const float *in, float *out, gsize n)
{
  RaNcclEnd *e = end_of(comm);

  flush(e);
  finish(e, api_of(e)->reduce_scatter(in, out, n, e->handle, e->stream),
         "a reduce-scatter");
}

static void
all_gather(RaComm *comm, const void *in, void *out, gsize n_bytes)
{
  RaNcclEnd *e = end_of(comm);

  flush(e);
  finish(e, api_of(e)->all_gather(in, out, n_bytes, e->handle, e->stream),
         "an all-gather");
}

static void
broadcast(RaComm *comm, uint32_t root, void *data, gsize n_bytes)
{
  RaNcclEnd *e = end_of(comm);

  flush(e);
  finish(e, api_of(e)->broadcast(data, n_bytes, root, e->handle, e->stream),
         "a broadcast");
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

static void
barrier(RaComm *comm)
{
  RaNcclEnd *e = end_of(comm);
  float zero = 0;

  if (!e->scratch)
    e->scratch = stage(e, &zero, sizeof zero);
  all_reduce(comm, RA_REDUCE_SUM, e->scratch, 1);
}

/* What has not arrived when a run has been ended stays as it is. */
static void
comm_free(RaComm *comm)
{
  RaNcclEnd *e = end_of(comm);

  if (!e->nccl->is_dropped) {
    flush(e);
    reap(e, TRUE);
    for (guint i = 0; i < e->enrols->len; i++)
      api_of(e)->withdraw(e->handle, e->enrols->pdata[i]);
  }
  if (e->scratch)
    api_of(e)->free(e->scratch);
  if (e->has_own_stream)
    api_of(e)->stream_free(e->stream);
  g_array_unref(e->waiting);
  g_array_unref(e->sent);
  g_ptr_array_unref(e->enrols);
  g_free(e->name);
  g_free(e);
}

static const RaCommTable table = {
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
    .wait = wait_request,
    .free = comm_free,
};

static RaNcclEnd *
end_new(RaNccl *nccl, uint32_t group)
{
  const RaSplitGroup *g =
      &g_array_index(nccl->splits->groups, RaSplitGroup, group);
  RaNcclEnd *e = g_new0(RaNcclEnd, 1);

  e->comm = (RaComm){.table = &table,
                     .rank = ra_splits_rank_in(nccl->splits, group, nccl->rank),
                     .n_ranks = g->n};
  e->nccl = nccl;
  e->handle = nccl->handles[group];
  g_assert(e->handle);
  e->name = ra_splits_name(nccl->splits, group, nccl->plan);
  e->waiting = g_array_new(FALSE, FALSE, sizeof(RaNcclPart));
  e->sent = g_array_new(FALSE, FALSE, sizeof(RaNcclSent));
  e->enrols = g_ptr_array_new();
  return e;
}

RaComm *
ra_nccl_comm_new(RaNccl *nccl, uint32_t group)
{
  RaNcclEnd *e = end_new(nccl, group);

  e->stream = ra_nccl_stream(
      nccl, (RaStream)g_array_index(nccl->splits->groups, RaSplitGroup, group)
                .stream);
  return &e->comm;
}

gboolean
ra_nccl_enrol(RaComm *comm, void *data, gsize n_bytes)
{
  RaNcclEnd *e = end_of(comm);
  void *handle;

  if (!api_of(e)->enrol)
    return FALSE;
  check(e, api_of(e)->enrol(e->handle, data, n_bytes, &handle), "a buffer");
  g_ptr_array_add(e->enrols, handle);
  return TRUE;
}

typedef struct {
  RaComm comm;
  RaNcclEnd **to, **from; /* (n_ranks) NULL: no pair; owned */
} Pairs;

/* Starts at once: the pair's stream has what goes this way alone. */
static void
pairs_send(RaComm *comm, uint32_t to, const void *data, gsize n_bytes)
{
  RaNcclEnd *e = ((Pairs *)comm)->to[to];

  g_assert(e);
  send_message(&e->comm, 1, data, n_bytes);
  flush(e);
}

static RaCommRequest *
pairs_start_recv(RaComm *comm, uint32_t from, void *data, gsize n_bytes)
{
  RaNcclEnd *e = ((Pairs *)comm)->from[from];
  RaCommRequest *request;

  g_assert(e);
  request = start_recv(&e->comm, 0, data, n_bytes);
  flush(e);
  return request;
}

static void
pairs_recv(RaComm *comm, uint32_t from, void *data, gsize n_bytes)
{
  wait_request(comm, pairs_start_recv(comm, from, data, n_bytes));
}

static void
pairs_free(RaComm *comm)
{
  Pairs *p = (Pairs *)comm;

  for (uint32_t i = 0; i < comm->n_ranks; i++) {
    if (p->to[i])
      comm_free(&p->to[i]->comm);
    if (p->from[i])
      comm_free(&p->from[i]->comm);
  }
  g_free(p->to);
  g_free(p->from);
  g_free(p);
}

static const RaCommTable pairs_table = {.name = "nccl",
                                        .send = pairs_send,
                                        .recv = pairs_recv,
                                        .start_recv = pairs_start_recv,
                                        .wait = wait_request,
                                        .free = pairs_free};

static RaNcclEnd *
pair_new(RaNccl *nccl, uint32_t group)
{
  RaNcclEnd *e = end_new(nccl, group);

  e->has_own_stream = TRUE;
  check(e, api_of(e)->stream_new(&e->stream), "a stream");
  return e;
}

RaComm *
ra_nccl_pairs_new(RaNccl *nccl, RaStream stream)
{
  Pairs *p = g_new0(Pairs, 1);

  p->comm = (RaComm){
      .table = &pairs_table, .rank = nccl->rank, .n_ranks = nccl->n_ranks};
  p->to = g_new0(RaNcclEnd *, nccl->n_ranks);
  p->from = g_new0(RaNcclEnd *, nccl->n_ranks);
  for (uint32_t i = 0; i < nccl->splits->groups->len; i++) {
    const RaSplitGroup *g =
        &g_array_index(nccl->splits->groups, RaSplitGroup, i);
    const uint32_t *members =
        &g_array_index(nccl->splits->members, uint32_t, g->first);

    if (g->kind != RA_GROUP_PAIR || g->stream != stream)
      continue;
    if (members[0] == nccl->rank)
      p->to[members[1]] = pair_new(nccl, i);
    else if (members[1] == nccl->rank)
      p->from[members[0]] = pair_new(nccl, i);
  }
  return &p->comm;
}
