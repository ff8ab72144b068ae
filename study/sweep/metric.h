/* Metric: a figure of a plan that studies ask about.
 *
 *     const RaMetric *m = ra_metric_find("tokens-per-gpu");
 *     double value = ra_metric_value(m, &figures);
 *
 * Typical sizes: 11 metrics.
 */
#ifndef RA_STUDY_SWEEP_METRIC_H
#define RA_STUDY_SWEEP_METRIC_H

#include "base/table.h"
#include "study/goodput.h"
#include "study/sweep/trial.h"

/* Inputs of the metrics. */
typedef struct {
  const RaTrial *trial;  /* borrowed; it ran */
  uint32_t n_runs;       /* concurrent runs of it, >= 1 */
  gboolean has_failures; /* goodput is set */
  RaGoodput goodput;     /* of each run */
} RaFigures;

typedef struct {
  const char *name;   /* in files: "iteration" */
  const char *column; /* in tables: "iteration_s" */
  const char *title;  /* for people: "time of an iteration (s)" */
  RaUnit unit;
  RaCellType cell;
  gboolean more_is_better;
  double (*value)(const RaFigures *figures);
} RaMetric;

/* All metrics, in the order of tables; @out_n: their number. */
const RaMetric *ra_metrics(guint *out_n);

/* Finds a metric by its name (nullable). */
const RaMetric *ra_metric_find(const char *name);

/* Value of a metric; NAN where it is not known: no price, no failures. */
double ra_metric_value(const RaMetric *metric, const RaFigures *figures);

/* Names of all metrics for messages: "iteration, tokens, ..."; (transfer full).
 */
char *ra_metric_names(void);

/* Formats a value (transfer full): "37.3 s", "812", "64.0 %". */
char *ra_metric_say(const RaMetric *metric, double value);

/* Parses @text in @metric's unit: `60 s`, `1e4`, `0.9`. */
gboolean ra_metric_parse(const RaMetric *metric, const char *text,
                         double *out_value, GError **error);

/* Adds the cell of @value to @table. */
void ra_metric_cell(const RaMetric *metric, RaTable *table, double value);

#endif
