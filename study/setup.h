/* From what a user names to what the program works with.
 *
 * A plan names its workload, its cluster and perhaps the system that runs it,
 * a workload the configs of its models, a cluster the profile of its GPU.  A
 * setup reads them all, in the one order and with the one set of rules that
 * every subcommand shares: a flag that names another file wins over the file
 * that names it, and `--set` changes a value after its file was read and before
 * it is understood.
 *
 *     RaSetupFlags flags = {.cluster = "h200-16n.cluster"};
 *     g_autoptr(RaSetup) setup =
 *         ra_setup_load("ppo.plan", RA_FILE_PLAN, &flags, &error);
 *     if (setup)
 *       use(setup->plan, setup->estimator);
 *
 * What a setup was not asked for is NULL in it.  Its parts borrow from each
 * other, so they live and go together.
 *
 * Typical sizes: 4 files of 1 to 10 KB; a few milliseconds.
 */
#ifndef RA_STUDY_SETUP_H
#define RA_STUDY_SETUP_H

#include "estimator/estimator.h"
#include "graph/input/plan.h"
#include "study/file_kind.h"
#include "traces/profile.h"
#include "traces/system.h"

/* What flags say; all zero: nothing. */
typedef struct {
  const char *workload;    /* nullable: file in place of the plan's */
  const char *cluster;     /* nullable: file in place of the plan's */
  const char *profile;     /* nullable: file in place of the cluster's GPU's */
  const char *system;      /* nullable: file in place of the plan's */
  gboolean real;           /* calls cost what ReaL's estimator says */
  const char *const *sets; /* nullable, NULL-terminated: GROUP.KEY=VALUE */
  const char *const *outputs; /* nullable, NULL-terminated: what is written,
                                 which replaces nothing that is read */
} RaSetupFlags;

typedef struct {
  RaWorkload *workload;   /* owned, nullable */
  RaCluster *cluster;     /* owned, nullable; its device filled */
  RaPlan *plan;           /* owned, nullable */
  RaProfile *profile;     /* owned, nullable: of the cluster's GPU */
  RaSystem *system;       /* owned, nullable: what the plan runs under */
  RaEstimator *estimator; /* owned, nullable: where there is a plan */
  RaProfile *kind_profiles[RA_NODE_KINDS_MAX]; /* owned: of further kinds of
                                                  nodes; NULL: there are none */
  RaCluster *kind_clusters[RA_NODE_KINDS_MAX]; /* owned: views, likewise */
  char *workload_path; /* owned, nullable: where it was found */
  char *cluster_path;  /* owned, nullable */
  char *plan_path;     /* owned, nullable */
  char *profile_path;  /* owned, nullable */
  char *system_path;   /* owned, nullable */
} RaSetup;

/**
 * ra_setup_load:
 * @path: a plan, a workload or a cluster
 * @kind: which of them it is: %RA_FILE_PLAN, %RA_FILE_WORKLOAD or
 *   %RA_FILE_CLUSTER
 * @flags: borrowed during the call
 * @error: what the readers refuse; %RA_ERROR_INPUT `--set 'TEXT': ...` for a
 *   change that cannot be made (see study/change.h), or a flag for a file that
 *   a @kind does not have
 *
 * Reads @path and what it names: for a plan all of them, for a cluster its
 * profile, for a workload its models' configs.
 *
 * Returns: (transfer full): ra_setup_free() it
 */
RaSetup *ra_setup_load(const char *path, RaFileKind kind,
                       const RaSetupFlags *flags, GError **error);

/**
 * ra_setup_load_pair:
 * @flags: workload and cluster given; changes of them only
 * @error: as ra_setup_load(); %RA_ERROR_INPUT: one of the two is missing
 *
 * What a plan is made for: a workload, a cluster with its profile, and an
 * estimator, but no plan.
 *
 * Returns: (transfer full): ra_setup_free() it
 */
RaSetup *ra_setup_load_pair(const RaSetupFlags *flags, GError **error);

/**
 * ra_setup_read_plan:
 * @setup: of ra_setup_load_pair()
 * @name: what messages call the plan
 * @text: of a plan for the setup's workload and cluster, whatever it calls
 *   them
 *
 * Reads a plan into the setup, in place of the one that it has.
 *
 * Returns: %TRUE on success
 */
gboolean ra_setup_read_plan(RaSetup *setup, const char *name, const char *text,
                            GError **error);
/**
 * ra_setup_name_in_plan:
 * @folder: of the shipped files of that kind: "workloads"
 * @path: of the file
 * @output: (nullable): where the plan will stand
 *
 * Returns: (transfer full): what a plan calls the file: its base name where
 * that is found from the plan's place, else its whole path
 */
char *ra_setup_name_in_plan(const char *folder, const char *path,
                            const char *output);
void ra_setup_free(RaSetup *setup);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSetup, ra_setup_free)

/* Held-out median error (absolute, relative) of the laws of a profile. */
typedef struct {
  guint n_laws;      /* in the profile */
  guint n_measured;  /* that state an error */
  double least_frac; /* of the best of them; NAN: none measured */
  double most_frac;  /* of the worst; NAN */
} RaProfileError;

RaProfileError ra_profile_error(const RaProfile *profile);

#endif
