/* Composition of a configuration from several YAML files, private to
 * study/convert.
 *
 * Three forms of `defaults` are known: a file or a list of files (NeMo-RL),
 * which are read first; and hydra's list, whose entries name files of groups:
 *
 *     - ppo_trainer                        ppo_trainer.yaml, of this group
 *     - actor@actor_rollout_ref.actor: dp  actor/dp.yaml, put at that key
 *     - /engine/fsdp                       of the top, not of this group
 *     - override engine: megatron          another choice for another entry
 *     - _self_                             this file; the last if not there
 *
 * Files are looked for in the folder of the first one, then in its
 * `hydra.searchpath`.  A file of hydra's form that is not found is a note: it
 * is the framework's, whose defaults its reader knows.
 */
#ifndef RA_STUDY_CONVERT_SETTING_COMPOSE_H
#define RA_STUDY_CONVERT_SETTING_COMPOSE_H

#include "study/convert/setting_node.h"

/**
 * ra_compose:
 * @path: name of the file that @text is of
 * @command: (nullable): settings of the command line, which choose files too
 *
 * Returns: (transfer none): the composed tree; %NULL with @error
 */
RaNode *ra_compose(RaForest *forest, const char *path, const char *text,
                   gsize n_bytes, RaSettings *command, GError **error);

/* (transfer full) (nullable): @name in @folder or the folders above it, up to
 * the first that has .git, setup.py or pyproject.toml. */
char *ra_compose_find_above(const char *folder, const char *name);

#endif
