/* What would make a plan fit: single changes of it, tried one by one.
 *
 *     g_autofree char *text = ra_remedy_find(setup, &flags, replay, gpu);
 *
 * The order is that of growing cost in time, and the first that fits is the
 * answer; of one kind the calls are tried in the order of the workload:
 *
 *   1. zero = 1               the same bytes on the network
 *   2. sequence-parallel      the same bytes in other collectives
 *   3. micro-batches x 2, 4   smaller kernels; fewer or more in flight
 *   4. zero = 2               gradients are scattered every micro-batch
 *   5. recompute = selective, full   up to a third more FLOP
 *   6. residency = host of a model that nothing trains, then
 *      optimizer-residency = host    copies over the host's link
 *   7. tp x 2, pp x 2, with half the dp   more communication or bubble
 *   8. zero = 3               weights are gathered every pass
 *
 * A change that the plan's reader refuses is passed over.  Whether one fits is
 * asked of the bound of graph/memory/memory_peak.h, so what is named does fit;
 * another might that the bound is too high for.
 */
#ifndef RA_STUDY_REMEDY_H
#define RA_STUDY_REMEDY_H

#include "study/replay.h"

/**
 * ra_remedy_find:
 * @setup: with a plan that does not fit; borrowed
 * @flags: that it was loaded with
 * @replay: of the plan: iterations and seed of the lengths
 * @gpu: the fullest; only calls on it are changed
 *
 * Cost: a load of the plan and a bound for every candidate, some 10 a call.
 *
 * Returns: (transfer full) (nullable): what to add to the command line,
 *   "--set 'call actor_train.recompute=full' (71.2 GiB at most)"; %NULL if none
 *   of them fits
 */
char *ra_remedy_find(const RaSetup *setup, const RaSetupFlags *flags,
                     const RaReplay *replay, uint32_t gpu);

#endif
