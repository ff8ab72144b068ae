/* Answers of a run: prompts and responses as text.
 *
 *     g_autofree char *text = ra_run_texts(execution, 4);
 */
#ifndef RA_STUDY_RUN_RUN_TEXTS_H
#define RA_STUDY_RUN_RUN_TEXTS_H

#include "study/run/execute.h"

/**
 * ra_run_texts:
 * @execution: has run
 * @n: number of sequences per generate call
 *
 * Returns: (transfer full): the first @n sequences of every generate call in
 * the last iteration, one per line: the call, the prompt, `|` and the answer.
 * Byte data is escaped as in C; other data are token ids.
 */
char *ra_run_texts(const RaExecution *execution, uint32_t n);

#endif
