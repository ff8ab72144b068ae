/* Transfer of laws between GPU classes, and the starts of fits. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "estimator/calibrate/transfer.h"
#include "estimator/fit.h"
#include "traces/law.h"
#include "traces/measured.h"

#define MIB 1048576.0

/* Values known of @gpu itself and nowhere fitted. */
static gboolean
is_of_gpu(const RaGpu *gpu, const char *name, double *out_value)
{
  if (strcmp(name, "sms") == 0)
    *out_value = gpu->sms;
  else if (strcmp(name, "flash") == 0)
    *out_value = gpu->flash;
  else if (strcmp(name, "cache-bytes") == 0)
    *out_value = gpu->cache_mib * MIB;
  else
    return FALSE;
  return TRUE;
}

/* A start for every coefficient: of its fit, or the middle of what it may be
 * until it is set otherwise. */
static double
start_of(const RaGpu *gpu, const RaLawSpec *spec,
         const RaCoefficientSpec *coefficient)
{
  const char *name = coefficient->name;
  double value;

  for (guint l = 0; l < ra_fit_n_trace_laws(); l++) {
    const RaFitLaw *fit = ra_fit_trace_law_at(l);

    for (guint i = 0; i < fit->n_coefficients; i++)
      if (strcmp(fit->law, spec->name) == 0 &&
          strcmp(fit->coefficients[i].name, name) == 0)
        return fit->coefficients[i].start;
  }
  if (is_of_gpu(gpu, name, &value))
    return value;
  if (strcmp(name, "peak-frac") == 0)
    return 1;
  if (strcmp(name, "tile-m") == 0)
    return 128;
  if (strcmp(name, "tile-n") == 0)
    return 256;
  if (g_str_has_suffix(name, "-bytes-per-s"))
    return 0; /* not known */
  if (strcmp(name, "hierarchical-frac") == 0)
    return gpu->nvls ? 1 : 0;
  return CLAMP(1e-6, coefficient->min, coefficient->max);
}

void
ra_transfer_start_law(const RaGpu *gpu, const RaLawSpec *spec, GString *out)
{
  g_string_append_printf(out,
                         "[law %s]\nsource = a fit\nrows = 0\nrange = all\n"
                         "error-median = -\nerror-p90 = -\n",
                         spec->name);
  for (guint i = 0; i < spec->n_coefficients; i++)
    g_string_append_printf(out, "%s = %.10g\n", spec->coefficients[i].name,
                           start_of(gpu, spec, &spec->coefficients[i]));
}

RaProfile *
ra_transfer_start(const RaGpu *gpu, const RaSheet *sheet)
{
  g_autoptr(GString) text = g_string_new(NULL);
  g_autoptr(RaKeyFile) file = NULL;
  RaProfile *profile;

  g_string_append_printf(
      text,
      "[profile]\ndevice = %s\nderived = a fit\n[device]\nsource = a sheet\n"
      "memory = %.10g B\nmemory-bandwidth = %.10g B/s\nbf16 = %.10g FLOP/s\n"
      "intra-node = %.10g B/s\nhost = %.10g B/s\n",
      gpu->name, sheet->memory_bytes, sheet->memory_bytes_per_s,
      sheet->bf16_flop_per_s, sheet->intra_bytes_per_s,
      sheet->host_bytes_per_s);
  if (sheet->fp8_flop_per_s > 0)
    g_string_append_printf(text, "fp8 = %.10g FLOP/s\n", sheet->fp8_flop_per_s);
  for (guint i = 0; i < ra_law_n_specs(); i++) {
    const RaLawSpec *spec = ra_law_spec_at(i);

    if (spec->stand_in)
      continue;
    ra_transfer_start_law(gpu, spec, text);
  }
  file = ra_key_file_parse("start", text->str, text->len, NULL);
  profile = file ? ra_profile_load(file, NULL) : NULL;
  g_assert(profile != NULL); /* all of it stands above */
  return profile;
}

/* Laws whose latencies are no multiprocessor's. */
static gboolean
keeps_seconds(const char *law)
{
  static const char *const names[] = {"inter-node",
                                      "inter-node.all-to-all",
                                      "inter-node.fabric",
                                      "realloc",
                                      "host-copy",
                                      "host",
                                      NULL};

  return g_strv_contains(names, law) || g_str_has_prefix(law, "tokens.");
}

/* How the share of the memory's bandwidth that a kernel gets falls with the
 * bytes that a multiprocessor would have to move each cycle: a power.
 *
 * -1/2: kernels_vidur, the same kernels on A40 (4.8 bytes), H100 (12.8) and
 * A100 (13.4): norms 0.56, 0.38, 0.35; rope 0.75, 0.51, 0.45; activations
 * 0.77, 0.57, 0.49.  -0.13: decode attention by FlashAttention-2 kernels on RTX
 * 4090 (3.1), RTX PRO 6000 (3.6) and A100: 0.90, 0.79, 0.70.  Products: none
 * seen between A40, H100 and A100; sums stay in the cache.  Casts: 0.88, 0.85
 * and 0.83 of 2^31 values on H200, B200 and RTX PRO 6000 (kernels_quantize). */
static double
share_power(const char *law)
{
  if (strcmp(law, "memory.add") == 0 || strcmp(law, "memory.cast") == 0)
    return 0;
  if (g_str_has_prefix(law, "memory."))
    return -0.5;
  return strstr(law, "attention") ? -0.13 : 0;
}

static double
bytes_per_cycle(const RaGpu *gpu, const RaDevice *device)
{
  return device->memory_bytes_per_s / (gpu->sms * gpu->clock_hz);
}

/* Factor on the share of bandwidth of @law. */
static double
share_factor(const RaGpu *from, const RaDevice *base, const RaGpu *to,
             const RaDevice *target, const char *law)
{
  return pow(bytes_per_cycle(to, target) / bytes_per_cycle(from, base),
             share_power(law));
}

/* FLOP of products that a multiprocessor does in a cycle, for a score's 4
 * head_dim. */
static double
width_per_cycle(const RaGpu *gpu, const RaDevice *device)
{
  return device->bf16_flop_per_s / (gpu->sms * gpu->clock_hz) / 4;
}

/* Rows of queries that an instruction of the tensor cores takes: wgmma's, and
 * tcgen05.mma's (PTX ISA 8.7). */
static double
tile_rows(const RaGpu *gpu)
{
  return strcmp(gpu->architecture, RA_GPU_BLACKWELL) == 0 ? 128 : 64;
}

/* Factor from FlashAttention 3 on, as a tile has more rows: on what it takes,
 * and on the cycles of a score. */
static double
rows_factor(const RaGpu *from, const RaGpu *to)
{
  return from->flash > 2 && to->flash > 2 ? tile_rows(from) / tile_rows(to) : 1;
}

/* Cycles of a score that the products do not hide, beside its fp32 operations:
 * FlashAttention 3 takes exponentials of one group of warps while another
 * multiplies (arXiv 2407.08608, section 3.1); 2 does not. */
static double
shown_cycles(const RaGpu *gpu)
{
  return gpu->flash == 2 ? 1.0 / gpu->exponentials : 0;
}

/* Cost of a score beside its GEMMs: cycles of exponentials, where they show,
 * and of a number of fp32 operations that is carried.  Where both hide them,
 * what is left waits for their units: of the H100's 50 elements it makes 51 on
 * the B200 and 25 on the B300, whose own rows have 54 and 24. */
static double
carried_half(const RaGpu *from, const RaDevice *base, const RaGpu *to,
             const RaDevice *target, double half)
{
  double cycles = half / width_per_cycle(from, base);
  double operations = MAX(cycles - shown_cycles(from), 0) * from->fp32_lanes;

  if (from->flash == 0 || to->flash == 0)
    return half;
  if (from->flash > 2 && to->flash > 2)
    return cycles * from->exponentials / to->exponentials *
           rows_factor(from, to) * width_per_cycle(to, target);
  return (operations / to->fp32_lanes + shown_cycles(to)) *
         width_per_cycle(to, target);
}

/* TRUE of what a block of attention takes for a tile. */
static gboolean
is_of_tile(const char *law, const char *coefficient)
{
  return strstr(law, "attention") && (strcmp(coefficient, "tile-s") == 0 ||
                                      strcmp(coefficient, "block-s") == 0);
}

static double
carried(const RaGpu *from, const RaGpu *to, const char *law, double factor,
        const RaCoefficient *c)
{
  double value;

  if (is_of_gpu(to, c->name, &value))
    return value;
  if (strcmp(c->name, "bandwidth-frac") == 0)
    return MIN(c->value * factor, MAX(c->value, 1));
  if (!keeps_seconds(law) && g_str_has_suffix(c->name, "-s") &&
      !g_str_has_prefix(c->name, "inter-"))
    return c->value * (from->clock_hz / to->clock_hz) *
           (is_of_tile(law, c->name) ? rows_factor(from, to) : 1);
  return c->value;
}

/* TRUE if kernels cut work in as many parts, give or take a twentieth: of 148
 * and 152 multiprocessors. */
static gboolean
keeps_table(const RaGpu *from, const RaGpu *to)
{
  return strcmp(from->architecture, to->architecture) == 0 &&
         20 * MAX(from->sms, to->sms) <= 21 * MIN(from->sms, to->sms);
}

void
ra_transfer_law(const RaGpu *from, const RaProfile *base, const RaGpu *to,
                RaProfile *target, const char *name)
{
  const RaLaw *law = ra_profile_law(base, name);
  RaLaw *set = (RaLaw *)(gpointer)ra_profile_law(target, name);
  double factor = share_factor(from, &base->spec, to, &target->spec, name);

  g_return_if_fail(law != NULL && set != NULL);
  for (guint i = 0; i < law->n_coefficients; i++)
    for (guint j = 0; j < set->n_coefficients; j++)
      if (strcmp(set->coefficients[j].name, law->coefficients[i].name) == 0)
        set->coefficients[j].value =
            strcmp(law->coefficients[i].name, "head-dim-half") == 0
                ? carried_half(from, &base->spec, to, &target->spec,
                               law->coefficients[i].value)
                : carried(from, to, name, factor, &law->coefficients[i]);
  g_clear_pointer(&set->grid, ra_grid_free);
  if (law->grid && keeps_table(from, to))
    set->grid = ra_grid_copy(law->grid);
}

RaProfile *
ra_transfer_profile(const RaGpu *from, const RaProfile *base, const RaGpu *to,
                    const RaSheet *sheet)
{
  RaProfile *profile = ra_transfer_start(to, sheet);

  for (guint i = 0; i < base->n_laws; i++)
    ra_transfer_law(from, base, to, profile, base->laws[i].name);
  return profile;
}

gboolean
ra_transfer_error(const RaGpu *from, const RaProfile *base,
                  const char *const *data, const char *law, const RaGpu *twin,
                  guint *out_n_rows, double *out_median_frac,
                  double *out_p90_frac, GError **error)
{
  const RaFitLaw *fit = ra_fit_law(law);
  g_autoptr(GArray) rows = NULL;
  g_autoptr(RaProfile) profile = NULL;
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(RaHeldOut));
  g_autofree double *s = NULL;
  RaSheet sheet;

  g_return_val_if_fail(fit != NULL, FALSE);
  rows = ra_measured_rows(data, fit->source, twin->rows, error);
  if (!rows)
    return FALSE;
  *out_n_rows = rows->len;
  if (rows->len == 0)
    return TRUE;
  if (!ra_gpu_sheet(twin, data, &sheet, error))
    return FALSE;
  profile = ra_transfer_profile(from, base, twin, &sheet);
  ra_fit_beside(profile, rows);
  s = g_new(double, rows->len);
  ra_fit_predict(profile, rows, s);
  for (guint i = 0; i < rows->len; i++) {
    RaHeldOut one = {
        .row = i,
        .error = s[i] / g_array_index(rows, RaMeasured, i).measured_s - 1};

    g_array_append_val(errors, one);
  }
  ra_fit_errors(errors, out_median_frac, out_p90_frac);
  return TRUE;
}
