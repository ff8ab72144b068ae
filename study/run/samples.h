/* Sampling of ops: a trace that is saved now and then, so an interrupted
 * calibration continues.
 *
 * Each point has three rows: lower quartile, median and upper quartile of its
 * repeats, one after the other in time.  The head names the machine and the
 * grid; a file of another machine or grid is rejected and left unchanged.
 *
 *     RaSampling s = {.probe = probe, .points = grid, .source = SOURCE, ...};
 *     g_autoptr(RaTrace) samples = ra_samples_take(&s, path, &tally, &error);
 */
#ifndef RA_STUDY_RUN_SAMPLES_H
#define RA_STUDY_RUN_SAMPLES_H

#include "exec/measure/probe.h"
#include "traces/trace.h"

/* Callback before every point. */
typedef void (*RaSampleProgress)(guint n_done, guint n_points, const char *op,
                                 gpointer data);

typedef struct {
  RaProbe *probe;          /* borrowed */
  const GArray *points;    /* (element-type RaProbePoint), borrowed */
  const RaBackend *device; /* (nullable): device; its failures, or results
                              that are no numbers, end the sampling; NULL:
                              the host */
  uint32_t n_ranks;        /* ranks of the probe */
  RaWorld *world;          /* (nullable) borrowed: process 0 writes */
  const char *source;      /* field of the head, as the two that follow */
  const char *machine;
  const char *grid;
  guint n_most;    /* upper limit of new points; 0: none */
  double budget_s; /* no point begins after so many seconds; 0: no limit */
  void (*begin)(RaTrace *trace, gpointer data); /* adds the rest of a new
                                                   head */
  /* (nullable): called after each point, and with %NULL after the last */
  void (*add)(RaTrace *trace, const RaProbeSample *sample, gpointer data);
  gpointer data;             /* argument of both */
  RaSampleProgress progress; /* (nullable) */
  gpointer progress_data;
} RaSampling;

typedef struct {
  guint n_points;     /* points of the grid */
  guint n_known;      /* points that were already in the file */
  guint n_new;        /* points measured in this run */
  double spread_frac; /* median over points: (upper - lower quartile) / median
                         */
} RaSampleTally;

/**
 * ra_samples_take:
 * @path: (nullable): file of the samples
 * @error: %RA_ERROR_INPUT: @path has other content; %RA_ERROR_DEVICE: a device
 *   failed, or returned results that are no numbers
 *
 * Returns: (transfer full): all samples, old and new
 */
RaTrace *ra_samples_take(const RaSampling *sampling, const char *path,
                         RaSampleTally *out_tally, GError **error);

#endif
