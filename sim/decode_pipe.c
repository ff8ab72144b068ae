#include "config.h"

#include "sim/decode_pipe.h"

typedef struct {
  double begin_s, end_s;
} Interval;

/* A stage, between two visits. */
typedef struct {
  double free_s; /* its last visit has left */
  Interval out;  /* since when, and until when, the link to the next one is busy
                    without a pause */
} Stage;

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
  Stage *stages;          /* (n_stages) */
  uint32_t part;          /* parts that have ended */
  RaDecodeResult *result; /* the caller's; part_end_s known below `part` */
} Pipe;

/* Charges @cost, spread evenly over [begin, end), to the parts it falls in.  A
 * visit that overtakes the end of a part began before it on an earlier stage.
 */
static void
charge(Pipe *pipe, double begin_s, double end_s, const RaCost *cost)
{
  uint32_t part = pipe->part;
  double rest_s = end_s;

  if (end_s <= begin_s)
    return;
  for (;;) {
    double cut_s = part > 0 ? pipe->result->part_end_s[part - 1] : 0;
    double frac = (rest_s - MAX(begin_s, cut_s)) / (end_s - begin_s);
    RaCost *sum = &pipe->result->part_cost[part];

    if (frac > 0) {
      sum->compute_s += cost->compute_s * frac;
      sum->comm_s += cost->comm_s * frac;
      sum->host_s += cost->host_s * frac;
      rest_s = cut_s;
    }
    if (part == 0 || begin_s >= cut_s)
      return;
    part--;
  }
}

/* Charges the parts of the wait [free, begin) in which the stage sends its
 * visits so far or receives the present one.  Both links' busy periods before
 * those given ended by the time at which the stage got free. */
static void
charge_wait(Pipe *pipe, const Stage *stage, double begin_s, Interval in)
{
  Interval first = stage->out, second = in;

  if (in.begin_s < stage->out.begin_s) {
    first = in;
    second = stage->out;
  }
  second.begin_s = MAX(second.begin_s, first.end_s);
  first.begin_s = MAX(first.begin_s, stage->free_s);
  second.begin_s = MAX(second.begin_s, stage->free_s);
  first.end_s = MIN(first.end_s, begin_s);
  second.end_s = MIN(second.end_s, begin_s);
  charge(pipe, first.begin_s, first.end_s,
         &(RaCost){.comm_s = first.end_s - first.begin_s});
  charge(pipe, second.begin_s, second.end_s,
         &(RaCost){.comm_s = second.end_s - second.begin_s});
}

/* Cost of the group's step on @stage. */
static RaCost
step_cost(Pipe *pipe, Lap *lap, uint32_t stage, uint32_t step)
{
  const RaDecodeStretch *stretch = &lap->group->stretches[lap->at];
  uint64_t kv_tokens = ra_decode_kv_tokens(stretch, step);
  RaDecodeLine *line = &lap->lines[stage];
  RaCost cost;
  double grown_s;

  /* A fresh batch has no line: until_tokens is 0. */
  if (kv_tokens > line->until_tokens) {
    pipe->source->line(pipe->source->context, stage, stretch->n_active,
                       kv_tokens, line);
    pipe->result->n_evaluated++;
  }
  cost = line->cost;
  grown_s = line->s_per_token * (double)(kv_tokens - line->from_tokens);
  cost.compute_s += grown_s;
  cost.total_s += grown_s;
  return cost;
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
tell(const Pipe *pipe, const Lap *lap, uint32_t group, uint32_t stage,
     uint32_t step, double begin_s, double leave_s)
{
  const RaDecodeStretch *stretch = &lap->group->stretches[lap->at];
  RaDecodeVisit visit = {.step = step,
                         .group = group,
                         .stage = stage,
                         .n_sequences = stretch->n_active,
                         .kv_tokens = ra_decode_kv_tokens(stretch, step),
                         .begin_s = begin_s,
                         .end_s = leave_s,
                         .passed_s = stage + 1 < pipe->n_stages
                                         ? pipe->stages[stage].out.end_s
                                         : leave_s};

  pipe->source->visit(&visit, pipe->source->visit_data);
}

/* One step of group @group through all stages. */
static void
run_lap(Pipe *pipe, Lap *lap, uint32_t group, uint32_t step)
{
  Interval in = {0, 0};

  for (uint32_t s = 0; s < pipe->n_stages; s++) {
    Stage *stage = &pipe->stages[s];
    double arrive_s = s == 0 ? lap->ready_s : in.end_s;
    double begin_s = MAX(arrive_s, stage->free_s);
    RaCost cost = step_cost(pipe, lap, s, step);
    double leave_s = begin_s + cost.total_s;

    charge_wait(pipe, stage, begin_s, in);
    charge(pipe, begin_s, leave_s, &cost);
    stage->free_s = leave_s;
    if (s + 1 < pipe->n_stages) {
      /* Where a send outlasts a step, the link still carries the one before. */
      if (leave_s > stage->out.end_s)
        stage->out.begin_s = stage->out.end_s = leave_s;
      stage->out.end_s += lap->send_s;
      in = stage->out;
    } else {
      lap->ready_s = leave_s;
    }
    if (pipe->source->visit)
      tell(pipe, lap, group, s, step, begin_s, leave_s);
  }
}

/* The wait of every stage after its last visit, until @end_s. */
static void
charge_tails(Pipe *pipe, double end_s)
{
  for (uint32_t s = 0; s < pipe->n_stages; s++)
    charge_wait(pipe, &pipe->stages[s], end_s, (Interval){end_s, end_s});
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
    while (pipe->part < n_parts && ends[pipe->part].step == step &&
           ends[pipe->part].group == g)
      pipe->result->part_end_s[pipe->part++] = lap->ready_s;
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
  g_autofree Stage *stages = g_new0(Stage, n_stages);
  g_autofree Lap *laps = g_new0(Lap, n_groups);
  g_autofree RaDecodeLine *lines =
      g_new0(RaDecodeLine, (gsize)n_groups * n_stages);
  Pipe pipe = {source, n_stages, stages, 0, inout_result};

  for (uint32_t g = 0; g < n_groups; g++) {
    laps[g].group = &groups[g];
    laps[g].lines = lines + (gsize)g * n_stages;
    if (groups[g].n_stretches > 0)
      begin_stretch(&pipe, &laps[g]);
  }
  while (pipe.part < dynamic->n_parts && ends[pipe.part].step == 0)
    inout_result->part_end_s[pipe.part++] = 0;
  for (uint32_t step = 1; pipe.part < dynamic->n_parts; step++)
    run_step(&pipe, laps, n_groups, step, ends, dynamic->n_parts);
  charge_tails(&pipe, inout_result->part_end_s[dynamic->n_parts - 1]);
  for (uint32_t part = 0; part < dynamic->n_parts; part++) {
    RaCost *cost = &inout_result->part_cost[part];

    cost->compute_s /= n_stages;
    cost->comm_s /= n_stages;
    cost->host_s /= n_stages;
    cost->total_s = cost->compute_s + cost->comm_s + cost->host_s;
  }
}
