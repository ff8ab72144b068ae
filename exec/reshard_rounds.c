/* A reallocation in rounds. */
#include "config.h"

#include "exec/reshard_impl.h"

typedef struct {
  const RaReshard *r;
  const RaRounds *rounds;
  RaComm *const *sets;
  const RaRoundWindow *window;
  float **whole; /* tensors of the window at hand that the rank has some of;
                    NULL: none yet */
} Mover;

static void
tensor_at(const Mover *m, uint32_t index, RaTensor *tensor)
{
  ra_model_tensor(m->r->model, index, tensor);
}

/* All of tensor @index, at its own places. */
static float *
whole_of(Mover *m, uint32_t index)
{
  float **whole = &m->whole[index - m->window->first_tensor];
  RaTensor tensor;

  if (!*whole) {
    tensor_at(m, index, &tensor);
    *whole = g_new(float, tensor.rows *tensor.cols + 1);
  }
  return *whole;
}

/* Between the rank's own part of the window's tensors and the whole ones. */
static void
copy_own(Mover *m, const RaParams *params, gboolean out)
{
  for (uint32_t i = m->window->first_tensor;
       params && i < m->window->end_tensor; i++) {
    RaReshardWhole whole;
    RaTensor tensor;

    if (!ra_params_at(params, i))
      continue;
    tensor_at(m, i, &tensor);
    whole = (RaReshardWhole){whole_of(m, i), tensor.cols};
    ra_reshard_copy_part(params, i, &whole, out);
  }
}

/* The pieces of a message into @packed, one after the other, or out of it. */
static void
copy_pieces(Mover *m, const RaRoundMessage *message, float *packed,
            gboolean pack)
{
  for (uint32_t i = 0; i < message->n_pieces; i++) {
    const RaSlice *s = &g_array_index(
        m->r->slices, RaSlice, m->rounds->pieces[message->first_piece + i]);
    float *at;
    RaTensor tensor;

    tensor_at(m, s->tensor, &tensor);
    at = whole_of(m, s->tensor) + s->row * tensor.cols + s->col;
    if (pack)
      ra_reshard_copy_rect(s->n_rows, s->n_cols, at, tensor.cols, packed,
                           s->n_cols);
    else
      ra_reshard_copy_rect(s->n_rows, s->n_cols, packed, s->n_cols, at,
                           tensor.cols);
    packed += s->n_rows * s->n_cols;
  }
}

static RaCommPart
part_of(Mover *m, const RaRoundMessage *message, float *packed)
{
  uint32_t rank = m->r->world->rank;
  RaCommPart part = {.comm = m->r->world,
                     .data = packed,
                     .n_bytes = message->n_elements * sizeof *packed};

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
  g_autoptr(GPtrArray) packed = g_ptr_array_new_with_free_func(g_free);

  for (uint32_t i = first; i < end; i++) {
    const RaRoundMessage *message = &m->rounds->messages[m->rounds->order[i]];
    float *data = g_new(float, message->n_elements + 1);
    RaCommPart part = part_of(m, message, data);

    if (message->from == m->r->world->rank)
      copy_pieces(m, message, data, TRUE);
    g_ptr_array_add(packed, data);
    g_array_append_val(parts, part);
  }
  ra_comm_exchange((RaCommPart *)(gpointer)parts->data, parts->len);
  for (uint32_t i = first; i < end; i++) {
    const RaRoundMessage *message = &m->rounds->messages[m->rounds->order[i]];

    if (message->from != m->r->world->rank)
      copy_pieces(m, message, packed->pdata[i - first], FALSE);
  }
}

void
ra_reshard_rounds(const RaReshard *r, const RaRounds *rounds,
                  RaComm *const *sets, const RaParams *source, RaParams *target)
{
  uint32_t rank = r->world->rank, next = rounds->begin[rank];
  uint32_t end = rounds->begin[rank + 1];
  const RaRoundWindow all = {0, ra_model_n_tensors(r->model), 0, 0};
  Mover m = {r, rounds, sets, NULL, NULL};
  uint32_t tensor = 0;

  /* Windows skip tensors of which nothing travels: they go with the next. */
  for (uint32_t w = 0; w <= rounds->n_windows; w++) {
    RaRoundWindow window = w < rounds->n_windows ? rounds->windows[w] : all;

    window.first_tensor = tensor;
    tensor = window.end_tensor;
    m.window = &window;
    m.whole = g_new0(float *, window.end_tensor - window.first_tensor + 1);
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
    for (uint32_t i = window.first_tensor; i < window.end_tensor; i++)
      g_free(m.whole[i - window.first_tensor]);
    g_free(m.whole);
  }
}
