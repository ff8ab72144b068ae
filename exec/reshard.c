#include "config.h"

#include <stdlib.h>

#include "exec/reshard_impl.h"

static int
compare_slices(const void *a, const void *b)
{
  const RaSlice *x = *(const RaSlice *const *)a,
                *y = *(const RaSlice *const *)b;

  if (x->tensor != y->tensor)
    return x->tensor < y->tensor ? -1 : 1;
  return (x > y) - (x < y); /* of one tensor as they came */
}

static void
append_slice(const RaSlice *slice, gpointer data)
{
  g_array_append_vals(data, slice, 1);
}

GArray *
ra_reshard_slices(const RaModel *model, const RaCallPlan *from,
                  const RaCallPlan *to, const RaCluster *cluster)
{
  g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(RaSlice));
  GArray *sorted = g_array_new(FALSE, FALSE, sizeof(RaSlice));
  g_autofree const RaSlice **order = NULL;

  ra_realloc_slices(model, from, to, cluster, (RaReallocScheme)to->realloc,
                    append_slice, all);
  order = g_new(const RaSlice *, all->len + 1);
  for (guint i = 0; i < all->len; i++)
    order[i] = &g_array_index(all, RaSlice, i);
  qsort(order, all->len, sizeof *order, compare_slices);
  for (guint i = 0; i < all->len; i++)
    g_array_append_vals(sorted, order[i], 1);
  return sorted;
}

void
ra_reshard_copy_rect(gsize n_rows, gsize n_cols, const float *in,
                     gsize in_stride, float *out, gsize out_stride)
{
  ra_backend_host_memory()->copy_rect(n_rows, n_cols, ra_host_elems(in),
                                      in_stride, ra_host_elems(out),
                                      out_stride);
}

void
ra_reshard_copy_part(const RaParams *params, uint32_t tensor,
                     const RaReshardWhole *whole, gboolean out)
{
  const RaParam *param = ra_params_at(params, tensor);
  const RaRect *rect;
  const RaBackend *b = params->backend;
  g_autofree float *room = NULL;
  RaElem *here;
  float *mine, *there;

  if (!param)
    return;
  rect = &param->rect;
  here = ra_elem_at(b, params->weights, param->offset);
  mine = b->is_host ? ra_host_floats(here)
                    : (room = g_new(float, ra_param_n(param) + 1));
  there = whole->data + rect->row * whole->cols + rect->col;
  if (out && room)
    b->read_elems(ra_param_n(param), here, room);
  if (out)
    ra_reshard_copy_rect(rect->n_rows, rect->n_cols, mine, rect->n_cols, there,
                         whole->cols);
  else
    ra_reshard_copy_rect(rect->n_rows, rect->n_cols, there, whole->cols, mine,
                         rect->n_cols);
  if (!out && room)
    b->write_elems(ra_param_n(param), room, here);
}

/* Slices that a rank has asked for before it comes to them: while it copies one
 * the senders lay the next where they are unpacked from. */
#define AHEAD 3

/* A slice on its way here. */
typedef struct {
  guint slice;
  float *packed; /* owned */
  RaCommRequest *request;
} Coming;

typedef struct {
  const RaReshard *r;
  GQueue coming;  /* of Coming, in the order of the slices */
  guint looked;   /* the first slice that was not looked at */
  guint *n_ahead; /* asked for before their turn */
} Inbox;

static const RaSlice *
slice_at(const RaReshard *r, guint index)
{
  return &g_array_index(r->slices, RaSlice, index);
}

/* Asks for what the slices from @next on bring to this rank. */
static void
ask(Inbox *inbox, guint next)
{
  const RaReshard *r = inbox->r;

  for (; inbox->looked < r->slices->len && inbox->coming.length < AHEAD;
       inbox->looked++) {
    const RaSlice *slice = slice_at(r, inbox->looked);
    gsize n = slice->n_rows * slice->n_cols;
    Coming *c;

    if (slice->to != r->gpu || slice->from == r->gpu)
      continue;
    c = g_new(Coming, 1);
    *c = (Coming){.slice = inbox->looked, .packed = g_new(float, n + 1)};
    c->request =
        r->world->table->start_recv(r->world, r->rank_of_gpu[slice->from],
                                    c->packed, n * sizeof *c->packed);
    g_queue_push_tail(&inbox->coming, c);
    *inbox->n_ahead += inbox->looked > next;
  }
}

static void
pass_slice(Inbox *inbox, guint index, const RaReshardWhole *whole)
{
  const RaReshard *r = inbox->r;
  const RaSlice *slice = slice_at(r, index);
  gsize n = slice->n_rows * slice->n_cols;
  float *at = whole->data + slice->row * whole->cols + slice->col;
  g_autofree float *packed = NULL;

  ask(inbox, index);
  if (slice->from == r->gpu) {
    packed = g_new(float, n + 1);
    ra_reshard_copy_rect(slice->n_rows, slice->n_cols, at, whole->cols, packed,
                         slice->n_cols);
    r->world->table->send(r->world, r->rank_of_gpu[slice->to], packed,
                          n * sizeof *packed);
  } else if (slice->to == r->gpu) {
    g_autofree Coming *c = g_queue_pop_head(&inbox->coming);

    g_assert(c && c->slice == index);
    packed = c->packed;
    r->world->table->wait(r->world, c->request);
    ra_reshard_copy_rect(slice->n_rows, slice->n_cols, packed, slice->n_cols,
                         at, whole->cols);
  }
}

/* Tensor by tensor in one order on all ranks, and the slices of a tensor in an
 * order in which a sender has what it sends: nobody waits for himself. */
guint
ra_reshard(const RaReshard *r, const RaParams *source, RaParams *target)
{
  guint next = 0, n_ahead = 0;
  Inbox inbox = {r, G_QUEUE_INIT, 0, &n_ahead};

  for (uint32_t i = 0; i < ra_model_n_tensors(r->model); i++) {
    RaTensor tensor;
    RaReshardWhole whole;

    ra_model_tensor(r->model, i, &tensor);
    whole.cols = tensor.cols;
    whole.data = g_new(float, tensor.rows *tensor.cols + 1);
    if (source)
      ra_reshard_copy_part(source, i, &whole, TRUE);
    for (; next < r->slices->len && slice_at(r, next)->tensor == i; next++)
      pass_slice(&inbox, next, &whole);
    if (target)
      ra_reshard_copy_part(target, i, &whole, FALSE);
    g_free(whole.data);
  }
  return n_ahead;
}
