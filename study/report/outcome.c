/* Outcome tables of a simulated run. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/augment/augment.h"
#include "graph/input/plan_write.h"
#include "study/extrapolation_note.h"
#include "study/model_error.h"
#include "study/report/moves.h"
#include "study/report/outcome.h"
#include "study/report/path_cause.h"

/* Without its folder and suffix: "h100-16n". */
static char *
short_name(const char *path)
{
  char *name = g_path_get_basename(path);
  char *dot = strrchr(name, '.');

  if (dot && dot != name)
    *dot = '\0';
  return name;
}

static void
summary_columns(RaTable *table)
{
  static const struct {
    const char *name;
    RaUnit unit;
    RaCellType type;
  } columns[] = {
      {"plan", RA_UNIT_NONE, RA_CELL_TEXT},
      {"workload", RA_UNIT_NONE, RA_CELL_TEXT},
      {"cluster", RA_UNIT_NONE, RA_CELL_TEXT},
      {"profile", RA_UNIT_NONE, RA_CELL_TEXT},
      {"system", RA_UNIT_NONE, RA_CELL_TEXT},
      {"n_gpus", RA_UNIT_NONE, RA_CELL_INTEGER},
      {"profile_error_least_frac", RA_UNIT_NONE, RA_CELL_REAL},
      {"profile_error_most_frac", RA_UNIT_NONE, RA_CELL_REAL},
      {"fidelity", RA_UNIT_NONE, RA_CELL_TEXT},
      {"seed", RA_UNIT_NONE, RA_CELL_INTEGER},
      {"n_iterations", RA_UNIT_NONE, RA_CELL_INTEGER},
      {"n_tasks", RA_UNIT_NONE, RA_CELL_INTEGER},
      {"n_tasks_replayed", RA_UNIT_NONE, RA_CELL_INTEGER},
      {"n_lanes", RA_UNIT_NONE, RA_CELL_INTEGER},
      {"iteration_s", RA_UNIT_SECONDS, RA_CELL_REAL},
      {"low_s", RA_UNIT_SECONDS, RA_CELL_REAL},
      {"high_s", RA_UNIT_SECONDS, RA_CELL_REAL},
      {"tokens", RA_UNIT_NONE, RA_CELL_REAL},
      {"tokens_per_s", RA_UNIT_NONE, RA_CELL_REAL},
      {"flop_per_s_per_gpu", RA_UNIT_FLOP_PER_S, RA_CELL_REAL},
      {"mfu_frac", RA_UNIT_NONE, RA_CELL_FRAC},
      {"usd", RA_UNIT_NONE, RA_CELL_REAL},
      {"makespan_s", RA_UNIT_SECONDS, RA_CELL_REAL},
      {"extrapolated", RA_UNIT_NONE, RA_CELL_TEXT},
      {"fingerprint", RA_UNIT_NONE, RA_CELL_TEXT},
  };

  for (guint i = 0; i < G_N_ELEMENTS(columns); i++)
    ra_table_column(table, columns[i].name, columns[i].unit, columns[i].type);
}

static void
add_name(RaTable *table, const char *path)
{
  g_autofree char *name = short_name(path);

  ra_table_text(table, name);
}

static RaTable *
make_summary(const RaSetup *setup, const RaTaskGraph *graph, const RaSim *sim,
             const RaBreakdown *breakdown, const RaOutcome *outcome)
{
  const RaSimResult *result = ra_sim_result(sim);
  RaProfileError profile = ra_profile_error(setup->profile);
  g_autofree char *fingerprint =
      g_strdup_printf("%016" PRIx64, result->fingerprint);
  RaTable *table = ra_table_new("summary");

  summary_columns(table);
  ra_table_row(table);
  add_name(table, setup->plan_path);
  add_name(table, setup->workload_path);
  add_name(table, setup->cluster_path);
  add_name(table, setup->profile_path);
  if (setup->system_path)
    add_name(table, setup->system_path);
  else
    ra_table_missing(table);
  ra_table_integer(table, breakdown->n_gpus);
  ra_table_real(table, profile.least_frac);
  ra_table_real(table, profile.most_frac);
  ra_table_text(table, ra_fidelity_name(graph->fidelity));
  ra_table_integer(table, graph->seed);
  ra_table_integer(table, graph->augmented->n_iterations);
  ra_table_integer(table, ra_task_graph_n_unfolded(graph));
  ra_table_integer(table, graph->n_tasks);
  ra_table_integer(table, graph->n_lanes);
  ra_table_real(table, breakdown->iteration_s);
  ra_table_real(table, outcome->low_s);
  ra_table_real(table, outcome->high_s);
  ra_table_real(table, breakdown->tokens);
  ra_table_real(table, breakdown->tokens_per_s);
  ra_table_real(table, breakdown->flop_per_s_per_gpu);
  ra_table_real(table, breakdown->mfu_frac);
  ra_table_real(table, breakdown->usd);
  ra_table_real(table, result->makespan_s);
  if (*outcome->extrapolated)
    ra_table_text(table, outcome->extrapolated);
  else
    ra_table_missing(table);
  ra_table_text(table, fingerprint);
  return table;
}

static RaTable *
make_calls(const RaSetup *setup, const RaBreakdown *breakdown)
{
  const RaWorkload *workload = setup->workload;
  RaTable *table = ra_table_new("calls");

  ra_table_column(table, "call", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "mesh", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "gpus", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "strategy", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "begin_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "wall_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "share_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  for (guint i = 0; i < breakdown->n_calls; i++) {
    uint32_t c = workload->order[i];
    const RaCallShare *share = &breakdown->calls[c];
    const RaCallPlan *plan = &setup->plan->calls[c];
    gboolean placed = plan->set && workload->calls[c].model != RA_NONE;
    g_autofree char *mesh =
        plan->set ? ra_mesh_format(&plan->mesh, setup->cluster) : NULL;
    g_autofree char *strategy = placed ? ra_strategy_format(plan) : NULL;

    ra_table_row(table);
    ra_table_text(table, workload->calls[c].name);
    ra_table_text(table, mesh ? mesh : "host");
    ra_table_integer(table, share->n_gpus);
    ra_table_text(table, strategy ? strategy : "-");
    ra_table_real(table, share->begin_s - breakdown->begin_s);
    ra_table_real(table, share->wall_s);
    ra_table_real(table, share->wall_s / breakdown->iteration_s);
  }
  return table;
}

static void
add_gpu_row(RaTable *table, const char *name, double gpu_s, double all_gpu_s)
{
  ra_table_row(table);
  ra_table_text(table, name);
  ra_table_real(table, gpu_s);
  ra_table_real(table, gpu_s / all_gpu_s);
}

static RaTable *
make_gpu_time(const RaSetup *setup, const RaBreakdown *breakdown)
{
  const RaWorkload *workload = setup->workload;
  double all_gpu_s = breakdown->n_gpus * breakdown->iteration_s;
  static const char *const causes[] = {"compute_frac", "comm_frac", "host_frac",
                                       "bubble_frac", "interference_frac"};
  RaTable *table = ra_table_new("gpu_time");

  ra_table_column(table, "call", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "gpu_time_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "share_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  for (guint i = 0; i < G_N_ELEMENTS(causes); i++)
    ra_table_column(table, causes[i], RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "per_gpu_flop_per_s", RA_UNIT_FLOP_PER_S,
                  RA_CELL_REAL);
  for (guint i = 0; i < breakdown->n_calls; i++) {
    uint32_t c = workload->order[i];
    const RaCallShare *share = &breakdown->calls[c];
    double gpu_s = share->compute_gpu_s + share->comm_gpu_s +
                   share->host_gpu_s + share->bubble_gpu_s +
                   share->interference_gpu_s;

    add_gpu_row(table, workload->calls[c].name, gpu_s, all_gpu_s);
    ra_table_real(table, share->compute_gpu_s / gpu_s);
    ra_table_real(table, share->comm_gpu_s / gpu_s);
    ra_table_real(table, share->host_gpu_s / gpu_s);
    ra_table_real(table, share->bubble_gpu_s / gpu_s);
    ra_table_real(table, share->interference_gpu_s / gpu_s);
    ra_table_real(table, share->flop / gpu_s);
  }
  for (guint row = 0; row < 2; row++) {
    add_gpu_row(table, row == 0 ? "(reallocation)" : "(idle)",
                row == 0 ? breakdown->realloc_gpu_s : breakdown->idle_gpu_s,
                all_gpu_s);
    for (guint i = 0; i <= G_N_ELEMENTS(causes); i++)
      ra_table_missing(table);
  }
  return table;
}

static void
add_path_row(RaTable *table, const RaWorkload *workload, const RaPathRow *row,
             double makespan_s)
{
  const double causes_s[] = {row->compute_s, row->comm_s, row->host_s,
                             MAX(row->total_s - row->compute_s - row->comm_s -
                                     row->host_s - row->interference_s,
                                 0),
                             row->interference_s};

  ra_table_row(table);
  ra_table_text(table, workload->calls[row->call].name);
  ra_table_text(table, ra_task_kind_name(row->task_kind));
  ra_table_real(table, row->total_s);
  ra_table_real(table, row->total_s / makespan_s);
  for (guint i = 0; i < G_N_ELEMENTS(causes_s); i++) {
    if (row->node_kind == RA_NODE_CALL)
      ra_table_real(table, causes_s[i] / row->total_s);
    else
      ra_table_missing(table);
  }
}

static RaTable *
make_critical_path(const RaWorkload *workload, GArray *rows, double makespan_s)
{
  static const char *const causes[] = {"compute_frac", "comm_frac", "host_frac",
                                       "bubble_frac", "interference_frac"};
  RaTable *table = ra_table_new("critical_path");

  ra_table_column(table, "call", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "task", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "time_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "share_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  for (guint i = 0; i < G_N_ELEMENTS(causes); i++)
    ra_table_column(table, causes[i], RA_UNIT_NONE, RA_CELL_FRAC);
  for (guint i = 0; i < rows->len; i++)
    add_path_row(table, workload, &g_array_index(rows, RaPathRow, i),
                 makespan_s);
  return table;
}

/* A part of a whole, in a sentence. */
typedef struct {
  const char *what; /* borrowed */
  double amount;    /* seconds or GPU-seconds */
} Part;

static int
compare_parts(const void *a, const void *b)
{
  const Part *part_a = a, *part_b = b;

  return (part_a->amount < part_b->amount) - (part_a->amount > part_b->amount);
}

/* "62 % this, 26 % that", largest first, what is below 1 % left out. */
static void
append_parts(GString *out, Part *parts, gsize n, double whole)
{
  gboolean first = TRUE;

  qsort(parts, n, sizeof *parts, compare_parts);
  for (gsize i = 0; i < n; i++) {
    if (parts[i].amount < 0.01 * whole)
      continue;
    g_string_append_printf(out, "%s%.0f %% %s", first ? "" : ", ",
                           100 * parts[i].amount / whole, parts[i].what);
    first = FALSE;
  }
}

static void
append_gpu_time(GString *out, const RaBreakdown *breakdown)
{
  Part parts[] = {{"computing", 0},
                  {"in exposed communication", 0},
                  {"waiting for the host", 0},
                  {"in bubbles", 0},
                  {"slowed by concurrent communication", 0},
                  {"in reallocation and transfers", breakdown->realloc_gpu_s},
                  {"idle", breakdown->idle_gpu_s}};

  for (guint c = 0; c < breakdown->n_calls; c++) {
    parts[0].amount += breakdown->calls[c].compute_gpu_s;
    parts[1].amount += breakdown->calls[c].comm_gpu_s;
    parts[2].amount += breakdown->calls[c].host_gpu_s;
    parts[3].amount += breakdown->calls[c].bubble_gpu_s;
    parts[4].amount += breakdown->calls[c].interference_gpu_s;
  }
  g_string_append(out, "of their time GPUs are ");
  append_parts(out, parts, G_N_ELEMENTS(parts),
               breakdown->n_gpus * breakdown->iteration_s);
}

static char *
make_sentence(const RaWorkload *workload, GArray *rows, double makespan_s,
              const RaBreakdown *breakdown)
{
  g_autofree Part *parts = g_new0(Part, workload->n_calls + 1);
  GString *out = g_string_new("The critical path is ");

  for (guint c = 0; c < workload->n_calls; c++)
    parts[c].what = workload->calls[c].name;
  parts[workload->n_calls].what = "reallocation and transfers";
  for (guint i = 0; i < rows->len; i++) {
    const RaPathRow *row = &g_array_index(rows, RaPathRow, i);

    parts[row->node_kind == RA_NODE_CALL ? row->call : workload->n_calls]
        .amount += row->total_s;
  }
  append_parts(out, parts, workload->n_calls + 1, makespan_s);
  g_string_append(out, "; ");
  append_gpu_time(out, breakdown);
  return g_string_free(out, FALSE);
}

/* NULL: no service. */
static RaTable *
make_staleness(const RaServiceReport *service)
{
  RaTable *table;
  double n = 0;

  if (!service)
    return NULL;
  table = ra_table_new("staleness");
  ra_table_column(table, "staleness", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "sequences", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "share_frac", RA_UNIT_NONE, RA_CELL_REAL);
  for (uint32_t i = 0; i <= service->max_staleness; i++)
    n += (double)service->staleness[i];
  for (uint32_t i = 0; i <= service->max_staleness; i++) {
    ra_table_row(table);
    ra_table_integer(table, i);
    ra_table_integer(table, service->staleness[i]);
    ra_table_real(table, (double)service->staleness[i] / n);
  }
  return table;
}

/* The 90 % interval; the logarithm's error is normal, as in a study. */
static void
bound(const RaSetup *setup, const RaTaskGraph *graph, const RaSim *sim,
      RaOutcome *outcome)
{
  RaModelError error;
  double factor;

  ra_model_error(setup, setup->estimator, graph, sim, &error);
  factor = exp(RA_ERROR_NINE_OF_TEN * error.frac);
  outcome->low_s = outcome->breakdown->iteration_s / factor;
  outcome->high_s = outcome->breakdown->iteration_s * factor;
}

RaOutcome *
ra_outcome_new(const RaSetup *setup, const RaTaskGraph *graph, const RaSim *sim)
{
  RaOutcome *outcome;
  g_autoptr(GArray) rows = NULL;
  double makespan_s;

  g_return_val_if_fail(setup && setup->plan && graph && sim, NULL);
  g_return_val_if_fail(ra_sim_result(sim), NULL);
  outcome = g_new0(RaOutcome, 1);
  makespan_s = ra_sim_result(sim)->makespan_s;
  outcome->breakdown = ra_breakdown_new(sim, graph);
  rows = ra_critical_path_rows(graph, sim);
  outcome->extrapolated =
      ra_extrapolation_note(setup->profile, setup->estimator, graph);
  bound(setup, graph, sim, outcome);
  outcome->summary =
      make_summary(setup, graph, sim, outcome->breakdown, outcome);
  outcome->calls = make_calls(setup, outcome->breakdown);
  outcome->gpu_time = make_gpu_time(setup, outcome->breakdown);
  outcome->moves =
      ra_moves_table(graph, sim, outcome->breakdown->first_iteration);
  outcome->critical_path =
      make_critical_path(setup->workload, rows, makespan_s);
  outcome->staleness = make_staleness(ra_sim_service(sim));
  outcome->sentence =
      make_sentence(setup->workload, rows, makespan_s, outcome->breakdown);
  return outcome;
}

void
ra_outcome_free(RaOutcome *outcome)
{
  if (!outcome)
    return;
  ra_table_free(outcome->summary);
  ra_table_free(outcome->calls);
  ra_table_free(outcome->gpu_time);
  ra_table_free(outcome->moves);
  ra_table_free(outcome->critical_path);
  if (outcome->staleness)
    ra_table_free(outcome->staleness);
  g_free(outcome->extrapolated);
  ra_breakdown_free(outcome->breakdown);
  g_free(outcome->sentence);
  g_free(outcome);
}
