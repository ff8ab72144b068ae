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

#include "search/evaluate/evaluate_impl.h"

/* Numbers of eight proposals. */
typedef struct {
  RaLaneMask *overlap;   /* (n_calls, n_calls) share a GPU */
  RaLaneReal *call_s;    /* (n_calls) all parts */
  RaLaneReal *last_s;    /* (n_calls) the last part, at least */
  RaLaneReal *realloc_s; /* (n_calls) to the layout of a call, at least */
} Numbers;

/* Predecessors of a call in an iteration: rows of ends.  First what it always
 * does, then what its last part does, then with whom it shares GPUs. */
typedef struct {
  uint16_t call;
  uint16_t made; /* end of the training that its parameters are from, or NONE */
  uint32_t first;
  uint16_t n_always, n_last, n_queued;
} Node;

typedef struct {
  uint16_t row;
  uint16_t mask; /* of the overlaps, if queued */
} Wait;

#define NONE UINT16_MAX

struct _RaScreen {
  const RaFlatGraph *program[RA_LANES]; /* of the plans */
  guint ordered;       /* lanes whose calls stand in the order of
                                         nodes in every queue */
  gboolean is_made;    /* the nodes */
  gboolean has_queues; /* nodes wait in them: all of these do */
  double rest_s[RA_LANES][RA_POINT_MAX]; /* by call: the longest path through it
                                  in every iteration, less the call; 0: not
                                  known */
  uint32_t begin[RA_LANES][RA_POINT_MAX]; /* GPUs of the plans */
  uint32_t end[RA_LANES][RA_POINT_MAX];
  gsize n_rows; /* of Numbers */
  Numbers plan; /* of lanes */
  Numbers now;  /* of proposals */
  Node *nodes;  /* (n_iterations, n_calls) in their order; owned */
  Wait *waits;  /* of all nodes; owned */
  uint32_t n_nodes;
  RaLaneReal *end_s; /* (n_iterations, n_calls) */
  void *block;       /* owned, 64-byte aligned */
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
  gsize n = e->n_calls, n_waits = 0, total;
  RaLaneReal *at;

  s->n_rows = n * n + 3 * n;
  total = 2 * s->n_rows + e->n_iterations * n;
  s->block = aligned_alloc(64, total * sizeof(RaLaneReal));
  if (!s->block)
    g_error("no memory for %" G_GSIZE_FORMAT " GPU groups", total);
  at = s->block;
  memset(at, 0, total * sizeof *at);
  s->plan = carve_numbers(at, n);
  s->now = carve_numbers(at + s->n_rows, n);
  s->end_s = at + 2 * s->n_rows;
  s->ordered = (1u << RA_LANES) - 1; /* lanes without a request, too */
  s->n_nodes = (uint32_t)(e->n_iterations * n);
  g_assert(s->n_nodes < NONE);
  s->nodes = g_new(Node, s->n_nodes);
  for (uint32_t c = 0; c < n; c++)
    n_waits += 1 + e->workload->calls[c].n_inputs + n;
  s->waits = g_new(Wait, e->n_iterations * n_waits);
  return s;
}

void
ra_screen_free(RaScreen *screen)
{
  if (!screen)
    return;
  free(screen->block);
  g_free(screen->nodes);
  g_free(screen->waits);
  g_free(screen);
}

/* TRUE if the program has one node a call and iteration, in the order that
 * replay_calls() goes by. */
static gboolean
has_queues(const RaEvaluator *e, const RaFlatGraph *p)
{
  uint32_t at = 0;

  for (uint32_t i = 0; i < p->n_nodes; i++) {
    const RaFlatGraphNode *node = &p->nodes[i];

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

/* Durations of @proposal in @lane, and whom its calls meet. */
static void
write_proposal(const RaEvaluator *e, RaScreen *s, guint lane,
               const RaProposal *proposal)
{
  uint32_t n = e->n_calls, begin[RA_POINT_MAX], end[RA_POINT_MAX];

  memcpy(begin, s->begin[lane], n * sizeof *begin);
  memcpy(end, s->end[lane], n * sizeof *end);
  for (uint32_t i = 0; i < proposal->n; i++) {
    uint32_t c = proposal->call[i];
    const RaBrief *brief = &e->briefs[c][proposal->choice[i].candidate];

    begin[c] = brief->first + proposal->choice[i].position * brief->step;
    end[c] = begin[c] + brief->n_gpus;
    if (proposal->choice[i].position >= brief->n_runs)
      begin[c] = end[c] = 0; /* whom a set meets is left open: a bound too */
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

/* --- the nodes --- */

/* Rows that a node waits for, directly or not, one bit each; of more than 64
 * nodes none are known. */
typedef struct {
  RaScreen *screen;
  uint32_t n_waits;
  uint64_t before[64];
} Maker;

static void
wait_for(Maker *m, uint32_t row, uint16_t mask, uint16_t *count)
{
  m->screen->waits[m->n_waits++] = (Wait){(uint16_t)row, mask};
  (*count)++;
}

static uint64_t
with_before(const Maker *m, uint32_t row)
{
  return row < 64 ? m->before[row] | UINT64_C(1) << row : 0;
}

/* As bound_call() of search/evaluate/evaluate_replay.c, and behind those that
 * share GPUs and stand before it in the queue, but for whom it waits anyway. */
static void
make_node(const RaEvaluator *e, Maker *m, uint32_t at, uint32_t k)
{
  uint32_t n = e->n_calls, c = e->workload->order[at];
  const RaCall *call = &e->workload->calls[c];
  Node *node = &m->screen->nodes[k * n + at];
  uint32_t lag = ra_space_lag(e->space, c);
  uint64_t before = 0;

  *node = (Node){.call = (uint16_t)c, .made = NONE, .first = m->n_waits};
  if (k > 0 && call->model != RA_NONE)
    wait_for(m, (k - 1) * n + c, NONE, &node->n_always);
  for (guint i = 0; i < call->n_inputs; i++)
    if (call->inputs[i].producer != RA_NONE && call->inputs[i].n_chunks <= 1)
      wait_for(m, k * n + call->inputs[i].producer, NONE, &node->n_always);
  if (e->trainer[c] != RA_NONE && k >= lag) {
    node->made = (uint16_t)((k - lag) * n + e->trainer[c]);
    before |= with_before(m, node->made);
  }
  for (uint32_t i = node->first; i < m->n_waits; i++)
    before |= with_before(m, m->screen->waits[i].row);
  for (guint i = 0; i < call->n_inputs; i++)
    if (call->inputs[i].producer != RA_NONE && call->inputs[i].n_chunks > 1)
      wait_for(m, k * n + call->inputs[i].producer, NONE, &node->n_last);
  for (uint32_t i = 0; m->screen->has_queues && i < n; i++) {
    uint32_t d = e->workload->order[i], row = (i < at ? k : k - 1) * n + d;
    if (d == c || (i > at && k == 0) || (row < 64 && before >> row & 1))
      continue;
    wait_for(m, row, (uint16_t)(c * n + d), &node->n_queued);
  }
  if (k * n + c < 64)
    m->before[k * n + c] = before;
}

static void
make_nodes(const RaEvaluator *e, RaScreen *s)
{
  Maker m = {.screen = s};

  for (uint32_t k = 0; k < e->n_iterations; k++)
    for (uint32_t at = 0; at < e->n_calls; at++)
      make_node(e, &m, at, k);
}

/* --- the replay --- */

RA_INTO void
replay_node(const RaScreen *s, const Node *node, RaLaneReal *out)
{
  const Wait *wait = &s->waits[node->first];
  const RaLaneReal *call_s = &s->now.call_s[node->call];
  RaLaneReal begin = {{0}};

  for (uint32_t i = 0; i < node->n_always; i++, wait++)
    ra_simd_max(&begin, &s->end_s[wait->row]);
  if (node->made != NONE) {
    const RaLaneReal *made = &s->end_s[node->made];
    const RaLaneReal *realloc_s = &s->now.realloc_s[node->call];
    RaLaneReal here;
    RA_EACH_LANE(i) here.of[i] = made->of[i] + realloc_s->of[i];
    ra_simd_max(&begin, &here);
  }
  for (uint32_t i = 0; i < node->n_queued; i++)
    ra_simd_max_where(&begin, &s->end_s[wait[node->n_last + i].row],
                      &s->now.overlap[wait[node->n_last + i].mask]);
  RA_EACH_LANE(i) out->of[i] = begin.of[i] + call_s->of[i];
  for (uint32_t i = 0; i < node->n_last; i++, wait++) {
    RaLaneReal last;
    RA_EACH_LANE(j)
    last.of[j] = s->end_s[wait->row].of[j] + s->now.last_s[node->call].of[j];
    ra_simd_max(out, &last);
  }
}

RA_WIDEST static void
replay_calls(const RaEvaluator *e, const RaScreen *s, RaLaneReal *out_end_s)
{
  uint32_t n = e->n_calls;
  const Node *node = s->nodes;

  for (uint32_t k = 0; k < e->n_iterations; k++)
    for (uint32_t at = 0; at < n; at++, node++)
      replay_node(s, node, &s->end_s[k * n + node->call]);
  for (uint32_t c = 0; c < n; c++)
    ra_simd_max(out_end_s, &s->end_s[(e->n_iterations - 1) * n + c]);
}

/* A call that takes longer than all others together is on every longest path.
 * A power of two: sums of a few of it keep seconds to 10^-9. */
#define HUGE_S 0x1p20

/* Lane c replays the plan in @lane, in which call c takes HUGE_S and shares no
 * GPU. */
static void
find_rests(const RaEvaluator *e, RaScreen *s, guint lane)
{
  uint32_t n = e->n_calls;
  RaLaneReal end = {{0}};

  memset(s->rest_s[lane], 0, sizeof s->rest_s[lane]);
  if (n > RA_LANES)
    return;
  for (gsize i = 0; i < n * n; i++)
    RA_EACH_LANE(k)
  s->now.overlap[i].of[k] = s->plan.overlap[i].of[lane];
  for (gsize i = 0; i < 3 * n; i++) /* and all behind them */
    RA_EACH_LANE(k)
  s->now.call_s[i].of[k] = s->plan.call_s[i].of[lane];
  for (uint32_t c = 0; c < n; c++) {
    s->now.call_s[c].of[c] = HUGE_S;
    s->now.last_s[c].of[c] = 0;
    for (uint32_t d = 0; d < n; d++) {
      s->now.overlap[c * n + d].of[c] = s->now.overlap[d * n + c].of[c] = 0;
      if (d == c || e->trainer[d] == c)
        s->now.realloc_s[d].of[c] = 0;
    }
  }
  replay_calls(e, s, &end);
  for (uint32_t c = 0; c < n; c++)
    s->rest_s[lane][c] =
        MAX(end.of[c] - HUGE_S * e->n_iterations - 1e-6, 0) * (1 - 1e-9);
}

/* Nodes wait in queues if those of all lanes are in their order. */
static void
note_program(const RaEvaluator *e, RaScreen *s, guint lane)
{
  const RaFlatGraph *program = e->lanes[lane].use->program;
  gboolean is_ordered, queues;

  if (s->program[lane] == program)
    return;
  s->program[lane] = program;
  is_ordered = has_queues(e, program);
  s->ordered = (s->ordered & ~(1u << lane)) | (is_ordered ? 1u << lane : 0);
  queues = s->ordered == (1u << RA_LANES) - 1;
  if (queues == s->has_queues && s->is_made)
    return;
  s->has_queues = queues;
  s->is_made = TRUE;
  make_nodes(e, s);
}

/* TRUE if whom @call meets is left open: a set, or a host call, which does not
 * stand in the queues of GPUs.  A bound too. */
static gboolean
is_left_open(const RaLane1 *l, uint32_t call)
{
  return l->set[call] || l->layout[call] == RA_NONE;
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
  note_program(e, s, lane);
  for (uint32_t c = 0; c < n; c++) {
    const RaBrief *brief = &e->briefs[c][l->point.calls[c].candidate];

    s->begin[lane][c] = is_left_open(l, c) ? 0 : l->begin[c];
    s->end[lane][c] = is_left_open(l, c) ? 0 : l->end[c];
    s->plan.call_s[c].of[lane] = brief->least_s;
    s->plan.last_s[c].of[lane] =
        e->workload->calls[c].n_parts == 1 ? brief->least_s : 0;
    s->plan.realloc_s[c].of[lane] = e->realloc_s[c].of[lane];
    for (uint32_t d = 0; d < n; d++)
      s->plan.overlap[c * n + d].of[lane] =
          c == d || l->layout[c] == RA_NONE || l->layout[d] == RA_NONE
              ? 0
              : ra_simd_pair(e->overlap, e, c, d)->of[lane];
  }
  find_rests(e, s, lane);
}

gboolean
ra_evaluator_is_hopeless(const RaEvaluator *e, guint lane,
                         const RaProposal *proposal, double limit_s)
{
  uint32_t c = proposal->call[0];
  double least_s = e->briefs[c][proposal->choice[0].candidate].least_s;

  return proposal->n == 1 &&
         e->screen->rest_s[lane][c] + least_s * (1 - 1e-9) * e->n_iterations >
             limit_s * e->n_iterations;
}

/* Rounding error of a thousand terms is some 10^-13 of them. */
#define ROUNDING (1 - 1e-9)

void
ra_evaluator_screen(RaEvaluator *e, guint lanes, const RaProposal *proposals,
                    double *out_run_s)
{
  RaScreen *s = e->screen;
  RaLaneReal end = {{0}};

  g_return_if_fail(s && lanes < 1u << RA_LANES);
  memcpy(s->now.overlap, s->plan.overlap, s->n_rows * sizeof(RaLaneReal));
  for (guint i = 0; i < RA_LANES; i++)
    if (lanes >> i & 1)
      write_proposal(e, s, i, &proposals[i]);
  replay_calls(e, s, &end);
  for (guint i = 0; i < RA_LANES; i++)
    if (lanes >> i & 1)
      out_run_s[i] = end.of[i] * ROUNDING / e->n_iterations;
}

void
ra_evaluator_apply(RaEvaluator *e, guint lane, const RaProposal *proposal)
{
  for (uint32_t i = 0; i < proposal->n; i++)
    ra_evaluator_move(e, lane, proposal->call[i], proposal->choice[i]);
}
