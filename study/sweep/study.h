/* A study: a question asked of many plans at once, as people write it.
 *
 * Read from a `.study` key file:
 *
 *     [study]
 *     format = 1
 *     title = How many GPUs?
 *     workload = ppo-llama3-70b.workload     or plan = FILE
 *     cluster = h100-16n.cluster
 *     placement = hybridflow         a family of search/family/strategy.h, or
 *     search
 *     system = nemo-rl.system                optional
 *     set = cluster.price=2 USD/gpu/h, workload.prompts=256      optional
 *     question = minimum             fits | minimum | maximum | knee |
 *                                    crossover | pareto
 *     of = gpus                      a metric (study/sweep/metric.h); pareto:
 *     two
 *     along = nodes                  the axis of a curve
 *     where = fits, iteration < 60 s
 *     fidelity = stage
 *     iterations = 3
 *     seed = 0
 *     draws = 1                      replays of a point, of seeds in a row
 *     bisect = 4                     times that a crossover is looked for
 *     steps = 256                    of the chains of placement = search
 *
 *     [axis nodes]
 *     key = cluster.nodes            a key of any file, as --set names it
 *     values = 2, 4, 8, 16
 *
 *     [axis size]                    several keys that change together
 *     key = cluster.nodes, call actor_train.dp
 *     values = 8 | 1, 16 | 2
 *     labels = 64, 128               optional: what tables call them
 *     scale = linear                 or log; optional: log where numbers span
 *                                    more than a factor of 8
 *
 *     [failures]                     optional: study/goodput.h
 *     gpu-mtbf = 50675 h
 *     checkpoint-time = 30 s
 *     restart-time = 10 min
 *
 * Beside keys of files an axis may be of what names them (plan, workload,
 * cluster, profile, system, whose value `none` is no system), of `placement`,
 * `split` (of the disaggregated and hybridflow families), `batching` (of
 * generation, by any family: auto, static, continuous, quickest), `seed`,
 * `runs` (so many of the plan side by side) or a key of [failures].
 *
 * The points are the product of the axes, the last one fastest; a single axis
 * is a list.
 *
 * Typical sizes: 1 to 4 axes, 10 to 1,000 points.
 */
#ifndef RA_STUDY_SWEEP_STUDY_H
#define RA_STUDY_SWEEP_STUDY_H

#include "base/keyfile.h"
#include "study/sweep/metric.h"

#define RA_STUDY_AXES_MAX 8
#define RA_STUDY_KEYS_MAX 8 /* of an axis */
#define RA_STUDY_POINTS_MAX 100000
#define RA_STUDY_SPLIT_MAX 16

typedef enum {
  RA_QUESTION_FITS,      /* which points do */
  RA_QUESTION_MINIMUM,   /* the one with the least of the metric */
  RA_QUESTION_MAXIMUM,   /* with the most */
  RA_QUESTION_KNEE,      /* from where on more along the axis gains less */
  RA_QUESTION_CROSSOVER, /* where the best curve changes */
  RA_QUESTION_PARETO     /* which no other beats in both metrics */
} RaQuestion;

extern const char *const ra_question_names[];

/* What a value of an axis goes to. */
typedef enum {
  RA_AXIS_CHANGE, /* a key of a file */
  RA_AXIS_PLAN,
  RA_AXIS_WORKLOAD,
  RA_AXIS_CLUSTER,
  RA_AXIS_PROFILE,
  RA_AXIS_SYSTEM,
  RA_AXIS_PLACEMENT,
  RA_AXIS_SPLIT,
  RA_AXIS_BATCHING,
  RA_AXIS_SEED,
  RA_AXIS_RUNS,
  RA_AXIS_FAILURES
} RaAxisKind;

typedef struct {
  const char *name;                    /* of its group */
  const char *keys[RA_STUDY_KEYS_MAX]; /* as written */
  int kinds[RA_STUDY_KEYS_MAX];        /* RaAxisKind */
  guint n_keys;
  char **labels; /* (n_values) owned: values as written */
  char **values; /* (n_values x n_keys) owned: files are found */
  guint n_values;
  double *x;          /* (n_values) owned: where they lie on a curve */
  gboolean is_number; /* by their number, else by their place */
  gboolean is_log;    /* on a logarithmic scale */
} RaStudyAxis;

typedef struct {
  const RaMetric *metric; /* NULL: fits */
  gboolean is_upper;      /* the value is the most that will do */
  gboolean is_strict;     /* < or >, not <= or >= */
  double value;
} RaStudyLimit;

typedef struct {
  RaKeyFile *file; /* owned reference */
  const char *title;
  char *plan, *workload, *cluster, *profile, *system; /* paths; owned */
  const char *placement;                              /* nullable */
  int batching;                                       /* RaStrategyBatching */
  const char *const *sets;                            /* nullable */
  int question;                                       /* RaQuestion */
  const RaMetric *metrics[2];
  guint n_metrics;
  guint along;          /* axis */
  RaStudyLimit *limits; /* (n_limits) owned */
  guint n_limits;
  RaStudyAxis *axes; /* (n_axes) owned */
  guint n_axes;
  guint n_points;
  RaReplayOptions replay;
  uint64_t n_steps;
  guint n_draws;  /* >= 1: replays of a point */
  guint n_bisect; /* rounds of study/sweep/refine.h */
  gboolean has_failures;
  RaFailures failures;
} RaStudy;

/**
 * ra_study_load:
 * @file: (transfer none): referenced
 * @error: %RA_ERROR_INPUT `file:line: ...`: what ra_key_file_read_group()
 *   refuses, a file that is not found, a key that no file has, a metric or
 *   an axis that is none, a value too many, no axis, too many points
 *
 * Returns: (transfer full): ra_study_free() it
 */
RaStudy *ra_study_load(RaKeyFile *file, GError **error);
void ra_study_free(RaStudy *study);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaStudy, ra_study_free)

/* (array length=out_n) (nullable): the keys that `[noun]` of a study may have,
 * static. */
const RaKeySpec *ra_study_key_specs(const char *noun, gsize *out_n);

/* Which value of @axis point @point has. */
guint ra_study_value(const RaStudy *study, guint point, guint axis);

/* One point, ready to run. */
typedef struct {
  RaTrialSpec spec; /* borrows from the rest */
  GPtrArray *sets;  /* owned */
  uint32_t split[RA_STUDY_SPLIT_MAX];
  uint32_t n_runs;
  gboolean has_failures;
  RaFailures failures;
} RaStudyPoint;

/**
 * ra_study_point:
 * @flags: what wins over the study, and loses to its axes; borrowed by the
 *   point
 * @out_point: (out caller-allocates): ra_study_point_clear() it
 */
void ra_study_point(const RaStudy *study, const RaSetupFlags *flags, guint i,
                    RaStudyPoint *out_point);
void ra_study_point_clear(RaStudyPoint *point);

/* Whether @figures keep to all limits. */
gboolean ra_study_allows(const RaStudy *study, const RaFigures *figures);

#endif
