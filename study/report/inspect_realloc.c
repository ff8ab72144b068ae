/* Moves of a plan and their results: reallocations, who sends what to
 * whom, copies. */
#include "config.h"

#include "graph/augment/augment.h"
#include "graph/augment/realloc.h"
#include "graph/input/lora.h"
#include "graph/input/residency.h"
#include "study/report/inspect.h"

static const char *const scheme_names[] = {"broadcast", "p2p", "all-gather"};

/* TRUE if training's parameters are reallocated for @call, and not already for
 * a call before it that reads the same copy. */
static gboolean
is_filled(const RaPlan *plan, uint32_t call)
{
  if (plan->workload->calls[call].model == RA_NONE ||
      ra_residency_is_own(plan, call))
    return FALSE;
  for (uint32_t v = 0; v < call; v++)
    if (ra_residency_same_copy(plan, v, call))
      return FALSE;
  return TRUE;
}

/* (transfer full): to @call's layout; @out_trainer: from that call's. */
static RaRealloc *
realloc_to(const RaPlan *plan, uint32_t call, uint32_t *out_trainer)
{
  uint32_t model = plan->workload->calls[call].model;
  const RaWorkloadModel *m = &plan->workload->models[model];

  *out_trainer = ra_workload_trainer(plan->workload, model);
  return ra_realloc_new(ra_lora_moved_model(m, plan->calls[call].residency),
                        ra_dtype_bytes((RaDtype)m->dtype),
                        &plan->calls[*out_trainer], &plan->calls[call],
                        plan->cluster,
                        (RaReallocScheme)plan->calls[call].realloc);
}

RaTable *
ra_inspect_reallocations(const RaPlan *plan)
{
  static const char *const bytes[] = {"moved_bytes", "in_place_bytes",
                                      "per_gpu_intra_bytes",
                                      "per_gpu_inter_bytes"};
  RaTable *table = ra_table_new("reallocations");

  ra_table_column(table, "from", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "to", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "scheme", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; i < G_N_ELEMENTS(bytes); i++)
    ra_table_column(table, bytes[i], RA_UNIT_BYTES, RA_CELL_REAL);
  ra_table_column(table, "flows", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "max_per_gpu", RA_UNIT_NONE, RA_CELL_INTEGER);
  for (uint32_t call = 0; call < plan->workload->n_calls; call++) {
    g_autoptr(RaRealloc) r = NULL;
    uint32_t trainer;
    if (!is_filled(plan, call))
      continue;
    r = realloc_to(plan, call, &trainer);
    ra_table_row(table);
    ra_table_text(table, plan->workload->calls[trainer].name);
    ra_table_text(table, plan->workload->calls[call].name);
    ra_table_text(table, scheme_names[plan->calls[call].realloc]);
    ra_table_real(table, (double)r->load.total_bytes);
    ra_table_real(table, (double)r->load.held_bytes);
    ra_table_real(table, (double)r->load.max_intra_bytes);
    ra_table_real(table, (double)r->load.max_inter_bytes);
    ra_table_integer(table, r->n_moves);
    ra_table_integer(table, r->load.n_steps);
  }
  return table;
}

RaTable *
ra_inspect_moves(const RaPlan *plan)
{
  RaTable *table = ra_table_new("moves");

  ra_table_column(table, "from", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "to", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "from_gpu", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "to_gpu", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "bytes", RA_UNIT_BYTES, RA_CELL_REAL);
  for (uint32_t call = 0; call < plan->workload->n_calls; call++) {
    g_autoptr(RaRealloc) r = NULL;
    uint32_t trainer;
    if (!is_filled(plan, call))
      continue;
    r = realloc_to(plan, call, &trainer);
    for (gsize i = 0; i < r->n_moves; i++) {
      ra_table_row(table);
      ra_table_text(table, plan->workload->calls[trainer].name);
      ra_table_text(table, plan->workload->calls[call].name);
      ra_table_integer(table, r->moves[i].from);
      ra_table_integer(table, r->moves[i].to);
      ra_table_real(table, (double)r->moves[i].bytes);
    }
  }
  return table;
}

RaTable *
ra_inspect_copies(const RaPlan *plan)
{
  /* In the second iteration everything that moves has moved once. */
  g_autoptr(RaAugmented) a = ra_augment(plan, 2);
  RaTable *table = ra_table_new("copies");

  ra_table_column(table, "model", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "layout_of", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "what", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "memory", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "from", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "until", RA_UNIT_NONE, RA_CELL_TEXT);
  for (uint32_t i = 0; i < a->n_copies; i++) {
    const RaCopy *copy = &a->copies[i];
    g_autofree char *last =
        copy->last == RA_NONE ? NULL : ra_node_name(a, copy->last);
    g_autofree char *first =
        copy->first == RA_NONE ? NULL : ra_node_name(a, copy->first);
    ra_table_row(table);
    ra_table_text(table, plan->workload->models[copy->model].name);
    ra_table_text(table, plan->workload->calls[copy->call].name);
    ra_table_text(table,
                  copy->what == RA_COPY_OPTIMIZER ? "optimizer" : "parameters");
    ra_table_text(table, copy->pinned ? "host" : "gpu");
    ra_table_text(table, first ? first : "begin");
    ra_table_text(table, last ? last : "end");
  }
  return table;
}
