/* What a run has answered: prompts and responses as text.
 *
 *     g_autofree char *text = ra_run_texts(execution, 4);
 */
#ifndef RA_STUDY_RUN_RUN_TEXTS_H
#define RA_STUDY_RUN_RUN_TEXTS_H

#include "study/run/execute.h"

/**
 * ra_run_texts:
 * @execution: that has run
 * @n: of each generate call
 *
 * Returns: (transfer full): the first @n sequences of every generate call in
 *   the last iteration, a line each: the call, the prompt, `|` and the answer;
 *   of a workload whose data is bytes they are escaped as C escapes them, else
 *   token ids
 */
char *ra_run_texts(const RaExecution *execution, uint32_t n);

#endif
