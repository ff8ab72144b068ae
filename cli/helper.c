/* Helper programs: finds one and becomes it. */
#include "config.h"

#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/helper.h"

gboolean
ra_helper_run(const char *name, char **argv, const char *why, int code,
              GError **error)
{
  g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
  g_autofree char *folder = g_path_get_dirname(self ? self : argv[0]);
  g_autofree char *beside = g_build_filename(folder, name, NULL);
  g_autofree char *libexec =
      g_build_filename(folder, "..", "libexec", "reallot", name, NULL);
  g_autofree char *installed = g_build_filename(RA_LIBEXECDIR, name, NULL);
  const char *paths[] = {beside, libexec, installed};
  int fault = 0;

  for (guint i = 0; i < G_N_ELEMENTS(paths); i++) {
    execv(paths[i], argv);
    if (fault == 0 || fault == ENOENT)
      fault = errno;
  }
  g_set_error(error, RA_ERROR, code, "%s: %s, %s", beside, g_strerror(fault),
              why);
  return FALSE;
}
