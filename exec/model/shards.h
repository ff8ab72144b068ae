/* Shards: the parameters of a rank whose moments it has and which it steps.
 *
 * With ZeRO-1 the ranks that have the same parameters cut them into runs, and
 * each run into one part per rank.  Gradients are reduce-scattered, every rank
 * steps its part, and the parts are all-gathered (arXiv 1910.02054, section
 * 5.1).
 *
 * A *run* is the contiguous part of a layer, or a tensor of no layer.  So a
 * tied table is cut in the same way with and without its twin, and a bucket of
 * layers is a number of whole runs.  Experts, which fewer ranks share, have
 * their own runs.
 *
 *     ra_params_cut(params, cuts);          before they are made trainable
 *     for (i < params->n_runs)
 *       run->own.begin ... run->own.end     in weights and gradients
 *       run->moments                        of own.begin, in first and second
 *
 * Without ZeRO a rank owns all of every run.
 */
#ifndef RA_EXEC_MODEL_SHARDS_H
#define RA_EXEC_MODEL_SHARDS_H

#include "exec/comm/comm.h"
#include "exec/model/params.h"

/* A rank among those that share parameters. */
typedef struct {
  uint32_t rank;
  uint32_t n_ranks; /* >= 1; 1: not shared */
} RaCut;

/* @dense, @experts: sharing of these parameters. */
void ra_params_cut(RaParams *params, const RaCut *dense, const RaCut *experts);

/* Gathers @run of the weights of @params in place; each rank of @comm has its
 * part.  @scratch: (nullable): memory for (n_ranks) parts, if their sizes
 * differ. */
void ra_shards_gather(RaComm *comm, const RaParamRun *run, RaParams *params,
                      RaElem *scratch);

/* Elements of @scratch; 0: none needed. */
gsize ra_shards_scratch(const RaParamRun *run);

#endif
