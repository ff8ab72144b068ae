/* Reference of graph/rollout/rollout.c and its tasks: generation with moved and
 * over-sampled sequences by the definition, token by token and step by step.
 *
 * First the clock: which sequences run after each token, on which replica, and
 * where a part ends or sequences move.  Then seconds: every step of every
 * replica between two such tokens is estimated by itself.  Private to
 * tests/graph/check_rollout.c.
 */
#ifndef RA_TESTS_SUPPORT_ROLLOUT_REFERENCE_H
#define RA_TESTS_SUPPORT_ROLLOUT_REFERENCE_H

#include <math.h>
#include <string.h>

#include "estimator/estimator.h"
#include "graph/expand/expand.h"
#include "tests/support/check_points.h"

#define MAX_SEQUENCES 256
#define MAX_REPLICAS 16
#define MAX_PARTS 4

typedef struct {
  uint32_t prompt, response;
  uint32_t before; /* tokens of earlier iterations */
  uint32_t now;    /* tokens of this one */
  uint32_t replica;
  gboolean runs, anew; /* anew: recomputes its keys */
  gboolean kept;
} Sequence;

typedef struct {
  const RaPlan *plan;
  const RaEstimator *estimator;
  const RaShard *shard;
  RaPiece piece;
  uint64_t kv_bytes;        /* bytes of a token */
  uint32_t samples, wanted; /* samples a prompt; prompts */
  uint32_t n, n_parts, dp;
  Sequence s[MAX_SEQUENCES];
  uint32_t token, last_cut; /* clock; token of the last cut */
  uint32_t part;
  double now_s, part_end_s[MAX_PARTS];
  uint32_t n_moved, kv_moved; /* sequences; tokens */
  gboolean fault;             /* moves are forgotten */
} Reference;

static uint32_t
running(const Reference *r, uint32_t replica)
{
  uint32_t n = 0;

  for (uint32_t i = 0; i < r->n; i++)
    n += r->s[i].runs && (replica == RA_NONE || r->s[i].replica == replica);
  return n;
}

/* TRUE if prompt @p has all of its samples. */
static gboolean
is_complete(const Reference *r, uint32_t p)
{
  for (uint32_t i = p * r->samples; i < (p + 1) * r->samples; i++)
    if (r->s[i].before + r->s[i].now < r->s[i].response)
      return FALSE;
  return TRUE;
}

static uint32_t
n_complete(const Reference *r)
{
  uint32_t n = 0;

  for (uint32_t p = 0; p < r->n / r->samples; p++)
    n += is_complete(r, p);
  return n;
}

/* Seconds of one replica for the tokens from the last cut to now. */
static double
replica_s(const Reference *r, const Sequence *before, uint32_t replica)
{
  uint64_t n_tokens = 0, pairs = 0;
  uint32_t n_prefilled = 0, longest = 0;
  double seconds = 0;
  RaOp ops[RA_OP_LIST_MAX];
  RaCost cost;

  for (uint32_t i = 0; i < r->n; i++) {
    uint64_t known =
        (uint64_t)before[i].prompt + before[i].before + before[i].now;
    if (!before[i].runs || before[i].replica != replica)
      continue;
    longest = MAX(longest, r->s[i].now - before[i].now);
    if (r->last_cut > 0 && !before[i].anew)
      continue;
    n_prefilled++;
    n_tokens += known;
    pairs += known * (known + 1) / 2;
  }
  if (n_prefilled > 0) {
    RaBatch batch = {n_prefilled, n_tokens, n_tokens, pairs};
    guint n = ra_op_list(r->shard, &r->piece, RA_PHASE_FORWARD, &batch, ops);

    ra_estimator_ops(r->estimator, ops, n, RA_LAUNCH_GRAPH, &cost);
    seconds += cost.total_s;
  }
  for (uint32_t step = 1; step <= longest; step++) {
    uint32_t n = 0;
    uint64_t attended = 0;

    for (uint32_t i = 0; i < r->n; i++) {
      uint32_t made = r->s[i].now - before[i].now;
      uint32_t ahead = r->last_cut == 0 || before[i].anew;

      if (!before[i].runs || before[i].replica != replica ||
          step + ahead > made)
        continue;
      n++;
      attended += (uint64_t)before[i].prompt + before[i].before +
                  before[i].now + step - 1 + ahead;
    }
    if (n > 0) {
      RaDecodeLine line;

      ra_estimator_decode(r->estimator, r->shard, &r->piece, n, attended,
                          &line);
      seconds += line.cost.total_s +
                 line.s_per_token * (double)(attended - line.from_tokens);
    }
  }
  return seconds;
}

/* Advances all replicas to now.  @own_s (dp): time of each. */
static void
cut(Reference *r, Sequence *before, double *own_s)
{
  for (uint32_t d = 0; d < r->dp; d++)
    own_s[d] += replica_s(r, before, d);
  for (uint32_t i = 0; i < r->n; i++)
    r->s[i].anew = FALSE;
  memcpy(before, r->s, sizeof r->s);
  r->last_cut = r->token;
}

static void
meet(const Reference *r, double *own_s)
{
  for (uint32_t d = 1; d < r->dp; d++)
    own_s[0] = MAX(own_s[0], own_s[d]);
  for (uint32_t d = 1; d < r->dp; d++)
    own_s[d] = own_s[0];
}

/* --- Moves --- */

typedef struct {
  uint64_t out[2][MAX_REPLICAS], in[2][MAX_REPLICAS]; /* near, far; tokens */
  gboolean pair[MAX_REPLICAS][MAX_REPLICAS];
} Load;

/* Moves sequence @i to replica @to; one tp rank a replica, nodes of 8. */
static void
take(Reference *r, Load *load, uint32_t i, uint32_t to)
{
  gboolean copies = r->plan->calls[0].tail.moved_kv == RA_MOVED_COPY;
  Sequence *s = &r->s[i];
  uint64_t n = (uint64_t)s->prompt + s->before + s->now - (copies ? 1 : 0);
  gboolean far = s->replica / 8 != to / 8;

  load->out[far][s->replica] += n;
  load->in[far][to] += n;
  load->pair[s->replica][to] = TRUE;
  s->replica = to;
  s->anew = !copies;
  r->kv_moved += copies ? (uint32_t)n : 0;
  r->n_moved++;
}

static double
move_s(const Reference *r, const Load *load)
{
  gboolean copies = r->plan->calls[0].tail.moved_kv == RA_MOVED_COPY;
  uint64_t most[2] = {0, 0}, steps = 0;
  RaOp op = {.kind = RA_OP_REALLOC, .count = 1};

  for (uint32_t d = 0; d < r->dp; d++) {
    uint32_t n_to = 0, n_from = 0;

    for (guint far = 0; far < 2; far++)
      most[far] = MAX(most[far], MAX(load->out[far][d], load->in[far][d]));
    for (uint32_t e = 0; e < r->dp; e++) {
      n_to += load->pair[d][e];
      n_from += load->pair[e][d];
    }
    steps = MAX(steps, MAX(n_to, n_from));
  }
  op.dim[0] = most[0] * (copies ? r->kv_bytes : 4);
  op.dim[1] = most[1] * (copies ? r->kv_bytes : 4);
  op.dim[2] = steps;
  return ra_estimator_op_s(r->estimator, &op);
}

static uint32_t
least_of(const Reference *r, uint32_t n)
{
  uint32_t best = 0;

  for (uint32_t d = 1; d < n; d++)
    if (running(r, d) < running(r, best))
      best = d;
  return best;
}

static uint32_t
most_of(const Reference *r)
{
  uint32_t best = 0;

  for (uint32_t d = 1; d < r->dp; d++)
    if (running(r, d) > running(r, best))
      best = d;
  return best;
}

static void
spread(Reference *r, Load *load)
{
  for (;;) {
    uint32_t from = most_of(r), to = least_of(r, r->dp), pick = RA_NONE;

    if (running(r, from) <= running(r, to) + 1)
      return;
    for (uint32_t i = 0; i < r->n; i++)
      if (r->s[i].runs && r->s[i].replica == from &&
          (pick == RA_NONE || r->s[i].prompt + r->s[i].before <
                                  r->s[pick].prompt + r->s[pick].before))
        pick = i;
    take(r, load, pick, to);
  }
}

static void
gather(Reference *r, Load *load)
{
  uint32_t n_to = r->plan->calls[0].tail.migrate_to;

  for (uint32_t i = 0; i < r->n; i++)
    if (r->s[i].runs && r->s[i].replica >= n_to)
      take(r, load, i, least_of(r, n_to));
}

/* --- One iteration --- */

/* Parts that have ended by now.  With over-sampling, whole prompts count, of
 * those that will be kept, as they complete. */
static uint32_t
parts_ended(const Reference *r)
{
  uint32_t total = r->wanted * r->samples, n = 0;
  gboolean whole = r->plan->calls[0].tail.over_sample > 1;

  for (uint32_t i = 0; i < r->n; i++)
    n += whole ? is_complete(r, i / r->samples)
               : r->s[i].before + r->s[i].now == r->s[i].response;
  return MIN(n, total) * r->n_parts / total;
}

static void
reference_run(Reference *r)
{
  const RaTail *tail = &r->plan->calls[0].tail;
  uint32_t respreads = tail->n_respreads, begun = 0;
  double own_s[MAX_REPLICAS] = {0};
  gboolean migrated = FALSE;
  Sequence *before = g_new(Sequence, MAX_SEQUENCES);

  r->token = r->last_cut = r->part = r->n_moved = r->kv_moved = 0;
  for (uint32_t i = 0; i < r->n; i++) {
    r->s[i].now = 0;
    r->s[i].runs = r->s[i].before < r->s[i].response;
    begun += r->s[i].runs;
  }
  memcpy(before, r->s, sizeof r->s);
  while (r->part < r->n_parts && parts_ended(r) > r->part)
    r->part_end_s[r->part++] = 0;
  while (running(r, RA_NONE) > 0) {
    uint32_t had[MAX_REPLICAS];
    gboolean dried = FALSE, stops;
    Load load = {0};

    r->token++;
    for (uint32_t d = 0; d < r->dp; d++)
      had[d] = running(r, d);
    for (uint32_t i = 0; i < r->n; i++)
      if (r->s[i].runs)
        r->s[i].runs = r->s[i].before + ++r->s[i].now < r->s[i].response;
    stops = n_complete(r) >= r->wanted;
    for (uint32_t i = 0; stops && i < r->n; i++)
      r->s[i].runs = FALSE;
    for (uint32_t d = 0; d < r->dp; d++)
      dried = dried || (had[d] > 0 && running(r, d) == 0);
    if (parts_ended(r) > r->part || stops) {
      cut(r, before, own_s);
      meet(r, own_s);
      while (r->part < parts_ended(r) || (stops && r->part < r->n_parts))
        r->part_end_s[r->part++] = own_s[0];
    }
    if (running(r, RA_NONE) == 0)
      break;
    if (dried && respreads > 0)
      cut(r, before, own_s);
    if (!migrated && tail->migrate_frac > 0 &&
        running(r, RA_NONE) <= floor(tail->migrate_frac * begun)) {
      migrated = TRUE;
      cut(r, before, own_s);
      gather(r, &load);
    } else if (respreads > 0 && running(r, least_of(r, r->dp)) == 0 &&
               running(r, most_of(r)) >= 2) {
      respreads--;
      cut(r, before, own_s);
      spread(r, &load);
    } else {
      continue;
    }
    meet(r, own_s);
    for (uint32_t d = 0; d < r->dp && !r->fault; d++)
      own_s[d] += d == 0 ? move_s(r, &load) : own_s[0] - own_s[d];
    memcpy(before, r->s, sizeof r->s);
  }
  g_free(before);
}

/* The sequences that the next iteration continues, followed by @fresh. */
static void
reference_carry(Reference *r, const Sequence *fresh)
{
  g_autofree Sequence *old = g_memdup2(r->s, sizeof r->s);
  gboolean kept[MAX_SEQUENCES] = {FALSE};
  uint32_t n_kept = 0, at = 0;

  /* Sorted by the completion of each prompt, then in order. */
  for (uint32_t token = 0; n_kept < r->wanted; token++)
    for (uint32_t p = 0; p < r->n / r->samples && n_kept < r->wanted; p++) {
      uint32_t last = 0;

      for (uint32_t i = p * r->samples; i < (p + 1) * r->samples; i++)
        last = MAX(last, old[i].now);
      if (!kept[p] && is_complete(r, p) && last == token) {
        kept[p] = TRUE;
        n_kept++;
      }
    }
  for (uint32_t i = 0; i < r->n; i++) {
    if (kept[i / r->samples] ||
        r->plan->calls[0].tail.unfinished == RA_UNFINISHED_DISCARD)
      continue;
    r->s[at] = old[i];
    r->s[at++].before += old[i].now;
  }
  for (uint32_t i = 0; at < r->n; i++)
    r->s[at++] = fresh[i];
}

#endif
