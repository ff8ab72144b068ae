/* Extrapolation: the parts of a plan's work that lie outside the profile's
 * measurements.
 */
#ifndef RA_STUDY_EXTRAPOLATION_NOTE_H
#define RA_STUDY_EXTRAPOLATION_NOTE_H

#include "estimator/estimator.h"
#include "graph/expand/task.h"

/**
 * ra_extrapolation_note:
 * @profile: profile of @estimator
 *
 * Lists where a prediction rests on something other than measurements of this
 * GPU:
 *
 *   transferred  the main laws of @profile that are another GPU's, with the
 *                error of such a transfer
 *   tables       for each law and axis that @graph's op lists use, the furthest
 *                use outside its table (ra_estimator_extrapolation())
 *   formulas     collectives that closed forms extrapolate from measurements,
 *                with algorithm and protocol (ra_estimator_formula())
 *   assumed      laws without any measurement
 *
 * The steps of a generation, whose lengths grow as they run, are not examined.
 *
 * Returns: (transfer full): "gemm.bf16 m 131072 (measured to 32768); by
 * formula: all_reduce on 16 GPUs (tree Simple); assumed, not measured:
 * memory.other", "" for nothing
 */
char *ra_extrapolation_note(const RaProfile *profile,
                            const RaEstimator *estimator,
                            const RaTaskGraph *graph);

#endif
