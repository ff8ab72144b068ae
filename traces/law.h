/* The laws that a profile may have, and the coefficients of each.
 *
 * One table is the source of the profile reader's checks (bounds, and unknown
 * names with the nearest known one), the estimator's look-ups and the manual's
 * reference.  The formula that uses a coefficient is in estimator/, at the
 * function named in the law's `formula`.
 *
 * Adding a coefficient: one row in law.c, its use in the formula, its line in
 * every shipped profile (`reallot calibrate`).
 *
 *     const RaLawSpec *spec = ra_law_spec("gemm.bf16");
 *     spec->coefficients[0].name -> "sms"
 *
 * Typical sizes: 50 laws of 1 to 18 coefficients.
 */
#ifndef RA_TRACES_LAW_H
#define RA_TRACES_LAW_H

#include <glib.h>

/* Kernels of an inference engine for which a profile may have laws of their
 * own.  Their name ends in that of the set: "experts.fp8.trtllm". */
typedef enum {
  RA_KERNELS_COMMON, /* "common", no ending: vLLM's and the libraries'; of
                        latent attention TensorRT-LLM's, as vLLM's tables are
                        noise */
  RA_KERNELS_TRTLLM, /* "trtllm" */
  RA_KERNELS_SGLANG, /* "sglang" */
  RA_KERNELS_VLLM,   /* "vllm": the common ones, and sums of its own */
  RA_N_KERNELS
} RaKernels;

/* Names of the sets, NULL-terminated. */
extern const char *const ra_kernels_names[];

/* The set that law @name is of: %RA_KERNELS_COMMON without such an ending. */
RaKernels ra_law_kernels(const char *name);

/* One coefficient that a law must have. */
typedef struct {
  const char *name; /* as in the file, with its unit as suffix */
  double min;       /* least value, inclusive, SI */
  double max;       /* greatest value, inclusive, SI */
  const char *doc;  /* one line for the manual */
} RaCoefficientSpec;

/* One law. */
typedef struct {
  const char *name;                      /* "gemm.bf16" */
  gboolean optional;                     /* a profile may lack it */
  const char *stand_in;                  /* law used if the profile lacks this
                                            one; NULL: none */
  const RaCoefficientSpec *coefficients; /* (n_coefficients) all required */
  guint n_coefficients;                  /* >= 1 */
  const char *formula;                   /* function that documents it */
  const char *doc;                       /* one line for the manual */
} RaLawSpec;

/* Number of laws. */
guint ra_law_n_specs(void);

/* Law @index in the manual's order, < ra_law_n_specs(). */
const RaLawSpec *ra_law_spec_at(guint index);

/* (nullable): the law called @name. */
const RaLawSpec *ra_law_spec(const char *name);

/* (nullable): the law that @kernels have in place of the common law @name. */
const RaLawSpec *ra_law_spec_of(const char *name, RaKernels kernels);

/* (nullable) (transfer none): the name of a law nearest to @name. */
const char *ra_law_nearest(const char *name);

/* (nullable): coefficient @name of @spec. */
const RaCoefficientSpec *ra_law_coefficient_spec(const RaLawSpec *spec,
                                                 const char *name);

/* (nullable) (transfer none): the name of a coefficient of @spec nearest to
 * @name. */
const char *ra_law_coefficient_nearest(const RaLawSpec *spec, const char *name);

#endif
