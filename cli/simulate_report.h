/* Output of `reallot simulate` for one plan. */
#ifndef RA_CLI_SIMULATE_REPORT_H
#define RA_CLI_SIMULATE_REPORT_H

#include "cli/options.h"
#include "study/memory_verdict.h"
#include "study/replay.h"

/* Prints to standard output, in the format of @options; @explained: with
 * explanations. */
gboolean ra_simulate_print(const RaSetup *setup, const RaOptions *options,
                           const RaReplay *replay, const RaMemoryVerdict *fit,
                           gboolean explained, GError **error);

#endif
