/* Rollout service: generation that does not wait for training.
 *
 * Replicas take sequences, in order, from one queue when they have room.
 * Complete sequences go to a buffer, from which training takes batches of B in
 * the order of completion.  New versions of the parameters arrive while
 * sequences run.
 *
 * admission   With i versions arrived, at most (i + eta + 1) s B sequences have
 *             been submitted, where a version comes after every s trained
 *             batches.  s = 1: AReaL, arXiv 2505.24298, equation 3.  Else:
 *             verl's fully asynchronous rollout, B x s x (1 + eta) more than
 *             were trained at the last sync.
 *
 * refit       A replica stands still while it loads a version, which takes as
 *             long as the transfer.  DRAIN: it loads when nothing runs, and
 *             starts no sequence until then.  INTERRUPT: at the end of the
 *             step; the keys of all running sequences are computed again
 *             (AReaL).  IN_FLIGHT: at the end of the step; keys stay
 *             (PipelineRL, arXiv 2509.19128).
 *
 * staleness   For a sequence: j - s i, where j batches were trained before its
 *             own and s i batches before the version of its first token.
 *
 * A replica computes the prompts that it admits in a separate step, then
 * continues with decode steps.  Steps between two ends sum in closed form
 * (RaDecodeLine).
 *
 * With several pipeline stages, a replica's capacity is divided among its
 * micro-batches.  These circulate through the stages step by step, by the clock
 * of sim/generate/stage_clock.h.  Each loads a version at the end of its own
 * step; with DRAIN the replica loads it when none of its micro-batches runs.
 *
 *     RaServiceResult result = {.ready_s = ready, .staleness = counts};
 *     ra_service_run(&spec, &source, arrivals, n, &result);
 *
 * Typical sizes: 16 replicas, 10^4 sequences, 10 batches: 10 ms, with several
 * stages 0.1 s.
 */
#ifndef RA_SIM_GENERATE_SERVICE_H
#define RA_SIM_GENERATE_SERVICE_H

#include "graph/input/plan_service.h"
#include "sim/generate/serve_pipe.h"

typedef struct {
  uint32_t n_replicas;      /* >= 1 */
  uint32_t max_sequences;   /* running per replica, >= 1 */
  uint32_t batch;           /* B, sequences */
  uint32_t staleness;       /* eta */
  uint32_t sync;            /* s, batches from a version to the next, >= 1 */
  int refit;                /* RaServiceRefit, not NONE */
  uint32_t n;               /* number of all sequences */
  const uint32_t *prompt;   /* (n) tokens */
  const uint32_t *response; /* (n) tokens, >= 1 */
  const RaServePipeSource *pipe; /* source of a replica with several stages;
                                    NULL: one stage, fields below not read */
  uint32_t n_stages;             /* >= 1 */
  uint32_t n_groups; /* micro-batches, >= 1, which share max_sequences */
} RaServiceSpec;

/* When the transfer of a version of the parameters begins and ends. */
typedef struct {
  double begin_s;
  double end_s; /* >= begin_s */
} RaServiceVersion;

typedef struct {
  uint32_t n_batches;  /* number of batches to run, set by the caller */
  double *ready_s;     /* (n_batches) time at which each has its B sequences;
                          INFINITY: never with the given versions; caller's */
  uint64_t *staleness; /* (n_batches) number of sequences by staleness, which
                          exceeds eta if a sequence runs long; caller's */
  RaCost cost;         /* of all replicas until the end of the run */
  uint64_t recomputed_tokens; /* tokens whose keys were computed again */
} RaServiceResult;

/**
 * ra_service_run:
 * @source: (nullable): source of one replica, if @spec has no pipe
 * @versions: (array length=n_versions): of versions 1, 2, ..., ascending
 *
 * The result is exact up to the last batch that is ready before the first
 * version not given would have arrived.
 */
void ra_service_run(const RaServiceSpec *spec, const RaServeSource *source,
                    const RaServiceVersion *versions, uint32_t n_versions,
                    RaServiceResult *inout_result);

#endif
