/* Phases of a rollout with static batching: moves, parts, respread. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graph/input/plan_batching.h"
#include "graph/rollout/rollout_impl.h"

static int
compare_tokens(const void *a, const void *b)
{
  const uint64_t *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

/* When a sequence counts as complete: with its prompt where those are
 * over-sampled, else by itself. */
static uint64_t
complete_at(const RaRolloutRun *run, uint32_t samples, uint32_t index)
{
  return run->call->tail.over_sample > 1 ? run->c->completed[index / samples]
                                         : run->c->all[index].end;
}

/* Sets the ends of parts and the clock of the migration. */
void
ra_rollout_set_clock(RaRolloutRun *run, uint32_t samples)
{
  RaCandidates *c = run->c;
  g_autofree uint64_t *ends = g_new(uint64_t, c->n);
  uint64_t n = 0;

  for (uint32_t i = 0; i < c->n; i++)
    if (c->is_kept[i / samples])
      ends[n++] = complete_at(run, samples, i);
  qsort(ends, n, sizeof *ends, compare_tokens);
  for (uint32_t part = 0; part < run->n_parts; part++)
    run->part_end[part] =
        (uint32_t)ends[((part + 1) * n + run->n_parts - 1) / run->n_parts - 1];
  n = 0;
  for (uint32_t i = 0; i < c->n; i++)
    if (c->all[i].end > 0)
      ends[n++] = c->all[i].end;
  qsort(ends, n, sizeof *ends, compare_tokens);
  if (run->call->tail.migrate_frac > 0) {
    uint64_t left = (uint64_t)(run->call->tail.migrate_frac * (double)n);

    if (left > 0 && ends[n - left - 1] < ends[n - 1])
      run->migrate_at = (uint32_t)ends[n - left - 1];
  }
}

/* --- Phases --- */

/* Keys and values of a sequence that has run until @at: its last token has not
 * been attended to. */
static uint64_t
kv_tokens(const RaCandidate *s, uint32_t at)
{
  return (uint64_t)s->prompt + s->done + at - 1;
}

/* In whole blocks. */
static uint64_t
kv_room(const RaRolloutRun *run, const RaCandidate *s, uint32_t at)
{
  return ra_call_plan_kv_room(run->call, kv_tokens(s, at));
}

static void
add_to_spell(const RaRolloutRun *run, RaSpell *spell, RaCandidate *s,
             uint32_t begin, uint32_t end, uint32_t *prompt, uint32_t *response)
{
  gboolean prefills = begin == 0 || s->recomputes;
  uint32_t n_tokens = MIN(s->end, end) - begin;

  prompt[spell->n] = s->prompt + s->done + begin - !prefills;
  response[spell->n] = n_tokens + !prefills;
  spell->n++;
  spell->n_prefilled += prefills;
  spell->generated_tokens += n_tokens;
  if (s->end > end)
    spell->left_tokens += kv_room(run, s, end);
}

/* The phase from token @begin to token @end. */
static void
add_phase(RaRolloutRun *run, uint32_t begin, uint32_t end)
{
  RaCandidates *c = run->c;
  g_autofree RaSpell *spells = g_new0(RaSpell, run->n_replicas);
  g_autofree uint32_t *size = g_new0(uint32_t, run->n_replicas);
  RaSpellMove none = {0};

  for (uint32_t i = 0; i < c->n; i++)
    size[c->all[i].replica] += c->all[i].end > begin;
  for (uint32_t d = 0; d < run->n_replicas; d++) {
    spells[d].prompt = ra_arena_alloc(run->arena, size[d], sizeof(uint32_t));
    spells[d].response = ra_arena_alloc(run->arena, size[d], sizeof(uint32_t));
  }
  /* Those with a prefill stand first. */
  for (guint pass = 0; pass < 2; pass++)
    for (uint32_t i = 0; i < c->n; i++) {
      RaCandidate *s = &c->all[i];
      RaSpell *spell = &spells[s->replica];

      if (s->end <= begin || (begin > 0 && s->recomputes) != (pass == 0))
        continue;
      if (pass == 0)
        run->recomputed += (uint64_t)s->prompt + s->done + begin;
      add_to_spell(run, spell, s, begin, end, (uint32_t *)spell->prompt,
                   (uint32_t *)spell->response);
    }
  for (uint32_t i = 0; i < c->n; i++)
    c->all[i].recomputes = FALSE;
  for (uint32_t d = 0; d < run->n_replicas; d++) {
    run->generated += spells[d].generated_tokens;
    run->n_running[d] = 0;
  }
  for (uint32_t i = 0; i < c->n; i++)
    run->n_running[c->all[i].replica] += c->all[i].end > end;
  g_array_append_vals(run->spells, spells, run->n_replicas);
  g_array_append_val(run->moves, run->next);
  run->next = none;
}

/* --- Moves --- */

/* TRUE if a message between two replicas leaves the node in some stage. */
static gboolean
crosses(const RaRolloutRun *run, uint32_t from, uint32_t to)
{
  for (uint32_t stage = 0; stage < run->call->pp; stage++) {
    uint32_t node[2];

    for (guint side = 0; side < 2; side++) {
      RaCoord coord = {
          .at = {[RA_AXIS_DP] = side ? to : from, [RA_AXIS_PP] = stage}};
      uint32_t gpu = ra_mesh_gpu(&run->call->mesh, run->plan->cluster,
                                 ra_call_plan_rank(run->call, &coord));

      node[side] = gpu / run->plan->cluster->gpus_per_node;
    }
    if (node[0] != node[1])
      return TRUE;
  }
  return FALSE;
}

/* Moves @s at token @at; its keys and values stay behind where they are
 * recomputed. */
static void
move(RaRolloutRun *run, RaCandidate *s, uint32_t to, uint32_t at,
     GArray *travels)
{
  gboolean copies = run->call->tail.moved_kv == RA_MOVED_COPY;
  RaSpell *spells = (RaSpell *)(gpointer)run->spells->data + run->spells->len -
                    run->n_replicas;
  RaTravel travel = {s->replica, to, kv_tokens(s, at) + !copies,
                     kv_room(run, s, at)};

  g_array_append_val(travels, travel);
  if (!copies)
    spells[s->replica].left_tokens -= kv_room(run, s, at);
  run->n_running[s->replica]--;
  run->n_running[to]++;
  s->replica = to;
  s->recomputes = !copies;
}

static int
compare_travels(const void *a, const void *b)
{
  const RaTravel *x = a, *y = b;

  if (x->from != y->from)
    return x->from < y->from ? -1 : 1;
  return (x->to > y->to) - (x->to < y->to);
}

/* Adds up the moves before the next phase. */
void
ra_rollout_close_moves(RaRolloutRun *run, GArray *travels)
{
  uint32_t n = run->n_replicas;
  gboolean copies = run->call->tail.moved_kv == RA_MOVED_COPY;
  uint64_t *in = ra_arena_alloc(run->arena, n, sizeof *in);
  uint64_t *out = ra_arena_alloc(run->arena, n, sizeof *out);
  /* Sent and got, within the node and across. */
  g_autofree uint64_t *load = g_new0(uint64_t, 4 * (gsize)n);
  g_autofree uint32_t *peers = g_new0(uint32_t, 2 * (gsize)n);
  RaSpellMove *m = &run->next;

  g_array_sort(travels, compare_travels);
  for (guint i = 0; i < travels->len; i++) {
    const RaTravel *t = &g_array_index(travels, RaTravel, i);
    guint far = crosses(run, t->from, t->to);

    load[far * n + t->from] += t->tokens;
    load[(2 + far) * n + t->to] += t->tokens;
    if (i == 0 || compare_travels(t - 1, t) != 0) {
      peers[t->from]++;
      peers[n + t->to]++;
    }
    in[t->to] += copies ? t->held : 0;
    out[t->from] += copies ? t->held : 0;
  }
  *m = (RaSpellMove){.n = travels->len, .in_tokens = in, .out_tokens = out};
  for (uint32_t i = 0; i < 2 * n; i++) {
    uint64_t *most = i / n ? &m->max_inter_tokens : &m->max_intra_tokens;

    *most = MAX(*most, MAX(load[i], load[2 * n + i]));
    m->n_steps = MAX(m->n_steps, peers[i]);
  }
}

uint32_t
ra_rollout_replica_with(const RaRolloutRun *run, uint32_t n_replicas,
                        gboolean most)
{
  uint32_t best = 0;

  for (uint32_t d = 1; d < n_replicas; d++)
    if (most ? run->n_running[d] > run->n_running[best]
             : run->n_running[d] < run->n_running[best])
      best = d;
  return best;
}

static void
migrate(RaRolloutRun *run, uint32_t at)
{
  g_autoptr(GArray) travels = g_array_new(FALSE, FALSE, sizeof(RaTravel));
  uint32_t n_to = run->call->tail.migrate_to;

  for (uint32_t i = 0; i < run->c->n; i++) {
    RaCandidate *s = &run->c->all[i];

    if (s->end > at && s->replica >= n_to)
      move(run, s, ra_rollout_replica_with(run, n_to, FALSE), at, travels);
  }
  ra_rollout_close_moves(run, travels);
}

/* The running sequence of @replica with the fewest tokens. */
static RaCandidate *
shortest_of(const RaRolloutRun *run, uint32_t replica, uint32_t at)
{
  RaCandidate *best = NULL;

  for (uint32_t i = 0; i < run->c->n; i++) {
    RaCandidate *s = &run->c->all[i];

    if (s->end > at && s->replica == replica &&
        (!best || kv_tokens(s, at) < kv_tokens(best, at)))
      best = s;
  }
  return best;
}

static void
respread(RaRolloutRun *run, uint32_t at)
{
  g_autoptr(GArray) travels = g_array_new(FALSE, FALSE, sizeof(RaTravel));

  for (;;) {
    uint32_t from = ra_rollout_replica_with(run, run->n_replicas, TRUE);
    uint32_t to = ra_rollout_replica_with(run, run->n_replicas, FALSE);

    if (run->n_running[from] < run->n_running[to] + 2)
      break;
    move(run, shortest_of(run, from, at), to, at, travels);
  }
  ra_rollout_close_moves(run, travels);
  run->n_respreads--;
}

/* --- The run --- */

/* The next token after @at at which something happens; 0: nothing runs. */
uint32_t
ra_rollout_next(const RaRolloutRun *run, uint32_t at)
{
  g_autofree uint32_t *dry = g_new0(uint32_t, run->n_replicas);
  uint32_t end = 0, next;

  for (uint32_t i = 0; i < run->c->n; i++) {
    const RaCandidate *s = &run->c->all[i];

    end = MAX(end, s->end);
    dry[s->replica] = MAX(dry[s->replica], s->end);
  }
  if (end <= at)
    return 0;
  next = end;
  for (uint32_t part = run->part; part < run->n_parts; part++)
    if (run->part_end[part] > at)
      next = MIN(next, run->part_end[part]);
  if (run->migrate_at > at)
    next = MIN(next, run->migrate_at);
  for (uint32_t d = 0; run->n_respreads > 0 && d < run->n_replicas; d++)
    if (dry[d] > at)
      next = MIN(next, dry[d]);
  return next;
}

/* TRUE if some replica has no sequence while another has at least two. */
gboolean
ra_rollout_is_dry(const RaRolloutRun *run)
{
  return run->n_running[ra_rollout_replica_with(run, run->n_replicas, FALSE)] ==
             0 &&
         run->n_running[ra_rollout_replica_with(run, run->n_replicas, TRUE)] >=
             2;
}

void
ra_rollout_close_parts(RaRolloutRun *run, uint32_t at)
{
  uint32_t n_phases = run->spells->len / run->n_replicas;

  while (run->part < run->n_parts && run->part_end[run->part] <= at)
    run->part_begin[++run->part] = n_phases;
}

static void
run_all(RaRolloutRun *run)
{
  uint32_t at = 0, next;

  ra_rollout_close_parts(run, 0);
  while ((next = ra_rollout_next(run, at)) > 0) {
    add_phase(run, at, next);
    at = next;
    ra_rollout_close_parts(run, at);
    if (at == run->migrate_at)
      migrate(run, at);
    else if (run->n_respreads > 0 && ra_rollout_is_dry(run))
      respread(run, at);
  }
  /* Surplus sequences run to the token at which the last part ends. */
  g_assert(run->part == run->n_parts);
}

static const RaRollout *
finish(RaRolloutRun *run, uint32_t samples)
{
  RaRollout *r = ra_arena_alloc(run->arena, 1, sizeof *r);
  uint32_t n = run->moves->len;
  RaSpell *spells =
      ra_arena_alloc(run->arena, run->spells->len, sizeof *spells);
  RaSpellMove *moves = ra_arena_alloc(run->arena, n, sizeof *moves);

  if (n > 0) {
    memcpy(spells, run->spells->data, run->spells->len * sizeof *spells);
    memcpy(moves, run->moves->data, n * sizeof *moves);
  }
  *r = (RaRollout){.n_replicas = run->n_replicas,
                   .n_phases = n,
                   .n_parts = run->n_parts,
                   .spells = spells,
                   .moves = moves,
                   .part_begin = run->part_begin,
                   .generated_tokens = run->generated,
                   .recomputed_tokens = run->recomputed};
  for (uint32_t i = 0; i < run->c->n; i++) {
    const RaCandidate *s = &run->c->all[i];

    r->n_begun += s->made > 0;
    r->n_carried_in += s->made > 0 && s->done > 0;
    if (s->made > 0 && s->done > 0)
      r->recomputed_tokens += (uint64_t)s->prompt + s->done;
    if (!run->c->is_kept[i / samples] &&
        run->call->tail.unfinished == RA_UNFINISHED_DISCARD)
      r->discarded_tokens += s->made;
  }
  return r;
}

/* The sequences that are trained on, in order of begin. */
static void
fill_set(const RaRolloutRun *run, uint32_t samples, const RaRolloutSet *out)
{
  uint32_t at = 0;

  for (uint32_t i = 0; i < run->c->n; i++) {
    if (!run->c->is_kept[i / samples])
      continue;
    out->prompt[at] = run->c->all[i].prompt;
    out->response[at] = run->c->all[i].response;
    out->end[at++] = complete_at(run, samples, i);
  }
}

void
ra_rollout_run_init(RaRolloutRun *run, RaArena *arena, const RaPlan *plan,
                    uint32_t call, RaCandidates *candidates)
{
  const RaCallPlan *p = &plan->calls[call];
  uint32_t n_parts = plan->workload->calls[call].n_parts;

  *run = (RaRolloutRun){
      .arena = arena,
      .plan = plan,
      .call = p,
      .c = candidates,
      .n_replicas = p->dp,
      .n_parts = n_parts,
      .part_end = g_new0(uint32_t, n_parts),
      .n_respreads = p->tail.n_respreads,
      .n_running = g_new0(uint32_t, p->dp),
      .spells = g_array_new(FALSE, FALSE, sizeof(RaSpell)),
      .moves = g_array_new(FALSE, FALSE, sizeof(RaSpellMove)),
  };
  run->part_begin =
      ra_arena_alloc(arena, (gsize)n_parts + 1, sizeof *run->part_begin);
}

void
ra_rollout_run_clear(RaRolloutRun *run)
{
  g_free(run->part_end);
  g_free(run->n_running);
  g_clear_pointer(&run->spells, g_array_unref);
  g_clear_pointer(&run->moves, g_array_unref);
}

const RaRollout *
ra_rollout_new(RaArena *arena, const RaPlan *plan, uint32_t call,
               uint32_t iteration, uint64_t seed, RaRolloutDraw draw,
               const RaRolloutSet *out_set)
{
  const RaCall *c = &plan->workload->calls[call];
  const RaCallPlan *p = &plan->calls[call];
  g_autoptr(RaCandidates) candidates =
      ra_candidates_new(plan, call, iteration, seed, draw);
  g_auto(RaRolloutRun) run = {0};

  g_return_val_if_fail(ra_tail_is_set(&p->tail), NULL);
  ra_rollout_run_init(&run, arena, plan, call, candidates);
  ra_candidates_assign(candidates, p, seed,
                       ra_prediction_stream(call, iteration));
  if (p->batching == RA_BATCHING_CONTINUOUS) {
    ra_rollout_serve(&run, call, c->samples_per_prompt);
  } else {
    ra_rollout_set_clock(&run, c->samples_per_prompt);
    run_all(&run);
  }
  fill_set(&run, c->samples_per_prompt, out_set);
  return finish(&run, c->samples_per_prompt);
}
