/* Chains side by side: a lane of the evaluator each.
 *
 * Every chain has one proposal at a time.  All are screened together; what
 * passes its bound waits in its lane until half of the chains do, and then all
 * of these are replayed together.  No proposal is drawn in vain, and a chain
 * that accepts little makes more steps than one that accepts much. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "search/mcmc_impl.h"

/* Proposals of a chain for one screening, at most: most are hopeless. */
#define DRAWN_MAX 32
/* Screenings between looks at the clock. */
#define LOOK_TURNS 64

/* Expensive costs, which take as long as so many proposals (half a
 * millisecond), are computed between rounds. */
#define MUCH_PROPOSALS 2048

enum { N_PROBES = 256 };

/* A round whose costs are asked for the first time can take long. */
static gboolean
is_cut(const RaMcmcSearch *s)
{
  return (s->end_us > 0 && g_get_monotonic_time() >= s->end_us) ||
         (s->options->stop && g_atomic_int_get(s->options->stop) != 0) ||
         (s->options->peers && s->options->peers->asked &&
          g_atomic_int_get(s->options->peers->asked) != 0);
}

/* --- what is found --- */

static void
note_best(RaMcmcGroup *g, const RaPoint *point, const RaScore *score)
{
  if (score->is_bound || score->over_bytes > 0 ||
      (g->found && score->run_s >= g->best_s))
    return;
  g->found = TRUE;
  g->best = *point;
  g->best_s = score->run_s;
  g->learn_s = MIN(g->learn_s, score->run_s);
}

/* Expensive costs are computed for the most promising plan of the rounds since
 * the last such computation. */
static void
note(RaMcmcGroup *g, const RaPoint *point, const RaScore *score)
{
  note_best(g, point, score);
  if (!score->is_bound || score->over_bytes > 0 || score->run_s >= g->learn_s ||
      (g->hopes && score->run_s >= g->hope_s))
    return;
  g->hopes = TRUE;
  g->hope = *point;
  g->hope_s = score->run_s;
}

static double
thread_s(void)
{
  struct timespec time;

  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void
ask(RaMcmcGroup *g, guint lane)
{
  double begin_s = thread_s();

  g->owes += ra_evaluator_ask_price(g->evaluator, lane);
  ra_evaluator_ask(g->evaluator, lane);
  g->n_asked++;
  g->asked_cpu_s += thread_s() - begin_s;
}

/* Asks, one by one, for what is not known of the plan in @lane as long as it
 * could be the best; @much: what takes long too.  Whether it is within its
 * limit.
 */
static gboolean
is_accepted(RaMcmcGroup *g, guint lane, gboolean much)
{
  const RaScore *score = &g->scores[lane];

  while (ra_evaluator_penalised_s(g->evaluator, score) <= g->limits[lane]) {
    if (!score->is_bound || score->over_bytes > 0 ||
        score->run_s >= g->learn_s ||
        (!much && ra_evaluator_ask_price(g->evaluator, lane) > MUCH_PROPOSALS))
      return TRUE;
    ask(g, lane);
    ra_evaluator_run_asked(g->evaluator, 1u << lane, g->limits, g->scores);
  }
  return FALSE;
}

/* --- steps --- */

static gboolean
is_same(const RaPoint *point, const RaProposal *proposal)
{
  for (uint32_t i = 0; i < proposal->n; i++) {
    RaChoice now = point->calls[proposal->call[i]];
    if (now.candidate != proposal->choice[i].candidate ||
        now.position != proposal->choice[i].position)
      return FALSE;
  }
  return TRUE;
}

/* A change of the plan in @lane that is not hopeless; FALSE: not this time.
 */
static gboolean
draw(const RaMcmcSearch *s, RaMcmcGroup *g, guint lane, RaProposal *out)
{
  RaMcmcChain *c = g->chains[lane];
  const RaPoint *point = ra_evaluator_point(g->evaluator, lane);

  for (guint i = 0; i < DRAWN_MAX; i++) {
    double u = ra_proposer_draw(s->proposer, &c->rng, point, out);

    g->n_steps++;
    g->limits[lane] = c->now_s + c->temperature_s * u;
    if (!ra_evaluator_is_hopeless(g->evaluator, lane, out, g->limits[lane]) &&
        !is_same(point, out))
      return TRUE;
  }
  return FALSE;
}

/* Puts a proposal that has passed into its lane. */
static void
enter_lane(RaMcmcGroup *g, guint lane, const RaProposal *proposal)
{
  const RaPoint *point = ra_evaluator_point(g->evaluator, lane);
  RaProposal *before = &g->before[lane];

  before->n = proposal->n;
  for (uint32_t i = 0; i < proposal->n; i++) {
    before->call[i] = proposal->call[i];
    before->choice[i] = point->calls[proposal->call[i]];
  }
  ra_evaluator_apply(g->evaluator, lane, proposal);
  g->pending |= 1u << lane;
}

/* One proposal of every chain that has none waiting. */
static void
propose(const RaMcmcSearch *s, RaMcmcGroup *g)
{
  RaProposal proposals[RA_LANES];
  double bounds[RA_LANES];
  guint lanes = 0;

  for (guint i = 0; i < g->n; i++)
    if (!(g->pending >> i & 1) && draw(s, g, i, &proposals[i]))
      lanes |= 1u << i;
  if (lanes == 0)
    return;
  ra_evaluator_screen(g->evaluator, lanes, proposals, bounds);
  for (guint i = 0; i < g->n; i++)
    if ((lanes >> i & 1) && bounds[i] <= g->limits[i])
      enter_lane(g, i, &proposals[i]);
}

/* Replays what has passed: accepted, or undone. */
static void
decide(const RaMcmcSearch *s, RaMcmcGroup *g)
{
  RaEvaluator *e = g->evaluator;

  if (g->pending == 0)
    return;
  ra_evaluator_run_asked(e, g->pending, g->limits, g->scores);
  for (guint i = 0; i < g->n; i++) {
    if (!(g->pending >> i & 1))
      continue;
    g->n_replayed++;
    if (is_accepted(g, i, FALSE)) {
      g->chains[i]->now_s =
          ra_evaluator_penalised_s(g->evaluator, &g->scores[i]);
      note(g, ra_evaluator_point(e, i), &g->scores[i]);
      ra_evaluator_screen_from(e, i);
    } else {
      ra_evaluator_apply(e, i, &g->before[i]);
    }
  }
  g->pending = 0;
}

/* --- rounds --- */

/* The chains' plans into their lanes. */
static void
enter(const RaMcmcSearch *s, RaMcmcGroup *g)
{
  for (guint i = 0; i < g->n; i++) {
    g->limits[i] = (double)INFINITY;
    ra_evaluator_set(g->evaluator, i, &g->chains[i]->point);
  }
  g->pending = (1u << g->n) - 1;
  ra_evaluator_run_asked(g->evaluator, g->pending, NULL, g->scores);
  for (guint i = 0; i < g->n; i++) {
    is_accepted(g, i, FALSE);
    note(g, ra_evaluator_point(g->evaluator, i), &g->scores[i]);
    g->chains[i]->now_s = ra_evaluator_penalised_s(g->evaluator, &g->scores[i]);
    ra_evaluator_screen_from(g->evaluator, i);
  }
  g->pending = 0;
}

/* Another residency of a model of the plan in @lane; FALSE: not this time. */
static gboolean
draw_residency(const RaMcmcSearch *s, RaMcmcGroup *g, guint lane,
               uint32_t *out_model, int *out_residency)
{
  RaRng *rng = &g->chains[lane]->rng;
  const RaPoint *point = ra_evaluator_point(g->evaluator, lane);

  *out_model = (uint32_t)ra_rng_below(rng, s->space->workload->n_models);
  *out_residency =
      (int)ra_rng_below(rng, (uint64_t)s->options->residency_most + 1);
  return point->residency[*out_model] != *out_residency &&
         ra_space_allows_residency(s->space, *out_model, *out_residency);
}

/* Chains propose where parameters are between calls once a round: that changes
 * the program, so it is replayed without a bound before. */
static void
move_residencies(const RaMcmcSearch *s, RaMcmcGroup *g)
{
  RaEvaluator *e = g->evaluator;
  uint32_t models[RA_LANES];
  uint8_t before[RA_LANES];
  guint lanes = 0;

  for (guint i = 0; i < g->n; i++) {
    RaMcmcChain *c = g->chains[i];
    int residency;

    if (!draw_residency(s, g, i, &models[i], &residency))
      continue;
    lanes |= 1u << i;
    before[i] = ra_evaluator_point(e, i)->residency[models[i]];
    g->limits[i] =
        c->now_s - c->temperature_s * ra_log(1 - ra_rng_uniform(&c->rng));
    ra_evaluator_move_residency(e, i, models[i], residency);
    g->n_steps++;
    g->n_replayed++;
  }
  if (lanes == 0)
    return;
  ra_evaluator_run_asked(e, lanes, g->limits, g->scores);
  for (guint i = 0; i < g->n; i++) {
    if (!(lanes >> i & 1))
      continue;
    if (is_accepted(g, i, FALSE)) {
      g->chains[i]->now_s = ra_evaluator_penalised_s(e, &g->scores[i]);
      note(g, ra_evaluator_point(e, i), &g->scores[i]);
    } else {
      ra_evaluator_move_residency(e, i, models[i], before[i]);
    }
    ra_evaluator_screen_from(e, i);
  }
}

/* Asks for what takes long, if the plan that promises most still does: half of
 * a group's time goes there at most, once it has some plan. */
static void
ask_hope(RaMcmcGroup *g)
{
  if (g->found && (double)g->n_steps < g->asks_from)
    return;
  g->owes = 0;
  is_accepted(g, 0, TRUE);
  note_best(g, &g->hope, &g->scores[0]);
  g->asks_from = (double)g->n_steps + g->owes;
  g->hopes = FALSE;
}

/* And back; then what is hoped for. */
static void
leave(RaMcmcGroup *g)
{
  for (guint i = 0; i < g->n; i++)
    g->chains[i]->point = *ra_evaluator_point(g->evaluator, i);
  if (!g->hopes)
    return;
  g->limits[0] = (double)INFINITY;
  ra_evaluator_set(g->evaluator, 0, &g->hope);
  ra_evaluator_run_asked(g->evaluator, 1, NULL, g->scores);
  g->hope_s = g->scores[0].run_s;
  g->hopes = g->hope_s < g->learn_s && !(g->scores[0].over_bytes > 0);
  if (g->hopes)
    ask_hope(g);
}

void
ra_mcmc_run_group(const RaMcmcSearch *s, RaMcmcGroup *group, uint64_t n_steps)
{
  RaMcmcGroup *g = group;
  uint64_t end = g->n_steps + n_steps;
  guint turn = 0;

  enter(s, g);
  if (s->options->residency_most > RA_RESIDENCY_RELEASE)
    move_residencies(s, g);
  while (g->n_steps < end && (++turn % LOOK_TURNS != 0 || !is_cut(s))) {
    propose(s, g);
    if (2 * (guint)__builtin_popcount(g->pending) >= g->n)
      decide(s, g);
  }
  decide(s, g);
  leave(g);
}

/* --- temperatures --- */

static int
compare_reals(const void *a, const void *b)
{
  const double *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

double
ra_mcmc_probe(const RaMcmcSearch *s, RaMcmcGroup *group, double *out_now_s)
{
  RaMcmcGroup *g = group;
  RaEvaluator *e = g->evaluator;
  RaRng rng = ra_rng_init(s->options->seed, 1);
  RaPoint point = g->chains[0]->point;
  double costs_s[N_PROBES], now_s;

  enter(s, g);
  *out_now_s = now_s = g->chains[0]->now_s;
  for (guint i = 0; i < N_PROBES; i += RA_LANES) {
    for (guint k = 0; k < RA_LANES; k++) {
      RaProposal proposal;

      ra_evaluator_set(e, k, &point);
      ra_proposer_draw(s->proposer, &rng, &point, &proposal);
      ra_evaluator_apply(e, k, &proposal);
    }
    ra_evaluator_run_asked(e, (1u << RA_LANES) - 1, NULL, g->scores);
    for (guint k = 0; k < RA_LANES; k++) {
      note_best(g, ra_evaluator_point(e, k), &g->scores[k]);
      costs_s[i + k] =
          fabs(ra_evaluator_penalised_s(g->evaluator, &g->scores[k]) - now_s);
    }
  }
  qsort(costs_s, N_PROBES, sizeof *costs_s, compare_reals);
  return costs_s[N_PROBES / 2];
}
