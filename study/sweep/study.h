/* Study: a question about many plans at once, read from a `.study` key file.
 *
 *     [study]
 *     format = 1
 *     title = How many GPUs?
 *     workload = ppo-llama3-70b.workload     or plan = FILE
 *     cluster = h100-16n.cluster
 *     placement = hybridflow         a family of search/family/strategy.h, or
 *                                    search
 *     system = nemo-rl.system                optional
 *     set = cluster.price=2 USD/gpu/h, workload.prompts=256      optional
 *     question = minimum             fits | minimum | maximum | knee |
 *                                    crossover | pareto
 *     of = gpus                      a metric (study/sweep/metric.h); pareto:
 *                                    two
 *     along = nodes                  the axis of a curve
 *     where = fits, iteration < 60 s
 *     fidelity = stage
 *     network = off                  or flows: links contend
 *     iterations = 3
 *     seed = 0
 *     seeds = 1                      replays of a point, with consecutive seeds
 *     bisect = 4                     refinement steps of a crossover
 *     steps = 256                    of the chains of placement = search
 *
 *     [axis nodes]
 *     key = cluster.nodes            a key of any file, as --set names it
 *     values = 2, 4, 8, 16
 *
 *     [axis size]                    several keys that change together
 *     key = cluster.nodes, call actor_train.dp
 *     values = 8 | 1, 16 | 2
 *     labels = 64, 128               optional: names in tables
 *     scale = linear                 or log; optional: log where numbers span
 *                                    more than a factor of 8
 *
 *     [failures]                     optional: study/goodput.h
 *     gpu-mtbf = 50675 h
 *     checkpoint-time = 30 s
 *     restart-time = 10 min
 *
 * The key of an axis is a key of a file, or one of these:
 *
 *   plan, workload, cluster, profile, system  the file itself; `none` is no
 *                                             system
 *   placement                                 a placement strategy, or search
 *   split                                     of the disaggregated and
 *                                             hybridflow families
 *   batching                                  of generation, by any family:
 *                                             auto, static, continuous,
 *                                             fastest
 *   seed                                      the first seed
 *   runs                                      number of concurrent runs of the
 *                                             plan
 *
 * The points are the product of the axes, the last one varying fastest; a
 * single axis is a list.
 *
 * Typical sizes: 1 to 4 axes, 10 to 1,000 points.
 */
#ifndef RA_STUDY_SWEEP_STUDY_H
#define RA_STUDY_SWEEP_STUDY_H

#include "base/keyfile.h"
#include "study/sweep/metric.h"

#define RA_STUDY_AXES_MAX 8
#define RA_STUDY_KEYS_MAX 8 /* per axis */
#define RA_STUDY_POINTS_MAX 100000
#define RA_STUDY_SPLIT_MAX 16

typedef enum {
  RA_QUESTION_FITS,      /* points that fit */
  RA_QUESTION_MINIMUM,   /* point with the least value of the metric */
  RA_QUESTION_MAXIMUM,   /* point with the greatest value */
  RA_QUESTION_KNEE,      /* point after which more along the axis gains less */
  RA_QUESTION_CROSSOVER, /* place where the best curve changes */
  RA_QUESTION_PARETO     /* points that no other beats in both metrics */
} RaQuestion;

extern const char *const ra_question_names[];

/* Target of an axis's values. */
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
  const char *name;                    /* name of its group */
  const char *keys[RA_STUDY_KEYS_MAX]; /* as written */
  int kinds[RA_STUDY_KEYS_MAX];        /* RaAxisKind */
  guint n_keys;
  char **labels; /* (n_values) owned: values as written */
  char **values; /* (n_values x n_keys) owned: values with files resolved */
  guint n_values;
  double *x;          /* (n_values) owned: positions on a curve */
  gboolean is_number; /* x is the number of the label, else its index */
  gboolean is_log;    /* on a logarithmic scale */
} RaStudyAxis;

typedef struct {
  const RaMetric *metric; /* NULL: fits */
  gboolean is_upper;      /* value is an upper limit */
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
 * @error: %RA_ERROR_INPUT `file:line: ...`: errors of ra_key_file_read_group(),
 *   a missing file, a key that no file has, an unknown metric or axis, a value
 *   too many, no axis, too many points
 *
 * Returns: (transfer full): free with ra_study_free()
 */
RaStudy *ra_study_load(RaKeyFile *file, GError **error);
void ra_study_free(RaStudy *study);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaStudy, ra_study_free)

/* Keys that `[noun]` of a study may have (array length=out_n) (nullable),
 * static. */
const RaKeySpec *ra_study_key_specs(const char *noun, gsize *out_n);

/* Index of the value of @axis that point @point has. */
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
 * @flags: override the study, and are overridden by its axes; borrowed by the
 *   point
 * @out_point: (out caller-allocates): clear with ra_study_point_clear()
 */
void ra_study_point(const RaStudy *study, const RaSetupFlags *flags, guint i,
                    RaStudyPoint *out_point);
void ra_study_point_clear(RaStudyPoint *point);

/* TRUE if @figures satisfy all limits. */
gboolean ra_study_allows(const RaStudy *study, const RaFigures *figures);

#endif
