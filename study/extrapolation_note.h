/* What of a plan's works the profile's measurements do not reach. */
#ifndef RA_STUDY_EXTRAPOLATION_NOTE_H
#define RA_STUDY_EXTRAPOLATION_NOTE_H

#include "estimator/estimator.h"
#include "graph/expand/task.h"

/**
 * ra_extrapolation_note:
 *
 * @profile: of @estimator
 *
 * The main laws of @profile that are another GPU's, with the error of such a
 * transfer, and, of the op lists of @graph's works, the furthest use of each
 * law and axis beyond its table (ra_estimator_extrapolation()), the collectives
 * that closed forms carry measurements to, with algorithm and protocol
 * (ra_estimator_formula()), and the laws that nobody has measured; the steps of
 * a generation, whose lengths grow as they run, are not looked at.
 *
 * Returns: (transfer full): "gemm.bf16 m 131072 (measured to 32768); by
 * formula: all_reduce on 16 GPUs (tree Simple); assumed, not measured:
 * memory.other", "" for nothing
 */
char *ra_extrapolation_note(const RaProfile *profile,
                            const RaEstimator *estimator,
                            const RaTaskGraph *graph);

#endif
