/* Folders and what becomes of what is in them. */
#include "config.h"

#include <glib/gstdio.h>
#include <unistd.h>

#include "base/folder.h"
#include "tests/support/check_main.h"

/* kept/file and gone/{file, inner/file, link -> kept}: of the five below `gone`
 * nothing is left, and what the link pointed to is as it was.  The fault that
 * this catches: to open the folder behind a link. */
START_TEST(test_links_are_not_followed)
{
  g_autofree char *root = g_dir_make_tmp("check_folder_XXXXXX", NULL);
  g_autofree char *kept = g_build_filename(root, "kept", NULL);
  g_autofree char *kept_file = g_build_filename(kept, "file", NULL);
  g_autofree char *gone = g_build_filename(root, "gone", NULL);
  g_autofree char *file = g_build_filename(gone, "file", NULL);
  g_autofree char *inner = g_build_filename(gone, "inner", NULL);
  g_autofree char *inner_file = g_build_filename(inner, "file", NULL);
  g_autofree char *link = g_build_filename(gone, "link", NULL);

  ck_assert_int_eq(g_mkdir(kept, 0777), 0);
  ck_assert_int_eq(g_mkdir_with_parents(inner, 0777), 0);
  ck_assert(g_file_set_contents(kept_file, "k", 1, NULL));
  ck_assert(g_file_set_contents(file, "f", 1, NULL));
  ck_assert(g_file_set_contents(inner_file, "i", 1, NULL));
  ck_assert_int_eq(symlink(kept, link), 0);
  ck_assert(ra_folder_remove(gone));
  ck_assert(!g_file_test(gone, G_FILE_TEST_EXISTS));
  ck_assert(g_file_test(kept_file, G_FILE_TEST_IS_REGULAR));
  ck_assert(ra_folder_remove(root));
  ck_assert(!g_file_test(root, G_FILE_TEST_EXISTS));
}
END_TEST

/* A folder that is not there is gone; for a file, the file goes. */
START_TEST(test_nothing_and_a_file)
{
  g_autofree char *path = g_build_filename(g_get_tmp_dir(), "none/such", NULL);
  g_autofree char *file = NULL;
  gint fd = g_file_open_tmp("check_folder_XXXXXX", &file, NULL);

  ck_assert(ra_folder_remove(path));
  ck_assert_int_ge(fd, 0);
  close(fd);
  ck_assert(ra_folder_remove(file));
  ck_assert(!g_file_test(file, G_FILE_TEST_EXISTS));
}
END_TEST

/* Files of /proc cannot be removed by anybody. */
START_TEST(test_what_stays_is_said)
{
  ck_assert(!ra_folder_remove("/proc/self/status"));
}
END_TEST

static Suite *
folder_suite(void)
{
  Suite *suite = suite_create("folder");
  TCase *tcase = tcase_create("folder");

  tcase_add_test(tcase, test_links_are_not_followed);
  tcase_add_test(tcase, test_nothing_and_a_file);
  tcase_add_test(tcase, test_what_stays_is_said);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(folder_suite)
