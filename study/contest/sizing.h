/* Sizing: how much of a cluster a workload should use.  A contest is held on
 * the whole cluster and on fewer of its nodes.
 *
 *     RaSizingOptions options = {.contest = {...}};
 *     g_autoptr(RaSizing) sizing = ra_sizing_new(&flags, &options, &error);
 *     if (sizing && sizing->winner != RA_NONE)
 *       use(g_array_index(sizing->sizes, RaSize, sizing->winner).contest);
 *
 * A plan for the first nodes of a cluster is a plan for the cluster, so the
 * winner is written with the cluster's own name whatever its size.
 *
 * The sizes are those requested.  By default, an objective of time tries only
 * the whole cluster, as more GPUs only add plans.  Other objectives also try 1,
 * 2, 3, 4, 6, 8, 12 ... nodes.  For the fewest GPUs the sizes are tried in
 * increasing order, and the first that meets the time is the answer.  It begins
 * with 1, 2, 4 ... GPUs of the first node, where families may not win because
 * their writers use whole nodes.
 */
#ifndef RA_STUDY_CONTEST_SIZING_H
#define RA_STUDY_CONTEST_SIZING_H

#include "study/contest/contest.h"

typedef struct {
  RaContestOptions contest; /* its time is divided among the sizes; its names
                               are made from @output */
  const uint32_t *nodes;    /* nullable (n_nodes): sizes, ascending */
  guint n_nodes;
  const char *output; /* nullable: where the plan will be written */
} RaSizingOptions;

/* One size.  Its workload, cluster and system are named as in a plan. */
typedef struct {
  uint32_t n_nodes;
  uint32_t n_gpus;    /* GPUs that plans may use */
  RaSetup *setup;     /* owned */
  RaContest *contest; /* owned, nullable */
  char *refusal;      /* owned, nullable: why there is no contest */
} RaSize;

typedef struct {
  GArray *sizes; /* (RaSize), ascending: the sizes that were tried; owned */
  uint32_t n_cluster; /* nodes of the whole cluster */
  uint32_t winner;    /* index of the size with the best winner; RA_NONE */
  char *workload, *cluster, *system; /* names in a plan; owned, the last
                                        nullable */
} RaSizing;

/**
 * ra_sizing_new:
 * @flags: flags for ra_setup_load_pair()
 * @options: borrowed during the call
 * @error: as ra_setup_load_pair(), ra_contest_new(), ra_objective_check();
 *   %RA_ERROR_INPUT `--nodes`: a size that the cluster does not have
 *
 * A size for which a call has no candidate is refused.  That is an error only
 * if all sizes are refused, or only one is tried.
 *
 * Returns: (transfer full): with winner %RA_NONE where no plan is acceptable
 */
RaSizing *ra_sizing_new(const RaSetupFlags *flags,
                        const RaSizingOptions *options, GError **error);
void ra_sizing_free(RaSizing *sizing);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSizing, ra_sizing_free)

/* One row per size: its best plan and that plan's value, or why there is none.
 */
RaTable *ra_sizing_table(const RaSizing *sizing);

#endif
