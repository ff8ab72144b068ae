/* Replay of continuous batching over several stages. */
#include "config.h"

#include <math.h>

#include "estimator/kinds.h"
#include "sim/generate/serve_pipe.h"
#include "sim/generate/stage_clock.h"

/* A sequence that pauses. */
typedef struct {
  double at_s;
  uint32_t sequence;
} Return;

/* A micro-batch on its way. */
typedef struct {
  RaBatcher *batcher;
  uint32_t first;         /* sequence of the replica */
  double ready_s;         /* its step before has left; INFINITY: it is over */
  RaBatchStretch stretch; /* in hand; n_steps 0: none */
  uint64_t done;          /* steps of it */
  uint64_t n_steps;       /* of all, taken and in hand */
  double send_s;
  RaDecodeLine *lines; /* (n_stages) of the stretch */
  GArray *away;        /* Return */
} Group;

typedef struct {
  const RaServePipeSource *source;
  const RaDynamic *dynamic;
  Group *groups;  /* (n_groups) */
  uint32_t *like; /* (n_stages) first stage with the same times */
  RaStageClock clock;
  RaCost *costs; /* (n_stages) of a lap */
  RaServeResult *result;
  uint32_t n_ended;
} Pipe;

/* --- tools --- */

/* The first to come back; NULL: none is away.  Few are. */
static Return *
first_back(const Group *group)
{
  Return *first = NULL;

  for (guint i = 0; i < group->away->len; i++) {
    Return *r = &g_array_index(group->away, Return, i);

    if (!first || r->at_s < first->at_s ||
        (r->at_s <= first->at_s && r->sequence < first->sequence))
      first = r;
  }
  return first;
}

static void
resume(Group *group)
{
  Return *r;

  while ((r = first_back(group)) && r->at_s <= group->ready_s) {
    ra_batcher_resume(group->batcher, r->sequence);
    g_array_remove_index_fast(
        group->away, (guint)(r - (Return *)(gpointer)group->away->data));
  }
}

/* --- a group's next step --- */

/* A stretch in hand; FALSE: none, until the first tool answers, or ever. */
static gboolean
fetch(Pipe *pipe, Group *group)
{
  const Return *back;

  resume(group);
  if (!ra_batcher_next(group->batcher, &group->stretch)) {
    back = first_back(group);
    group->ready_s = back ? back->at_s : (double)INFINITY;
    return FALSE;
  }
  group->done = 0;
  group->send_s = pipe->source->send_s(pipe->source->context,
                                       group->stretch.n_decoding +
                                           group->stretch.chunk_tokens);
  for (uint32_t s = 0; s < pipe->dynamic->n_stages; s++)
    group->lines[s].until_tokens = 0;
  return TRUE;
}

/* Cost of the step in hand on @stage. */
static RaCost
step_cost(Pipe *pipe, Group *group, uint32_t stage)
{
  const RaServePipeSource *source = pipe->source;
  const RaBatchStretch *stretch = &group->stretch;
  uint64_t kv_tokens = stretch->kv_tokens + group->done * stretch->n_decoding;
  RaDecodeLine *line = &group->lines[stage];
  RaCost cost;

  if (stretch->n_chunks > 0) {
    source->mixed(source->context, stage, stretch, &cost);
    pipe->result->n_evaluated++;
    return cost;
  }
  if (kv_tokens > line->until_tokens) {
    source->line(source->context, stage, stretch->n_decoding, kv_tokens, line);
    pipe->result->n_evaluated++;
  }
  return ra_decode_line_cost(line, stretch->n_decoding, kv_tokens, 1);
}

/* Notes the sequences that got a token, ended or left for a tool, at the
 * group's time. */
static void
note(Pipe *pipe, Group *group)
{
  RaServeResult *result = pipe->result;
  guint n_first, n_ended, n_paused;
  const uint32_t *first = ra_batcher_first(group->batcher, &n_first);
  const uint32_t *ended = ra_batcher_ended(group->batcher, &n_ended);
  const uint32_t *paused = ra_batcher_paused(group->batcher, &n_paused);

  for (guint i = 0; result->first_s && i < n_first; i++)
    result->first_s[group->first + first[i]] = group->ready_s;
  for (guint i = 0; result->end_s && i < n_ended; i++)
    result->end_s[group->first + ended[i]] = group->ready_s;
  for (guint i = 0; i < n_paused; i++) {
    Return r = {ra_batcher_answer_s(group->batcher, paused[i], group->ready_s),
                paused[i]};

    g_array_append_val(group->away, r);
  }
  pipe->n_ended += n_ended;
  while (n_ended > 0 && pipe->clock.part < result->n_parts &&
         (uint64_t)pipe->n_ended * result->n_parts >=
             (uint64_t)(pipe->clock.part + 1) * pipe->dynamic->n_sequences)
    result->part_end_s[pipe->clock.part++] = group->ready_s;
}

static void
tell(const Pipe *pipe, const Group *group)
{
  const RaServeResult *result = pipe->result;
  const RaBatchStretch *stretch = &group->stretch;

  for (uint32_t s = 0; result->watch && s < pipe->dynamic->n_stages; s++) {
    RaDecodeLap lap = {.part = MIN(pipe->clock.part, result->n_parts - 1),
                       .stage = s,
                       .n_steps = 1,
                       .n_sequences = stretch->n_decoding,
                       .mixed = stretch->n_chunks > 0 ? stretch : NULL,
                       .comm_s = pipe->costs[s].comm_s,
                       .until_s = group->ready_s};

    result->watch->lap(&lap, result->watch->data);
  }
}

/* One step of the group through all stages. */
static void
run_lap(Pipe *pipe, Group *group)
{
  uint64_t limit = pipe->dynamic->n_steps;
  const Return *back;

  if (group->stretch.n_steps == 0 && !fetch(pipe, group))
    return;
  for (uint32_t s = 0; s < pipe->dynamic->n_stages; s++) {
    pipe->costs[s] = pipe->like[s] < s ? pipe->costs[pipe->like[s]]
                                       : step_cost(pipe, group, s);
    pipe->result->cost.compute_s += pipe->costs[s].compute_s;
  }
  group->ready_s = ra_stage_clock_lap(&pipe->clock, group->ready_s, pipe->costs,
                                      group->send_s, NULL);
  pipe->result->makespan_s = MAX(pipe->result->makespan_s, group->ready_s);
  tell(pipe, group);
  group->done++;
  group->n_steps++;
  back = first_back(group);
  if (group->done < group->stretch.n_steps &&
      (limit == 0 || group->n_steps < limit) &&
      !(back && back->at_s <= group->ready_s))
    return;
  ra_batcher_take(group->batcher, group->done);
  group->stretch.n_steps = 0;
  note(pipe, group);
  if (limit > 0 && group->n_steps == limit)
    group->ready_s = (double)INFINITY;
}

/* The one that is ready first; NULL: all are over. */
static Group *
next_group(const Pipe *pipe)
{
  Group *next = &pipe->groups[0];

  for (uint32_t g = 1; g < pipe->dynamic->n_groups; g++)
    if (pipe->groups[g].ready_s < next->ready_s)
      next = &pipe->groups[g];
  return isinf(next->ready_s) ? NULL : next;
}

static void
begin(Pipe *pipe, RaDecodeLine *lines)
{
  const RaDynamic *d = pipe->dynamic;

  for (uint32_t g = 0; g < d->n_groups; g++) {
    Group *group = &pipe->groups[g];

    *group = (Group){.batcher = ra_dynamic_batcher_new(d, g),
                     .first = ra_dynamic_begin(d, g),
                     .lines = lines + (gsize)g * d->n_stages,
                     .away = g_array_new(FALSE, FALSE, sizeof(Return))};
    ra_batcher_arrive(group->batcher, ra_dynamic_size(d, g));
  }
  for (uint32_t s = 0; s < d->n_stages; s++)
    pipe->like[s] =
        pipe->source->like ? pipe->source->like(pipe->source->context, s) : s;
  ra_stage_clock_init(&pipe->clock, d->n_stages, pipe->result->part_end_s,
                      pipe->result->part_cost);
}

void
ra_serve_pipe(const RaServePipeSource *source, const RaDynamic *dynamic,
              RaServeResult *inout_result)
{
  g_autofree RaDecodeLine *lines =
      g_new0(RaDecodeLine, (gsize)dynamic->n_groups * dynamic->n_stages);
  g_autofree Group *groups = g_new0(Group, dynamic->n_groups);
  g_autofree RaCost *costs = g_new(RaCost, dynamic->n_stages);
  g_autofree uint32_t *like = g_new(uint32_t, dynamic->n_stages);
  Pipe pipe = {.source = source,
               .dynamic = dynamic,
               .groups = groups,
               .like = like,
               .costs = costs,
               .result = inout_result};
  Group *group;

  g_return_if_fail(inout_result->n_parts > 0);
  inout_result->cost = (RaCost){0};
  inout_result->makespan_s = 0;
  inout_result->n_evaluated = 0;
  for (uint32_t c = 0; c < inout_result->n_parts; c++)
    inout_result->part_cost[c] = (RaCost){0};
  begin(&pipe, lines);
  while ((group = next_group(&pipe)))
    run_lap(&pipe, group);
  /* A phase may end before its sequences do. */
  while (pipe.clock.part < inout_result->n_parts)
    inout_result->part_end_s[pipe.clock.part++] = inout_result->makespan_s;
  inout_result->part_end_s[inout_result->n_parts - 1] =
      inout_result->makespan_s;
  ra_stage_clock_close(&pipe.clock, inout_result->n_parts);
  for (uint32_t g = 0; g < dynamic->n_groups; g++) {
    ra_batcher_free(groups[g].batcher);
    g_array_unref(groups[g].away);
  }
}

/* --- a replica --- */

static gboolean
is_of_kind(const RaServePipe *replica, uint32_t stage, guint kind)
{
  return !replica->kinds || replica->kinds[stage] == 0 ||
         (replica->kinds[stage] >> kind & 1);
}

static void
replica_line(gconstpointer context, uint32_t stage, uint32_t n_sequences,
             uint64_t kv_tokens, RaDecodeLine *out_line)
{
  const RaServePipe *r = context;

  ra_kinds_decode_line(r->estimator, r->shard, &r->dynamic->pieces[stage],
                       r->kinds ? r->kinds[stage] : 0, n_sequences, kv_tokens,
                       out_line);
}

static void
replica_mixed(gconstpointer context, uint32_t stage, const RaBatchStretch *step,
              RaCost *out_cost)
{
  const RaServePipe *r = context;
  RaMixedBatch batch = ra_mixed_batch(step);
  guint n = 0;

  for (guint k = 0; k < ra_estimator_n_kinds(r->estimator); k++) {
    RaCost cost;

    if (!is_of_kind(r, stage, k))
      continue;
    ra_estimator_mixed(ra_estimator_kind(r->estimator, k), r->shard,
                       &r->dynamic->pieces[stage], &batch, &cost);
    if (n++ == 0 || cost.total_s > out_cost->total_s)
      *out_cost = cost;
  }
}

static double
replica_send_s(gconstpointer context, uint64_t n_tokens)
{
  const RaServePipe *r = context;
  RaOp send = r->dynamic->send;
  double most_s = 0;

  send.dim[0] *= n_tokens;
  for (guint k = 0; k < ra_estimator_n_kinds(r->estimator); k++) {
    gboolean is_there = FALSE;

    for (uint32_t s = 0; s < r->dynamic->n_stages; s++)
      is_there = is_there || is_of_kind(r, s, k);
    if (is_there)
      most_s = MAX(
          most_s, ra_estimator_op_s(ra_estimator_kind(r->estimator, k), &send));
  }
  return most_s;
}

static uint32_t
replica_like(gconstpointer context, uint32_t stage)
{
  const RaServePipe *r = context;
  const RaPiece *pieces = r->dynamic->pieces;
  uint32_t s = 0;

  while (s < stage &&
         (!ra_piece_is_alike(r->shard, &pieces[s], &pieces[stage]) ||
          (r->kinds && r->kinds[s] != r->kinds[stage])))
    s++;
  return s;
}

RaServePipeSource
ra_serve_pipe_source(const RaServePipe *replica)
{
  return (RaServePipeSource){replica_line, replica_mixed, replica_send_s,
                             replica, replica_like};
}
