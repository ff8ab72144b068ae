/* Levels of training: published runs, each as a plan that is simulated. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "study/validate/train_fit.h"
#include "study/validate/validate_impl.h"

/* --quick leaves out one fold in so many. */
#define QUICK_STRIDE 5

/* One system on one GPU. */
typedef struct {
  const RaTrainConvention *convention;
  char *gpu;          /* owned: "a100" */
  RaProfile *profile; /* owned; NULL: none is shipped */
  GArray *cases;      /* (RaTrainCase) owned, with their runs */
  double error_frac;  /* of the shipped system; NAN: none, or not stated */
} Group;

typedef struct {
  const RaValidateTrain *spec;
  RaValidateJob *job;
  GPtrArray *rows;   /* owned */
  GPtrArray *groups; /* (Group *) owned */
  GArray *runs;      /* (RaValidateRun) borrowed: take the place of the job's
                        rows; NULL: rows */
  guint n_unpublished, n_lora, n_refused, n_other;
} Work;

static void
group_free(Group *group)
{
  for (guint i = 0; i < group->cases->len; i++)
    ra_train_run_free(g_array_index(group->cases, RaTrainCase, i).run);
  g_array_unref(group->cases);
  ra_profile_free(group->profile);
  g_free(group->gpu);
  g_free(group);
}

static Group *
find_group(Work *work, const RaTrainRow *row, GError **error)
{
  const RaTrainConvention *convention = ra_train_convention(row);
  g_autofree char *gpu = ra_train_gpu(row);
  GError *cause = NULL;
  Group *group;

  for (guint i = 0; i < work->groups->len; i++) {
    group = g_ptr_array_index(work->groups, i);
    if (strcmp(group->convention->system, convention->system) == 0 &&
        strcmp(group->gpu, gpu) == 0)
      return group;
  }
  group = g_new0(Group, 1);
  group->convention = convention;
  group->cases = g_array_new(FALSE, FALSE, sizeof(RaTrainCase));
  group->profile = ra_validate_profile(gpu, &cause);
  group->gpu = g_steal_pointer(&gpu);
  g_ptr_array_add(work->groups, group);
  if (!cause)
    return group;
  g_propagate_error(error, cause);
  return NULL;
}

/* Sorts the rows by system; what cannot be predicted is counted. */
static gboolean
fill_groups(Work *work, GError **error)
{
  for (guint i = 0; i < work->rows->len; i++) {
    const RaTrainRow *row = g_ptr_array_index(work->rows, i);
    gboolean full = ra_train_row_is_full(row);
    RaTrainCase one = {.row = row, .fit = TRUE};
    Group *group;

    if (row->measured_s <= 0 || row->layers == 0) {
      work->n_unpublished++;
    } else if (strcmp(row->task, "lora") == 0) {
      work->n_lora++;
    } else if (full != work->spec->full) {
      work->n_other++;
    } else {
      group = find_group(work, row, error);
      if (!group)
        return FALSE;
      one.run = group->profile ? ra_train_run_new(row, NULL) : NULL;
      if (one.run)
        g_array_append_val(group->cases, one);
      else
        work->n_refused++;
    }
  }
  return TRUE;
}

static char *
shape_of(const RaTrainRow *row)
{
  return g_strdup_printf("hidden %u, layers %u", row->hidden, row->layers);
}

/* Fold of @row: the rows that are left out together with it. */
static char *
fold_of(const RaValidateTrain *spec, const RaTrainRow *row)
{
  g_autofree char *shape = shape_of(row);

  switch (spec->fold) {
  case RA_VALIDATE_BY_DEGREES:
    return g_strdup_printf("tp %u, dp %u, pp %u", row->tp, row->dp, row->pp);
  case RA_VALIDATE_BY_SHAPE:
    return g_steal_pointer(&shape);
  default:
    return g_strdup_printf("%s, seq %u, tp %u, dp %u, pp %u, cp %u, mbs %u",
                           shape, row->seq, row->tp, row->dp, row->pp, row->cp,
                           row->micro_batch);
  }
}

/* (transfer full): degrees and what else is chosen of @row. */
static char *
layout_of(const RaTrainRow *row)
{
  return g_strdup_printf("%u|%u|%u|%u|%u|%u|%s|%s", row->tp, row->pp, row->vpp,
                         row->cp, row->ep, row->micro_batch, row->sharding,
                         row->recompute);
}

/* The run of @one under @constants, with its doubt. */
static void
add_run(const Work *work, const Group *group, const RaTrainCase *one,
        const RaSystemConstants *constants)
{
  const RaTrainRow *row = one->row;
  g_autofree char *shape = shape_of(row);
  RaValidateRun run = {.gpu = g_intern_string(row->gpu),
                       .file = row->file,
                       .line = row->line,
                       .measured_s = row->measured_s};

  run.predicted_s =
      ra_train_run_s(one->run, group->profile, constants, &run.doubt, NULL);
  if (!isfinite(run.predicted_s)) {
    ra_doubt_clear(&run.doubt);
    return;
  }
  if (isfinite(group->error_frac))
    run.doubt.error.whole_frac = group->error_frac;
  run.name = g_strdup(row->id);
  run.layout = layout_of(row);
  run.work =
      g_strdup_printf("%s|%s|%u|%u|%u|%s|%s", row->source, shape, row->seq,
                      row->batch, row->gpus, row->precision, row->task);
  g_array_append_val(work->runs, run);
}

static void
add(const Work *work, const Group *group, const RaTrainFit *fit, guint index,
    const RaSystemConstants *constants, const char *fold)
{
  const RaTrainCase *one = &g_array_index(group->cases, RaTrainCase, index);
  const RaTrainRow *row = one->row;
  g_autofree char *shape = shape_of(row);
  RaValidateRow out = {RA_VALIDATE_ROW,
                       .name = g_strdup(row->id),
                       .part = g_intern_string(row->source),
                       .fold = g_strdup(fold),
                       .file = row->file,
                       .line = row->line,
                       .measured = row->measured_s};

  if (work->runs) {
    add_run(work, group, one, constants);
    return;
  }
  out.group = g_strdup_printf("%s %s, %u GPUs, %u x %u tokens", row->gpu, shape,
                              row->gpus, row->batch, row->seq);
  out.predicted = ra_train_fit_s(fit, index, constants);
  out.roofline = ra_train_run_roofline_s(one->run, group->profile);
  ra_validate_add(work->job, out);
}

/* The shipped constants of the system on the GPU, or on another one. */
static gboolean
shipped(Group *group, RaSystemConstants *out, const char **out_name,
        GError **error)
{
  const char *gpus[] = {group->gpu, "a100", "h100"};

  *out = (RaSystemConstants)RA_SYSTEM_CONSTANTS_NONE;
  *out_name = NULL;
  group->error_frac = (double)NAN;
  for (guint i = 0; i < G_N_ELEMENTS(gpus); i++) {
    g_autofree char *name =
        g_strdup_printf("%s-%s.system", group->convention->system, gpus[i]);
    g_autofree char *path = ra_share_find("systems", name, NULL, NULL);
    g_autoptr(RaKeyFile) file = path ? ra_key_file_load(path, error) : NULL;
    g_autoptr(RaSystem) system = NULL;

    if (!path)
      continue;
    system = file ? ra_system_load(file, error) : NULL;
    if (!system)
      return FALSE;
    *out = system->constants;
    group->error_frac = isfinite(system->error_p90_frac)
                            ? system->error_p90_frac / RA_ERROR_NINE_OF_TEN
                            : system->error_median_frac;
    *out_name = g_intern_string(name);
    return TRUE;
  }
  return TRUE;
}

static gboolean
score_shipped(const Work *work, Group *group, const RaTrainFit *fit,
              GError **error)
{
  RaSystemConstants constants;
  const char *name;

  if (!shipped(group, &constants, &name, error))
    return FALSE;
  ra_validate_note(work->job, "%s on %s: constants of %s",
                   group->convention->system, group->gpu,
                   name ? name : "no system, kernels only");
  for (guint i = 0; i < group->cases->len; i++)
    add(work, group, fit, i, &constants, NULL);
  return TRUE;
}

static void
score_cross(const Work *work, const Group *group, RaTrainFit *fit)
{
  guint n = group->cases->len;
  g_autoptr(GHashTable) done =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr(GPtrArray) folds = g_ptr_array_new_with_free_func(g_free);
  g_autofree gboolean *left_out = g_new0(gboolean, n);

  for (guint i = 0; i < n; i++)
    g_ptr_array_add(
        folds,
        fold_of(work->spec, g_array_index(group->cases, RaTrainCase, i).row));
  for (guint f = 0; f < n; f++) {
    const char *fold = g_ptr_array_index(folds, f);
    RaSystemConstants constants;

    if (!g_hash_table_add(done, g_strdup(fold)) ||
        (work->job->quick &&
         g_hash_table_size(done) % QUICK_STRIDE != QUICK_STRIDE / 2))
      continue;
    for (guint i = 0; i < n; i++)
      left_out[i] = strcmp(g_ptr_array_index(folds, i), fold) == 0;
    if (ra_train_fit(fit, left_out, &constants, NULL) == 0)
      ra_validate_note(work->job, "%s on %s: all rows are left out with %s",
                       group->convention->system, group->gpu, fold);
    for (guint i = 0; i < n; i++)
      if (left_out[i])
        add(work, group, fit, i, &constants, fold);
  }
}

static gboolean
score_group(const Work *work, Group *group, GError **error)
{
  g_autoptr(RaTrainFit) fit = NULL;
  RaSystemConstants constants;
  const char *name;

  if (group->cases->len == 0)
    return TRUE;
  fit = ra_train_fit_new((const RaTrainCase *)(void *)group->cases->data,
                         group->cases->len, group->profile, error);
  if (!fit)
    return FALSE;
  if (!work->job->cross)
    return score_shipped(work, group, fit, error);
  if (!shipped(group, &constants, &name, error)) /* its error */
    return FALSE;
  score_cross(work, group, fit);
  return TRUE;
}

static void
add_notes(const Work *work)
{
  if (work->n_unpublished > 0)
    ra_validate_note(
        work->job,
        "%u rows do not state the step time or the shape of their model",
        work->n_unpublished);
  if (work->n_lora > 0)
    ra_validate_note(work->job, "%u rows are LoRA, which is not modelled",
                     work->n_lora);
  if (work->n_refused > 0)
    ra_validate_note(
        work->job,
        "%u rows have no profile of their GPU or degrees that do not divide",
        work->n_refused);
}

/* Scores the rows of @spec, or adds them to @runs. */
static gboolean
train(const RaValidateTrain *spec, GArray *runs, RaValidateJob *job,
      GError **error)
{
  Work work = {.spec = spec, .job = job, .runs = runs};
  gboolean ok;

  work.rows = ra_train_rows(job->data, work.spec->set, error);
  if (!work.rows)
    return FALSE;
  work.groups = g_ptr_array_new_with_free_func(
      (GDestroyNotify)(void (*)(void))group_free);
  ok = fill_groups(&work, error);
  for (guint i = 0; ok && i < work.groups->len; i++)
    ok = score_group(&work, g_ptr_array_index(work.groups, i), error);
  if (ok && !runs)
    add_notes(&work);
  g_ptr_array_unref(work.groups);
  g_ptr_array_unref(work.rows);
  return ok;
}

gboolean
ra_validate_train(const RaValidateLevel *level, RaValidateJob *job,
                  GError **error)
{
  return train(level->argument, NULL, job, error);
}

gboolean
ra_validate_train_pairs(const RaValidateLevel *level, RaValidateJob *job,
                        GError **error)
{
  static const RaValidateTrain specs[] = {
      {RA_TRAIN_TABLES, TRUE, RA_VALIDATE_BY_RUN},
      {RA_TRAIN_TABLES, FALSE, RA_VALIDATE_BY_RUN}};
  g_autoptr(GArray) runs = g_array_new(FALSE, TRUE, sizeof(RaValidateRun));

  (void)level;
  g_array_set_clear_func(runs, ra_validate_run_clear);
  for (guint i = 0; i < G_N_ELEMENTS(specs); i++)
    if (!train(&specs[i], runs, job, error))
      return FALSE;
  ra_validate_add_pairs(job, runs);
  return TRUE;
}
