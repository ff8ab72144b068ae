/* Atomic file replacement: temporary file, sticky errors, rename. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/error.h"

struct _RaAside {
  char *path;   /* as it was given */
  char *target; /* where links lead */
  char *beside; /* NULL: @path itself is written to */
  int fd;       /* -1: closed */
  int code;     /* errno of the first fault; 0: none */
};

RaAtomicFile *
ra_atomic_file_new(const char *path)
{
  RaAtomicFile *a;
  GStatBuf info;

  g_return_val_if_fail(path != NULL, NULL);

  a = g_new0(RaAtomicFile, 1);
  a->path = g_strdup(path);
  a->target = realpath(path, NULL); /* a link stays a link */
  a->fd = -1;
  if (!a->target)
    a->target = strdup(path);
  if (g_stat(a->target, &info) == 0) {
    if (S_ISDIR(info.st_mode)) {
      a->code = EISDIR;
      return a;
    }
    if (!S_ISREG(info.st_mode)) {
      a->fd = g_open(path, O_WRONLY | O_CLOEXEC, 0);
      a->code = a->fd < 0 ? errno : 0;
      return a;
    }
  }
  a->beside = g_strconcat(a->target, ".XXXXXX", NULL);
  a->fd = g_mkstemp_full(a->beside, O_WRONLY | O_CLOEXEC, 0666);
  if (a->fd < 0) {
    a->code = errno;
    g_clear_pointer(&a->beside, g_free); /* there is none to remove */
  }
  return a;
}

void
ra_atomic_file_put(RaAtomicFile *aside, const void *bytes, gsize n_bytes)
{
  const char *at = bytes;

  while (aside->code == 0 && n_bytes > 0) {
    ssize_t n = write(aside->fd, at, n_bytes);

    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0) {
      aside->code = errno;
    } else {
      at += n;
      n_bytes -= (gsize)n;
    }
  }
}

static void
aside_free(RaAtomicFile *a)
{
  if (a->fd >= 0 && close(a->fd) != 0 && a->code == 0)
    a->code = errno;
  if (a->beside)
    g_unlink(a->beside);
  g_free(a->path);
  free(a->target);
  g_free(a->beside);
  g_free(a);
}

gboolean
ra_atomic_file_end(RaAtomicFile *aside, GError **error)
{
  g_autofree char *path = g_strdup(aside->path);
  int code = aside->code;

  if (aside->fd >= 0 && close(aside->fd) != 0 && code == 0)
    code = errno;
  aside->fd = -1;
  if (code == 0 && aside->beside && g_rename(aside->beside, aside->target) != 0)
    code = errno;
  if (code == 0)
    g_clear_pointer(&aside->beside, g_free);
  aside_free(aside);
  if (code != 0)
    ra_error_file(error, path, code, TRUE);
  return code == 0;
}
