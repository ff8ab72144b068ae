/* A reallocation in rounds. */
#include "config.h"

#include "exec/model/reshard_impl.h"

/* A rectangle of a tensor in memory, dense. */
typedef struct {
  RaRect rect;
  RaElem *data;
} View;

typedef struct {
  const RaReshard *r;
  const RaRounds *rounds;
  RaComm *const *sets;
  const RaRoundWindow *window;
  const RaBackend *memory; /* where tensors are on their way: the device's, if
                              the communicator carries from there, as they are;
                              else the host's, as floats */
  const RaParams *source;  /* nullable */
  const RaParams *target;  /* nullable */
  gboolean *is_whole;      /* (tensors) they take the way over all of them */
  RaElem **whole;          /* tensors of the window at hand that the rank has
                              some of; NULL: none yet */
  RaSlabs *slabs;          /* for memory, owned */
  GArray *rects;           /* RaBackendRect, to be copied */
} Mover;

static RaElem *
take(const Mover *m, gsize n)
{
  return ra_slabs_take(m->slabs, n * m->memory->elem_bytes);
}

static void
tensor_at(const Mover *m, uint32_t index, RaTensor *tensor)
{
  ra_model_tensor(m->r->model, index, tensor);
}

/* All of tensor @index, at its own places. */
static View
whole_of(Mover *m, uint32_t index)
{
  RaElem **whole = &m->whole[index - m->window->first_tensor];
  RaTensor tensor;

  tensor_at(m, index, &tensor);
  if (!*whole)
    *whole = take(m, tensor.rows * tensor.cols);
  return (View){{0, tensor.rows, 0, tensor.cols}, *whole};
}

/* Where what @params have of tensor @index lies; no rows: nothing. */
static View
view_of(const Mover *m, const RaParams *params, uint32_t index)
{
  const RaParam *param = params ? ra_params_at(params, index) : NULL;

  if (!param)
    return (View){{0, 0, 0, 0}, NULL};
  return (View){param->rect,
                ra_elem_at(m->memory, params->weights, param->offset)};
}

static RaElem *
place(const Mover *m, const View *v, uint64_t row, uint64_t col)
{
  return ra_elem_at(m->memory, v->data,
                    (row - v->rect.row) * v->rect.n_cols + col - v->rect.col);
}

/* Copies the intersection of two views. */
static void
add_common(Mover *m, const View *from, const View *to)
{
  RaRect both = ra_reshard_common(&from->rect, &to->rect);
  RaBackendRect rect = {.n_rows = both.n_rows,
                        .n_cols = both.n_cols,
                        .from_stride = from->rect.n_cols,
                        .to_stride = to->rect.n_cols};

  if (both.n_rows == 0)
    return;
  rect.from = place(m, from, both.row, both.col);
  rect.to = place(m, to, both.row, both.col);
  g_array_append_val(m->rects, rect);
}

static void
copy_rects(Mover *m)
{
  m->memory->copy_rects(m->rects->len,
                        (RaBackendRect *)(gpointer)m->rects->data);
  g_array_set_size(m->rects, 0);
}

/* Between what @params have of a tensor and the whole one. */
static void
copy_part(Mover *m, const RaParams *params, uint32_t index, gboolean out)
{
  View whole = whole_of(m, index), own;

  if (m->memory->is_host) {
    ra_reshard_copy_part(
        params, index,
        &(RaReshardWhole){ra_host_floats(whole.data), whole.rect.n_cols}, out);
    return;
  }
  own = view_of(m, params, index);
  if (out)
    add_common(m, &own, &whole);
  else
    add_common(m, &whole, &own);
}

/* Copies the rank's own part of the window's tensors: for whole tensors to or,
 * if not @out, from the buffer; for others to the target. */
static void
copy_own(Mover *m, gboolean out)
{
  const RaParams *params = out ? m->source : m->target;

  for (uint32_t i = m->window->first_tensor; i < m->window->end_tensor; i++) {
    if (m->is_whole[i]) {
      if (params && ra_params_at(params, i))
        copy_part(m, params, i, out);
    } else if (out) {
      View from = view_of(m, m->source, i), to = view_of(m, m->target, i);

      add_common(m, &from, &to);
    }
  }
  copy_rects(m);
}

/* Where the rank has @s, @sends, or is to have it. */
static View
view_for(Mover *m, const RaSlice *s, gboolean sends)
{
  View v;

  if (m->is_whole[s->tensor])
    return whole_of(m, s->tensor);
  v = view_of(m, m->source, s->tensor);
  return sends && v.data && ra_reshard_holds(&v.rect, s)
             ? v
             : view_of(m, m->target, s->tensor);
}

static const RaSlice *
piece_at(const Mover *m, const RaRoundMessage *message, uint32_t i)
{
  return &g_array_index(m->r->slices, RaSlice,
                        m->rounds->pieces[message->first_piece + i]);
}

/* Where a message of one piece lies as it is; NULL: it is packed. */
static RaElem *
in_place(Mover *m, const RaRoundMessage *message, gboolean sends)
{
  const RaSlice *s = piece_at(m, message, 0);
  View v;

  if (message->n_pieces > 1)
    return NULL;
  v = view_for(m, s, sends);
  return ra_reshard_is_dense(&v.rect, s) ? place(m, &v, s->row, s->col) : NULL;
}

/* The pieces of a message into @packed, one after the other, or out of it. */
static void
add_pieces(Mover *m, const RaRoundMessage *message, RaElem *packed,
           gboolean sends)
{
  for (uint32_t i = 0; i < message->n_pieces; i++) {
    const RaSlice *s = piece_at(m, message, i);
    View own = view_for(m, s, sends);
    View way = {{s->row, s->n_rows, s->col, s->n_cols}, packed};

    if (sends)
      add_common(m, &own, &way);
    else
      add_common(m, &way, &own);
    packed = ra_elem_at(m->memory, packed, s->n_rows * s->n_cols);
  }
}

static RaCommPart
part_of(Mover *m, const RaRoundMessage *message, RaElem *data)
{
  uint32_t rank = m->r->world->rank;
  RaCommPart part = {.comm = m->r->world,
                     .data = data,
                     .n_bytes = message->n_elements * m->memory->elem_bytes};

  if (message->set != RA_NONE) {
    part.comm = m->sets[message->set];
    part.kind = RA_PART_BROADCAST;
    part.peer = ra_rounds_in_set(m->rounds, message->set, message->from);
  } else if (message->from == rank) {
    part.kind = RA_PART_SEND;
    part.peer = message->to;
  } else {
    part.kind = RA_PART_RECV;
    part.peer = message->from;
  }
  return part;
}

/* The rank's messages @first to @end - 1, of one round. */
static void
exchange(Mover *m, uint32_t first, uint32_t end)
{
  g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(RaCommPart));
  g_autofree RaElem **packed = g_new0(RaElem *, end - first);

  for (uint32_t i = first; i < end; i++) {
    const RaRoundMessage *message = &m->rounds->messages[m->rounds->order[i]];
    gboolean sends = message->from == m->r->world->rank;
    RaElem *data = in_place(m, message, sends);
    RaCommPart part;

    if (!data)
      data = packed[i - first] = take(m, message->n_elements);
    if (packed[i - first] && sends)
      add_pieces(m, message, data, TRUE);
    part = part_of(m, message, data);
    g_array_append_val(parts, part);
  }
  copy_rects(m);
  m->memory->wait();
  if (m->memory->is_host)
    ra_comm_exchange((RaCommPart *)(gpointer)parts->data, parts->len);
  else
    m->r->world->table->device->exchange((RaCommPart *)(gpointer)parts->data,
                                         parts->len);
  for (uint32_t i = first; i < end; i++) {
    const RaRoundMessage *message = &m->rounds->messages[m->rounds->order[i]];

    if (packed[i - first] && message->from != m->r->world->rank)
      add_pieces(m, message, packed[i - first], FALSE);
  }
  copy_rects(m);
  for (uint32_t i = first; i < end; i++)
    ra_slabs_give(m->slabs, packed[i - first]);
}

/* Those of the window's rounds, from @next on; the first behind. */
static uint32_t
pass_window(Mover *m, uint32_t next, uint32_t end)
{
  const RaRounds *rounds = m->rounds;
  uint32_t n = m->window->end_tensor - m->window->first_tensor;

  m->whole = g_new0(RaElem *, n + 1);
  copy_own(m, TRUE);
  while (next < end &&
         rounds->messages[rounds->order[next]].round < m->window->end_round) {
    uint32_t first = next;
    uint32_t round = rounds->messages[rounds->order[first]].round;

    while (next < end && rounds->messages[rounds->order[next]].round == round)
      next++;
    exchange(m, first, next);
  }
  copy_own(m, FALSE);
  m->memory->wait();
  for (uint32_t i = 0; i < n; i++)
    ra_slabs_give(m->slabs, m->whole[i]);
  g_free(m->whole);
  return next;
}

/* Buffers in transit are in host slabs, which the next reallocation reuses, or
 * in device slabs, for this reallocation only. */
void
ra_reshard_rounds(const RaReshard *r, const RaRounds *rounds,
                  RaComm *const *sets, const RaParams *source, RaParams *target)
{
  uint32_t rank = r->world->rank, next = rounds->begin[rank], tensor = 0;
  uint32_t n = ra_model_n_tensors(r->model);
  gboolean on_device = !r->backend->is_host && r->world->table->device;
  const RaBackend *memory = on_device ? r->backend : ra_backend_host_memory();
  g_autoptr(RaSlabs) slabs =
      !on_device && r->slabs ? ra_slabs_ref(r->slabs) : ra_slabs_new(memory);
  g_autofree gboolean *is_whole = g_new0(gboolean, n + 1);
  g_autoptr(GArray) rects = g_array_new(FALSE, FALSE, sizeof(RaBackendRect));
  Mover m = {.r = r,
             .rounds = rounds,
             .sets = sets,
             .memory = memory,
             .source = source,
             .target = target,
             .is_whole = is_whole,
             .slabs = slabs,
             .rects = rects};

  ra_reshard_find_whole(r, source, target, is_whole);
  /* Parameters that are not where messages are go over all of a tensor. */
  for (uint32_t i = 0; i < n && r->backend->is_host != memory->is_host; i++)
    is_whole[i] = TRUE;
  /* Windows skip tensors of which nothing travels: they go with the next. */
  for (uint32_t w = 0; w <= rounds->n_windows; w++) {
    RaRoundWindow window = {tensor, n, 0, 0};

    if (w < rounds->n_windows) {
      window = rounds->windows[w];
      window.first_tensor = tensor;
    }
    tensor = window.end_tensor;
    m.window = &window;
    next = pass_window(&m, next, rounds->begin[rank + 1]);
  }
}
