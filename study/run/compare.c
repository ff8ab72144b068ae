/* Comparison of a simulated trace with a run's: tasks and calls. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "study/run/compare_impl.h"

/* A task that both traces have. */
typedef struct {
  const RaTraceRow *sim, *run;
} Pair;

/* Something that is timed in both: an iteration, a call of one. */
typedef struct {
  const char *name;
  gboolean is_host;
  uint32_t iteration;
  double sim_begin_s, sim_end_s, run_begin_s, run_end_s;
} Span;

/* Traces under comparison. */
typedef struct {
  const RaTrace *traces[2]; /* simulated, run */
  RaTaskRows *tasks[2];     /* of them, owned */
  GArray *pairs;            /* of Pair, in order of the run */
  guint n_only[2];          /* tasks that only one has */
  GArray *iterations;       /* of Span */
  GArray *calls;            /* of Span, by call then iteration */
} Work;

static double
task_s(const RaTraceRow *row)
{
  return row->end_s - row->begin_s;
}

double
ra_compare_error(double sim_s, double run_s)
{
  return run_s > 0 ? sim_s / run_s - 1 : (double)NAN;
}

/* The hosts take what the workload says, so their error is not the model's. */
static gboolean
is_host(const Pair *pair)
{
  return strcmp(pair->run->kind, "host") == 0;
}

static double
error_unless(gboolean host, double sim_s, double run_s)
{
  return host ? (double)NAN : ra_compare_error(sim_s, run_s);
}

static int
compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

double
ra_compare_median_size(GArray *values)
{
  guint n = 0;

  for (guint i = 0; i < values->len; i++) {
    double v = fabs(g_array_index(values, double, i));

    if (isfinite(v))
      g_array_index(values, double, n++) = v;
  }
  g_array_set_size(values, n);
  g_array_sort(values, compare_doubles);
  return n > 0 ? g_array_index(values, double, n / 2) : (double)NAN;
}

/* TRUE if the traces say the same for @key, without folders.  Tasks of other
 * plans have the same names, so these do not tell. */
static gboolean
check_same(const Work *w, const char *key, GError **error)
{
  const char *said[] = {ra_trace_head(w->traces[0], key),
                        ra_trace_head(w->traces[1], key)};
  g_autofree char *a = NULL, *b = NULL;

  if (!said[0] || !said[1])
    return TRUE;
  a = g_path_get_basename(said[0]);
  b = g_path_get_basename(said[1]);
  if (g_str_equal(a, b))
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "the %s of one trace is '%s', of the other '%s', expected traces "
              "of one plan (reallot simulate A.plan B.plan compares plans)",
              key, a, b);
  return FALSE;
}

static gboolean
join(Work *w, GError **error)
{
  if (!check_same(w, "plan", error) || !check_same(w, "workload", error))
    return FALSE;
  for (guint side = 0; side < 2; side++) {
    w->tasks[side] = ra_task_rows_new(w->traces[side], error);
    if (!w->tasks[side])
      return FALSE;
  }
  for (guint i = 0; i < w->tasks[1]->rows->len; i++) {
    const RaTraceRow *row = &g_array_index(w->tasks[1]->rows, RaTraceRow, i);
    Pair pair = {ra_task_rows_find(w->tasks[0], row->name), row};

    if (pair.sim)
      g_array_append_val(w->pairs, pair);
  }
  for (guint side = 0; side < 2; side++)
    w->n_only[side] = w->tasks[side]->rows->len - w->pairs->len;
  if (w->pairs->len > 0)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "the traces have no task in common, expected traces of one plan");
  return FALSE;
}

/* Widens the span of (@name, @iteration) to @pair's. */
static void
widen(GArray *spans, const char *name, uint32_t iteration, const Pair *pair)
{
  Span *s = NULL;

  for (guint i = 0; i < spans->len && !s; i++) {
    Span *at = &g_array_index(spans, Span, i);

    if (at->iteration == iteration && strcmp(at->name, name) == 0)
      s = at;
  }
  if (!s) {
    Span new_span = {name,
                     is_host(pair),
                     iteration,
                     pair->sim->begin_s,
                     pair->sim->end_s,
                     pair->run->begin_s,
                     pair->run->end_s};

    g_array_append_val(spans, new_span);
    return;
  }
  s->sim_begin_s = fmin(s->sim_begin_s, pair->sim->begin_s);
  s->sim_end_s = fmax(s->sim_end_s, pair->sim->end_s);
  s->run_begin_s = fmin(s->run_begin_s, pair->run->begin_s);
  s->run_end_s = fmax(s->run_end_s, pair->run->end_s);
}

static int
compare_spans(const void *a, const void *b)
{
  const Span *x = a, *y = b;
  int by_name = strcmp(x->name, y->name);

  return by_name != 0
             ? by_name
             : (x->iteration > y->iteration) - (x->iteration < y->iteration);
}

static void
find_spans(Work *w)
{
  for (guint i = 0; i < w->pairs->len; i++) {
    const Pair *pair = &g_array_index(w->pairs, Pair, i);

    widen(w->iterations, "iteration", pair->run->iteration, pair);
    widen(w->calls, pair->run->call, pair->run->iteration, pair);
  }
  g_array_sort(w->iterations, compare_spans);
  g_array_sort(w->calls, compare_spans);
  /* An iteration is what it adds to the end of the one before. */
  for (guint i = w->iterations->len; i-- > 1;) {
    Span *s = &g_array_index(w->iterations, Span, i);

    s->sim_begin_s = s[-1].sim_end_s;
    s->run_begin_s = s[-1].run_end_s;
  }
}

void
ra_compare_time_columns(RaTable *t)
{
  ra_table_column(t, "simulated_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(t, "measured_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(t, "error_frac", RA_UNIT_NONE, RA_CELL_FRAC);
}

static void
add_times(RaTable *t, gboolean host, double sim_s, double run_s)
{
  ra_table_real(t, sim_s);
  ra_table_real(t, run_s);
  ra_table_real(t, error_unless(host, sim_s, run_s));
}

void
ra_compare_times(RaTable *t, double sim_s, double run_s)
{
  add_times(t, FALSE, sim_s, run_s);
}

static RaTable *
iteration_table(const Work *w, double *out_median_frac)
{
  RaTable *t = ra_table_new("iterations");
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));

  ra_table_column(t, "iteration", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_compare_time_columns(t);
  for (guint i = 0; i < w->iterations->len; i++) {
    const Span *s = &g_array_index(w->iterations, Span, i);
    double sim_s = s->sim_end_s - s->sim_begin_s;
    double run_s = s->run_end_s - s->run_begin_s;
    double error = ra_compare_error(sim_s, run_s);

    ra_table_row(t);
    ra_table_integer(t, s->iteration);
    ra_compare_times(t, sim_s, run_s);
    if (i > 0 || w->iterations->len == 1)
      g_array_append_val(errors, error);
  }
  *out_median_frac = ra_compare_median_size(errors);
  return t;
}

static RaTable *
call_table(const Work *w, double *out_median_frac)
{
  RaTable *t = ra_table_new("calls");
  g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(double));

  ra_table_column(t, "call", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(t, "n", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_compare_time_columns(t);
  ra_table_column(t, "median_size_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  for (guint i = 0, end; i < w->calls->len; i = end) {
    const Span *first = &g_array_index(w->calls, Span, i);
    g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
    double sim_s = 0, run_s = 0, median;
    guint n;

    for (end = i;
         end < w->calls->len &&
         strcmp(g_array_index(w->calls, Span, end).name, first->name) == 0;
         end++)
      ;
    for (guint k = end - i > 1 ? i + 1 : i; k < end; k++) {
      const Span *s = &g_array_index(w->calls, Span, k);
      double a = s->sim_end_s - s->sim_begin_s;
      double b = s->run_end_s - s->run_begin_s;
      double error = error_unless(s->is_host, a, b);

      sim_s += a;
      run_s += b;
      g_array_append_val(errors, error);
    }
    ra_table_row(t);
    ra_table_text(t, first->name);
    n = errors->len;
    ra_table_integer(t, n);
    add_times(t, first->is_host, sim_s / n, run_s / n);
    median = ra_compare_median_size(errors);
    ra_table_real(t, median);
    g_array_append_val(all, median);
  }
  *out_median_frac = ra_compare_median_size(all);
  return t;
}

/* Tasks of a kind. */
typedef struct {
  const char *kind;
  gboolean is_host;
  guint n;
  double sim_s, run_s;
  GArray *errors; /* of double, owned */
} Kind;

static Kind *
kind_of(GArray *kinds, const Pair *pair)
{
  const char *name = pair->run->kind;
  Kind new_kind = {.kind = name, .is_host = is_host(pair)};

  for (guint i = 0; i < kinds->len; i++)
    if (strcmp(g_array_index(kinds, Kind, i).kind, name) == 0)
      return &g_array_index(kinds, Kind, i);
  new_kind.errors = g_array_new(FALSE, FALSE, sizeof(double));
  g_array_append_val(kinds, new_kind);
  return &g_array_index(kinds, Kind, kinds->len - 1);
}

static RaTable *
kind_table(const Work *w)
{
  RaTable *t = ra_table_new("kinds");
  g_autoptr(GArray) kinds = g_array_new(FALSE, FALSE, sizeof(Kind));

  for (guint i = 0; i < w->pairs->len; i++) {
    const Pair *pair = &g_array_index(w->pairs, Pair, i);
    Kind *kind = kind_of(kinds, pair);
    double error =
        error_unless(is_host(pair), task_s(pair->sim), task_s(pair->run));

    kind->n++;
    kind->sim_s += task_s(pair->sim);
    kind->run_s += task_s(pair->run);
    g_array_append_val(kind->errors, error);
  }
  ra_table_column(t, "kind", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(t, "n_tasks", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_compare_time_columns(t);
  ra_table_column(t, "median_size_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  for (guint i = 0; i < kinds->len; i++) {
    Kind *kind = &g_array_index(kinds, Kind, i);

    ra_table_row(t);
    ra_table_text(t, kind->kind);
    ra_table_integer(t, kind->n);
    add_times(t, kind->is_host, kind->sim_s, kind->run_s);
    ra_table_real(t, ra_compare_median_size(kind->errors));
    g_array_unref(kind->errors);
  }
  return t;
}

/* Furthest off first; of equals the earlier. */
static int
compare_pairs(const void *a, const void *b)
{
  const Pair *x = a, *y = b;
  double dx = fabs(task_s(x->sim) - task_s(x->run));
  double dy = fabs(task_s(y->sim) - task_s(y->run));

  if (dx > dy || dx < dy)
    return dx > dy ? -1 : 1;
  return strcmp(x->run->name, y->run->name);
}

static RaTable *
worst_table(const Work *w, guint n_worst)
{
  RaTable *t = ra_table_new("worst");

  g_array_sort(w->pairs, compare_pairs);
  ra_table_column(t, "task", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_compare_time_columns(t);
  for (guint i = 0; i < w->pairs->len && ra_table_n_rows(t) < n_worst; i++) {
    const Pair *pair = &g_array_index(w->pairs, Pair, i);

    if (is_host(pair))
      continue;
    ra_table_row(t);
    ra_table_text(t, pair->run->name);
    ra_compare_times(t, task_s(pair->sim), task_s(pair->run));
  }
  return t;
}

/* GPUs in "0-7,16-23". */
static double
n_gpus(const char *ranks)
{
  g_autoptr(GArray) ranges = g_array_new(FALSE, FALSE, sizeof(guint32));
  double n = 0;

  if (!*ranks || !ra_ranks_parse(ranks, ranges, NULL))
    return 0;
  for (guint i = 0; i + 1 < ranges->len; i += 2)
    n += 1.0 + g_array_index(ranges, guint32, i + 1) -
         g_array_index(ranges, guint32, i);
  return n;
}

/* The makespan, and the seconds of GPUs in tasks of the compute queue. */
static void
measure_trace(const Work *w, guint side, double *out_end_s, double *out_busy_s)
{
  *out_end_s = *out_busy_s = 0;
  for (guint i = 0; i < w->pairs->len; i++) {
    const Pair *pair = &g_array_index(w->pairs, Pair, i);
    const RaTraceRow *row = side == 0 ? pair->sim : pair->run;

    *out_end_s = fmax(*out_end_s, row->end_s);
    if (strcmp(row->stream, "compute") == 0)
      *out_busy_s += task_s(row) * n_gpus(row->ranks);
  }
}

static RaTable *
summary_table(const Work *w)
{
  RaTable *t = ra_table_new("summary");
  double end_s[2], busy_s[2];

  for (guint side = 0; side < 2; side++)
    measure_trace(w, side, &end_s[side], &busy_s[side]);
  ra_table_column(t, "n_tasks", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(t, "only_simulated", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(t, "only_measured", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_compare_time_columns(t);
  ra_table_column(t, "simulated_compute_gpu_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(t, "measured_compute_gpu_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_row(t);
  ra_table_integer(t, w->pairs->len);
  ra_table_integer(t, w->n_only[0]);
  ra_table_integer(t, w->n_only[1]);
  ra_compare_times(t, end_s[0], end_s[1]);
  ra_table_real(t, busy_s[0]);
  ra_table_real(t, busy_s[1]);
  return t;
}

RaComparison *
ra_compare(const RaTrace *simulated, const RaTrace *run, guint n_worst,
           GError **error)
{
  Work w = {.traces = {simulated, run},
            .pairs = g_array_new(FALSE, FALSE, sizeof(Pair)),
            .iterations = g_array_new(FALSE, FALSE, sizeof(Span)),
            .calls = g_array_new(FALSE, FALSE, sizeof(Span))};
  RaComparison *c = NULL;

  if (join(&w, error)) {
    c = g_new0(RaComparison, 1);
    find_spans(&w);
    c->summary = summary_table(&w);
    c->iterations = iteration_table(&w, &c->iteration_error_frac);
    c->calls = call_table(&w, &c->call_error_frac);
    c->kinds = kind_table(&w);
    c->worst = worst_table(&w, n_worst);
    ra_compare_ops(c, w.traces, w.tasks);
  }
  ra_task_rows_free(w.tasks[0]);
  ra_task_rows_free(w.tasks[1]);
  g_array_unref(w.pairs);
  g_array_unref(w.iterations);
  g_array_unref(w.calls);
  return c;
}

void
ra_comparison_free(RaComparison *comparison)
{
  if (!comparison)
    return;
  ra_table_free(comparison->summary);
  ra_table_free(comparison->iterations);
  ra_table_free(comparison->calls);
  ra_table_free(comparison->kinds);
  ra_table_free(comparison->worst);
  ra_table_free(comparison->ops);
  ra_table_free(comparison->lacks);
  g_free(comparison);
}
