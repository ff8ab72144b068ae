/* A reallocation in rounds. */
#include "config.h"

#include "exec/reshard_impl.h"

typedef struct {
  const RaReshard *r;
  const RaRounds *rounds;
  RaComm *const *sets;
  const RaRoundWindow *window;
  const RaBackend *memory; /* where tensors are on their way: the device's, if
                              the communicator carries from there, as they are;
                              else the host's, as floats */
  RaElem **whole; /* tensors of the window at hand that the rank has some of;
                     NULL: none yet */
} Mover;

static RaElem *
take(const Mover *m, gsize n)
{
  return m->memory->alloc(n * m->memory->elem_bytes + 1);
}

static void
give(gpointer elems, gpointer memory)
{
  const RaBackend *b = memory;

  if (elems && b->free)
    b->free(elems);
}

static void
tensor_at(const Mover *m, uint32_t index, RaTensor *tensor)
{
  ra_model_tensor(m->r->model, index, tensor);
}

/* All of tensor @index, at its own places. */
static RaElem *
whole_of(Mover *m, uint32_t index)
{
  RaElem **whole = &m->whole[index - m->window->first_tensor];
  RaTensor tensor;

  if (!*whole) {
    tensor_at(m, index, &tensor);
    *whole = take(m, tensor.rows * tensor.cols);
  }
  return *whole;
}

/* Between what @params have of a tensor and the whole one. */
static void
copy_part(Mover *m, const RaParams *params, uint32_t index, gboolean out)
{
  const RaBackend *b = m->memory;
  const RaParam *param = ra_params_at(params, index);
  RaElem *here, *there, *whole = whole_of(m, index);
  RaTensor tensor;

  tensor_at(m, index, &tensor);
  if (b->is_host) {
    ra_reshard_copy_part(params, index,
                         &(RaReshardWhole){ra_host_floats(whole), tensor.cols},
                         out);
    return;
  }
  here = ra_elem_at(b, params->weights, param->offset);
  there = ra_elem_at(b, whole, param->rect.row * tensor.cols + param->rect.col);
  if (out)
    b->copy_rect(param->rect.n_rows, param->rect.n_cols, here,
                 param->rect.n_cols, there, tensor.cols);
  else
    b->copy_rect(param->rect.n_rows, param->rect.n_cols, there, tensor.cols,
                 here, param->rect.n_cols);
}

/* Between the rank's own part of the window's tensors and the whole ones. */
static void
copy_own(Mover *m, const RaParams *params, gboolean out)
{
  for (uint32_t i = m->window->first_tensor;
       params && i < m->window->end_tensor; i++)
    if (ra_params_at(params, i))
      copy_part(m, params, i, out);
}

/* The pieces of a message into @packed, one after the other, or out of it. */
static void
copy_pieces(Mover *m, const RaRoundMessage *message, RaElem *packed,
            gboolean pack)
{
  const RaBackend *b = m->memory;

  for (uint32_t i = 0; i < message->n_pieces; i++) {
    const RaSlice *s = &g_array_index(
        m->r->slices, RaSlice, m->rounds->pieces[message->first_piece + i]);
    RaElem *at;
    RaTensor tensor;

    tensor_at(m, s->tensor, &tensor);
    at = ra_elem_at(b, whole_of(m, s->tensor), s->row * tensor.cols + s->col);
    if (pack)
      b->copy_rect(s->n_rows, s->n_cols, at, tensor.cols, packed, s->n_cols);
    else
      b->copy_rect(s->n_rows, s->n_cols, packed, s->n_cols, at, tensor.cols);
    packed = ra_elem_at(b, packed, s->n_rows * s->n_cols);
  }
}

static RaCommPart
part_of(Mover *m, const RaRoundMessage *message, RaElem *packed)
{
  uint32_t rank = m->r->world->rank;
  RaCommPart part = {.comm = m->r->world,
                     .data = packed,
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
  g_autoptr(GPtrArray) packed = g_ptr_array_new();

  for (uint32_t i = first; i < end; i++) {
    const RaRoundMessage *message = &m->rounds->messages[m->rounds->order[i]];
    RaElem *data = take(m, message->n_elements);
    RaCommPart part = part_of(m, message, data);

    if (message->from == m->r->world->rank)
      copy_pieces(m, message, data, TRUE);
    g_ptr_array_add(packed, data);
    g_array_append_val(parts, part);
  }
  m->memory->wait();
  if (m->memory->is_host)
    ra_comm_exchange((RaCommPart *)(gpointer)parts->data, parts->len);
  else
    m->r->world->table->device->exchange((RaCommPart *)(gpointer)parts->data,
                                         parts->len);
  for (uint32_t i = first; i < end; i++) {
    const RaRoundMessage *message = &m->rounds->messages[m->rounds->order[i]];

    if (message->from != m->r->world->rank)
      copy_pieces(m, message, packed->pdata[i - first], FALSE);
  }
  m->memory->wait();
  g_ptr_array_foreach(packed, give, (gpointer)m->memory);
}

void
ra_reshard_rounds(const RaReshard *r, const RaRounds *rounds,
                  RaComm *const *sets, const RaParams *source, RaParams *target)
{
  uint32_t rank = r->world->rank, next = rounds->begin[rank];
  uint32_t end = rounds->begin[rank + 1];
  const RaRoundWindow all = {0, ra_model_n_tensors(r->model), 0, 0};
  gboolean on_device = !r->backend->is_host && r->world->table->device;
  Mover m = {.r = r,
             .rounds = rounds,
             .sets = sets,
             .memory = on_device ? r->backend : ra_backend_host_memory()};
  uint32_t tensor = 0;

  /* Windows skip tensors of which nothing travels: they go with the next. */
  for (uint32_t w = 0; w <= rounds->n_windows; w++) {
    RaRoundWindow window = w < rounds->n_windows ? rounds->windows[w] : all;

    window.first_tensor = tensor;
    tensor = window.end_tensor;
    m.window = &window;
    m.whole = g_new0(RaElem *, window.end_tensor - window.first_tensor + 1);
    copy_own(&m, source, TRUE);
    while (next < end &&
           rounds->messages[rounds->order[next]].round < window.end_round) {
      uint32_t first = next;
      uint32_t round = rounds->messages[rounds->order[first]].round;

      while (next < end && rounds->messages[rounds->order[next]].round == round)
        next++;
      exchange(&m, first, next);
    }
    copy_own(&m, target, FALSE);
    m.memory->wait();
    for (uint32_t i = window.first_tensor; i < window.end_tensor; i++)
      give(m.whole[i - window.first_tensor], (gpointer)m.memory);
    g_free(m.whole);
  }
}
