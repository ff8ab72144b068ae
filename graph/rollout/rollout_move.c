/* Moves of sequences between schedulers: migrate and respread of
 * graph/rollout/rollout.h with continuous batching. */
#include "config.h"

#include "graph/rollout/rollout_serve_impl.h"

/* A sequence on its way. */
typedef struct {
  uint32_t candidate, from, to;
} Moved;

/* Puts @seat behind those that run on its replica, before one whose prompt is
 * not all computed; one that brings no keys, or finds no place, behind all. */
static void
seat_down(const RaRolloutServe *s, uint32_t to, RaSeat seat)
{
  GArray **seats = ra_seats_of(s, to), *least = seats[0];
  guint at;

  for (uint32_t g = 1; g < s->n_groups; g++)
    if (seats[g]->len < least->len)
      least = seats[g];
  for (at = 0; at < least->len; at++) {
    const RaSeat *other = &g_array_index(least, RaSeat, at);

    if (seat.runs && (!other->runs || other->fills))
      break;
  }
  g_array_insert_val(least, at, seat);
  if (!seat.runs || ra_seats_fit(s, least))
    return;
  g_array_remove_index(least, at);
  seat.runs = FALSE;
  g_array_append_val(least, seat);
}

/* Moves the seat at @at of @seats. */
static void
move(RaRolloutServe *s, uint32_t from, GArray *seats, guint at, uint32_t to,
     GArray *moved)
{
  RaRolloutRun *run = s->run;
  RaSeat seat = g_array_index(seats, RaSeat, at);
  Moved m = {seat.candidate, from, to};

  g_array_remove_index(seats, at);
  if (run->call->tail.moved_kv != RA_MOVED_COPY || seat.fills || !seat.runs)
    seat.runs = FALSE;
  seat_down(s, to, seat);
  run->n_running[from]--;
  run->n_running[to]++;
  run->c->all[seat.candidate].replica = to;
  g_array_append_val(moved, m);
}

/* The seat of @candidate on @replica. */
static const RaSeat *
seat_at(const RaRolloutServe *s, uint32_t replica, uint32_t candidate)
{
  for (uint32_t g = 0; g < s->n_groups; g++) {
    const GArray *seats = ra_seats_of(s, replica)[g];

    for (guint i = 0; i < seats->len; i++)
      if (g_array_index(seats, RaSeat, i).candidate == candidate)
        return &g_array_index(seats, RaSeat, i);
  }
  g_return_val_if_reached(NULL);
}

/* Adds up the tokens that move, once it is known which sequences can run. */
static void
close_moves(RaRolloutServe *s, GArray *moved)
{
  g_autoptr(GArray) travels = g_array_new(FALSE, FALSE, sizeof(RaTravel));
  gboolean copies = s->run->call->tail.moved_kv == RA_MOVED_COPY;

  for (guint i = 0; i < moved->len; i++) {
    const Moved *m = &g_array_index(moved, Moved, i);
    const RaSeat *seat = seat_at(s, m->to, m->candidate);
    uint64_t known =
        (uint64_t)s->run->c->all[m->candidate].prompt + seat->generated;
    uint64_t tokens = copies ? (seat->runs ? seat->computed : 0) : known;
    RaTravel travel = {m->from, m->to, tokens, tokens};

    g_array_append_val(travels, travel);
    if (!seat->runs && seat->generated > 0)
      s->run->recomputed += known;
  }
  ra_rollout_close_moves(s->run, travels);
}

void
ra_rollout_migrate(RaRolloutServe *s, uint32_t at)
{
  g_autoptr(GArray) moved = g_array_new(FALSE, FALSE, sizeof(Moved));
  RaRolloutRun *run = s->run;
  uint32_t n_to = run->call->tail.migrate_to;

  for (uint32_t d = n_to; d < run->n_replicas; d++)
    for (uint32_t g = 0; g < s->n_groups; g++)
      while (ra_seats_of(s, d)[g]->len > 0)
        move(s, d, ra_seats_of(s, d)[g], 0,
             ra_rollout_replica_with(run, n_to, FALSE), moved);
  ra_rollout_predict(s, at);
  close_moves(s, moved);
}

/* Who goes from @replica: the last that waits, else the one that runs with the
 * fewest tokens. */
static GArray *
pick(const RaRolloutServe *s, uint32_t replica, guint *out_at)
{
  GArray *best = NULL;

  for (uint32_t g = 0; g < s->n_groups; g++) {
    GArray *seats = ra_seats_of(s, replica)[g];

    if (seats->len > 0 && !g_array_index(seats, RaSeat, seats->len - 1).runs) {
      *out_at = seats->len - 1;
      return seats;
    }
  }
  for (uint32_t g = 0; g < s->n_groups; g++) {
    GArray *seats = ra_seats_of(s, replica)[g];

    for (guint i = 0; i < seats->len; i++)
      if (!best || g_array_index(seats, RaSeat, i).computed <
                       g_array_index(best, RaSeat, *out_at).computed) {
        best = seats;
        *out_at = i;
      }
  }
  return best;
}

void
ra_rollout_respread(RaRolloutServe *s, uint32_t at)
{
  g_autoptr(GArray) moved = g_array_new(FALSE, FALSE, sizeof(Moved));
  RaRolloutRun *run = s->run;

  for (;;) {
    uint32_t from = ra_rollout_replica_with(run, run->n_replicas, TRUE);
    uint32_t to = ra_rollout_replica_with(run, run->n_replicas, FALSE);
    GArray *seats;
    guint which = 0;

    if (run->n_running[from] < run->n_running[to] + 2)
      break;
    seats = pick(s, from, &which);
    move(s, from, seats, which, to, moved);
  }
  run->n_respreads--;
  ra_rollout_predict(s, at);
  close_moves(s, moved);
}
