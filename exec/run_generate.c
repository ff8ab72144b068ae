/* Generation: token by token, over the stages of a replica. */
#include "config.h"

#include <string.h>

#include "exec/model/stage_steps.h"
#include "exec/run_impl.h"
#include "graph/op/op_reuse.h"

/* Sequences of one micro-batch that take a step. */
typedef struct {
  uint32_t n;
  uint32_t *slots;         /* (n) of the replica's sequences */
  uint32_t *tokens;        /* (n) newest */
  uint32_t *positions;     /* (n) of it */
  uint32_t *chosen;        /* (n) that it makes */
  RaDeviceMessage *coming; /* (n, hidden) elements of the stage before; owned,
                              NULL: none */
  RaCommRequest *coming_tokens; /* for @chosen; NULL: none */
} Step;

static uint32_t
stage_rank(const RaRank *rank, uint32_t call, uint32_t stage)
{
  RaCoord coord = rank->calls[call].coord;

  coord.at[RA_AXIS_PP] = stage;
  return ra_run_rank_at(rank->run, call, &coord);
}

/* The chosen @tokens go from the last stage to the first as soon as they are
 * made. */
static void
send_tokens(RaRank *rank, uint32_t call, uint32_t n, const uint32_t *tokens)
{
  uint32_t last = rank->run->plan->calls[call].pp - 1;

  if (last > 0 && rank->calls[call].coord.at[RA_AXIS_PP] == last)
    rank->messages.backward->table->send(rank->messages.backward,
                                         stage_rank(rank, call, 0), tokens,
                                         n * sizeof *tokens);
}

/* Their newest, which are here. */
static void
keep_tokens(RaGeneration *generation, uint32_t n, const uint32_t *slots,
            const uint32_t *tokens)
{
  for (uint32_t i = 0; i < n; i++)
    generation->newest[slots[i]] = tokens[i];
}

static void
read_tokens(const RaGeneration *generation, uint32_t n, const uint32_t *slots,
            uint32_t *out_tokens)
{
  for (uint32_t i = 0; i < n; i++)
    out_tokens[i] = generation->newest[slots[i]];
}

/* (transfer full) (nullable): of the host's back end, whose logits of @n rows
 * are drawn from there; others keep them. */
static float *
logits_room(const RaStage *s, gsize n)
{
  return s->backend->is_host ? g_new(float, n * s->model->vocab + 1) : NULL;
}

/* The prefill's part: on the first stage tokens are only waited for when they
 * are needed, so that the next micro-batch is not held up. */
void
ra_rank_first_tokens(RaRank *rank, RaTaskId task, RaMicroBatch *micro)
{
  uint32_t call = ra_run_node(rank->run, task)->call;
  RaRankCall *c = &rank->calls[call];
  uint32_t n = micro->tokens->n_sequences;
  g_autofree uint32_t *slots = g_new(uint32_t, n + 1);
  g_autofree uint32_t *tokens = g_new(uint32_t, n + 1);
  g_autofree double *uniforms = g_new(double, n + 1);
  g_autofree float *logits = NULL;
  RaStage *s = micro->pass->stage;
  RaDraw draw;

  if (!micro->pass->piece.has_head)
    return;
  for (uint32_t i = 0; i < n; i++)
    slots[i] = micro->first - c->generation.first + i;
  draw = ra_rank_draw(rank, task, n, slots, uniforms);
  logits = logits_room(s, n);
  s->draw = &draw;
  ra_pass_last_logits(micro->pass, logits);
  s->draw = NULL;
  ra_rank_keep_drawn(rank, task);
  read_tokens(&c->generation, n, slots, tokens);
  send_tokens(rank, call, n, tokens);
  ra_generation_count(&c->generation, ra_run_dynamic(rank->run, task), n,
                      slots);
}

/* The first step of the other stages: tokens from the last stage of the
 * prefill.
 */
static void
take_first_tokens(RaRank *rank, RaTaskId task, const RaDynamic *d)
{
  uint32_t call = ra_run_node(rank->run, task)->call;
  uint32_t n = d->n_sequences, groups = d->n_groups;
  RaRankCall *c = &rank->calls[call];
  uint32_t stage = c->coord.at[RA_AXIS_PP];
  g_autofree uint32_t *slots = g_new(uint32_t, n + 1);
  g_autofree uint32_t *tokens = g_new0(uint32_t, n + 1);

  if (stage == d->n_stages - 1)
    return;
  for (uint32_t g = 0; g < groups; g++) {
    uint32_t first = (uint32_t)((uint64_t)g * n / groups);
    uint32_t last = (uint32_t)((uint64_t)(g + 1) * n / groups);

    for (uint32_t i = first; i < last; i++)
      slots[i - first] = i;
    if (stage == 0)
      rank->messages.backward->table->recv(
          rank->messages.backward, stage_rank(rank, call, d->n_stages - 1),
          tokens, (last - first) * sizeof *tokens);
    keep_tokens(&c->generation, last - first, slots, tokens);
    ra_generation_count(&c->generation, d, last - first, slots);
  }
}

/* Bytes between stages per rank for a step of @n sequences. */
static gsize
row_bytes(const RaStage *s, gsize n)
{
  return ra_stage_n_rows(s, n) * s->model->hidden * s->backend->elem_bytes;
}

/* Sends the output of @stage for a step of @n sequences to the next one; for
 * ranks that share rows the record has the mean. */
static void
pass_on(RaRank *rank, RaTaskId task, uint32_t stage, const void *data, gsize n)
{
  const RaNode *node = ra_run_node(rank->run, task);
  RaStage *s = ra_rank_stage(rank, node->call, node->iteration);
  double begin_s = ra_run_now_s(rank->run);
  gsize row = s->model->hidden * s->backend->elem_bytes;

  ra_device_message_send(s->backend, rank->messages.forward,
                         stage_rank(rank, node->call, stage + 1), data,
                         row_bytes(s, n));
  ra_stage_enter(s, RA_N_BLOCKS, stage);
  ra_rank_add_op(
      rank, task, RA_OP_SEND, begin_s,
      n * (s->sequence_parallel ? (row + s->n_tp - 1) / s->n_tp : row), 0);
}

/* Reuse of weights in the op list of @step; 0: not needed. */
static uint64_t
reuse_of(const RaRank *rank, const RaDynamic *d, const RaPiece *piece,
         const Step *step)
{
  const RaRun *run = rank->run;
  RaBatch batch = {.n_sequences = step->n, .q_tokens = step->n};
  uint64_t until;

  if (!run->options.ops || !run->options.reuse)
    return 0;
  for (uint32_t i = 0; i < step->n; i++)
    batch.kv_tokens += step->positions[i] + 1;
  batch.pairs = batch.kv_tokens;
  return ra_op_reuse_mib(&run->graph->shards[d->shard], piece, &batch, &until);
}

/* TRUE if tokens of decode steps can stay on the device: nobody else needs
 * them, and no op is waited for. */
static gboolean
draws_later(const RaDynamic *d, const RaStage *s)
{
  return s->backend->draw && d->n_stages == 1 && !s->checks_ops;
}

/* The request for the tokens of @step; reads earlier ones when they are
 * many. */
static RaDraw
begin_draw(RaRank *rank, RaTaskId task, uint32_t group, const Step *step,
           gboolean later, double *uniforms)
{
  RaDraw draw;

  if (rank->drawn.n_steps == RA_DRAWN_STEPS)
    ra_rank_settle_drawn(rank, task);
  draw = ra_rank_draw(rank, task, step->n, step->slots, uniforms);
  if (later)
    ra_rank_draw_later(rank, task, group, step->slots, &draw);
  return draw;
}

/* The tokens of @step, or where the device has them. */
static void
end_draw(RaRank *rank, RaTaskId task, Step *step, gboolean later)
{
  uint32_t call = ra_run_node(rank->run, task)->call;

  if (!later) {
    ra_rank_keep_drawn(rank, task);
    rank->drawn.n_waits++;
    read_tokens(&rank->calls[call].generation, step->n, step->slots,
                step->chosen);
    return;
  }
  for (uint32_t i = 0; i < step->n; i++)
    step->chosen[i] = RA_TOKEN_DRAWN | step->slots[i];
}

/* One step of the sequences of @step on this stage. */
static void
run_step(RaRank *rank, RaTaskId task, const RaDynamic *d, uint32_t group,
         Step *step)
{
  RaRun *run = rank->run;
  const RaNode *node = ra_run_node(run, task);
  RaRankCall *c = &rank->calls[node->call];
  uint32_t stage = c->coord.at[RA_AXIS_PP];
  RaStage *s = ra_rank_stage(rank, node->call, node->iteration);
  const RaPiece *piece = &d->pieces[stage];
  gsize n = step->n;
  gsize n_bytes = row_bytes(s, n);
  g_autoptr(RaDeviceMessage) coming = g_steal_pointer(&step->coming);
  const void *input = NULL;
  g_autofree float *logits = piece->has_head ? logits_room(s, n) : NULL;
  void *rows = piece->has_head ? NULL : ra_stage_take_bytes(s, n_bytes);
  g_autofree double *uniforms = g_new(double, n + 1);
  gboolean draws = piece->has_head && n > 0, later = draws_later(d, s);
  RaDraw draw;

  if (coming)
    input = ra_device_message_end_recv(coming, NULL);
  ra_stage_leave(s, c->generation.n_steps, group);
  s->reuse_mib = reuse_of(rank, d, piece, step);
  if (draws) {
    draw = begin_draw(rank, task, group, step, later, uniforms);
    s->draw = &draw;
  }
  ra_stage_decode(s, piece, c->generation.cache, step->n, step->slots,
                  step->tokens, step->positions, input,
                  piece->has_head ? (void *)logits : rows);
  s->reuse_mib = 0;
  s->draw = NULL;
  if (draws)
    end_draw(rank, task, step, later);
  else if (!piece->has_head)
    pass_on(rank, task, stage, rows, n);
  ra_stage_give(s, rows);
}

/* TRUE if a replica that shares experts with this one still steps in @group:
 * then all exchange rows, also those whose sequences are done.  A sequence that
 * continues after @k steps has more than k + 1 tokens to make. */
static gboolean
is_met(const RaRank *rank, RaTaskId task, const RaDynamic *d, uint32_t group,
       uint32_t k)
{
  const RaRun *run = rank->run;
  uint32_t n = d->n_sequences;
  RaSpan met = ra_run_replicas_met(run, ra_run_node(run, task)->call,
                                   run->graph->replica[task]);

  for (uint64_t r = met.begin; r < met.end; r++) {
    const RaDynamic *other = d - run->graph->replica[task] + r;

    for (uint32_t i = (uint32_t)((uint64_t)group * n / d->n_groups);
         i < (uint64_t)(group + 1) * n / d->n_groups; i++)
      if (other->response[i] > k + 1)
        return TRUE;
  }
  return FALSE;
}

static gboolean
any_met(const RaRank *rank, RaTaskId task, const RaDynamic *d, uint32_t k)
{
  for (uint32_t g = 0; g < d->n_groups; g++)
    if (is_met(rank, task, d, g, k))
      return TRUE;
  return FALSE;
}

/* The sequences of group @group that are not done. */
static void
fill_step(const RaRankCall *c, const RaDynamic *d, uint32_t group, Step *step)
{
  uint32_t n = d->n_sequences;
  uint32_t first = (uint32_t)((uint64_t)group * n / d->n_groups);
  uint32_t last = (uint32_t)((uint64_t)(group + 1) * n / d->n_groups);

  step->n = 0;
  for (uint32_t i = first; i < last; i++)
    if (c->generation.n_done[i] < d->response[i]) {
      step->slots[step->n] = i;
      step->tokens[step->n] = c->generation.newest[i];
      step->positions[step->n++] = d->prompt[i] + c->generation.n_done[i] - 1;
    }
}

static uint32_t
n_ended(const RaGeneration *generation, const RaDynamic *d)
{
  uint32_t n = 0;

  for (uint32_t i = 0; i < d->n_sequences; i++)
    n += generation->n_done[i] >= d->response[i];
  return n;
}

/* TRUE if group @g takes part in step @k. */
static gboolean
has_step(const RaRank *rank, RaTaskId task, const RaDynamic *d, uint32_t g,
         uint32_t k, const Step *step)
{
  uint32_t call = ra_run_node(rank->run, task)->call;

  return step->n > 0 || (rank->calls[call].ep && is_met(rank, task, d, g, k));
}

/* Asks for what the stage before passes on to @step.  All but the first group's
 * is there while a group is computed, where receives are posted ahead. */
static void
ask_rows(RaRank *rank, RaTaskId task, uint32_t group, Step *step)
{
  const RaNode *node = ra_run_node(rank->run, task);
  const RaRankCall *c = &rank->calls[node->call];
  uint32_t stage = c->coord.at[RA_AXIS_PP];

  step->coming = NULL;
  if (stage == 0)
    return;
  step->coming = ra_device_message_start_recv(
      c->stages[0]->backend, rank->messages.forward,
      stage_rank(rank, node->call, stage - 1), NULL,
      row_bytes(c->stages[0], step->n));
  rank->messages.n_ahead[RA_AHEAD_STEPS] +=
      group > 0 && ra_rank_receives_ahead(rank);
}

/* On the first stage, asks for the tokens that the last one makes of @step:
 * before it, where receives are posted ahead. */
static void
ask_tokens(RaRank *rank, RaTaskId task, const RaDynamic *d, Step *step)
{
  uint32_t call = ra_run_node(rank->run, task)->call;

  if (rank->calls[call].coord.at[RA_AXIS_PP] > 0 || d->n_stages == 1 ||
      step->n == 0)
    return;
  step->coming_tokens = rank->messages.backward->table->start_recv(
      rank->messages.backward, stage_rank(rank, call, d->n_stages - 1),
      step->chosen, step->n * sizeof *step->chosen);
  rank->messages.n_ahead[RA_AHEAD_STEPS] += ra_rank_receives_ahead(rank);
}

/* Receives the tokens of the group's last step, if they were requested. */
static void
take_tokens(RaRank *rank, RaTaskId task, Step *step)
{
  uint32_t call = ra_run_node(rank->run, task)->call;

  if (!step->coming_tokens)
    return;
  rank->messages.backward->table->wait(rank->messages.backward,
                                       step->coming_tokens);
  step->coming_tokens = NULL;
  keep_tokens(&rank->calls[call].generation, step->n, step->slots,
              step->chosen);
}

/* Prepares step @k of group @g. */
static void
prepare(RaRank *rank, RaTaskId task, const RaDynamic *d, uint32_t g, uint32_t k,
        Step *step)
{
  uint32_t call = ra_run_node(rank->run, task)->call;

  take_tokens(rank, task, step);
  fill_step(&rank->calls[call], d, g, step);
  if (!has_step(rank, task, d, g, k, step))
    return;
  ask_rows(rank, task, g, step);
  if (ra_rank_receives_ahead(rank))
    ask_tokens(rank, task, d, step);
}

/* Groups behind @g whose last tokens may still be on their way. */
static uint32_t
n_behind(const RaDynamic *d, uint32_t g, const Step *steps)
{
  uint32_t n = 0;

  for (uint32_t i = g + 1; i < d->n_groups; i++)
    n += steps[i].coming_tokens != NULL;
  return n;
}

/* Step @k: all groups go through the stages one behind the other.  The first
 * stage waits for the tokens of a group's last step when the group is next, not
 * for those of the groups behind it, as sim/generate/decode_pipe.h has it. */
static void
step_all(RaRank *rank, RaTaskId task, const RaDynamic *d, uint32_t k,
         Step *steps)
{
  uint32_t call = ra_run_node(rank->run, task)->call;
  RaRankCall *c = &rank->calls[call];
  gboolean is_ahead = ra_rank_receives_ahead(rank);
  gboolean prepares_all = is_ahead && c->coord.at[RA_AXIS_PP] > 0;

  for (uint32_t g = 0; g < d->n_groups && prepares_all; g++)
    prepare(rank, task, d, g, k, &steps[g]);
  for (uint32_t g = 0; g < d->n_groups; g++) {
    Step *step = &steps[g];

    if (!prepares_all)
      prepare(rank, task, d, g, k, step);
    if (step->n > 0)
      rank->messages.n_ahead[RA_AHEAD_LAPS] += n_behind(d, g, steps);
    if (has_step(rank, task, d, g, k, step))
      run_step(rank, task, d, g, step);
    if (step->n == 0)
      continue;
    send_tokens(rank, call, step->n, step->chosen);
    if (!is_ahead)
      ask_tokens(rank, task, d, step);
    if (!step->coming_tokens)
      keep_tokens(&c->generation, step->n, step->slots, step->chosen);
    ra_generation_count(&c->generation, d, step->n, step->slots);
  }
}

/* Publishes the results of a part: of every sequence so far, as parts end by
 * numbers of sequences. */
static void
publish(RaRank *rank, RaTaskId task, const RaDynamic *d)
{
  const RaNode *node = ra_run_node(rank->run, task);
  const RaRankCall *c = &rank->calls[node->call];
  const RaExperienceSet *set =
      &rank->run->experience[node->iteration]->sets[node->call];

  if (c->coord.at[RA_AXIS_TP] > 0 || c->coord.at[RA_AXIS_PP] < d->n_stages - 1)
    return;
  for (uint32_t i = 0; i < d->n_sequences; i++) {
    uint32_t sequence = c->generation.first + i;

    ra_rank_publish(rank, node->call, TRUE,
                    set->text_begin[sequence] + d->prompt[i],
                    c->generation.n_done[i]);
    ra_rank_publish(rank, node->call, FALSE, set->begin[sequence],
                    c->generation.n_done[i]);
  }
}

void
ra_rank_decode(RaRank *rank, RaTaskId task)
{
  const RaNode *node = ra_run_node(rank->run, task);
  RaRankCall *c = &rank->calls[node->call];
  const RaDynamic *d = ra_run_dynamic(rank->run, task);
  uint32_t n = d->n_sequences, part = node->part, n_steps = 0;
  uint32_t wanted =
      (uint32_t)(((uint64_t)(part + 1) * n + d->n_parts - 1) / d->n_parts);
  g_autofree uint32_t *slab = g_new(uint32_t, 4 * (gsize)n + 1);
  g_autofree Step *steps = g_new(Step, d->n_groups);
  const RaStage *stage = ra_rank_stage(rank, node->call, node->iteration);
  RaStepsTally before = ra_steps_tally(stage);
  uint32_t n_waits = rank->drawn.n_waits;

  for (uint32_t g = 0; g < d->n_groups; g++) {
    uint32_t first = (uint32_t)((uint64_t)g * n / d->n_groups);

    steps[g] = (Step){.slots = slab + first,
                      .tokens = slab + n + first,
                      .positions = slab + 2 * n + first,
                      .chosen = slab + 3 * n + first};
  }
  if (part == 0)
    take_first_tokens(rank, task, d);
  while (n_ended(&c->generation, d) < wanted ||
         (c->ep && any_met(rank, task, d, n_steps))) {
    n_steps++;
    c->generation.n_steps++;
    ra_heartbeat_beat();
    step_all(rank, task, d, n_steps - 1, steps);
  }
  for (uint32_t g = 0; g < d->n_groups; g++)
    take_tokens(rank, task, &steps[g]);
  ra_rank_settle_drawn(rank, task);
  if (c->coord.at[RA_AXIS_TP] == 0 && c->coord.at[RA_AXIS_PP] == 0) {
    RaRunIteration *result = &rank->run->results[node->iteration];
    RaStepsTally tally = ra_steps_tally(stage);

    pthread_mutex_lock(&rank->run->lock);
    result->n_steps += n_steps;
    result->n_step_waits += rank->drawn.n_waits - n_waits;
    ra_steps_add(&result->steps, &tally, &before);
    pthread_mutex_unlock(&rank->run->lock);
  }
  publish(rank, task, d);
  if (part + 1 == d->n_parts)
    ra_generation_clear(&c->generation);
}
