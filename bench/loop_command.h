/* Programs that the loop's benches start, as people would type it.
 *
 *     LoopCommand *c = loop_command_new("./reallot-cuda", "run", plan, NULL);
 *     RaTrace *trace = loop_command_trace(c, folder, &said, &error);
 */
#ifndef RA_BENCH_LOOP_COMMAND_H
#define RA_BENCH_LOOP_COMMAND_H

#include "traces/trace.h"

typedef GPtrArray LoopCommand; /* of char *, owned: its words so far */

/* (transfer full): of words, NULL-terminated. */
LoopCommand *loop_command_new(const char *first, ...) G_GNUC_NULL_TERMINATED;
void loop_command_add(LoopCommand *command, const char *first,
                      ...) G_GNUC_NULL_TERMINATED;

/**
 * loop_command_run:
 * @command: (transfer full)
 * @error: what it said when it failed: %RA_ERROR_NEGATIVE: that the plan does
 *   not fit (exit status 1); %RA_ERROR_DEVICE: all else
 *
 * Returns: (transfer full): its output; %NULL: it failed
 */
char *loop_command_run(LoopCommand *command, GError **error);

/**
 * loop_command_trace:
 * @command: (transfer full): that takes `--trace`
 * @folder: of temporary files
 * @out_said: (out) (optional) (transfer full): its output
 *
 * Returns: (transfer full): the trace that it wrote
 */
RaTrace *loop_command_trace(LoopCommand *command, const char *folder,
                            char **out_said, GError **error);

#endif
