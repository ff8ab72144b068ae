/* What calibrate*.c share: a profile in the making. */
#ifndef RA_STUDY_CALIBRATE_IMPL_H
#define RA_STUDY_CALIBRATE_IMPL_H

#include "study/calibrate.h"

/* A class of GPU that can be calibrated. */
typedef struct {
  const char *name;     /* "h100-sxm" */
  const char *measured; /* "h100": of the rows */
  const char *sheet;    /* "h100_sxm": data sheet of the GPU measured */
  guint sms;            /* NVIDIA's architecture whitepapers */
  gboolean nvls;        /* switches reduce in the node first */
  gboolean transferred; /* no row of its own: @measured's, by data sheet */
} RaCalibrateGpu;

/* A data sheet as misc/hardware_specs.csv has it; 0: not published. */
typedef struct {
  double memory_bytes, memory_bytes_per_s, bf16_flop_per_s, fp8_flop_per_s;
  double intra_bytes_per_s, host_bytes_per_s, latency_s;
} RaSheet;

/* What is known of one law beside its coefficients. */
typedef struct {
  gboolean absent;              /* left out: optional and without rows */
  guint64 n_rows;               /* fitted on */
  guint n_outliers;             /* of them */
  double median_frac, p90_frac; /* held out; < 0: not measured */
  const char *held_out;         /* how, of a law that is no RaFitLaw's */
  char *source;                 /* owned; NULL: nothing fitted */
} RaCalibrateLaw;

typedef struct {
  const char *data;
  const RaCalibrateGpu *gpu;
  RaSheet own, measured; /* of the GPU; of the GPU with the rows */
  RaProfile *profile;    /* with every law, on the measured GPU's sheet */
  RaCalibrateLaw *laws;  /* (ra_law_n_specs()) */
  RaCalibration *out;
} RaCalibrateWork;

/* (nullable): the class called @name; @error lists those that are known. */
const RaCalibrateGpu *ra_calibrate_gpu(const char *name, GError **error);

/* An empty result. */
RaCalibration *ra_calibration_new(void);

/* The data sheet's row @row of misc/hardware_specs*.csv. */
gboolean ra_calibrate_sheet(const char *data, const char *row,
                            RaSheet *out_sheet, GError **error);

/* A profile with every law at the start of its fit, on @sheet. */
RaProfile *ra_calibrate_start(const RaCalibrateGpu *gpu, const RaSheet *sheet);

/* The laws that are no fit of one kind of row: copies of others, citations,
 * medians. */
gboolean ra_calibrate_constants(RaCalibrateWork *work, GError **error);

/* The overlap law, once those of collectives stand; @state is its. */
gboolean ra_calibrate_overlap(RaCalibrateWork *work, RaCalibrateLaw *state,
                              GError **error);

/* Coefficient @name of @law; a programming error where there is none. */
double *ra_calibrate_coefficient(RaProfile *profile, const char *law,
                                 const char *name);

/* Appends the profile's text. */
void ra_calibrate_write(const RaCalibrateWork *work, GString *out);

#endif
