/* A profile: what was fitted or measured on one class of GPU and its links.
 *
 *     [profile]
 *     format = 1
 *     device = h100-sxm
 *     derived = ...                  how it was made, from which files, when
 *     [device]
 *     memory = 80 GiB                data sheet; where from: `source`
 *     bf16 = 989 TFLOP/s
 *     ...
 *     [law gemm.bf16]
 *     peak-frac = 0.86
 *     ...
 *     source = ...                   where the numbers are from
 *     rows = 21546                   rows that it was fitted on, 0: data sheet
 *     range = m 1..32768; n, k 128..65536
 *     error-median = 0.11            held-out absolute relative error; `-`: not
 * measured error-p90 = 0.38
 *
 *     [table gemm.bf16]              optional, behind its law: see
 *     axis-1 = m 1 2 4                 ra_grid_read(); thousandths of
 *     axis-2 = n 128 256               ln(measured / law)
 *     at-128 = -31 12 .
 *
 *     [pace]                         optional, of a host's cores
 *     wall-per-cpu = 1.04            what a second of a core takes
 *
 * A law is a name, coefficients with units in their names, a range of validity,
 * provenance and held-out error; what a coefficient means stands at the law's
 * formula in estimator/.  The file is a key file (base/keyfile.h): strict, with
 * lines.
 */
#ifndef RA_TRACES_PROFILE_H
#define RA_TRACES_PROFILE_H

#include "base/keyfile.h"
#include "graph/input/cluster.h"
#include "traces/grid.h"

typedef struct {
  const char
      *name; /* snake case with unit suffix as in the file with '-' for '_' */
  double value; /* SI */
} RaCoefficient;

typedef struct {
  const char *name;            /* "gemm.bf16" */
  RaCoefficient *coefficients; /* (n_coefficients), file order */
  guint n_coefficients;
  const char *source;       /* required */
  const char *range;        /* of validity, for people */
  uint64_t n_rows;          /* fitted on; 0: data sheet or citation */
  double error_median_frac; /* held out, absolute relative; NAN: not measured */
  double error_p90_frac;    /* held out; NAN: not measured */
  const char *held_out;     /* how errors were measured; NULL: not said */
  const char *transferred;  /* class of GPU that it was fitted on; NULL: this */
  const char *outliers;     /* rows far from the law; NULL: not said */
  RaGrid *grid;             /* owned; of ln(measured / law) over what the law
                               does not know; NULL: none */
  guint group;              /* of the key file, for messages */
} RaLaw;

/* A host's ops are costed in seconds of a core, of which who waits for nobody
 * gets fewer than the wall's: the rest is the hypervisor's and the kernel's.
 * Limits of what a file may say, not of what machines do: less than 1 where a
 * clock of cores runs ahead, 100 where a hundred ranks share a core. */
#define RA_PACE_LEAST 0.5
#define RA_PACE_MOST 100.0
typedef struct {
  double wall_per_cpu; /* 1 where the profile says nothing of it */
  double error_frac;   /* of that, half the distance of the quartiles */
  uint32_t n_draws;    /* calibrations and runs; 0: no such group */
  const char *source;  /* borrowed from the file; NULL: no such group */
} RaPace;

typedef struct {
  RaKeyFile *file;    /* owned reference */
  const char *device; /* "h100-sxm" */
  const char *base;   /* transferred from it by data sheet; NULL: measured */
  RaDevice spec;      /* data sheet */
  RaPace pace;        /* of computing */
  RaLaw *laws;        /* (n_laws) sorted by name */
  guint n_laws;
} RaProfile;

RaProfile *ra_profile_load(RaKeyFile *file, GError **error);
/* (array length=out_n) (nullable): the keys that `[noun]` of a profile may
 * have, static; %NULL for a noun that it does not have, and for laws, whose
 * coefficients traces/law.h has. */
const RaKeySpec *ra_profile_key_specs(const char *noun, gsize *out_n);
void ra_profile_free(RaProfile *profile);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaProfile, ra_profile_free)

/* The law called @name, or NULL. */
const RaLaw *ra_profile_law(const RaProfile *profile, const char *name);

/**
 * ra_law_get:
 * @out_value: (out): untouched on error
 * @error: %RA_ERROR_INPUT `file:line: law 'gemm.bf16' has no 'peak-frac',
 * expected ...`
 */
gboolean ra_law_get(const RaProfile *profile, const RaLaw *law,
                    const char *coefficient, double *out_value, GError **error);

#endif
