/* Which shapes of a GPU are measured, in which order, and how long that takes.
 *
 * Of each kind a lattice of its dimensions, those of models from 0.5 to 70
 * billion parameters, whole or cut by tensor parallelism.  A point's level says
 * how coarse the lattice is that has it already: the first quarter of every
 * axis is level 0.  Points come by level, so that who stops early, or has less
 * time, has all kinds at all sizes, and fewer between.
 *
 *     g_autoptr(GArray) plan = ra_probe_plan(estimator, &limits, &tally);
 *     g_array_index(plan, RaProbePlanned, 0).point
 *
 * Seconds are those of a profile of a GPU like it: of the repeats that the op's
 * time asks for, with what empties caches and makes inputs anew between them;
 * and of every launch what the profile has of one.
 *
 * Typical size: 2,000 points.
 */
#ifndef RA_EXEC_MEASURE_PROBE_PLAN_H
#define RA_EXEC_MEASURE_PROBE_PLAN_H

#include "estimator/estimator.h"
#include "exec/measure/probe.h"

typedef struct {
  double budget_s;   /* of all points; the first that do not fit are left out */
  double sample_s;   /* as of RaProbeOptions */
  guint n_least;     /* the same */
  guint n_most;      /* the same */
  gsize pool_bytes;  /* of the machine: no array is larger */
  gsize cache_bytes; /* that is emptied before a repeat */
  guint level_most;  /* points of higher levels are left out */
} RaProbeLimits;

/* Two and a half minutes, which leaves a minute and a half of four for what is
 * beside: starting, random numbers, fits; 10 ms and 5 to 50 repeats a point; an
 * H100's pools and caches.  @quick: 20 seconds, no shapes between. */
void ra_probe_limits_init(RaProbeLimits *limits, gboolean quick);

typedef struct {
  RaProbePoint point;
  guint level;
  guint n_launches; /* of all its repeats, with what stands between them */
  double s;         /* of all of them */
} RaProbePlanned;

typedef struct {
  guint n_left;       /* points that did not fit */
  guint64 n_launches; /* of those that do */
  double s;           /* theirs */
} RaProbePlanTally;

/**
 * ra_probe_plan:
 * @estimator: of a profile of such a GPU
 *
 * Returns: (transfer full) (element-type RaProbePlanned)
 */
GArray *ra_probe_plan(const RaEstimator *estimator, const RaProbeLimits *limits,
                      RaProbePlanTally *out_tally);

#endif
