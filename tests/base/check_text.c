#include "config.h"

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "tests/support/check_main.h"

static char *folder; /* made for each test */

static void
setup(void)
{
  folder = g_dir_make_tmp("ra-text-XXXXXX", NULL);
  g_assert(folder != NULL);
}

static void
empty(const char *path)
{
  GDir *dir = g_dir_open(path, 0, NULL);
  const char *name;

  while (dir && (name = g_dir_read_name(dir))) {
    g_autofree char *child = g_build_filename(path, name, NULL);

    if (g_file_test(child, G_FILE_TEST_IS_DIR) &&
        !g_file_test(child, G_FILE_TEST_IS_SYMLINK))
      empty(child);
    else
      g_unlink(child);
  }
  if (dir)
    g_dir_close(dir);
  g_rmdir(path);
}

static void
teardown(void)
{
  empty(folder);
  g_free(folder);
}

static guint
n_files(void)
{
  GDir *dir = g_dir_open(folder, 0, NULL);
  guint n = 0;

  while (g_dir_read_name(dir))
    n++;
  g_dir_close(dir);
  return n;
}

static void
assert_holds(const char *path, const char *wanted)
{
  g_autofree char *text = NULL;
  gsize n_bytes;

  ck_assert(ra_file_read(path, 100, &text, &n_bytes, NULL));
  ck_assert_str_eq(text, wanted);
  ck_assert_uint_eq(n_bytes, strlen(wanted));
}

/* By hand: runs of several, of one, at both ends; none; all. */
START_TEST(test_ranges)
{
  static const guint8 in[] = {1, 1, 1, 0, 1, 0, 0, 1, 1};
  g_autofree char *some = ra_text_ranges(in, 9);
  g_autofree char *none = ra_text_ranges(in + 5, 2);
  g_autofree char *all = ra_text_ranges(in, 3);
  g_autofree char *empty = ra_text_ranges(NULL, 0);

  ck_assert_str_eq(some, "0-2,4,7-8");
  ck_assert_str_eq(none, "");
  ck_assert_str_eq(all, "0-2");
  ck_assert_str_eq(empty, "");
}
END_TEST

/* Distances: gennerate 1 deletion, tarin 1 transposition, kitten 3, at most a
 * third of the longer word rounded up: 3, 2 and 3; abcd to wxyz is 4 > 2. */
START_TEST(test_nearest)
{
  static const char *const names[] = {"generate", "train", "sitting", "wxyz",
                                      NULL};
  static const char *const pair[] = {"ab", "ac", NULL};
  g_autofree char *longest = g_strnfill(257, 'a');

  ck_assert_str_eq(ra_text_nearest("gennerate", names), "generate");
  ck_assert_str_eq(ra_text_nearest("tarin", names), "train");
  ck_assert_str_eq(ra_text_nearest("gene", names), "generate"); /* its start */
  ck_assert_str_eq(ra_text_nearest("kitten", names), "sitting");
  ck_assert_str_eq(ra_text_nearest("train", names), "train");
  ck_assert_ptr_null(ra_text_nearest("abcd", names));
  ck_assert_ptr_null(ra_text_nearest("", names));
  ck_assert_ptr_null(ra_text_nearest(longest, names));
  /* A tie goes to the first; two words of 3 apart by 1 <= 1, by 2 > 1. */
  ck_assert_str_eq(ra_text_nearest("ad", pair), "ab");
  ck_assert_str_eq(ra_text_nearest("abx", pair), "ab");
  ck_assert_ptr_null(ra_text_nearest("axy", pair));
}
END_TEST

START_TEST(test_uint64)
{
  static const char *const bad[] = {"",
                                    "-1",
                                    "+1",
                                    " 1",
                                    "1 ",
                                    "1e6",
                                    "1_0",
                                    "0x1",
                                    "18446744073709551616",
                                    "99999999999999999999999"};
  uint64_t value = 5;

  for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
    ck_assert_msg(!ra_text_uint64(bad[i], &value), "%s", bad[i]);
    ck_assert(value == 5);
  }
  ck_assert(ra_text_uint64("18446744073709551615", &value));
  ck_assert(value == UINT64_MAX);
  ck_assert(ra_text_uint64("007", &value));
  ck_assert(value == 7);
}
END_TEST

START_TEST(test_double)
{
  static const char *const bad[] = {"",      " 1",  "1 ",   "inf", "nan",
                                    "0x1p3", "1,5", "1e",   "1e+", "1e400",
                                    ".",     "--1", "1.2.3"};
  double value = 5;

  for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
    ck_assert_msg(!ra_text_double(bad[i], &value), "%s", bad[i]);
    ck_assert_double_eq(value, 5);
  }
  ck_assert(ra_text_double("-1.25e2", &value));
  ck_assert_double_eq(value, -125);
  ck_assert(ra_text_double(".5", &value));
  ck_assert_double_eq(value, 0.5);
}
END_TEST

/* A new file has mode 0666 less the umask, a second write replaces it, a link
 * stays one; nothing else is left in the folder. */
START_TEST(test_write)
{
  g_autofree char *path = g_build_filename(folder, "a", NULL);
  g_autofree char *link = g_build_filename(folder, "l", NULL);
  mode_t mask = umask(027);
  GStatBuf info;

  ck_assert(ra_file_write(path, "one\n", 4, NULL));
  umask(mask);
  ck_assert_int_eq(g_stat(path, &info), 0);
  ck_assert_uint_eq(info.st_mode & 0777, 0640);
  assert_holds(path, "one\n");
  ck_assert(ra_file_write(path, NULL, 0, NULL));
  assert_holds(path, "");
  ck_assert_int_eq(symlink("a", link), 0);
  ck_assert(ra_file_write(link, "two", 3, NULL));
  ck_assert(g_file_test(link, G_FILE_TEST_IS_SYMLINK));
  assert_holds(path, "two");
  ck_assert_uint_eq(n_files(), 2);
}
END_TEST

/* Writes more than the process may: as on a full disk, the write fails in the
 * middle.  FALSE where the file was written after all. */
static gboolean
fails_halfway(const char *path, GError **error)
{
  g_autofree char *text = g_strnfill(10000, 'x');
  struct rlimit old, small;
  gboolean ok;

  signal(SIGXFSZ, SIG_IGN);
  ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &old), 0);
  small = old;
  small.rlim_cur = 5000;
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
  ok = ra_file_write(path, text, 10000, error);
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &old), 0);
  return !ok;
}

/* The old file survives, and nothing is left beside it. */
START_TEST(test_write_fails)
{
  g_autofree char *path = g_build_filename(folder, "a", NULL);
  g_autofree char *wanted = g_strdup_printf("%s: File too large", path);
  g_autoptr(GError) error = NULL;

  ck_assert(ra_file_write(path, "old", 3, NULL));
  ck_assert(fails_halfway(path, &error));
  ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_IO));
  ck_assert_str_eq(error->message, wanted);
  assert_holds(path, "old");
  ck_assert_uint_eq(n_files(), 1);
}
END_TEST

/* The oracle of test_write_fails sees a fault: writing in place, as fopen
 * does, leaves half a file under the same limit. */
START_TEST(test_limit_bites)
{
  g_autofree char *path = g_build_filename(folder, "a", NULL);
  g_autofree char *text = g_strnfill(10000, 'x');
  struct rlimit old, small;
  GStatBuf info;
  FILE *out;

  signal(SIGXFSZ, SIG_IGN);
  ck_assert(ra_file_write(path, "old", 3, NULL));
  getrlimit(RLIMIT_FSIZE, &old);
  small = old;
  small.rlim_cur = 5000;
  setrlimit(RLIMIT_FSIZE, &small);
  out = fopen(path, "w");
  fwrite(text, 1, 10000, out);
  fclose(out);
  setrlimit(RLIMIT_FSIZE, &old);
  ck_assert_int_eq(g_stat(path, &info), 0);
  ck_assert_int_gt(info.st_size, 3);
  ck_assert_int_lt(info.st_size, 10000);
}
END_TEST

static void
assert_refused(const char *path, const char *reason)
{
  g_autoptr(GError) error = NULL;
  g_autofree char *wanted = g_strdup_printf("%s: %s", path, reason);

  ck_assert(!ra_file_write(path, "x", 1, &error));
  ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_IO));
  ck_assert_str_eq(error->message, wanted);
}

START_TEST(test_write_refused)
{
  g_autofree char *missing = g_build_filename(folder, "b", "c", NULL);
  g_autofree char *file = g_build_filename(folder, "f", NULL);
  g_autofree char *below = g_build_filename(file, "x", NULL);

  assert_refused(folder, "Is a directory, expected a file");
  assert_refused(missing, "No such file or directory, expected a folder that "
                          "exists");
  ck_assert(ra_file_write(file, "x", 1, NULL));
  assert_refused(below,
                 "Not a directory, expected a folder in front of each '/'");
  /* A device is written to, never replaced. */
  assert_refused("/dev/full", "No space left on device, expected room for it");
  ck_assert(ra_file_write("/dev/null", "x", 1, NULL));
  ck_assert(!g_file_test("/dev/null", G_FILE_TEST_IS_REGULAR));
  ck_assert_uint_eq(n_files(), 1);
}
END_TEST

START_TEST(test_read)
{
  g_autofree char *path = g_build_filename(folder, "a", NULL);
  g_autofree char *large = g_strnfill(200000, 'y');
  g_autofree char *text = NULL;
  g_autofree char *wanted =
      g_strdup_printf("%s: file is larger than 199999 bytes", path);
  g_autoptr(GError) error = NULL;
  gsize n_bytes = 0;

  ck_assert(ra_file_write(path, large, 200000, NULL));
  ck_assert(!ra_file_read(path, 199999, &text, &n_bytes, &error));
  ck_assert_ptr_null(text);
  ck_assert_str_eq(error->message, wanted);
  ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_INPUT));
  g_clear_error(&error);
  ck_assert(ra_file_read(path, 200000, &text, &n_bytes, &error));
  ck_assert_uint_eq(n_bytes, 200000);
  ck_assert_str_eq(text, large);
  g_clear_pointer(&text, g_free);
  ck_assert(!ra_file_read(folder, 10, &text, &n_bytes, &error));
  ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_IO));
  /* A device without an end stops at the bound. */
  ck_assert(!ra_file_read("/dev/zero", 1000, &text, &n_bytes, NULL));
}
END_TEST

static void
make_file(const char *sub, const char *kind)
{
  g_autofree char *dir = g_build_filename(folder, sub, kind, NULL);
  g_autofree char *path = g_build_filename(dir, "m.x", NULL);

  ck_assert_int_eq(g_mkdir_with_parents(dir, 0700), 0);
  ck_assert(ra_file_write(path, "x", 1, NULL));
}

/* Finds m.x of the kind "models" and checks that it is FOLDER/wanted. */
static void
assert_found(const char *relative_to, const char *wanted)
{
  g_autofree char *path = g_build_filename(folder, wanted, NULL);
  g_autofree char *near =
      relative_to ? g_build_filename(folder, relative_to, NULL) : NULL;
  GError *error = NULL;
  g_autofree char *found = ra_share_find("models", "m.x", near, &error);

  ck_assert_msg(found != NULL, "%s", error ? error->message : "");
  ck_assert_str_eq(found, path);
}

/* Each place is found once those before it are gone. */
START_TEST(test_find)
{
  g_autofree char *data = g_build_filename(folder, "d1", NULL);
  g_autofree char *list =
      g_strdup_printf("%s::%s/d2", data, folder); /* an empty one is skipped */
  g_autofree char *beside = g_build_filename(folder, "w/plans/m.x", NULL);
  g_autofree char *next = g_build_filename(folder, "w/models/m.x", NULL);
  g_autofree char *first = g_build_filename(folder, "d1/models/m.x", NULL);

  g_setenv("RA_DATA_PATH", list, TRUE);
  make_file("w", "plans");
  make_file("w", "models");
  make_file("d1", "models");
  make_file("d2", "models");
  assert_found("w/plans/p.plan", "w/plans/m.x");
  g_unlink(beside);
  assert_found("w/plans/p.plan", "w/plans/../models/m.x");
  g_unlink(next);
  assert_found("w/plans/p.plan", "d1/models/m.x");
  assert_found(NULL, "d1/models/m.x");
  g_unlink(first);
  assert_found(NULL, "d2/models/m.x");
  /* The current folder counts for what stands in a flag, not in a file. */
  make_file(".", "here");
  g_autofree char *here = g_build_filename(folder, "here", NULL);
  ck_assert_int_eq(g_chdir(here), 0);
  g_autofree char *found = ra_share_find("models", "m.x", NULL, NULL);
  ck_assert_str_eq(found, "m.x");
  assert_found("w/plans/p.plan", "d2/models/m.x");
  ck_assert_int_eq(g_chdir("/"), 0);
}
END_TEST

START_TEST(test_find_fails)
{
  g_autoptr(GError) error = NULL;
  g_autofree char *path = g_build_filename(folder, "z.x", NULL);
  g_autofree char *near = g_build_filename(folder, "near/plans/p.plan", NULL);
  g_autofree char *list =
      g_strdup_printf("%s/data:%s/data:/nowhere", folder, folder);
  g_autofree char *first = g_strdup_printf(
      "no file 'zzz.x', expected it in '%s/near/plans'", folder);
  g_autofree char *second = g_strdup_printf("'%s/data/models'", folder);
  const char *at;
  g_autofree char *wanted =
      g_strdup_printf("no file '%s', expected an existing file", path);

  g_setenv("RA_DATA_PATH", "/nowhere", TRUE);
  ck_assert_ptr_null(ra_share_find("models", path, NULL, &error));
  ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_INPUT));
  ck_assert_str_eq(error->message, wanted);
  g_clear_error(&error);
  /* Folders that are there are named, each once. */
  make_file("near", "plans");
  make_file("data", "models");
  g_setenv("RA_DATA_PATH", list, TRUE);
  ck_assert_ptr_null(ra_share_find("models", "zzz.x", near, &error));
  ck_assert_msg(g_str_has_prefix(error->message, first), "%s", error->message);
  at = strstr(error->message, second);
  ck_assert_ptr_nonnull(at);
  ck_assert_ptr_null(strstr(at + 1, second));
  ck_assert_ptr_null(strstr(error->message, "nowhere"));
  ck_assert_ptr_null(strstr(error->message, "RA_DATA_PATH"));
  g_clear_error(&error);
  /* No folder that is there, no list; the name of a file that is near. */
  ck_assert_ptr_null(ra_share_find("models", "no/such/z.x", NULL, &error));
  ck_assert_str_eq(error->message,
                   "no file 'no/such/z.x', expected an existing file");
  g_clear_error(&error);
  ck_assert_ptr_null(ra_share_find("models", "mm.x", near, &error));
  ck_assert_str_eq(error->message, "no file 'mm.x', did you mean 'm.x'?");
  g_clear_error(&error);
  /* A folder is no file. */
  ck_assert_ptr_null(ra_share_find("models", folder, NULL, &error));
}
END_TEST

/* "aé€" is 1 + 2 + 3 bytes: cuts inside a character go back to its start. */
START_TEST(test_head)
{
  static const char text[] = "a\xc3\xa9\xe2\x82\xac";
  static const int expected[] = {0, 1, 1, 3, 3, 3, 6, 6};

  for (int max = 0; max < 8; max++)
    ck_assert_int_eq(ra_text_head(text, max), expected[max]);
  ck_assert_int_eq(ra_text_head("", 3), 0);
}
END_TEST

static Suite *
text_suite(void)
{
  Suite *suite = suite_create("text");
  TCase *text = tcase_create("text");
  TCase *file = tcase_create("file");

  tcase_add_test(text, test_ranges);
  tcase_add_test(text, test_nearest);
  tcase_add_test(text, test_uint64);
  tcase_add_test(text, test_double);
  tcase_add_test(text, test_head);
  suite_add_tcase(suite, text);
  tcase_add_checked_fixture(file, setup, teardown);
  tcase_add_test(file, test_write);
  tcase_add_test(file, test_write_fails);
  tcase_add_test(file, test_limit_bites);
  tcase_add_test(file, test_write_refused);
  tcase_add_test(file, test_read);
  tcase_add_test(file, test_find);
  tcase_add_test(file, test_find_fails);
  suite_add_tcase(suite, file);
  return suite;
}

RA_CHECK_MAIN(text_suite)
