/* One line for errors from which no function returns. */
#include "config.h"

#include <glib.h>
#include <malloc.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli/fatal.h"

#define STATUS 2
#define MAX_LINE 256

/* Appends to a line that is on the stack: there may be no memory. */
static void
put(char *line, gsize *n, const char *text)
{
  for (; *text && *text != '\n' && *n + 2 < MAX_LINE; text++)
    line[(*n)++] = *text;
}

static void
on_log(const char *domain, GLogLevelFlags level, const char *message,
       gpointer data)
{
  char line[MAX_LINE];
  gsize n = 0;
  const char *what;
  ssize_t n_written;

  if (!(level & G_LOG_LEVEL_ERROR)) {
    g_log_default_handler(domain, level, message, data);
    return;
  }
  /* GLib says in which of its files, which is of no use here. */
  what = message ? strstr(message, "failed to allocate") : NULL;
  put(line, &n, "reallot: ");
  if (what || !message)
    put(line, &n, "no memory: ");
  put(line, &n, what ? what : message ? message : "not even for a message");
  put(line, &n, ", expected a larger limit (ulimit -a)");
  line[n++] = '\n';
  n_written = write(STDERR_FILENO, line, n);
  (void)n_written;
  _exit(STATUS);
}

/* An arena of a thread reserves 64 MiB of addresses, and a thread without one
 * gets no small block for its message where no page is left: under a limit all
 * have the first. */
static void
share_arena(void)
{
  struct rlimit limit;

  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    mallopt(M_ARENA_MAX, 1);
}

void
ra_fatal_watch(void)
{
  share_arena();
  g_log_set_default_handler(on_log, NULL);
  /* The first message makes GLib's record of messages in messages, for which
   * there may be no memory when one about memory is the first. */
  g_log(G_LOG_DOMAIN, G_LOG_LEVEL_DEBUG, "%s watches", "reallot");
}
