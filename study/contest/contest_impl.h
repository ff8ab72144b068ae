/* What a round of a contest works with.
 *
 *     g_auto(RaField) field = {.setup = setup};
 *     if (ra_field_open(&field, options, &error))
 *       field.costs = ra_cost_table_new(field.space, ...);
 *
 * Private to study/contest/contest*.c and study/contest/rejected.c.
 */
#ifndef RA_STUDY_CONTEST_CONTEST_IMPL_H
#define RA_STUDY_CONTEST_CONTEST_IMPL_H

#include "study/contest/contest.h"

/* Plans the contenders, which are the families in their order, and measures
 * them; of a family that is refused why. */
gboolean ra_contest_families(RaContest *contest, const RaSetup *setup,
                             const RaContestOptions *options, GError **error);

/* Replays the contenders from @first on that have a plan. */
gboolean ra_contest_measure(RaContest *contest, guint first,
                            const RaSetup *setup,
                            const RaContestOptions *options, GError **error);

typedef struct {
  RaSetup *setup;     /* of the lengths that it searches; borrowed */
  RaSpace *space;     /* owned */
  RaCostTable *costs; /* owned */
  GArray *starts;     /* (RaPoint), owned */
  GArray *whose;      /* (guint) contenders, same index; owned */
} RaField;

/* Makes the space of the field's setup, within the limits that are typed. */
gboolean ra_field_open(RaField *field, const RaContestOptions *options,
                       GError **error);

/* What run_s of a plan cannot be below, wherever its models' parameters are
 * between calls: all calls at their quickest, on GPUs of their own; or their
 * GPU-seconds, the least of each, on all GPUs.  What is in host memory counts
 * as if it were not. */
double ra_field_bound_s(const RaField *field);
void ra_field_clear(RaField *field);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RaField, ra_field_clear)

/* What process 0 has found, and asked of its table, at all. */
void ra_contest_share_exact(RaWorld *world, RaCostTable *costs,
                            RaExactResult *exact);

/* Of what processes that search together must have alike. */
uint64_t ra_field_hash(const RaField *field, const RaContestOptions *options);

#endif
