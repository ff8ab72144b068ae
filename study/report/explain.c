/* Explanation tables of a run: critical path, waiting, links. */
#include "config.h"

#include "sim/path_share.h"
#include "sim/waiting.h"
#include "study/report/explain.h"
#include "study/report/explain_memory.h"

static RaTable *
make_causes(const RaSetup *setup, const RaReplay *replay)
{
  double makespan_s = ra_sim_result(replay->sim)->makespan_s;
  RaTable *table = ra_table_new("path_causes");
  g_autoptr(GArray) shares =
      ra_critical_path_shares(replay->sim, replay->graph, setup->estimator);

  ra_table_column(table, "cause", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "what", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "link", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "time_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "share_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  for (guint i = 0; i < shares->len; i++) {
    const RaPathShare *share = &g_array_index(shares, RaPathShare, i);

    ra_table_row(table);
    ra_table_text(table, ra_cause_name((RaCause)share->cause));
    ra_table_text(table, ra_cause_what(share));
    ra_table_text(table, ra_reach_name((RaReach)share->reach));
    ra_table_real(table, share->time_s);
    ra_table_real(table, share->time_s / makespan_s);
  }
  return table;
}

static RaTable *
make_waiting(const RaSetup *setup, const RaReplay *replay)
{
  g_autoptr(RaWaiting) waiting = ra_waiting_new(replay->sim, replay->graph);
  RaTable *table = ra_table_new("waiting");

  ra_table_column(table, "gpus", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "waited_for", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "task", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "gpu_time_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "share_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  for (guint i = 0; i < waiting->n; i++) {
    const RaWaitingRow *row = &waiting->rows[i];
    double all_s = waiting->n_gpus[row->group] * waiting->makespan_s;

    ra_table_row(table);
    ra_table_text(table, waiting->gpus[row->group]);
    if (row->call == RA_NONE) {
      ra_table_text(table, "(end of the run)");
      ra_table_missing(table);
    } else {
      ra_table_text(table, setup->workload->calls[row->call].name);
      ra_table_text(table, ra_task_kind_name((RaTaskKind)row->task_kind));
    }
    ra_table_real(table, row->gpu_s);
    ra_table_real(table, row->gpu_s / all_s);
  }
  return table;
}

static RaTable *
make_links(const RaReplay *replay)
{
  const RaFlows *flows = ra_sim_flows(replay->sim);
  double makespan_s = ra_sim_result(replay->sim)->makespan_s;
  g_autofree RaLinkBusy *busy = NULL;
  RaTable *table;
  guint n;

  if (!flows)
    return NULL;
  busy = ra_flows_busy(flows, &n);
  table = ra_table_new("links");
  ra_table_column(table, "link", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "busy_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "utilisation_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(table, "late_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  for (guint i = 0; i < n; i++) {
    g_autofree char *name =
        ra_topology_link_name(ra_flows_topology(flows), busy[i].link);

    ra_table_row(table);
    ra_table_text(table, name);
    ra_table_real(table, busy[i].busy_s);
    ra_table_real(table, busy[i].busy_s / makespan_s);
    ra_table_real(table, busy[i].waited_s);
  }
  return table;
}

RaExplain *
ra_explain_new(const RaSetup *setup, const RaReplay *replay)
{
  RaExplain *explain;

  g_return_val_if_fail(setup && replay, NULL);
  explain = g_new0(RaExplain, 1);
  explain->causes = make_causes(setup, replay);
  explain->waiting = make_waiting(setup, replay);
  explain->links = make_links(replay);
  ra_explain_memory(setup, replay, &explain->turns, &explain->holders);
  return explain;
}

void
ra_explain_free(RaExplain *explain)
{
  if (!explain)
    return;
  ra_table_free(explain->causes);
  ra_table_free(explain->waiting);
  ra_table_free(explain->links);
  ra_table_free(explain->turns);
  ra_table_free(explain->holders);
  g_free(explain);
}
