/* Samples of ops while they are taken: a trace, saved beside the profile now
 * and then, so that a start that was stopped goes on where it was.
 *
 * Three rows a point: lower quartile, median and upper quartile of its repeats,
 * one after the other in time.  The head says what machine they are of and over
 * which grid; a file of another is refused, and left as it is.
 *
 *     RaSampling s = {.probe = probe, .points = grid, .source = SOURCE, ...};
 *     g_autoptr(RaTrace) samples = ra_samples_take(&s, path, &tally, &error);
 */
#ifndef RA_STUDY_RUN_SAMPLES_H
#define RA_STUDY_RUN_SAMPLES_H

#include "exec/measure/probe.h"
#include "traces/trace.h"

/* Before every point. */
typedef void (*RaSampleProgress)(guint n_done, guint n_points, const char *op,
                                 gpointer data);

typedef struct {
  RaProbe *probe;          /* borrowed */
  const GArray *points;    /* (element-type RaProbePoint), borrowed */
  const RaBackend *device; /* (nullable): whose failures and whose results that
                              are no numbers end it; NULL: the host */
  uint32_t n_ranks;        /* of the probe */
  RaWorld *world;          /* (nullable) borrowed: process 0 writes */
  const char *source;      /* of the head, as the two that follow */
  const char *machine;
  const char *grid;
  guint n_most;    /* points to measure now, at most; 0: all */
  double budget_s; /* no point is begun after so many; 0: no end */
  void (*begin)(RaTrace *trace, gpointer data); /* the rest of a new head */
  /* (nullable): behind each point, and with %NULL behind the last */
  void (*add)(RaTrace *trace, const RaProbeSample *sample, gpointer data);
  gpointer data;             /* of both */
  RaSampleProgress progress; /* (nullable) */
  gpointer progress_data;
} RaSampling;

typedef struct {
  guint n_points;     /* of the grid */
  guint n_known;      /* of them in the file before */
  guint n_new;        /* measured now */
  double spread_frac; /* median over points: (upper - lower quartile) / median
                       */
} RaSampleTally;

/**
 * ra_samples_take:
 * @path: (nullable): where they are kept
 * @error: %RA_ERROR_INPUT: @path is of something else; %RA_ERROR_DEVICE: a
 *   device failed, or left what is no number
 *
 * Returns: (transfer full): all of them, old and new
 */
RaTrace *ra_samples_take(const RaSampling *sampling, const char *path,
                         RaSampleTally *out_tally, GError **error);

#endif
