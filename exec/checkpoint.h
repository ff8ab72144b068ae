/* Checkpoints of a run: what it takes to go on as if it had never stopped.
 *
 * All that an iteration does is a function of the seed, its number and the
 * parameters (prompts, lengths and sampled tokens too), so a checkpoint after k
 * iterations is, of every model that is trained, the parameters, what readers
 * that lag still read of older ones, AdamW's moments and the number of its
 * steps; and k.  Tensors are whole: another layout may go on.
 *
 *     FOLDER/iteration-000010/actor.safetensors     NAME, first.NAME,
 *                                                   second.NAME, behind-1.NAME
 *     FOLDER/iteration-000010/critic.safetensors
 *
 * A checkpoint is written beside and renamed, so one that is there is whole.
 *
 *     options.checkpoint = FOLDER; options.every = 5; options.keep = 2;
 *     g_autoptr(RaRun) run = ra_run_new(graph, &options, &error);
 *     if (ra_checkpoint_load(run, FOLDER, &error) && ra_run_go(run, &error))
 */
#ifndef RA_EXEC_CHECKPOINT_H
#define RA_EXEC_CHECKPOINT_H

#include "exec/run.h"

/**
 * ra_checkpoint_last:
 * @folder: of checkpoints; need not be there
 *
 * Returns: (transfer full) (nullable): the path of the newest, the iterations
 *   that it has in @out_iterations; %NULL: there is none
 */
char *ra_checkpoint_last(const char *folder, uint32_t *out_iterations);

/**
 * ra_checkpoint_save:
 * @run: whose ranks rest, with RaRunOptions.checkpoint
 * @n_iterations: that it has done
 * @error: %RA_ERROR_IO `path: reason`; nothing is left of it then
 *
 * By all processes of the run's world: process 0 writes, and has one model at a
 * time in full for that.  Writes one and removes all but the newest
 * RaRunOptions.keep.   Cost: of the bytes; one tensor in memory beside the run.
 */
gboolean ra_checkpoint_save(RaRun *run, uint32_t n_iterations, GError **error);

/**
 * ra_checkpoint_load:
 * @run: that has not begun
 * @folder: of checkpoints
 * @error: %RA_ERROR_INPUT `path: ...`: no checkpoint, one of another seed, of
 *   other models or other parameters of those that nothing trains, one that has
 *   all iterations of the run; %RA_ERROR_IO
 *
 * The newest: every rank's parameters, and where the run goes on.
 */
gboolean ra_checkpoint_load(RaRun *run, const char *folder, GError **error);

#endif
