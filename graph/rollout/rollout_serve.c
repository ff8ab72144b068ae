/* Phases of a rollout with continuous batching.
 *
 * Each micro-batch of a replica has a scheduler and a list of slots: running
 * sequences in order of admission, then waiting ones.  Until a move, the slots
 * determine the end of each sequence.  The schedulers therefore run to their
 * ends once per move, to predict these ends, and once per phase, to update the
 * slots.  Moves of sequences between schedulers are migrate and respread of
 * graph/rollout/rollout.h.
 */
#include "config.h"

#include "graph/input/plan_batching.h"
#include "graph/rollout/batcher.h"
#include "graph/rollout/rollout_impl.h"

/* Batch slot: progress of a candidate that has not ended. */
typedef struct {
  uint32_t candidate;
  uint32_t generated; /* in all iterations */
  uint64_t computed;  /* tokens with keys, if it runs */
  gboolean runs, fills;
} Seat;

typedef struct {
  RaRolloutRun *run;
  uint32_t samples, n_groups;
  RaBatching batching;
  GArray **seats; /* (n_replicas, n_groups) Seat, owned */
  uint64_t *left; /* (n_replicas) tokens of keys and values present, owned */
  uint32_t *group_name; /* (prompts) scratch: number among a scheduler's */
} Serve;

/* (array length=n_groups) (element-type Seat): the slots of a replica. */
static GArray **
seats_of(const Serve *s, uint32_t replica)
{
  return s->seats + (gsize)replica * s->n_groups;
}

/* A scheduler made from its seats, which are borrowed by number. */
typedef struct {
  RaBatcher *batcher;
  uint32_t n;
  uint32_t *prompt, *response, *generated, *group; /* (n) arena or owned */
  uint64_t *computed;                              /* (n) likewise */
  RaBatchStart start;
} Scheduler;

/* --- When all would end --- */

/* Numbers of the prompts that the seats' sequences share. */
static void
name_groups(const Serve *s, const GArray *seats, uint32_t *out_group)
{
  uint32_t n = 0;

  for (guint i = 0; i < seats->len; i++)
    s->group_name[g_array_index(seats, Seat, i).candidate / s->samples] =
        RA_NONE;
  for (guint i = 0; i < seats->len; i++) {
    uint32_t *name =
        &s->group_name[g_array_index(seats, Seat, i).candidate / s->samples];

    if (*name == RA_NONE)
      *name = n++;
    out_group[i] = *name;
  }
}

/* Fills in @scheduler, whose arrays have room, and its batcher.  Returns
 * whether all that run find places. */
static gboolean
scheduler_init(const Serve *s, const GArray *seats, Scheduler *scheduler)
{
  uint32_t n_running = 0, n_placed;
  gboolean last_fills = FALSE;

  scheduler->n = seats->len;
  for (guint i = 0; i < seats->len; i++) {
    const Seat *seat = &g_array_index(seats, Seat, i);
    const RaCandidate *c = &s->run->c->all[seat->candidate];

    scheduler->prompt[i] = c->prompt;
    scheduler->response[i] = c->response;
    scheduler->generated[i] = seat->generated;
    scheduler->computed[i] = seat->runs ? seat->computed : 0;
    n_running += seat->runs;
    last_fills = seat->runs ? seat->fills : last_fills;
  }
  name_groups(s, seats, scheduler->group);
  scheduler->batcher = ra_batcher_new(&s->batching, scheduler->prompt,
                                      scheduler->response, seats->len);
  scheduler->start = (RaBatchStart){
      n_running, last_fills, scheduler->generated, scheduler->computed,
      s->batching.group > 1 ? scheduler->group : NULL};
  n_placed = ra_batcher_set_start(scheduler->batcher, &scheduler->start);
  ra_batcher_arrive(scheduler->batcher, seats->len);
  return n_placed == n_running;
}

/* Arrays of its own; scratch_clear() it. */
static gboolean
scratch_init(const Serve *s, const GArray *seats, Scheduler *out)
{
  gsize n = seats->len;

  out->prompt = g_new(uint32_t, 4 * n + 1);
  out->response = out->prompt + n;
  out->generated = out->prompt + 2 * n;
  out->group = out->prompt + 3 * n;
  out->computed = g_new(uint64_t, n + 1);
  return scheduler_init(s, seats, out);
}

static void
scratch_clear(Scheduler *x)
{
  ra_batcher_free(x->batcher);
  g_free(x->prompt);
  g_free(x->computed);
}

/* TRUE if the scheduler can run all sequences that run in @seats. */
static gboolean
seats_fit(const Serve *s, const GArray *seats)
{
  Scheduler trial;
  gboolean all_run = scratch_init(s, seats, &trial);

  scratch_clear(&trial);
  return all_run;
}

static void
predict_seats(Serve *s, GArray *seats, uint32_t at)
{
  Scheduler x;
  RaBatchStretch stretch;
  uint64_t step = at;

  scratch_init(s, seats, &x);
  while (ra_batcher_next(x.batcher, &stretch)) {
    guint n_ended;
    const uint32_t *ended;

    ra_batcher_take(x.batcher, stretch.n_steps);
    step += stretch.n_steps;
    ended = ra_batcher_ended(x.batcher, &n_ended);
    for (guint i = 0; i < n_ended; i++)
      s->run->c->all[g_array_index(seats, Seat, ended[i]).candidate].end =
          (uint32_t)MIN(step, UINT32_MAX);
  }
  scratch_clear(&x);
}

/* The ends of all that have not ended by @at, and the clock's marks. */
static void
predict(Serve *s, uint32_t at)
{
  RaRolloutRun *run = s->run;

  for (uint32_t i = 0; i < run->n_replicas * s->n_groups; i++)
    if (s->seats[i]->len > 0)
      predict_seats(s, s->seats[i], at);
  ra_candidates_stop(run->c, s->samples, run->plan->workload->n_prompts);
  ra_rollout_set_clock(run, s->samples);
}

/* A sequence on its way. */
typedef struct {
  uint32_t candidate, from, to;
} Moved;

/* --- Moves --- */

/* Puts @seat behind those that run on its replica, before one whose prompt is
 * not all computed; one that brings no keys, or finds no place, behind all. */
static void
seat_down(const Serve *s, uint32_t to, Seat seat)
{
  GArray **seats = seats_of(s, to), *least = seats[0];
  guint at;

  for (uint32_t g = 1; g < s->n_groups; g++)
    if (seats[g]->len < least->len)
      least = seats[g];
  for (at = 0; at < least->len; at++) {
    const Seat *other = &g_array_index(least, Seat, at);

    if (seat.runs && (!other->runs || other->fills))
      break;
  }
  g_array_insert_val(least, at, seat);
  if (!seat.runs || seats_fit(s, least))
    return;
  g_array_remove_index(least, at);
  seat.runs = FALSE;
  g_array_append_val(least, seat);
}

/* Moves the seat at @at of @seats. */
static void
move(Serve *s, uint32_t from, GArray *seats, guint at, uint32_t to,
     GArray *moved)
{
  RaRolloutRun *run = s->run;
  Seat seat = g_array_index(seats, Seat, at);
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
static const Seat *
seat_at(const Serve *s, uint32_t replica, uint32_t candidate)
{
  for (uint32_t g = 0; g < s->n_groups; g++) {
    const GArray *seats = seats_of(s, replica)[g];

    for (guint i = 0; i < seats->len; i++)
      if (g_array_index(seats, Seat, i).candidate == candidate)
        return &g_array_index(seats, Seat, i);
  }
  g_return_val_if_reached(NULL);
}

/* Adds up the tokens that move, once it is known which sequences can run. */
static void
close_moves(Serve *s, GArray *moved)
{
  g_autoptr(GArray) travels = g_array_new(FALSE, FALSE, sizeof(RaTravel));
  gboolean copies = s->run->call->tail.moved_kv == RA_MOVED_COPY;

  for (guint i = 0; i < moved->len; i++) {
    const Moved *m = &g_array_index(moved, Moved, i);
    const Seat *seat = seat_at(s, m->to, m->candidate);
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

/* Apply the moves at step @at. */
static void
migrate(Serve *s, uint32_t at)
{
  g_autoptr(GArray) moved = g_array_new(FALSE, FALSE, sizeof(Moved));
  RaRolloutRun *run = s->run;
  uint32_t n_to = run->call->tail.migrate_to;

  for (uint32_t d = n_to; d < run->n_replicas; d++)
    for (uint32_t g = 0; g < s->n_groups; g++)
      while (seats_of(s, d)[g]->len > 0)
        move(s, d, seats_of(s, d)[g], 0,
             ra_rollout_replica_with(run, n_to, FALSE), moved);
  predict(s, at);
  close_moves(s, moved);
}

/* Who goes from @replica: the last that waits, else the one that runs with the
 * fewest tokens. */
static GArray *
pick(const Serve *s, uint32_t replica, guint *out_at)
{
  GArray *best = NULL;

  for (uint32_t g = 0; g < s->n_groups; g++) {
    GArray *seats = seats_of(s, replica)[g];

    if (seats->len > 0 && !g_array_index(seats, Seat, seats->len - 1).runs) {
      *out_at = seats->len - 1;
      return seats;
    }
  }
  for (uint32_t g = 0; g < s->n_groups; g++) {
    GArray *seats = seats_of(s, replica)[g];

    for (guint i = 0; i < seats->len; i++)
      if (!best || g_array_index(seats, Seat, i).computed <
                       g_array_index(best, Seat, *out_at).computed) {
        best = seats;
        *out_at = i;
      }
  }
  return best;
}

static void
respread(Serve *s, uint32_t at)
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
  predict(s, at);
  close_moves(s, moved);
}

/* --- A phase --- */

/* The arrays of a replica's schedulers, in the rollout's arena. */
static void
scheduler_room(const Serve *s, RaSpell *spell, uint32_t first, Scheduler *out)
{
  RaArena *arena = s->run->arena;

  if (first == 0) {
    spell->prompt = ra_arena_alloc(arena, spell->n, sizeof(uint32_t));
    spell->response = ra_arena_alloc(arena, spell->n, sizeof(uint32_t));
    spell->made = ra_arena_alloc(arena, spell->n, sizeof(uint32_t));
    out->generated = ra_arena_alloc(arena, spell->n, sizeof(uint32_t));
    out->group = ra_arena_alloc(arena, spell->n, sizeof(uint32_t));
    out->computed = ra_arena_alloc(arena, spell->n, sizeof(uint64_t));
    out->prompt = (uint32_t *)spell->prompt;
    out->response = (uint32_t *)spell->response;
    return;
  }
  out->prompt += out->n;
  out->response += out->n;
  out->generated += out->n;
  out->group += out->n;
  out->computed += out->n;
}

/* The seats that a scheduler leaves; what they and those that ended have. */
static void
take_seats(GArray **inout_seats, const Scheduler *x, uint32_t *made)
{
  g_autoptr(GArray) list = g_array_new(FALSE, FALSE, sizeof(RaBatchSeat));
  GArray *after = g_array_new(FALSE, FALSE, sizeof(Seat));

  for (uint32_t i = 0; i < x->n; i++)
    made[i] = x->response[i];
  ra_batcher_list(x->batcher, list);
  for (guint i = 0; i < list->len; i++) {
    const RaBatchSeat *at = &g_array_index(list, RaBatchSeat, i);
    Seat seat = {g_array_index(*inout_seats, Seat, at->sequence).candidate,
                 at->generated, at->computed, at->runs, at->fills};

    made[at->sequence] = at->generated;
    g_array_append_val(after, seat);
  }
  g_array_unref(*inout_seats);
  *inout_seats = after;
}

/* Adds the work of a scheduler in @n_steps to the phase record. */
static void
run_scheduler(Serve *s, GArray **inout_seats, Scheduler *x, uint64_t n_steps,
              RaSpell *spell)
{
  uint32_t *made = (uint32_t *)spell->made + (x->prompt - spell->prompt);
  uint64_t left = n_steps, size = s->batching.block_tokens;
  RaBatchStretch stretch;

  spell->before_tokens += ra_batcher_blocks(x->batcher) * size;
  while (left > 0 && ra_batcher_next(x->batcher, &stretch)) {
    uint64_t n = MIN(left, stretch.n_steps);

    ra_batcher_take(x->batcher, n);
    left -= n;
  }
  spell->peak_tokens += MAX(ra_batcher_work(x->batcher)->peak_blocks,
                            ra_batcher_blocks(x->batcher)) *
                        size;
  spell->left_tokens += ra_batcher_blocks(x->batcher) * size;
  take_seats(inout_seats, x, made);
  for (uint32_t i = 0; i < x->n; i++)
    spell->generated_tokens += made[i] - x->generated[i];
  ra_batcher_free(x->batcher);
}

/* A pool is there while its replica has sequences. */
static void
take_pool(const Serve *s, uint32_t n_left, RaSpell *spell)
{
  uint64_t pool = s->n_groups * s->batching.n_blocks * s->batching.block_tokens;

  if (pool == 0)
    return;
  spell->before_tokens = spell->peak_tokens = pool;
  spell->left_tokens = n_left > 0 ? pool : 0;
}

static void
run_replica(Serve *s, uint32_t d, uint64_t n_steps, gboolean stops,
            RaSpell *spell)
{
  GArray **seats = seats_of(s, d);
  uint32_t *begin =
      ra_arena_alloc(s->run->arena, (gsize)s->n_groups + 1, sizeof *begin);
  RaBatchStart *starts =
      ra_arena_alloc(s->run->arena, s->n_groups, sizeof *starts);
  uint32_t n_left = 0;
  Scheduler x = {0};

  for (uint32_t g = 0; g < s->n_groups; g++)
    spell->n += seats[g]->len;
  if (spell->n == 0)
    return;
  spell->starts = starts;
  spell->group_begin = begin;
  spell->n_steps = n_steps;
  begin[0] = 0;
  for (uint32_t g = 0; g < s->n_groups; g++) {
    begin[g + 1] = begin[g] + seats[g]->len;
    scheduler_room(s, spell, g, &x);
    scheduler_init(s, seats[g], &x);
    starts[g] = x.start;
    run_scheduler(s, &seats[g], &x, n_steps, spell);
    n_left += seats[g]->len;
  }
  take_pool(s, n_left, spell);
  if (stops)
    spell->left_tokens = 0;
  s->run->n_running[d] = n_left;
}

/* Notes the tokens that arrive or leave before @spell, from the difference to
 * the preceding phase. */
static void
note_room(Serve *s, uint32_t d, RaSpell *spell)
{
  RaSpellMove *m = &s->run->next;
  uint64_t before = spell->before_tokens, left = s->left[d];

  if (m->n == 0) {
    spell->before_tokens = left;
    return;
  }
  ((uint64_t *)m->in_tokens)[d] = before > left ? before - left : 0;
  ((uint64_t *)m->out_tokens)[d] = left > before ? left - before : 0;
}

/* The phase from step @begin to step @end. */
static void
add_phase(Serve *s, uint32_t begin, uint32_t end)
{
  RaRolloutRun *run = s->run;
  RaSpellMove none = {0};

  for (uint32_t d = 0; d < run->n_replicas; d++) {
    RaSpell spell = {0};

    run->n_running[d] = 0;
    run_replica(s, d, end - begin, end == run->c->stop, &spell);
    note_room(s, d, &spell);
    s->left[d] = spell.left_tokens;
    run->generated += spell.generated_tokens;
    g_array_append_val(run->spells, spell);
  }
  g_array_append_val(run->moves, run->next);
  run->next = none;
}

/* --- The run --- */

static int
compare_places(gconstpointer a, gconstpointer b, gpointer data)
{
  const RaCandidate *all = data;
  const Seat *x = a, *y = b;

  return (all[x->candidate].place > all[y->candidate].place) -
         (all[x->candidate].place < all[y->candidate].place);
}

/* Everybody waits: in order in equal shares of neighbours, by length dealt out.
 */
static void
seat_all(Serve *s)
{
  RaRolloutRun *run = s->run;
  g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Seat));
  g_autofree uint32_t *n = g_new0(uint32_t, run->n_replicas);
  g_autofree uint32_t *at = g_new0(uint32_t, run->n_replicas);

  for (uint32_t i = 0; i < run->c->n; i++) {
    const RaCandidate *c = &run->c->all[i];
    Seat seat = {i, c->done, 0, FALSE, TRUE};

    if (c->end == 0)
      continue;
    g_array_append_val(all, seat);
    n[c->replica]++;
  }
  g_array_sort_with_data(all, compare_places, run->c->all);
  for (guint i = 0; i < all->len; i++) {
    Seat seat = g_array_index(all, Seat, i);
    uint32_t d = run->c->all[seat.candidate].replica, k = at[d]++;
    uint64_t m = s->n_groups;
    uint32_t g = run->call->tail.assignment == RA_ASSIGN_LENGTH
                     ? k % s->n_groups
                     : (uint32_t)(((k + 1) * m - 1) / n[d]);

    g_array_append_val(seats_of(s, d)[g], seat);
  }
}

/* Tokens that each sequence has generated in this iteration. */
static void
note_made(Serve *s)
{
  RaCandidates *c = s->run->c;

  for (uint32_t i = 0; i < c->n; i++)
    c->all[i].made = c->all[i].response - c->all[i].done;
  for (uint32_t k = 0; k < s->run->n_replicas * s->n_groups; k++)
    for (guint i = 0; i < s->seats[k]->len; i++) {
      const Seat *seat = &g_array_index(s->seats[k], Seat, i);
      RaCandidate *of = &c->all[seat->candidate];

      of->made = seat->generated - of->done;
    }
}

static void
serve_phases(Serve *s)
{
  RaRolloutRun *run = s->run;
  uint32_t at = 0, next;
  gboolean migrated = FALSE;

  predict(s, 0);
  ra_rollout_close_parts(run, 0);
  while ((next = ra_rollout_next(run, at)) > 0) {
    add_phase(s, at, next);
    at = next;
    ra_rollout_close_parts(run, at);
    if (at == run->c->stop)
      break;
    if (at == run->migrate_at && !migrated) {
      migrated = TRUE;
      migrate(s, at);
    } else if (run->n_respreads > 0 && ra_rollout_is_dry(run)) {
      respread(s, at);
    }
  }
  g_assert(run->part == run->n_parts);
}

void
ra_rollout_serve(RaRolloutRun *run, uint32_t call, uint32_t samples)
{
  gsize n_seats = (gsize)run->n_replicas * run->call->n_micro_batches;
  g_autofree GArray **seats = g_new(GArray *, n_seats);
  g_autofree uint64_t *left = g_new0(uint64_t, run->n_replicas);
  g_autofree uint32_t *names = g_new(uint32_t, (gsize)run->c->n / samples + 1);
  Serve s = {.run = run,
             .samples = samples,
             .n_groups = run->call->n_micro_batches,
             .batching = ra_call_batching(run->plan, call),
             .seats = seats,
             .left = left,
             .group_name = names};

  for (gsize i = 0; i < n_seats; i++)
    seats[i] = g_array_new(FALSE, FALSE, sizeof(Seat));
  seat_all(&s);
  serve_phases(&s);
  note_made(&s);
  for (gsize i = 0; i < n_seats; i++)
    g_array_unref(seats[i]);
}
