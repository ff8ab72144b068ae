/* Sweep: the points of a study, taken from the cache if they have run before,
 * the rest run on all cores.
 *
 *     g_autoptr(RaSweep) sweep = ra_sweep_new(study, &flags, &options, &error);
 *     for (guint i = 0; sweep && i < sweep->n; i++)
 *       use(&sweep->points[i].figures);
 *
 * A finished point is cached at once, so an interrupted sweep continues where
 * it was.
 */
#ifndef RA_STUDY_SWEEP_SWEEP_H
#define RA_STUDY_SWEEP_SWEEP_H

#include "exec/comm/world.h"
#include "study/sweep/point_cache.h"
#include "study/sweep/study.h"

typedef struct {
  guint n_threads; /* 0: as many as processors */
  RaWorld *world;  /* nullable: processes that share the points; each has all of
                      them in the end */
  RaPointCache *cache; /* nullable: none; used by process 0 */
  const gint *stop;    /* nullable: non-zero: no further point begins */
  void (*progress)(guint n_done, guint n_points, guint n_cached,
                   void *data); /* nullable: of one thread at a time */
  void *data;                   /* argument of progress */
} RaSweepOptions;

typedef struct {
  RaTrial trial; /* trial of the first seed.  With several seeds, figures are
                    means over all, memory is the maximum */
  RaFigures figures;   /* its figures; only where it ran */
  gboolean is_allowed; /* it ran and satisfies the study's limits */
  double draws_frac; /* standard deviation of an iteration over seeds; NAN: only
                        one */
  double error_frac; /* median absolute error: the model's and, for the mean of
                        several seeds, the remaining sampling error; NAN: not
                        known */
} RaSweepPoint;

typedef struct {
  const RaStudy *study; /* borrowed */
  RaSweepPoint *points; /* (n), owned */
  guint n;
  guint n_cached;   /* points taken from the cache */
  gboolean is_kept; /* the cache could be written, or there is none */
  RaStudy *refined; /* owned, nullable: @study, if the sweep made it */
} RaSweep;

/**
 * ra_sweep_new:
 * @study: borrowed, outlives the sweep
 * @flags: as for ra_study_point()
 * @error: %RA_ERROR_INPUT: no point can be read, with the reason of the first;
 *   %RA_ERROR_NEGATIVE: it was stopped, with its progress; of a world: the
 *   points of its processes differ
 *
 * Returns: (transfer full): free with ra_sweep_free()
 */
RaSweep *ra_sweep_new(const RaStudy *study, const RaSetupFlags *flags,
                      const RaSweepOptions *options, GError **error);
void ra_sweep_free(RaSweep *sweep);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSweep, ra_sweep_free)

/* The line of a sweep that was stopped (transfer full). */
char *ra_sweep_stopped_line(guint n_done, guint n_points, gboolean is_kept);

/* Table with a row per point (transfer full): its values, all metrics that some
 * point has, the error of its iteration, whether it satisfies the limits, and
 * why it did not run, in at most @n_chars characters. */
RaTable *ra_sweep_table(const RaSweep *sweep, guint n_chars);

#endif
