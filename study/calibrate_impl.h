/* What calibrate*.c share: a profile in the making. */
#ifndef RA_STUDY_CALIBRATE_IMPL_H
#define RA_STUDY_CALIBRATE_IMPL_H

#include "study/calibrate.h"
#include "study/gpu.h"

/* What is known of one law beside its coefficients. */
typedef struct {
  gboolean absent;              /* left out: optional and without rows */
  const RaGpu *from;            /* carried over from it; NULL: own rows */
  const RaLaw *law;             /* of the base; NULL: of rows */
  const RaGpu *twin;            /* on which such a transfer was scored */
  guint64 n_rows;               /* fitted on */
  guint n_outliers;             /* of them */
  double median_frac, p90_frac; /* held out; < 0: not measured */
  const char *held_out;         /* how, of a law that is no RaFitLaw's */
  char *source;                 /* owned; NULL: nothing fitted */
} RaCalibrateLaw;

typedef struct {
  const char *data;
  const RaGpu *gpu;
  RaSheet sheet;           /* of @gpu */
  RaProfile *const *bases; /* (n_bases) that laws are transferred from */
  guint n_bases;
  RaProfile *profile;   /* with every law */
  RaCalibrateLaw *laws; /* (ra_law_n_specs()) */
  RaCalibration *out;
  gboolean sends_across; /* law send was fitted between nodes */
} RaCalibrateWork;

/* An empty result. */
RaCalibration *ra_calibration_new(void);

/* The laws that are no fit of one kind of row: copies of others, citations,
 * medians. */
gboolean ra_calibrate_constants(RaCalibrateWork *work, GError **error);

/* The overlap law, once those of collectives stand; @state is its. */
gboolean ra_calibrate_overlap(RaCalibrateWork *work, RaCalibrateLaw *state,
                              GError **error);

/* Coefficient @name of @law; a programming error where there is none. */
double *ra_calibrate_coefficient(RaProfile *profile, const char *law,
                                 const char *name);

/* What is known of law @name. */
RaCalibrateLaw *ra_calibrate_law(RaCalibrateWork *work, const char *name);

/* Appends the profile's text. */
void ra_calibrate_write(const RaCalibrateWork *work, GString *out);

#endif
