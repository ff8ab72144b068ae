/* MCMC search: its rounds, threads, groups and result. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/jobs.h"
#include "search/mcmc_impl.h"

/* Steps between exchanges, and rounds between new beginnings of the hottest
 * chain: a plan has some 10^3 neighbours. */
#define ROUND_STEPS 256
#define RESTART_ROUNDS 128

/* --- rounds --- */

static void
run_group(guint i, guint thread, gpointer data)
{
  RaMcmcSearch *s = data;
  RaMcmcGroup *g = &s->groups[i];
  uint64_t n = ROUND_STEPS * g->n;
  uint64_t all =
      s->options->n_steps > 0 ? s->options->n_steps * g->n : UINT64_MAX;

  (void)thread;
  if (ra_mcmc_is_mine(s, i) && g->n_steps < all)
    ra_mcmc_run_group(s, g, MIN(n, all - g->n_steps));
}

static guint
n_threads(const RaMcmcOptions *options)
{
  return options->n_threads ? options->n_threads : g_get_num_processors();
}

/* --- all of it --- */

static void
search_init(RaMcmcSearch *s)
{
  s->proposer = ra_proposer_new(s->costs);
  s->n_chains = s->options->n_chains;
  if (s->n_chains == 0)
    s->n_chains =
        s->options->n_steps > 0
            ? RA_MCMC_CHAINS
            : RA_LANES * n_threads(s->options) *
                  (s->options->peers ? s->options->peers->world->n_processes
                                     : 1);
  s->n_chains = ra_mcmc_meet_first(s, s->n_chains);
  s->n_groups = (s->n_chains + RA_LANES - 1) / RA_LANES;
  s->chains = g_new0(RaMcmcChain, s->n_chains);
  s->groups = g_new0(RaMcmcGroup, s->n_groups);
  s->n_ladder = (s->n_chains + 3) / 4;
  for (guint i = 0; i < s->n_groups; i++) {
    s->groups[i].evaluator = ra_evaluator_new(s->costs);
    s->groups[i].learn_s = (double)INFINITY;
  }
  for (guint i = 0; i < s->n_chains; i++) {
    RaMcmcChain *c = &s->chains[i];
    RaMcmcGroup *g = &s->groups[i % s->n_groups];
    g->chains[g->n++] = c;
    c->rng = ra_rng_init(s->options->seed, 2 + i);
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
  for (guint i = 0; i < s->n_groups; i++)
    ra_evaluator_free(s->groups[i].evaluator);
  g_free(s->groups);
  g_free(s->chains);
}

/* Costs that groups computed in one round are visible in the next. */
static void
share(RaMcmcSearch *s, const RaMcmcResult *r)
{
  gint round = ra_cost_table_next_round(s->costs);

  for (guint i = 0; i < s->n_groups; i++) {
    ra_evaluator_see(s->groups[i].evaluator, round);
    if (r->found)
      s->groups[i].learn_s = MIN(s->groups[i].learn_s, r->score.run_s);
  }
}

static double
seconds_since(gint64 begin_us)
{
  return (double)(g_get_monotonic_time() - begin_us) * 1e-6;
}

/* The best of all chains into @r; a sample where it has changed. */
static void
collect(const RaMcmcSearch *s, double seconds, RaMcmcResult *r)
{
  double before_s = r->found ? r->score.run_s : (double)INFINITY;

  r->n_steps = r->n_replayed = r->n_asked = 0;
  r->asked_cpu_s = 0;
  r->seconds = seconds;
  for (guint i = 0; i < s->n_groups; i++) {
    const RaMcmcGroup *g = &s->groups[i];
    r->n_steps += g->n_steps;
    r->n_replayed += g->n_replayed;
    r->n_asked += g->n_asked;
    r->asked_cpu_s += g->asked_cpu_s;
    if (!g->found || (r->found && g->best_s >= r->score.run_s))
      continue;
    r->found = TRUE;
    r->point = g->best;
    r->score.run_s = g->best_s;
  }
  if (r->found && r->score.run_s < before_s) {
    RaMcmcSample sample = {r->n_steps, r->seconds, r->score.run_s};
    g_array_append_val(r->curve, sample);
  }
  if (s->options->progress)
    s->options->progress(r->found ? r->score.run_s : (double)NAN, r->n_steps,
                         s->options->data);
}

/* The state before the first step. */
static void
begin_with_best(const RaMcmcSearch *s, RaMcmcResult *r)
{
  if (!s->options->best)
    return;
  r->found = TRUE;
  r->point = *s->options->best;
  ra_evaluate(s->groups[0].evaluator, &r->point, &r->score);
}

static gboolean
is_over(const RaMcmcSearch *s, const RaMcmcResult *r)
{
  const RaMcmcOptions *o = s->options;

  return (o->time_limit_s > 0 && r->seconds >= o->time_limit_s) ||
         (o->n_steps > 0 && r->n_steps >= o->n_steps * s->n_chains) ||
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
  begin_with_best(&s, out_result);
  share(&s, out_result);
  hottest_s = ra_mcmc_probe(&s, &s.groups[0], &now_s);
  ra_mcmc_set_ladder(&s, hottest_s, now_s);
  for (guint round = 1; ra_proposer_n_calls(s.proposer) > 0; round++) {
    share(&s, out_result);
    ra_jobs_run(s.n_groups, s.options->n_threads, run_group, &s);
    collect(&s, ra_mcmc_meet(&s, seconds_since(begin_us)), out_result);
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
    ra_evaluate(s.groups[0].evaluator, &out_result->point, &out_result->score);
  search_clear(&s);
}

void
ra_mcmc_result_clear(RaMcmcResult *result)
{
  g_clear_pointer(&result->curve, g_array_unref);
}
