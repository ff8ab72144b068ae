/* A reallocation by messages, slice by slice. */
#include "config.h"

#include <stdlib.h>

#include "exec/model/reshard_impl.h"

static int
compare_slices(const void *a, const void *b)
{
  const RaSlice *x = *(const RaSlice *const *)a,
                *y = *(const RaSlice *const *)b;

  if (x->tensor != y->tensor)
    return x->tensor < y->tensor ? -1 : 1;
  return (x > y) - (x < y); /* slices of one tensor keep their order */
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

/* Copies a rectangle of floats in host memory. */
static void
copy_rect(gsize n_rows, gsize n_cols, const float *in, gsize in_stride,
          float *out, gsize out_stride)
{
  ra_backend_host_memory()->copy_rect(n_rows, n_cols, ra_host_elems(in),
                                      in_stride, ra_host_elems(out),
                                      out_stride);
}

RaRect
ra_reshard_common(const RaRect *a, const RaRect *b)
{
  uint64_t row = MAX(a->row, b->row), col = MAX(a->col, b->col);
  uint64_t end = MIN(a->row + a->n_rows, b->row + b->n_rows);
  uint64_t end_col = MIN(a->col + a->n_cols, b->col + b->n_cols);

  if (row >= end || col >= end_col)
    return (RaRect){0};
  return (RaRect){row, end - row, col, end_col - col};
}

gboolean
ra_reshard_holds(const RaRect *rect, const RaSlice *s)
{
  return s->row >= rect->row && s->col >= rect->col &&
         s->row + s->n_rows <= rect->row + rect->n_rows &&
         s->col + s->n_cols <= rect->col + rect->n_cols;
}

gboolean
ra_reshard_is_dense(const RaRect *rect, const RaSlice *s)
{
  return s->n_rows == 1 || s->n_cols == rect->n_cols;
}

static RaRect
rect_of(const RaParams *params, uint32_t tensor)
{
  const RaParam *param = params ? ra_params_at(params, tensor) : NULL;

  return param ? param->rect : (RaRect){0};
}

void
ra_reshard_find_whole(const RaReshard *r, const RaParams *source,
                      const RaParams *target, gboolean *is_whole)
{
  for (guint i = 0; i < r->slices->len; i++) {
    const RaSlice *s = &g_array_index(r->slices, RaSlice, i);
    RaRect has, wants, rect = {s->row, s->n_rows, s->col, s->n_cols};

    if (s->from != r->gpu && s->to != r->gpu)
      continue;
    has = rect_of(source, s->tensor);
    wants = rect_of(target, s->tensor);
    if (s->from == r->gpu
            ? !ra_reshard_holds(&has, s) && !ra_reshard_holds(&wants, s)
            : !ra_reshard_holds(&wants, s) ||
                  ra_reshard_common(&has, &rect).n_rows > 0)
      is_whole[s->tensor] = TRUE;
  }
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
    copy_rect(rect->n_rows, rect->n_cols, mine, rect->n_cols, there,
              whole->cols);
  else
    copy_rect(rect->n_rows, rect->n_cols, there, whole->cols, mine,
              rect->n_cols);
  if (!out && room)
    b->write_elems(ra_param_n(param), room, here);
}

/* Slices that a rank requests ahead of their turn: while it copies one, the
 * senders write the next ones into their buffers. */
#define AHEAD 3

/* A rectangle of a tensor in the host's memory, dense. */
typedef struct {
  RaRect rect;
  float *data; /* (n_rows, n_cols); NULL: there is none */
} View;

/* A slice on its way here. */
typedef struct {
  guint slice;
  float *packed; /* slab; NULL: it goes to its own place */
  RaCommRequest *request;
} Coming;

/* A rank in a reallocation. */
typedef struct {
  const RaReshard *r;
  const RaParams *source; /* nullable */
  RaParams *target;       /* nullable */
  RaSlabs *slabs;         /* buffers in transit, owned */
  gboolean *is_whole;     /* (tensors) they take the way over all of them */
  uint32_t tensor;        /* at hand */
  View from, to;          /* places of the slice; equal for a whole tensor */
  GQueue coming;          /* Coming, in the order of the slices */
  guint looked;           /* the first slice that was not looked at */
  guint n_ahead;          /* requested ahead of their turn */
} Mover;

static const RaSlice *
slice_at(const Mover *m, guint index)
{
  return &g_array_index(m->r->slices, RaSlice, index);
}

static gsize
slice_n(const RaSlice *slice)
{
  return slice->n_rows * slice->n_cols;
}

static float *
place(const View *v, uint64_t row, uint64_t col)
{
  return v->data + (row - v->rect.row) * v->rect.n_cols + col - v->rect.col;
}

static float *
take(Mover *m, gsize n)
{
  return ra_slabs_take(m->slabs, n * sizeof(float));
}

/* Where what @params have of @tensor lies on the host; on another device there
 * is no such place. */
static View
host_view(const RaParams *params, uint32_t tensor)
{
  const RaParam *param = params ? ra_params_at(params, tensor) : NULL;

  if (!param || !params->backend->is_host)
    return (View){0};
  return (View){param->rect,
                ra_host_floats(ra_elem_at(params->backend, params->weights,
                                          param->offset))};
}

/* Where slice @s can be received as it is; NULL: nowhere. */
static float *
landing(const Mover *m, const RaSlice *s)
{
  View wants = {0};

  if (!m->is_whole[s->tensor])
    wants = host_view(m->target, s->tensor);
  return wants.data && ra_reshard_is_dense(&wants.rect, s)
             ? place(&wants, s->row, s->col)
             : NULL;
}

/* Asks for what the slices from @next on bring to this rank. */
static void
ask(Mover *m, guint next)
{
  const RaReshard *r = m->r;

  for (; m->looked < r->slices->len && m->coming.length < AHEAD; m->looked++) {
    const RaSlice *slice = slice_at(m, m->looked);
    gsize n = slice_n(slice);
    float *to;
    Coming *c;

    if (slice->to != r->gpu || slice->from == r->gpu)
      continue;
    to = landing(m, slice);
    c = g_new(Coming, 1);
    *c = (Coming){.slice = m->looked, .packed = to ? NULL : take(m, n)};
    c->request =
        r->world->table->start_recv(r->world, r->rank_of_gpu[slice->from],
                                    to ? to : c->packed, n * sizeof *to);
    g_queue_push_tail(&m->coming, c);
    m->n_ahead += m->looked > next;
  }
}

static void
send_slice(Mover *m, const RaSlice *s)
{
  const RaReshard *r = m->r;
  const View *v =
      m->from.data && ra_reshard_holds(&m->from.rect, s) ? &m->from : &m->to;
  float *at = place(v, s->row, s->col), *packed = NULL;

  if (!ra_reshard_is_dense(&v->rect, s)) {
    packed = take(m, slice_n(s));
    copy_rect(s->n_rows, s->n_cols, at, v->rect.n_cols, packed, s->n_cols);
  }
  r->world->table->send(r->world, r->rank_of_gpu[s->to], packed ? packed : at,
                        slice_n(s) * sizeof *at);
  ra_slabs_give(m->slabs, packed);
}

static void
receive_slice(Mover *m, guint index, const RaSlice *s)
{
  g_autofree Coming *c = g_queue_pop_head(&m->coming);

  g_assert(c && c->slice == index);
  m->r->world->table->wait(m->r->world, c->request);
  if (c->packed)
    copy_rect(s->n_rows, s->n_cols, c->packed, s->n_cols,
              place(&m->to, s->row, s->col), m->to.rect.n_cols);
  ra_slabs_give(m->slabs, c->packed);
}

static void
pass_slice(Mover *m, guint index)
{
  const RaSlice *s = slice_at(m, index);

  ask(m, index);
  if (s->from == m->r->gpu)
    send_slice(m, s);
  else if (s->to == m->r->gpu)
    receive_slice(m, index, s);
}

/* @params' part of the current tensor, in a buffer if it is on another device;
 *   @reads: with its values. */
static View
open_part(Mover *m, const RaParams *params, gboolean reads)
{
  const RaParam *param = params ? ra_params_at(params, m->tensor) : NULL;
  View v = host_view(params, m->tensor);

  if (!param || v.data)
    return v;
  v = (View){param->rect, take(m, ra_param_n(param))};
  if (reads)
    params->backend->read_elems(
        ra_param_n(param),
        ra_elem_at(params->backend, params->weights, param->offset), v.data);
  return v;
}

static void
close_part(Mover *m, const RaParams *params, View *v, gboolean writes)
{
  const RaParam *param = params ? ra_params_at(params, m->tensor) : NULL;

  if (!param || params->backend->is_host)
    return;
  if (writes)
    params->backend->write_elems(
        ra_param_n(param), v->data,
        ra_elem_at(params->backend, params->weights, param->offset));
  ra_slabs_give(m->slabs, v->data);
}

/* The slices from @next on that are of the tensor at hand; the first behind. */
static guint
pass_slices(Mover *m, guint next)
{
  for (; next < m->r->slices->len && slice_at(m, next)->tensor == m->tensor;
       next++)
    pass_slice(m, next);
  return next;
}

/* The tensor at hand, from part to part. */
static guint
move_parts(Mover *m, guint next)
{
  RaRect both;

  m->from = open_part(m, m->source, TRUE);
  m->to = open_part(m, m->target, FALSE);
  both = ra_reshard_common(&m->from.rect, &m->to.rect);
  if (both.n_rows > 0)
    copy_rect(both.n_rows, both.n_cols, place(&m->from, both.row, both.col),
              m->from.rect.n_cols, place(&m->to, both.row, both.col),
              m->to.rect.n_cols);
  next = pass_slices(m, next);
  close_part(m, m->source, &m->from, FALSE);
  close_part(m, m->target, &m->to, TRUE);
  return next;
}

/* The same with room for all of it. */
static guint
move_whole(Mover *m, const RaTensor *tensor, guint next)
{
  RaReshardWhole whole = {take(m, tensor->rows * tensor->cols), tensor->cols};

  m->from = m->to = (View){{0, tensor->rows, 0, tensor->cols}, whole.data};
  if (m->source)
    ra_reshard_copy_part(m->source, m->tensor, &whole, TRUE);
  next = pass_slices(m, next);
  if (m->target)
    ra_reshard_copy_part(m->target, m->tensor, &whole, FALSE);
  ra_slabs_give(m->slabs, whole.data);
  return next;
}

/* All ranks go tensor by tensor in the same order, and within a tensor a sender
 * has what it sends by then: so there is no deadlock. */
guint
ra_reshard(const RaReshard *r, const RaParams *source, RaParams *target)
{
  uint32_t n = ra_model_n_tensors(r->model);
  g_autofree gboolean *is_whole = g_new0(gboolean, n + 1);
  g_autoptr(RaSlabs) slabs = r->slabs ? ra_slabs_ref(r->slabs)
                                      : ra_slabs_new(ra_backend_host_memory());
  Mover m = {.r = r,
             .source = source,
             .target = target,
             .slabs = slabs,
             .is_whole = is_whole,
             .coming = G_QUEUE_INIT};
  guint next = 0;

  ra_reshard_find_whole(r, source, target, is_whole);
  for (m.tensor = 0; m.tensor < n; m.tensor++) {
    RaTensor tensor;

    if (!is_whole[m.tensor]) {
      next = move_parts(&m, next);
      continue;
    }
    ra_model_tensor(r->model, m.tensor, &tensor);
    next = move_whole(&m, &tensor, next);
  }
  return m.n_ahead;
}
