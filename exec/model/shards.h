/* Shards: of a rank's parameters those whose moments it has and which it steps.
 *
 * With ZeRO-1 the ranks that have the same parameters cut them into runs and
 * each run into as many parts as they are: gradients are reduced and scattered,
 * every rank steps its part, the parts are gathered (arXiv 1910.02054, section
 * 5.1).  A *run* is what lies behind each other in the arrays of a layer, or a
 * tensor outside of layers; so a tied table is cut alike where it is alone and
 * where it is not, and a bucket of layers is whole runs.  Experts, which fewer
 * ranks share, have runs of their own.
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

/* Who shares. */
typedef struct {
  uint32_t rank;
  uint32_t n_ranks; /* >= 1; 1: nobody */
} RaCut;

/* @dense, @experts: who shares these. */
void ra_params_cut(RaParams *params, const RaCut *dense, const RaCut *experts);

/* Gathers @run of the weights of @params, of which each rank of @comm has its
 * part, in place; @scratch: (nullable): room for (n_ranks) parts, where they
 * are not alike. */
void ra_shards_gather(RaComm *comm, const RaParamRun *run, RaParams *params,
                      RaElem *scratch);

/* Elements of that room; 0: none is needed. */
gsize ra_shards_scratch(const RaParamRun *run);

#endif
