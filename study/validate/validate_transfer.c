/* Levels of transfers: a GPU left out, predicted from another's fit and the two
 * data sheets. */
#include "config.h"

#include <math.h>

#include "estimator/calibrate/transfer.h"
#include "estimator/fit.h"
#include "study/validate/validate_impl.h"
#include "traces/measured.h"

/* @rows of @to under @profile; @part names the pair. */
static void
add_rows(RaValidateJob *job, const RaProfile *profile, const RaGpu *to,
         const GArray *rows, const char *part)
{
  g_autofree double *s = g_new(double, rows->len + 1);

  ra_fit_predict(profile, rows, s);
  for (guint i = 0; i < rows->len; i++) {
    const RaMeasured *row = &g_array_index(rows, RaMeasured, i);
    g_autofree char *shape = ra_op_shape(&row->op);
    RaValidateRow out = {RA_VALIDATE_ROW,
                         .part = part,
                         .file = row->file,
                         .line = row->file_line,
                         .measured = row->measured_s,
                         .predicted = s[i]};

    out.name =
        g_strdup_printf("%s %s", ra_op_name((RaOpKind)row->op.kind), shape);
    out.fold = g_strdup(to->name);
    out.roofline = ra_validate_roofline_s(row, &profile->spec);
    ra_validate_add(job, out);
  }
}

RaSheet
ra_validate_sheet(const RaProfile *shipped)
{
  const RaDevice *spec = &shipped->spec;

  return (RaSheet){.memory_bytes = spec->memory_bytes,
                   .memory_bytes_per_s = spec->memory_bytes_per_s,
                   .bf16_flop_per_s = spec->bf16_flop_per_s,
                   .fp8_flop_per_s = spec->fp8_flop_per_s,
                   .intra_bytes_per_s = spec->intra_bytes_per_s,
                   .host_bytes_per_s = spec->host_bytes_per_s};
}

static char *
part_name(const RaValidateTransfers *transfers, const RaGpu *from,
          const RaGpu *to, const char *law)
{
  gboolean many = transfers->laws[1] != NULL;

  return g_strdup_printf("%s from %s%s%s", to->rows, from->rows,
                         many ? ", " : "", many ? law : "");
}

/* Makes the table of @name in @base from @from's rows alone: what siblings lent
 * it may be of the GPU that is left out. */
static gboolean
forget_siblings(const RaValidateJob *job, const RaGpu *from, RaProfile *base,
                const char *name, GError **error)
{
  const RaFitLaw *law = ra_fit_law(name);
  RaLaw *target = (RaLaw *)(gpointer)ra_profile_law(base, name);
  g_autoptr(GArray) rows = NULL;
  RaFitAxes axes;
  RaResidual residual;
  guint n_axes;

  if (!ra_fit_borrows(law) || !target->grid)
    return TRUE;
  rows = ra_measured_rows(job->folders, law->source, from->rows, error);
  if (!rows || !ra_residual_init(&residual, base, name, error))
    return FALSE;
  n_axes = target->grid->n_axes;
  for (guint a = 0; a < n_axes; a++)
    axes[a] = (RaFeature)residual.feature[a];
  axes[n_axes] = RA_N_FEATURES;
  g_clear_pointer(&target->grid, ra_grid_free);
  if (rows->len > 0)
    target->grid = ra_fit_table(law, base, rows, axes);
  return TRUE;
}

/* One pair and law; nothing where there are no rows of @to, a profile is not
 * shipped, or @from's has no rows of its own of @law. */
static gboolean
add_pair(const RaValidateTransfers *transfers, RaValidateJob *job,
         const RaValidatePair *pair, const char *law, GError **error)
{
  const RaGpu *from = ra_gpu_find(pair->from), *to = ra_gpu_find(pair->to);
  g_autoptr(GArray) rows =
      ra_measured_rows(job->folders, ra_fit_law(law)->source, to->rows, error);
  g_autoptr(GError) cause = NULL;
  g_autoptr(RaProfile) base = NULL, shipped = NULL, profile = NULL;
  g_autofree char *part = NULL;
  const RaLaw *own;
  RaSheet sheet;

  if (!rows || rows->len == 0)
    return rows != NULL;
  base = ra_validate_profile(from->rows, &cause);
  shipped = cause ? NULL : ra_validate_profile(to->rows, &cause);
  own = base ? ra_profile_law(base, law) : NULL;
  if (cause) {
    g_propagate_error(error, g_steal_pointer(&cause));
    return FALSE;
  }
  if (!shipped || !own || own->transferred)
    return TRUE;
  if (!forget_siblings(job, from, base, law, error))
    return FALSE;
  sheet = ra_validate_sheet(shipped);
  profile = ra_transfer_profile(from, base, to, &sheet);
  part = part_name(transfers, from, to, law);
  if (!pair->scored)
    ra_validate_set_bars(job, g_intern_string(part), 0, 0);
  add_rows(job, profile, to, rows, g_intern_string(part));
  return TRUE;
}

gboolean
ra_validate_transfers(const RaValidateLevel *level, RaValidateJob *job,
                      GError **error)
{
  const RaValidateTransfers *transfers = level->argument;

  for (guint l = 0; transfers->laws[l]; l++)
    for (guint p = 0; transfers->pairs[p].from; p++)
      if (!add_pair(transfers, job, &transfers->pairs[p], transfers->laws[l],
                    error))
        return FALSE;
  return TRUE;
}
