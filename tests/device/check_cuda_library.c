/* Tests of the search for CUDA's libraries, in a tree of folders made here. */
#include "config.h"

#include <dlfcn.h>
#include <glib/gstdio.h>
#include <unistd.h>

#include "base/folder.h"
#include "exec/backend/cuda_library.h"
#include "tests/support/check_main.h"

static char *root;

static char *
make_folder(const char *below)
{
  char *path = g_build_filename(root, below, NULL);

  ck_assert_int_eq(g_mkdir_with_parents(path, 0700), 0);
  return path;
}

/* A process's own environment, with no folder of this machine named in it. */
static void
setup(void)
{
  root = g_dir_make_tmp("reallot-XXXXXX", NULL);
  ck_assert_ptr_nonnull(root);
  g_unsetenv("RA_CUDA_LIBRARIES");
  g_unsetenv("CUDA_HOME");
  g_unsetenv("VIRTUAL_ENV");
  g_unsetenv("CONDA_PREFIX");
  g_setenv("HOME", root, TRUE);
  g_setenv("PATH", root, TRUE);
}

static void
teardown(void)
{
  ra_folder_remove(root);
  g_free(root);
}

/* The place of @path among the folders; fails if it is not there. */
static guint
place(char **folders, const char *path)
{
  for (guint i = 0; folders[i]; i++)
    if (g_str_equal(folders[i], path))
      return i;
  ck_abort_msg("%s is not searched", path);
}

/* Every place there can be, in the order of the header. */
START_TEST(test_order)
{
  static const char *const below[] = {
      "named",
      "toolkit/lib64",
      "venv/lib/python3.11/site-packages/nvidia/cu13/lib",
      "conda/lib",
      "conda/lib/python3.12/site-packages/nvidia/nccl/lib",
      "py/lib/python3.13/dist-packages/nvidia/cu13/lib",
      ".local/lib/python3.11/site-packages/nvidia/nccl/lib"};
  char *paths[G_N_ELEMENTS(below)];
  g_autofree char *bin = make_folder("py/bin");
  g_autofree char *python = g_build_filename(bin, "python3", NULL);
  g_autofree char *named = g_strconcat(root, "/none:", root, "/named", NULL);
  g_autofree char *home = g_build_filename(root, "toolkit", NULL);
  g_autofree char *venv = g_build_filename(root, "venv", NULL);
  g_autofree char *conda = g_build_filename(root, "conda", NULL);
  g_auto(GStrv) folders = NULL;

  for (guint i = 0; i < G_N_ELEMENTS(below); i++)
    paths[i] = make_folder(below[i]);
  ck_assert(g_file_set_contents(python, "", 0, NULL));
  ck_assert_int_eq(g_chmod(python, 0700), 0);
  g_setenv("RA_CUDA_LIBRARIES", named, TRUE);
  g_setenv("CUDA_HOME", home, TRUE);
  g_setenv("VIRTUAL_ENV", venv, TRUE);
  g_setenv("CONDA_PREFIX", conda, TRUE);
  g_setenv("PATH", bin, TRUE);
  folders = ra_cuda_library_folders();
  for (guint i = 1; i < G_N_ELEMENTS(below); i++)
    ck_assert_uint_lt(place(folders, paths[i - 1]), place(folders, paths[i]));
  for (guint i = 0; i < G_N_ELEMENTS(below); i++)
    g_free(paths[i]);
  /* what is no folder is left out */
  for (guint i = 0; folders[i]; i++)
    ck_assert_msg(!g_str_has_suffix(folders[i], "/none"), "%s", folders[i]);
}
END_TEST

/* Not the loader's to find: this very program's C library under another name,
 * in Python's packages; without the package there is none. */
START_TEST(test_open)
{
  g_autofree char *lib = make_folder("venv/lib/python3.9/site-packages/"
                                     "nvidia/cu13/lib");
  g_autofree char *venv = g_build_filename(root, "venv", NULL);
  g_autofree char *link = g_build_filename(lib, "libreallot-none.so.13", NULL);
  Dl_info info;

  ck_assert_ptr_null(ra_cuda_library_open("libreallot-none.so.13"));
  ck_assert_int_ne(dladdr(stdout, &info), 0);
  ck_assert_int_eq(symlink(info.dli_fname, link), 0);
  ck_assert_ptr_null(ra_cuda_library_open("libreallot-none.so.13"));
  g_setenv("VIRTUAL_ENV", venv, TRUE);
  ck_assert_ptr_nonnull(ra_cuda_library_open("libreallot-none.so.13"));
}
END_TEST

/* One that is found but is no library is none. */
START_TEST(test_broken)
{
  g_autofree char *path = g_build_filename(root, "libreallot-none.so.13", NULL);

  ck_assert(g_file_set_contents(path, "text", -1, NULL));
  g_setenv("RA_CUDA_LIBRARIES", root, TRUE);
  ck_assert_ptr_null(ra_cuda_library_open("libreallot-none.so.13"));
}
END_TEST

static Suite *
cuda_library_suite(void)
{
  Suite *suite = suite_create("cuda_library");
  TCase *tests = tcase_create("core");

  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, test_order);
  tcase_add_test(tests, test_open);
  tcase_add_test(tests, test_broken);
  suite_add_tcase(suite, tests);
  return suite;
}

RA_CHECK_MAIN(cuda_library_suite)
