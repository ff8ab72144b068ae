/* Checkpoints that a run starts from and saves. */
#include "config.h"

#include <string.h>

#include "base/error.h"
#include "exec/weights/stored.h"
#include "study/run/run_weights.h"

struct _RaRunWeights {
  RaWeights **of_model; /* (n_models) owned; NULL: none */
  guint n_models;
  gboolean any;
};

/* The model and, behind the `=`, the folder of @word. */
static gboolean
read_word(const RaWorkload *workload, const char *word, uint32_t *out_model,
          const char **out_folder, GError **error)
{
  const char *equals = strchr(word, '=');

  for (uint32_t m = 0; equals && equals[1] && m < workload->n_models; m++) {
    const char *name = workload->models[m].name;

    if (strlen(name) == (gsize)(equals - word) &&
        g_str_has_prefix(word, name)) {
      *out_model = m;
      *out_folder = equals + 1;
      return TRUE;
    }
  }
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "'%s' is not MODEL=FOLDER, expected a model of the workload%s%s",
              word, workload->n_models ? " such as " : "",
              workload->n_models ? workload->models[0].name : "");
  return FALSE;
}

gboolean
ra_run_weights_check_names(const RaWorkload *workload, const char *const *words,
                           GError **error)
{
  g_autofree gboolean *seen = g_new0(gboolean, workload->n_models + 1);
  const char *folder;
  uint32_t model;

  for (guint i = 0; words && words[i]; i++) {
    if (!read_word(workload, words[i], &model, &folder, error))
      return FALSE;
    if (seen[model]) {
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "'%s': model '%s' occurs twice, expected it once", words[i],
                  workload->models[model].name);
      return FALSE;
    }
    if (!ra_stored_supports(workload->models[model].model, error))
      return FALSE;
    seen[model] = TRUE;
  }
  return TRUE;
}

RaRunWeights *
ra_run_weights_new(const RaWorkload *workload, const char *const *words,
                   GError **error)
{
  g_autoptr(RaRunWeights) w = g_new0(RaRunWeights, 1);

  w->n_models = workload->n_models;
  w->of_model = g_new0(RaWeights *, workload->n_models + 1);
  if (!ra_run_weights_check_names(workload, words, error))
    return NULL;
  for (guint i = 0; words && words[i]; i++) {
    const char *folder = NULL;
    uint32_t model = 0;

    if (!read_word(workload, words[i], &model, &folder, error))
      return NULL;
    w->of_model[model] = ra_weights_open(folder, error);
    if (!w->of_model[model] ||
        !ra_weights_check(w->of_model[model], workload->models[model].model,
                          error))
      return NULL;
    w->any = TRUE;
  }
  return g_steal_pointer(&w);
}

void
ra_run_weights_free(RaRunWeights *weights)
{
  if (!weights)
    return;
  for (guint i = 0; i < weights->n_models; i++)
    if (weights->of_model[i])
      ra_weights_free(weights->of_model[i]);
  g_free(weights->of_model);
  g_free(weights);
}

const RaWeights *const *
ra_run_weights_of_models(const RaRunWeights *weights)
{
  return weights->any ? (const RaWeights *const *)weights->of_model : NULL;
}

/* The call whose parameters are the newest of @model. */
static uint32_t
newest_call(const RaWorkload *w, uint32_t model)
{
  uint32_t call = ra_workload_trainer(w, model);

  for (uint32_t i = 0; call == RA_NONE && i < w->n_calls; i++)
    if (w->calls[i].kind != RA_CALL_HOST && w->calls[i].model == model)
      call = i;
  return call;
}

static gboolean
save(const RaExecution *x, uint32_t model, const char *folder, GError **error)
{
  const RaPlan *plan = x->setup->plan;
  uint32_t call = newest_call(plan->workload, model);
  g_autoptr(GPtrArray) parts = g_ptr_array_new();

  for (uint32_t gpu = 0;
       call != RA_NONE && gpu < ra_cluster_n_gpus(plan->cluster); gpu++) {
    const RaParams *params = ra_run_params(x->run, call, gpu);

    if (params)
      g_ptr_array_add(parts, (gpointer)params);
  }
  if (parts->len > 0)
    return ra_weights_write(folder, plan->workload->models[model].model,
                            ra_run_numerics(x->run, model),
                            (const RaParams *const *)(gpointer)parts->pdata,
                            parts->len, 0, error);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
              "no call uses the parameters of model '%s'",
              plan->workload->models[model].name);
  return FALSE;
}

/* TRUE if this process writes. */
static gboolean
is_first(const RaExecution *x)
{
  return !x->options.world || x->options.world->process == 0;
}

gboolean
ra_run_weights_save(const RaExecution *execution, const char *const *words,
                    GError **error)
{
  for (guint i = 0; words && words[i]; i++) {
    const char *folder = NULL;
    uint32_t model = 0;

    gboolean ok;

    if (!read_word(execution->setup->plan->workload, words[i], &model, &folder,
                   error))
      return FALSE;
    ra_run_fetch(execution->run, model);
    ok = !is_first(execution) || save(execution, model, folder, error);
    ra_run_drop(execution->run, model);
    if (!ok)
      return FALSE;
  }
  return TRUE;
}
