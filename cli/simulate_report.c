/* Output of `reallot simulate` for one plan. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/output.h"
#include "cli/simulate_report.h"
#include "study/real_table.h"
#include "study/report/explain.h"
#include "study/report/outcome.h"

#define PATH_ROWS_SHOWN 8   /* of the critical path, to people */
#define HOLDER_ROWS_SHOWN 8 /* of memory */
#define EXPLAIN_ROWS_SHOWN 20
#define TURN_ROWS_SHOWN 40 /* of memory, of all groups */
#define MAX_TABLES 16      /* of a run, and the end */
#define MOVES_SHOWN 6      /* transfers between all calls are many, small */
#define GIB (1024.0 * 1024 * 1024)

/* `  name     value`, aligned. */
static void append_line(GString *out, const char *name, const char *format, ...)
    G_GNUC_PRINTF(3, 4);

static void
append_line(GString *out, const char *name, const char *format, ...)
{
  va_list args;

  g_string_append_printf(out, "  %-22s", name);
  va_start(args, format);
  g_string_append_vprintf(out, format, args);
  va_end(args);
  g_string_append_c(out, '\n');
}

/* System that runs the plan, if there is one. */
static void
append_system(GString *out, const RaSetup *setup)
{
  g_autofree char *name = NULL;

  if (!setup->system)
    return;
  name = g_path_get_basename(setup->system_path);
  g_string_append_printf(out, "%s: %s, ", name, setup->system->release);
  if (isnan(setup->system->error_median_frac))
    g_string_append(out, "no held-out runs\n");
  else
    g_string_append_printf(out, "held-out median error %.1f %%\n",
                           100 * setup->system->error_median_frac);
}

/* The profile's name; where it is none of those that come with the program,
 * its folder too: a file of the same name beside the cluster's goes first. */
static char *
profile_name(const RaSetup *setup)
{
  g_autofree char *name = g_path_get_basename(setup->profile_path);
  g_autofree char *folder = g_path_get_dirname(setup->profile_path);
  g_autofree char *kind = g_path_get_basename(folder);

  return strcmp(kind, "profiles") == 0
             ? g_steal_pointer(&name)
             : g_strdup_printf("%s in %s", name, folder);
}

/* Heading: the plan that was simulated. */
static void
append_head(GString *out, const RaSetup *setup, const RaOptions *options,
            const RaTaskGraph *graph, const RaBreakdown *breakdown)
{
  uint64_t n_tasks = ra_task_graph_n_unfolded(graph);
  RaProfileError profile = ra_profile_error(setup->profile);
  g_autofree char *workload = g_path_get_basename(setup->workload_path);
  g_autofree char *cluster = g_path_get_basename(setup->cluster_path);
  g_autofree char *name = profile_name(setup);
  g_autofree char *gpus = ra_cluster_gpu_names(setup->cluster);

  g_string_append_printf(out, "%s on %s: %" PRIu32 " %s GPUs\n", workload,
                         cluster, breakdown->n_gpus, gpus);
  g_string_append_printf(out, "%s: ", name);
  if (profile.n_measured > 0)
    g_string_append_printf(
        out, "held-out median error %.1f to %.1f %% (%u of %u laws)\n",
        100 * profile.least_frac, 100 * profile.most_frac, profile.n_measured,
        profile.n_laws);
  else
    g_string_append(out, "not checked against measurements\n");
  append_system(out, setup);
  if (options->real)
    g_string_append(
        out,
        "calls and reallocations by ReaL's estimator, from these op times\n");
  g_string_append_printf(
      out, "%s fidelity, %s%" PRIu32 " iteration%s, seed %" PRIu64 "\n",
      ra_fidelity_name(graph->fidelity), options->flows ? "flows, " : "",
      options->n_iterations,
      options->n_iterations > 1 ? "s" : " (the first: no steady state)",
      options->seed);
  g_string_append_printf(out, "%" PRIu64 " tasks on %" PRIu32 " GPU groups",
                         n_tasks, graph->n_lanes);
  if (n_tasks > graph->n_tasks)
    g_string_append_printf(out, ", folded into %" PRIu32, graph->n_tasks);
  g_string_append(out, "\n\n");
}

/* `mean 0.9, most 2 (0: 20.0 %, 1: 70.0 %, 2: 10.0 %)` */
static void
append_staleness(GString *out, const RaServiceReport *service)
{
  g_autoptr(GString) text = g_string_new(NULL);
  double n = 0;

  if (!service)
    return;
  for (uint32_t i = 0; i <= service->max_staleness; i++)
    n += (double)service->staleness[i];
  g_string_append_printf(text, "mean %.2f, max %" PRIu32 " (",
                         service->mean_staleness, service->max_staleness);
  for (uint32_t i = 0; i <= service->max_staleness; i++)
    g_string_append_printf(text, "%s%" PRIu32 ": %.1f %%", i > 0 ? ", " : "", i,
                           100 * (double)service->staleness[i] / n);
  append_line(out, "staleness", "%s)", text->str);
}

/* GPUs that no call runs on cost nothing here, which is said, as is whose price
 * it is where a flag set another GPU. */
static void
append_price(GString *out, const RaSetup *setup, const RaBreakdown *breakdown)
{
  uint64_t n_all = ra_cluster_n_gpus(setup->cluster);
  const char *whose = setup->price_cluster;
  g_autofree char *idle = NULL, *of = NULL;

  if (isnan(breakdown->usd)) {
    append_line(out, "price",
                whose ? "- (no price of this GPU is known: --set "
                        "'cluster.price=... USD/gpu/h')"
                      : "-");
    return;
  }
  of = whose ? g_strdup_printf(" (GPU price of %s)", whose) : g_strdup("");
  if (breakdown->n_gpus < n_all)
    idle = g_strdup_printf(" (of %" PRIu32 " GPUs; the other %" PRIu64
                           " are not counted)",
                           breakdown->n_gpus, n_all - breakdown->n_gpus);
  append_line(out, "price",
              breakdown->usd < 1 ? "%.4f USD%s%s" : "%.2f USD%s%s",
              breakdown->usd, of, idle ? idle : "");
}

static void
append_results(GString *out, const RaSetup *setup, const RaSimResult *result,
               const RaOutcome *outcome)
{
  const RaBreakdown *breakdown = outcome->breakdown;
  g_autofree char *low = ra_quantity_format(outcome->low_s, RA_UNIT_SECONDS);
  g_autofree char *high = ra_quantity_format(outcome->high_s, RA_UNIT_SECONDS);
  g_autofree char *time =
      ra_quantity_format(breakdown->iteration_s, RA_UNIT_SECONDS);
  g_autofree char *rate =
      ra_quantity_format(breakdown->flop_per_s_per_gpu, RA_UNIT_FLOP_PER_S);

  append_line(out, "iteration", "%s", time);
  append_line(out, "tokens", "%.0f", breakdown->tokens);
  append_line(out, "tokens/s", "%.0f", breakdown->tokens_per_s);
  append_line(out, "model FLOP/s per GPU", "%s", rate);
  if (isnan(breakdown->mfu_frac))
    append_line(out, "MFU", "-");
  else
    append_line(out, "MFU", "%.1f %%", 100 * breakdown->mfu_frac);
  append_price(out, setup, breakdown);
  if (isfinite(outcome->low_s))
    append_line(out, "90 % interval", "%s to %s", low, high);
  append_line(out, "fingerprint", "%016" PRIx64, result->fingerprint);
  g_string_append_c(out, '\n');
}

/* A line where processes are all that is in host memory, else a table. */
static void
append_host_memory(GString *out, const RaMemoryVerdict *fit)
{
  const RaHostMemory *host = fit->host;
  g_autofree char *of =
      host->capacity_bytes > 0
          ? g_strdup_printf("%.1f of %.1f GiB", host->peak_bytes / GIB,
                            host->capacity_bytes / GIB)
          : g_strdup_printf("%.1f GiB", host->peak_bytes / GIB);
  g_autofree char *title = g_strdup_printf(
      "Host memory of node %" PRIu32 ", the one with most: %s", host->node, of);

  if (ra_table_n_rows(fit->hosts) > 1)
    ra_output_top(out, fit->hosts, title, HOLDER_ROWS_SHOWN, "smaller");
  else
    g_string_append_printf(out, "%s, processes alone\n", title);
  g_string_append_c(out, '\n');
}

static void
append_memory(GString *out, const RaMemoryVerdict *fit)
{
  g_autofree char *title = NULL;

  if (fit->lane == RA_NONE)
    return;
  title = g_strdup_printf("Memory of GPU %" PRIu32
                          ", the one with the highest peak: %.1f of %.1f GiB",
                          fit->gpu, fit->peak_bytes / GIB,
                          fit->capacity_bytes / GIB);
  ra_output_top(out, fit->holders, title, HOLDER_ROWS_SHOWN, "smaller");
  g_string_append_c(out, '\n');
  append_host_memory(out, fit);
}

/* Extrapolation from the profile's measurements. */
static void
append_extrapolated(GString *out, const char *what)
{
  g_autofree char *text =
      g_strdup_printf("Extrapolated beyond the measured range: %s", what);

  if (!*what)
    return;
  ra_output_wrapped(out, text);
  g_string_append_c(out, '\n');
}

static void
append_explain(GString *out, const RaExplain *explain)
{
  ra_output_top(out, explain->causes, "Critical path by cause, op and link",
                EXPLAIN_ROWS_SHOWN, "smaller");
  g_string_append_c(out, '\n');
  ra_output_top(out, explain->waiting,
                "Idle GPU time by cause, of the whole run", EXPLAIN_ROWS_SHOWN,
                "further");
  g_string_append_c(out, '\n');
  ra_output_top(out, explain->turns,
                "Memory peaks and troughs of each group's GPU with the highest "
                "peak (GiB)",
                TURN_ROWS_SHOWN, "later");
  g_string_append_c(out, '\n');
  if (!explain->links)
    return;
  ra_output_top(
      out, explain->links,
      "Links (late: delay of tasks for which the link was the bottleneck)",
      EXPLAIN_ROWS_SHOWN, "less busy");
  g_string_append_c(out, '\n');
}

static void
append_text(GString *out, const RaSetup *setup, const RaOptions *options,
            const RaReplay *replay, const RaOutcome *outcome,
            const RaMemoryVerdict *fit, const RaTable *real,
            const RaExplain *explain)
{
  append_head(out, setup, options, replay->graph, outcome->breakdown);
  append_staleness(out, ra_sim_service(replay->sim));
  append_results(out, setup, ra_sim_result(replay->sim), outcome);
  append_extrapolated(out, outcome->extrapolated);
  ra_output_titled(out, outcome->calls,
                   "Calls (begin: time in the iteration; share: of it)");
  g_string_append_c(out, '\n');
  if (real) {
    ra_output_titled(out, real,
                     "Estimates of ReaL: time of a call and bytes per GPU");
    g_string_append_c(out, '\n');
  }
  ra_output_titled(out, outcome->gpu_time,
                   "GPU time of an iteration, and of each call by cause");
  g_string_append_c(out, '\n');
  if (ra_table_n_rows(outcome->moves) > 0) {
    ra_output_top(out, outcome->moves,
                  "Data moved between calls (exposed: time that calls wait)",
                  MOVES_SHOWN, "shorter");
    g_string_append_c(out, '\n');
  }
  ra_output_top(out, outcome->critical_path, "Critical path of the run",
                PATH_ROWS_SHOWN, "shorter");
  g_string_append_c(out, '\n');
  if (explain)
    append_explain(out, explain);
  append_memory(out, fit);
  ra_output_wrapped(out, outcome->sentence);
  if (fit->verdict) {
    gsize begin = out->len;

    ra_output_wrapped(out, fit->verdict);
    ra_output_verdict(out, begin, FALSE);
  }
  if (fit->remedy)
    g_string_append_printf(out,
                           "%s:\n"
                           "  %s\n",
                           g_str_has_prefix(fit->remedy, "reallot ")
                               ? "Another plan that fits"
                           : g_str_has_suffix(fit->remedy, "together)")
                               ? "Changes that fit together"
                               : "Smallest single change that fits",
                           fit->remedy);
}

/* All tables, in their order; NULL-terminated. */
static void
list_tables(const RaOutcome *outcome, const RaMemoryVerdict *fit,
            const RaTable *real, const RaExplain *explain,
            const RaTable *out_tables[MAX_TABLES])
{
  guint n = 0;

  out_tables[n++] = outcome->summary;
  out_tables[n++] = outcome->calls;
  out_tables[n++] = outcome->gpu_time;
  out_tables[n++] = outcome->moves;
  out_tables[n++] = outcome->critical_path;
  if (outcome->staleness)
    out_tables[n++] = outcome->staleness;
  out_tables[n++] = fit->memory;
  out_tables[n++] = fit->holders;
  out_tables[n++] = fit->hosts;
  if (real)
    out_tables[n++] = real;
  if (explain) {
    out_tables[n++] = explain->causes;
    out_tables[n++] = explain->waiting;
    out_tables[n++] = explain->turns;
    out_tables[n++] = explain->holders;
  }
  if (explain && explain->links)
    out_tables[n++] = explain->links;
  out_tables[n] = NULL;
}

static void
append_json(GString *out, const RaTable *const *tables)
{
  g_string_append(out, "{\n");
  for (guint i = 0; tables[i]; i++) {
    if (i > 0)
      g_string_append(out, ",\n");
    ra_output_member(out, tables[i], i == 0);
  }
  g_string_append(out, "\n}\n");
}

gboolean
ra_simulate_print(const RaSetup *setup, const RaOptions *options,
                  const RaReplay *replay, const RaMemoryVerdict *fit,
                  gboolean explained, GError **error)
{
  g_autoptr(RaOutcome) outcome =
      ra_outcome_new(setup, replay->graph, replay->sim);
  g_autoptr(RaTable) real =
      options->real ? ra_real_table_new(setup->plan, setup->estimator) : NULL;
  g_autoptr(RaExplain) explain =
      explained ? ra_explain_new(setup, replay) : NULL;
  g_autoptr(GString) out = g_string_new(NULL);
  const RaTable *tables[MAX_TABLES];

  list_tables(outcome, fit, real, explain, tables);
  switch (options->format) {
  case RA_FORMAT_TEXT:
    append_text(out, setup, options, replay, outcome, fit, real, explain);
    break;
  case RA_FORMAT_TSV:
    for (guint i = 0; tables[i]; i++)
      ra_table_write(tables[i], RA_FORMAT_TSV, out);
    break;
  case RA_FORMAT_JSON:
    append_json(out, tables);
    break;
  }
  return ra_output_print(out->str, out->len, error);
}
