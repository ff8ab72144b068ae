/* Host calibration: samples of this machine's ops as a host back end, and the
 * profile that results.
 *
 * Samples are a trace that is saved next to the profile as they are taken, so
 * an interrupted calibration continues.  Each point of the probe's grid
 * (exec/measure/probe.h) has three rows: lower quartile, median and upper
 * quartile of its repeats, one after the other in time.
 *
 *     g_autoptr(RaTrace) samples =
 *         ra_host_samples(&options, "host.samples.trace.tsv", &tally, &error);
 *     g_autoptr(GString) text =
 *         ra_host_profile(samples, "host.samples.trace.tsv", "host", &error);
 *
 * A rank is the profile's GPU.  Its memory is its share of the machine's, its
 * peak is that of the fastest GEMM, its links are copies of memory.  Op times
 * are in seconds of a core's own clock; `[pace]` converts them to wall time.
 * The executor's overhead around an op (taking a task, waking a rank) is not
 * part of the op; `reallot compare` shows it.
 */
#ifndef RA_STUDY_RUN_HOST_H
#define RA_STUDY_RUN_HOST_H

#include "exec/measure/probe.h"
#include "study/run/samples.h"
#include "study/setup.h"
#include "traces/trace.h"

/* Name of this machine (transfer full), "NAME OF ITS PROCESSOR, 8 cores". */
char *ra_host_machine(void);

/* TRUE if @profile describes a host, which computes in fp32 only. */
gboolean ra_host_is_profile(const RaProfile *profile);

/**
 * ra_host_predict:
 * @setup: with a plan
 * @seed: seed of the lengths
 * @error: as ra_replay_new()
 *
 * Returns: (transfer full) (array length=n_iterations): seconds of each
 * iteration, from the end of the one before, at stage fidelity
 */
double *ra_host_predict(const RaSetup *setup, uint32_t n_iterations,
                        uint64_t seed, GError **error);

/* Largest accepted interquartile range of an op's repeats; above it the machine
 * is too noisy to be measured.  bench/loop allows as much for a whole
 * iteration. */
#define RA_HOST_NOISE_FRAC 0.1

typedef struct {
  uint32_t n_ranks; /* concurrent threads */
  RaWorld *world;   /* (nullable) borrowed: has as many processes as ranks; all
                       call, process 0 writes */
  gboolean quick;   /* fewer points, fewer repeats */
  guint n_most;     /* upper limit of new points; 0: none */
  RaSampleProgress progress; /* (nullable): before every point */
  gpointer progress_data;
  double (*clock)(gpointer data); /* (nullable): of ops, for tests */
  double (*wall)(gpointer data);  /* (nullable): wall clock, likewise */
  gpointer clock_data;
} RaHostOptions;

typedef RaSampleTally RaHostTally;

/**
 * ra_host_samples:
 * @path: (nullable): file of the samples; samples in it of the same grid and
 *   machine are not measured again
 * @error: %RA_ERROR_NO_DEVICE: no CBLAS; %RA_ERROR_INPUT: @path is no trace of
 *   such samples, or of another machine or grid
 *
 * Cost: about 2 minutes, quick 20 s.
 *
 * Returns: (transfer full): all samples
 */
RaTrace *ra_host_samples(const RaHostOptions *options, const char *path,
                         RaHostTally *out_tally, GError **error);

/**
 * ra_host_profile:
 * @samples: from ra_host_samples()
 * @name: name of their file, for messages and the profile
 * @device: name of the machine's ranks in the profile
 * @error: %RA_ERROR_INPUT: samples that are no op, or no samples of a law that
 *   a profile must have
 *
 * Returns: (transfer full): the profile's text
 */
GString *ra_host_profile(const RaTrace *samples, const char *name,
                         const char *device, GError **error);

#endif
