/* State of a batcher: saving it, and starting a batcher from it. */
#include "config.h"

#include "graph/rollout/batcher_impl.h"

/* TRUE if the next sequence to run fits. */
static gboolean
has_place(RaBatcher *b, uint32_t i, uint64_t held)
{
  return b->n_running < b->batching.max_sequences &&
         ra_batcher_more_blocks(b, i, 0, held) <= ra_batcher_free_blocks(b);
}

uint32_t
ra_batcher_set_start(RaBatcher *b, const RaBatchStart *start)
{
  uint32_t i;

  g_return_val_if_fail(b->next_new == 0 && b->n_running == 0, 0);
  g_return_val_if_fail(!b->pauses, 0);
  b->group_of = start->group;
  for (i = 0; i < b->n; i++)
    b->sequences[i].generated = start->generated[i];
  for (i = 0; i < start->n_running; i++) {
    RaBatchSequence *s = &b->sequences[i];
    uint64_t held = b->batching.reserve
                        ? (uint64_t)b->prompt[i] + b->response[i]
                        : start->computed[i];

    if (!has_place(b, i, held))
      break;
    ra_batcher_take_blocks(b, i, 0, held);
    s->computed = start->computed[i];
    s->state = RA_BATCH_FILLS;
    ra_batcher_link_last(b, i);
    if (!start->last_fills || i + 1 < start->n_running)
      ra_batcher_set_decoding(b, i, TRUE);
  }
  b->next_new = i;
  return i;
}

static RaBatchSeat
seat_of(const RaBatcher *b, uint32_t i, gboolean runs)
{
  const RaBatchSequence *s = &b->sequences[i];
  RaBatchSeat seat = {i, s->generated, 0, runs, TRUE};

  if (runs)
    seat.computed = ra_batcher_computed(b, i);
  if (runs && s->state == RA_BATCH_DECODES) {
    seat.generated =
        ra_batcher_response(b, i) - (uint32_t)(s->end_step - b->step);
    seat.fills = FALSE;
  }
  return seat;
}

void
ra_batcher_list(const RaBatcher *b, GArray *out_seats)
{
  RaBatchSeat seat;

  for (uint32_t i = b->head; i != RA_BATCHER_NOBODY; i = b->sequences[i].next) {
    seat = seat_of(b, i, TRUE);
    g_array_append_val(out_seats, seat);
  }
  for (guint k = b->again->len; k-- > 0;) {
    seat = seat_of(b, g_array_index(b->again, uint32_t, k), FALSE);
    g_array_append_val(out_seats, seat);
  }
  for (uint32_t i = b->next_new; i < b->n_arrived; i++) {
    seat = seat_of(b, i, FALSE);
    g_array_append_val(out_seats, seat);
  }
}
