/* Reading profiles: device, laws, tables, pace. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "traces/law.h"
#include "traces/profile.h"

static const char *const nouns[] = {"profile!", "device!", "pace",
                                    "law *",    "table *", NULL};

/* [profile]: what is read and not kept. */
typedef struct {
  const char *device;  /* name; borrowed from the file */
  const char *derived; /* how it was made; borrowed from the file */
  const char *base;    /* transferred from; borrowed from the file */
  uint32_t format;     /* 1 */
} RaProfileHead;

static const RaKeySpec head_keys[] = {
    {"format", RA_KEY_UINT32, G_STRUCT_OFFSET(RaProfileHead, format),
     .fallback = "1", .min = 1, .max = 1, .doc = "version of this format"},
    {"device", RA_KEY_STRING, G_STRUCT_OFFSET(RaProfileHead, device),
     .required = TRUE, .doc = "GPU class, as clusters name it"},
    {"derived", RA_KEY_STRING, G_STRUCT_OFFSET(RaProfileHead, derived),
     .required = TRUE, .doc = "origin of the profile"},
    {"base", RA_KEY_STRING, G_STRUCT_OFFSET(RaProfileHead, base),
     .doc = "GPU class from which laws were transferred"},
};

/* [device]: the data sheet. */
typedef struct {
  RaDevice spec;      /* data sheet */
  const char *source; /* of the data sheet; borrowed from the file */
} RaProfileDevice;

/* Rates have a least value so that no division overflows, and a greatest that
 * lets a test ask for a device that takes no time. */
#define RATE .min = 1, .max = 1e100
#define DEVICE(field) G_STRUCT_OFFSET(RaProfileDevice, spec.field)
static const RaKeySpec device_keys[] = {
    {"memory", RA_KEY_QUANTITY, DEVICE(memory_bytes), .required = TRUE,
     .min = 1, .max = 1e18, .unit = RA_UNIT_BYTES, .doc = "device memory"},
    {"memory-bandwidth", RA_KEY_QUANTITY, DEVICE(memory_bytes_per_s),
     .required = TRUE, RATE, .unit = RA_UNIT_BYTES_PER_S,
     .doc = "peak rate of the device memory"},
    {"bf16", RA_KEY_QUANTITY, DEVICE(bf16_flop_per_s), .required = TRUE, RATE,
     .unit = RA_UNIT_FLOP_PER_S, .doc = "dense peak of bf16 and fp16"},
    {"fp8", RA_KEY_QUANTITY, DEVICE(fp8_flop_per_s), RATE,
     .unit = RA_UNIT_FLOP_PER_S, .doc = "dense peak of fp8; default: none"},
    {"fp32", RA_KEY_QUANTITY, DEVICE(fp32_flop_per_s), RATE,
     .unit = RA_UNIT_FLOP_PER_S,
     .doc = "dense peak of fp32; default: half of bf16"},
    {"intra-node", RA_KEY_QUANTITY, DEVICE(intra_bytes_per_s), .required = TRUE,
     RATE, .unit = RA_UNIT_BYTES_PER_S,
     .doc = "rate to the GPUs of the node, one direction"},
    {"host", RA_KEY_QUANTITY, DEVICE(host_bytes_per_s), .required = TRUE, RATE,
     .unit = RA_UNIT_BYTES_PER_S, .doc = "rate to the host, one direction"},
    {"source", RA_KEY_STRING, G_STRUCT_OFFSET(RaProfileDevice, source),
     .required = TRUE, .doc = "source of the data sheet's numbers"},
};

/* [pace]: optional. */
static const RaKeySpec pace_keys[] = {
    {"wall-per-cpu", RA_KEY_DOUBLE, G_STRUCT_OFFSET(RaPace, wall_per_cpu),
     .required = TRUE, .min = RA_PACE_LEAST, .max = RA_PACE_MOST,
     .doc = "wall seconds for a CPU second of ops that never wait; absent: 1"},
    {"error", RA_KEY_DOUBLE, G_STRUCT_OFFSET(RaPace, error_frac),
     .required = TRUE, .min = 0, .max = 1000,
     .doc = "half the interquartile range of wall-per-cpu"},
    {"draws", RA_KEY_UINT32, G_STRUCT_OFFSET(RaPace, n_draws), .required = TRUE,
     .min = 1, .max = UINT32_MAX,
     .doc = "number of calibrations and runs averaged"},
    {"source", RA_KEY_STRING, G_STRUCT_OFFSET(RaPace, source), .required = TRUE,
     .doc = "source of the numbers"},
};

const RaKeySpec *
ra_profile_key_specs(const char *noun, gsize *out_n)
{
  g_return_val_if_fail(noun != NULL && out_n != NULL, NULL);
  if (g_str_equal(noun, "profile")) {
    *out_n = G_N_ELEMENTS(head_keys);
    return head_keys;
  }
  if (g_str_equal(noun, "pace")) {
    *out_n = G_N_ELEMENTS(pace_keys);
    return pace_keys;
  }
  *out_n = g_str_equal(noun, "device") ? G_N_ELEMENTS(device_keys) : 0;
  return *out_n > 0 ? device_keys : NULL;
}

/* Keys that every law has beside its coefficients. */
static const char *const law_keys[] = {"source",   "rows",         "range",
                                       "held-out", "error-median", "error-p90",
                                       "outliers", "transferred",  NULL};

static gboolean
is_law_key(const char *key)
{
  return g_strv_contains(law_keys, key);
}

/* The value of a key that must be there; NULL with @error set. */
static const char *
require(RaKeyFile *file, const RaLaw *law, const char *key, GError **error)
{
  const char *value = ra_key_file_get(file, law->group, key);

  if (value == NULL)
    ra_key_file_fail(file, law->group, NULL, error, "law '%s' has no '%s'",
                     law->name, key);
  else if (*value == '\0')
    ra_key_file_fail(file, law->group, key, error,
                     "'%s' is empty, expected a text", key);
  else
    return value;
  return NULL;
}

/* A held-out error: a ratio >= 0, or `-` where it was not measured. */
static gboolean
read_error(RaKeyFile *file, const RaLaw *law, const char *key, double *out_frac,
           GError **error)
{
  const char *value = require(file, law, key, error);

  if (value == NULL)
    return FALSE;
  if (strcmp(value, "-") == 0) {
    *out_frac = (double)NAN;
    return TRUE;
  }
  if (!ra_text_double(value, out_frac) || *out_frac < 0)
    return ra_key_file_fail(file, law->group, key, error,
                            "'%s' is '%s', expected a ratio of at least 0, "
                            "or '-' where it was not measured",
                            key, value);
  return TRUE;
}

static gboolean
fail_unknown_key(RaKeyFile *file, const RaLaw *law, const RaLawSpec *spec,
                 const char *key, GError **error)
{
  const char *nearest = ra_law_coefficient_nearest(spec, key);

  if (nearest == NULL)
    nearest = ra_text_nearest(key, law_keys);
  if (nearest)
    return ra_key_file_fail(file, law->group, key, error,
                            "unknown key '%s' in law '%s', did you mean '%s'?",
                            key, law->name, nearest);
  return ra_key_file_fail(file, law->group, key, error,
                          "unknown key '%s' in law '%s'", key, law->name);
}

/* One key of a law: skipped if it is no coefficient. */
static gboolean
read_coefficient(RaKeyFile *file, RaLaw *law, const RaLawSpec *spec,
                 const char *key, GError **error)
{
  const char *text = ra_key_file_get(file, law->group, key);
  const RaCoefficientSpec *coefficient;
  double value;

  if (is_law_key(key))
    return TRUE;
  coefficient = ra_law_coefficient_spec(spec, key);
  if (coefficient == NULL)
    return fail_unknown_key(file, law, spec, key, error);
  if (!ra_text_double(text, &value))
    return ra_key_file_fail(file, law->group, key, error,
                            "'%s' is '%s', expected a number", key, text);
  if (value < coefficient->min || value > coefficient->max)
    return ra_key_file_fail(file, law->group, key, error,
                            "'%s' is %s, expected %g to %g", key, text,
                            coefficient->min, coefficient->max);
  law->coefficients[law->n_coefficients++] =
      (RaCoefficient){.name = coefficient->name, .value = value};
  return TRUE;
}

static gboolean
read_coefficients(RaKeyFile *file, RaLaw *law, const RaLawSpec *spec,
                  GError **error)
{
  const char *key;

  law->coefficients = g_new0(RaCoefficient, spec->n_coefficients);
  for (guint i = 0; (key = ra_key_file_key(file, law->group, i)) != NULL; i++)
    if (!read_coefficient(file, law, spec, key, error))
      return FALSE;
  for (guint i = 0; i < spec->n_coefficients; i++)
    if (!require(file, law, spec->coefficients[i].name, error))
      return FALSE;
  return TRUE;
}

static gboolean
read_law(RaKeyFile *file, RaLaw *law, guint group, GError **error)
{
  const RaLawSpec *spec;
  const char *rows;

  law->group = group;
  law->name = ra_key_file_group_name(file, group);
  spec = ra_law_spec(law->name);
  if (spec == NULL) {
    const char *nearest = ra_law_nearest(law->name);

    if (nearest)
      return ra_key_file_fail(file, group, NULL, error,
                              "unknown law '%s', did you mean '%s'?", law->name,
                              nearest);
    return ra_key_file_fail(file, group, NULL, error, "unknown law '%s'",
                            law->name);
  }
  if (!read_coefficients(file, law, spec, error))
    return FALSE;
  law->source = require(file, law, "source", error);
  if (law->source == NULL)
    return FALSE;
  law->held_out = ra_key_file_get(file, group, "held-out");
  law->outliers = ra_key_file_get(file, group, "outliers");
  law->transferred = ra_key_file_get(file, group, "transferred");
  law->range = require(file, law, "range", error);
  if (law->range == NULL)
    return FALSE;
  rows = require(file, law, "rows", error);
  if (rows == NULL)
    return FALSE;
  if (!ra_text_uint64(rows, &law->n_rows))
    return ra_key_file_fail(file, group, "rows", error,
                            "'rows' is '%s', expected a whole number", rows);
  return read_error(file, law, "error-median", &law->error_median_frac,
                    error) &&
         read_error(file, law, "error-p90", &law->error_p90_frac, error);
}

static int
compare_laws(const void *a, const void *b)
{
  return strcmp(((const RaLaw *)a)->name, ((const RaLaw *)b)->name);
}

/* The table of a law, which stands before it. */
static gboolean
read_table(RaProfile *profile, guint group, GError **error)
{
  const char *name = ra_key_file_group_name(profile->file, group);

  for (guint i = 0; i < profile->n_laws; i++)
    if (strcmp(profile->laws[i].name, name) == 0) {
      profile->laws[i].grid = ra_grid_read(profile->file, group, error);
      return profile->laws[i].grid != NULL;
    }
  return ra_key_file_fail(profile->file, group, NULL, error,
                          "there is no law '%s' before its table", name);
}

static gboolean
read_laws(RaProfile *profile, GError **error)
{
  RaKeyFile *file = profile->file;
  guint n_groups = ra_key_file_n_groups(file);

  profile->laws = g_new0(RaLaw, n_groups);
  for (guint g = 0; g < n_groups; g++) {
    const char *noun = ra_key_file_group_noun(file, g);

    if (strcmp(noun, "law") == 0 &&
        !read_law(file, &profile->laws[profile->n_laws++], g, error))
      return FALSE;
    if (strcmp(noun, "table") == 0 && !read_table(profile, g, error))
      return FALSE;
  }
  qsort(profile->laws, profile->n_laws, sizeof *profile->laws, compare_laws);
  return TRUE;
}

static gboolean
read_pace(RaProfile *profile, GError **error)
{
  int group = ra_key_file_find_group(profile->file, "pace", "");

  profile->pace = (RaPace){.wall_per_cpu = 1};
  return group < 0 ||
         ra_key_file_read_group(profile->file, (guint)group, pace_keys,
                                G_N_ELEMENTS(pace_keys), &profile->pace, error);
}

static gboolean
read_profile(RaProfile *profile, GError **error)
{
  RaKeyFile *file = profile->file;
  RaProfileHead head = {0};
  RaProfileDevice device = {0};

  if (!ra_key_file_check_nouns(file, nouns, error) ||
      !ra_key_file_read_group(
          file, (guint)ra_key_file_find_group(file, "profile", ""), head_keys,
          G_N_ELEMENTS(head_keys), &head, error) ||
      !ra_key_file_read_group(
          file, (guint)ra_key_file_find_group(file, "device", ""), device_keys,
          G_N_ELEMENTS(device_keys), &device, error))
    return FALSE;
  profile->device = head.device;
  profile->base = head.base;
  profile->spec = device.spec;
  if (!read_pace(profile, error) || !read_laws(profile, error))
    return FALSE;
  profile->spec.groups_experts =
      ra_profile_law(profile, "experts.bf16") != NULL;
  return TRUE;
}

RaProfile *
ra_profile_load(RaKeyFile *file, GError **error)
{
  g_autoptr(RaProfile) profile = NULL;

  g_return_val_if_fail(file != NULL, NULL);
  profile = g_new0(RaProfile, 1);
  profile->file = ra_key_file_ref(file);
  if (!read_profile(profile, error))
    return NULL;
  return g_steal_pointer(&profile);
}

void
ra_profile_free(RaProfile *profile)
{
  if (profile == NULL)
    return;
  for (guint i = 0; i < profile->n_laws; i++) {
    g_free(profile->laws[i].coefficients);
    ra_grid_free(profile->laws[i].grid);
  }
  g_free(profile->laws);
  ra_key_file_unref(profile->file);
  g_free(profile);
}

const RaLaw *
ra_profile_law(const RaProfile *profile, const char *name)
{
  RaLaw key = {.name = name};

  g_return_val_if_fail(profile != NULL && name != NULL, NULL);
  return profile->n_laws == 0 ? NULL
                              : bsearch(&key, profile->laws, profile->n_laws,
                                        sizeof *profile->laws, compare_laws);
}

const RaLaw *
ra_profile_law_of(const RaProfile *profile, const char *name, RaKernels kernels)
{
  const RaLawSpec *spec = ra_law_spec_of(name, kernels);

  return spec ? ra_profile_law(profile, spec->name) : NULL;
}

gboolean
ra_law_get(const RaProfile *profile, const RaLaw *law, const char *coefficient,
           double *out_value, GError **error)
{
  for (guint i = 0; i < law->n_coefficients; i++)
    if (strcmp(law->coefficients[i].name, coefficient) == 0) {
      *out_value = law->coefficients[i].value;
      return TRUE;
    }
  return ra_key_file_fail(profile->file, law->group, NULL, error,
                          "law '%s' has no '%s'", law->name, coefficient);
}
