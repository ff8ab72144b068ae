/* Exact search: descents from random points, the tree, and the certificate.
 *
 * The tree decides first on how many GPUs each call runs, then, call by call,
 * as which candidate and where.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "search/exact.h"
#include "search/exact_bound.h"

typedef struct {
  RaCostTable *costs;
  const RaSpace *space;
  const RaExactOptions *options;
  RaExactResult *result;
  RaEvaluator *evaluator;
  uint32_t n_calls;
  uint32_t order[RA_POINT_MAX]; /* calls with a choice, the longest first */
  uint32_t n_order;
  gint64 begin_us;
  gboolean is_late; /* the time limit has passed */
  double open_s;    /* least bound of the nodes unexplored at that time */
  RaRng rng;
} Exact;

/* --- the best so far --- */

/* Wall time since the search began. */
static double
elapsed_s(const Exact *s)
{
  return (double)(g_get_monotonic_time() - s->begin_us) * 1e-6;
}

static gboolean
is_late(Exact *s)
{
  s->is_late = s->is_late || (s->options->time_limit_s > 0 &&
                              elapsed_s(s) > s->options->time_limit_s);
  return s->is_late;
}

/* Records a replayed plan if it is the best so far. */
static void
take(Exact *s, const RaPoint *point, const RaScore *score)
{
  RaExactResult *r = s->result;

  s->result->n_scored++;
  if (score->over_bytes > 0 || (r->found && score->run_s >= r->score.run_s))
    return;
  r->found = TRUE;
  r->point = *point;
  r->score = *score;
}

/* Bound below which a node is worth exploring. */
static double
limit_below_s(const Exact *s)
{
  return s->result->found ? s->result->score.run_s * (1 - s->options->gap_frac)
                          : (double)INFINITY;
}

/* Candidates of a call on so many GPUs. */
typedef struct {
  uint32_t n_gpus;
  GArray *candidates; /* Seen, the fastest first; owned */
  double least_s;     /* of them, at most */
  gboolean is_exact;  /* that is a cost, no bound */
} Size;

/* Least time of a candidate when sizes were made. */
typedef struct {
  uint32_t candidate;
  double least_s;
} Seen;

/* A choice of the next call with the bound of what it leads to. */
typedef struct {
  RaChoice choice;
  double bound_s;
} Child;

/* A size of the next call, likewise. */
typedef struct {
  uint32_t at; /* in sizes */
  double bound_s;
} SizeChild;

typedef struct {
  Exact *s;
  RaExactBound *bound;
  GArray *sizes[RA_POINT_MAX];    /* Size; owned */
  const Size *size[RA_POINT_MAX]; /* of a node; borrowed */
  RaExactCall now[RA_POINT_MAX];  /* likewise, at least */
} Tree;

/* --- sizes --- */

static void
size_clear(void *item)
{
  g_array_unref(((Size *)item)->candidates);
}

static int
compare_seen(const void *a, const void *b)
{
  const Seen *x = a, *y = b;

  if (x->least_s < y->least_s || x->least_s > y->least_s)
    return x->least_s < y->least_s ? -1 : 1;
  return x->candidate < y->candidate ? -1 : x->candidate > y->candidate;
}

static Size *
size_of(GArray *sizes, uint32_t n_gpus)
{
  Size made = {.n_gpus = n_gpus, .least_s = (double)INFINITY};

  for (guint i = 0; i < sizes->len; i++)
    if (g_array_index(sizes, Size, i).n_gpus == n_gpus)
      return &g_array_index(sizes, Size, i);
  made.candidates = g_array_new(FALSE, FALSE, sizeof(Seen));
  g_array_append_val(sizes, made);
  return &g_array_index(sizes, Size, sizes->len - 1);
}

static void
make_sizes(Tree *t, uint32_t call)
{
  const RaSpaceCall *c = &t->s->space->calls[call];

  t->sizes[call] = g_array_new(FALSE, FALSE, sizeof(Size));
  g_array_set_clear_func(t->sizes[call], size_clear);
  for (uint32_t i = 0; i < c->n; i++) {
    Size *size = size_of(t->sizes[call], c->candidates[i].n_gpus);
    Seen seen = {i, ra_cost_table_least_s(t->s->costs, call, i)};

    size->least_s = MIN(size->least_s, seen.least_s);
    g_array_append_val(size->candidates, seen);
  }
  for (guint i = 0; i < t->sizes[call]->len; i++)
    g_array_sort(g_array_index(t->sizes[call], Size, i).candidates,
                 compare_seen);
}

/* Least of a size: candidates are asked until the fastest of all is known, or
 * the time is up. */
static void
settle_size(Tree *t, uint32_t call, Size *size)
{
  RaCostTable *costs = t->s->costs;

  while (!size->is_exact && !is_late(t->s)) {
    uint32_t quickest = RA_NONE;
    double least_s = (double)INFINITY;

    for (guint i = 0; i < size->candidates->len; i++) {
      const Seen *seen = &g_array_index(size->candidates, Seen, i);
      double s;

      if (seen->least_s >= least_s)
        break;
      s = ra_cost_table_least_s(costs, call, seen->candidate);
      if (s >= least_s)
        continue;
      least_s = s;
      quickest = seen->candidate;
    }
    size->least_s = least_s;
    if (ra_cost_table_known_s(costs, call, quickest))
      size->is_exact = TRUE;
    else
      ra_cost_table_call_s(costs, call, quickest);
  }
}

/* --- what is known of a call --- */

static RaExactCall
of_size(const Size *size)
{
  return (RaExactCall){.seconds = size->least_s,
                       .gpu_s = size->least_s * size->n_gpus,
                       .n_gpus = size->n_gpus};
}

/* Whatever it is. */
static RaExactCall
of_all(const Tree *t, uint32_t call)
{
  RaExactCall least = {.seconds = (double)INFINITY,
                       .gpu_s = (double)INFINITY,
                       .n_gpus = UINT32_MAX};

  for (guint i = 0; i < t->sizes[call]->len; i++) {
    RaExactCall one = of_size(&g_array_index(t->sizes[call], Size, i));

    least.seconds = MIN(least.seconds, one.seconds);
    least.gpu_s = MIN(least.gpu_s, one.gpu_s);
    least.n_gpus = MIN(least.n_gpus, one.n_gpus);
  }
  return least;
}

static double
bound_as(Tree *t, uint32_t call, uint32_t n_gpus, double seconds)
{
  t->now[call].seconds = seconds;
  t->now[call].gpu_s = seconds * n_gpus;
  t->now[call].n_gpus = n_gpus;
  return ra_exact_bound_s(t->bound, t->now);
}

/* Whom the calls of @lane that are placed meet there, and what moves. */
static void
note_lane(Tree *t, guint lane)
{
  const RaEvaluator *e = t->s->evaluator;

  for (uint32_t c = 0; c < t->s->n_calls; c++) {
    t->now[c].realloc_s = ra_evaluator_realloc_s(e, lane, c);
    t->now[c].meets = ra_evaluator_meets(e, lane, c);
  }
}

/* --- candidates --- */

static int
compare_children(const void *a, const void *b)
{
  const Child *x = a, *y = b;

  if (x->bound_s < y->bound_s || x->bound_s > y->bound_s)
    return x->bound_s < y->bound_s ? -1 : 1;
  if (x->choice.candidate != y->choice.candidate)
    return x->choice.candidate < y->choice.candidate ? -1 : 1;
  return x->choice.position < y->choice.position
             ? -1
             : x->choice.position > y->choice.position;
}

/* Bounds up to seven children of the node in the last lane. */
static void
bound_some(Tree *t, uint32_t call, Child *children, guint n)
{
  enum { BASE = RA_LANES - 1 };
  RaEvaluator *e = t->s->evaluator;
  double bounds[RA_LANES], limit_s = limit_below_s(t->s);

  ra_evaluator_spread(e, BASE);
  for (guint i = 0; i < n; i++)
    ra_evaluator_move(e, i, call, children[i].choice);
  ra_evaluator_relaxed(e, n, bounds);
  for (guint i = 0; i < n; i++) {
    Child *child = &children[i];
    uint32_t candidate = child->choice.candidate;

    child->bound_s = MAX(child->bound_s, bounds[i]);
    if (child->bound_s >= limit_s)
      continue;
    note_lane(t, i);
    bounds[i] =
        bound_as(t, call, t->s->space->calls[call].candidates[candidate].n_gpus,
                 ra_cost_table_least_s(t->s->costs, call, candidate));
    child->bound_s = MAX(child->bound_s, bounds[i]);
    if (child->bound_s < limit_s && ra_evaluator_certainly_over(e, i))
      child->bound_s = (double)INFINITY;
  }
  t->s->result->n_bounded += n;
}

/* Simulates those candidates of the node's size that its bound allows, some at
 * a time; %FALSE: too late for some. */
static gboolean
learn_children(Tree *t, uint32_t call)
{
  enum { AT_ONCE = 64 };
  const Size *size = t->size[call];
  Exact *s = t->s;
  uint32_t some[AT_ONCE];
  guint n = 0;

  for (guint i = 0; i < size->candidates->len; i++) {
    const Seen *seen = &g_array_index(size->candidates, Seen, i);

    if (bound_as(t, call, size->n_gpus, seen->least_s) >= limit_below_s(s))
      break;
    if (is_late(s))
      return FALSE;
    if (!ra_cost_table_known_s(s->costs, call, seen->candidate))
      some[n++] = seen->candidate;
    if (n < AT_ONCE)
      continue;
    ra_cost_table_learn(s->costs, call, some, n, s->options->n_threads);
    n = 0;
  }
  ra_cost_table_learn(s->costs, call, some, n, s->options->n_threads);
  return TRUE;
}

/* Candidates of the node's size that its bound allows, once their costs are
 * known, at every position; %FALSE: too late for some. */
static gboolean
append_children(Tree *t, uint32_t call, GArray *all)
{
  const Size *size = t->size[call];
  Exact *s = t->s;

  if (!learn_children(t, call))
    return FALSE;

  for (guint i = 0; i < size->candidates->len; i++) {
    const Seen *seen = &g_array_index(size->candidates, Seen, i);
    uint32_t candidate = seen->candidate;
    double bound_s = bound_as(t, call, size->n_gpus, seen->least_s);

    if (bound_s >= limit_below_s(s)) /* and so are those behind it */
      return TRUE;
    bound_s = bound_as(t, call, size->n_gpus,
                       ra_cost_table_least_s(s->costs, call, candidate));
    if (bound_s >= limit_below_s(s))
      continue;
    for (uint32_t p = 0;
         p < s->space->calls[call].candidates[candidate].n_positions; p++) {
      Child child = {{candidate, p}, bound_s};
      g_array_append_val(all, child);
    }
  }
  return TRUE;
}

/* Children of the node that are worth it, the best first; (transfer full);
 * %NULL: too late. */
static GArray *
list_children(Tree *t, const RaPoint *node, uint32_t call)
{
  enum { BASE = RA_LANES - 1 };
  RaExactCall before[RA_POINT_MAX];
  GArray *all = g_array_new(FALSE, FALSE, sizeof(Child));
  guint n_kept = 0;
  gboolean ok;

  memcpy(before, t->now, sizeof before);
  ok = append_children(t, call, all);
  ra_evaluator_set(t->s->evaluator, BASE, node);
  for (guint i = 0; ok && i < all->len; i += BASE)
    bound_some(t, call, &g_array_index(all, Child, i),
               MIN((guint)BASE, all->len - i));
  memcpy(t->now, before, sizeof before);
  if (!ok) {
    g_array_unref(all);
    return NULL;
  }
  for (guint i = 0; i < all->len; i++)
    if (g_array_index(all, Child, i).bound_s < limit_below_s(t->s))
      g_array_index(all, Child, n_kept++) = g_array_index(all, Child, i);
  g_array_set_size(all, n_kept);
  g_array_sort(all, compare_children);
  return all;
}

/* Plans whose calls are all placed: replayed as they are. */
static void
score_leaf(Tree *t, const RaPoint *point)
{
  RaScore score;

  ra_evaluator_set(t->s->evaluator, 0, point);
  ra_evaluator_run(t->s->evaluator, 1, &score);
  take(t->s, point, &score);
}

/* @node has calls placed down to @depth of the order, and a bound. */
static void
explore(Tree *t, const RaPoint *node, double bound_s, uint32_t depth)
{
  Exact *s = t->s;
  uint32_t call;
  g_autoptr(GArray) children = NULL;

  if (depth == s->n_order) {
    score_leaf(t, node);
    return;
  }
  call = s->order[depth];
  children = list_children(t, node, call);
  if (!children) {
    s->open_s = MIN(s->open_s, bound_s);
    return;
  }
  for (guint i = 0; i < children->len; i++) {
    const Child *child = &g_array_index(children, Child, i);
    RaExactCall before[RA_POINT_MAX];
    RaPoint point = *node;

    if (child->bound_s >= limit_below_s(s))
      return;
    if (is_late(t->s)) { /* and so are those behind it */
      s->open_s = MIN(s->open_s, child->bound_s);
      return;
    }
    point.calls[call] = child->choice;
    memcpy(before, t->now, sizeof before);
    ra_evaluator_set(s->evaluator, 0, &point);
    note_lane(t, 0);
    bound_as(t, call, t->size[call]->n_gpus,
             ra_cost_table_least_s(s->costs, call, child->choice.candidate));
    explore(t, &point, child->bound_s, depth + 1);
    memcpy(t->now, before, sizeof before);
  }
}

/* --- numbers of GPUs --- */

static int
compare_sizes(const void *a, const void *b)
{
  const SizeChild *x = a, *y = b;

  if (x->bound_s < y->bound_s || x->bound_s > y->bound_s)
    return x->bound_s < y->bound_s ? -1 : 1;
  return x->at < y->at ? -1 : x->at > y->at;
}

/* Sizes of @call that are worth it, the best first; (transfer full). */
static GArray *
list_sizes(Tree *t, uint32_t call)
{
  GArray *all = g_array_new(FALSE, FALSE, sizeof(SizeChild));

  for (guint i = 0; i < t->sizes[call]->len; i++) {
    const Size *size = &g_array_index(t->sizes[call], Size, i);
    SizeChild child = {i, bound_as(t, call, size->n_gpus, size->least_s)};

    if (child.bound_s < limit_below_s(t->s))
      g_array_append_val(all, child);
  }
  t->s->result->n_bounded += t->sizes[call]->len;
  g_array_sort(all, compare_sizes);
  return all;
}

/* Sizes are chosen down to @depth of the order. */
static void
explore_sizes(Tree *t, const RaPoint *root, double bound_s, uint32_t depth)
{
  Exact *s = t->s;
  uint32_t call;
  RaExactCall before;
  g_autoptr(GArray) children = NULL;

  if (depth == s->n_order) {
    explore(t, root, bound_s, 0);
    return;
  }
  call = s->order[depth];
  before = t->now[call];
  children = list_sizes(t, call);
  for (guint i = 0; i < children->len; i++) {
    const SizeChild *child = &g_array_index(children, SizeChild, i);
    Size *size = &g_array_index(t->sizes[call], Size, child->at);
    double exact_s;

    if (child->bound_s >= limit_below_s(s))
      break;
    if (is_late(t->s)) { /* and so are those behind it */
      s->open_s = MIN(s->open_s, child->bound_s);
      break;
    }
    settle_size(t, call, size);
    exact_s = bound_as(t, call, size->n_gpus, size->least_s);
    t->size[call] = size;
    if (exact_s < limit_below_s(s))
      explore_sizes(t, root, exact_s, depth + 1);
  }
  t->now[call] = before;
}

/* Explores all plans with @root's residencies; calls of @root have no place. */
static void
explore_tree(Exact *s, const RaPoint *root)
{
  Tree t = {.s = s};

  t.bound = ra_exact_bound_new(s->space, ra_cluster_n_gpus(s->space->cluster),
                               s->space->options.n_iterations);
  for (uint32_t c = 0; c < s->n_calls; c++) {
    make_sizes(&t, c);
    t.now[c] = of_all(&t, c);
  }
  explore_sizes(&t, root, ra_exact_bound_s(t.bound, t.now), 0);
  for (uint32_t c = 0; c < s->n_calls; c++)
    g_array_unref(t.sizes[c]);
  ra_exact_bound_free(t.bound);
}

/* --- descents --- */

static RaChoice
random_choice(Exact *s, uint32_t call)
{
  const RaSpaceCall *c = &s->space->calls[call];
  RaChoice choice = {(uint32_t)ra_rng_below(&s->rng, c->n), 0};

  choice.position = (uint32_t)ra_rng_below(
      &s->rng, c->candidates[choice.candidate].n_positions);
  return choice;
}

/* Scores the first @n lanes.  Unknown costs are asked for one by one, for as
 * long as a plan may be below @best_s; the time of the others is a bound. */
static void
score_lanes(Exact *s, guint n, double best_s, RaScore *scores)
{
  RaEvaluator *e = s->evaluator;
  double limits[RA_LANES];

  for (guint lane = 0; lane < RA_LANES; lane++)
    limits[lane] = best_s;
  ra_evaluator_run_asked(e, (1u << n) - 1, limits, scores);
  for (guint lane = 0; lane < n; lane++)
    while (scores[lane].is_bound &&
           ra_evaluator_penalised_s(e, &scores[lane]) < best_s && !is_late(s)) {
      ra_evaluator_ask(e, lane);
      ra_evaluator_run_asked(e, 1u << lane, limits, scores);
    }
}

/* From @point by the first of random changes of one call that helps, until
 * many did not. */
static void
descend(Exact *s, RaPoint *point)
{
  enum { BASE = RA_LANES - 1, N_TRIES = 600 };
  RaEvaluator *e = s->evaluator;
  RaScore scores[RA_LANES];
  double best_s, bounds[RA_LANES];

  ra_evaluator_set(e, BASE, point);
  ra_evaluator_spread(e, BASE);
  ra_evaluator_run(e, 1, scores);
  take(s, point, &scores[0]);
  best_s = ra_evaluator_penalised_s(e, &scores[0]);
  for (guint tries = 0; tries < N_TRIES && !is_late(s); tries++) {
    gboolean any = FALSE;

    ra_evaluator_spread(e, BASE);
    for (guint lane = 0; lane < BASE; lane++) {
      uint32_t call = s->order[ra_rng_below(&s->rng, s->n_order)];
      ra_evaluator_move(e, lane, call, random_choice(s, call));
    }
    ra_evaluator_bound(e, BASE, bounds);
    for (guint lane = 0; lane < BASE; lane++)
      any |= bounds[lane] < best_s;
    if (!any)
      continue;
    score_lanes(s, BASE, best_s, scores);
    for (guint lane = 0; lane < BASE; lane++) {
      if (scores[lane].is_bound ||
          ra_evaluator_penalised_s(e, &scores[lane]) >= best_s)
        continue;
      take(s, ra_evaluator_point(e, lane), &scores[lane]);
      best_s = ra_evaluator_penalised_s(e, &scores[lane]);
      ra_evaluator_copy(e, BASE, lane);
      tries = 0;
    }
  }
}

static void
fill_residency(const Exact *s, RaPoint *point)
{
  for (guint m = 0; s->options->residency && m < s->space->workload->n_models;
       m++)
    point->residency[m] = s->options->residency[m];
}

static void
find_start(Exact *s)
{
  for (guint i = 0; i < s->options->n_starts; i++) {
    RaPoint point = s->options->starts[i];
    if (ra_space_check(s->space, &point))
      descend(s, &point);
  }
  for (guint i = 0; i < s->options->n_descents; i++) {
    RaPoint point = {.residency = {0}};
    fill_residency(s, &point);
    for (uint32_t c = 0; c < s->n_calls; c++)
      point.calls[c] = random_choice(s, c);
    descend(s, &point);
  }
}

/* --- all of it --- */

/* Calls with a model, the longest first. */
static void
order_calls(Exact *s)
{
  const RaWorkload *w = s->space->workload;
  double longest_s[RA_POINT_MAX] = {0};

  for (uint32_t c = 0; c < s->n_calls; c++) {
    longest_s[c] = (double)INFINITY;
    for (uint32_t i = 0; i < s->space->calls[c].n; i++) {
      double t = ra_cost_table_least_s(s->costs, c, i);
      longest_s[c] = MIN(longest_s[c], t);
    }
    if (w->calls[c].model == RA_NONE)
      continue;
    s->order[s->n_order++] = c;
    for (uint32_t i = s->n_order - 1;
         i > 0 && longest_s[s->order[i]] > longest_s[s->order[i - 1]]; i--) {
      uint32_t swap = s->order[i];
      s->order[i] = s->order[i - 1];
      s->order[i - 1] = swap;
    }
  }
}

void
ra_exact_search(RaCostTable *costs, const RaExactOptions *options,
                RaExactResult *out_result)
{
  Exact s = {.costs = costs,
             .space = ra_cost_table_space(costs),
             .options = options,
             .result = out_result,
             .open_s = (double)INFINITY};
  RaUntil until = {NULL, 0};
  RaPoint root = {.residency = {0}};

  memset(out_result, 0, sizeof *out_result);
  s.n_calls = s.space->workload->n_calls;
  s.begin_us = g_get_monotonic_time();
  s.rng = ra_rng_init(options->seed, 0);
  if (options->time_limit_s > 0)
    until.end_us = s.begin_us + (gint64)(1e6 * options->time_limit_s);
  ra_cost_table_bound_rest(costs, &until, options->n_threads);
  s.evaluator = ra_evaluator_new(costs);
  order_calls(&s);
  find_start(&s);
  fill_residency(&s, &root);
  for (uint32_t i = 0; i < s.n_order; i++)
    root.calls[s.order[i]].candidate = RA_NONE;
  if (s.n_order > 0)
    explore_tree(&s, &root);
  if (out_result->found && !out_result->score.is_exact) {
    ra_evaluator_set(s.evaluator, 0, &out_result->point);
    ra_evaluator_run(s.evaluator, 1, &out_result->score);
    ra_evaluator_exact_peak(s.evaluator, 0, &out_result->score);
  }
  out_result->bound_s = MIN(s.open_s, limit_below_s(&s));
  out_result->is_proven = !(s.open_s < limit_below_s(&s));
  out_result->seconds = elapsed_s(&s);
  ra_evaluator_free(s.evaluator);
}
