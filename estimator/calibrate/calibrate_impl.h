/* What calibrate*.c share: a profile in the making. */
#ifndef RA_ESTIMATOR_CALIBRATE_CALIBRATE_IMPL_H
#define RA_ESTIMATOR_CALIBRATE_CALIBRATE_IMPL_H

#include "estimator/calibrate/calibrate.h"
#include "estimator/calibrate/gpu.h"
#include "estimator/fit.h"

/* What is known of one law beside its coefficients. */
typedef struct {
  gboolean absent;              /* left out: optional and without rows */
  const RaGpu *from;            /* carried over from it; NULL: own rows */
  const RaLaw *law;             /* of the base; NULL: of rows */
  guint64 n_rows;               /* fitted on */
  guint n_more;                 /* of them, of traces */
  guint n_outliers;             /* of them */
  double median_frac, p90_frac; /* held out; < 0: not measured */
  char *held_out;               /* owned: how, or why not; NULL: as the law's
                                   fit says */
  gboolean is_layer;            /* rows are a layer's in serving_e2e_vllm */
} RaCalibrateLaw;

typedef struct {
  const char *data;
  const RaGpu *gpu;
  RaSheet sheet;           /* of @gpu */
  RaProfile *const *bases; /* (n_bases) that laws are transferred from */
  guint n_bases;
  const GArray *more;   /* (RaMeasured) of traces; NULL: none */
  RaProfile *profile;   /* with every law */
  RaCalibrateLaw *laws; /* (ra_law_n_specs()) */
  RaCalibration *out;
  gboolean sends_across; /* law send was fitted between nodes */
} RaCalibrateWork;

/* An empty result. */
RaCalibration *ra_calibration_new(void);

/* Adds a note. */
void ra_calibrate_note(RaCalibration *out, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* What a person should know of @law's outliers. */
void ra_calibrate_note_outliers(RaCalibration *out, const RaFitLaw *law,
                                const GArray *rows, const RaFitResult *result);

/* Those of @rows that @law costs in @profile; @rows may be NULL. */
GArray *ra_calibrate_rows_of(const GArray *rows, const RaFitLaw *law,
                             const RaProfile *profile);

/* Whether the estimator has @op at the pace of cores. */
gboolean ra_calibrate_is_paced(const RaOp *op);

/**
 * ra_calibrate_paced:
 * @rows: (element-type RaMeasured)
 * @has_draws: each run among them is a draw of the machine's pace
 * @out_pace: (out): the profile's, with the draws
 *
 * Rows of traces are in seconds of the wall, the laws of a host in seconds of
 * its cores.  A run's pace is what it measured, else the median, by seconds, of
 * what its ops took over what the profile has of them; what is left of a row is
 * about the op.  The
 * machine's is the mean of the logarithms of its draws, the calibration's one
 * of them.  A profile without a pace has all as it is.
 *
 * Returns: (transfer full): all rows, in a core's seconds
 */
GArray *ra_calibrate_paced(const RaProfile *profile, const GArray *rows,
                           gboolean has_draws, RaPace *out_pace);

/* (transfer full): @text of a profile with its pace as @pace. */
char *ra_calibrate_pace_text(const char *text, const RaPace *pace);

/* What of one law changes in the text of a profile. */
typedef struct {
  const char *law;
  GString *text; /* owned: its groups anew; NULL: what follows */
  char *n_rows;  /* owned: "rows" as it is now */
  char *more;    /* owned: goes behind its source */
  RaGrid *grid;  /* owned: its table as it is now */
} RaCalibrateChange;

/* Returns: (transfer full) (element-type RaCalibrateChange) */
GArray *ra_calibrate_changes_new(void);

/* Appends @text, of a profile, with @changes; laws that it lacks come last. */
void ra_calibrate_rewrite(const char *text, const GArray *changes,
                          GString *out);

/* Every law of the bases on this GPU's data sheet, before its own rows, with
 * what such a transfer is off where another GPU has rows, or why nobody can say
 * it. */
gboolean ra_calibrate_transfer(RaCalibrateWork *work, GError **error);

/* What the law, as it was carried over, is off @rows that it has not seen; that
 * stands where @rows are one line, of which nothing can be left out.  Without
 * bases: that it was not measured. */
void ra_calibrate_unseen(RaCalibrateWork *work, const GArray *rows,
                         RaCalibrateLaw *state);

/* The laws that are no fit of one kind of row: copies of others, citations,
 * medians. */
gboolean ra_calibrate_constants(RaCalibrateWork *work, GError **error);

/* The overlap law, once those of collectives stand; @state is its. */
gboolean ra_calibrate_overlap(RaCalibrateWork *work, RaCalibrateLaw *state,
                              GError **error);

/* What @beside (RaMeasuredOverlap) determines of the overlap law of @old. */
void ra_calibrate_overlap_rows(const RaProfile *old, const GArray *beside,
                               const char *source, RaCalibration *out,
                               GArray *changes);

/* Coefficient @name of @law; a programming error where there is none. */
double *ra_calibrate_coefficient(RaProfile *profile, const char *law,
                                 const char *name);

/* What is known of law @name. */
RaCalibrateLaw *ra_calibrate_law(RaCalibrateWork *work, const char *name);

/* Appends the profile's text. */
void ra_calibrate_write(const RaCalibrateWork *work, GString *out);

#endif
