#include "config.h"

#include <math.h>

#include "sim/serve.h"

/* A run under way. */
typedef struct {
  const RaServeSource *source;
  RaBatcher *batcher;
  RaServeResult *result;
  const double *arrival_s; /* NULL: all have arrived */
  uint32_t n, n_arrived, n_ended;
  uint32_t part; /* that runs */
  double now_s;
} Run;

static void
add_cost(RaCost *sum, const RaCost *cost)
{
  sum->total_s += cost->total_s;
  sum->compute_s += cost->compute_s;
  sum->comm_s += cost->comm_s;
  sum->host_s += cost->host_s;
  sum->beside_s += cost->beside_s;
}

/* Of the steps from @line->from_tokens on, of @n_active sequences each, the
 * first @m together, @kv_tokens at the first. */
static RaCost
steps_cost(const RaDecodeLine *line, uint32_t n_active, uint64_t kv_tokens,
           uint64_t n_steps)
{
  double m = (double)n_steps;
  double grown_s =
      line->s_per_token * (m * (double)(kv_tokens - line->from_tokens) +
                           n_active * (m * (m - 1) / 2));

  return (RaCost){.total_s = m * line->cost.total_s + grown_s,
                  .compute_s = m * line->cost.compute_s + grown_s,
                  .comm_s = m * line->cost.comm_s,
                  .host_s = m * line->cost.host_s,
                  .beside_s = m * line->cost.beside_s};
}

/* The least number of at most @n_steps steps that take until @until_s, of a
 * line; @n_steps if they do not. */
static uint64_t
steps_until(const RaDecodeLine *line, uint32_t n_active, uint64_t kv_tokens,
            uint64_t n_steps, double until_s)
{
  uint64_t low = 1, high = n_steps;

  while (low < high) {
    uint64_t middle = low + (high - low) / 2;

    if (steps_cost(line, n_active, kv_tokens, middle).total_s < until_s)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Seconds from now to the next arrival; INFINITY: none is to come. */
static double
next_arrival_s(const Run *run)
{
  return run->n_arrived < run->n ? run->arrival_s[run->n_arrived] - run->now_s
                                 : (double)INFINITY;
}

/* The stretch's steps, fewer where a sequence arrives; returns how many. */
static uint64_t
decode(Run *run, const RaBatchStretch *stretch, RaCost *out_cost)
{
  RaDecodeLine line = {.until_tokens = 0};
  uint64_t kv_tokens = stretch->kv_tokens, done = 0, n_steps;
  double left_s = next_arrival_s(run);

  *out_cost = (RaCost){0};
  while (done < stretch->n_steps) {
    RaCost cost;

    run->source->line(run->source->context, stretch->n_decoding, kv_tokens,
                      &line);
    run->result->n_evaluated++;
    n_steps = MIN(stretch->n_steps - done,
                  (line.until_tokens - kv_tokens) / stretch->n_decoding + 1);
    if (isfinite(left_s))
      n_steps = steps_until(&line, stretch->n_decoding, kv_tokens, n_steps,
                            left_s - out_cost->total_s);
    cost = steps_cost(&line, stretch->n_decoding, kv_tokens, n_steps);
    add_cost(out_cost, &cost);
    done += n_steps;
    kv_tokens += n_steps * stretch->n_decoding;
    if (out_cost->total_s >= left_s)
      break;
  }
  return done;
}

static void
arrive(Run *run)
{
  if (!run->arrival_s)
    return;
  while (run->n_arrived < run->n &&
         run->arrival_s[run->n_arrived] <= run->now_s)
    run->n_arrived++;
  ra_batcher_arrive(run->batcher, run->n_arrived);
}

/* Who ended by now, and the parts that did with them. */
static void
note_ends(Run *run)
{
  RaServeResult *result = run->result;
  guint n_first, n_ended;
  const uint32_t *first = ra_batcher_first(run->batcher, &n_first);
  const uint32_t *ended = ra_batcher_ended(run->batcher, &n_ended);

  for (guint i = 0; result->first_s && i < n_first; i++)
    result->first_s[first[i]] = run->now_s;
  for (guint i = 0; result->end_s && i < n_ended; i++)
    result->end_s[ended[i]] = run->now_s;
  run->n_ended += n_ended;
  while (run->part < result->n_parts &&
         (uint64_t)run->n_ended * result->n_parts >=
             (uint64_t)(run->part + 1) * run->n)
    result->part_end_s[run->part++] = run->now_s;
}

/* Nothing runs: time goes on to the next arrival.  FALSE: none is to come. */
static gboolean
wait(Run *run)
{
  if (run->n_arrived == run->n)
    return FALSE;
  run->now_s = run->arrival_s[run->n_arrived];
  arrive(run);
  return TRUE;
}

void
ra_serve_run(const RaServeSource *source, RaBatcher *batcher, uint32_t n,
             const double *arrival_s, RaServeResult *inout_result)
{
  Run run = {.source = source,
             .batcher = batcher,
             .result = inout_result,
             .arrival_s = arrival_s,
             .n = n};
  RaBatchStretch stretch;

  inout_result->cost = (RaCost){0};
  inout_result->n_evaluated = 0;
  for (uint32_t c = 0; c < inout_result->n_parts; c++) {
    inout_result->part_cost[c] = (RaCost){0};
    inout_result->part_end_s[c] = 0;
  }
  if (arrival_s)
    arrive(&run);
  else
    ra_batcher_arrive(batcher, run.n_arrived = n);
  for (;;) {
    uint64_t n_steps = 1;
    RaCost cost = {0};

    if (!ra_batcher_next(batcher, &stretch)) {
      if (wait(&run))
        continue;
      break;
    }
    if (stretch.n_chunks > 0) {
      source->mixed(source->context, &stretch, &cost);
      inout_result->n_evaluated++;
    } else {
      n_steps = decode(&run, &stretch, &cost);
    }
    ra_batcher_take(batcher, n_steps);
    run.now_s += cost.total_s;
    add_cost(&inout_result->cost, &cost);
    if (run.part < inout_result->n_parts)
      add_cost(&inout_result->part_cost[run.part], &cost);
    note_ends(&run);
    arrive(&run);
  }
  inout_result->makespan_s = run.now_s;
}

static void
replica_line(gconstpointer context, uint32_t n_sequences, uint64_t kv_tokens,
             RaDecodeLine *out_line)
{
  const RaServeReplica *replica = context;

  ra_estimator_decode(replica->estimator, replica->shard, replica->piece,
                      n_sequences, kv_tokens, out_line);
}

static void
replica_mixed(gconstpointer context, const RaBatchStretch *step,
              RaCost *out_cost)
{
  const RaServeReplica *replica = context;
  RaMixedBatch batch = ra_mixed_batch(step);

  ra_estimator_mixed(replica->estimator, replica->shard, replica->piece, &batch,
                     out_cost);
}

RaServeSource
ra_serve_source(const RaServeReplica *replica)
{
  return (RaServeSource){replica_line, replica_mixed, replica};
}
