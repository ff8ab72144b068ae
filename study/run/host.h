/* Calibration of this machine as a host back end: samples of its ops, and the
 * profile that they make.
 *
 * Samples are a trace, saved beside the profile while they are taken, so that a
 * start that was stopped goes on where it was: three rows a point of the
 * probe's grid (exec/measure/probe.h), lower quartile, median and upper
 * quartile of its repeats, one after the other in time.
 *
 *     g_autoptr(RaTrace) samples =
 *         ra_host_samples(&options, "host.samples.trace.tsv", &tally, &error);
 *     g_autoptr(GString) text =
 *         ra_host_profile(samples, "host.samples.trace.tsv", "host", &error);
 *
 * A rank is the profile's GPU: its memory is its share of the machine's, its
 * peak what the quickest product reached, its links copies of memory.  Ops are
 * in seconds of a core's own clock, of which `[pace]` says how many of the wall
 * they are.  What the executor does about an op beside it (taking a task,
 * waking a rank) is no op; `reallot compare` shows it.
 */
#ifndef RA_STUDY_RUN_HOST_H
#define RA_STUDY_RUN_HOST_H

#include "exec/measure/probe.h"
#include "study/run/samples.h"
#include "study/setup.h"
#include "traces/trace.h"

/* (transfer full): this machine, "NAME OF ITS PROCESSOR, 8 cores". */
char *ra_host_machine(void);

/* Whether @profile is of a host: fp32 is all that it computes. */
gboolean ra_host_is_profile(const RaProfile *profile);

/**
 * ra_host_predict:
 * @setup: with a plan
 * @seed: of the lengths
 * @error: as ra_replay_new()
 *
 * Returns: (transfer full) (array length=n_iterations): seconds of each
 *   iteration, from the end of the one before, at stage fidelity
 */
double *ra_host_predict(const RaSetup *setup, uint32_t n_iterations,
                        uint64_t seed, GError **error);

/* Half of an op's repeats within so much of each other, or the machine is too
 * noisy to be measured: what bench/loop allows of a whole iteration. */
#define RA_HOST_NOISE_FRAC 0.1

typedef struct {
  uint32_t n_ranks;          /* threads that run at the same time */
  RaWorld *world;            /* (nullable) borrowed: of as many processes, which
                              all call; process 0 writes */
  gboolean quick;            /* fewer points, fewer repeats */
  guint n_most;              /* points to measure now, at most; 0: all */
  RaSampleProgress progress; /* (nullable): before every point */
  gpointer progress_data;
  double (*clock)(gpointer data); /* (nullable): of ops, for tests */
  double (*wall)(gpointer data);  /* (nullable): beside it, of the wall */
  gpointer clock_data;
} RaHostOptions;

typedef RaSampleTally RaHostTally;

/**
 * ra_host_samples:
 * @path: (nullable): where samples are kept; what is there and of the same
 *   grid on the same machine is not measured again
 * @error: %RA_ERROR_NO_DEVICE: no CBLAS; %RA_ERROR_INPUT: @path is no trace of
 *   such samples, or of another machine or grid
 *
 * Cost: about 2 minutes, quick 20 s.
 *
 * Returns: (transfer full): all of them
 */
RaTrace *ra_host_samples(const RaHostOptions *options, const char *path,
                         RaHostTally *out_tally, GError **error);

/**
 * ra_host_profile:
 * @samples: of ra_host_samples()
 * @name: of their file, for messages and the profile
 * @device: what the profile calls the machine's ranks
 * @error: %RA_ERROR_INPUT: samples that are no op, or none of a law that a
 *   profile must have
 *
 * Returns: (transfer full): the profile's text
 */
GString *ra_host_profile(const RaTrace *samples, const char *name,
                         const char *device, GError **error);

#endif
