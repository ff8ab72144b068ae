/* Validation: predictions beside what others measured, scored level by level.
 *
 * A level is one row of a table (study/validate/validate_level.c): a source of
 * measurements, what is predicted of it and how, and the bars that its errors
 * are held against.  Its collect function turns a folder of measurements into
 * rows (measured, predicted); everything else, the scores, the ranks, the
 * noise of the source, the text, is the same for all.  Two modes: the shipped
 * profiles unchanged on whatever rows the folder has, or (@cross) laws fitted
 * anew without the lines that are predicted.
 *
 *     RaValidateOptions options = {.data = "../shared/data", .cross = TRUE};
 *     g_autoptr(RaValidation) v = ra_validate(&options, &error);
 *     const RaValidateScore *first = &g_array_index(v->scores, ..., 0);
 *
 * To add a level: a collect function in study/validate_NOUN.c, its declaration
 * in study/validate/validate_impl.h, one row of the table.
 *
 * Typical sizes: 40 levels of 30 to 100,000 rows.
 */
#ifndef RA_STUDY_VALIDATE_VALIDATE_H
#define RA_STUDY_VALIDATE_VALIDATE_H

#include <glib.h>
#include <math.h>

/* When a level is collected. */
typedef enum {
  RA_VALIDATE_SHIPPED = 1 << 0, /* without --cross */
  RA_VALIDATE_CROSS = 1 << 1,   /* with it */
  RA_VALIDATE_BOTH = RA_VALIDATE_SHIPPED | RA_VALIDATE_CROSS
} RaValidateModes;

/* One measurement and its prediction. */
typedef struct {
  char *name;         /* owned: what it is, "m 64, n 4096, k 4096" */
  const char *part;   /* interned (g_intern_string()), nullable: a level is
                         scored part by part: a GPU, a source */
  char *fold;         /* owned, nullable: what was left out with it */
  char *group;        /* owned, nullable: rows of a group are plans that
                         compete; ranks are compared inside it */
  char *repeat;       /* owned, nullable: rows of a key are one configuration
                         measured again */
  const char *file;   /* interned: path */
  guint line;         /* there, from 1 */
  double measured;    /* > 0, in the level's unit */
  double predicted;   /* in the level's unit */
  double roofline;    /* by data sheets alone; NAN: none */
  double repeat_frac; /* by how much a repeat differs as the source says it,
                         median |a / b - 1|; NAN: it does not */
} RaValidateRow;

/* Neutral values of a row; fill the rest by name. */
#define RA_VALIDATE_ROW .roofline = (double)NAN, .repeat_frac = (double)NAN

typedef struct _RaValidateLevel RaValidateLevel;
typedef struct _RaValidateJob RaValidateJob;

/* Collects the rows of @level with ra_validate_add(); none where the folder has
 * none of its source, which is no error.  Called on any thread, at once with
 * other levels': no state that is shared. */
typedef gboolean (*RaValidateCollect)(const RaValidateLevel *level,
                                      RaValidateJob *job, GError **error);

struct _RaValidateLevel {
  const char *id;         /* "gemm-bf16": of --level and of the bars */
  const char *title;      /* "GEMM bf16, n and k left out" */
  const char *source;     /* folder of the data: "kernels_gemm" */
  const char *unit;       /* of measured and predicted: "s", "tokens/s" */
  RaValidateModes modes;  /* when it is collected */
  gboolean scored;        /* FALSE: reported apart, no bar */
  double median_bar;      /* fraction; 0: none */
  double p90_bar;         /* fraction; 0: none */
  const char *convention; /* one sentence: the folds, or the default that
                             stands for what the source leaves open */
  RaValidateCollect collect;
  gconstpointer argument; /* of collect, static; may be NULL */
};

/* What one collect function sees and fills. */
struct _RaValidateJob {
  const char *data; /* folder of measurements */
  gboolean cross;   /* refit, leaving folds out */
  gboolean quick;   /* a glance: fewer folds will do */
  GArray *rows;     /* (RaValidateRow), owned */
  GPtrArray *notes; /* (char *) owned: what a person should know, such as rows
                       that are not scored, a line each */
  GArray *bars;     /* (RaValidateBar), owned: of parts */
};

/* Bars of one part that differ from the level's. */
typedef struct {
  const char *part; /* interned */
  double median_bar, p90_bar;
} RaValidateBar;

/* Adds a row; takes its strings.  One that measured nothing (not > 0) or has no
 * finite prediction is a programming error. */
void ra_validate_add(RaValidateJob *job, RaValidateRow row);

/* Rows of @part have bars of their own; 0: none. */
void ra_validate_set_bars(RaValidateJob *job, const char *part,
                          double median_bar, double p90_bar);
void ra_validate_note(RaValidateJob *job, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/* The score of one part of a level. */
typedef struct {
  const RaValidateLevel *level;
  const char *part;   /* interned, nullable */
  guint n_rows;       /* at least one */
  double median_frac; /* of |predicted / measured - 1| */
  double p90_frac;
  double worst_frac;         /* with its sign */
  guint worst;               /* row of the level */
  double bias_frac;          /* median of predicted / measured - 1, signed */
  guint64 n_pairs;           /* of rows of a group that differ in measured */
  double pairs_frac;         /* of them predicted in that order; NAN: none */
  guint n_repeated;          /* rows that have a repeat */
  double repeat_median_frac; /* NAN: none */
  double repeat_p90_frac;
  double roofline_median_frac; /* NAN: none */
  double roofline_p90_frac;
  double median_bar, p90_bar; /* 0: none */
} RaValidateScore;

/* One level as collected. */
typedef struct {
  const RaValidateLevel *level;
  GArray *rows;                /* (RaValidateRow), owned */
  GPtrArray *notes;            /* (char *), owned */
  guint first_score, n_scores; /* of RaValidation.scores */
} RaValidateResult;

typedef struct {
  GArray *results; /* (RaValidateResult), in the order of the table */
  GArray *scores;  /* (RaValidateScore), in the order of the results, parts as
                      they come */
  GError *fault;   /* owned, nullable: of the first level whose files are
                      damaged; such levels have a note and no rows */
} RaValidation;

/* Tells of each level as it ends, from any thread; may be NULL. */
typedef void (*RaValidateProgress)(const RaValidateLevel *level,
                                   gpointer user_data);

typedef struct {
  const char *data; /* folder of measurements */
  gboolean cross;
  gboolean quick;
  const char *pattern; /* glob on the levels' ids; NULL: all */
  guint n_threads;     /* 0: as many as there are cores */
  RaValidateProgress progress;
  gpointer progress_data;
} RaValidateOptions;

guint ra_validate_n_levels(void);
const RaValidateLevel *ra_validate_level_at(guint index);

/**
 * ra_validate:
 * @options: borrowed
 * @error: %RA_ERROR_INPUT: no such folder, no level of that pattern, no row of
 *   any level in the folder
 *
 * Collects the levels on several threads and scores them.  The result does not
 * depend on how many.  A level whose files are damaged does not hide the
 * others: see RaValidation.fault; it is the @error where there is no other.
 *
 * Returns: (transfer full): %NULL on error
 */
RaValidation *ra_validate(const RaValidateOptions *options, GError **error);

/* The same over @levels (static) instead of the table. */
RaValidation *ra_validate_levels(const RaValidateLevel *levels, guint n_levels,
                                 const RaValidateOptions *options,
                                 GError **error);
void ra_validation_free(RaValidation *validation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaValidation, ra_validation_free)

/**
 * ra_validate_score:
 * @rows: (element-type RaValidateRow)
 * @part: (nullable): whose rows are scored; interned
 *
 * Of rows of a key of repeats every two are compared, each with each as the
 * measure.  Where the source gives a deviation instead, the rows' repeat_frac
 * counts.
 *
 * Cost: O(rows log rows + sum over groups of rows^2).
 *
 * Returns: the score without bars and level
 */
RaValidateScore ra_validate_score(const GArray *rows, const char *part);

#endif
