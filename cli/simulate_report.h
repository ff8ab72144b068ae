/* What `reallot simulate` prints of one plan. */
#ifndef RA_CLI_SIMULATE_REPORT_H
#define RA_CLI_SIMULATE_REPORT_H

#include "cli/options.h"
#include "study/memory_verdict.h"
#include "study/replay.h"

/* To standard output, in the form that @options say; @explained: with why. */
gboolean ra_simulate_print(const RaSetup *setup, const RaOptions *options,
                           const RaReplay *replay, const RaMemoryVerdict *fit,
                           gboolean explained, GError **error);

#endif
