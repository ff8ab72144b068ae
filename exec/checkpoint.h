/* Checkpoints of a run: a resumed run continues as if it had never stopped.
 *
 * An iteration is a function of the seed, its number and the parameters alone
 * (so are its prompts, lengths and sampled tokens).  A checkpoint after k
 * iterations therefore has k and, for every model that is trained, the
 * parameters, the older versions that lagging readers still read, AdamW's
 * moments and the number of its steps.  Tensors are whole, so a run in another
 * layout can continue.  A file has the hash of its workload.
 *
 *     FOLDER/iteration-000010/actor.safetensors     NAME, first.NAME,
 *                                                   second.NAME, behind-1.NAME
 *     FOLDER/iteration-000010/critic.safetensors
 *
 * A checkpoint is written under a temporary name and renamed, so an existing
 * one is complete.
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
 * @folder: folder of checkpoints; need not exist
 * @out_iterations: (out): the iterations that the checkpoint has
 *
 * Returns: (transfer full) (nullable): the path of the newest checkpoint;
 *   %NULL: there is none
 */
char *ra_checkpoint_last(const char *folder, uint32_t *out_iterations);

/**
 * ra_checkpoint_save:
 * @run: with RaRunOptions.checkpoint; no rank runs a task
 * @n_iterations: iterations that it has done
 * @error: %RA_ERROR_IO `path: reason`; the checkpoint is then removed
 *
 * Called by all processes of the run's world.  Process 0 writes, and has one
 * model at a time in full.  Removes all but the newest RaRunOptions.keep
 * checkpoints.  Cost: proportional to the bytes; memory for one more tensor
 * than the run has.
 */
gboolean ra_checkpoint_save(RaRun *run, uint32_t n_iterations, GError **error);

/**
 * ra_checkpoint_load:
 * @run: a run that has not begun
 * @folder: folder of checkpoints
 * @error: %RA_ERROR_INPUT `path: ...`: no checkpoint; another seed, other
 *   models, or other parameters of models that are not trained; another
 *   workload without RaRunOptions.anyway; a checkpoint that has all iterations
 *   of the run; %RA_ERROR_IO
 *
 * Loads the newest checkpoint: the parameters of every rank, and the iteration
 * at which the run continues.
 */
gboolean ra_checkpoint_load(RaRun *run, const char *folder, GError **error);

#endif
