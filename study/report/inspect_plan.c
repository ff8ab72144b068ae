/* Inspection of plans: calls, batches, memory. */
#include "config.h"

#include <inttypes.h>

#include "graph/augment/layout.h"
#include "graph/input/plan_write.h"
#include "graph/input/residency.h"
#include "study/report/inspect.h"
#include "study/report/outcome.h"

static const char *const schedule_names[] = {"gpipe", "1f1b", "interleaved"};

static gboolean
has_model(const RaPlan *plan, uint32_t call)
{
  return plan->workload->calls[call].model != RA_NONE;
}

/* "20,20,20,20", equal ones as "4 x 20". */
static char *
format_stages(const RaCallPlan *plan)
{
  uint32_t n = plan->pp * plan->n_virtual;
  GString *out = g_string_new(NULL);
  gboolean equal = TRUE;

  for (uint32_t s = 1; s < n; s++)
    equal &= plan->stage_layers[s] == plan->stage_layers[0];
  if (equal && n > 1) {
    g_string_append_printf(out, "%" PRIu32 " x %" PRIu32, n,
                           plan->stage_layers[0]);
    return g_string_free(out, FALSE);
  }
  for (uint32_t s = 0; s < n; s++)
    g_string_append_printf(out, "%s%" PRIu32, s ? "," : "",
                           plan->stage_layers[s]);
  return g_string_free(out, FALSE);
}

static RaTable *
make_calls(const RaPlan *plan)
{
  const RaWorkload *workload = plan->workload;
  RaTable *table = ra_table_new("calls");

  ra_table_column(table, "call", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "mesh", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "gpus", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "strategy", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "schedule", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "stage_layers", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; i < workload->n_calls; i++) {
    uint32_t c = workload->order[i];
    const RaCallPlan *call = &plan->calls[c];
    gboolean trains = workload->calls[c].kind == RA_CALL_TRAIN;
    g_autofree char *mesh =
        call->set ? ra_mesh_format(&call->mesh, plan->cluster) : NULL;
    g_autofree char *strategy =
        has_model(plan, c) ? ra_strategy_format(call) : NULL;
    g_autofree char *stages = has_model(plan, c) ? format_stages(call) : NULL;

    ra_table_row(table);
    ra_table_text(table, workload->calls[c].name);
    ra_table_text(table, mesh ? mesh : "host");
    ra_table_integer(table, mesh ? ra_mesh_n_gpus(&call->mesh) : 0);
    ra_table_text(table, strategy ? strategy : "-");
    ra_table_text(table, trains ? schedule_names[call->schedule] : "-");
    ra_table_text(table, stages ? stages : "-");
  }
  return table;
}

static RaTable *
make_batches(const RaPlan *plan)
{
  const RaWorkload *workload = plan->workload;
  RaTable *table = ra_table_new("batches");

  ra_table_column(table, "call", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "sequences", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "parts", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "per_replica", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "micro_batches", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "per_micro_batch", RA_UNIT_NONE, RA_CELL_INTEGER);
  for (guint i = 0; i < workload->n_calls; i++) {
    uint32_t c = workload->order[i];
    const RaCall *call = &workload->calls[c];
    const RaCallPlan *to = &plan->calls[c];
    /* Parts of a replica's work: a mini-batch, or a piece of one, at a time. */
    uint32_t n_parts = ra_call_plan_n_pieces(call, to);
    uint32_t per_replica;

    if (!has_model(plan, c))
      continue;
    per_replica = call->n_sequences / n_parts / to->dp;
    ra_table_row(table);
    ra_table_text(table, call->name);
    ra_table_integer(table, call->n_sequences);
    ra_table_integer(table, n_parts);
    ra_table_integer(table, per_replica);
    ra_table_integer(table, to->n_micro_batches);
    ra_table_integer(table, per_replica / to->n_micro_batches);
  }
  return table;
}

static void
memory_row(RaTable *table, const RaPlan *plan, uint32_t c)
{
  const RaCall *call = &plan->workload->calls[c];
  const RaCallPlan *to = &plan->calls[c];
  const RaWorkloadModel *model = &plan->workload->models[call->model];
  g_autoptr(RaTensorTable) tensors = ra_tensor_table_new(model->model);
  g_autoptr(RaTensorTable) trained = ra_tensor_table_new(
      call->kind == RA_CALL_TRAIN && model->adapters ? model->adapters
                                                     : model->model);
  double n = ra_layout_most_bytes(tensors, to, 1, 1, NULL);
  double weights = ra_layout_most_bytes(
      tensors, to, ra_dtype_bytes(ra_call_plan_dtype(to, model)),
      ra_call_plan_expert_bytes(to, model), NULL);
  double gradients = 0, state = 0;

  if (call->kind == RA_CALL_TRAIN) {
    n = ra_layout_most_bytes(trained, to, 1, 1, NULL);
    gradients = n * ra_dtype_bytes((RaDtype)to->grad_dtype);
    if (model->optimizer == RA_OPTIMIZER_ADAMW)
      state = ra_layout_most_bytes(
          trained, to, ra_residency_state_bytes(plan, c, FALSE),
          ra_residency_state_bytes(plan, c, TRUE), NULL);
  }
  ra_table_row(table);
  ra_table_text(table, call->name);
  ra_table_integer(table, (uint64_t)n);
  ra_table_real(table, weights);
  ra_table_real(table, gradients);
  ra_table_real(table, state);
  ra_table_real(table, weights + gradients + state);
  ra_table_real(table, (weights + gradients + state) /
                           plan->cluster->device.memory_bytes);
}

static RaTable *
make_memory(const RaPlan *plan)
{
  static const char *const names[] = {"weights_bytes", "gradients_bytes",
                                      "optimizer_bytes", "all_bytes"};
  const RaWorkload *workload = plan->workload;
  RaTable *table = ra_table_new("memory");

  ra_table_column(table, "call", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "parameters", RA_UNIT_NONE, RA_CELL_INTEGER);
  for (guint i = 0; i < G_N_ELEMENTS(names); i++)
    ra_table_column(table, names[i], RA_UNIT_BYTES, RA_CELL_REAL);
  ra_table_column(table, "of_memory_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  for (guint i = 0; i < workload->n_calls; i++) {
    if (has_model(plan, workload->order[i]))
      memory_row(table, plan, workload->order[i]);
  }
  return table;
}

GPtrArray *
ra_inspect_plan(const RaPlan *plan)
{
  GPtrArray *tables =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_table_free);

  g_ptr_array_add(tables, make_calls(plan));
  g_ptr_array_add(tables, make_batches(plan));
  g_ptr_array_add(tables, make_memory(plan));
  g_ptr_array_add(tables, ra_inspect_reallocations(plan));
  g_ptr_array_add(tables, ra_inspect_copies(plan));
  return tables;
}
