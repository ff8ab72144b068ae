#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "search/call_bound.h"
#include "search/cost_table_impl.h"
#include "search/lone.h"
#include "sim/call.h"

/* A candidate of a call, to be simulated. */
typedef struct {
  uint32_t call, candidate;
  double n_tasks; /* that this takes, about */
} Wanted;

/* What threads take one by one. */
typedef struct {
  RaCostTable *table;
  const Wanted *wanted; /* (n) */
  gint n;
  gint next;     /* atomic */
  gint n_failed; /* atomic */
  GMutex lock;   /* of the error */
  GError *error; /* the first */
} Job;

/* --- calls --- */

static gsize
width_of(const RaCostTable *table, uint32_t call)
{
  return (gsize)table->n_like * table->space->workload->calls[call].n_parts;
}

/* Simulates the call alone; another thread may do the same. */
static gboolean
cost_candidate(RaCostTable *table, uint32_t call, uint32_t candidate,
               GError **error)
{
  const RaSpace *space = table->space;
  const RaCandidate *c = &space->calls[call].candidates[candidate];
  uint32_t n_parts = space->workload->calls[call].n_parts;
  gsize width = width_of(table, call);
  g_autofree double *out = g_new(double, width);
  g_autoptr(RaLone) lone =
      ra_lone_new(space->workload, space->cluster, call, &c->plan);
  g_autoptr(RaAugmented) augmented = ra_augment_bare(lone->plan, table->n_like);
  RaTaskGraph whole = {
      .seed = space->options.seed, .is_folded = TRUE, .augmented = augmented};

  for (uint32_t k = 0; k < table->n_like; k++) {
    g_autofree RaCost *parts =
        ra_call_costs(&whole, call, k, table->estimator, error);
    if (!parts)
      return FALSE;
    for (uint32_t p = 0; p < n_parts; p++)
      out[k * n_parts + p] = parts[p].total_s;
  }
  g_mutex_lock(&table->lock);
  if (g_atomic_int_get(&table->known[call][candidate]) == 0) {
    memcpy(table->call_s[call] + candidate * width, out, width * sizeof *out);
    g_atomic_int_set(&table->known[call][candidate],
                     g_atomic_int_get(&table->round));
  }
  g_mutex_unlock(&table->lock);
  return TRUE;
}

static gpointer
run_job(gpointer data)
{
  Job *job = data;

  while (g_atomic_int_get(&job->n_failed) == 0) {
    gint i = g_atomic_int_add(&job->next, 1);
    GError *error = NULL;

    if (i >= job->n)
      break;
    if (cost_candidate(job->table, job->wanted[i].call,
                       job->wanted[i].candidate, &error))
      continue;
    g_atomic_int_inc(&job->n_failed);
    g_mutex_lock(&job->lock);
    if (!job->error)
      job->error = g_steal_pointer(&error);
    g_mutex_unlock(&job->lock);
    g_clear_error(&error);
  }
  return NULL;
}

static gboolean
run_jobs(RaCostTable *table, const GArray *wanted, guint n_threads,
         GError **error)
{
  Job job = {.table = table,
             .wanted = (const Wanted *)(gconstpointer)wanted->data,
             .n = (gint)wanted->len};
  guint n = n_threads > 0 ? n_threads : g_get_num_processors();
  g_autofree GThread **threads = g_new0(GThread *, n);

  g_mutex_init(&job.lock);
  for (guint i = 1; i < n; i++)
    threads[i] = g_thread_new("cost", run_job, &job);
  run_job(&job);
  for (guint i = 1; i < n; i++)
    g_thread_join(threads[i]);
  g_mutex_clear(&job.lock);
  if (!job.error)
    return TRUE;
  g_propagate_error(error, job.error);
  return FALSE;
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

/* The bound of a candidate, and what simulating it takes. */
static Wanted
bound_candidate(RaCostTable *table, uint32_t call, uint32_t candidate)
{
  const RaSpace *space = table->space;
  const RaCandidate *c = &space->calls[call].candidates[candidate];
  g_autoptr(RaLone) lone =
      ra_lone_new(space->workload, space->cluster, call, &c->plan);
  RaMemory *memory = ra_memory_new_call(lone->plan, call);
  const RaCallLoad *load = ra_loads_of(space->loads, lone->plan, call);
  Wanted wanted = {.call = call, .candidate = candidate};

  table->bound_s[call][candidate] =
      ra_call_bound_s(table->estimator, memory, call, load, &wanted.n_tasks);
  ra_memory_free(memory);
  return wanted;
}

static void
fill_host(RaCostTable *table, uint32_t call)
{
  double host_s = ra_cost_table_host_s(table, call);
  gsize n_parts = table->space->workload->calls[call].n_parts;

  for (gsize i = 0; i < width_of(table, call); i++)
    table->call_s[call][i] = host_s;
  table->bound_s[call][0] = host_s * (double)n_parts * (1 - 1e-9);
  table->known[call][0] = table->round;
}

/* Bounds of all; costs of those that are soon known. */
static gboolean
cost_calls(RaCostTable *table, guint n_threads, GError **error)
{
  const RaSpace *space = table->space;
  g_autoptr(GArray) wanted = g_array_new(FALSE, FALSE, sizeof(Wanted));
  double n_tasks = 0;
  guint n = 0;

  for (guint c = 0; c < space->workload->n_calls; c++) {
    if (space->workload->calls[c].model == RA_NONE) {
      fill_host(table, c);
      continue;
    }
    for (uint32_t i = 0; i < space->calls[c].n; i++) {
      Wanted one = bound_candidate(table, c, i);
      g_array_append_val(wanted, one);
    }
  }
  g_array_sort(wanted, compare_wanted);
  while (n < wanted->len &&
         (table->n_like > 1 || n_tasks < RA_COST_TABLE_TASKS))
    n_tasks += g_array_index(wanted, Wanted, n++).n_tasks;
  g_array_set_size(wanted, n);
  return run_jobs(table, wanted, n_threads, error);
}

/* Whether a replay by sums and maxima is what the simulator does. */
static gboolean
can_cost(const RaEstimator *estimator, GError **error)
{
  if (!ra_estimator_is_real(estimator) &&
      !(ra_estimator_overlap(estimator)->comm_frac > 0))
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "search cannot replay %s, expected the estimator of the profile "
              "and a comm-frac of 0 in its law overlap",
              ra_estimator_is_real(estimator)
                  ? "ReaL's estimator"
                  : "reallocations that calls slow");
  return FALSE;
}

RaCostTable *
ra_cost_table_new(const RaSpace *space, const RaEstimator *estimator,
                  guint n_threads, GError **error)
{
  const RaWorkload *w = space->workload;
  g_autoptr(RaCostTable) table = NULL;

  g_assert(space->n_layouts < 1u << RA_COST_LAYOUT_BITS);
  g_assert(ra_cluster_n_gpus(space->cluster) <= RA_COST_OFFSET_ZERO);
  if (!can_cost(estimator, error))
    return NULL;
  table = g_new0(RaCostTable, 1);
  table->space = space;
  table->estimator = estimator;
  table->n_like = w->prompt_length.kind == RA_LENGTH_FIXED &&
                          w->response_length.kind == RA_LENGTH_FIXED
                      ? 1
                      : space->options.n_iterations;
  g_mutex_init(&table->lock);
  table->round = 1;
  table->reallocs =
      g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
  table->call_s = g_new0(double *, w->n_calls);
  table->bound_s = g_new0(double *, w->n_calls);
  table->copy_s = g_new0(double *, w->n_calls);
  table->known = g_new0(gint *, w->n_calls);
  for (guint c = 0; c < w->n_calls; c++) {
    gsize n = space->calls[c].n;

    table->call_s[c] = g_new0(double, n *width_of(table, c));
    table->bound_s[c] = g_new0(double, n);
    table->known[c] = g_new0(gint, n);
    table->copy_s[c] = g_new(double, 8 * n);
    for (gsize i = 0; i < 8 * n; i++)
      table->copy_s[c][i] = (double)NAN;
  }
  ra_cost_table_init_moves(table);
  if (!cost_calls(table, n_threads, error))
    return NULL;
  return g_steal_pointer(&table);
}

void
ra_cost_table_free(RaCostTable *table)
{
  if (!table)
    return;
  for (guint c = 0; c < table->space->workload->n_calls; c++) {
    g_free(table->call_s[c]);
    g_free(table->bound_s[c]);
    g_free(table->known[c]);
    g_free(table->copy_s[c]);
  }
  g_free(table->call_s);
  g_free(table->bound_s);
  g_free(table->known);
  g_free(table->copy_s);
  g_hash_table_unref(table->reallocs);
  g_free(table->model_bytes);
  g_free(table->layers_frac);
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
             ? table->call_s[call] + candidate * width_of(table, call)
             : NULL;
}

const double *
ra_cost_table_seen_s(const RaCostTable *table, uint32_t call,
                     uint32_t candidate, gint round)
{
  gint known = g_atomic_int_get(&table->known[call][candidate]);

  return known > 0 && known < round
             ? table->call_s[call] + candidate * width_of(table, call)
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

double
ra_cost_table_bound_s(const RaCostTable *table, uint32_t call,
                      uint32_t candidate)
{
  return table->bound_s[call][candidate];
}

double
ra_cost_table_least_s(const RaCostTable *table, uint32_t call,
                      uint32_t candidate)
{
  const double *parts = ra_cost_table_known_s(table, call, candidate);
  uint32_t n_parts = table->space->workload->calls[call].n_parts;
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
