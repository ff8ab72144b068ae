/* Table of ReaL's estimates. */
#include "config.h"

#include "estimator/real.h"
#include "graph/input/plan_write.h"
#include "study/real_table.h"

RaTable *
ra_real_table_new(const RaPlan *plan, const RaEstimator *estimator)
{
  const RaWorkload *workload = plan->workload;
  RaTable *table = ra_table_new("real_calls");

  ra_table_column(table, "call", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "strategy", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "time_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "memory_bytes", RA_UNIT_BYTES, RA_CELL_REAL);
  for (guint i = 0; i < workload->n_calls; i++) {
    uint32_t c = workload->order[i];
    g_autofree char *strategy = NULL;
    RaRealCall call;

    if (!ra_real_call_init(&call, plan, c))
      continue;
    strategy = ra_strategy_format(&plan->calls[c]);
    ra_table_row(table);
    ra_table_text(table, workload->calls[c].name);
    ra_table_text(table, strategy);
    ra_table_real(table, ra_real_call_s(estimator, &call));
    ra_table_real(table, ra_real_call_bytes(&call));
  }
  return table;
}
