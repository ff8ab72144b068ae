/* Sayable: the plans of a space that a framework can be told whole.
 *
 *     g_autoptr(RaSayable) says = ra_sayable_new(space, &options);
 *     costs = ra_cost_table_new(space, ...);
 *     ra_sayable_descend(says, costs, &until, NULL, NULL, &result);
 *     text = ra_sayable_text(says, &result.point);
 *
 * Which plans these are only the framework's writer and reader know
 * (study/convert/export.h): a plan is exported and read back, and what comes
 * back is a plan that the framework runs.  Keys tie calls to each other, such
 * as inference to training, and decide where calls may lie; nothing of that is
 * written down here.
 *
 * A *layout* says which GPUs each call has.  It begins with a plan of a family,
 * or with generation on some of the GPUs, as it comes back.  From there each
 * candidate of each call is tried alone: the plan that comes back differs from
 * the first in that call, and in those that are tied to it.  These differences
 * are the *moves* of the layout.  A plan may take several moves; whether it is
 * still one of the framework's is asked again before it counts.
 *
 * The descent takes the best move, or the best two, for as long as that is
 * faster by the cost tables, from every start.
 *
 * Typical sizes: 1 to 8 layouts of 50 to 500 moves; 1,000 exports of 3 ms.
 */
#ifndef RA_STUDY_CONTEST_SAYABLE_H
#define RA_STUDY_CONTEST_SAYABLE_H

#include "base/until.h"
#include "graph/input/plan_write.h"
#include "search/mcmc.h"
#include "study/setup.h"

typedef struct _RaSayable RaSayable;

typedef struct {
  RaSetup *setup;            /* borrowed: of the space; its plan is replaced */
  const RaCluster *cluster;  /* borrowed: that plans are written for */
  const char *target;        /* of ra_export_plan() */
  RaPlanWords words;         /* of plans */
  const char *const *starts; /* (n_starts): texts of plans to begin with, each
                                nullable */
  guint n_starts;
  guint n_threads;      /* 0: as many as processors */
  const RaUntil *until; /* nullable: when over, no more moves are made */
} RaSayableOptions;

/**
 * ra_sayable_new:
 * @space: no table of its costs exists yet; plans are added to it
 * @options: borrowed during the call, what it points to for as long as the
 *   result
 * @error: %RA_ERROR_NEGATIVE: the framework says no plan of the workload, and
 *   why it does not say the last one tried
 *
 * Returns: (transfer full): free with ra_sayable_free()
 */
RaSayable *ra_sayable_new(RaSpace *space, const RaSayableOptions *options,
                          GError **error);
void ra_sayable_free(RaSayable *says);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSayable, ra_sayable_free)

/**
 * ra_sayable_descend:
 * @costs: of the space, made after ra_sayable_new()
 * @until: when over, the best so far is the result
 * @progress: (nullable): as of a search by chains
 * @out_result: (out): clear it with ra_mcmc_result_clear(); its steps are plans
 *   that were evaluated
 */
void ra_sayable_descend(RaSayable *says, RaCostTable *costs,
                        const RaUntil *until,
                        void (*progress)(double best_s, uint64_t n_steps,
                                         void *data),
                        void *data, RaMcmcResult *out_result);

/**
 * ra_sayable_near:
 * @point: a plan of the framework's
 *
 * Returns: (transfer full) (element-type RaNeighbour): at most @n plans of the
 * framework's that are a move away and fit, the fastest first
 */
GArray *ra_sayable_near(RaSayable *says, RaCostTable *costs,
                        const RaPoint *point, guint n);

/* (transfer full) (nullable): the text of the framework's plan that @point is;
 * %NULL: it is none. */
char *ra_sayable_text(const RaSayable *says, const RaPoint *point);

#endif
