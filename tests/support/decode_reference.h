/* Reference of sim/generate/decode.c: generation by the definition, step by
 * step.
 *
 * It has a law of step times with every feature of a line, random cases, and
 * the recurrence by single steps, groups and stages.  Private to
 * tests/sim/check_decode.c.
 */
#ifndef RA_TESTS_SUPPORT_DECODE_REFERENCE_H
#define RA_TESTS_SUPPORT_DECODE_REFERENCE_H

#include <math.h>

#include "base/rng.h"
#include "sim/generate/decode_source.h"
#include "tests/support/check_points.h"

#define MAX_STAGES 4
#define MAX_SEQUENCES 24
#define MAX_PARTS 5

/* A law of step times with every feature of a line: a piece for every
 * `piece_tokens` of K, host time in some, communication, different stages. */
typedef struct {
  uint64_t piece_tokens;         /* length of a piece in K; UINT64_MAX: one */
  double base_s[MAX_STAGES];     /* compute of a step */
  double sequence_s[MAX_STAGES]; /* compute per sequence */
  double token_s[MAX_STAGES];    /* compute per token of K; odd pieces: half */
  double comm_s[MAX_STAGES];     /* communication per sequence */
  double host_s[MAX_STAGES];     /* host time, in odd pieces */
  double send_s;                 /* send to the next stage, per sequence */
} Law;

static double
slope(const Law *law, uint32_t stage, uint64_t kv_tokens)
{
  gboolean odd = kv_tokens / law->piece_tokens % 2 == 1;

  return law->token_s[stage] * (odd ? 0.5 : 1);
}

static RaCost
law_cost(const Law *law, uint32_t stage, uint32_t n_sequences,
         uint64_t kv_tokens)
{
  gboolean odd = kv_tokens / law->piece_tokens % 2 == 1;
  RaCost cost = {.compute_s = law->base_s[stage] +
                              law->sequence_s[stage] * n_sequences +
                              slope(law, stage, kv_tokens) * (double)kv_tokens,
                 .comm_s = law->comm_s[stage] * n_sequences,
                 .host_s = odd ? law->host_s[stage] : 0};

  cost.total_s = cost.compute_s + cost.comm_s + cost.host_s;
  return cost;
}

static void
law_line(const void *context, uint32_t stage, uint32_t n_sequences,
         uint64_t kv_tokens, RaDecodeLine *out_line)
{
  const Law *law = context;
  uint64_t piece = kv_tokens / law->piece_tokens;

  out_line->cost = law_cost(law, stage, n_sequences, kv_tokens);
  out_line->s_per_token = slope(law, stage, kv_tokens);
  out_line->compute_s_per_token = out_line->s_per_token;
  out_line->from_tokens = kv_tokens;
  out_line->until_tokens = law->piece_tokens == UINT64_MAX
                               ? UINT64_MAX
                               : (piece + 1) * law->piece_tokens - 1;
}

static double
law_send_s(const void *context, uint32_t n_sequences)
{
  return ((const Law *)context)->send_s * n_sequences;
}

/* A replica with its arrays. */
typedef struct {
  RaDynamic dynamic;
  uint32_t prompt[MAX_SEQUENCES], response[MAX_SEQUENCES];
  Law law;
} Case;

static void
random_case(RaRng *rng, Case *c, uint32_t n_stages)
{
  uint32_t longest = 1 + (uint32_t)ra_rng_below(rng, 80);

  *c = (Case){.law.piece_tokens = 1 + ra_rng_below(rng, 400),
              .law.send_s = ra_rng_below(rng, 3) * 0.7 * ra_rng_uniform(rng)};
  for (uint32_t s = 0; s < n_stages; s++) {
    c->law.base_s[s] = ra_rng_uniform(rng);
    c->law.sequence_s[s] = 0.1 * ra_rng_uniform(rng);
    c->law.token_s[s] = 0.01 * ra_rng_uniform(rng);
    c->law.comm_s[s] = 0.1 * ra_rng_uniform(rng);
    c->law.host_s[s] = ra_rng_uniform(rng);
  }
  c->dynamic = (RaDynamic){
      .n_groups = 1 + (uint32_t)ra_rng_below(rng, 5),
      .n_stages = n_stages,
      .n_sequences = 1 + (uint32_t)ra_rng_below(rng, MAX_SEQUENCES),
      .n_parts = 1 + (uint32_t)ra_rng_below(rng, MAX_PARTS),
  };
  for (uint32_t i = 0; i < c->dynamic.n_sequences; i++) {
    c->prompt[i] = 1 + (uint32_t)ra_rng_below(rng, 100);
    c->response[i] = 1 + (uint32_t)ra_rng_below(rng, longest);
  }
  c->dynamic.prompt = c->prompt;
  c->dynamic.response = c->response;
}

/* A busy interval of a stage, or of the link after it. */
typedef struct {
  double begin_s, end_s;
  RaCost cost; /* cost of a visit */
} Busy;

/* The events of a run, token by token of each sequence. */
typedef struct {
  double part_end_s[MAX_PARTS];
  uint32_t n_steps;
  GArray *visits[MAX_STAGES]; /* (Busy) */
  GArray *sends[MAX_STAGES];  /* (Busy) from the stage to the next */
} Naive;

static uint32_t
group_of(const RaDynamic *d, uint32_t sequence)
{
  uint32_t g = 0;

  while ((uint64_t)(g + 1) * d->n_sequences / d->n_groups <= sequence)
    g++;
  return g;
}

/* Runs one step of one group; returns the time when it leaves the last stage.
 */
static double
naive_step(const Case *c, Naive *naive, uint32_t group, uint32_t step,
           double ready_s, double stage_free_s[], double link_free_s[])
{
  uint32_t n_active = 0;
  uint64_t kv_tokens = 0;

  for (uint32_t i = 0; i < c->dynamic.n_sequences; i++)
    if (group_of(&c->dynamic, i) == group && c->response[i] - 1 >= step) {
      n_active++;
      kv_tokens += c->prompt[i] + step;
    }
  if (n_active == 0)
    return ready_s;
  for (uint32_t s = 0; s < c->dynamic.n_stages; s++) {
    Busy visit = {.cost = law_cost(&c->law, s, n_active, kv_tokens)};
    Busy send = {0, 0, {0}};

    visit.begin_s = MAX(ready_s, stage_free_s[s]);
    visit.end_s = visit.begin_s + visit.cost.total_s;
    g_array_append_val(naive->visits[s], visit);
    stage_free_s[s] = ready_s = visit.end_s;
    if (s + 1 == c->dynamic.n_stages)
      break;
    send.begin_s = MAX(ready_s, link_free_s[s]);
    send.end_s = send.begin_s + law_send_s(&c->law, n_active);
    g_array_append_val(naive->sends[s], send);
    link_free_s[s] = ready_s = send.end_s;
  }
  return ready_s;
}

static void
naive_end_parts(const Case *c, Naive *naive, uint32_t n_ended, double now_s,
                uint32_t *inout_part)
{
  const RaDynamic *d = &c->dynamic;

  while (*inout_part < d->n_parts &&
         n_ended >=
             ((*inout_part + 1) * d->n_sequences + d->n_parts - 1) / d->n_parts)
    naive->part_end_s[(*inout_part)++] = now_s;
}

static Naive
naive_run(const Case *c)
{
  double ready_s[8] = {0}, stage_free_s[MAX_STAGES] = {0};
  double link_free_s[MAX_STAGES] = {0};
  uint32_t n_ended = 0, part = 0;
  Naive naive = {.n_steps = 0};

  for (uint32_t s = 0; s < MAX_STAGES; s++) {
    naive.visits[s] = g_array_new(FALSE, FALSE, sizeof(Busy));
    naive.sends[s] = g_array_new(FALSE, FALSE, sizeof(Busy));
  }
  for (uint32_t i = 0; i < c->dynamic.n_sequences; i++) {
    naive.n_steps = MAX(naive.n_steps, c->response[i] - 1);
    n_ended += c->response[i] == 1;
  }
  naive_end_parts(c, &naive, n_ended, 0, &part);
  for (uint32_t step = 1; step <= naive.n_steps; step++)
    for (uint32_t g = 0; g < c->dynamic.n_groups; g++) {
      uint32_t n_before = n_ended;

      ready_s[g] =
          naive_step(c, &naive, g, step, ready_s[g], stage_free_s, link_free_s);
      for (uint32_t i = 0; i < c->dynamic.n_sequences; i++)
        n_ended += group_of(&c->dynamic, i) == g && c->response[i] - 1 == step;
      if (n_ended > n_before)
        naive_end_parts(c, &naive, n_ended, ready_s[g], &part);
    }
  ck_assert_uint_eq(part, c->dynamic.n_parts);
  return naive;
}

static void
naive_clear(Naive *naive)
{
  for (uint32_t s = 0; s < MAX_STAGES; s++) {
    g_array_unref(naive->visits[s]);
    g_array_unref(naive->sends[s]);
  }
}

static double
overlap_s(const Busy *busy, double begin_s, double end_s)
{
  return MAX(MIN(busy->end_s, end_s) - MAX(busy->begin_s, begin_s), 0);
}

static int
compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

static void
add_bounds(GArray *bounds, const GArray *busy)
{
  for (guint i = 0; i < busy->len; i++) {
    g_array_append_val(bounds, g_array_index(busy, Busy, i).begin_s);
    g_array_append_val(bounds, g_array_index(busy, Busy, i).end_s);
  }
}

static gboolean
is_busy(const GArray *busy, double from_s, double to_s)
{
  for (guint i = 0; i < busy->len; i++)
    if (g_array_index(busy, Busy, i).begin_s <= from_s &&
        g_array_index(busy, Busy, i).end_s >= to_s)
      return TRUE;
  return FALSE;
}

/* Time in [begin, end) in which @stage is not visited but sends or receives,
 * summed over every elementary interval between two bounds. */
static double
naive_exposed_s(const Naive *naive, uint32_t stage, double begin_s,
                double end_s)
{
  g_autoptr(GArray) bounds = g_array_new(FALSE, FALSE, sizeof(double));
  const double *at;
  double sum_s = 0;

  add_bounds(bounds, naive->visits[stage]);
  add_bounds(bounds, naive->sends[stage]);
  if (stage > 0)
    add_bounds(bounds, naive->sends[stage - 1]);
  g_array_append_val(bounds, begin_s);
  g_array_append_val(bounds, end_s);
  qsort(bounds->data, bounds->len, sizeof(double), compare_doubles);
  at = (const double *)(void *)bounds->data;
  for (guint i = 0; i + 1 < bounds->len; i++)
    if (at[i] >= begin_s && at[i + 1] <= end_s &&
        !is_busy(naive->visits[stage], at[i], at[i + 1]) &&
        (is_busy(naive->sends[stage], at[i], at[i + 1]) ||
         (stage > 0 && is_busy(naive->sends[stage - 1], at[i], at[i + 1]))))
      sum_s += at[i + 1] - at[i];
  return sum_s;
}

/* Mean cost over the stages between two part ends. */
static RaCost
naive_part_cost(const Case *c, const Naive *naive, uint32_t part)
{
  double begin_s = part > 0 ? naive->part_end_s[part - 1] : 0;
  double end_s = naive->part_end_s[part];
  uint32_t n_stages = c->dynamic.n_stages;
  RaCost sum = {0};

  for (uint32_t s = 0; s < n_stages; s++) {
    for (guint i = 0; i < naive->visits[s]->len; i++) {
      const Busy *visit = &g_array_index(naive->visits[s], Busy, i);
      double frac = overlap_s(visit, begin_s, end_s) / visit->cost.total_s;

      sum.compute_s += frac * visit->cost.compute_s / n_stages;
      sum.comm_s += frac * visit->cost.comm_s / n_stages;
      sum.host_s += frac * visit->cost.host_s / n_stages;
    }
    sum.comm_s += naive_exposed_s(naive, s, begin_s, end_s) / n_stages;
  }
  return sum;
}

static gboolean
is_near(double a, double b, double scale, double limit)
{
  return fabs(a - b) <= limit * scale;
}

typedef struct {
  double part_end_s[MAX_PARTS];
  RaCost part_cost[MAX_PARTS];
  RaDecodeResult result;
} Run;

static void
run_case(const Case *c, Run *run)
{
  RaDecodeSource source = {law_line, law_send_s, &c->law, NULL, NULL};

  run->result = (RaDecodeResult){.part_end_s = run->part_end_s,
                                 .part_cost = run->part_cost};
  ra_decode_run_source(&source, &c->dynamic, FALSE, &run->result);
}

/* Part ends to 1e-12 of the whole; costs to 1e-9 (the naive ones are sums of
 * thousands of differences). */
static gboolean
agrees(const Case *c, const Run *run, const Naive *naive)
{
  double whole_s = naive->part_end_s[c->dynamic.n_parts - 1];

  if (run->result.n_steps != naive->n_steps)
    return FALSE;
  for (uint32_t p = 0; p < c->dynamic.n_parts; p++) {
    RaCost cost = naive_part_cost(c, naive, p);
    const RaCost *got = &run->part_cost[p];

    if (!is_near(run->part_end_s[p], naive->part_end_s[p], naive->part_end_s[p],
                 1e-12) ||
        !is_near(got->compute_s, cost.compute_s, whole_s, 1e-9) ||
        !is_near(got->comm_s, cost.comm_s, whole_s, 1e-9) ||
        !is_near(got->host_s, cost.host_s, whole_s, 1e-9) ||
        !is_near(got->total_s, got->compute_s + got->comm_s + got->host_s,
                 whole_s, 1e-9))
      return FALSE;
  }
  return TRUE;
}

#endif
