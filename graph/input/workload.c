/* A workload: loading, checking, asking.  graph/input/workload_read.c reads its
 * groups, graph/input/dataflow.c connects them. */
#include "config.h"

#include "graph/input/dataflow.h"
#include "graph/input/trips.h"
#include "graph/input/turns.h"
#include "graph/input/workload_read.h"

guint
ra_dtype_bytes(RaDtype dtype)
{
  static const guint bytes[RA_N_DTYPES] = {2, 2, 4, 1};

  g_return_val_if_fail(dtype < RA_N_DTYPES, 0);
  return bytes[dtype];
}

RaDtype
ra_activation_dtype(RaDtype dtype)
{
  return dtype == RA_DTYPE_FP8 ? RA_DTYPE_BF16 : dtype;
}

/* Refuses models that no call uses or trains, and staleness without effect. */
static gboolean
check_use(const RaWorkload *workload, const RaWorkloadKeys *common,
          GError **error)
{
  gboolean lags = common->staleness == 0;

  for (uint32_t i = 0; i < workload->n_models; i++) {
    const RaWorkloadModel *model = &workload->models[i];
    gboolean used = FALSE;

    for (guint j = 0; j < workload->n_calls; j++)
      used = used || workload->calls[j].model == i;
    if (!used)
      return ra_key_file_fail(workload->file, model->group, NULL, error,
                              "no call uses [model %s], expected at least one",
                              model->name);
    if (model->trainable && ra_workload_trainer(workload, i) == RA_NONE)
      return ra_key_file_fail(workload->file, model->group, "trainable", error,
                              "'trainable' is true but no call trains '%s', "
                              "expected a call of kind train",
                              model->name);
  }
  for (guint i = 0; i < workload->n_calls; i++)
    lags = lags || workload->calls[i].staleness > 0;
  return lags ||
         ra_key_file_fail(workload->file, common->group, "staleness", error,
                          "'staleness' is %u but no generate call "
                          "has a trained model, expected 0",
                          common->staleness);
}

/* A model with a table of positions has no row for longer sequences. */
static gboolean
check_positions(const RaWorkload *workload, guint group, GError **error)
{
  uint64_t longest =
      workload->prompt_length.max_tokens + ra_turns_max_tokens(workload);

  for (guint i = 0; i < workload->n_models; i++) {
    const RaModel *model = workload->models[i].model;

    if (model->position == RA_POSITION_LEARNED &&
        longest > model->max_positions)
      return ra_key_file_fail(
          workload->file, group, "response-length", error,
          "the longest prompt and response are %" G_GUINT64_FORMAT
          " tokens, expected at most %u, the learned positions of '%s'",
          longest, model->max_positions, workload->models[i].name);
  }
  return TRUE;
}

RaWorkload *
ra_workload_load(RaKeyFile *file, GError **error)
{
  static const char *const nouns[] = {"workload!", "model *", "call *", NULL};
  g_autoptr(RaWorkload) workload = NULL;
  RaWorkloadKeys common = {0};

  g_return_val_if_fail(file != NULL, NULL);
  if (!ra_key_file_check_nouns(file, nouns, error))
    return NULL;
  workload = g_new0(RaWorkload, 1);
  workload->file = ra_key_file_ref(file);
  workload->texts = g_string_chunk_new(256);
  if (!ra_workload_read_groups(workload, &common, error) ||
      !ra_dataflow_connect(workload, common.dataset, error) ||
      !ra_trips_check(workload, error) ||
      !check_use(workload, &common, error) ||
      !ra_dataflow_batch(workload, error) ||
      !check_positions(workload, common.group, error) ||
      !ra_workload_check_data(workload, common.group, error))
    return NULL;
  return g_steal_pointer(&workload);
}

static void
clear_model(RaWorkloadModel *model)
{
  ra_model_free(model->model);
  ra_model_free(model->base);
  ra_model_free(model->adapters);
}

void
ra_workload_free(RaWorkload *workload)
{
  if (!workload)
    return;
  for (guint i = 0; i < workload->n_models; i++)
    clear_model(&workload->models[i]);
  for (guint i = 0; i < workload->n_calls; i++)
    g_free(workload->calls[i].inputs);
  ra_length_clear(&workload->prompt_length);
  ra_length_clear(&workload->response_length);
  ra_length_clear(&workload->turns);
  ra_text_data_free(workload->data);
  ra_length_clear(&workload->tool_tokens);
  g_free(workload->models);
  g_free(workload->calls);
  g_free(workload->order);
  g_string_chunk_free(workload->texts);
  ra_key_file_unref(workload->file);
  g_free(workload);
}

uint32_t
ra_workload_find_call(const RaWorkload *workload, const char *name)
{
  g_return_val_if_fail(workload != NULL && name != NULL, RA_NONE);
  for (guint i = 0; i < workload->n_calls; i++) {
    if (g_str_equal(workload->calls[i].name, name))
      return i;
  }
  return RA_NONE;
}

uint32_t
ra_workload_find_model(const RaWorkload *workload, const char *name)
{
  g_return_val_if_fail(workload != NULL && name != NULL, RA_NONE);
  for (guint i = 0; i < workload->n_models; i++) {
    if (g_str_equal(workload->models[i].name, name))
      return i;
  }
  return RA_NONE;
}

guint
ra_workload_place(const RaWorkload *workload, uint32_t call)
{
  guint place = 0;

  while (workload->order[place] != call)
    place++;
  return place;
}

uint32_t
ra_workload_trainer(const RaWorkload *workload, uint32_t model)
{
  g_return_val_if_fail(workload != NULL, RA_NONE);
  for (guint i = workload->n_calls; i-- > 0;) {
    const RaCall *call = &workload->calls[workload->order[i]];

    if (call->kind == RA_CALL_TRAIN && call->model == model)
      return workload->order[i];
  }
  return RA_NONE;
}

uint64_t
ra_workload_hash(const RaWorkload *workload)
{
  return ra_key_file_hash(workload->file);
}
