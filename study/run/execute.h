/* Execution of a plan: from the setup to the end of its last task.
 *
 *     g_autoptr(RaExecution) x = ra_execute_new(setup, &options, 3, &error);
 *     if (x && ra_run_go(x->run, &error))
 *       use(ra_run_iteration(x->run, 0)->reward);
 *
 * The GPUs of the plan are ranks, which are threads of this process, whatever
 * hardware the cluster describes.
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
  uint32_t n_here;        /* approximate number of them on this machine */
  double bytes; /* upper bound of the memory of these, by the memory account */
  double capacity_bytes; /* memory of this machine, or of the device */
  char *largest;         /* largest holder of that memory, owned */
} RaExecution;

/**
 * ra_execute_new:
 * @setup: with a plan; borrowed, outlives the execution
 * @options: options of the run; copied
 * @n_iterations: >= 1
 * @error: %RA_ERROR_INPUT prefixed with the plan's path: as ra_expand(); a plan
 *   that needs more memory than the machine, or the accelerator of the options,
 *   has, with the largest holder
 *
 * Every rank is assumed to need as much memory as the fullest one
 * (graph/memory/memory_peak.h), without the framework and the allocator's slack
 * of a GPU.
 *
 * Returns: (transfer full): free with ra_execution_free(); the run is not
 * allocated yet
 */
RaExecution *ra_execute_new(const RaSetup *setup, const RaRunOptions *options,
                            uint32_t n_iterations, GError **error);
void ra_execution_free(RaExecution *execution);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RaExecution, ra_execution_free)

/* Creates the run; @error as ra_run_new(), prefixed with the plan's path. */
gboolean ra_execute_make(RaExecution *execution, GError **error);

/* Table with a row per finished iteration (transfer full). */
RaTable *ra_execution_table(const RaExecution *execution);

/**
 * ra_execution_save_lengths:
 * @path: CSV, replaced atomically
 * @error: %RA_ERROR_INPUT: not exactly one generate call; %RA_ERROR_IO
 *
 * Writes a row per generated sequence: its iteration, its number, tokens of its
 * prompt and its response, and the decode step at which it was admitted (0 for
 * static batches). Laws `replay(path:prompt_tokens)` and
 * `replay(path:response_tokens)` of a workload repeat these lengths.
 */
gboolean ra_execution_save_lengths(const RaExecution *execution,
                                   const char *path, GError **error);

/* Trace of every task (transfer full), with a head like a simulation's. */
RaTrace *ra_execution_trace(const RaExecution *execution);

/* Lines about memory (transfer full): of all ranks, on their accelerators, and
 * of the rank that used most: the account's prediction and the measured use. */
char *ra_execution_memory_text(const RaExecution *execution);

#endif
