/* The plan of a GPU's calibration: which shapes are measured, in which order,
 * and the time for it.
 *
 * Each kind of op has a lattice of its dimensions: those of models from 0.5 to
 * 70 billion parameters, whole or cut by tensor parallelism.  The level of a
 * point is that of the coarsest lattice with this point: every fourth value of
 * each axis is level 0.  Points are ordered by level, so a measurement that
 * stops early has all kinds at all sizes, with fewer points between.
 *
 *     g_autoptr(GArray) plan = ra_probe_plan(estimator, &limits, &tally);
 *     g_array_index(plan, RaProbePlanned, 0).point
 *
 * Times come from a profile of a similar GPU.  They include the repeats that
 * the op's time requires, the cache flush and the new inputs before each, and
 * the profile's time of every launch.
 *
 * Typical size: 2,000 points.
 */
#ifndef RA_EXEC_MEASURE_PROBE_PLAN_H
#define RA_EXEC_MEASURE_PROBE_PLAN_H

#include "estimator/estimator.h"
#include "exec/measure/probe.h"

typedef struct {
  double budget_s;   /* for all points; points that do not fit are left out */
  double sample_s;   /* as in RaProbeOptions */
  guint n_least;     /* likewise */
  guint n_most;      /* likewise */
  gsize pool_bytes;  /* maximal size of an array on the machine */
  gsize cache_bytes; /* size of the caches to flush before a repeat */
  guint level_most;  /* points of higher levels are left out */
} RaProbeLimits;

/* Sets the defaults: two and a half minutes, which leaves a minute and a half
 * of four for starting, random numbers and fits; 10 ms and 5 to 50 repeats per
 * point; an H100's pools and caches.  @quick: 20 seconds, no shapes between. */
void ra_probe_limits_init(RaProbeLimits *limits, gboolean quick);

typedef struct {
  RaProbePoint point;
  guint level;
  guint n_launches; /* launches of all its repeats, including those between
                       them */
  double s;         /* time of all of these */
} RaProbePlanned;

typedef struct {
  guint n_left;       /* points that did not fit */
  guint64 n_launches; /* launches of those that do */
  double s;           /* their time */
} RaProbePlanTally;

/**
 * ra_probe_plan:
 * @estimator: with the profile of a similar GPU
 *
 * Returns: (transfer full) (element-type RaProbePlanned)
 */
GArray *ra_probe_plan(const RaEstimator *estimator, const RaProbeLimits *limits,
                      RaProbePlanTally *out_tally);

#endif
