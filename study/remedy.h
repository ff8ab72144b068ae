/* Remedies: changes that make a plan fit into memory.
 *
 *     g_autofree char *text = ra_remedy_find(setup, &flags, replay, gpu);
 *
 * Changes are tried in the order of their cost in time; the first that fits is
 * the answer.  Within one kind, calls are tried in the order of the workload:
 *
 *   1. zero = 1               the same bytes on the network
 *   2. sequence-parallel      the same bytes in other collectives
 *   3. micro-batches x 2, 4   smaller kernels; fewer or more in flight
 *   4. zero = 2               gradients are scattered every micro-batch
 *   5. recompute = selective, full   up to a third more FLOP
 *   6. grad-residency = release, then residency = host of a model that
 *      nothing trains, then optimizer-residency = host    gradients are set to
 *                             0 anew; copies over the host's link
 *   7. tp x 2, pp x 2, with half the dp   more communication or bubble
 *   8. zero = 3               weights are gathered every pass
 *   9. residency = release, optimizer-residency = keep   where it is host
 *                             memory that lacks
 *
 * Where none alone fits, they are taken in this order: each that does not raise
 * the peak is kept, and what is not needed in the end is dropped.
 *
 * Where these do not make it fit, the answer is the command that writes the
 * plan of a family that fits, if there is one.
 *
 * A change that the plan's reader rejects is skipped.  The bound of
 * graph/memory/memory_peak.h decides, so the reported change does fit.  A
 * change may be missed because the bound exceeds its real peak.
 */
#ifndef RA_STUDY_REMEDY_H
#define RA_STUDY_REMEDY_H

#include "study/replay.h"

/**
 * ra_remedy_find:
 * @setup: with a plan that does not fit; borrowed
 * @flags: flags that it was loaded with
 * @replay: replay of the plan, for iterations and seed of the lengths
 * @gpu: the fullest GPU; only calls on it are changed
 *
 * Cost: one load of the plan and one bound per candidate, some 10 per call.
 *
 * Returns: (transfer full) (nullable): what to add to the command line, "--set
 * 'call actor_train.recompute=full' (71.2 GiB at most)"; "reallot plan ..." if
 * none does and a family's plan fits; else %NULL
 */
char *ra_remedy_find(const RaSetup *setup, const RaSetupFlags *flags,
                     const RaReplay *replay, uint32_t gpu);

/* TRUE if the override @set (GROUP.KEY=VALUE) is of a call or of the plan,
 * which another plan does not have. */
gboolean ra_remedy_is_of_plan(const char *set);

/**
 * ra_remedy_command:
 * @name: of a placement strategy
 *
 * Returns: (transfer full): "reallot plan --strategy=NAME ...", for the files
 * of @setup and the overrides of @flags but those of calls and of the plan
 */
char *ra_remedy_command(const RaSetup *setup, const RaSetupFlags *flags,
                        const char *name);

#endif
