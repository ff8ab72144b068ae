/* The cost table: its creation, and the costs of calls. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/jobs.h"
#include "graph/input/trips.h"
#include "search/evaluate/call_bound.h"
#include "search/evaluate/cost_table_impl.h"
#include "search/space/isolated_call.h"
#include "sim/call.h"

/* A candidate of a call, to be simulated. */
typedef struct {
  uint32_t call, candidate;
  double n_tasks; /* that this takes, about */
} Wanted;

/* Work that threads take one by one. */
typedef struct {
  RaCostTable *table;
  const RaUntil *until; /* nullable: of bounds */
  Wanted *wanted;       /* by job */
  gint n_failed;        /* atomic */
  GError *error;        /* the first */
} Job;

/* --- calls --- */

gsize
ra_cost_table_width(const RaCostTable *table, uint32_t call)
{
  return (gsize)table->n_like * ra_cost_table_n_parts(table, call);
}

uint32_t
ra_cost_table_n_parts(const RaCostTable *table, uint32_t call)
{
  return table->space->workload->calls[call].n_parts *
         ra_loads_most_trips(table->space->loads, call);
}

/* Name of what is computed of @candidate: a hash of all bytes of its plan, so
 * that no key of it can be forgotten. */
static uint64_t
name_of(uint32_t what, uint32_t call, const RaCandidate *candidate)
{
  RaCallPlan plan = candidate->plan;
  uint64_t name = ra_hash_u64(ra_hash_u64(RA_HASH_INIT, what), call);

  name = ra_hash_bytes(name, plan.stage_layers,
                       (gsize)plan.pp * plan.n_virtual *
                           sizeof *plan.stage_layers);
  plan.stage_layers = NULL;
  plan.group = 0; /* for messages */
  return ra_hash_bytes(name, &plan, sizeof plan);
}

/* Simulates the call alone in each iteration.  *@out_is_late: there was no time
 * for some. */
static gboolean
simulate(const RaCostTable *table, uint32_t call, const RaCandidate *c,
         double *out, gboolean *out_is_late, GError **error)
{
  const RaSpace *space = table->space;
  uint32_t n_parts = ra_cost_table_n_parts(table, call);
  g_autoptr(RaIsolatedCall) lone =
      ra_isolated_call_new(space->workload, space->cluster, call, &c->plan);
  g_autoptr(RaAugmented) augmented =
      ra_augment_bare(lone->plan, table->n_like, space->options.seed);
  g_autoptr(RaEstimator) fork = ra_estimator_fork(table->estimator);
  RaTaskGraph whole = {.seed = space->options.seed,
                       .is_folded = TRUE,
                       .augmented = augmented,
                       .until = space->options.end};

  for (uint32_t k = 0; k < table->n_like; k++) {
    GError *cause = NULL;
    uint32_t n = space->workload->calls[call].n_parts *
                 ra_loads_n_trips(space->loads, call, k);
    g_autofree RaCost *parts = ra_call_costs(&whole, call, k, fork, &cause);

    if (!parts && !ra_until_is_over(space->options.end)) {
      g_propagate_error(error, cause);
      return FALSE;
    }
    g_clear_error(&cause);
    *out_is_late |= !parts;
    for (uint32_t p = 0; p < n; p++)
      out[k * n_parts + p] = parts ? parts[p].total_s : RA_COST_NO_TIME_S;
  }
  return TRUE;
}

/* The store's cost of the call, or a simulated one; another thread may do the
 * same. */
static gboolean
cost_candidate(RaCostTable *table, uint32_t call, uint32_t candidate,
               GError **error)
{
  const RaCandidate *c = &table->space->calls[call].candidates[candidate];
  gsize width = ra_cost_table_width(table, call);
  g_autofree double *out = g_new0(double, width);
  uint64_t name = table->store ? name_of(RA_COST_NAME_CALL, call, c) : 0;
  gboolean is_late = FALSE;

  if (!table->store || !ra_cost_store_get(table->store, name, out, width)) {
    if (!simulate(table, call, c, out, &is_late, error))
      return FALSE;
    if (table->store && !is_late)
      ra_cost_store_put(table->store, name, out, width);
  }
  g_mutex_lock(&table->lock);
  if (g_atomic_int_get(&table->known[call][candidate]) == 0) {
    memcpy(table->call_s[call] + candidate * width, out, width * sizeof *out);
    g_atomic_int_set(&table->known[call][candidate],
                     g_atomic_int_get(&table->round));
    ra_cost_table_note_call(table, call, candidate);
  }
  g_mutex_unlock(&table->lock);
  return TRUE;
}

static void
cost_one(guint i, guint thread, gpointer data)
{
  Job *job = data;
  GError *error = NULL;

  (void)thread;
  if (g_atomic_int_get(&job->n_failed) > 0 ||
      ra_until_is_over(job->table->space->options.until) ||
      cost_candidate(job->table, job->wanted[i].call, job->wanted[i].candidate,
                     &error))
    return;
  g_atomic_int_inc(&job->n_failed);
  g_mutex_lock(&job->table->lock);
  if (!job->error)
    job->error = g_steal_pointer(&error);
  g_mutex_unlock(&job->table->lock);
  g_clear_error(&error);
}

static int
compare_wanted(const void *a, const void *b)
{
  const Wanted *x = a, *y = b;

  if (x->n_tasks < y->n_tasks || x->n_tasks > y->n_tasks)
    return x->n_tasks < y->n_tasks ? -1 : 1;
  if (x->call != y->call)
    return x->call < y->call ? -1 : 1;
  return x->candidate < y->candidate ? -1 : x->candidate > y->candidate;
}

/* The bound of a candidate in the iteration in which it is the least, and the
 * tasks of simulating it in all; candidates have ops in common, which a fork
 * knows.  @out_trip_s: (nullable): of each trip of each iteration. */
static double
bound_of(RaCostTable *table, Wanted *wanted, const RaCandidate *c,
         gboolean is_late, double *out_trip_s)
{
  const RaSpace *space = table->space;
  g_autoptr(RaIsolatedCall) lone = ra_isolated_call_new(
      space->workload, space->cluster, wanted->call, &c->plan);
  g_autoptr(RaMemory) memory = ra_memory_new_call(lone->plan, wanted->call);
  const RaCallLoad *load = ra_loads_of(space->loads, lone->plan, wanted->call);
  const RaCall *call = &space->workload->calls[wanted->call];
  uint32_t n_parts = ra_cost_table_n_parts(table, wanted->call);
  g_autoptr(RaEstimator) fork = ra_estimator_fork(table->estimator);
  double bound_s = (double)INFINITY;

  for (uint32_t k = 0; k < table->n_like; k++) {
    double sum_s = 0;

    for (uint32_t t = 0; t < ra_loads_n_trips(space->loads, wanted->call, k);
         t++) {
      const RaSequenceSet *set =
          ra_loads_set(space->loads, table->any, call->set, k,
                       call->each_trip ? t : RA_NONE);
      double n_tasks, one_s = ra_call_bound_s(fork, memory, wanted->call, load,
                                              &set, is_late ? 0 : 1, &n_tasks);

      if (out_trip_s)
        out_trip_s[k * n_parts + t] = one_s;
      wanted->n_tasks += n_tasks;
      sum_s += one_s;
    }
    bound_s = MIN(bound_s, sum_s);
  }
  return bound_s;
}

/* A bound for which there is no time is 0. */
static void
bound_one(guint i, guint thread, gpointer data)
{
  Job *job = data;
  RaCostTable *table = job->table;
  Wanted *wanted = &job->wanted[i];
  const RaCandidate *c =
      &table->space->calls[wanted->call].candidates[wanted->candidate];
  double *trip_s = table->trip_s[wanted->call];
  gsize width = trip_s ? ra_cost_table_width(table, wanted->call) : 0;
  uint64_t name =
      table->store ? name_of(RA_COST_NAME_BOUND, wanted->call, c) : 0;
  /* Seconds, tasks, seconds of trips. */
  g_autofree double *kept = g_new0(double, 2 + width);

  (void)thread;
  wanted->n_tasks = 0;
  if (!table->store ||
      !ra_cost_store_get(table->store, name, kept, 2 + width)) {
    gboolean is_late = ra_until_is_over(job->until);

    kept[0] = bound_of(table, wanted, c, is_late, trip_s ? kept + 2 : NULL);
    kept[1] = wanted->n_tasks;
    if (table->store && !is_late)
      ra_cost_store_put(table->store, name, kept, 2 + width);
  }
  if (trip_s)
    memcpy(trip_s + wanted->candidate * width, kept + 2,
           width * sizeof *trip_s);
  wanted->n_tasks = kept[1];
  table->bound_s[wanted->call][wanted->candidate] = kept[0];
  table->n_tasks[wanted->call][wanted->candidate] = (float)wanted->n_tasks;
}

/* The same wherever its data are gathered. */
static void
fill_host(RaCostTable *table, uint32_t call, uint32_t candidate)
{
  double host_s = ra_cost_table_host_s(table, call);
  uint32_t n_parts = ra_cost_table_n_parts(table, call), least = n_parts;
  double *out =
      table->call_s[call] + candidate * ra_cost_table_width(table, call);

  for (uint32_t k = 0; k < table->n_like; k++) {
    uint32_t n = table->space->workload->calls[call].n_parts *
                 ra_loads_n_trips(table->space->loads, call, k);

    for (uint32_t p = 0; p < n; p++)
      out[k * n_parts + p] = host_s;
    least = MIN(least, n);
  }
  table->bound_s[call][candidate] = host_s * least * (1 - 1e-9);
  table->known[call][candidate] = table->round;
}

/* All candidates of calls with a model. */
static GArray *
list_candidates(RaCostTable *table)
{
  const RaSpace *space = table->space;
  GArray *all = g_array_new(FALSE, FALSE, sizeof(Wanted));

  for (guint c = 0; c < space->workload->n_calls; c++) {
    for (uint32_t i = 0; i < space->calls[c].n; i++) {
      Wanted one = {c, i, 0};

      if (space->workload->calls[c].model == RA_NONE)
        fill_host(table, c, i);
      else
        g_array_append_val(all, one);
    }
  }
  return all;
}

static void
bound_all(RaCostTable *table, GArray *wanted, const RaUntil *until,
          guint n_threads)
{
  Job job = {.table = table,
             .until = until,
             .wanted = (Wanted *)(gpointer)wanted->data};

  ra_jobs_run(wanted->len, n_threads, bound_one, &job);
}

void
ra_cost_table_bound_rest(RaCostTable *table, const RaUntil *until,
                         guint n_threads)
{
  g_autoptr(GArray) wanted = g_array_new(FALSE, FALSE, sizeof(Wanted));

  for (guint c = 0; c < table->space->workload->n_calls; c++)
    for (uint32_t i = 0; i < table->space->calls[c].n; i++) {
      Wanted one = {c, i, 0};

      if (!(table->bound_s[c][i] > 0) && !ra_cost_table_known_s(table, c, i))
        g_array_append_val(wanted, one);
    }
  bound_all(table, wanted, until, n_threads);
}

/* Bounds of all; costs of those that are soon known. */
static gboolean
cost_calls(RaCostTable *table, guint n_threads, GError **error)
{
  g_autoptr(GArray) wanted = list_candidates(table);
  Job job = {.table = table, .wanted = (Wanted *)(gpointer)wanted->data};
  double n_tasks = 0;
  guint n = 0;

  bound_all(table, wanted, table->space->options.until, n_threads);
  g_array_sort(wanted, compare_wanted);
  while (n < wanted->len && table->n_like == 1 && n_tasks < RA_COST_TABLE_TASKS)
    n_tasks += g_array_index(wanted, Wanted, n++).n_tasks;
  ra_jobs_run(n, n_threads, cost_one, &job);
  if (!job.error)
    return TRUE;
  g_propagate_error(error, job.error);
  return FALSE;
}

/* TRUE if a replay by sums and maxima is what the simulator does. */
static gboolean
can_cost(const RaEstimator *estimator, GError **error)
{
  if (!ra_estimator_is_real(estimator) &&
      !(ra_estimator_overlap(estimator)->comm_frac > 0))
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_NEGATIVE,
              "search cannot replay %s, expected the profile's estimator and a "
              "comm-frac of 0 in its law overlap",
              ra_estimator_is_real(estimator)
                  ? "ReaL's estimator"
                  : "reallocations that calls slow down");
  return FALSE;
}

RaCostTable *
ra_cost_table_new(const RaSpace *space, const RaEstimator *estimator,
                  guint n_threads, GError **error)
{
  return ra_cost_table_new_from(space, estimator, NULL, n_threads, error);
}

RaCostTable *
ra_cost_table_new_from(const RaSpace *space, const RaEstimator *estimator,
                       RaCostStore *store, guint n_threads, GError **error)
{
  const RaWorkload *w = space->workload;
  RaPoint any = {.residency = {0}};
  g_autoptr(RaCostTable) table = NULL;

  g_assert(space->n_layouts < 1u << RA_COST_LAYOUT_BITS);
  g_assert(ra_cluster_n_gpus(space->cluster) <= RA_COST_OFFSET_ZERO);
  if (!can_cost(estimator, error))
    return NULL;
  table = g_new0(RaCostTable, 1);
  table->space = space;
  table->estimator = estimator;
  table->forks = ra_estimator_keep_forks(estimator);
  table->store = store;
  table->n_like =
      ra_workload_is_even(w) && !ra_trips_are_set(w) && !space->carries
          ? 1
          : space->options.n_iterations;
  g_mutex_init(&table->lock);
  table->round = 1;
  table->reallocs =
      g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
  table->call_s = g_new0(double *, w->n_calls);
  table->trip_s = g_new0(double *, w->n_calls);
  table->bound_s = g_new0(double *, w->n_calls);
  table->copy_s = g_new0(double *, w->n_calls);
  table->n_tasks = g_new0(float *, w->n_calls);
  table->known = g_new0(gint *, w->n_calls);
  for (guint c = 0; c < w->n_calls; c++) {
    gsize n = space->calls[c].n;

    table->call_s[c] = g_new0(double, n *ra_cost_table_width(table, c));
    if (w->calls[c].each_trip && w->calls[c].n_parts == 1)
      table->trip_s[c] = g_new0(double, n *ra_cost_table_width(table, c));
    table->bound_s[c] = g_new0(double, n);
    table->known[c] = g_new0(gint, n);
    table->n_tasks[c] = g_new0(float, n);
    table->copy_s[c] = g_new(double, 8 * n);
    for (gsize i = 0; i < 8 * n; i++)
      table->copy_s[c][i] = (double)NAN;
  }
  ra_cost_table_init_moves(table);
  /* Streamed sequences are not searched where they are sampled, so the data
   * that transfers carry are the same in every plan. */
  table->any = ra_space_plan_new(space, &any);
  if (!cost_calls(table, n_threads, error))
    return NULL;
  return g_steal_pointer(&table);
}

void
ra_cost_table_free(RaCostTable *table)
{
  if (!table)
    return;
  ra_forks_drop(table->forks);
  for (guint c = 0; c < table->space->workload->n_calls; c++) {
    g_free(table->call_s[c]);
    g_free(table->trip_s[c]);
    g_free(table->bound_s[c]);
    g_free(table->known[c]);
    g_free(table->n_tasks[c]);
    g_free(table->copy_s[c]);
  }
  g_free(table->call_s);
  g_free(table->trip_s);
  g_free(table->bound_s);
  g_free(table->known);
  g_free(table->n_tasks);
  g_free(table->copy_s);
  g_hash_table_unref(table->reallocs);
  g_clear_pointer(&table->news, g_byte_array_unref);
  g_free(table->model_bytes);
  g_free(table->layers_frac);
  ra_space_plan_free(table->any);
  g_mutex_clear(&table->lock);
  g_free(table);
}

const RaSpace *
ra_cost_table_space(const RaCostTable *table)
{
  return table->space;
}

uint32_t
ra_cost_table_n_like(const RaCostTable *table)
{
  return table->n_like;
}

const double *
ra_cost_table_known_s(const RaCostTable *table, uint32_t call,
                      uint32_t candidate)
{
  return g_atomic_int_get(&table->known[call][candidate])
             ? table->call_s[call] +
                   candidate * ra_cost_table_width(table, call)
             : NULL;
}

const double *
ra_cost_table_seen_s(const RaCostTable *table, uint32_t call,
                     uint32_t candidate, gint round)
{
  gint known = g_atomic_int_get(&table->known[call][candidate]);

  return known > 0 && known < round
             ? table->call_s[call] +
                   candidate * ra_cost_table_width(table, call)
             : NULL;
}

gint
ra_cost_table_next_round(RaCostTable *table)
{
  return g_atomic_int_add(&table->round, 1) + 1;
}

const double *
ra_cost_table_call_s(RaCostTable *table, uint32_t call, uint32_t candidate)
{
  GError *error = NULL;

  if (!g_atomic_int_get(&table->known[call][candidate]) &&
      !cost_candidate(table, call, candidate, &error))
    g_error("%s", error->message);
  return ra_cost_table_known_s(table, call, candidate);
}

/* Candidates of a call. */
typedef struct {
  RaCostTable *table;
  uint32_t call;
  const uint32_t *candidates;
} Some;

static void
learn_one(guint i, guint thread, gpointer data)
{
  const Some *some = data;

  (void)thread;
  ra_cost_table_call_s(some->table, some->call, some->candidates[i]);
}

void
ra_cost_table_learn(RaCostTable *table, uint32_t call,
                    const uint32_t *candidates, guint n, guint n_threads)
{
  Some some = {table, call, candidates};

  ra_jobs_run(n, n_threads, learn_one, &some);
}

double
ra_cost_table_bound_s(const RaCostTable *table, uint32_t call,
                      uint32_t candidate)
{
  return table->bound_s[call][candidate];
}

double
ra_cost_table_part_bound_s(const RaCostTable *table, uint32_t call,
                           uint32_t candidate, uint32_t at)
{
  if (table->trip_s[call])
    return table
        ->trip_s[call][candidate * ra_cost_table_width(table, call) + at];
  return table->space->workload->calls[call].n_parts == 1
             ? table->bound_s[call][candidate]
             : 0;
}

double
ra_cost_table_n_tasks(const RaCostTable *table, uint32_t call,
                      uint32_t candidate)
{
  return (double)table->n_tasks[call][candidate];
}

double
ra_cost_table_least_s(const RaCostTable *table, uint32_t call,
                      uint32_t candidate)
{
  const double *parts = ra_cost_table_known_s(table, call, candidate);
  uint32_t n_parts = ra_cost_table_n_parts(table, call);
  double least_s = (double)INFINITY;

  if (!parts)
    return ra_cost_table_bound_s(table, call, candidate);
  for (uint32_t k = 0; k < table->n_like; k++) {
    double sum_s = 0;
    for (uint32_t p = 0; p < n_parts; p++)
      sum_s += *parts++;
    least_s = MIN(least_s, sum_s);
  }
  return least_s;
}

guint
ra_cost_table_n_known(const RaCostTable *table)
{
  guint n = 0;

  for (guint c = 0; c < table->space->workload->n_calls; c++)
    for (uint32_t i = 0; i < table->space->calls[c].n; i++)
      n += g_atomic_int_get(&table->known[c][i]) != 0;
  return n;
}
