/* The level of kernels that run beside collectives. */
#include "config.h"

#include <math.h>

#include "estimator/overlap.h"
#include "study/validate/validate_impl.h"

/* The only GPU so measured. */
#define GPU "a100"

/* One row a kernel: all its runs that overlapped, together. */
static void
add_kernel(RaValidateJob *job, const GArray *rows,
           const RaOverlapKernel *kernel, double predicted_s)
{
  const RaOverlapRowsKernel *first =
      &g_array_index(rows, RaOverlapRowsKernel, kernel->first);
  RaValidateRow row = {.name = g_strdup(first->name),
                       .part = g_intern_string(GPU),
                       .fold = job->cross ? g_strdup(first->name) : NULL,
                       .file = first->file,
                       .line = first->file_line,
                       .measured = kernel->beside_s,
                       .predicted = predicted_s,
                       .roofline = kernel->alone_s,
                       .repeat_frac = (double)NAN};

  ra_validate_add(job, row);
}

gboolean
ra_validate_overlap(const RaValidateLevel *level G_GNUC_UNUSED,
                    RaValidateJob *job, GError **error)
{
  g_autoptr(GArray) rows = ra_overlap_rows_kernels(job->folders, GPU, error);
  g_autoptr(RaProfile) profile = NULL;
  g_autoptr(RaOverlapFit) fit = NULL;
  GError *damaged = NULL;
  RaOverlapLaw law;

  if (!rows)
    return FALSE;
  profile = ra_validate_profile(GPU, &damaged);
  if (damaged) {
    g_propagate_error(error, damaged);
    return FALSE;
  }
  if (!profile || !ra_overlap_law_init(&law, profile, &profile->spec, error))
    return profile == NULL;
  fit = ra_overlap_fit_new(rows);
  for (guint i = 0; i < fit->n_kernels; i++) {
    const RaOverlapKernel *kernel = &fit->kernels[i];
    double frac = kernel->by_memory ? law.memory_frac : law.product_frac;

    if (kernel->overlap_s > 0)
      add_kernel(job, rows, kernel,
                 job->cross ? kernel->predicted_s
                            : kernel->alone_s + kernel->overlap_s * frac);
  }
  return TRUE;
}
