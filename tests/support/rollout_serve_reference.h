/* Reference of graph/rollout/rollout_serve.c and its tasks: generation with
 * continuous batching and moved and over-sampled sequences, scheduler by
 * scheduler and step by step.
 *
 * It has 4 replicas of 2 ranks on one node.  Private to
 * tests/graph/check_rollout_serve.c. */
#ifndef RA_TESTS_SUPPORT_ROLLOUT_SERVE_REFERENCE_H
#define RA_TESTS_SUPPORT_ROLLOUT_SERVE_REFERENCE_H

#include <math.h>
#include <string.h>

#include "estimator/estimator.h"
#include "tests/support/batcher_reference.h"
#include "tests/support/check_points.h"
#include "tests/support/zero_run.h"

#define DP 4

typedef struct {
  const Run *run;
  const RaCallPlan *call;
  const RaShard *shard;
  RaPiece piece;
  uint32_t samples, wanted, n, n_parts, part;
  uint32_t done[REFERENCE_MAX], replica[REFERENCE_MAX];
  uint64_t end[REFERENCE_MAX]; /* step at its end; 0: not yet */
  gboolean over[REFERENCE_MAX];
  Reference r[DP];
  gboolean fills[DP][REFERENCE_MAX];
  double now_s[DP], part_end_s[4];
  uint32_t n_moved;
  uint64_t tokens_moved;
  gboolean fault; /* moves cost no time */
} Slow;

static uint32_t
unfinished(const Slow *s, uint32_t d)
{
  return s->r[d].n_running + s->r[d].n_waiting;
}

static double
step_seconds(const Slow *s, const RaBatchStretch *x)
{
  if (x->n_chunks > 0) {
    RaMixedBatch batch = ra_mixed_batch(x);
    RaCost cost;

    ra_estimator_mixed(s->run->estimator, s->shard, &s->piece, &batch, &cost);
    return cost.total_s;
  } else {
    RaDecodeLine line;

    ra_estimator_decode(s->run->estimator, s->shard, &s->piece, x->n_decoding,
                        x->kv_tokens, &line);
    return line.cost.total_s;
  }
}

static void
meet(Slow *s)
{
  for (uint32_t d = 0; d < DP; d++)
    s->now_s[0] = MAX(s->now_s[0], s->now_s[d]);
  for (uint32_t d = 0; d < DP; d++)
    s->now_s[d] = s->now_s[0];
}

static gboolean
is_complete(const Slow *s, uint32_t p)
{
  for (uint32_t i = p * s->samples; i < (p + 1) * s->samples; i++)
    if (!s->over[i])
      return FALSE;
  return TRUE;
}

static uint32_t
extreme(const Slow *s, uint32_t n, gboolean most)
{
  uint32_t best = 0;

  for (uint32_t d = 1; d < n; d++)
    if (most ? unfinished(s, d) > unfinished(s, best)
             : unfinished(s, d) < unfinished(s, best))
      best = d;
  return best;
}

/* Removes the sequence at index @at, counting running ones first, from @r. */
static uint32_t
take_off(Reference *r, uint32_t at, gboolean *ran)
{
  uint32_t *list = at < r->n_running ? r->running : r->waiting;
  uint32_t *n = at < r->n_running ? &r->n_running : &r->n_waiting, i;

  *ran = at < r->n_running;
  at -= *ran ? 0 : r->n_running;
  i = list[at];
  for (; at + 1 < *n; at++)
    list[at] = list[at + 1];
  --*n;
  return i;
}

/* Adds a sequence to @d: running if it brings its keys and fits, before one
 * whose prompt is not done; else at the end of the queue. */
static gboolean
put_down(Slow *s, uint32_t d, uint32_t i, gboolean brings)
{
  Reference *r = &s->r[d];
  uint32_t at = r->n_running;

  if (brings && r->n_running < r->batching.max_sequences) {
    if (at > 0 && s->fills[d][r->running[at - 1]])
      at--;
    for (uint32_t k = r->n_running; k > at; k--)
      r->running[k] = r->running[k - 1];
    r->running[at] = i;
    r->n_running++;
    if (reference_fits(r, r->computed))
      return TRUE;
    for (uint32_t k = at; k + 1 < r->n_running; k++)
      r->running[k] = r->running[k + 1];
    r->n_running--;
  }
  r->computed[i] = 0;
  r->waiting[r->n_waiting++] = i;
  return FALSE;
}

typedef struct {
  uint64_t out[DP], in[DP];
  gboolean pair[DP][DP];
} Load;

static void
shift(Slow *s, Load *load, uint32_t from, uint32_t at, uint32_t to)
{
  gboolean copies = s->call->tail.moved_kv == RA_MOVED_COPY, ran;
  uint32_t i = take_off(&s->r[from], at, &ran);
  gboolean brings = ran && copies && !s->fills[from][i];
  uint64_t n = s->r[from].prompt[i] + s->r[from].generated[i];

  s->r[to].computed[i] = s->r[from].computed[i];
  s->r[to].generated[i] = s->r[from].generated[i];
  s->fills[from][i] = FALSE;
  brings = put_down(s, to, i, brings);
  n = copies ? (brings ? s->r[to].computed[i] : 0) : n;
  load->out[from] += n;
  load->in[to] += n;
  load->pair[from][to] = TRUE;
  s->tokens_moved += n;
  s->n_moved++;
}

/* Seconds of a move within the node: 2 x 16 layers x 64 x 2 bytes a token over
 * 2 ranks, or 4 bytes of text. */
static double
move_s(const Slow *s, const Load *load)
{
  uint64_t most = 0, steps = 0;
  RaOp op = {.kind = RA_OP_REALLOC, .count = 1};

  for (uint32_t d = 0; d < DP; d++) {
    uint32_t to = 0, from = 0;

    most = MAX(most, MAX(load->out[d], load->in[d]));
    for (uint32_t e = 0; e < DP; e++) {
      to += load->pair[d][e];
      from += load->pair[e][d];
    }
    steps = MAX(steps, MAX(to, from));
  }
  op.dim[0] = most * (s->call->tail.moved_kv == RA_MOVED_COPY ? 2048 : 4);
  op.dim[2] = steps;
  return s->fault ? 0 : ra_estimator_op_s(s->run->estimator, &op);
}

static void
gather(Slow *s, Load *load)
{
  uint32_t n_to = s->call->tail.migrate_to;

  for (uint32_t d = n_to; d < DP; d++)
    while (unfinished(s, d) > 0)
      shift(s, load, d, 0, extreme(s, n_to, FALSE));
}

static void
spread(Slow *s, Load *load)
{
  for (;;) {
    uint32_t from = extreme(s, DP, TRUE), to = extreme(s, DP, FALSE);
    const Reference *r = &s->r[from];
    uint32_t at = 0;

    if (unfinished(s, from) <= unfinished(s, to) + 1)
      return;
    if (r->n_waiting > 0)
      at = r->n_running + r->n_waiting - 1;
    else
      for (uint32_t k = 1; k < r->n_running; k++)
        if (r->computed[r->running[k]] < r->computed[r->running[at]])
          at = k;
    shift(s, load, from, at, to);
  }
}

static uint32_t
parts_over(const Slow *s)
{
  uint32_t total = s->wanted * s->samples, n = 0;
  gboolean whole = s->call->tail.over_sample > 1;

  for (uint32_t i = 0; i < s->n; i++)
    n += whole ? is_complete(s, i / s->samples) : s->over[i];
  return MIN(n, total) * s->n_parts / total;
}

static void
slow_run(Slow *s)
{
  const RaTail *tail = &s->call->tail;
  uint32_t respreads = tail->n_respreads, begun = 0;
  gboolean migrated = FALSE;

  for (uint32_t d = 0; d < DP; d++)
    begun += unfinished(s, d);
  for (uint64_t step = 1;; step++) {
    uint32_t left = 0, n_whole = 0;
    gboolean stops;
    Load load = {0};

    for (uint32_t d = 0; d < DP; d++) {
      if (!reference_step(&s->r[d], s->fills[d]))
        continue;
      s->now_s[d] += step_seconds(s, &s->r[d].step);
      for (uint32_t k = 0; k < s->r[d].n_ended; k++) {
        s->over[s->r[d].ended[k]] = TRUE;
        s->end[s->r[d].ended[k]] = step;
      }
    }
    for (uint32_t p = 0; p < s->n / s->samples; p++)
      n_whole += is_complete(s, p);
    stops = n_whole >= s->wanted;
    for (uint32_t d = 0; d < DP; d++)
      left += unfinished(s, d);
    if (parts_over(s) > s->part || stops) {
      meet(s);
      while (s->part < parts_over(s) || (stops && s->part < s->n_parts))
        s->part_end_s[s->part++] = s->now_s[0];
    }
    if (stops || left == 0)
      return;
    if (!migrated && tail->migrate_frac > 0 &&
        left <= floor(tail->migrate_frac * begun)) {
      migrated = TRUE;
      gather(s, &load);
    } else if (respreads > 0 && unfinished(s, extreme(s, DP, FALSE)) == 0 &&
               unfinished(s, extreme(s, DP, TRUE)) >= 2) {
      respreads--;
      spread(s, &load);
    } else {
      continue;
    }
    meet(s);
    for (uint32_t d = 0; d < DP; d++)
      s->now_s[d] += move_s(s, &load);
  }
}

#endif
