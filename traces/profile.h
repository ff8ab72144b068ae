/* A profile: the laws fitted or measured on one class of GPU and its links.
 *
 *     [profile]
 *     format = 1
 *     device = h100-sxm
 *     derived = ...                  how it was made, from which files, when
 *     [device]
 *     memory = 80 GiB                data sheet; its origin is `source`
 *     bf16 = 989 TFLOP/s
 *     ...
 *     [law gemm.bf16]
 *     peak-frac = 0.86
 *     ...
 *     source = ...                   origin of the numbers
 *     rows = 21546                   rows that it was fitted on, 0: data sheet
 *     range = m 1..32768; n, k 128..65536
 *     error-median = 0.11            held-out absolute relative error; `-`: not
 *     error-p90 = 0.38                 measured
 *
 *     [table gemm.bf16]              optional, after its law: see
 *     axis-1 = m 1 2 4                 ra_grid_read(); thousandths of
 *     axis-2 = n 128 256               ln(measured / law)
 *     at-128 = -31 12 .
 *
 *     [pace]                         optional, for the cores of a host
 *     wall-per-cpu = 1.04            wall seconds of a CPU second
 *
 * A law is a name, coefficients with units in their names, a range of validity,
 * provenance and held-out error.  The law's formula in estimator/ documents
 * what a coefficient means.  The file is a key file (base/keyfile.h), which is
 * strict and reports errors with their line.
 */
#ifndef RA_TRACES_PROFILE_H
#define RA_TRACES_PROFILE_H

#include "base/keyfile.h"
#include "graph/input/cluster.h"
#include "traces/grid.h"
#include "traces/law.h"

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
  const char *range;        /* range of validity, for people */
  uint64_t n_rows;          /* rows of the fit; 0: data sheet or citation */
  double error_median_frac; /* held out, absolute relative; NAN: not measured */
  double error_p90_frac;    /* held out; NAN: not measured */
  const char *held_out;     /* how errors were measured; NULL: not stated */
  const char *transferred;  /* class of GPU of the fit; NULL: this one */
  const char *outliers;     /* rows far from the law; NULL: not stated */
  RaGrid *grid;             /* ln(measured / law), a correction over quantities
                               that the law lacks; owned; NULL: none */
  guint group;              /* group of the key file, for messages */
} RaLaw;

/* Wall time of CPU time on a host.  The cost of a host's ops is in CPU seconds.
 * A thread that waits for no other gets less than one CPU second a wall second:
 * the hypervisor and the kernel use the rest.  The limits bound the input, not
 * machines: below 1 if the CPU clock runs ahead, 100 if a hundred ranks share a
 * core. */
#define RA_PACE_LEAST 0.5
#define RA_PACE_MOST 100.0
typedef struct {
  double wall_per_cpu; /* 1 if the profile does not have it */
  double error_frac;   /* its error: half the interquartile range */
  uint32_t n_draws;    /* calibrations and runs; 0: no such group */
  const char *source;  /* borrowed from the file; NULL: no such group */
} RaPace;

typedef struct {
  RaKeyFile *file;    /* owned reference */
  const char *device; /* "h100-sxm" */
  const char *base;   /* profile it is transferred from by data sheet; NULL:
                         measured */
  RaDevice spec;      /* data sheet */
  RaPace pace;        /* pace of the host's cores */
  RaLaw *laws;        /* (n_laws) sorted by name */
  guint n_laws;
} RaProfile;

RaProfile *ra_profile_load(RaKeyFile *file, GError **error);
/* (array length=out_n) (nullable): the keys that `[noun]` of a profile may
 * have, static.  %NULL for an unknown noun and for laws, whose coefficients are
 * in traces/law.h. */
const RaKeySpec *ra_profile_key_specs(const char *noun, gsize *out_n);
void ra_profile_free(RaProfile *profile);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaProfile, ra_profile_free)

/* The law called @name, or NULL. */
const RaLaw *ra_profile_law(const RaProfile *profile, const char *name);

/* The law that @kernels have in place of the common law @name, or NULL. */
const RaLaw *ra_profile_law_of(const RaProfile *profile, const char *name,
                               RaKernels kernels);

/**
 * ra_law_get:
 * @out_value: (out): unchanged on error
 * @error: %RA_ERROR_INPUT
 *   `file:line: law 'gemm.bf16' has no 'peak-frac', expected ...`
 */
gboolean ra_law_get(const RaProfile *profile, const RaLaw *law,
                    const char *coefficient, double *out_value, GError **error);

#endif
