/* Memory registered with communicators. */
#include "config.h"

#include "tests/double/nccl_double_impl.h"

/* The first that has any of @begin to before @end; of @comm, NULL: of all. */
static Enrolment *
find(const Comm *comm, const char *begin, const char *end)
{
  for (guint i = 0; i < d.enrolments->len; i++) {
    Enrolment *e = d.enrolments->pdata[i];

    if ((!comm || e->comm == comm) && e->begin < end && begin < e->end)
      return e;
  }
  return NULL;
}

static int
enrol(RaNcclHandle comm, void *data, gsize n_bytes, void **out_handle)
{
  const char *begin = data;
  Enrolment *e = NULL;

  pthread_mutex_lock(&d.lock);
  if (n_bytes == 0 || find(comm, begin, begin + n_bytes))
    d.tally.n_misuses++;
  else {
    d.tally.n_enrolled++;
    e = g_new(Enrolment, 1);
    *e = (Enrolment){comm, begin, begin + n_bytes};
    g_ptr_array_add(d.enrolments, e);
  }
  pthread_mutex_unlock(&d.lock);
  *out_handle = e;
  return e ? RA_NCCL_OK : NCCL_DOUBLE_USAGE;
}

static int
withdraw(RaNcclHandle comm, void *handle)
{
  gboolean is_there;
  Enrolment *e = handle;

  pthread_mutex_lock(&d.lock);
  is_there = g_ptr_array_find(d.enrolments, e, NULL) && e->comm == comm &&
             g_ptr_array_remove(d.enrolments, e);
  d.tally.n_withdrawn += is_there;
  d.tally.n_misuses += !is_there;
  pthread_mutex_unlock(&d.lock);
  return is_there ? RA_NCCL_OK : NCCL_DOUBLE_USAGE;
}

/* 1: it is enrolled; 0: none of it; -1: it begins or ends beyond. */
static int
is_in(const Comm *comm, const void *data, gsize n_bytes)
{
  const char *begin = data;
  const Enrolment *e = find(comm, begin, begin + n_bytes);

  if (!e)
    return 0;
  return e->begin <= begin && begin + n_bytes <= e->end ? 1 : -1;
}

/* Numbers are in @op's type. */
void
nccl_double_bytes(const Op *op, uint32_t n_ranks, gsize *in, gsize *out)
{
  gboolean counts = op->kind == ALL_REDUCE || op->kind == REDUCE ||
                    op->kind == REDUCE_SCATTER;
  gsize n = op->n * (!counts                    ? 1
                     : op->type == RA_COMM_BF16 ? sizeof(uint16_t)
                                                : sizeof(float));

  *in = op->kind == REDUCE_SCATTER ? n * n_ranks : n;
  *out = op->kind == ALL_GATHER ? n * n_ranks : n;
}

gboolean
nccl_double_is_shown(const Op *op)
{
  gsize in_bytes, out_bytes;
  int in, out;

  nccl_double_bytes(op, op->comm->shared->n_ranks, &in_bytes, &out_bytes);
  in = op->in ? is_in(op->comm, op->in, in_bytes) : 1;
  out = op->out ? is_in(op->comm, op->out, out_bytes) : 1;
  d.tally.n_misuses += in < 0 || out < 0;
  return in > 0 && out > 0;
}

void
nccl_double_end_enrol(const Comm *comm)
{
  pthread_mutex_lock(&d.lock);
  for (guint i = 0; i < d.enrolments->len; i++)
    d.tally.n_misuses += ((Enrolment *)d.enrolments->pdata[i])->comm == comm;
  pthread_mutex_unlock(&d.lock);
}

static int
alloc_shown(void **out_data, gsize n_bytes)
{
  return nccl_double()->alloc(out_data, n_bytes);
}

static void
free_shown(void *data)
{
  const char *begin = data;

  pthread_mutex_lock(&d.lock);
  d.tally.n_misuses += find(NULL, begin, begin + 1) != NULL;
  pthread_mutex_unlock(&d.lock);
  nccl_double()->free(data);
}

void
nccl_double_set_enrol(RaNcclApi *api)
{
  api->enrol = enrol;
  api->withdraw = withdraw;
  api->alloc_shown = alloc_shown;
  api->free_shown = free_shown;
}
