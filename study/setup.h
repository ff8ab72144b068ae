/* Setup: the input files of one run, read and linked.
 *
 * A plan names its workload, its cluster and optionally the system that runs
 * it.  A workload names the configs of its models; a cluster names the profile
 * of its GPU.  A setup reads all of them in one order and by one set of rules,
 * which every subcommand shares.  A flag that names another file overrides the
 * file's own reference.  `--set` changes a value after its file was read and
 * before it is interpreted.
 *
 *     RaSetupFlags flags = {.cluster = "h200-16n.cluster"};
 *     g_autoptr(RaSetup) setup =
 *         ra_setup_load("ppo.plan", RA_FILE_PLAN, &flags, &error);
 *     if (setup)
 *       use(setup->plan, setup->estimator);
 *
 * Parts that were not requested are NULL.  The parts borrow from each other and
 * are freed together.
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

/* Command-line flags; all zero: none was given. */
typedef struct {
  const char *workload;    /* nullable: file in place of the plan's */
  const char *cluster;     /* nullable: file in place of the plan's */
  const char *profile;     /* nullable: file in place of the cluster's GPU's */
  const char *system;      /* nullable: file in place of the plan's */
  gboolean real;           /* costs of calls come from ReaL's estimator */
  const char *const *sets; /* nullable, NULL-terminated: GROUP.KEY=VALUE */
  const char *const *outputs; /* nullable, NULL-terminated: what is written,
                                 which replaces nothing that is read */
} RaSetupFlags;

typedef struct {
  RaWorkload *workload;   /* owned, nullable */
  RaCluster *cluster;     /* owned, nullable; its device filled */
  RaPlan *plan;           /* owned, nullable */
  RaProfile *profile;     /* owned, nullable: profile of the cluster's GPU */
  RaSystem *system;       /* owned, nullable: system that runs the plan */
  RaEstimator *estimator; /* owned, nullable: set where there is a plan */
  RaProfile *kind_profiles[RA_NODE_KINDS_MAX]; /* owned: profiles of further
                                                  node kinds; NULL: none */
  RaCluster *kind_clusters[RA_NODE_KINDS_MAX]; /* owned: views of the cluster,
                                                  one per further node kind */
  char *price_cluster; /* owned, nullable: shipped cluster whose price the
                          cluster has, as a flag set another GPU; "": there is
                          none for that GPU, so no price */
  char *workload_path; /* owned, nullable: path of the file that was read */
  char *cluster_path;  /* owned, nullable */
  char *plan_path;     /* owned, nullable */
  char *profile_path;  /* owned, nullable */
  char *system_path;   /* owned, nullable */
} RaSetup;

/**
 * ra_setup_load:
 * @path: a plan, a workload or a cluster
 * @kind: kind of file at @path: %RA_FILE_PLAN, %RA_FILE_WORKLOAD or
 *   %RA_FILE_CLUSTER
 * @flags: borrowed during the call
 * @error: errors of the readers; %RA_ERROR_INPUT `--set 'TEXT': ...` for a
 *   change that cannot be made (see study/change.h), or for a flag that names a
 *   file which a @kind does not have
 *
 * Reads @path and the files that it names: all of them for a plan, the profile
 * for a cluster, the configs of its models for a workload.
 *
 * Returns: (transfer full): free with ra_setup_free()
 */
RaSetup *ra_setup_load(const char *path, RaFileKind kind,
                       const RaSetupFlags *flags, GError **error);

/**
 * ra_setup_load_pair:
 * @flags: workload and cluster are given; `sets` changes these two only
 * @error: as ra_setup_load(); %RA_ERROR_INPUT: one of the two is missing
 *
 * Reads the inputs of plan generation: a workload, a cluster with its profile,
 * and an estimator, but no plan.
 *
 * Returns: (transfer full): free with ra_setup_free()
 */
RaSetup *ra_setup_load_pair(const RaSetupFlags *flags, GError **error);

/**
 * ra_setup_read_plan:
 * @setup: from ra_setup_load_pair()
 * @name: name of the plan in messages
 * @text: a plan for the setup's workload and cluster; the names that it gives
 *   them are ignored
 *
 * Parses a plan and puts it into the setup in place of the present one.
 *
 * Returns: %TRUE on success
 */
gboolean ra_setup_read_plan(RaSetup *setup, const char *name, const char *text,
                            GError **error);

/* (transfer full): whole paths of all files that @setup was read from, that of
 * its plan only if @has_plan, each once, NULL-terminated. */
char **ra_setup_files(const RaSetup *setup, gboolean has_plan);

/**
 * ra_setup_name_in_plan:
 * @folder: folder of the shipped files of that kind, such as "workloads"
 * @path: path of the file
 * @output: (nullable): where the plan will be written
 *
 * Computes the name by which a plan refers to the file: its base name if that
 * is found from the plan's place, otherwise its whole path.
 *
 * Returns: (transfer full): the name
 */
char *ra_setup_name_in_plan(const char *folder, const char *path,
                            const char *output);
void ra_setup_free(RaSetup *setup);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaSetup, ra_setup_free)

/* Range of the held-out median errors (absolute, relative) of a profile's laws.
 */
typedef struct {
  guint n_laws;      /* in the profile */
  guint n_measured;  /* laws that state an error */
  double least_frac; /* smallest of these errors; NAN: none measured */
  double most_frac;  /* largest of these errors; NAN: none measured */
} RaProfileError;

RaProfileError ra_profile_error(const RaProfile *profile);

#endif
