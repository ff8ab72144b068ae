/* Operations and group calls. */
#include "config.h"

#include <string.h>

#include "kernels/cpu/bf16.h"
#include "tests/double/nccl_double_far.h"

static _Thread_local guint depth;
static _Thread_local GPtrArray *grouped;
static _Thread_local Stream *grouped_on;

void
nccl_double_over(Op *op)
{
  op->is_over = TRUE;
  if (op->comm->stands_in) {
    nccl_double_far_over(op);
    return;
  }
  if (--op->launch->n_left > 0)
    return;
  for (guint i = 0; i < d.streams->len; i++) {
    Stream *s = d.streams->pdata[i];

    if (s->launch == op->launch && s->state == WAITS_PEERS)
      nccl_double_resume(s);
  }
}

void
nccl_double_arrive(Op *op, const void *data, gsize n_bytes)
{
  gboolean is_message = op->kind == RECV || op->kind == BROADCAST;

  if (n_bytes == 0)
    return;
  nccl_double_open();
  memcpy(op->out, data, n_bytes);
  if (d.damages && is_message && op->launch && op->launch->ops->len > 1)
    ((char *)op->out)[n_bytes - 1] ^= (char)0x80;
  nccl_double_close();
}

static void
meet_pair(Op *send, Op *recv)
{
  if (send->n != recv->n)
    send->comm->result = recv->comm->result = NCCL_DOUBLE_USAGE;
  else
    nccl_double_arrive(recv, send->in, send->n);
  nccl_double_over(send);
  nccl_double_over(recv);
}

static float
number_at(const Op *op, gsize at)
{
  return op->type == RA_COMM_BF16
             ? ra_bf16_to_f32(((const uint16_t *)op->in)[at])
             : ((const float *)op->in)[at];
}

/* Rounded at every term, as hops of a ring do. */
static float
reduced(Op **ops, uint32_t n_ranks, gsize at)
{
  float x = number_at(ops[d.adds_in_order ? 0 : n_ranks - 1], at);

  for (uint32_t i = 1; i < n_ranks; i++) {
    float y = number_at(ops[d.adds_in_order ? i : n_ranks - 1 - i], at);

    x = ops[0]->reduce == RA_REDUCE_SUM ? x + y : MAX(x, y);
    if (ops[0]->type == RA_COMM_BF16)
      x = ra_bf16_to_f32(ra_bf16_from_f32(x));
  }
  return x;
}

/* The part of @x that is numbers of @op. */
static void
put_numbers(const Op *op, const float *x, gsize n)
{
  if (op->type == RA_COMM_F32) {
    memcpy(op->out, x, n * sizeof *x);
    return;
  }
  for (gsize i = 0; i < n; i++)
    ((uint16_t *)op->out)[i] = ra_bf16_from_f32(x[i]);
}

/* The sums, of @n floats, aside: places may be in place. */
static void
reduce_all(Op **ops, uint32_t n_ranks, gsize n)
{
  g_autofree float *sums = NULL;
  Kind kind = ops[0]->kind;

  n *= kind == REDUCE_SCATTER ? n_ranks : 1;
  sums = g_new(float, n + 1);
  for (gsize i = 0; i < n; i++)
    sums[i] = reduced(ops, n_ranks, i);
  for (uint32_t r = 0; r < n_ranks; r++)
    if (kind == REDUCE_SCATTER)
      put_numbers(ops[r], sums + r * ops[r]->n, ops[r]->n);
    else if (kind == ALL_REDUCE || r == ops[0]->peer)
      put_numbers(ops[r], sums, n);
}

static void
gather_all(Op **ops, uint32_t n_ranks, gsize n_bytes)
{
  g_autofree char *all = g_malloc(n_ranks * n_bytes + 1);

  for (uint32_t r = 0; r < n_ranks; r++)
    memcpy(all + r * n_bytes, ops[r]->in, n_bytes);
  for (uint32_t r = 0; r < n_ranks; r++)
    memcpy(ops[r]->out, all, n_ranks * n_bytes);
}

static void
meet_all(Op **ops, uint32_t n_ranks)
{
  gboolean is_same = TRUE;

  for (uint32_t r = 1; r < n_ranks; r++)
    is_same = is_same && ops[r]->kind == ops[0]->kind &&
              ops[r]->n == ops[0]->n && ops[r]->peer == ops[0]->peer &&
              ops[r]->reduce == ops[0]->reduce && ops[r]->type == ops[0]->type;
  for (uint32_t r = 0; r < n_ranks && !is_same; r++)
    ops[r]->comm->result = NCCL_DOUBLE_USAGE;
  nccl_double_open();
  if (is_same && ops[0]->kind == ALL_GATHER)
    gather_all(ops, n_ranks, ops[0]->n);
  else if (is_same && ops[0]->kind == BROADCAST) {
    for (uint32_t r = 0; r < n_ranks; r++)
      if (r != ops[0]->peer)
        nccl_double_arrive(ops[r], ops[ops[0]->peer]->in, ops[0]->n);
  } else if (is_same)
    reduce_all(ops, n_ranks, ops[0]->n);
  nccl_double_close();
  for (uint32_t r = 0; r < n_ranks; r++)
    nccl_double_over(ops[r]);
}

void
nccl_double_post(Op *op)
{
  Shared *s = op->comm->shared;
  uint32_t rank = op->comm->rank, n = s->n_ranks;

  if (op->comm->link && !op->comm->stands_in) {
    nccl_double_far_post(op);
    return;
  }
  if (op->kind == SEND || op->kind == RECV) {
    uint32_t pair =
        op->kind == SEND ? rank * n + op->peer : op->peer * n + rank;
    Op *other =
        g_queue_pop_head(op->kind == SEND ? &s->want[pair] : &s->sent[pair]);

    if (!other)
      g_queue_push_tail(op->kind == SEND ? &s->sent[pair] : &s->want[pair], op);
    else if (op->kind == SEND)
      meet_pair(op, other);
    else
      meet_pair(other, op);
  } else {
    guint number = op->comm->n_meetings++;
    Meeting *m;

    while (s->meetings->len <= number) {
      m = g_new0(Meeting, 1);
      m->ops = g_new0(Op *, n);
      g_ptr_array_add(s->meetings, m);
    }
    m = s->meetings->pdata[number];
    m->ops[rank] = op;
    if (++m->n_here == n)
      meet_all(m->ops, n);
  }
}

/* Takes what has not met anybody out of the way. */
void
nccl_double_unpost(Op *op)
{
  Shared *s = op->comm->shared;
  uint32_t n = s->n_ranks;

  if (op->comm->link && !op->comm->stands_in) {
    nccl_double_far_unpost(op);
    return;
  }
  for (uint32_t i = 0; i < n * n; i++) {
    g_queue_remove(&s->sent[i], op);
    g_queue_remove(&s->want[i], op);
  }
  for (guint i = 0; i < s->meetings->len; i++) {
    Meeting *m = s->meetings->pdata[i];

    for (uint32_t r = 0; r < n; r++)
      if (m->ops[r] == op) {
        m->ops[r] = NULL;
        m->n_here--;
      }
  }
}

static int
group_start(void)
{
  if (depth++ == 0) {
    grouped = g_ptr_array_new_with_free_func(g_free);
    grouped_on = NULL;
  }
  return RA_NCCL_OK;
}

static void
add_ticket(Launch *l, Comm *comm)
{
  for (guint i = 0; i < l->comms->len; i++)
    if (g_array_index(l->comms, Comm *, i) == comm)
      return;
  g_array_append_val(l->comms, comm);
  g_array_append_val(l->tickets, comm->n_given);
  comm->n_given++;
}

/* @ops: (transfer full) */
static int
begin_launch(Stream *s, GPtrArray *ops)
{
  Launch *l = nccl_double_launch_new(ops);
  int result = RA_NCCL_OK;

  pthread_mutex_lock(&d.lock);
  nccl_double_look(FALSE);
  d.tally.n_groups += ops->len > 1;
  d.tally.n_ops += ops->len;
  for (guint i = 0; i < ops->len; i++)
    d.tally.n_shown += nccl_double_is_shown(ops->pdata[i]);
  for (guint i = 0; i < ops->len; i++) {
    Op *op = ops->pdata[i];

    op->launch = l;
    add_ticket(l, op->comm);
    if (!op->comm->is_ready || op->comm->is_splitting)
      result = NCCL_DOUBLE_USAGE;
  }
  nccl_double_push(s, l);
  pthread_mutex_unlock(&d.lock);
  return result;
}

/* A captured launch. */
typedef struct {
  Stream *stream;
  GPtrArray *ops; /* Op, owned */
} Noted;

static void
noted_free(void *data)
{
  Noted *n = data;

  g_ptr_array_unref(n->ops);
  g_free(n);
}

static void
launch_again(void *data)
{
  const Noted *n = data;
  GPtrArray *ops = g_ptr_array_new_with_free_func(g_free);

  for (guint i = 0; i < n->ops->len; i++)
    g_ptr_array_add(ops, g_memdup2(n->ops->pdata[i], sizeof(Op)));
  begin_launch(n->stream, ops);
}

static int
group_end(void)
{
  Noted noted = {grouped_on, grouped};

  if (--depth > 0)
    return RA_NCCL_OK;
  if (grouped->len == 0) {
    g_ptr_array_unref(grouped);
    return RA_NCCL_OK;
  }
  if (!nccl_double_is_captured(grouped_on))
    return begin_launch(grouped_on, grouped);
  d.memory->note(launch_again, g_memdup2(&noted, sizeof noted), noted_free);
  return RA_NCCL_OK;
}

/* TRUE if @data is memory of the calling thread's device, or NULL. */
static gboolean
is_here(const void *data)
{
  return !data || !d.memory || d.memory->device_of(data) == d.memory->device();
}

static int
give(Op value, RaNcclHandle comm, RaNcclStream stream)
{
  Op *op = g_memdup2(&value, sizeof value);

  op->comm = comm;
  nccl_double_connect(comm);
  if (!is_here(op->in) || !is_here(op->out)) {
    pthread_mutex_lock(&d.lock);
    d.tally.n_misuses++;
    pthread_mutex_unlock(&d.lock);
  }
  group_start();
  if (grouped_on && grouped_on != stream)
    g_error("a group on two streams");
  grouped_on = stream;
  g_ptr_array_add(grouped, op);
  return group_end();
}

static int
all_reduce(const void *in, void *out, gsize n, RaCommType type, RaReduce reduce,
           RaNcclHandle comm, RaNcclStream stream)
{
  return give((Op){.kind = ALL_REDUCE,
                   .in = in,
                   .out = out,
                   .n = n,
                   .type = type,
                   .reduce = reduce},
              comm, stream);
}

static int
reduce_to(const float *in, float *out, gsize n, uint32_t root,
          RaNcclHandle comm, RaNcclStream stream)
{
  return give((Op){.kind = REDUCE, .in = in, .out = out, .n = n, .peer = root},
              comm, stream);
}

static int
reduce_scatter(const void *in, void *out, gsize n, RaCommType type,
               RaNcclHandle comm, RaNcclStream stream)
{
  return give(
      (Op){.kind = REDUCE_SCATTER, .in = in, .out = out, .n = n, .type = type},
      comm, stream);
}

static int
all_gather(const void *in, void *out, gsize n_bytes, RaNcclHandle comm,
           RaNcclStream stream)
{
  return give((Op){.kind = ALL_GATHER, .in = in, .out = out, .n = n_bytes},
              comm, stream);
}

static int
broadcast(void *data, gsize n_bytes, uint32_t root, RaNcclHandle comm,
          RaNcclStream stream)
{
  return give((Op){.kind = BROADCAST,
                   .in = data,
                   .out = data,
                   .n = n_bytes,
                   .peer = root},
              comm, stream);
}

static int
send_to(const void *data, gsize n_bytes, uint32_t to, RaNcclHandle comm,
        RaNcclStream stream)
{
  return give((Op){.kind = SEND, .in = data, .n = n_bytes, .peer = to}, comm,
              stream);
}

static int
recv_from(void *data, gsize n_bytes, uint32_t from, RaNcclHandle comm,
          RaNcclStream stream)
{
  return give((Op){.kind = RECV, .out = data, .n = n_bytes, .peer = from}, comm,
              stream);
}

void
nccl_double_set_groups(RaNcclApi *api)
{
  api->group_start = group_start;
  api->group_end = group_end;
  api->all_reduce = all_reduce;
  api->reduce = reduce_to;
  api->reduce_scatter = reduce_scatter;
  api->all_gather = all_gather;
  api->broadcast = broadcast;
  api->send = send_to;
  api->recv = recv_from;
}
