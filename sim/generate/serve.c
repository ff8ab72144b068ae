/* Replay of continuous batching on one stage. */
#include "config.h"

#include <math.h>

#include "sim/generate/serve.h"

/* A run under way. */
typedef struct {
  const RaServeSource *source;
  RaBatcher *batcher;
  RaServeResult *result;
  const double *arrival_s; /* NULL: all have arrived */
  uint32_t n, n_arrived, n_ended;
  uint32_t part; /* that runs */
  double now_s;
  uint64_t steps_left;
  GArray *back; /* Return: binary heap, of those that pause */
} Run;

/* When a sequence that pauses comes back. */
typedef struct {
  double at_s;
  uint32_t sequence;
} Return;

static gboolean
comes_before(const Return *a, const Return *b)
{
  return a->at_s < b->at_s || (a->at_s <= b->at_s && a->sequence < b->sequence);
}

static void
push_return(GArray *back, Return new)
{
  Return *heap;
  guint at = back->len;

  g_array_append_val(back, new);
  heap = (Return *)(void *)back->data;
  for (; at > 0 && comes_before(&new, &heap[(at - 1) / 2]); at = (at - 1) / 2)
    heap[at] = heap[(at - 1) / 2];
  heap[at] = new;
}

static Return
pop_return(GArray *back)
{
  Return *heap = (Return *)(void *)back->data;
  Return first = heap[0], last = heap[back->len - 1];
  guint n = back->len - 1, at = 0;

  g_array_set_size(back, n);
  for (guint child = 1; child < n; child = 2 * at + 1) {
    if (child + 1 < n && comes_before(&heap[child + 1], &heap[child]))
      child++;
    if (!comes_before(&heap[child], &last))
      break;
    heap[at] = heap[child];
    at = child;
  }
  if (n > 0)
    heap[at] = last;
  return first;
}

static void
add_cost(RaCost *sum, const RaCost *cost)
{
  sum->total_s += cost->total_s;
  sum->compute_s += cost->compute_s;
  sum->comm_s += cost->comm_s;
  sum->host_s += cost->host_s;
  sum->beside_s += cost->beside_s;
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

    if (ra_decode_line_cost(line, n_active, kv_tokens, middle).total_s <
        until_s)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* When the next one arrives or comes back; INFINITY: none is to. */
static double
next_at_s(const Run *run)
{
  double at_s = run->n_arrived < run->n ? run->arrival_s[run->n_arrived]
                                        : (double)INFINITY;

  return run->back->len > 0
             ? MIN(at_s, g_array_index(run->back, Return, 0).at_s)
             : at_s;
}

/* Seconds from now to that. */
static double
next_arrival_s(const Run *run)
{
  return next_at_s(run) - run->now_s;
}

/* The stretch's steps, fewer where a sequence arrives; returns how many. */
static uint64_t
decode(Run *run, const RaBatchStretch *stretch, RaCost *out_cost)
{
  RaDecodeLine line = {.until_tokens = 0};
  uint64_t kv_tokens = stretch->kv_tokens, done = 0, n_steps;
  uint64_t wanted = MIN(stretch->n_steps, run->steps_left);
  double left_s = next_arrival_s(run);

  if (run->result->watch)
    wanted = MIN(wanted, ra_decode_watch_steps(kv_tokens, stretch->n_decoding));
  *out_cost = (RaCost){0};
  while (done < wanted) {
    RaCost cost;

    run->source->line(run->source->context, stretch->n_decoding, kv_tokens,
                      &line);
    run->result->n_evaluated++;
    n_steps = MIN(wanted - done,
                  (line.until_tokens - kv_tokens) / stretch->n_decoding + 1);
    if (isfinite(left_s))
      n_steps = steps_until(&line, stretch->n_decoding, kv_tokens, n_steps,
                            left_s - out_cost->total_s);
    cost = ra_decode_line_cost(&line, stretch->n_decoding, kv_tokens, n_steps);
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
  while (run->back->len > 0 &&
         g_array_index(run->back, Return, 0).at_s <= run->now_s)
    ra_batcher_resume(run->batcher, pop_return(run->back).sequence);
  if (!run->arrival_s)
    return;
  while (run->n_arrived < run->n &&
         run->arrival_s[run->n_arrived] <= run->now_s)
    run->n_arrived++;
  ra_batcher_arrive(run->batcher, run->n_arrived);
}

/* Notes the sequences that began to pause, and when each returns. */
static void
note_pauses(Run *run)
{
  guint n;
  const uint32_t *paused = ra_batcher_paused(run->batcher, &n);

  for (guint i = 0; i < n; i++)
    push_return(run->back, (Return){ra_batcher_answer_s(run->batcher, paused[i],
                                                        run->now_s),
                                    paused[i]});
}

/* Notes the sequences that have ended, and the parts that ended with them. */
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
  double at_s = next_at_s(run);

  if (isinf(at_s))
    return FALSE;
  run->now_s = at_s;
  arrive(run);
  return TRUE;
}

static void
tell(const Run *run, const RaBatchStretch *stretch, uint64_t n_steps,
     double comm_s)
{
  const RaServeResult *result = run->result;
  RaDecodeLap lap = {.part = MIN(run->part, MAX(result->n_parts, 1u) - 1),
                     .n_steps = n_steps,
                     .n_sequences = stretch->n_decoding,
                     .mixed = stretch->n_chunks > 0 ? stretch : NULL,
                     .comm_s = comm_s,
                     .until_s = run->now_s};

  if (result->watch)
    result->watch->lap(&lap, result->watch->data);
}

void
ra_serve_run(const RaServeSource *source, RaBatcher *batcher, uint32_t n,
             const double *arrival_s, RaServeResult *inout_result)
{
  Run run = {.source = source,
             .batcher = batcher,
             .result = inout_result,
             .arrival_s = arrival_s,
             .n = n,
             .steps_left = inout_result->max_steps > 0 ? inout_result->max_steps
                                                       : UINT64_MAX,
             .back = g_array_new(FALSE, FALSE, sizeof(Return))};
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
  while (run.steps_left > 0) {
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
    run.steps_left -= n_steps;
    run.now_s += cost.total_s;
    add_cost(&inout_result->cost, &cost);
    tell(&run, &stretch, n_steps, cost.comm_s);
    if (run.part < inout_result->n_parts)
      add_cost(&inout_result->part_cost[run.part], &cost);
    note_ends(&run);
    note_pauses(&run);
    arrive(&run);
  }
  g_array_unref(run.back);
  /* Stopped before all parts are over: those that are left are now. */
  while (run.part < inout_result->n_parts)
    inout_result->part_end_s[run.part++] = run.now_s;
  inout_result->makespan_s = run.now_s;
}

static void
replica_line(gconstpointer context, uint32_t n_sequences, uint64_t kv_tokens,
             RaDecodeLine *out_line)
{
  const RaServeReplica *replica = context;

  ra_estimator_decode_line(replica->estimator, replica->shard, replica->piece,
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
