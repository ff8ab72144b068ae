/* Screening: a bound of proposals that are in no lane.
 *
 * The replay of the calls alone, in the order in which they stand in the queues
 * of their GPUs, eight proposals beside each other.  It is the evaluator's
 * replay without transfers and copies, and of reallocations only those that no
 * proposal touches, so its end is no later; a third of the nodes, and of a
 * proposal only durations and whom a call meets are written. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "search/evaluate_impl.h"

/* Numbers of eight proposals. */
typedef struct {
  RaLaneMask *overlap;   /* (n_calls, n_calls) share a GPU */
  RaLaneReal *call_s;    /* (n_calls) all parts */
  RaLaneReal *last_s;    /* (n_calls) the last part, at least */
  RaLaneReal *realloc_s; /* (n_calls) to the layout of a call, at least */
} Numbers;

struct _RaScreen {
  const RaProgram *program; /* of the plan; has_queues is of it */
  gboolean has_queues;      /* calls stand in its order in every queue */
  uint32_t begin[RA_POINT_MAX], end[RA_POINT_MAX]; /* GPUs of the plan */
  gsize n_rows;                                    /* of Numbers */
  Numbers plan;                                    /* in all lanes */
  Numbers now;                                     /* of proposals */
  RaLaneReal *end_s;                               /* (n_iterations, n_calls) */
  void *block;                                     /* owned, 64-byte aligned */
};

static Numbers
carve_numbers(RaLaneReal *at, gsize n)
{
  return (Numbers){(RaLaneMask *)(void *)at, at + n * n, at + n * n + n,
                   at + n * n + 2 * n};
}

static RaScreen *
screen_new(const RaEvaluator *e)
{
  RaScreen *s = g_new0(RaScreen, 1);
  gsize n = e->n_calls, total;
  RaLaneReal *at;

  s->n_rows = n * n + 3 * n;
  total = 2 * s->n_rows + e->n_iterations * n;
  s->block = aligned_alloc(64, total * sizeof(RaLaneReal));
  if (!s->block)
    g_error("no memory for %" G_GSIZE_FORMAT " lanes", total);
  at = s->block;
  memset(at, 0, total * sizeof *at);
  s->plan = carve_numbers(at, n);
  s->now = carve_numbers(at + s->n_rows, n);
  s->end_s = at + 2 * s->n_rows;
  return s;
}

void
ra_screen_free(RaScreen *screen)
{
  if (!screen)
    return;
  free(screen->block);
  g_free(screen);
}

/* Whether the program has one node a call and iteration, in the order that
 * replay_calls() goes by. */
static gboolean
has_queues(const RaEvaluator *e, const RaProgram *p)
{
  uint32_t at = 0;

  for (uint32_t i = 0; i < p->n_nodes; i++) {
    const RaProgramNode *node = &p->nodes[i];

    if (!node->is_call)
      continue;
    if (at == e->n_iterations * e->n_calls ||
        p->slots[node->slot].call != e->workload->order[at % e->n_calls] ||
        node->iteration != at / e->n_calls)
      return FALSE;
    at++;
  }
  return at == e->n_iterations * e->n_calls;
}

static void
spread_real(RaLaneReal *row, double value)
{
  RA_EACH_LANE(i) row->of[i] = value;
}

void
ra_evaluator_screen_from(RaEvaluator *e, guint lane)
{
  const RaLane1 *l = &e->lanes[lane];
  uint32_t n = e->n_calls;
  RaScreen *s;

  if (!e->screen)
    e->screen = screen_new(e);
  s = e->screen;
  if (s->program != l->use->program)
    s->has_queues = has_queues(e, l->use->program);
  s->program = l->use->program;
  for (uint32_t c = 0; c < n; c++) {
    const RaBrief *brief = &e->briefs[c][l->point.calls[c].candidate];

    s->begin[c] = l->begin[c];
    s->end[c] = l->end[c];
    spread_real(&s->plan.call_s[c], brief->least_s);
    spread_real(&s->plan.last_s[c],
                e->workload->calls[c].n_parts == 1 ? brief->least_s : 0);
    spread_real(&s->plan.realloc_s[c], e->realloc_s[c].of[lane]);
    for (uint32_t d = 0; d < n; d++) {
      uint64_t mask = ra_lane_pair(e->overlap, e, c, d)->of[lane];
      RaLaneMask *row = &s->plan.overlap[c * n + d];
      RA_EACH_LANE(i) row->of[i] = c == d ? 0 : mask;
    }
  }
}

/* Durations of @proposal in @lane, and whom its calls meet. */
static void
write_proposal(const RaEvaluator *e, RaScreen *s, guint lane,
               const RaProposal *proposal)
{
  uint32_t n = e->n_calls, begin[RA_POINT_MAX], end[RA_POINT_MAX];

  memcpy(begin, s->begin, n * sizeof *begin);
  memcpy(end, s->end, n * sizeof *end);
  for (uint32_t i = 0; i < proposal->n; i++) {
    uint32_t c = proposal->call[i];
    const RaBrief *brief = &e->briefs[c][proposal->choice[i].candidate];

    begin[c] = brief->first + proposal->choice[i].position * brief->step;
    end[c] = begin[c] + brief->n_gpus;
    s->now.call_s[c].of[lane] = brief->least_s;
    s->now.last_s[c].of[lane] =
        e->workload->calls[c].n_parts == 1 ? brief->least_s : 0;
    for (uint32_t d = 0; d < n; d++)
      if (d == c || e->trainer[d] == c)
        s->now.realloc_s[d].of[lane] = 0;
  }
  for (uint32_t i = 0; i < proposal->n; i++) {
    uint32_t c = proposal->call[i];

    for (uint32_t d = 0; d < n; d++) {
      uint64_t meet =
          d != c && begin[c] < end[d] && begin[d] < end[c] ? UINT64_MAX : 0;
      s->now.overlap[c * n + d].of[lane] = meet;
      s->now.overlap[d * n + c].of[lane] = meet;
    }
  }
}

/* When call @c may begin in iteration @k, and what its last part waits for. */
RA_INTO void
wait_for_inputs(const RaEvaluator *e, const RaScreen *s, uint32_t c, uint32_t k,
                RaLaneReal *begin, RaLaneReal *chunk)
{
  const RaCall *call = &e->workload->calls[c];
  uint32_t n = e->n_calls, lag = 1 + call->staleness;

  for (guint i = 0; i < call->n_inputs; i++) {
    uint32_t from = call->inputs[i].producer;
    if (from != RA_NONE)
      ra_lane_max(call->inputs[i].n_chunks > 1 ? chunk : begin,
                  &s->end_s[k * n + from]);
  }
  if (e->trainer[c] != RA_NONE && k >= lag) {
    const RaLaneReal *made = &s->end_s[(k - lag) * n + e->trainer[c]];
    RaLaneReal here;
    RA_EACH_LANE(i) here.of[i] = made->of[i] + s->now.realloc_s[c].of[i];
    ra_lane_max(begin, &here);
  }
  if (k > 0 && call->model != RA_NONE)
    ra_lane_max(begin, &s->end_s[(k - 1) * n + c]);
}

RA_INTO void
replay_call(const RaEvaluator *e, const RaScreen *s, uint32_t at, uint32_t k)
{
  uint32_t n = e->n_calls, c = e->workload->order[at];
  RaLaneReal begin = {{0}}, chunk = {{0}};
  RaLaneReal *out = &s->end_s[k * n + c];

  wait_for_inputs(e, s, c, k, &begin, &chunk);
  /* Of a call that shares GPUs the last one before in the queue. */
  for (uint32_t i = 0; s->has_queues && i < n; i++) {
    uint32_t d = e->workload->order[i];
    if (i < at)
      ra_lane_max_where(&begin, &s->end_s[k * n + d],
                        &s->now.overlap[c * n + d]);
    else if (k > 0)
      ra_lane_max_where(&begin, &s->end_s[(k - 1) * n + d],
                        &s->now.overlap[c * n + d]);
  }
  RA_EACH_LANE(i)
  {
    double a = begin.of[i] + s->now.call_s[c].of[i];
    double b = chunk.of[i] + s->now.last_s[c].of[i];
    out->of[i] = a > b ? a : b;
  }
}

RA_WIDEST static void
replay_calls(const RaEvaluator *e, const RaScreen *s, RaLaneReal *out_end_s)
{
  uint32_t n = e->n_calls;

  for (uint32_t k = 0; k < e->n_iterations; k++)
    for (uint32_t at = 0; at < n; at++)
      replay_call(e, s, at, k);
  for (uint32_t c = 0; c < n; c++)
    ra_lane_max(out_end_s, &s->end_s[(e->n_iterations - 1) * n + c]);
}

/* Of a thousand terms; rounding is some 10^-13 of them. */
#define ROUNDING (1 - 1e-9)

void
ra_evaluator_screen(RaEvaluator *e, guint n, const RaProposal *proposals,
                    double *out_run_s)
{
  RaScreen *s = e->screen;
  RaLaneReal end = {{0}};

  g_return_if_fail(s && n <= RA_LANES);
  memcpy(s->now.overlap, s->plan.overlap, s->n_rows * sizeof(RaLaneReal));
  for (guint i = 0; i < n; i++)
    write_proposal(e, s, i, &proposals[i]);
  replay_calls(e, s, &end);
  for (guint i = 0; i < n; i++)
    out_run_s[i] = end.of[i] * ROUNDING / e->n_iterations;
}

void
ra_evaluator_apply(RaEvaluator *e, guint lane, const RaProposal *proposal)
{
  for (uint32_t i = 0; i < proposal->n; i++)
    ra_evaluator_move(e, lane, proposal->call[i], proposal->choice[i]);
}
