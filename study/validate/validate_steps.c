/* Sets of published RL steps: whole steps and their phases. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "study/convert/response_length.h"
#include "study/validate/step_row.h"
#include "study/validate/validate_impl.h"

/* Pairs of layouts that differ by less say nothing of their order. */
#define ORDER_FRAC 0.08
/* Prompts of a row that has their maximum alone, as import assumes it; answers
 * that are all as long as the engine lets them say nothing of their length. */
#define PROMPT_FRAC 0.10
#define FULL_FRAC 0.999

/* A row, and what is predicted of it. */
typedef struct {
  RaStepRow row;
  RaStepTimes predicted;
  RaDoubt doubt; /* of the prediction; owned */
  gboolean is_moe;
  char *reason; /* owned, nullable: why there is no prediction */
} Step;

static void
step_clear(gpointer data)
{
  g_free(((Step *)data)->reason);
  ra_doubt_clear(&((Step *)data)->doubt);
}

/* ---- Predictions, made once for all sets --------------------------------- */

/* Models with experts, of rows that have no setup to tell. */
static gboolean
sounds_moe(const RaStepRow *row)
{
  static const char *const words[] = {"A3B",   "A22B",    "A4B",
                                      "MoE",   "gpt-oss", "V3",
                                      "GLM-5", "Mixtral", "Kimi-K2"};

  for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
    if (ra_published_says(row, RA_STEP_CELL_MODEL, words[i]))
      return TRUE;
  }
  return FALSE;
}

static gboolean
has_experts(const RaSetup *setup)
{
  for (guint i = 0; i < setup->workload->n_models; i++) {
    if (setup->workload->models[i].model->n_experts > 0)
      return TRUE;
  }
  return FALSE;
}

static void
predict(Step *step)
{
  g_autoptr(GError) error = NULL;
  g_autoptr(RaSetup) setup = ra_published_setup(&step->row, NULL, &error);

  step->is_moe = setup ? has_experts(setup) : sounds_moe(&step->row);
  if (!setup || !ra_step_times(setup, &step->predicted, &step->doubt, &error)) {
    step->reason = g_strdup(error->message);
    return;
  }
  ra_published_fold(&step->row, &step->predicted);
}

static void
predict_one(gpointer data, gpointer user_data)
{
  predict(data);
}

/* Rows of all @folders. */
static GArray *
read_all(const char *const *folders, GError **error)
{
  g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(RaStepRow));

  for (guint i = 0; folders[i]; i++) {
    g_autoptr(GArray) rows = ra_published_rows(folders[i], error);

    if (!rows)
      return NULL;
    g_array_append_vals(all, rows->data, rows->len);
  }
  return g_steal_pointer(&all);
}

static GArray *
predict_all(const char *const *folders, GError **error)
{
  g_autoptr(GArray) rows = read_all(folders, error);
  GThreadPool *pool;
  GArray *steps;

  if (!rows)
    return NULL;
  steps = g_array_sized_new(FALSE, TRUE, sizeof(Step), rows->len);
  g_array_set_clear_func(steps, step_clear);
  g_array_set_size(steps, rows->len);
  pool = g_thread_pool_new(predict_one, NULL, (gint)g_get_num_processors(),
                           FALSE, NULL);
  for (guint i = 0; i < rows->len; i++) {
    Step *step = &g_array_index(steps, Step, i);

    step->row = g_array_index(rows, RaStepRow, i);
    g_thread_pool_push(pool, step, NULL);
  }
  g_thread_pool_free(pool, FALSE, TRUE);
  return steps;
}

/* (transfer none) (nullable): those of the job's folders. */
static const GArray *
steps_of(RaValidateJob *job, GError **error)
{
  RaValidateShared *shared = job->shared;
  const GArray *steps;

  g_mutex_lock(&shared->mutex);
  if (!shared->steps)
    shared->steps = predict_all(job->folders, error);
  steps = shared->steps;
  g_mutex_unlock(&shared->mutex);
  return steps;
}

/* ---- Sets ---------------------------------------------------------------- */

static gboolean
is_whole(const Step *step)
{
  return g_str_equal(step->row.cell[RA_STEP_CELL_COMPLETENESS], "A");
}

static gboolean
is_attributed(const Step *step)
{
  return g_str_equal(step->row.cell[RA_STEP_CELL_PROVENANCE], "attributed");
}

static gboolean
belongs(const RaValidateStep *what, const Step *step)
{
  gboolean lags = ra_published_lags(&step->row);

  if (what->rows == RA_VALIDATE_STEPS_INDEX)
    return !is_attributed(step);
  if (!is_attributed(step))
    return FALSE;
  if (what->rows == RA_VALIDATE_STEPS_PARTIAL)
    return !is_whole(step);
  if (!is_whole(step))
    return FALSE;
  switch (what->rows) {
  case RA_VALIDATE_STEPS_DENSE:
    return !lags && !step->is_moe;
  case RA_VALIDATE_STEPS_MOE:
    return !lags && step->is_moe;
  case RA_VALIDATE_STEPS_ASYNC:
    return lags;
  default:
    return TRUE;
  }
}

/* Lengths within a twentieth are one work. */
static int
bucket(double tokens)
{
  return tokens > 0 ? (int)floor(log(tokens) / log(1.05)) : -1;
}

/* (transfer full): rows of one work, whose layouts compete. */
static char *
work_of(const RaStepRow *row)
{
  return g_strdup_printf(
      "%s|%s|%s|%u|%u|%u|%d|%g|%s", row->cell[RA_STEP_CELL_SOURCE],
      row->cell[RA_STEP_CELL_MODEL], row->cell[RA_STEP_CELL_GPU], row->n_gpus,
      row->n_prompts, row->n_samples, bucket(row->response_mean),
      row->response_max, row->cell[RA_STEP_CELL_PLACEMENT]);
}

/* (transfer full): rows of one configuration, which repeat each other. */
static char *
repeat_of(const RaStepRow *row)
{
  g_autofree char *work = work_of(row);

  return g_strdup_printf("%s|%u|%u|%s|%u|%u|%s|%s|%s|%s|%g", work, row->tp,
                         row->pp, row->cell[RA_STEP_CELL_CP], row->ep,
                         row->rollout_tp, row->cell[RA_STEP_CELL_BACKEND],
                         row->cell[RA_STEP_CELL_ENGINE],
                         row->cell[RA_STEP_CELL_MICRO],
                         row->cell[RA_STEP_CELL_RECOMPUTE], row->memory_frac);
}

static const char *
part_of(const Step *step)
{
  const char *gpu = step->row.cell[RA_STEP_CELL_GPU];
  gsize n = strcspn(gpu, " -");
  g_autofree char *name = g_strdup_printf(
      "%s, %.*s, %s, %s", step->row.cell[RA_STEP_CELL_FRAMEWORK], (int)n, gpu,
      step->is_moe ? "MoE" : "dense",
      ra_published_lags(&step->row) ? "asynchronous" : "in turn");

  return g_intern_string(name);
}

static void
add_step(const RaValidateStep *what, const Step *step, RaValidateJob *job)
{
  RaValidateRow out = {RA_VALIDATE_ROW, .file = step->row.file,
                       .line = step->row.line,
                       .measured = step->row.measured.s[what->phase],
                       .predicted = step->predicted.s[what->phase]};

  if (out.measured <= 0 || out.predicted <= 0)
    return;
  out.name = ra_published_name(&step->row);
  out.repeat = repeat_of(&step->row);
  out.group = work_of(&step->row);
  out.apart_frac = ORDER_FRAC;
  if (what->rows == RA_VALIDATE_STEPS_PARTS)
    out.part = part_of(step);
  ra_validate_add(job, out);
}

/* How many rows with all that a plan needs are predicted. */
static void
note_coverage(const GArray *steps, RaValidateJob *job)
{
  guint n = 0, n_predicted = 0;

  for (guint i = 0; i < steps->len; i++) {
    const Step *step = &g_array_index(steps, Step, i);

    if (!is_attributed(step) || !is_whole(step) ||
        !ra_published_has_profile(&step->row))
      continue;
    n++;
    n_predicted += step->reason == NULL;
  }
  ra_validate_note(job,
                   "%u of %u attributed rows with layout, batch and lengths "
                   "on GPUs with a profile are predicted",
                   n_predicted, n);
}

gboolean
ra_validate_steps(const RaValidateLevel *level, RaValidateJob *job,
                  GError **error)
{
  const RaValidateStep *what = level->argument;
  const GArray *steps = steps_of(job, error);
  guint n_open = 0, n = 0;

  if (!steps)
    return FALSE;
  if (steps->len == 0)
    return TRUE;
  for (guint i = 0; i < steps->len; i++) {
    const Step *step = &g_array_index(steps, Step, i);
    g_autofree char *name = NULL;

    if (!belongs(what, step))
      continue;
    n++;
    if (!step->reason) {
      add_step(what, step, job);
      continue;
    }
    n_open++;
    name = ra_published_name(&step->row);
    if (what->lists)
      ra_validate_note(job, "%s: not predicted: %s", name, step->reason);
  }
  if (what->lists)
    ra_validate_note(job, "%u of %u rows are not predicted", n_open, n);
  if (what->rows == RA_VALIDATE_STEPS_PARTS)
    note_coverage(steps, job);
  return TRUE;
}

/* ---- Lengths ------------------------------------------------------------- */

/* Mean tokens of the row's responses; 0: not known, or all of the maximum. */
static double
mean_of(const RaStepRow *row)
{
  double n = (double)row->n_prompts * row->n_samples, mean = row->response_mean;
  double prompt =
      row->prompt_mean > 0 ? row->prompt_mean : PROMPT_FRAC * row->prompt_max;

  if (mean <= 0 && n > 0 && row->total_tokens / n > prompt)
    mean = row->total_tokens / n - prompt;
  return mean < FULL_FRAC * row->response_max ? mean : 0;
}

gboolean
ra_validate_step_lengths(const RaValidateLevel *level, RaValidateJob *job,
                         GError **error)
{
  g_autoptr(GArray) rows = read_all(job->folders, error);
  g_autoptr(GHashTable) seen =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

  for (guint i = 0; rows && i < rows->len; i++) {
    const RaStepRow *row = &g_array_index(rows, RaStepRow, i);
    const char *model = row->cell[RA_STEP_CELL_MODEL];
    RaValidateRow out = {RA_VALIDATE_ROW, .file = row->file, .line = row->line,
                         .measured = mean_of(row)};

    if (out.measured <= 0 ||
        !g_hash_table_add(seen, g_strdup_printf("%s|%s|%g",
                                                row->cell[RA_STEP_CELL_SOURCE],
                                                model, row->response_max)))
      continue;
    out.predicted = ra_recipe_response_mean(model, row->response_max);
    out.part = ra_recipe_thinks(model) ? "models that think" : "other models";
    out.name = ra_published_name(row);
    ra_validate_add(job, out);
  }
  return rows != NULL;
}

/* --- pairs --- */

/* (transfer full): the work of a row, whoever's release and placement it is. */
static char *
pair_work_of(const RaStepRow *row)
{
  return g_strdup_printf("%s|%s|%s|%u|%u|%g", row->cell[RA_STEP_CELL_SOURCE],
                         row->cell[RA_STEP_CELL_MODEL],
                         row->cell[RA_STEP_CELL_ALGORITHM], row->n_prompts,
                         row->n_samples, row->response_max);
}

gboolean
ra_validate_step_pairs(const RaValidateLevel *level, RaValidateJob *job,
                       GError **error)
{
  const GArray *steps = steps_of(job, error);
  g_autoptr(GArray) runs = g_array_new(FALSE, TRUE, sizeof(RaValidateRun));

  (void)level;
  if (!steps)
    return FALSE;
  g_array_set_clear_func(runs, ra_validate_run_clear);
  for (guint i = 0; i < steps->len; i++) {
    const Step *step = &g_array_index(steps, Step, i);
    const RaStepRow *row = &step->row;
    RaValidateRun run = {.gpu = row->cell[RA_STEP_CELL_GPU],
                         .file = row->file,
                         .line = row->line,
                         .tokens = row->response_mean,
                         .measured_s = row->measured.s[RA_STEP_TOTAL],
                         .predicted_s = step->predicted.s[RA_STEP_TOTAL],
                         .doubt = step->doubt};

    if (step->reason || !is_whole(step) || !is_attributed(step) ||
        run.measured_s <= 0)
      continue;
    run.name = ra_published_name(row);
    run.work = pair_work_of(row);
    run.layout = repeat_of(row);
    if (run.doubt.parts)
      g_array_ref(run.doubt.parts);
    g_array_append_val(runs, run);
  }
  ra_validate_add_pairs(job, runs);
  return TRUE;
}
