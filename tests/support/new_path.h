/* Names of files that tests write. */
#ifndef RA_TESTS_SUPPORT_NEW_PATH_H
#define RA_TESTS_SUPPORT_NEW_PATH_H

#include <glib/gstdio.h>
#include <unistd.h>

#include "tests/support/check_points.h"

/* (transfer full): path of a temporary file that does not exist. */
static inline char *
new_path(void)
{
  char *path = NULL;
  /* GLib wants the six X, which it replaces. */
  int file = g_file_open_tmp("reallot-check-XXXXXX", &path, NULL);

  ck_assert_int_ge(file, 0);
  close(file);
  g_unlink(path);
  return path;
}

#endif
