/* Subcommands: one per file, listed in cli/main.c. */
#ifndef RA_CLI_COMMANDS_H
#define RA_CLI_COMMANDS_H

#include "cli/options.h"

extern const RaCommand ra_command_simulate;
extern const RaCommand ra_command_inspect;
extern const RaCommand ra_command_graph;
extern const RaCommand ra_command_plan;
extern const RaCommand ra_command_plot;
extern const RaCommand ra_command_search;
extern const RaCommand ra_command_tune;
extern const RaCommand ra_command_study;
extern const RaCommand ra_command_export;
extern const RaCommand ra_command_import;
extern const RaCommand ra_command_keys;
extern const RaCommand ra_command_diff;
extern const RaCommand ra_command_list;
extern const RaCommand ra_command_new;
extern const RaCommand ra_command_report;
extern const RaCommand ra_command_trace;
extern const RaCommand ra_command_calibrate;
extern const RaCommand ra_command_validate;
extern const RaCommand ra_command_run;
extern const RaCommand ra_command_compare;
extern const RaCommand ra_command_import_log;

#endif
