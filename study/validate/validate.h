/* Validation: predictions compared with published measurements, scored by
 * benchmark set.
 *
 * A benchmark set (a level) is one row of a table
 * (study/validate/validate_level.c): a source of measurements, what is
 * predicted and how, and the bars for its errors.  Its collect function turns a
 * folder of measurements into rows (measured, predicted). Everything else is
 * the same for all sets: scores, ranks, noise of the source, text.  There are
 * two modes: the shipped profiles unchanged, on all rows of the folder; or
 * (@cross) laws fitted anew without the groups that are predicted.
 *
 *     RaValidateOptions options = {.data = "../shared/data", .cross = TRUE};
 *     g_autoptr(RaValidation) v = ra_validate(&options, &error);
 *     const RaValidateScore *first = &g_array_index(v->scores, ..., 0);
 *
 * To add a set: a collect function in study/validate/validate_NOUN.c, its
 * declaration in study/validate/validate_impl.h, one row of the table.
 *
 * Typical sizes: 40 sets of 30 to 100,000 rows.
 */
#ifndef RA_STUDY_VALIDATE_VALIDATE_H
#define RA_STUDY_VALIDATE_VALIDATE_H

#include <glib.h>
#include <math.h>

/* Modes in which a benchmark set is collected. */
typedef enum {
  RA_VALIDATE_SHIPPED = 1 << 0, /* without --cross */
  RA_VALIDATE_CROSS = 1 << 1,   /* with it */
  RA_VALIDATE_BOTH = RA_VALIDATE_SHIPPED | RA_VALIDATE_CROSS
} RaValidateModes;

/* One measurement and its prediction. */
typedef struct {
  char *name;       /* owned: description, "m 64, n 4096, k 4096" */
  const char *part; /* interned (g_intern_string()), nullable: part of the set
                       that is scored by itself: a GPU, a source */
  char *fold;       /* owned, nullable: the group that was left out with it */
  char *group;  /* owned, nullable: rows of a group are competing plans; ranks
                   are compared inside it */
  char *repeat; /* owned, nullable: rows with the same key are repeated
                   measurements of one configuration */
  const char *file;   /* interned: path */
  guint line;         /* there, from 1 */
  double measured;    /* in the set's unit, > 0 */
  double predicted;   /* in the set's unit */
  double roofline;    /* by data sheets alone; NAN: none */
  double repeat_frac; /* difference between repeats as published, median |a / b
                         - 1|; NAN: not published */
  double apart_frac;  /* pairs of its group that differ by no more are not
                        compared; 0: all are */
  double interval_frac; /* nine of ten such rows are measured within (1 + this)
                           times the prediction, and 1 / (1 + this) times it;
                           NAN: not predicted */
} RaValidateRow;

/* Neutral values of a row; fill the rest by name. */
#define RA_VALIDATE_ROW                                                        \
  .roofline = (double)NAN, .repeat_frac = (double)NAN,                         \
  .interval_frac = (double)NAN

typedef struct _RaValidateLevel RaValidateLevel;
typedef struct _RaValidateJob RaValidateJob;

/* Collects the rows of @level with ra_validate_add(). No rows if the folder has
 * none of its source, which is no error.  Runs on any thread, concurrently with
 * other levels: it may use no shared state. */
typedef gboolean (*RaValidateCollect)(const RaValidateLevel *level,
                                      RaValidateJob *job, GError **error);

struct _RaValidateLevel {
  const char *id;         /* "gemm-bf16": for --level and the bars */
  const char *title;      /* "GEMM bf16, n and k left out" */
  const char *source;     /* folder of the data: "kernels_gemm" */
  const char *unit;       /* of measured and predicted: "s", "tokens/s" */
  RaValidateModes modes;  /* modes in which it is collected */
  gboolean scored;        /* FALSE: reported separately, without bars */
  double median_bar;      /* fraction; 0: none */
  double p90_bar;         /* fraction; 0: none */
  gboolean intervals;     /* scored by how many rows their intervals contain */
  const char *convention; /* one sentence: the folds, or the assumption where
                             the source gives no value */
  gboolean joins; /* takes rows of all folders together; else collect is called
                     once for each folder that has the source */
  RaValidateCollect collect;
  gconstpointer argument; /* of collect, static; may be NULL */
};

/* Predictions that several sets score, made by the first that needs them. */
typedef struct {
  GMutex mutex;  /* guards the rest */
  GArray *steps; /* of study/validate/validate_steps.c; owned, nullable */
} RaValidateShared;

/* Input and output of one collect function. */
struct _RaValidateJob {
  const char *data;           /* one folder of measurements */
  const char *const *folders; /* all of them, NULL-terminated */
  gboolean cross;             /* refit, with folds left out */
  gboolean quick;             /* fewer folds suffice */
  RaValidateShared *shared;   /* of all sets of the validation */
  GArray *rows;               /* (RaValidateRow), owned */
  GPtrArray *notes; /* (char *) owned: notes for the user, such as rows that are
                       not scored, a line each */
  GArray *bars;     /* (RaValidateBar), owned: bars of parts */
};

/* Bars of one part that differ from the set's. */
typedef struct {
  const char *part; /* interned */
  double median_bar, p90_bar;
} RaValidateBar;

/* Adds a row and takes its strings.  A row whose measurement is not > 0, or
 * whose prediction is not finite, is a programming error. */
void ra_validate_add(RaValidateJob *job, RaValidateRow row);

/* Sets bars for the rows of @part; 0: none. */
void ra_validate_set_bars(RaValidateJob *job, const char *part,
                          double median_bar, double p90_bar);
void ra_validate_note(RaValidateJob *job, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* Score of one part of a benchmark set. */
typedef struct {
  const RaValidateLevel *level;
  const char *part;   /* interned, nullable */
  guint n_rows;       /* at least one */
  double median_frac; /* median of |predicted / measured - 1| */
  double p90_frac;
  double worst_frac; /* the largest such error, with its sign */
  guint worst;       /* its row in the set */
  double bias_frac;  /* median of predicted / measured - 1, signed */
  guint64 n_pairs;   /* pairs of rows of a group that differ in measured */
  double pairs_frac; /* share of them predicted in that order; NAN: none */
  guint n_repeated;  /* rows that have a repeat */
  double repeat_median_frac; /* NAN: none */
  double repeat_p90_frac;
  double roofline_median_frac; /* NAN: none */
  double roofline_p90_frac;
  guint n_intervals;    /* rows with an interval */
  double coverage_frac; /* share of them that are measured in it; NAN: none
                             */
  double interval_frac; /* their median; NAN: none */
  double median_bar, p90_bar; /* 0: none */
} RaValidateScore;

/* Intervals of nine of ten contain as many measurements, and neither so few
 * that they mislead nor so many that they are too wide to decide by. */
#define RA_COVERAGE_LOW 0.85
#define RA_COVERAGE_HIGH 0.97

/* A benchmark set as collected. */
typedef struct {
  const RaValidateLevel *level;
  GArray *rows;                /* (RaValidateRow), owned */
  GPtrArray *notes;            /* (char *), owned */
  guint first_score, n_scores; /* range in RaValidation.scores */
} RaValidateResult;

typedef struct {
  GArray *results; /* (RaValidateResult), in the order of the table */
  GArray *scores;  /* (RaValidateScore), in the order of the results, then by
                      first occurrence of the part */
  GError *fault; /* owned, nullable: error of the first set with damaged files;
                    such sets have a note and no rows */
} RaValidation;

/* Callback at the end of each set, from any thread; may be NULL. */
typedef void (*RaValidateProgress)(const RaValidateLevel *level,
                                   gpointer user_data);

typedef struct {
  const char *data;        /* folder of measurements */
  const char *const *more; /* further ones, NULL-terminated; NULL: none */
  gboolean cross;
  gboolean quick;
  const char *pattern; /* glob on the sets' ids; NULL: all */
  guint n_threads;     /* 0: as many as cores */
  RaValidateProgress progress;
  gpointer progress_data;
} RaValidateOptions;

guint ra_validate_n_levels(void);
const RaValidateLevel *ra_validate_level_at(guint index);

/**
 * ra_validate:
 * @options: borrowed
 * @error: %RA_ERROR_INPUT: no such folder, no set matches the pattern, or no
 *   set has a row in the folder
 *
 * Collects the sets on several threads and scores them.  The result does not
 * depend on the number of threads.  A set with damaged files does not hide the
 * others: see RaValidation.fault.  It is the @error if there is no other set.
 *
 * Returns: (transfer full): %NULL on error
 */
RaValidation *ra_validate(const RaValidateOptions *options, GError **error);

/* As ra_validate(), for @levels (static) instead of the table. */
RaValidation *ra_validate_levels(const RaValidateLevel *levels, guint n_levels,
                                 const RaValidateOptions *options,
                                 GError **error);
void ra_validation_free(RaValidation *validation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaValidation, ra_validation_free)

/* TRUE if @row, which has an interval, is measured in it. */
gboolean ra_validate_is_in(const RaValidateRow *row);

/**
 * ra_validate_score:
 * @rows: (element-type RaValidateRow)
 * @part: (nullable): part whose rows are scored; interned
 *
 * Repeats are compared in pairs: each two rows with the same repeat key, either
 * of them as the measure.  If the source publishes a deviation instead, the
 * rows' repeat_frac counts.
 *
 * Cost: O(rows log rows + sum over groups of rows^2).
 *
 * Returns: the score without bars and level
 */
RaValidateScore ra_validate_score(const GArray *rows, const char *part);

#endif
