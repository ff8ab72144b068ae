/* Commands that the loop benchmarks run, as people type them.
 *
 *     LoopCommand *c = loop_command_new("./reallot-cuda", "run", plan, NULL);
 *     RaTrace *trace = loop_command_trace(c, folder, &said, &error);
 */
#ifndef RA_BENCH_LOOP_COMMAND_H
#define RA_BENCH_LOOP_COMMAND_H

#include "traces/trace.h"

typedef GPtrArray LoopCommand; /* char *, owned: its words so far */

/* (transfer full): a command of these words, NULL-terminated. */
LoopCommand *loop_command_new(const char *first, ...) G_GNUC_NULL_TERMINATED;
void loop_command_add(LoopCommand *command, const char *first,
                      ...) G_GNUC_NULL_TERMINATED;

/**
 * loop_command_run:
 * @command: (transfer full)
 * @error: its message if it failed: %RA_ERROR_NEGATIVE: the plan does not fit
 *   (exit status 1); %RA_ERROR_DEVICE: any other failure
 *
 * Returns: (transfer full): its output; %NULL: it failed
 */
char *loop_command_run(LoopCommand *command, GError **error);

/**
 * loop_command_trace:
 * @command: (transfer full): a command with the option `--trace`
 * @folder: folder for temporary files
 * @out_said: (out) (optional) (transfer full): its output
 *
 * Returns: (transfer full): the trace that it wrote
 */
RaTrace *loop_command_trace(LoopCommand *command, const char *folder,
                            char **out_said, GError **error);

#endif
