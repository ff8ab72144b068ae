/* Sampling of ops into a trace that is saved on the way. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "study/run/samples.h"

#define SAVE_EVERY_S 2
/* Between rows: they were not taken at the same time. */
#define GAP_S 1e-6

static const char *const variants[] = {"forward", "input", "weight"};
static const char *const quartiles[] = {"low", "median", "high"};

/* Samples in the file, if it is of this machine and grid. */
static RaTrace *
load(const RaSampling *o, const char *path, GError **error)
{
  const char *const heads[][2] = {
      {"source", o->source}, {"machine", o->machine}, {"grid", o->grid}};
  g_autoptr(RaTrace) trace = ra_trace_load(path, error);

  for (guint i = 0; trace && i < G_N_ELEMENTS(heads); i++) {
    const char *there = ra_trace_head(trace, heads[i][0]);

    if (g_strcmp0(there, heads[i][1]) == 0)
      continue;
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: its %s is '%s', expected '%s' to resume, or no such file",
                path, heads[i][0], there ? there : "", heads[i][1]);
    return NULL;
  }
  return g_steal_pointer(&trace);
}

static RaTrace *
begin(const RaSampling *o)
{
  RaTrace *trace = ra_trace_new();
  g_autoptr(GDateTime) now = g_date_time_new_now_utc();
  g_autofree char *date = g_date_time_format(now, "%Y-%m-%d");

  ra_trace_set_head(trace, "source", o->source);
  ra_trace_set_head(trace, "machine", o->machine);
  ra_trace_set_head(trace, "date", date);
  ra_trace_set_head(trace, "grid", o->grid);
  o->begin(trace, o->data);
  return trace;
}

static char *
row_name(guint index, const RaProbePoint *point, guint quartile)
{
  return g_strdup_printf("probe/%s/p%u/%s", variants[point->variant], index,
                         quartiles[quartile]);
}

/* Names of the rows that are there. */
static GHashTable *
names_of(const RaTrace *trace)
{
  GHashTable *names = g_hash_table_new(g_str_hash, g_str_equal);

  for (guint i = 0; i < ra_trace_n_rows(trace); i++)
    g_hash_table_add(names, (gpointer)(guintptr)ra_trace_row(trace, i)->name);
  return names;
}

/* As a file has it, so that samples give one profile before and after it. */
static double
whole_ns(double s)
{
  return rint(s * 1e9) / 1e9;
}

static void
add_sample(RaTrace *trace, const RaSampling *o, guint index,
           const RaProbePoint *point, const RaProbeSample *sample)
{
  guint n = ra_trace_n_rows(trace);
  double at_s = n > 0 ? whole_ns(ra_trace_row(trace, n - 1)->end_s + GAP_S) : 0;
  const double s[] = {sample->low_s, sample->median_s, sample->high_s};
  g_autofree char *shape = ra_op_shape(&point->op);
  g_autofree char *ranks = g_strdup_printf("0-%u", o->n_ranks - 1);

  if (o->n_ranks == 1)
    ranks[1] = '\0';
  for (guint i = 0; i < G_N_ELEMENTS(s); i++) {
    g_autofree char *name = row_name(index, point, i);
    RaTraceRow row = {.name = name,
                      .call = "calibrate",
                      .kind = "probe",
                      .ranks = ranks,
                      .stream = "compute",
                      .op = ra_op_name((RaOpKind)point->op.kind),
                      .shape = shape,
                      .begin_s = at_s,
                      .end_s = whole_ns(at_s + s[i]),
                      .flop = ra_op_flop(&point->op),
                      .bytes = ra_op_bytes(&point->op)};

    ra_trace_add(trace, &row);
    at_s = whole_ns(row.end_s + GAP_S);
  }
}

static int
compare_doubles(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* Median over points, whose rows stand three and three. */
static double
median_spread(const RaTrace *trace)
{
  guint n = ra_trace_n_rows(trace) / 3;
  g_autofree double *spread = g_new0(double, n + 1);

  for (guint i = 0; i < n; i++) {
    double s[3];

    for (guint k = 0; k < 3; k++) {
      const RaTraceRow *row = ra_trace_row(trace, 3 * i + k);

      s[k] = row->end_s - row->begin_s;
    }
    spread[i] = s[1] > 0 ? (s[2] - s[0]) / s[1] : 0;
  }
  qsort(spread, n, sizeof *spread, compare_doubles);
  return spread[n / 2];
}

static double
now_s(void)
{
  return 1e-6 * (double)g_get_monotonic_time();
}

/* TRUE if this process writes. */
static gboolean
is_first(const RaSampling *o)
{
  return !o->world || o->world->process == 0;
}

/* Checks a device's results for @point. */
static gboolean
check(const RaSampling *o, const RaProbePoint *point,
      const RaProbeSample *sample, GError **error)
{
  g_autofree char *shape = NULL;

  if (!o->device || (!o->device->failure() && sample->n_odd == 0))
    return TRUE;
  shape = ra_op_shape(&point->op);
  g_set_error(
      error, RA_ERROR, RA_ERROR_DEVICE, "%s %s: %s",
      ra_op_name((RaOpKind)point->op.kind), shape,
      o->device->failure()
          ? o->device->failure()
          : "left NaN in its result, which it did not write or wrote wrongly");
  return FALSE;
}

/* Measures what is missing; saves now and then. */
static gboolean
measure(const RaSampling *o, RaTrace *trace, const char *path,
        RaSampleTally *tally, GError **error)
{
  g_autoptr(GHashTable) known = names_of(trace);
  double begin_s = now_s(), saved_s = begin_s;

  for (guint i = 0; i < o->points->len; i++) {
    const RaProbePoint *point = &g_array_index(o->points, RaProbePoint, i);
    g_autofree char *name = row_name(i, point, 2);
    RaProbeSample sample;

    if (g_hash_table_contains(known, name)) {
      tally->n_known++;
      continue;
    }
    if ((o->n_most > 0 && tally->n_new >= o->n_most) ||
        (o->budget_s > 0 && now_s() - begin_s > o->budget_s))
      break;
    if (o->progress)
      o->progress(i, o->points->len, ra_op_name((RaOpKind)point->op.kind),
                  o->progress_data);
    ra_probe_run(o->probe, point, &sample);
    if (!check(o, point, &sample, error))
      return FALSE;
    add_sample(trace, o, i, point, &sample);
    if (o->add)
      o->add(trace, &sample, o->data);
    tally->n_new++;
    if (path && is_first(o) && now_s() - saved_s > SAVE_EVERY_S) {
      if (!ra_trace_save(trace, path, error))
        return FALSE;
      saved_s = now_s();
    }
  }
  return TRUE;
}

RaTrace *
ra_samples_take(const RaSampling *sampling, const char *path,
                RaSampleTally *out_tally, GError **error)
{
  g_autoptr(RaTrace) trace = NULL;
  gboolean is_there = path && g_file_test(path, G_FILE_TEST_EXISTS);

  *out_tally = (RaSampleTally){.n_points = sampling->points->len};
  trace = is_there ? load(sampling, path, error) : begin(sampling);
  if (!trace || !measure(sampling, trace, path, out_tally, error))
    return NULL;
  if (sampling->add)
    sampling->add(trace, NULL, sampling->data);
  if (out_tally->n_new > 0 && path && is_first(sampling) &&
      !ra_trace_save(trace, path, error))
    return NULL;
  out_tally->spread_frac = median_spread(trace);
  return g_steal_pointer(&trace);
}
