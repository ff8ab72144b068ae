/* Running gnuplot on files without names. */
#include "config.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "study/plot/gnuplot.h"

#define READ_STEP_BYTES 65536

/* Files of the child's standard input, output and errors. */
typedef struct {
  int fd[3]; /* open files; -1: none */
} Streams;

char *
ra_gnuplot_find(void)
{
  return g_find_program_in_path("gnuplot");
}

static gboolean
fail_errno(GError **error, const char *what, int code)
{
  g_set_error(error, RA_ERROR, RA_ERROR_IO, "gnuplot: %s: %s", what,
              g_strerror(code));
  return FALSE;
}

static void
close_streams(Streams *streams)
{
  for (int i = 0; i < 3; i++) {
    if (streams->fd[i] >= 0)
      close(streams->fd[i]);
  }
}

static gboolean
open_streams(Streams *streams, GError **error)
{
  for (int i = 0; i < 3; i++) {
    g_autoptr(GError) cause = NULL;
    g_autofree char *path = NULL;

    streams->fd[i] = g_file_open_tmp("reallot-XXXXXX", &path, &cause);
    if (streams->fd[i] < 0) {
      g_set_error(error, RA_ERROR, RA_ERROR_IO, "gnuplot: temporary file: %s",
                  cause->message);
      return FALSE;
    }
    g_unlink(path);
  }
  return TRUE;
}

/* Puts @text into @fd and goes back to its begin; 0 or errno. */
static int
write_all(int fd, const char *text)
{
  gsize n_bytes = strlen(text);

  while (n_bytes > 0) {
    ssize_t n = write(fd, text, n_bytes);

    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return errno;
    text += n;
    n_bytes -= (gsize)n;
  }
  return lseek(fd, 0, SEEK_SET) < 0 ? errno : 0;
}

/* All of @fd from its begin; what cannot be read is missing. */
static GByteArray *
read_all(int fd)
{
  GByteArray *bytes = g_byte_array_new();
  g_autofree guint8 *step = g_malloc(READ_STEP_BYTES);
  ssize_t n;

  if (lseek(fd, 0, SEEK_SET) < 0)
    return bytes;
  while ((n = read(fd, step, READ_STEP_BYTES)) > 0 ||
         (n < 0 && errno == EINTR)) {
    if (n > 0)
      g_byte_array_append(bytes, step, (guint)n);
  }
  return bytes;
}

/* Its reason has a line number and is no warning; before it stands the faulty
 * line. */
static char *
first_complaint(int fd, int status)
{
  g_autoptr(GByteArray) bytes = read_all(fd);
  g_autofree char *text =
      g_strndup(bytes->len > 0 ? (const char *)bytes->data : "", bytes->len);
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

  for (guint i = 0; lines[i]; i++) {
    if (strstr(lines[i], "line ") && !strstr(lines[i], "warning:"))
      return g_utf8_make_valid(g_strstrip(lines[i]), -1);
  }
  if (WIFSIGNALED(status))
    return g_strdup_printf("it was killed by signal %d", WTERMSIG(status));
  return g_strdup("no reason given");
}

/* (transfer full): ours without what gnuplot reads: GNUTERM, GNUPLOT_LIB,
 * GNUFITLOG, FIT_SCRIPT ... */
static char **
make_environment(void)
{
  static const char *const prefixes[] = {"GNU", "FIT_"};
  char **environment = g_environ_setenv(g_get_environ(), "LC_ALL", "C", TRUE);
  g_auto(GStrv) names = g_listenv();

  for (guint i = 0; names[i]; i++)
    for (guint j = 0; j < G_N_ELEMENTS(prefixes); j++)
      if (g_str_has_prefix(names[i], prefixes[j]))
        environment = g_environ_unsetenv(environment, names[i]);
  return environment;
}

/* The wait status of @pid, or -1 with @error set; ended after @limit_s. */
static int
wait_child(GPid pid, double limit_s, GError **error)
{
  gint64 begin_us = g_get_monotonic_time();
  int status;
  pid_t done;

  while ((done = waitpid(pid, &status, WNOHANG)) != pid) {
    double s = (double)(g_get_monotonic_time() - begin_us) * 1e-6;

    if (done < 0 && errno != EINTR) {
      fail_errno(error, "waiting for it", errno);
      return -1;
    }
    if (s > limit_s) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      g_set_error(error, RA_ERROR, RA_ERROR_IO,
                  "gnuplot: no picture after %g s, it was ended", limit_s);
      return -1;
    }
    g_usleep((gulong)CLAMP(s * 1e6 / 16, 500, 20000));
  }
  return status;
}

/* The child's wait status, or -1 with @error set. */
static int
run_child(const char *program, const Streams *streams, double limit_s,
          GError **error)
{
  const char *argv[] = {program, "-d", "-", NULL};
  g_auto(GStrv) environment = make_environment();
  g_autoptr(GError) cause = NULL;
  GPid pid;

  if (!g_spawn_async_with_fds(
          NULL, (char **)argv, environment, G_SPAWN_DO_NOT_REAP_CHILD, NULL,
          NULL, &pid, streams->fd[0], streams->fd[1], streams->fd[2], &cause)) {
    g_set_error(error, RA_ERROR, RA_ERROR_IO, "gnuplot: %s", cause->message);
    return -1;
  }
  return wait_child(pid, limit_s, error);
}

gboolean
ra_gnuplot_run(const char *program, const char *script, double limit_s,
               GBytes **out_picture, GError **error)
{
  g_return_val_if_fail(program != NULL && script != NULL, FALSE);
  g_return_val_if_fail(out_picture != NULL, FALSE);

  Streams streams = {{-1, -1, -1}};
  g_autoptr(GByteArray) picture = NULL;
  gboolean done = FALSE;
  int code, status = -1;

  if (open_streams(&streams, error)) {
    code = write_all(streams.fd[0], script);
    if (code != 0)
      fail_errno(error, "temporary file", code);
    else
      status = run_child(program, &streams, limit_s, error);
  }
  if (status >= 0) {
    picture = read_all(streams.fd[1]);
    done = WIFEXITED(status) && WEXITSTATUS(status) == 0 && picture->len > 0;
    if (!done) {
      g_autofree char *reason = first_complaint(streams.fd[2], status);

      g_set_error(error, RA_ERROR, RA_ERROR_IO, "gnuplot failed: %s", reason);
    }
  }
  close_streams(&streams);
  if (done)
    *out_picture = g_byte_array_free_to_bytes(g_steal_pointer(&picture));
  return done;
}
