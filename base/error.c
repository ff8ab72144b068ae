/* The error domain, its exit statuses, and errors with file and line. */
#include "config.h"

#include <errno.h>

#include "base/error.h"

G_DEFINE_QUARK(ra_error, ra_error)

gboolean
ra_error_at(GError **error, const char *place, guint line, const char *format,
            va_list args)
{
  g_autofree char *text = g_strdup_vprintf(format, args);

  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s:%u: %s", place, line, text);
  return FALSE;
}

/* (nullable): what would have worked, where the cause does not say it. */
static const char *
expected_file(int code, gboolean is_written)
{
  switch (code) {
  case ENOENT:
    return is_written ? "a folder that exists" : "an existing file";
  case ENOTDIR:
    return "a folder in front of each '/'";
  case EISDIR:
    return "a file";
  case EACCES:
  case EPERM:
  case EROFS:
    return is_written ? "a place that may be written to"
                      : "a file that may be read";
  case ENOSPC:
  case EDQUOT:
    return "room for it";
  default:
    return NULL;
  }
}

gboolean
ra_error_file(GError **error, const char *path, int code, gboolean is_written)
{
  const char *expected = expected_file(code, is_written);

  g_set_error(error, RA_ERROR, RA_ERROR_IO, "%s: %s%s%s", path,
              g_strerror(code), expected ? ", expected " : "",
              expected ? expected : "");
  return FALSE;
}

int
ra_error_exit_status(const GError *error)
{
  if (!error)
    return 0;
  if (error->domain != RA_ERROR)
    return 2;
  switch ((RaErrorCode)error->code) {
  case RA_ERROR_NEGATIVE:
    return 1;
  case RA_ERROR_NO_DEVICE:
    return 3;
  case RA_ERROR_DEVICE:
    return 4;
  case RA_ERROR_INPUT:
  case RA_ERROR_IO:
    break;
  }
  return 2;
}
