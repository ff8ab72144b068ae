/* Recursive removal of a folder; symbolic links are not followed. */
#include "config.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <unistd.h>

#include "base/folder.h"

gboolean
ra_folder_remove(const char *path)
{
  gboolean is_link = g_file_test(path, G_FILE_TEST_IS_SYMLINK);
  g_autoptr(GDir) dir = is_link ? NULL : g_dir_open(path, 0, NULL);
  const char *name;

  while (dir && (name = g_dir_read_name(dir))) {
    g_autofree char *child = g_build_filename(path, name, NULL);

    ra_folder_remove(child);
  }
  return g_remove(path) == 0 || errno == ENOENT;
}
