/* Communicators, made and closed by calls that block. */
#include "config.h"

#include <string.h>

#include "tests/double/nccl_double_far.h"

static int
unique_id(RaNcclId *out_id)
{
  static guint n;

  memset(out_id, 0, sizeof *out_id);
  if (d.goes_far)
    return nccl_double_far_id(out_id);
  g_snprintf(out_id->bytes, sizeof out_id->bytes, "double %d",
             g_atomic_int_add((gint *)&n, 1));
  return RA_NCCL_OK;
}

Shared *
nccl_double_shared_new(uint32_t n_ranks)
{
  Shared *s = g_new0(Shared, 1);

  s->n_ranks = n_ranks;
  s->ends = g_new0(Comm *, n_ranks);
  s->sent = g_new0(GQueue, (gsize)n_ranks * n_ranks);
  s->want = g_new0(GQueue, (gsize)n_ranks * n_ranks);
  s->meetings = g_ptr_array_new();
  s->splits = g_ptr_array_new();
  g_ptr_array_add(d.shared, s);
  return s;
}

void
nccl_double_shared_free(gpointer data)
{
  Shared *s = data;

  for (uint32_t i = 0; i < s->n_ranks * s->n_ranks; i++) {
    g_queue_clear(&s->sent[i]);
    g_queue_clear(&s->want[i]);
  }
  for (guint i = 0; i < s->meetings->len; i++) {
    g_free(((Meeting *)s->meetings->pdata[i])->ops);
    g_free(s->meetings->pdata[i]);
  }
  for (guint i = 0; i < s->splits->len; i++) {
    Split *split = s->splits->pdata[i];

    g_free(split->colour);
    g_free(split->key);
    g_free(split->ends);
    g_free(split);
  }
  g_ptr_array_unref(s->meetings);
  g_ptr_array_unref(s->splits);
  g_free(s->ends);
  g_free(s->sent);
  g_free(s->want);
  g_free(s);
}

Comm *
nccl_double_comm_new(void)
{
  Comm *c = g_new0(Comm, 1);

  g_ptr_array_add(d.comms, c);
  d.tally.n_comms++;
  return c;
}

void
nccl_double_set_ready(Comm *c)
{
  c->is_ready = TRUE;
  if (c->stands_in)
    nccl_double_far_ready(c);
  pthread_cond_broadcast(&d.changed);
}

int
nccl_double_come(const Comm *c, const gboolean *until, gboolean value)
{
  guint n_ends = d.n_ends;

  while (n_ends == d.n_ends && *until != value && c->result == RA_NCCL_OK &&
         !c->is_aborted)
    pthread_cond_wait(&d.changed, &d.lock);
  if (n_ends != d.n_ends || c->is_aborted)
    return NCCL_DOUBLE_USAGE;
  return c->result;
}

void
nccl_double_set_split(Comm *c)
{
  c->is_splitting = FALSE;
  if (c->stands_in)
    nccl_double_far_split_over(c);
  pthread_cond_broadcast(&d.changed);
}

void
nccl_double_join(Comm *c, uint32_t n_ranks, const RaNcclId *id, uint32_t rank)
{
  Shared *s = NULL;

  for (guint i = 0; i < d.shared->len && !s; i++) {
    Shared *other = d.shared->pdata[i];

    if (memcmp(&other->id, id, sizeof *id) == 0)
      s = other;
  }
  if (!s) {
    s = nccl_double_shared_new(n_ranks);
    s->id = *id;
  }
  c->shared = s;
  c->rank = rank;
  s->ends[rank] = c;
  if (++s->n_here == n_ranks)
    for (uint32_t i = 0; i < n_ranks; i++)
      nccl_double_set_ready(s->ends[i]);
}

static int
init(RaNcclHandle *out_comm, uint32_t n_ranks, const RaNcclId *id,
     uint32_t rank)
{
  int result = RA_NCCL_OK;
  Comm *c;

  pthread_mutex_lock(&d.lock);
  nccl_double_look(FALSE);
  c = nccl_double_comm_new();
  if (d.goes_far)
    result = nccl_double_far_join(c, n_ranks, id, rank);
  else
    nccl_double_join(c, n_ranks, id, rank);
  if (result == RA_NCCL_OK)
    result = nccl_double_come(c, &c->is_ready, TRUE);
  pthread_mutex_unlock(&d.lock);
  if (result == RA_NCCL_OK)
    *out_comm = c;
  return result;
}

/* Memory of the calling thread's device, where there is one. */
static void *
take(gsize n_bytes)
{
  return d.memory && n_bytes > 0 ? d.memory->alloc(n_bytes) : NULL;
}

void
nccl_double_connect(Comm *c)
{
  if (!c->connected)
    c->connected = take((c->shared->n_ranks - 1) * d.connected_bytes);
}

/* TRUE if rank @a of @p comes before @b in the group of their colour. */
static gboolean
is_before(const Split *p, uint32_t a, uint32_t b)
{
  return p->key[a] != p->key[b] ? p->key[a] < p->key[b] : a < b;
}

/* All have come: those of one colour get what they share. */
static void
end_split(Shared *s, Split *p)
{
  for (uint32_t i = 0; i < s->n_ranks; i++) {
    uint32_t n = 0, before = 0;

    for (uint32_t k = 0; k < s->n_ranks; k++)
      if (p->colour[k] == p->colour[i]) {
        n++;
        before += is_before(p, k, i);
      }
    if (!p->ends[i])
      continue;
    p->ends[i]->rank = before;
    for (uint32_t k = 0; k < i && !p->ends[i]->shared; k++)
      if (p->colour[k] == p->colour[i])
        p->ends[i]->shared = p->ends[k]->shared;
    if (!p->ends[i]->shared)
      p->ends[i]->shared = nccl_double_shared_new(n);
    p->ends[i]->shared->ends[before] = p->ends[i];
    p->ends[i]->shared->n_here++;
  }
  for (uint32_t i = 0; i < s->n_ranks; i++) {
    if (p->ends[i])
      nccl_double_set_ready(p->ends[i]);
    nccl_double_set_split(s->ends[i]);
  }
}

void
nccl_double_split(Comm *c, int colour, int key, Comm *made)
{
  Shared *s = c->shared;
  Split *p;

  if (c->n_splits == s->splits->len) {
    p = g_new0(Split, 1);
    p->colour = g_new0(int, s->n_ranks);
    p->key = g_new0(int, s->n_ranks);
    p->ends = g_new0(Comm *, s->n_ranks);
    g_ptr_array_add(s->splits, p);
  }
  p = s->splits->pdata[c->n_splits++];
  p->colour[c->rank] = colour;
  p->key[c->rank] = key;
  p->ends[c->rank] = made;
  if (++p->n_here == s->n_ranks)
    end_split(s, p);
}

static int
split(RaNcclHandle comm, int colour, int key, uint32_t most_blocks,
      RaNcclHandle *out_comm)
{
  Comm *c = comm, *made = NULL;
  int result;

  if (!c->is_ready || c->is_splitting)
    return NCCL_DOUBLE_USAGE;
  pthread_mutex_lock(&d.lock);
  nccl_double_look(FALSE);
  d.tally.n_splits++;
  c->is_splitting = TRUE;
  if (colour != RA_NCCL_NO_COLOUR)
    made = nccl_double_comm_new();
  *out_comm = NULL; /* as the library has it until the split is over */
  if (c->link)
    nccl_double_far_split(c, colour, key, made);
  else
    nccl_double_split(c, colour, key, made);
  result = nccl_double_come(c, &c->is_splitting, FALSE);
  if (result == RA_NCCL_OK && made)
    result = nccl_double_come(made, &made->is_ready, TRUE);
  pthread_mutex_unlock(&d.lock);
  if (result != RA_NCCL_OK)
    return result;
  if (made)
    made->made = take(d.made_bytes);
  *out_comm = made;
  return result;
}

static int
async_error(RaNcclHandle comm, int *out_result)
{
  Comm *c = comm;

  pthread_mutex_lock(&d.lock);
  if (d.is_stuck)
    *out_result = NCCL_DOUBLE_STUCK;
  else if (c->result != RA_NCCL_OK)
    *out_result = c->result;
  else
    *out_result = RA_NCCL_OK;
  pthread_mutex_unlock(&d.lock);
  return RA_NCCL_OK;
}

static int
drop(RaNcclHandle comm)
{
  pthread_mutex_lock(&d.lock);
  nccl_double_look(FALSE);
  ((Comm *)comm)->is_aborted = TRUE;
  d.tally.n_aborted++;
  pthread_cond_broadcast(&d.changed);
  pthread_mutex_unlock(&d.lock);
  return RA_NCCL_OK;
}

/* All ends must come, where they are all here. */
static int
finalize(RaNcclHandle comm)
{
  Comm *c = comm;
  Shared *s;
  int result;

  pthread_mutex_lock(&d.lock);
  nccl_double_look(FALSE);
  s = d.goes_far ? NULL : c->shared;
  c->is_ending = s != NULL;
  if (s && ++s->n_ended == s->n_ranks)
    for (uint32_t i = 0; i < s->n_ranks; i++)
      s->ends[i]->is_ending = FALSE;
  pthread_cond_broadcast(&d.changed);
  result = nccl_double_come(c, &c->is_ending, FALSE);
  pthread_mutex_unlock(&d.lock);
  return result;
}

static int
destroy(RaNcclHandle comm)
{
  Comm *c = comm;

  nccl_double_end_enrol(comm);
  if (c->made)
    d.memory->free(c->made);
  if (c->connected)
    d.memory->free(c->connected);
  pthread_mutex_lock(&d.lock);
  d.tally.n_destroyed++;
  pthread_mutex_unlock(&d.lock);
  return RA_NCCL_OK; /* nccl_double_end() frees it */
}

static const char *
error_text(int result, RaNcclHandle comm)
{
  return result == NCCL_DOUBLE_USAGE   ? "invalid usage"
         : result == NCCL_DOUBLE_STUCK ? "all ranks wait for each other"
                                       : "remote process exited";
}

void
nccl_double_set_comms(RaNcclApi *api)
{
  api->error = error_text;
  api->unique_id = unique_id;
  api->init = init;
  api->split = split;
  api->async_error = async_error;
  api->drop = drop;
  api->finalize = finalize;
  api->destroy = destroy;
}
