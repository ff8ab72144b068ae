/* Search for CUDA libraries on a machine. */
#include "config.h"

#include <dlfcn.h>
#include <glob.h>

#include "exec/backend/cuda_library.h"

#define PACKAGES "/lib/python3*/{site,dist}-packages/nvidia/*/lib"
#define MODE (RTLD_NOW | RTLD_LOCAL)

#ifndef CUDA_LIBRARY_PATH /* configured without CUDA */
#define CUDA_LIBRARY_PATH ""
#endif

static void
add_matches(GPtrArray *out, const char *pattern)
{
  glob_t found;

  if (glob(pattern, GLOB_BRACE | GLOB_ONLYDIR, NULL, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; i++)
      if (g_file_test(found.gl_pathv[i], G_FILE_TEST_IS_DIR))
        g_ptr_array_add(out, g_strdup(found.gl_pathv[i]));
  globfree(&found);
}

/* @below of @root, if there is one. */
static void
add_below(GPtrArray *out, const char *root, const char *below)
{
  g_autofree char *pattern =
      root && *root ? g_strconcat(root, below, NULL) : NULL;

  if (pattern)
    add_matches(out, pattern);
}

static void
add_list(GPtrArray *out, const char *list)
{
  g_auto(GStrv) folders = g_strsplit(list ? list : "", ":", -1);

  for (guint i = 0; folders[i]; i++)
    if (g_file_test(folders[i], G_FILE_TEST_IS_DIR))
      g_ptr_array_add(out, g_strdup(folders[i]));
}

/* Adds the packages of the python3 on PATH: a virtual environment's is a link,
 * and its packages are next to the link, not next to its target. */
static void
add_python(GPtrArray *out)
{
  g_autofree char *python = g_find_program_in_path("python3");
  g_autofree char *bin = python ? g_path_get_dirname(python) : NULL;
  g_autofree char *prefix = bin ? g_path_get_dirname(bin) : NULL;

  add_below(out, prefix, PACKAGES);
}

char **
ra_cuda_library_folders(void)
{
  GPtrArray *out = g_ptr_array_new();

  add_list(out, g_getenv("RA_CUDA_LIBRARIES"));
  add_list(out, CUDA_LIBRARY_PATH);
  add_below(out, g_getenv("CUDA_HOME"), "/lib64");
  add_matches(out, "/usr/local/cuda{,-13*}/lib64");
  add_below(out, g_getenv("VIRTUAL_ENV"), PACKAGES);
  add_below(out, g_getenv("CONDA_PREFIX"), "/lib");
  add_below(out, g_getenv("CONDA_PREFIX"), PACKAGES);
  add_python(out);
  add_below(out, g_getenv("HOME"), "/.local" PACKAGES);
  add_matches(out, "/usr/local" PACKAGES);
  add_matches(out, "/usr" PACKAGES);
  g_ptr_array_add(out, NULL);
  return (char **)g_ptr_array_free(out, FALSE);
}

void *
ra_cuda_library_open(const char *soname)
{
  void *library = dlopen(soname, MODE);
  g_auto(GStrv) folders = library ? NULL : ra_cuda_library_folders();

  for (guint i = 0; !library && folders[i]; i++) {
    g_autofree char *path = g_build_filename(folders[i], soname, NULL);

    if (g_file_test(path, G_FILE_TEST_EXISTS))
      library = dlopen(path, MODE);
  }
  return library;
}
