/* The points of a study, run: from the cache where they have run before, the
 * rest on all cores.
 *
 *     g_autoptr(RaSweep) sweep = ra_sweep_new(study, &flags, &options, &error);
 *     for (guint i = 0; sweep && i < sweep->n; i++)
 *       use(&sweep->points[i].figures);
 *
 * Every point that ends is in the cache at once, so a sweep that is stopped
 * goes on where it was.
 */
#ifndef RA_STUDY_SWEEP_SWEEP_H
#define RA_STUDY_SWEEP_SWEEP_H

#include "exec/comm/world.h"
#include "study/sweep/point_cache.h"
#include "study/sweep/study.h"

typedef struct {
  guint n_threads;     /* 0: as many as processors */
  RaWorld *world;      /* nullable: whose processes share the points; each has
                          all of them in the end */
  RaPointCache *cache; /* nullable: none; of process 0 */
  const gint *stop;    /* nullable: not 0: no further point is begun */
  void (*progress)(guint n_done, guint n_points, guint n_cached,
                   void *data); /* nullable: of one thread at a time */
  void *data;                   /* of it */
} RaSweepOptions;

typedef struct {
  RaTrial trial; /* of several draws the first one's, with the mean of all in
                    what is a figure; the most of memory */
  RaFigures figures;   /* of it; only where it ran */
  gboolean is_allowed; /* it ran and keeps to the study's limits */
  double draws_frac;   /* standard deviation of an iteration over draws; NAN:
                          there is one */
  double error_frac;   /* median size of its error: the model's and, of the mean
                          of several draws, what these leave open; NAN: not
                          known */
} RaSweepPoint;

typedef struct {
  const RaStudy *study; /* borrowed */
  RaSweepPoint *points; /* (n), owned */
  guint n;
  guint n_cached;   /* of them from the cache */
  gboolean is_kept; /* the cache could be written, or there is none */
  RaStudy *refined; /* owned, nullable: @study, if the sweep made it */
} RaSweep;

/**
 * ra_sweep_new:
 * @study: borrowed, outlives the sweep
 * @flags: as of ra_study_point()
 * @error: %RA_ERROR_INPUT: no point can be read, why the first cannot;
 *   %RA_ERROR_NEGATIVE: it was stopped, and how far it came; of a world: the
 *   points of its processes differ
 *
 * Returns: (transfer full): ra_sweep_free() it
 */
RaSweep *ra_sweep_new(const RaStudy *study, const RaSetupFlags *flags,
                      const RaSweepOptions *options, GError **error);
void ra_sweep_free(RaSweep *sweep);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSweep, ra_sweep_free)

/* (transfer full): a row a point: its values, all metrics that some point has,
 * the error of its iteration, whether it keeps to the limits, why it did not
 * run, of that @n_chars at most.
 */
RaTable *ra_sweep_table(const RaSweep *sweep, guint n_chars);

#endif
