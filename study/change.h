/* Change of one value by a flag: `--set 'GROUP.KEY=VALUE'`.
 *
 *     workload.prompts=1024          model actor.config=llama-3-8b.json
 *     cluster.nodes=32               call actor_train.tp=4
 *     device.bf16=2 PFLOP/s          constants.weight-sync=2 GB/s
 *
 * GROUP is the header of a group, without brackets: of the workload, the
 * cluster or the plan, of the GPU's profile (device, law NAME) or of the system
 * (constants). Both plans and workloads have groups `[call NAME]`. The key
 * tells which file is meant, or the file's kind as a prefix does: `plan:call
 * actor_train.tp=4`. The group must exist, except that a plan may lack a call
 * that its workload has.
 *
 *     RaChange change;
 *     if (ra_change_parse("call actor_train.tp=4", &change, &error)) {
 *       ra_change_apply(&change, plan_file, &error);
 *       ra_change_clear(&change);
 *     }
 */
#ifndef RA_STUDY_CHANGE_H
#define RA_STUDY_CHANGE_H

#include "base/keyfile.h"
#include "study/file_kind.h"

typedef struct {
  RaFileKind kind; /* kind of the changed file, WORKLOAD ... SYSTEM */
  char *text;      /* as the user wrote it; owned */
  char *noun;      /* "call"; owned */
  char *name;      /* "actor_train", or ""; owned */
  char *key;       /* "tp"; owned */
  char *value;     /* "4"; owned */
} RaChange;

/**
 * ra_change_parse:
 * @text: the argument of `--set`
 * @out_change: (out caller-allocates): clear with ra_change_clear(); untouched
 *   on error
 * @error: %RA_ERROR_INPUT `--set 'TEXT': ...`: no group, key or value, an
 *   unknown noun or key (nearest suggested), a key that both a plan and a
 *   workload may have
 *
 * Returns: %TRUE on success
 */
gboolean ra_change_parse(const char *text, RaChange *out_change,
                         GError **error);
void ra_change_clear(RaChange *change);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RaChange, ra_change_clear)

/**
 * ra_change_apply:
 * @file: a file of the change's kind
 * @workload: (nullable): for a plan, its workload, which may have calls that
 *   the plan lacks
 * @error: %RA_ERROR_INPUT `--set 'TEXT': ...`: @file has no such group (nearest
 *   suggested)
 *
 * Returns: %TRUE on success
 */
gboolean ra_change_apply(const RaChange *change, RaKeyFile *file,
                         const RaKeyFile *workload, GError **error);

#endif
