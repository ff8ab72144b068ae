/* How much of a cluster a workload should have: a contest on the whole of it
 * and on fewer of its nodes.
 *
 *     RaSizingOptions options = {.contest = {...}};
 *     g_autoptr(RaSizing) sizing = ra_sizing_new(&flags, &options, &error);
 *     if (sizing && sizing->winner != RA_NONE)
 *       use(g_array_index(sizing->sizes, RaSize, sizing->winner).contest);
 *
 * A plan for the first nodes of a cluster is a plan for the cluster, so the
 * winner may be written with the cluster's own name whatever its size.
 *
 * Which sizes: those asked for; else all of the cluster where time counts, as
 * more GPUs only add plans, and for other objectives also 1, 2, 3, 4, 6, 8, 12
 * ... nodes.  For the fewest GPUs the sizes are tried from the least on, the
 * first that meets the time ends it, and before the first node there are 1, 2,
 * 4 ... GPUs of it, on which families, whose writers take whole nodes, may not
 * win.
 */
#ifndef RA_STUDY_CONTEST_SIZING_H
#define RA_STUDY_CONTEST_SIZING_H

#include "study/contest/contest.h"

typedef struct {
  RaContestOptions contest; /* its time is shared out to the sizes; its names
                               are made from @output */
  const uint32_t *nodes;    /* nullable (n_nodes): sizes, ascending */
  guint n_nodes;
  const char *output; /* nullable: where the plan will stand */
} RaSizingOptions;

/* One size.  Its workload, cluster and system are named as a plan names them.
 */
typedef struct {
  uint32_t n_nodes;
  uint32_t n_gpus;    /* that plans may use */
  RaSetup *setup;     /* owned */
  RaContest *contest; /* owned, nullable */
  char *refusal;      /* owned, nullable: why there is no contest */
} RaSize;

typedef struct {
  GArray *sizes;      /* (RaSize), ascending; those that were tried; owned */
  uint32_t n_cluster; /* nodes of the whole */
  uint32_t winner;    /* size that has the best winner; RA_NONE */
  char *workload, *cluster, *system; /* as a plan names them; owned, the last
                                        nullable */
} RaSizing;

/**
 * ra_sizing_new:
 * @flags: of ra_setup_load_pair()
 * @options: borrowed during the call
 * @error: as ra_setup_load_pair(), ra_contest_new(), ra_objective_check();
 *   %RA_ERROR_INPUT `--nodes`: a size that the cluster does not have
 *
 * A size for which a call has no candidate is refused and no error; where all
 * are, or only one is tried, it is one.
 *
 * Returns: (transfer full): with winner %RA_NONE where no plan will do
 */
RaSizing *ra_sizing_new(const RaSetupFlags *flags,
                        const RaSizingOptions *options, GError **error);
void ra_sizing_free(RaSizing *sizing);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSizing, ra_sizing_free)

/* One row a size: its best plan and what that is worth, or why there is none.
 */
RaTable *ra_sizing_table(const RaSizing *sizing);

#endif
