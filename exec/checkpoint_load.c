/* Loading of checkpoints: a run resumes. */
#include "config.h"

#include <string.h>

#include "exec/checkpoint.h"
#include "exec/run_impl.h"
#include "exec/weights/safetensors.h"

static G_GNUC_PRINTF(3, 4) gboolean
    fail(const char *path, GError **error, const char *format, ...)
{
  g_autofree char *text = NULL;
  va_list args;

  va_start(args, format);
  text = g_strdup_vprintf(format, args);
  va_end(args);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s: %s", path, text);
  return FALSE;
}

/* The tensor that the file has for @name of an array. */
static const RaSafetensor *
find(const RaSafetensors *file, const char *lead, const char *name)
{
  g_autofree char *whole = g_strconcat(lead, name, NULL);

  return ra_safetensors_find(file, whole);
}

/* TRUE if all tensors of @model are there behind @lead, with their shapes. */
static gboolean
check_arrays(const char *path, const RaSafetensors *file, const RaModel *model,
             const char *lead, GError **error)
{
  for (uint32_t i = 0; i < ra_model_n_tensors(model); i++) {
    const RaSafetensor *t;
    RaTensor tensor;

    ra_model_tensor(model, i, &tensor);
    t = find(file, lead, tensor.name);
    if (!t)
      return fail(path, error, "no array '%s%s'", lead, tensor.name);
    if (t->type != RA_SAFETENSOR_F32 || t->n_dims != 2 ||
        t->dims[0] != tensor.rows || t->dims[1] != tensor.cols)
      return fail(path, error,
                  "array '%s%s' is not F32, %" G_GUINT64_FORMAT
                  " x %" G_GUINT64_FORMAT,
                  lead, tensor.name, tensor.rows, tensor.cols);
  }
  return TRUE;
}

/* Reads @params' part of array @which, from arrays that have been checked. */
static void
fill(const RaSafetensors *file, const char *lead, RaParams *params,
     RaParamsArray which)
{
  for (uint32_t k = 0; k < params->n_params; k++) {
    const RaParam *p = &params->params[k];
    const RaSafetensor *t = find(file, lead, p->tensor.name);
    gsize at;
    RaSpan held = ra_param_held(params, p, which, &at);
    g_autofree float *part = g_new(float, p->rect.n_cols + 1);

    for (gsize i = held.begin; i < held.end;) {
      gsize row = i / p->rect.n_cols, col = i % p->rect.n_cols;
      gsize n = MIN(p->rect.n_cols - col, held.end - i);

      ra_safetensor_floats(
          t, (p->rect.row + row) * p->tensor.cols + p->rect.col + col, n, part);
      ra_params_write(params, which, at + i - held.begin, n, part);
      i += n;
    }
  }
}

/* Reads the versions up to @n that @call keeps, on every rank. */
static gboolean
fill_call(RaRun *run, uint32_t call, uint32_t n, const char *path,
          const RaSafetensors *file, GError **error)
{
  const RaModel *model =
      run->workload->models[run->workload->calls[call].model].model;
  uint32_t n_versions = 0;

  for (uint32_t r = 0; r < run->n_ranks; r++)
    if (run->ranks[r].calls[call].is_in)
      n_versions = run->ranks[r].calls[call].n_versions;
  for (uint32_t lag = 0; lag < n_versions && lag <= n; lag++) {
    g_autofree char *lead =
        lag == 0 ? g_strdup("") : g_strdup_printf("behind-%u.", lag);

    if (!check_arrays(path, file, model, lead, error))
      return FALSE;
    for (uint32_t r = 0; r < run->n_ranks; r++) {
      RaRankCall *c = &run->ranks[r].calls[call];

      if (c->is_in && ra_run_is_here(run, r))
        fill(file, lead, c->params[ra_checkpoint_slot(c, n - lag, n)],
             RA_PARAMS_WEIGHTS);
    }
  }
  return TRUE;
}

/* Moments and steps of the call that trains. */
static gboolean
fill_trainer(RaRun *run, uint32_t call, uint32_t n, uint64_t n_steps,
             const char *path, const RaSafetensors *file, GError **error)
{
  static const char *const leads[] = {"", "first.", "second."};
  const RaModel *model =
      run->workload->models[run->workload->calls[call].model].model;

  for (uint32_t a = RA_PARAMS_FIRST; a < RA_N_PARAMS_ARRAYS; a++)
    if (!check_arrays(path, file, model, leads[a], error))
      return FALSE;
  for (uint32_t r = 0; r < run->n_ranks; r++) {
    RaRankCall *c = &run->ranks[r].calls[call];

    if (!c->is_in || !ra_run_is_here(run, r))
      continue;
    fill(file, leads[RA_PARAMS_FIRST], c->params[0], RA_PARAMS_FIRST);
    fill(file, leads[RA_PARAMS_SECOND], c->params[0], RA_PARAMS_SECOND);
    c->n_steps = n_steps;
    c->n_left = n;
  }
  return TRUE;
}

/* A whole number in the head of a file. */
static gboolean
read_count(const char *path, const RaSafetensors *file, const char *key,
           guint64 *out, GError **error)
{
  const char *text = ra_safetensors_metadata(file, key);

  return (text &&
          g_ascii_string_to_unsigned(text, 10, 0, G_MAXUINT64, out, NULL)) ||
         fail(path, error, "its metadata have no '%s'", key);
}

/* Another workload would go on with what this one has learnt, and its
 * checkpoints would stand among those of this one. */
static gboolean
check_workload(const RaRun *run, const char *path, const RaSafetensors *file,
               GError **error)
{
  g_autofree char *own = g_strdup_printf("%016" G_GINT64_MODIFIER "x",
                                         ra_workload_hash(run->workload));

  return run->options.anyway ||
         g_strcmp0(ra_safetensors_metadata(file, "workload"), own) == 0 ||
         fail(path, error,
              "it is of another workload, or of another version of this one, "
              "expected the same (--anyway goes on with it)");
}

static gboolean
load_model(RaRun *run, const char *folder, uint32_t model, uint32_t n,
           GError **error)
{
  uint32_t trainer = ra_workload_trainer(run->workload, model);
  const char *model_name = run->workload->models[model].name;
  g_autofree char *name = g_strconcat(model_name, ".safetensors", NULL);
  g_autofree char *path = g_build_filename(folder, name, NULL);
  g_autoptr(RaSafetensors) file = ra_safetensors_open(path, error);
  guint64 iterations, seed, steps;

  if (!file || !read_count(path, file, "iterations", &iterations, error) ||
      !read_count(path, file, "seed", &seed, error) ||
      !read_count(path, file, "steps", &steps, error))
    return FALSE;
  if (iterations != n)
    return fail(path, error,
                "it has %" G_GUINT64_FORMAT
                " iterations, its folder is named %u",
                iterations, n);
  if (seed != run->options.seed)
    return fail(path, error,
                "it was written with seed %" G_GUINT64_FORMAT
                ", expected %" G_GUINT64_FORMAT,
                seed, run->options.seed);
  if (!check_workload(run, path, file, error))
    return FALSE;
  if (trainer == RA_NONE && run->world && run->world->process > 0)
    return TRUE; /* process 0 has all of it */
  if (trainer == RA_NONE) {
    g_autofree char *sum = ra_checkpoint_frozen_sum(run, model);

    return g_strcmp0(ra_safetensors_metadata(file, "sha256"), sum) == 0 ||
           fail(path, error,
                "model '%s', which is not trained, has other parameters than "
                "at the start of the run",
                model_name);
  }
  for (uint32_t call = 0; call < run->workload->n_calls; call++)
    if (run->workload->calls[call].kind != RA_CALL_HOST &&
        run->workload->calls[call].model == model &&
        !fill_call(run, call, n, path, file, error))
      return FALSE;
  return fill_trainer(run, trainer, n, steps, path, file, error);
}

/* Iterations before @n are done. */
static void
skip(RaRun *run, uint32_t n)
{
  run->first_iteration = n;
  for (RaTaskId t = 0; t < run->graph->n_tasks; t++)
    if (ra_run_node(run, t)->iteration < n)
      atomic_store(&run->n_ended[t], run->n_needed[t]);
  for (uint32_t i = 0; i < run->n_ranks; i++)
    if (ra_run_is_here(run, i))
      ra_rank_skip_parts(&run->ranks[i], n);
}

gboolean
ra_checkpoint_load(RaRun *run, const char *folder, GError **error)
{
  uint32_t n = 0;
  g_autofree char *path = ra_checkpoint_last(folder, &n);

  if (!path)
    return fail(folder, error, "there is no checkpoint");
  if (n >= run->graph->augmented->n_iterations)
    return fail(path, error,
                "it has %u iterations, expected fewer than the %u of the run",
                n, run->graph->augmented->n_iterations);
  for (uint32_t m = 0; m < run->workload->n_models; m++) {
    gboolean is_frozen = ra_workload_trainer(run->workload, m) == RA_NONE;

    if (is_frozen)
      ra_run_fetch(run, m);
    if (!load_model(run, path, m, n, error))
      return FALSE;
    if (is_frozen)
      ra_run_drop(run, m);
  }
  skip(run, n);
  return TRUE;
}
