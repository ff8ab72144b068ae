#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/mcmc_impl.h"

/* Steps between exchanges, and rounds between new beginnings of the hottest
 * chain: a plan has some 10^3 neighbours. */
#define ROUND_STEPS 512
#define RESTART_ROUNDS 64
/* A GPU that is over by all of itself costs so many times the plan. */
#define OVER_FACTOR 10
/* Proposals screened for one replay, at most: few are accepted. */
#define SCREENED_MAX 256

enum { BASE = RA_LANES - 1, N_PROBES = 256 };

/* Proposals that passed screening, a lane each. */
typedef struct {
  guint n;
  guint at[RA_LANES]; /* how many were drawn before */
  double limits[RA_LANES];
  RaScore scores[RA_LANES];
} Passed;

/* --- steps --- */

static double
penalised_s(const RaMcmcSearch *s, const RaScore *score)
{
  return score->run_s * (1 + OVER_FACTOR * score->over_bytes /
                                 s->space->cluster->device.memory_bytes);
}

static void
note_best(RaMcmcChain *c, const RaPoint *point, const RaScore *score)
{
  if (score->is_bound || score->over_bytes > 0 ||
      (c->found && score->run_s >= c->best_s))
    return;
  c->found = TRUE;
  c->best = *point;
  c->best_s = score->run_s;
  c->learn_s = MIN(c->learn_s, score->run_s);
}

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

/* Draws proposals from the plan in the last lane until enough pass; those are
 * put into lanes.  Returns how many were drawn. */
static guint
draw_proposals(const RaMcmcSearch *s, RaMcmcChain *c, Passed *out)
{
  RaEvaluator *e = c->evaluator;
  const RaPoint *point = ra_evaluator_point(e, BASE);
  guint n = 0;

  out->n = 0;
  while (n < SCREENED_MAX) {
    RaProposal proposals[RA_LANES];
    double limits[RA_LANES], bounds[RA_LANES];
    guint at[RA_LANES], k = 0;

    for (; k < MIN(RA_LANES, c->n_lanes + 2) && n < SCREENED_MAX; n++) {
      limits[k] =
          c->now_s + c->temperature_s * ra_proposer_draw(s->proposer, &c->rng,
                                                         point, &proposals[k]);
      at[k] = n;
      k += !ra_evaluator_is_hopeless(e, &proposals[k], limits[k]) &&
           !is_same(point, &proposals[k]);
    }
    if (k > 0)
      ra_evaluator_screen(e, k, proposals, bounds);
    for (guint i = 0; i < k; i++) {
      if (bounds[i] > limits[i])
        continue;
      out->at[out->n] = at[i];
      out->limits[out->n] = limits[i];
      ra_evaluator_apply(e, out->n++, &proposals[i]);
      if (out->n == c->n_lanes)
        return at[i] + 1;
    }
  }
  return n;
}

/* Asks, one by one, for what is not known of the plan in @lane as long as it
 * could be the best; @calls: simulations too.  Whether it is within its limit.
 */
static gboolean
is_accepted(const RaMcmcSearch *s, RaMcmcChain *c, Passed *passed, guint lane,
            gboolean calls)
{
  const RaScore *score = &passed->scores[lane];

  while (penalised_s(s, score) <= passed->limits[lane]) {
    if (!score->is_bound || score->over_bytes > 0 ||
        score->run_s >= c->learn_s ||
        (!calls && ra_evaluator_asks_call(c->evaluator, lane)))
      return TRUE;
    ra_evaluator_ask(c->evaluator, lane);
    ra_evaluator_run_asked(c->evaluator, passed->n, passed->limits,
                           passed->scores);
  }
  return FALSE;
}

/* Simulations are dear: of a round's plans the one that promises most is worth
 * them. */
static void
note(RaMcmcChain *c, const RaPoint *point, const RaScore *score)
{
  note_best(c, point, score);
  if (!score->is_bound || score->over_bytes > 0 || score->run_s >= c->learn_s ||
      (c->hopes && score->run_s >= c->hope_s))
    return;
  c->hopes = TRUE;
  c->hope = *point;
  c->hope_s = score->run_s;
}

/* Some proposals from the plan in the last lane: the first that is accepted
 * counts, and those before it.  Returns how many that is. */
static guint
step(const RaMcmcSearch *s, RaMcmcChain *c)
{
  RaEvaluator *e = c->evaluator;
  Passed passed;
  guint n = draw_proposals(s, c, &passed);

  if (passed.n == 0)
    return n;
  c->n_replayed += passed.n;
  ra_evaluator_run_asked(e, passed.n, passed.limits, passed.scores);
  for (guint lane = 0; lane < passed.n; lane++) {
    if (!is_accepted(s, c, &passed, lane, FALSE))
      continue;
    c->now_s = penalised_s(s, &passed.scores[lane]);
    note(c, ra_evaluator_point(e, lane), &passed.scores[lane]);
    ra_evaluator_spread(e, lane);
    ra_evaluator_screen_from(e, BASE);
    c->n_lanes = (c->n_lanes + lane + 2) / 2;
    return passed.at[lane] + 1;
  }
  ra_evaluator_spread(e, BASE);
  c->n_lanes = MIN(c->n_lanes + 1, (guint)BASE);
  return n;
}

/* --- rounds --- */

/* Puts @point into lane 0, and asks for it if it could be the best. */
static RaScore
look_at(const RaMcmcSearch *s, RaMcmcChain *c, const RaPoint *point,
        gboolean calls)
{
  Passed passed = {.n = 1, .limits = {(double)INFINITY}};

  ra_evaluator_set(c->evaluator, 0, point);
  ra_evaluator_run_asked(c->evaluator, 1, NULL, passed.scores);
  is_accepted(s, c, &passed, 0, calls);
  note(c, point, &passed.scores[0]);
  return passed.scores[0];
}

/* Puts the chain's plan into all lanes. */
static void
enter(const RaMcmcSearch *s, RaMcmcChain *c)
{
  RaScore score = look_at(s, c, &c->point, FALSE);

  c->now_s = penalised_s(s, &score);
  ra_evaluator_spread(c->evaluator, 0);
  ra_evaluator_screen_from(c->evaluator, BASE);
}

/* What the round hoped for. */
static void
leave(const RaMcmcSearch *s, RaMcmcChain *c)
{
  c->point = *ra_evaluator_point(c->evaluator, BASE);
  if (c->hopes)
    look_at(s, c, &c->hope, TRUE);
  c->hopes = FALSE;
}

/* A round whose costs are asked for the first time can take long. */
static gboolean
is_cut(const RaMcmcSearch *s)
{
  return (s->end_us > 0 && g_get_monotonic_time() >= s->end_us) ||
         (s->options->stop && g_atomic_int_get(s->options->stop) != 0);
}

static gpointer
run_chains(gpointer data)
{
  RaMcmcSearch *s = data;

  for (;;) {
    gint i = g_atomic_int_add(&s->next, 1);
    RaMcmcChain *c;
    uint64_t end;

    if (i >= (gint)s->n_chains)
      return NULL;
    c = &s->chains[i];
    enter(s, c);
    end = c->n_steps + ROUND_STEPS;
    if (s->options->n_steps > 0)
      end = MIN(end, s->options->n_steps);
    while (c->n_steps < end && !is_cut(s))
      c->n_steps += step(s, c);
    leave(s, c);
  }
}

static void
run_round(RaMcmcSearch *s)
{
  guint n =
      s->options->n_threads ? s->options->n_threads : g_get_num_processors();
  g_autofree GThread **threads = g_new0(GThread *, n);

  n = MIN(n, s->n_chains);
  g_atomic_int_set(&s->next, 0);
  for (guint i = 1; i < n; i++)
    threads[i] = g_thread_new("chain", run_chains, s);
  run_chains(s);
  for (guint i = 1; i < n; i++)
    g_thread_join(threads[i]);
}

/* --- temperatures --- */

static int
compare_reals(const void *a, const void *b)
{
  const double *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

/* What changes of the first plan cost, the median; and its time. */
static double
probe(RaMcmcSearch *s, double *out_now_s)
{
  RaMcmcChain *c = &s->chains[0];
  RaRng rng = ra_rng_init(s->options->seed, 1);
  double costs_s[N_PROBES];

  enter(s, c);
  *out_now_s = c->now_s;
  for (guint i = 0; i < N_PROBES; i++) {
    RaProposal proposal;
    RaScore score;

    ra_evaluator_copy(c->evaluator, 0, BASE);
    ra_proposer_draw(s->proposer, &rng, &c->point, &proposal);
    ra_evaluator_apply(c->evaluator, 0, &proposal);
    ra_evaluator_run_asked(c->evaluator, 1, NULL, &score);
    note_best(c, ra_evaluator_point(c->evaluator, 0), &score);
    costs_s[i] = fabs(penalised_s(s, &score) - c->now_s);
  }
  qsort(costs_s, N_PROBES, sizeof *costs_s, compare_reals);
  return costs_s[N_PROBES / 2];
}

/* --- all of it --- */

static void
search_init(RaMcmcSearch *s)
{
  s->proposer = ra_proposer_new(s->costs);
  s->n_chains = s->options->n_chains ? s->options->n_chains : 8;
  s->chains = g_new0(RaMcmcChain, s->n_chains);
  s->n_ladder = (s->n_chains + 1) / 2;
  for (guint i = 0; i < s->n_chains; i++) {
    RaMcmcChain *c = &s->chains[i];
    c->evaluator = ra_evaluator_new(s->costs);
    c->rng = ra_rng_init(s->options->seed, 2 + i);
    c->n_lanes = BASE;
    c->learn_s = (double)INFINITY;
    c->span = RA_MCMC_QUENCH_ROUNDS;
    if (s->options->n_starts > 0)
      c->point = s->options->starts[i % s->options->n_starts];
    else
      ra_mcmc_random_point(s, &c->rng, &c->point);
  }
}

static void
search_clear(RaMcmcSearch *s)
{
  ra_proposer_free(s->proposer);
  for (guint i = 0; i < s->n_chains; i++)
    ra_evaluator_free(s->chains[i].evaluator);
  g_free(s->chains);
}

/* What chains asked in the last round all see in the next. */
static void
share(RaMcmcSearch *s, const RaMcmcResult *r)
{
  gint round = ra_cost_table_next_round(s->costs);

  for (guint i = 0; i < s->n_chains; i++) {
    ra_evaluator_see(s->chains[i].evaluator, round);
    if (r->found)
      s->chains[i].learn_s = MIN(s->chains[i].learn_s, r->score.run_s);
  }
}

/* The best of all chains into @r; a sample where it has changed. */
static void
collect(const RaMcmcSearch *s, gint64 begin_us, RaMcmcResult *r)
{
  double before_s = r->found ? r->score.run_s : (double)INFINITY;

  r->n_steps = r->n_replayed = 0;
  r->seconds = (double)(g_get_monotonic_time() - begin_us) * 1e-6;
  for (guint i = 0; i < s->n_chains; i++) {
    const RaMcmcChain *c = &s->chains[i];
    r->n_steps += c->n_steps;
    r->n_replayed += c->n_replayed;
    if (!c->found || (r->found && c->best_s >= r->score.run_s))
      continue;
    r->found = TRUE;
    r->point = c->best;
    r->score.run_s = c->best_s;
  }
  if (r->found && r->score.run_s < before_s) {
    RaMcmcSample sample = {r->n_steps, r->seconds, r->score.run_s};
    g_array_append_val(r->curve, sample);
  }
  if (s->options->progress)
    s->options->progress(r->found ? r->score.run_s : (double)NAN, r->n_steps,
                         s->options->data);
}

static gboolean
is_over(const RaMcmcSearch *s, const RaMcmcResult *r)
{
  const RaMcmcOptions *o = s->options;

  return (o->time_limit_s > 0 && r->seconds >= o->time_limit_s) ||
         (o->n_steps > 0 && s->chains[0].n_steps >= o->n_steps) ||
         (o->stop && g_atomic_int_get(o->stop) != 0);
}

void
ra_mcmc_search(RaCostTable *costs, const RaMcmcOptions *options,
               RaMcmcResult *out_result)
{
  RaMcmcSearch s = {
      .costs = costs, .space = ra_cost_table_space(costs), .options = options};
  RaRng rng = ra_rng_init(options->seed, 0);
  gint64 begin_us = g_get_monotonic_time();
  double hottest_s, now_s;

  g_return_if_fail(options->n_steps > 0 || options->time_limit_s > 0);
  memset(out_result, 0, sizeof *out_result);
  out_result->curve = g_array_new(FALSE, FALSE, sizeof(RaMcmcSample));
  if (options->time_limit_s > 0)
    s.end_us = begin_us + (gint64)(1e6 * options->time_limit_s);
  search_init(&s);
  share(&s, out_result);
  hottest_s = probe(&s, &now_s);
  ra_mcmc_set_ladder(&s, hottest_s, now_s);
  for (guint round = 1; ra_proposer_n_calls(s.proposer) > 0; round++) {
    share(&s, out_result);
    run_round(&s);
    collect(&s, begin_us, out_result);
    if (is_over(&s, out_result))
      break;
    if (out_result->found)
      ra_mcmc_set_ladder(&s, hottest_s, out_result->score.run_s);
    ra_mcmc_exchange(&s, &rng);
    ra_mcmc_quench(&s, &rng);
    if (round % RESTART_ROUNDS == 0)
      ra_mcmc_random_point(&s, &rng, &s.chains[0].point);
  }
  if (out_result->found)
    ra_evaluate(s.chains[0].evaluator, &out_result->point, &out_result->score);
  search_clear(&s);
}

void
ra_mcmc_result_clear(RaMcmcResult *result)
{
  g_clear_pointer(&result->curve, g_array_unref);
}
