/* A rollout service: generation that does not wait for training.
 *
 * Replicas take sequences, in order, from one queue as they have places; what
 * is complete goes to a buffer, out of which training takes batches of B in the
 * order of completion.  New versions of the parameters arrive while sequences
 * run.
 *
 * admission   with i versions arrived, at most (i + eta + 1) s B sequences have
 *             been submitted, a version coming after every s batches trained:
 *             s = 1: AReaL, arXiv 2505.24298, equation 3; else verl's fully
 *             asynchronous rollout, B x s x (1 + eta) beyond what was trained
 *             at the last sync
 *
 * refit       DRAIN: a replica takes the version when nothing runs, and takes
 *             no sequence until then.  INTERRUPT: at the end of the step, and
 *             the keys of all that runs are computed anew (AReaL).  IN_FLIGHT:
 *             at the end of the step, keys stay (PipelineRL, arXiv 2509.19128)
 *
 * staleness   of a sequence: the batches that were trained on before its own,
 *             j, less those before the version that its first token is of, s i
 *
 * A replica computes the prompts that it admits in a step of their own, then
 * steps; steps between two ends sum in closed form (RaDecodeLine).
 *
 * Over several pipeline stages a replica's places are those of its
 * micro-batches, which go round the stages by the clock of
 * sim/generate/stage_clock.h, step by step, and take a version each at the end
 * of its own step; who drains waits until none of the replica runs.
 *
 *     RaServiceResult result = {.ready_s = ready, .staleness = counts};
 *     ra_service_run(&spec, &source, arrivals, n, &result);
 *
 * Typical sizes: 16 replicas, 10^4 sequences, 10 batches: 10 ms, step by step
 * 0.1 s.
 */
#ifndef RA_SIM_GENERATE_SERVICE_H
#define RA_SIM_GENERATE_SERVICE_H

#include "graph/input/plan_service.h"
#include "sim/generate/serve_pipe.h"

typedef struct {
  uint32_t n_replicas;      /* >= 1 */
  uint32_t max_sequences;   /* of a replica at a time, >= 1 */
  uint32_t batch;           /* B, sequences */
  uint32_t staleness;       /* eta */
  uint32_t sync;            /* s, batches from a version to the next, >= 1 */
  int refit;                /* RaServiceRefit, not NONE */
  uint32_t n;               /* sequences in all */
  const uint32_t *prompt;   /* (n) tokens */
  const uint32_t *response; /* (n) tokens, >= 1 */
  const RaServePipeSource *pipe; /* of a replica over stages; NULL: of one, and
                                    what is below is not read */
  uint32_t n_stages;             /* >= 1 */
  uint32_t n_groups; /* micro-batches, >= 1: each has its share of the places */
} RaServiceSpec;

typedef struct {
  uint32_t n_batches;  /* asked for */
  double *ready_s;     /* (n_batches) when each has its B sequences; INFINITY:
                          never with the versions given; caller's */
  uint64_t *staleness; /* (n_batches) sequences of the batches by staleness,
                          which is above eta where one runs long; caller's */
  RaCost cost;         /* of all replicas until they have run so far */
  uint64_t recomputed_tokens; /* keys computed anew */
} RaServiceResult;

/**
 * ra_service_run:
 * @source: (nullable): of one replica, where @spec has no pipe
 * @arrival_s: (array length=n_arrivals): when version 1, 2 ... arrives,
 * ascending
 *
 * Exact up to the last batch that is ready before a version that is not given
 * would have arrived.
 */
void ra_service_run(const RaServiceSpec *spec, const RaServeSource *source,
                    const double *arrival_s, uint32_t n_arrivals,
                    RaServiceResult *inout_result);

#endif
