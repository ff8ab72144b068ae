/* Inspection of workloads. */
#include "config.h"

#include <math.h>

#include "graph/input/trips.h"
#include "graph/input/turns.h"
#include "graph/op/op.h"
#include "study/report/inspect.h"

static const char *const kind_names[] = {"generate", "inference", "train",
                                         "host"};
static const char *const dtype_names[RA_N_DTYPES] = {"bf16", "fp16", "fp32",
                                                     "fp8"};

static RaTable *
make_workload(const RaWorkload *workload)
{
  RaTable *table = ra_table_new("workload");

  ra_table_column(table, "algorithm", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "prompts", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "mean_prompt_tokens", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "mean_response_tokens", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "max_sequence_tokens", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_row(table);
  ra_table_text(table, workload->algorithm);
  ra_table_integer(table, workload->n_prompts);
  ra_table_real(table, ra_length_mean(&workload->prompt_length));
  ra_table_real(table, ra_length_mean(&workload->response_length));
  ra_table_integer(table, workload->prompt_length.max_tokens +
                              ra_turns_max_tokens(workload));
  return table;
}

static RaTable *
make_models(const RaWorkload *workload)
{
  RaTable *table = ra_table_new("models");

  ra_table_column(table, "model", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "config", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "head", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "trained", RA_UNIT_NONE, RA_CELL_TRUTH);
  ra_table_column(table, "dtype", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "parameters", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "weights_bytes", RA_UNIT_BYTES, RA_CELL_INTEGER);
  for (guint m = 0; m < workload->n_models; m++) {
    const RaWorkloadModel *model = &workload->models[m];
    guint64 n_params = ra_model_n_params(model->model);

    ra_table_row(table);
    ra_table_text(table, model->name);
    ra_table_text(table, model->model->name);
    ra_table_text(table, model->head == RA_HEAD_LM ? "lm" : "value");
    ra_table_truth(table, model->trainable);
    ra_table_text(table, dtype_names[model->dtype]);
    ra_table_integer(table, n_params);
    ra_table_integer(table, n_params * ra_dtype_bytes((RaDtype)model->dtype));
  }
  return table;
}

/* Expected tokens of one sequence of @workload. */
static double
sequence_tokens(const RaWorkload *workload)
{
  return ra_length_mean(&workload->prompt_length) +
         ra_turns_mean_tokens(workload);
}

/* A table of what the models' shapes leave out, if there is such. */
static void
add_notes(const RaWorkload *workload, GPtrArray *tables)
{
  RaTable *table = ra_table_new("notes");

  ra_table_column(table, "model", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "note", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint m = 0; m < workload->n_models; m++) {
    const GPtrArray *notes = workload->models[m].model->notes;

    for (guint i = 0; notes && i < notes->len; i++) {
      ra_table_row(table);
      ra_table_text(table, workload->models[m].name);
      ra_table_text(table, notes->pdata[i]);
    }
  }
  if (ra_table_n_rows(table) > 0)
    g_ptr_array_add(tables, table);
  else
    ra_table_free(table);
}

/* FLOP of sequences of the expected length. A generated token costs what it
 * would in one pass over the finished sequence; backward costs twice forward.
 */
static double
call_flop(const RaWorkload *workload, const RaCall *call)
{
  uint64_t n = (uint64_t)llround(sequence_tokens(workload));
  RaBatch batch = {.n_sequences = 1,
                   .q_tokens = n,
                   .kv_tokens = n,
                   .pairs = n * (n + 1) / 2};
  uint64_t p = (uint64_t)llround(ra_length_mean(&workload->prompt_length));
  RaBatch prompt = {.n_sequences = 1,
                    .q_tokens = p,
                    .kv_tokens = p,
                    .pairs = p * (p + 1) / 2};
  const RaModel *model;
  double flop;

  if (call->model == RA_NONE)
    return 0;
  model = workload->models[call->model].model;
  flop = ra_model_forward_flop(model, &batch);
  if (call->kind == RA_CALL_GENERATE) /* logits of generated tokens alone */
    flop += ra_model_prefill_flop(model, &prompt) -
            ra_model_forward_flop(model, &prompt);
  if (call->kind == RA_CALL_TRAIN)
    flop = call->n_epochs * ra_model_train_flop(model, &batch);
  return call->n_sequences * flop;
}

static RaTable *
make_calls(const RaWorkload *workload)
{
  RaTable *table = ra_table_new("calls");

  ra_table_column(table, "call", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "kind", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "model", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "sequences", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "steps", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "parts", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "staleness", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "tokens", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "flop", RA_UNIT_NONE, RA_CELL_REAL);
  for (guint i = 0; i < workload->n_calls; i++) {
    const RaCall *call = &workload->calls[workload->order[i]];

    ra_table_row(table);
    ra_table_text(table, call->name);
    ra_table_text(table, kind_names[call->kind]);
    ra_table_text(table, call->model == RA_NONE
                             ? "-"
                             : workload->models[call->model].name);
    ra_table_integer(table, call->n_sequences);
    if (call->kind == RA_CALL_TRAIN)
      ra_table_integer(table, (uint64_t)call->n_epochs * call->n_mini_batches);
    else
      ra_table_missing(table);
    ra_table_integer(table, call->n_parts);
    ra_table_integer(table, call->staleness);
    ra_table_real(table, call->n_sequences * sequence_tokens(workload));
    if (call->model == RA_NONE)
      ra_table_missing(table);
    else
      ra_table_real(table, call_flop(workload, call));
  }
  return table;
}

static RaTable *
make_edges(const RaWorkload *workload)
{
  RaTable *table = ra_table_new("edges");

  ra_table_column(table, "data", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "from", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "to", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "chunks", RA_UNIT_NONE, RA_CELL_INTEGER);
  for (guint i = 0; i < workload->n_calls; i++) {
    const RaCall *call = &workload->calls[workload->order[i]];

    for (guint j = 0; j < call->n_inputs; j++) {
      const RaInput *input = &call->inputs[j];

      ra_table_row(table);
      ra_table_text(table, input->data);
      ra_table_text(table, input->producer == RA_NONE
                               ? "(dataset)"
                               : workload->calls[input->producer].name);
      ra_table_text(table, call->name);
      ra_table_integer(table, input->n_chunks);
    }
  }
  return table;
}

static RaTable *
make_trips(const RaWorkload *workload)
{
  RaTable *table = ra_table_new("trips");
  g_autoptr(GString) calls = g_string_new(NULL);

  ra_table_column(table, "trip_prompts", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "pass_rate", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "max_trips", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "expected_trips", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "calls", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; i < workload->n_calls; i++)
    if (workload->calls[workload->order[i]].each_trip)
      g_string_append_printf(calls, "%s%s", calls->len ? "," : "",
                             workload->calls[workload->order[i]].name);
  ra_table_row(table);
  ra_table_integer(table, workload->n_trip_prompts);
  ra_table_real(table, workload->pass_rate);
  ra_table_integer(table, workload->max_trips);
  ra_table_real(table, ra_trips_expected(workload));
  ra_table_text(table, calls->str);
  return table;
}

static RaTable *
make_turns(const RaWorkload *workload)
{
  static const char *const laws[] = {"constant", "exponential", "lognormal"};
  RaTable *table = ra_table_new("turns");

  ra_table_column(table, "mean_turns", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "max_turns", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "mean_tool_tokens", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_column(table, "tool_latency", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "mean_latency_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(table, "mean_tokens", RA_UNIT_NONE, RA_CELL_REAL);
  ra_table_row(table);
  ra_table_real(table, ra_length_mean(&workload->turns));
  ra_table_integer(table, workload->turns.max_tokens);
  ra_table_real(table, ra_length_mean(&workload->tool_tokens));
  ra_table_text(table, laws[workload->tool_latency.kind]);
  ra_table_real(table, workload->tool_latency.mean_s);
  ra_table_real(table, sequence_tokens(workload));
  return table;
}

GPtrArray *
ra_inspect_workload(const RaWorkload *workload)
{
  GPtrArray *tables =
      g_ptr_array_new_with_free_func((GDestroyNotify)ra_table_free);

  g_ptr_array_add(tables, make_workload(workload));
  if (ra_trips_are_set(workload))
    g_ptr_array_add(tables, make_trips(workload));
  if (ra_turns_are_set(workload))
    g_ptr_array_add(tables, make_turns(workload));
  g_ptr_array_add(tables, make_models(workload));
  add_notes(workload, tables);
  g_ptr_array_add(tables, make_calls(workload));
  g_ptr_array_add(tables, make_edges(workload));
  return tables;
}
