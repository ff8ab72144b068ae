/* A plan executed: from the files to the end of its last task.
 *
 *     g_autoptr(RaExecution) x = ra_execute_new(setup, &options, 3, &error);
 *     if (x && ra_run_go(x->run, &error))
 *       use(ra_run_iteration(x->run, 0)->reward);
 *
 * The GPUs of the plan are ranks, threads of this process, whatever the
 * cluster says that they are.
 */
#ifndef RA_STUDY_RUN_EXECUTE_H
#define RA_STUDY_RUN_EXECUTE_H

#include "base/table.h"
#include "exec/run.h"
#include "study/setup.h"
#include "traces/trace.h"

typedef struct {
  const RaSetup *setup;   /* borrowed */
  RaAugmented *augmented; /* owned */
  RaTaskGraph *graph;     /* owned; unfolded */
  RaRun *run;             /* owned; NULL until ra_execute_make() */
  RaRunOptions options;   /* of the run */
  uint32_t n_ranks;       /* GPUs that some call uses */
  uint32_t n_here;        /* of them on this machine, about */
  double bytes;           /* of these, at most, by the memory account */
  double capacity_bytes;  /* of this machine's, or the device's memory */
  char *largest;          /* holder of most of it, owned */
} RaExecution;

/**
 * ra_execute_new:
 * @setup: with a plan; borrowed, outlives the execution
 * @options: of the run; copied
 * @n_iterations: >= 1
 * @error: %RA_ERROR_INPUT led by the plan's path: as ra_expand(); a plan that
 *   needs more memory than the machine, or the accelerator of the options, has,
 *   with the holder of most of it
 *
 * The account: every rank is taken to need what the fullest needs
 * (graph/memory/memory_peak.h), without the framework and the allocator's slack
 * of a GPU.
 *
 * Returns: (transfer full): nothing has been allocated for the run yet;
 *   ra_execution_free() it
 */
RaExecution *ra_execute_new(const RaSetup *setup, const RaRunOptions *options,
                            uint32_t n_iterations, GError **error);
void ra_execution_free(RaExecution *execution);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaExecution, ra_execution_free)

/* Makes the run; @error as ra_run_new(), led by the plan's path. */
gboolean ra_execute_make(RaExecution *execution, GError **error);

/* (transfer full): a row an iteration that has run. */
RaTable *ra_execution_table(const RaExecution *execution);

/**
 * ra_execution_save_lengths:
 * @path: CSV, written aside and renamed
 * @error: %RA_ERROR_INPUT: not one generate call; %RA_ERROR_IO
 *
 * A row a sequence, as it was generated: its iteration, its number, tokens of
 * its prompt and its response, and the decode step at which it was admitted (0:
 * batches are static).  Laws `replay(path:prompt_tokens)` and
 * `replay(path:response_tokens)` of a workload repeat it.
 */
gboolean ra_execution_save_lengths(const RaExecution *execution,
                                   const char *path, GError **error);

/* (transfer full): every task as it ran, with a head as a simulation's. */
RaTrace *ra_execution_trace(const RaExecution *execution);

/* (transfer full): lines of what all ranks have held, in the accelerators that
 * they stand for, and of the rank that took most: the account's prediction and
 * what it took. */
char *ra_execution_memory_text(const RaExecution *execution);

#endif
