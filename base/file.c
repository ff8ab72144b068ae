/* Reading and replacing whole files, and finding shipped data. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/text.h"

#ifndef RA_DATADIR
#define RA_DATADIR                                                             \
  "/usr/local/share/reallot" /* the Makefile gives pkgdatadir */
#endif

#define READ_STEP_BYTES 65536
#define PACK_LEVEL 6 /* of gzip, its default */

/* (transfer full): @text as gzip has it, without a time, so that equal text is
 * an equal file. */
static GBytes *
packed(const char *text, gsize n_bytes)
{
  g_autoptr(GConverter) gzip = G_CONVERTER(
      g_zlib_compressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP, PACK_LEVEL));
  g_autoptr(GOutputStream) memory = g_memory_output_stream_new_resizable();
  g_autoptr(GOutputStream) out = g_converter_output_stream_new(memory, gzip);

  g_output_stream_write_all(out, text, n_bytes, NULL, NULL, NULL);
  g_output_stream_close(out, NULL, NULL);
  return g_memory_output_stream_steal_as_bytes(G_MEMORY_OUTPUT_STREAM(memory));
}

gboolean
ra_file_write(const char *path, const char *text, gsize n_bytes, GError **error)
{
  g_return_val_if_fail(path != NULL, FALSE);
  g_return_val_if_fail(text != NULL || n_bytes == 0, FALSE);

  g_autoptr(GBytes) bytes = g_str_has_suffix(path, ".gz")
                                ? packed(text, n_bytes)
                                : g_bytes_new_static(text, n_bytes);
  RaAtomicFile *aside = ra_atomic_file_new(path);

  text = g_bytes_get_data(bytes, &n_bytes);
  ra_atomic_file_put(aside, text, n_bytes);
  return ra_atomic_file_end(aside, error);
}

gboolean
ra_file_keep(const char *input, const char *const *outputs, GError **error)
{
  struct stat in, out;

  g_return_val_if_fail(input != NULL, FALSE);
  if (!outputs || stat(input, &in) != 0 || !S_ISREG(in.st_mode))
    return TRUE;
  for (; *outputs; outputs++) {
    if (stat(*outputs, &out) != 0 || in.st_dev != out.st_dev ||
        in.st_ino != out.st_ino)
      continue;
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: what is written to '%s' would replace it, expected "
                "another name",
                input, *outputs);
    return FALSE;
  }
  return TRUE;
}

/* Reads to the end or to one byte past @max_bytes; 0 or errno. */
static int
read_all(int fd, gsize max_bytes, GString *out)
{
  for (;;) {
    gsize room = MIN(READ_STEP_BYTES, max_bytes - out->len + 1);
    gsize used = out->len;
    ssize_t n;

    g_string_set_size(out, used + room);
    n = read(fd, out->str + used, room);
    g_string_truncate(out, used + (n > 0 ? (gsize)n : 0));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return errno;
    if (n == 0 || out->len > max_bytes)
      return 0;
  }
}

/* Bytes that @text was compressed from, at most one more than @max_bytes.
 * FALSE: it is no gzip. */
static gboolean
unpack(GString *text, gsize max_bytes)
{
  g_autoptr(GConverter) gunzip =
      G_CONVERTER(g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP));
  g_autoptr(GInputStream) memory =
      g_memory_input_stream_new_from_data(text->str, (gssize)text->len, NULL);
  g_autoptr(GInputStream) in = g_converter_input_stream_new(memory, gunzip);
  g_autofree char *step = g_malloc(READ_STEP_BYTES);
  GString *out = g_string_new(NULL);
  gssize n = 1;

  while (n > 0 && out->len <= max_bytes) {
    n = g_input_stream_read(in, step, READ_STEP_BYTES, NULL, NULL);
    if (n > 0)
      g_string_append_len(out, step, n);
  }
  g_string_assign(text, "");
  g_string_append_len(text, out->str, (gssize)out->len);
  g_string_free(out, TRUE);
  return n >= 0;
}

gboolean
ra_file_read(const char *path, gsize max_bytes, char **out_text,
             gsize *out_n_bytes, GError **error)
{
  g_return_val_if_fail(path != NULL && out_text != NULL, FALSE);
  g_return_val_if_fail(out_n_bytes != NULL && max_bytes < G_MAXSIZE, FALSE);

  GString *text;
  int fd = g_open(path, O_RDONLY | O_CLOEXEC, 0);
  struct stat about;
  guint64 size = 0; /* 0: not known */
  int code;

  if (fd < 0)
    return ra_error_file(error, path, errno, FALSE);
  /* A size that is known is neither read beyond the limit nor grown into. */
  if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode))
    size = (guint64)about.st_size;
  text = g_string_sized_new(size <= max_bytes ? (gsize)size + 1 : 1);
  code = size <= max_bytes ? read_all(fd, max_bytes, text) : 0;
  close(fd);
  if (code == 0 && size <= max_bytes && g_str_has_suffix(path, ".gz") &&
      !unpack(text, max_bytes)) {
    g_string_free(text, TRUE);
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "%s: is not gzip", path);
    return FALSE;
  }
  if (code != 0 || size > max_bytes || text->len > max_bytes) {
    g_string_free(text, TRUE);
    if (code != 0)
      return ra_error_file(error, path, code, FALSE);
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "%s: file is larger than %" G_GSIZE_FORMAT " bytes", path,
                max_bytes);
    return FALSE;
  }
  *out_n_bytes = text->len;
  *out_text = g_string_free(text, FALSE);
  return TRUE;
}

/* Takes @path if a file is there, which is no pipe or device where a file names
 * it: that would be waited for; else gives it to the places tried. */
static char *
try_path(char *path, gboolean is_typed, GPtrArray *tried)
{
  if (g_file_test(path, G_FILE_TEST_IS_REGULAR) ||
      (is_typed && g_file_test(path, G_FILE_TEST_EXISTS) &&
       !g_file_test(path, G_FILE_TEST_IS_DIR)))
    return path;
  g_ptr_array_add(tried, path);
  return NULL;
}

/* Beside the file that names it, or in the folder of its kind next door. */
static char *
find_relative(const char *kind, const char *name, const char *relative_to,
              GPtrArray *tried)
{
  g_autofree char *folder = g_path_get_dirname(relative_to);
  char *found = try_path(g_build_filename(folder, name, NULL), FALSE, tried);

  if (found == NULL)
    found = try_path(g_build_filename(folder, "..", kind, name, NULL), FALSE,
                     tried);
  return found;
}

/* The folder of the running program; NULL where the system does not say. */
static char *
program_folder(void)
{
  g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);

  return program ? g_path_get_dirname(program) : NULL;
}

/* A program that was not installed is in the source tree, in a folder of it, or
 * in a folder there, as build/bench; `share` and `traces` of the tree stand for
 * the data directory. */
static char *
find_built(const char *folder, const char *kind, const char *name,
           GPtrArray *tried)
{
  static const char *const tops[] = {".", "..", "../..", NULL};
  static const char *const parts[] = {"share", "traces", NULL};
  char *found = NULL;

  for (guint i = 0; tops[i] && found == NULL; i++) {
    g_autofree char *top = g_build_filename(folder, tops[i], NULL);
    g_autofree char *mark = g_build_filename(top, "share", "local.mk", NULL);

    if (!g_file_test(mark, G_FILE_TEST_EXISTS))
      continue;
    for (guint j = 0; parts[j] && found == NULL; j++)
      found = try_path(g_build_filename(top, parts[j], kind, name, NULL), FALSE,
                       tried);
  }
  return found;
}

/* An installed program whose tree was moved: bin/ or libexec/reallot/ beside
 * share/reallot/. */
static char *
find_beside(const char *folder, const char *kind, const char *name,
            GPtrArray *tried)
{
  static const char *const tops[] = {"..", "../..", NULL};
  char *found = NULL;

  for (guint i = 0; tops[i] && found == NULL; i++) {
    g_autofree char *data =
        g_build_filename(folder, tops[i], "share", "reallot", NULL);

    if (g_file_test(data, G_FILE_TEST_IS_DIR))
      found = try_path(g_build_filename(data, kind, name, NULL), FALSE, tried);
  }
  return found;
}

static char *
find_installed(const char *kind, const char *name, GPtrArray *tried)
{
  const char *list = g_getenv("RA_DATA_PATH");
  g_auto(GStrv) folders = g_strsplit(list ? list : "", ":", -1);
  g_autofree char *program = program_folder();
  char *found = NULL;

  for (guint i = 0; folders[i] && found == NULL; i++) {
    if (folders[i][0] != '\0')
      found = try_path(g_build_filename(folders[i], kind, name, NULL), FALSE,
                       tried);
  }
  if (found == NULL && program)
    found = find_built(program, kind, name, tried);
  if (found == NULL && program)
    found = find_beside(program, kind, name, tried);
  if (found == NULL)
    found =
        try_path(g_build_filename(RA_DATADIR, kind, name, NULL), FALSE, tried);
  return found;
}

static int
compare_names(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Files in the folders of @tried, sorted, each once. */
static GPtrArray *
list_folders(const GPtrArray *tried)
{
  g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
  GPtrArray *names = g_ptr_array_new_with_free_func(g_free);

  for (guint i = 0; i < tried->len; i++) {
    g_autofree char *folder = g_path_get_dirname(g_ptr_array_index(tried, i));
    GDir *dir = g_dir_open(folder, 0, NULL);
    const char *entry;

    while (dir && (entry = g_dir_read_name(dir))) {
      g_autofree char *path = g_build_filename(folder, entry, NULL);
      char *name;

      if (!g_file_test(path, G_FILE_TEST_IS_REGULAR) ||
          g_hash_table_contains(seen, entry))
        continue;
      name = g_strdup(entry);
      g_hash_table_add(seen, name);
      g_ptr_array_add(names, name);
    }
    if (dir)
      g_dir_close(dir);
  }
  g_ptr_array_sort(names, compare_names); /* folders are in any order */
  return names;
}

/* The file in the folders of @tried whose name is nearest; NULL: none is.
 * Endings that are the same say nothing: q.profile is not near l4.profile. */
static char *
nearest_file(const char *name, const GPtrArray *tried)
{
  g_autofree char *base = g_path_get_basename(name);
  g_autoptr(GPtrArray) names = list_folders(tried);
  g_autoptr(GPtrArray) stems = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(GPtrArray) others = g_ptr_array_new();
  const char *ending = strrchr(base, '.');
  g_autofree char *stem = NULL;
  const char *near;

  ending = ending ? ending : "";
  for (guint i = 0; i < names->len; i++) {
    char *other = g_ptr_array_index(names, i);

    if (*ending && g_str_has_suffix(other, ending))
      g_ptr_array_add(stems, g_strndup(other, strlen(other) - strlen(ending)));
    else
      g_ptr_array_add(others, other);
  }
  g_ptr_array_add(stems, NULL);
  g_ptr_array_add(others, NULL);
  stem = g_strndup(base, strlen(base) - strlen(ending));
  near = ra_text_nearest(stem, (const char *const *)stems->pdata);
  if (near)
    return g_strconcat(near, ending, NULL);
  return g_strdup(ra_text_nearest(base, (const char *const *)others->pdata));
}

char **
ra_share_list(const char *kind, const char *suffix)
{
  g_return_val_if_fail(kind != NULL && suffix != NULL, NULL);

  g_autoptr(GPtrArray) tried = g_ptr_array_new_with_free_func(g_free);
  g_autofree char *none = find_installed(kind, "*", tried); /* in no folder */
  g_autoptr(GPtrArray) names = list_folders(tried);
  GStrvBuilder *list = g_strv_builder_new();
  char **out;

  for (guint i = 0; i < names->len; i++) {
    const char *name = g_ptr_array_index(names, i);

    if (g_str_has_suffix(name, suffix))
      g_strv_builder_add(list, name);
  }
  out = g_strv_builder_end(list);
  g_strv_builder_unref(list);
  return out;
}

/* Folders of @tried that exist, each once: "'.', '/a/plans' or '/b/plans'".
 * A name alone stands for a shipped file, too: without a folder of @kind
 * RA_DATA_PATH has to say where those are. */
static char *
places_of(const char *kind, const char *name, const GPtrArray *tried)
{
  g_autoptr(GPtrArray) places = g_ptr_array_new_with_free_func(g_free);
  GString *out = g_string_new(NULL);
  gboolean has_kind = FALSE;

  for (guint i = 0; i < tried->len; i++) {
    g_autofree char *folder = g_path_get_dirname(tried->pdata[i]);
    g_autofree char *whole = g_canonicalize_filename(folder, NULL);
    g_autofree char *last = g_path_get_basename(whole);
    char *place =
        g_strdup_printf("'%s'", g_path_is_absolute(folder) ? whole : folder);

    if (!g_file_test(folder, G_FILE_TEST_IS_DIR) ||
        g_ptr_array_find_with_equal_func(places, place, g_str_equal, NULL)) {
      g_free(place);
      continue;
    }
    has_kind |= g_str_equal(last, kind);
    g_ptr_array_add(places, place);
  }
  if (!has_kind && !strchr(name, G_DIR_SEPARATOR))
    g_ptr_array_add(places,
                    g_strdup_printf("'%s' of a folder of RA_DATA_PATH", kind));
  for (guint i = 0; i < places->len; i++)
    g_string_append_printf(out, "%s%s",
                           i == 0                 ? ""
                           : i + 1 == places->len ? " or "
                                                  : ", ",
                           (const char *)places->pdata[i]);
  return g_string_free(out, FALSE);
}

static void
fail_find(const char *kind, const char *name, const GPtrArray *tried,
          GError **error)
{
  g_autofree char *near = nearest_file(name, tried);
  g_autofree char *places = places_of(kind, name, tried);
  const char *hint = g_str_equal(kind, "profiles")
                         ? "; 'reallot list gpus' has the names"
                         : "";

  if (g_file_test(name, G_FILE_TEST_IS_DIR))
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "'%s' is a directory, expected a file", name);
  else if (near)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "no file '%s', did you mean '%s'?", name, near);
  else if (!*places || g_path_is_absolute(name))
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "no file '%s', expected an existing file", name);
  else
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "no file '%s', expected it in %s%s", name, places, hint);
}

/* (transfer full) (nullable): the shipped profile that is meant by a GPU's name
 * without its form, in any case: "H100.profile" is h100-sxm.profile. */
static char *
find_short(const char *kind, const char *name, GPtrArray *tried)
{
  static const char ending[] = ".profile";
  g_autofree char *stem = NULL, *whole = NULL, *lower = NULL;
  char *found;

  if (!g_str_equal(kind, "profiles") || !g_str_has_suffix(name, ending) ||
      strchr(name, G_DIR_SEPARATOR))
    return NULL;
  lower = g_ascii_strdown(name, -1);
  found = find_installed(kind, lower, tried);
  if (found)
    return found;
  stem = g_strndup(lower, strlen(lower) - strlen(ending));
  whole = g_strconcat(stem, "-sxm", ending, NULL);
  return find_installed(kind, whole, tried);
}

char *
ra_share_find(const char *kind, const char *name, const char *relative_to,
              GError **error)
{
  g_return_val_if_fail(kind != NULL && name != NULL, NULL);

  g_autoptr(GPtrArray) tried = g_ptr_array_new_with_free_func(g_free);
  char *found;

  if (g_path_is_absolute(name)) {
    found = try_path(g_strdup(name), relative_to == NULL, tried);
  } else {
    found = relative_to ? find_relative(kind, name, relative_to, tried)
                        : try_path(g_strdup(name), TRUE, tried);
    if (found == NULL)
      found = find_installed(kind, name, tried);
  }
  if (found == NULL) {
    g_autoptr(GPtrArray) other = g_ptr_array_new_with_free_func(g_free);

    found = find_short(kind, name, other);
  }
  if (found == NULL)
    fail_find(kind, name, tried, error);
  return found;
}
