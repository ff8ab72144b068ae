/* A profile during its calibration, private to calibrate*.c. */
#ifndef RA_ESTIMATOR_CALIBRATE_CALIBRATE_IMPL_H
#define RA_ESTIMATOR_CALIBRATE_CALIBRATE_IMPL_H

#include "estimator/calibrate/calibrate.h"
#include "estimator/calibrate/gpu.h"
#include "estimator/fit.h"

/* The origin and errors of one law. */
typedef struct {
  gboolean absent;              /* left out: optional and without rows */
  const RaGpu *from;            /* GPU of a transferred law; NULL: own rows */
  const RaLaw *law;             /* law of the base; NULL: fitted on rows */
  guint64 n_rows;               /* rows of the fit */
  guint n_more;                 /* rows from traces */
  guint n_outliers;             /* rows that are outliers */
  double median_frac, p90_frac; /* held out; < 0: not measured */
  char *held_out;               /* method, or why there is none, owned; NULL:
                                   as in the law's fit */
  gboolean is_layer;            /* rows are of a layer in serving_e2e_vllm */
  gboolean borrows;             /* its table has rows of siblings, too */
  gboolean has_peak;            /* transferred, but for its peak's share */
} RaCalibrateLaw;

typedef struct {
  const char *const *data; /* NULL-terminated folders */
  const char *folders;     /* their names, for messages */
  const RaGpu *gpu;
  RaSheet sheet;           /* data sheet of @gpu */
  RaProfile *const *bases; /* (n_bases) sources of transferred laws */
  guint n_bases;
  const GArray *more;   /* (RaMeasured) rows of traces; NULL: none */
  RaProfile *profile;   /* has every law */
  RaCalibrateLaw *laws; /* (ra_law_n_specs()) */
  RaCalibration *out;
  gboolean sends_across; /* the law of sends was fitted between nodes */
} RaCalibrateWork;

/* An empty result. */
RaCalibration *ra_calibration_new(void);

/* Adds a note. */
void ra_calibrate_note(RaCalibration *out, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* Adds a note on the outliers of @law. */
void ra_calibrate_note_outliers(RaCalibration *out, const RaFitLaw *law,
                                const GArray *rows, const RaFitResult *result);

/* The @rows whose law in @profile is @law, those of blocks with what it
 * predicts beside them; @rows may be NULL. */
GArray *ra_calibrate_rows_of(const GArray *rows, const RaFitLaw *law,
                             const RaProfile *profile);

/* TRUE if the estimator multiplies @op by the pace of the host's cores. */
gboolean ra_calibrate_is_paced(const RaOp *op);

/**
 * ra_calibrate_paced:
 * @rows: (element-type RaMeasured)
 * @has_draws: each run among them is a sample of the machine's pace
 * @out_pace: (out): the profile's pace, with the samples
 *
 * Rows of traces are in wall seconds, the laws of a host in CPU seconds.  The
 * pace of a run is its measured one, else the median, weighted by seconds, of
 * measured / predicted time of its ops.  The rest of a row's deviation belongs
 * to the op.  The pace of the machine is the mean of the logarithms of its
 * samples, of which the calibration is one.  With a profile without a pace,
 * rows stay as they are.
 *
 * Returns: (transfer full): all rows, in CPU seconds
 */
GArray *ra_calibrate_paced(const RaProfile *profile, const GArray *rows,
                           gboolean has_draws, RaPace *out_pace);

/* (transfer full): @text of a profile with its pace replaced by @pace. */
char *ra_calibrate_pace_text(const char *text, const RaPace *pace);

/* Changes of one law in the text of a profile. */
typedef struct {
  const char *law;
  GString *text; /* owned: new groups; NULL: the changes below */
  char *n_rows;  /* owned: new "rows" */
  char *more;    /* owned: appended to its source */
  RaGrid *grid;  /* owned: new table */
} RaCalibrateChange;

/* Returns: (transfer full) (element-type RaCalibrateChange) */
GArray *ra_calibrate_changes_new(void);

/* Appends the @text of a profile with @changes; laws that it lacks come last.
 */
void ra_calibrate_rewrite(const char *text, const GArray *changes,
                          GString *out);

/* Transfers every law of the bases to this GPU's data sheet, before its own
 * rows are used.  Records the error of such a transfer if another GPU has rows,
 * else why it is unknown. */
gboolean ra_calibrate_transfer(RaCalibrateWork *work, GError **error);

/* Records the error of the transferred law on @rows that it has not seen, for
 * @rows of one group, of which none can be held out.  Without bases, records
 * that it was not measured. */
void ra_calibrate_unseen(RaCalibrateWork *work, const GArray *rows,
                         RaCalibrateLaw *state);

/* Sets the laws that are not a fit of one kind of row: copies of others,
 * citations, medians. */
gboolean ra_calibrate_constants(RaCalibrateWork *work, GError **error);

/* Fits the overlap law, after those of collectives; @state is that of the law.
 */
gboolean ra_calibrate_overlap(RaCalibrateWork *work, RaCalibrateLaw *state,
                              GError **error);

/* Fits the coefficients of the overlap law of @old that @beside
 * (RaMeasuredOverlap) determines. */
void ra_calibrate_overlap_rows(const RaProfile *old, const GArray *beside,
                               const char *source, RaCalibration *out,
                               GArray *changes);

/* Coefficient @name of @law, which must exist. */
double *ra_calibrate_coefficient(RaProfile *profile, const char *law,
                                 const char *name);

/* The origin and errors of law @name. */
RaCalibrateLaw *ra_calibrate_law(RaCalibrateWork *work, const char *name);

/* Appends the text of the profile. */
void ra_calibrate_write(const RaCalibrateWork *work, GString *out);

#endif
