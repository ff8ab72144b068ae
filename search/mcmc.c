#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "search/mcmc.h"

/* Steps between exchanges, and rounds between new beginnings of the hottest
 * chain: a plan has some 10^3 neighbours. */
#define ROUND_STEPS 4096
#define RESTART_ROUNDS 32
/* Of the first plan's time: less than what plans of interest differ in. */
#define COLDEST_FRAC 1e-4
/* And at most: beyond it a chain only wanders. */
#define HOTTEST_FRAC 0.03
/* A GPU that is over by all of itself costs so many times the plan. */
#define OVER_FACTOR 10

enum { BASE = RA_LANES - 1, N_PROBES = 256 };

/* Candidates of a call by the size of their mesh. */
typedef struct {
  uint32_t *sorted; /* (n) candidates, by GPUs; owned */
  uint32_t *begin;  /* (n_sizes + 1) of each size in sorted; owned */
  uint32_t *n_gpus; /* (n_sizes) ascending; owned */
  uint32_t n_sizes;
} Sizes;

typedef struct {
  RaEvaluator *evaluator; /* owned */
  RaRng rng;
  double temperature_s;
  double now_s;  /* penalised time of the plan in the last lane */
  RaPoint point; /* that plan, between rounds */
  gboolean found;
  RaPoint best; /* that fits, of this chain */
  double best_s;
  uint64_t n_steps, n_replayed;
} Chain;

typedef struct {
  RaCostTable *costs;
  const RaSpace *space;
  const RaMcmcOptions *options;
  Sizes sizes[RA_POINT_MAX];
  uint32_t calls[RA_POINT_MAX]; /* with a choice */
  uint32_t n_calls;
  Chain *chains; /* (n_chains), the hottest first; owned */
  guint n_chains;
  gint next;     /* atomic: chain of the round that no thread has taken */
  gint64 end_us; /* of the time limit; 0: none */
} Search;

/* --- candidates by size --- */

static int
compare_u32(const void *a, const void *b)
{
  const uint32_t *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

static void
sizes_init(Sizes *s, const RaSpaceCall *call)
{
  g_autofree uint32_t *all = g_new(uint32_t, call->n);
  uint32_t n = 0;

  for (uint32_t i = 0; i < call->n; i++)
    all[i] = call->candidates[i].n_gpus;
  qsort(all, call->n, sizeof *all, compare_u32);
  s->sorted = g_new(uint32_t, call->n);
  s->begin = g_new0(uint32_t, call->n + 1);
  s->n_gpus = g_new(uint32_t, call->n);
  s->n_sizes = 0;
  for (uint32_t k = 0; k < call->n; k++) {
    if (k > 0 && all[k] == all[k - 1])
      continue;
    s->begin[s->n_sizes] = n;
    s->n_gpus[s->n_sizes++] = all[k];
    for (uint32_t i = 0; i < call->n; i++)
      if (call->candidates[i].n_gpus == all[k])
        s->sorted[n++] = i;
  }
  s->begin[s->n_sizes] = n;
}

static void
sizes_clear(Sizes *s)
{
  g_free(s->sorted);
  g_free(s->begin);
  g_free(s->n_gpus);
}

/* Some candidate of @call with @n_gpus; FALSE: there is none. */
static gboolean
draw_size(const Search *s, RaRng *rng, uint32_t call, uint32_t n_gpus,
          uint32_t *out_candidate)
{
  const Sizes *sizes = &s->sizes[call];
  const uint32_t *found = bsearch(&n_gpus, sizes->n_gpus, sizes->n_sizes,
                                  sizeof n_gpus, compare_u32);
  uint32_t at, n;

  if (!found)
    return FALSE;
  at = (uint32_t)(found - sizes->n_gpus);
  n = sizes->begin[at + 1] - sizes->begin[at];
  *out_candidate =
      sizes->sorted[sizes->begin[at] + (uint32_t)ra_rng_below(rng, n)];
  return TRUE;
}

/* --- proposals --- */

static const RaCandidate *
candidate_of(const Search *s, const RaPoint *point, uint32_t call)
{
  return &s->space->calls[call].candidates[point->calls[call].candidate];
}

static RaChoice
any_choice(const Search *s, RaRng *rng, uint32_t call)
{
  const RaSpaceCall *c = &s->space->calls[call];
  RaChoice choice = {(uint32_t)ra_rng_below(rng, c->n), 0};

  choice.position =
      (uint32_t)ra_rng_below(rng, c->candidates[choice.candidate].n_positions);
  return choice;
}

/* The mesh of another call, or the call's own, with some strategy. */
static RaChoice
same_mesh(const Search *s, RaRng *rng, const RaPoint *point, uint32_t call,
          uint32_t other)
{
  const RaCandidate *like = candidate_of(s, point, other), *c;
  uint32_t begin = ra_candidate_begin(like, point->calls[other].position);
  RaChoice choice = {0, 0};

  if (!draw_size(s, rng, call, like->n_gpus, &choice.candidate))
    return any_choice(s, rng, call);
  c = &s->space->calls[call].candidates[choice.candidate];
  if (begin < c->first || (begin - c->first) % c->step != 0 ||
      (begin - c->first) / c->step >= c->n_positions)
    return any_choice(s, rng, call);
  choice.position = (begin - c->first) / c->step;
  return choice;
}

/* Changes @lane, which has @point. */
static void
propose(const Search *s, RaEvaluator *e, guint lane, RaRng *rng,
        const RaPoint *point)
{
  uint32_t call = s->calls[ra_rng_below(rng, s->n_calls)];
  uint32_t other = s->calls[ra_rng_below(rng, s->n_calls)];
  RaChoice choice = point->calls[call];
  uint64_t kind = ra_rng_below(rng, 8);

  if (kind < 3) {
    choice = any_choice(s, rng, call);
  } else if (kind == 3) {
    choice.position =
        (uint32_t)ra_rng_below(rng, candidate_of(s, point, call)->n_positions);
  } else if (kind < 6) {
    choice = same_mesh(s, rng, point, call, other);
  } else if (kind == 6) {
    choice = same_mesh(s, rng, point, call, call);
  } else { /* each takes the other's mesh */
    choice = same_mesh(s, rng, point, call, other);
    ra_evaluator_move(e, lane, other, same_mesh(s, rng, point, other, call));
  }
  ra_evaluator_move(e, lane, call, choice);
}

static double
penalised_s(const Search *s, const RaScore *score)
{
  return score->run_s * (1 + OVER_FACTOR * score->over_bytes /
                                 s->space->cluster->device.memory_bytes);
}

static void
note_best(Chain *c, const RaPoint *point, const RaScore *score)
{
  if (score->over_bytes > 0 || (c->found && score->run_s >= c->best_s))
    return;
  c->found = TRUE;
  c->best = *point;
  c->best_s = score->run_s;
}

/* Up to seven proposals from the plan in the last lane: the first that is
 * accepted counts, and those before it.  Returns how many that is. */
static guint
step(const Search *s, Chain *c)
{
  RaEvaluator *e = c->evaluator;
  double bounds[RA_LANES], limits[RA_LANES];
  RaScore scores[RA_LANES];
  gboolean any = FALSE;

  for (guint lane = 0; lane < BASE; lane++) {
    propose(s, e, lane, &c->rng, ra_evaluator_point(e, BASE));
    limits[lane] =
        c->now_s - c->temperature_s * ra_log(ra_rng_uniform(&c->rng));
  }
  ra_evaluator_bound(e, BASE, bounds);
  for (guint lane = 0; lane < BASE; lane++)
    any |= bounds[lane] <= limits[lane];
  if (any) {
    c->n_replayed += BASE;
    ra_evaluator_run_below(e, BASE, limits, scores);
  }
  for (guint lane = 0; any && lane < BASE; lane++) {
    double t = penalised_s(s, &scores[lane]);
    if (t > limits[lane])
      continue;
    c->now_s = t;
    note_best(c, ra_evaluator_point(e, lane), &scores[lane]);
    ra_evaluator_spread(e, lane);
    return lane + 1;
  }
  ra_evaluator_spread(e, BASE);
  return BASE;
}

/* --- rounds --- */

/* Puts the chain's plan into all lanes. */
static void
enter(const Search *s, Chain *c)
{
  RaScore score;

  ra_evaluator_set(c->evaluator, 0, &c->point);
  ra_evaluator_run(c->evaluator, 1, &score);
  c->now_s = penalised_s(s, &score);
  note_best(c, &c->point, &score);
  ra_evaluator_spread(c->evaluator, 0);
}

/* A round whose costs are asked for the first time can take long. */
static gboolean
is_cut(const Search *s)
{
  return (s->end_us > 0 && g_get_monotonic_time() >= s->end_us) ||
         (s->options->stop && g_atomic_int_get(s->options->stop) != 0);
}

static gpointer
run_chains(gpointer data)
{
  Search *s = data;

  for (;;) {
    gint i = g_atomic_int_add(&s->next, 1);
    Chain *c;
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
    c->point = *ra_evaluator_point(c->evaluator, BASE);
  }
}

static void
run_round(Search *s)
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

static void
random_point(const Search *s, RaRng *rng, RaPoint *out)
{
  memset(out, 0, sizeof *out);
  for (guint m = 0; s->options->residency && m < s->space->workload->n_models;
       m++)
    out->residency[m] = s->options->residency[m];
  for (uint32_t i = 0; i < s->n_calls; i++)
    out->calls[s->calls[i]] = any_choice(s, rng, s->calls[i]);
}

/* Neighbours on the ladder exchange plans: a is hotter than b. */
static void
exchange(Search *s, RaRng *rng)
{
  for (guint i = 0; i + 1 < s->n_chains; i++) {
    Chain *a = &s->chains[i], *b = &s->chains[i + 1];
    double gain =
        (a->now_s - b->now_s) * (1 / a->temperature_s - 1 / b->temperature_s);
    RaPoint point = a->point;
    double now_s = a->now_s;

    if (ra_log(ra_rng_uniform(rng)) >= gain)
      continue;
    a->point = b->point;
    a->now_s = b->now_s;
    b->point = point;
    b->now_s = now_s;
  }
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
probe(Search *s, double *out_now_s)
{
  Chain *c = &s->chains[0];
  RaRng rng = ra_rng_init(s->options->seed, 1);
  double costs_s[N_PROBES];

  enter(s, c);
  *out_now_s = c->now_s;
  for (guint i = 0; i < N_PROBES; i++) {
    RaScore score;

    ra_evaluator_copy(c->evaluator, 0, BASE);
    propose(s, c->evaluator, 0, &rng, &c->point);
    ra_evaluator_run(c->evaluator, 1, &score);
    note_best(c, ra_evaluator_point(c->evaluator, 0), &score);
    costs_s[i] = fabs(penalised_s(s, &score) - c->now_s);
  }
  qsort(costs_s, N_PROBES, sizeof *costs_s, compare_reals);
  return costs_s[N_PROBES / 2];
}

/* A geometric ladder from @hottest_s to the coldest for plans of @now_s. */
static void
set_ladder(Search *s, double hottest_s, double now_s)
{
  double coldest_s = COLDEST_FRAC * now_s;

  hottest_s = CLAMP(hottest_s, 2 * coldest_s, HOTTEST_FRAC * now_s);
  for (guint i = 0; i < s->n_chains; i++) {
    double part = s->n_chains > 1 ? (double)i / (s->n_chains - 1) : 1;
    s->chains[i].temperature_s =
        hottest_s * ra_exp(part * ra_log(coldest_s / hottest_s));
  }
}

/* --- all of it --- */

static void
search_init(Search *s)
{
  const RaWorkload *w = s->space->workload;

  for (uint32_t c = 0; c < w->n_calls; c++) {
    sizes_init(&s->sizes[c], &s->space->calls[c]);
    if (w->calls[c].model != RA_NONE)
      s->calls[s->n_calls++] = c;
  }
  s->n_chains = s->options->n_chains ? s->options->n_chains : 8;
  s->chains = g_new0(Chain, s->n_chains);
  for (guint i = 0; i < s->n_chains; i++) {
    Chain *c = &s->chains[i];
    c->evaluator = ra_evaluator_new(s->costs);
    c->rng = ra_rng_init(s->options->seed, 2 + i);
    if (s->options->n_starts > 0)
      c->point = s->options->starts[i % s->options->n_starts];
    else
      random_point(s, &c->rng, &c->point);
  }
}

static void
search_clear(Search *s)
{
  for (uint32_t c = 0; c < s->space->workload->n_calls; c++)
    sizes_clear(&s->sizes[c]);
  for (guint i = 0; i < s->n_chains; i++)
    ra_evaluator_free(s->chains[i].evaluator);
  g_free(s->chains);
}

/* The best of all chains into @r; a sample where it has changed. */
static void
collect(const Search *s, gint64 begin_us, RaMcmcResult *r)
{
  double before_s = r->found ? r->score.run_s : (double)INFINITY;

  r->n_steps = r->n_replayed = 0;
  r->seconds = (double)(g_get_monotonic_time() - begin_us) * 1e-6;
  for (guint i = 0; i < s->n_chains; i++) {
    const Chain *c = &s->chains[i];
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
is_over(const Search *s, const RaMcmcResult *r)
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
  Search s = {
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
  hottest_s = probe(&s, &now_s);
  set_ladder(&s, hottest_s, now_s);
  for (guint round = 1; s.n_calls > 0; round++) {
    run_round(&s);
    collect(&s, begin_us, out_result);
    if (is_over(&s, out_result))
      break;
    if (out_result->found)
      set_ladder(&s, hottest_s, out_result->score.run_s);
    exchange(&s, &rng);
    if (round % RESTART_ROUNDS == 0)
      random_point(&s, &rng, &s.chains[0].point);
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
