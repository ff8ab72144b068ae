/* GPU calibration: samples, and the profile fitted to them. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "base/quote.h"
#include "base/text.h"
#include "estimator/calibrate/calibrate_impl.h"
#include "study/run/gpu_profile.h"
#include "traces/measured_trace.h"

/* Keys of a head. */
#define EAGER "eager-launch-s"
#define KERNEL "kernel-launch-s"
#define GRAPH "graph-launch-s"
#define GAP "graph-gap-s"
#define TIMER "timer-s"
#define COPY "copy-bytes-per-s"
#define FRAMEWORK "framework-bytes"

/* ---- The plan --------------------------------------------------------------
 */

GArray *
ra_gpu_plan(const RaProfile *base, const RaProbeMachine *machine,
            gboolean quick, RaProbePlanTally *out_tally, GError **error)
{
  const RaCluster cluster = {
      .n_nodes = 1, .gpus_per_node = 1, .device = base->spec};
  g_autoptr(RaEstimator) estimator = ra_estimator_new(base, &cluster, error);
  RaProbeLimits limits;

  if (!estimator)
    return NULL;
  ra_probe_limits_init(&limits, quick);
  if (machine) {
    limits.pool_bytes = machine->pool_bytes;
    limits.cache_bytes = machine->cache_bytes;
  }
  return ra_probe_plan(estimator, &limits, out_tally);
}

void
ra_gpu_plan_write(const GArray *plan, const RaProbePlanTally *tally,
                  GString *out)
{
  guint n[RA_N_OPS] = {0};
  guint64 launches[RA_N_OPS] = {0};
  double s[RA_N_OPS] = {0};

  for (guint i = 0; i < plan->len; i++) {
    const RaProbePlanned *p = &g_array_index(plan, RaProbePlanned, i);

    n[p->point.op.kind]++;
    launches[p->point.op.kind] += p->n_launches;
    s[p->point.op.kind] += p->s;
  }
  g_string_append(out, "op\tpoints\tlaunches\tseconds_s\n");
  for (guint kind = 0; kind < RA_N_OPS; kind++)
    if (n[kind] > 0)
      g_string_append_printf(out, "%s\t%u\t%" G_GUINT64_FORMAT "\t%.1f\n",
                             ra_op_name((RaOpKind)kind), n[kind],
                             launches[kind], s[kind]);
  g_string_append_printf(out, "all\t%u\t%" G_GUINT64_FORMAT "\t%.1f\n",
                         plan->len, tally->n_launches, tally->s);
}

/* ---- Samples ---------------------------------------------------------------
 */

typedef struct {
  const RaGpuOptions *options;
  RaProbe *probe;
  uint64_t taken_bytes; /* of the device, before the first array */
  gboolean launched;    /* its launches were measured, or cannot be */
} Work;

static void
set_number(RaTrace *trace, const char *key, double value)
{
  g_autofree char *text = g_strdup_printf("%.6g", value);

  ra_trace_set_head(trace, key, text);
}

/* Host time of an op of a decode step, as a run begins it: the mean over
 * those of a layer, each one or several kernels. */
static double
eager_op_s(const Work *work)
{
  /* clang-format off */
  static const RaOp layer[] = { /* 16 sequences of 256 tokens, width 1,024 */
      {.kind = RA_OP_NORM, .dim = {16, 1024}},
      {.kind = RA_OP_GEMM, .dim = {16, 3072, 1024, 1}},
      {.kind = RA_OP_ROPE, .dim = {16, 16, 128}},
      {.kind = RA_OP_DECODE_ATTENTION, .dim = {16, 16, 4096, 4096, 8, 8, 128}},
      {.kind = RA_OP_GEMM, .dim = {16, 1024, 1024, 1}},
      {.kind = RA_OP_ADD, .dim = {16, 1024}},
      {.kind = RA_OP_NORM, .dim = {16, 1024}},
      {.kind = RA_OP_GEMM, .dim = {16, 4096, 1024, 1}},
      {.kind = RA_OP_ACTIVATION, .dim = {16, 2048, 1}},
      {.kind = RA_OP_GEMM, .dim = {16, 1024, 2048, 1}},
      {.kind = RA_OP_ADD, .dim = {16, 1024}}};
  /* clang-format on */
  double sum_s = 0;

  for (guint i = 0; i < G_N_ELEMENTS(layer); i++) {
    RaProbePoint point = {.op = layer[i]};

    point.op.dtype = work->options->machine->dtype;
    point.op.count = 1;
    sum_s += ra_probe_begun_s(work->probe, &point);
  }
  return sum_s / G_N_ELEMENTS(layer);
}

/* Seconds of the smallest sum by the timer, with nothing beside. */
static void
set_launch(RaTrace *trace, const Work *work)
{
  const RaProbePoint point = {.op = {.kind = RA_OP_ADD,
                                     .dtype = work->options->machine->dtype,
                                     .count = 1,
                                     .dim = {1, 8}}};
  RaProbeLaunch launch;
  RaProbeSample sample;
  double op_s;

  if (!work->options->machine->launch)
    return;
  ra_probe_run(work->probe, &point, &sample);
  if (!work->options->machine->launch(sample.median_s, &launch))
    return;
  op_s = eager_op_s(work);
  set_number(trace, EAGER, op_s);
  set_number(trace, KERNEL, launch.eager_s);
  set_number(trace, GRAPH, launch.graph_s);
  set_number(trace, TIMER, launch.timer_s);
  /* An op is as many kernels of a graph as it is launches. */
  set_number(trace, GAP, launch.gap_s * op_s / launch.eager_s);
}

static void
begin(RaTrace *trace, gpointer data)
{
  const Work *work = data;
  const RaGpuOptions *o = work->options;

  ra_trace_set_head(trace, "software", PACKAGE_STRING);
  ra_trace_set_head(trace, "libraries", o->software);
  ra_trace_set_head(trace, "command", o->command);
  ra_trace_set_head(trace, "gpus-per-node", "1");
  set_number(trace, "clock-hz", o->machine->clock_hz);
  set_number(trace, COPY, ra_probe_bytes_per_s(work->probe));
  set_number(trace, FRAMEWORK, (double)work->taken_bytes);
  set_launch(trace, work);
}

static GArray *
points_of(const GArray *plan)
{
  GArray *points = g_array_new(FALSE, FALSE, sizeof(RaProbePoint));

  for (guint i = 0; i < plan->len; i++)
    g_array_append_vals(points, &g_array_index(plan, RaProbePlanned, i).point,
                        1);
  return points;
}

/* Measures the memory that a process needs before it has an array: its context,
 * kernels, libraries, and then, for a rank, the workspace of its ops, which
 * `run` predicts. */
static void
look_at_memory(Work *work)
{
  const RaBackend *backend = work->options->machine->backend;
  uint64_t free_bytes = 0, all_bytes = 0;

  if (work->options->machine->memory &&
      work->options->machine->memory(&free_bytes, &all_bytes))
    work->taken_bytes =
        all_bytes - free_bytes +
        (backend->workspace_bytes ? backend->workspace_bytes() : 0);
}

RaTrace *
ra_gpu_samples(const RaGpuOptions *options, const char *path,
               RaSampleTally *out_tally, GError **error)
{
  RaProbePlanTally tally;
  RaProbeLimits limits;
  g_autoptr(GArray) plan = ra_gpu_plan(options->base, options->machine,
                                       options->quick, &tally, error);
  g_autoptr(GArray) points = plan ? points_of(plan) : NULL;
  g_autoptr(RaProbe) probe = NULL;
  Work work = {.options = options};
  RaSampling sampling = {.points = points,
                         .device = options->machine->backend,
                         .n_ranks = 1,
                         .source = RA_TRACE_SOURCE_GPU,
                         .machine = options->name,
                         .grid = options->quick ? "quick" : "full",
                         .n_most = options->n_most,
                         .begin = begin,
                         .data = &work,
                         .progress = options->progress,
                         .progress_data = options->progress_data};
  RaProbeOptions probing;

  if (!plan)
    return NULL;
  ra_probe_limits_init(&limits, options->quick);
  ra_probe_options_init(&probing);
  probing.machine = options->machine;
  probing.sample_s = limits.sample_s;
  probing.n_least = limits.n_least;
  probing.n_most = limits.n_most;
  sampling.budget_s = limits.budget_s;
  look_at_memory(&work);
  probe = ra_probe_new(&probing, error);
  if (!probe)
    return NULL;
  work.probe = sampling.probe = probe;
  return ra_samples_take(&sampling, path, out_tally, error);
}

/* ---- The profile -----------------------------------------------------------
 */

static gboolean
head_number(const RaTrace *trace, const char *name, const char *key,
            double *out, GError **error)
{
  const char *text = ra_trace_head(trace, key);

  if (text && ra_text_double(text, out) && *out >= 0)
    return TRUE;
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "%s: no number '%s' in the head, expected samples of reallot "
              "calibrate --backend=cuda",
              name, key);
  return FALSE;
}

/* Law host, of the head; what was not measured stays the base's. */
static gboolean
add_launch(const RaTrace *samples, const char *name, GArray *changes,
           GError **error)
{
  RaCalibrateChange change = {.law = "host"};
  double eager_s, graph_s, gap_s;

  if (!ra_trace_head(samples, EAGER))
    return TRUE;
  if (!head_number(samples, name, EAGER, &eager_s, error) ||
      !head_number(samples, name, GRAPH, &graph_s, error) ||
      !head_number(samples, name, GAP, &gap_s, error))
    return FALSE;
  change.text = g_string_new(NULL);
  g_string_append_printf(
      change.text,
      "[law host]\n" EAGER " = %.4g\n" GRAPH " = %.4g\n" GAP " = %.4g\n"
      "source = %s: the ops of a layer's decode step as a run begins them, by "
      "the host's clock; captured graphs of 64 and of 1024 sums, from the "
      "host's begin to their end, a gap as often as an op has launches\n"
      "range = an op of reallot run, kernels and copies; no framework\nrows = "
      "13\n"
      "error-median = -\nerror-p90 = -\n",
      eager_s, graph_s, gap_s, name);
  g_array_append_val(changes, change);
  return TRUE;
}

/* An op takes what it adds to the ops before it: the timer's own part, which
 * is in each sample, goes.  None was found shorter than the smallest sum, whose
 * interval is the timer's part and as much again at least. */
static gboolean
take_timer(const RaTrace *samples, const char *name, GArray *rows,
           GError **error)
{
  double timer_s = 0;

  if (ra_trace_head(samples, TIMER) &&
      !head_number(samples, name, TIMER, &timer_s, error))
    return FALSE;
  for (guint i = 0; i < rows->len; i++) {
    RaMeasured *row = &g_array_index(rows, RaMeasured, i);

    if (row->op.kind != RA_OP_LOSS) /* the host's */
      row->measured_s -= MIN(timer_s, row->measured_s / 2);
  }
  return TRUE;
}

static const char *
head(const RaTrace *samples, const char *key)
{
  const char *text = ra_trace_head(samples, key);

  return text ? text : "not said";
}

/* @text with comments and `derived` of its own: what made it, on what. */
static void
write_head(const RaTrace *samples, const char *base_name, double copy,
           double framework, const char *text, GString *out)
{
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  guint i = 0;

  ra_quote_comment(out, "Made by `%s`; do not edit.", head(samples, "command"));
  g_string_append_printf(
      out,
      "# Copies of the device's memory: %.4g GB/s, read and written. Without "
      "an "
      "array\n# %.2f GiB of it are taken (framework-memory of a cluster).\n",
      copy * 1e-9, framework / (1 << 30));
  while (lines[i] && *lines[i] == '#')
    i++;
  for (; lines[i]; i++) {
    if (g_str_has_prefix(lines[i], "derived = "))
      g_string_append_printf(
          out,
          "derived = measured on %s, %s, clock up to %s Hz, on %s, %s grid; "
          "what one GPU cannot say is of %s",
          head(samples, "machine"), head(samples, "libraries"),
          head(samples, "clock-hz"), head(samples, "date"),
          head(samples, "grid"), base_name);
    else
      g_string_append(out, lines[i]);
    if (lines[i + 1])
      g_string_append_c(out, '\n');
  }
}

RaCalibration *
ra_gpu_profile(const RaTrace *samples, const char *name, const char *base_name,
               const char *base, RaCalibrateProgress progress, GError **error)
{
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(RaMeasured));
  g_autoptr(GArray) changes = ra_calibrate_changes_new();
  g_autofree char *file = g_path_get_basename(name);
  g_autofree char *base_file = g_path_get_basename(base_name);
  g_autoptr(RaCalibration) fitted = NULL;
  g_autoptr(GString) text = g_string_new(NULL);
  double copy, framework;
  RaMeasuredTally tally;

  if (!head_number(samples, name, COPY, &copy, error) ||
      !head_number(samples, name, FRAMEWORK, &framework, error) ||
      !add_launch(samples, file, changes, error) ||
      !ra_measured_trace(samples, name, rows, &tally, error) ||
      !take_timer(samples, name, rows, error))
    return NULL;
  fitted = ra_calibrate_rows(base_name, base, NULL, rows, NULL, file, progress,
                             error);
  if (!fitted)
    return NULL;
  ra_calibrate_rewrite(fitted->text->str, changes, text);
  g_string_truncate(fitted->text, 0);
  write_head(samples, base_file, copy, framework, text->str, fitted->text);
  return g_steal_pointer(&fitted);
}
