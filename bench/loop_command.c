/* Running commands, and reading the traces that they write. */
#include "config.h"

#include <stdarg.h>
#include <sys/wait.h>

#include "base/error.h"
#include "bench/loop_command.h"

static void
add_words(LoopCommand *command, const char *first, va_list more)
{
  for (const char *word = first; word; word = va_arg(more, const char *))
    g_ptr_array_add(command, g_strdup(word));
}

LoopCommand *
loop_command_new(const char *first, ...)
{
  LoopCommand *command = g_ptr_array_new_with_free_func(g_free);
  va_list more;

  va_start(more, first);
  add_words(command, first, more);
  va_end(more);
  return command;
}

void
loop_command_add(LoopCommand *command, const char *first, ...)
{
  va_list more;

  va_start(more, first);
  add_words(command, first, more);
  va_end(more);
}

char *
loop_command_run(LoopCommand *command, GError **error)
{
  g_autoptr(GPtrArray) words = command;
  g_autofree char *out = NULL, *err = NULL;
  int status = 0;

  g_ptr_array_add(words, NULL);
  if (!g_spawn_sync(NULL, (char **)words->pdata, NULL, G_SPAWN_SEARCH_PATH,
                    NULL, NULL, &out, &err, &status, error))
    return NULL;
  if (g_spawn_check_wait_status(status, NULL))
    return g_steal_pointer(&out);
  g_set_error(error, RA_ERROR,
              WIFEXITED(status) && WEXITSTATUS(status) == 1 ? RA_ERROR_NEGATIVE
                                                            : RA_ERROR_DEVICE,
              "%s", g_strchomp(err));
  return NULL;
}

RaTrace *
loop_command_trace(LoopCommand *command, const char *folder, char **out_said,
                   GError **error)
{
  g_autofree char *path = g_build_filename(folder, "a.trace.tsv", NULL);
  g_autofree char *said = NULL;
  RaTrace *trace;

  loop_command_add(command, "--trace", path, NULL);
  said = loop_command_run(command, error);
  trace = said ? ra_trace_load(path, error) : NULL;
  if (trace && out_said)
    *out_said = g_steal_pointer(&said);
  return trace;
}
