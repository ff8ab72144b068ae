/* Private parts of a contest: the state of a round.
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
#include "study/contest/kept_costs.h"
#include "study/contest/sayable.h"

/* Plans the families, in their order, as contenders and measures them.  A
 * family that is refused gets the reason, which is @until where it is over. */
gboolean ra_contest_families(RaContest *contest, const RaSetup *setup,
                             const RaContestOptions *options,
                             const RaUntil *until, GError **error);

/* Replays the contenders with a plan, starting at @first. */
gboolean ra_contest_measure(RaContest *contest, guint first,
                            const RaSetup *setup,
                            const RaContestOptions *options, GError **error);

/* Replays the contender @i, which has a plan, under the draws that are left;
 * where it does not fit under one of them it does not fit, and needs the most
 * of them.  Returns TRUE if it fits, as far as time was. */
gboolean ra_contest_confirm(RaContest *contest, guint i, const RaSetup *setup,
                            const RaContestOptions *options);

typedef struct {
  RaSetup *setup; /* borrowed; with the lengths and nodes that are searched */
  const RaCluster *cluster; /* borrowed: that plans are written for */
  RaSpace *space;           /* owned */
  RaCostTable *costs;       /* owned */
  RaKeptCosts *kept;        /* owned, nullable: of earlier searches */
  RaSayable *says;          /* owned, nullable: the target's plans */
  GArray *starts;           /* (RaPoint), owned */
  GArray *whose;            /* (guint) contender of each start; owned */
  RaPoint best;             /* the fastest start that fits by the tables */
  double best_s;   /* its time (ra_neighbours_value_s()); infinite: none
                         fits */
  RaUntil until;   /* end of what comes before the chains */
  gint64 begin_us; /* of that */
} RaField;

/* Makes the space of the field's setup, within the user's limits. */
gboolean ra_field_open(RaField *field, const RaContestOptions *options,
                       GError **error);

/* Lower bound of the run_s of any plan, for any residencies.  It is the greater
 * of two bounds: all calls at their fastest on GPUs of their own; and the sum
 * of the least GPU-seconds of each call, spread over all GPUs.  Copies in host
 * memory count as if they were on the GPU. */
double ra_field_bound_s(const RaField *field);
void ra_field_clear(RaField *field);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RaField, ra_field_clear)

static inline RaContender *
ra_contender(const RaContest *contest, uint32_t i)
{
  return &g_array_index(contest->contenders, RaContender, i);
}

/* Enters a contender without a plan; it is valid until the next enters. */
RaContender *ra_contest_enter(RaContest *contest, const char *name);

/* Enters @point of the field as @name; @call_s: of the tables. */
gboolean ra_contest_enter_point(RaContest *contest, const char *name,
                                const RaField *field, const RaPoint *point,
                                double call_s, const RaContestOptions *options,
                                GError **error);

/* Enters the fastest @n plans that differ from @point in one call. */
gboolean ra_contest_enter_near(RaContest *contest, const char *from,
                               const RaField *field, const RaPoint *point,
                               guint n, const RaContestOptions *options,
                               GError **error);

/* The best at stage fidelity need not be what the tables take for the best, as
 * calls of one mesh overlap there.  From it down to where no neighbour in the
 * field is better by replay, then to where no detail of a call is, while there
 * is time.  Details are for the common space without limits, and are not
 * proven; without neighbours nothing is beside the best. */
gboolean ra_contest_descend(RaContest *contest, const RaField *field,
                            const RaSetup *setup,
                            const RaContestOptions *options, GError **error);

/* Asks what the target cannot say of each contender with a plan. */
void ra_contest_target_ask(RaContest *contest, RaSetup *setup,
                           const RaContestOptions *options);

/* Makes the target's plans of the field's space, which has no costs yet. */
gboolean ra_contest_target_open(const RaContest *contest, RaField *field,
                                const RaContestOptions *options,
                                GError **error);

/* Instead of chains; @limit_s 0: no limit. */
void ra_contest_target_descend(const RaField *field, double limit_s,
                               const RaContestOptions *options,
                               void (*progress)(double best_s, uint64_t n_steps,
                                                void *data),
                               void *data, RaMcmcResult *out_result);

/* Shares the result of process 0, and the costs in its table, with all
 * processes. */
void ra_contest_share_exact(RaWorld *world, RaCostTable *costs,
                            RaExactResult *exact);

/* Hash of everything that processes which search together must have in common.
 */
uint64_t ra_field_hash(const RaField *field, const RaContestOptions *options);

#endif
