/* Replay of static batches over several stages. */
#include "config.h"

#include "sim/generate/decode_pipe.h"
#include "sim/generate/stage_clock.h"

/* A group on its way. */
typedef struct {
  const RaDecodeGroup *group; /* borrowed */
  uint32_t at;                /* stretch of the present step */
  double ready_s;             /* its step before has left the last stage */
  double send_s;              /* to pass a step on, with the present batch */
  RaDecodeLine *lines;        /* (n_stages) of the present batch */
} Lap;

typedef struct {
  const RaDecodeSource *source;
  uint32_t n_stages;
  RaStageClock clock;
  RaCost *costs;          /* (n_stages) of a lap */
  RaStageVisit *visits;   /* (n_stages) of it */
  RaDecodeResult *result; /* the caller's */
} Pipe;

/* Cost of the group's step on @stage. */
static RaCost
step_cost(Pipe *pipe, Lap *lap, uint32_t stage, uint32_t step)
{
  const RaDecodeStretch *stretch = &lap->group->stretches[lap->at];
  uint64_t kv_tokens = ra_decode_kv_tokens(stretch, step);
  RaDecodeLine *line = &lap->lines[stage];

  /* A fresh batch has no line: until_tokens is 0. */
  if (kv_tokens > line->until_tokens) {
    pipe->source->line(pipe->source->context, stage, stretch->n_active,
                       kv_tokens, line);
    pipe->result->n_evaluated++;
  }
  return ra_decode_line_cost(line, stretch->n_active, kv_tokens, 1);
}

static void
begin_stretch(Pipe *pipe, Lap *lap)
{
  const RaDecodeStretch *stretch = &lap->group->stretches[lap->at];

  lap->send_s = pipe->source->send_s(pipe->source->context, stretch->n_active);
  for (uint32_t s = 0; s < pipe->n_stages; s++)
    lap->lines[s].until_tokens = 0;
}

static void
tell(const Pipe *pipe, const Lap *lap, uint32_t group, uint32_t step)
{
  const RaDecodeStretch *stretch = &lap->group->stretches[lap->at];

  for (uint32_t s = 0; s < pipe->n_stages; s++) {
    RaDecodeVisit visit = {.step = step,
                           .group = group,
                           .stage = s,
                           .n_sequences = stretch->n_active,
                           .kv_tokens = ra_decode_kv_tokens(stretch, step),
                           .begin_s = pipe->visits[s].begin_s,
                           .end_s = pipe->visits[s].leave_s,
                           .passed_s = pipe->visits[s].passed_s};

    pipe->source->visit(&visit, pipe->source->visit_data);
  }
}

static void
tell_watch(const Pipe *pipe, const Lap *lap)
{
  const RaDecodeWatch *watch = pipe->result->watch;

  for (uint32_t s = 0; watch && s < pipe->n_stages; s++) {
    RaDecodeLap done = {.part = pipe->clock.part,
                        .stage = s,
                        .n_steps = 1,
                        .n_sequences = lap->group->stretches[lap->at].n_active,
                        .comm_s = pipe->costs[s].comm_s,
                        .until_s = lap->ready_s};

    watch->lap(&done, watch->data);
  }
}

/* One step of group @group through all stages. */
static void
run_lap(Pipe *pipe, Lap *lap, uint32_t group, uint32_t step)
{
  for (uint32_t s = 0; s < pipe->n_stages; s++)
    pipe->costs[s] = step_cost(pipe, lap, s, step);
  lap->ready_s = ra_stage_clock_lap(&pipe->clock, lap->ready_s, pipe->costs,
                                    lap->send_s, pipe->visits);
  if (pipe->source->visit)
    tell(pipe, lap, group, step);
  tell_watch(pipe, lap);
}

static void
run_step(Pipe *pipe, Lap *laps, uint32_t n_groups, uint32_t step,
         const RaDecodeEnd *ends, uint32_t n_parts)
{
  for (uint32_t g = 0; g < n_groups; g++) {
    Lap *lap = &laps[g];

    if (lap->at == lap->group->n_stretches)
      continue;
    run_lap(pipe, lap, g, step);
    while (pipe->clock.part < n_parts && ends[pipe->clock.part].step == step &&
           ends[pipe->clock.part].group == g)
      pipe->clock.part_end_s[pipe->clock.part++] = lap->ready_s;
    if (lap->group->stretches[lap->at].last_step == step &&
        ++lap->at < lap->group->n_stretches)
      begin_stretch(pipe, lap);
  }
}

void
ra_decode_pipe(const RaDecodeSource *source, const RaDynamic *dynamic,
               const RaDecodeGroup *groups, const RaDecodeEnd *ends,
               RaDecodeResult *inout_result)
{
  uint32_t n_groups = dynamic->n_groups, n_stages = dynamic->n_stages;
  g_autofree RaCost *costs = g_new(RaCost, n_stages);
  g_autofree RaStageVisit *visits = g_new(RaStageVisit, n_stages);
  g_autofree Lap *laps = g_new0(Lap, n_groups);
  g_autofree RaDecodeLine *lines =
      g_new0(RaDecodeLine, (gsize)n_groups * n_stages);
  Pipe pipe = {.source = source,
               .n_stages = n_stages,
               .costs = costs,
               .visits = visits,
               .result = inout_result};

  ra_stage_clock_init(&pipe.clock, n_stages, inout_result->part_end_s,
                      inout_result->part_cost);
  for (uint32_t g = 0; g < n_groups; g++) {
    laps[g].group = &groups[g];
    laps[g].lines = lines + (gsize)g * n_stages;
    if (groups[g].n_stretches > 0)
      begin_stretch(&pipe, &laps[g]);
  }
  while (pipe.clock.part < dynamic->n_parts && ends[pipe.clock.part].step == 0)
    inout_result->part_end_s[pipe.clock.part++] = 0;
  for (uint32_t step = 1; pipe.clock.part < dynamic->n_parts; step++)
    run_step(&pipe, laps, n_groups, step, ends, dynamic->n_parts);
  ra_stage_clock_close(&pipe.clock, dynamic->n_parts);
}
