/* The overlap law and its fit. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "estimator/overlap.h"
#include "estimator/resolve.h"
#include "estimator/robust.h"

/* As overlap/SOURCE.md: "clip to [-0.2, 5] as its authors do in spirit". */
#define CLIP_LOW (-0.2)
#define CLIP_HIGH 5.0

/* Messages whose time is the call's, and whose time is the wire's. */
#define CALL_BYTES (64u << 10)
#define WIRE_BYTES (1u << 20)

gboolean
ra_overlap_law_init(RaOverlapLaw *law, const RaProfile *profile,
                    const RaDevice *device, GError **error)
{
  RaResolver r;

  *law = (RaOverlapLaw){.flop_per_byte = device->bf16_flop_per_s /
                                         device->memory_bytes_per_s};
  if (!ra_profile_law(profile, "overlap"))
    return TRUE;
  ra_resolver_init(&r, profile, "overlap", error);
  law->product_frac = ra_resolve(&r, "product-frac");
  law->memory_frac = ra_resolve(&r, "memory-frac");
  law->comm_frac = ra_resolve(&r, "comm-frac");
  return ra_resolver_ok(&r);
}

/* Adds a run that overlapped to its kernel. */
static void
add_row(RaOverlapFit *fit, const RaOverlapRowsKernel *row)
{
  RaOverlapKernel *kernel = &fit->kernels[row->kernel];
  double slowdown = row->beside_s / row->alone_s - 1;
  double clipped = CLAMP(slowdown, CLIP_LOW, CLIP_HIGH);

  if (row->overlap_frac <= 0)
    return;
  kernel->alone_s += row->alone_s;
  kernel->overlap_s += row->alone_s * row->overlap_frac;
  kernel->beside_s += row->beside_s;
  kernel->frac += row->alone_s * clipped; /* a sum, until all are in */
  kernel->predicted_s += row->by_memory ? row->alone_s : 0; /* as well */
  fit->n_rows++;
  fit->n_outliers += slowdown < clipped || slowdown > clipped;
}

static int
compare_fracs(const void *a, const void *b)
{
  double x = (*(const RaOverlapKernel *const *)a)->frac;
  double y = (*(const RaOverlapKernel *const *)b)->frac;

  return (x > y) - (x < y);
}

/* The weighted median of the kernels of a kind without @left_out, 0 where it
 * is below; @none where there are none. */
static double
median_frac(const RaOverlapFit *fit, gboolean by_memory,
            const RaOverlapKernel *left_out, double none)
{
  g_autofree const RaOverlapKernel **some =
      g_new(const RaOverlapKernel *, fit->n_kernels + 1);
  double all_s = 0, below_s = 0;
  guint n = 0;

  for (guint i = 0; i < fit->n_kernels; i++) {
    const RaOverlapKernel *kernel = &fit->kernels[i];

    if (kernel == left_out || kernel->overlap_s <= 0 ||
        kernel->by_memory != by_memory)
      continue;
    some[n++] = kernel;
    all_s += kernel->overlap_s;
  }
  qsort(some, n, sizeof *some, compare_fracs);
  for (guint i = 0; i < n; i++) {
    below_s += some[i]->overlap_s;
    if (2 * below_s >= all_s)
      return MAX(some[i]->frac, 0);
  }
  return none;
}

RaOverlapFit *
ra_overlap_fit_new(const GArray *rows)
{
  RaOverlapFit *fit = g_new0(RaOverlapFit, 1);

  for (guint i = 0; i < rows->len; i++)
    fit->n_kernels =
        MAX(fit->n_kernels,
            (guint)g_array_index(rows, RaOverlapRowsKernel, i).kernel + 1);
  fit->kernels = g_new0(RaOverlapKernel, fit->n_kernels);
  for (guint i = rows->len; i-- > 0;)
    fit->kernels[g_array_index(rows, RaOverlapRowsKernel, i).kernel].first = i;
  for (guint i = 0; i < rows->len; i++)
    add_row(fit, &g_array_index(rows, RaOverlapRowsKernel, i));
  for (guint i = 0; i < fit->n_kernels; i++) {
    RaOverlapKernel *kernel = &fit->kernels[i];

    kernel->by_memory = 2 * kernel->predicted_s > kernel->alone_s;
    if (kernel->overlap_s > 0)
      kernel->frac /= kernel->overlap_s;
  }
  for (guint i = 0; i < fit->n_kernels; i++) {
    RaOverlapKernel *kernel = &fit->kernels[i];
    double frac = median_frac(fit, kernel->by_memory, kernel, -1);

    kernel->is_only = frac < 0;
    kernel->predicted_s = kernel->alone_s + kernel->overlap_s * MAX(frac, 0);
  }
  fit->product_frac = median_frac(fit, FALSE, NULL, 0);
  fit->memory_frac = median_frac(fit, TRUE, NULL, 0);
  return fit;
}

void
ra_overlap_fit_free(RaOverlapFit *fit)
{
  if (!fit)
    return;
  g_free(fit->kernels);
  g_free(fit);
}

void
ra_overlap_add_errors(const RaOverlapFit *fit, gboolean alone, GArray *out)
{
  for (guint i = 0; i < fit->n_kernels; i++) {
    const RaOverlapKernel *kernel = &fit->kernels[i];
    double s = alone ? kernel->alone_s : kernel->predicted_s;
    double error = fabs(s / kernel->beside_s - 1);

    if (kernel->overlap_s > 0 && (alone || !kernel->is_only))
      g_array_append_val(out, error);
  }
}

void
ra_overlap_errors(const RaOverlapFit *fit, gboolean alone,
                  double *out_median_frac, double *out_p90_frac)
{
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
  double *size;

  ra_overlap_add_errors(fit, alone, errors);
  size = (double *)(gpointer)errors->data;
  *out_median_frac = ra_robust_quantile(size, errors->len, 0.5);
  *out_p90_frac = ra_robust_quantile(size, errors->len, 0.9);
}

double
ra_overlap_fit_messages(const GArray *messages, const double *alone_s)
{
  g_autofree double *call_s = g_new(double, messages->len + 1);
  g_autofree double *ratio = g_new(double, messages->len + 1);
  guint n_call = 0, n_ratio = 0;
  double median_s;

  for (guint i = 0; i < messages->len; i++) {
    const RaMeasured *row = &g_array_index(messages, RaMeasured, i);

    if (row->op.dim[0] <= CALL_BYTES)
      call_s[n_call++] = row->measured_s - alone_s[i];
  }
  median_s = MAX(ra_robust_quantile(call_s, n_call, 0.5), 0);
  for (guint i = 0; i < messages->len; i++) {
    const RaMeasured *row = &g_array_index(messages, RaMeasured, i);

    if (row->op.dim[0] >= WIRE_BYTES && alone_s[i] > 0)
      ratio[n_ratio++] = (row->measured_s - median_s) / alone_s[i];
  }
  return n_ratio > 0 ? MAX(ra_robust_quantile(ratio, n_ratio, 0.5) - 1, 0) : 0;
}
