/* The cache of results in files. */
#include "config.h"

#include <glib/gstdio.h>
#include <string.h>
#include <utime.h>

#include "base/content_cache.h"
#include "base/folder.h"
#include "tests/support/check_main.h"

static RaContentCache *
cache_in(const char *folder, uint64_t most_bytes)
{
  return ra_content_cache_new(folder, "any", "thing", most_bytes);
}

/* The text kept as @key, NULL: none; (transfer full). */
static char *
kept(RaContentCache *cache, uint64_t key)
{
  char *text = NULL;
  gsize n_bytes;

  if (ra_content_cache_get(cache, key, &text, &n_bytes))
    ck_assert_uint_eq(n_bytes, strlen(text));
  return text;
}

/* Another cache of the folder has what was put, the last of a key, under that
 * key alone.  Contents may be of any bytes, none among them. */
START_TEST(test_put_and_get)
{
  g_autofree char *folder = g_dir_make_tmp("check_cache_XXXXXX", NULL);
  g_autofree char *inner = g_build_filename(folder, "a/b", NULL);
  g_autoptr(RaContentCache) one = cache_in(inner, 1 << 20);
  g_autoptr(RaContentCache) two = cache_in(inner, 1 << 20);
  g_autofree char *last = NULL, *bytes = NULL, *none = NULL;
  gsize n_bytes;

  ck_assert_ptr_null(kept(one, 7));
  ck_assert(ra_content_cache_put(one, 7, "first", 5));
  ck_assert(ra_content_cache_put(one, 7, "last", 4));
  ck_assert(ra_content_cache_put(one, 8, "a\0\n\xff", 4));
  ck_assert(ra_content_cache_put(one, 9, "", 0));
  last = kept(two, 7);
  ck_assert_str_eq(last, "last");
  ck_assert(ra_content_cache_get(two, 8, &bytes, &n_bytes));
  ck_assert_uint_eq(n_bytes, 4);
  ck_assert_mem_eq(bytes, "a\0\n\xff", 4);
  none = kept(two, 9);
  ck_assert_str_eq(none, "");
  ck_assert_ptr_null(kept(two, 10));
  ck_assert_uint_eq(ra_content_cache_n_damaged(two, NULL), 0);
  ck_assert(ra_folder_remove(folder));
}
END_TEST

/* Whatever byte of an entry is another, whatever is cut off or added, it is
 * missing, and so is a folder of its name. */
START_TEST(test_damage)
{
  g_autofree char *folder = g_dir_make_tmp("check_cache_XXXXXX", NULL);
  g_autofree char *path =
      g_build_filename(folder, "0000000000000007.thing", NULL);
  g_autofree char *text = NULL, *other = NULL;
  g_autoptr(RaContentCache) cache = cache_in(folder, 1 << 20);
  const char *first;
  gsize n_bytes;
  guint n = 0;

  ck_assert(ra_content_cache_put(cache, 7, "contents", 8));
  ck_assert(g_file_get_contents(path, &text, &n_bytes, NULL));
  other = g_memdup2(text, n_bytes + 1);
  for (gsize i = 0; i < n_bytes; i++, n++) {
    other[i] ^= 1;
    ck_assert(g_file_set_contents(path, other, (gssize)n_bytes, NULL));
    ck_assert_ptr_null(kept(cache, 7));
    other[i] ^= 1;
  }
  for (gsize i = 0; i < n_bytes + 2; i++) {
    if (i == n_bytes) /* that is whole */
      continue;
    ck_assert(
        g_file_set_contents(path, other, (gssize)MIN(i, n_bytes + 1), NULL));
    ck_assert_ptr_null(kept(cache, 7));
    n++;
  }
  g_unlink(path);
  ck_assert_int_eq(g_mkdir(path, 0755), 0);
  ck_assert_ptr_null(kept(cache, 7));
  ck_assert(!ra_content_cache_put(cache, 7, "contents", 8));
  ck_assert_uint_eq(ra_content_cache_n_damaged(cache, &first), n + 1);
  ck_assert_str_eq(first, path);
  ck_assert(ra_folder_remove(folder));
}
END_TEST

/* 40 entries of 100 bytes in 2,000: the last put or read stay, no more bytes
 * than that, and all files that are no entries. */
START_TEST(test_size)
{
  enum { MOST = 2000, N = 40 };
  static const char *const foreign[] = {"notes.txt", "0000000000000001.point",
                                        "000000000000001.thing"};
  g_autofree char *folder = g_dir_make_tmp("check_cache_XXXXXX", NULL);
  g_autoptr(RaContentCache) cache = cache_in(folder, MOST);
  char text[70] = {0};
  uint64_t bytes = 0;
  GDir *dir;
  const char *name;

  memset(text, 'x', sizeof text - 1);
  for (guint i = 0; i < G_N_ELEMENTS(foreign); i++) {
    g_autofree char *path = g_build_filename(folder, foreign[i], NULL);
    ck_assert(g_file_set_contents(path, text, -1, NULL));
  }
  for (guint i = 0; i < N; i++) {
    g_autofree char *base = g_strdup_printf("%016x.thing", i);
    g_autofree char *path = g_build_filename(folder, base, NULL);
    struct utimbuf used = {1000 + i, 1000 + i};
    g_autofree char *first = NULL;

    ck_assert(ra_content_cache_put(cache, i, text, 69));
    ck_assert_int_eq(g_utime(path, &used), 0);
    first = kept(cache, 0); /* read again and again */
    ck_assert_msg(first != NULL, "%u", i);
  }
  /* Too large by itself. */
  ck_assert(!ra_content_cache_put(cache, 99, text, MOST / 16 + 1));
  for (guint i = 0; i < G_N_ELEMENTS(foreign); i++) {
    g_autofree char *path = g_build_filename(folder, foreign[i], NULL);
    ck_assert(g_file_test(path, G_FILE_TEST_EXISTS));
    g_unlink(path);
  }
  dir = g_dir_open(folder, 0, NULL);
  while ((name = g_dir_read_name(dir))) {
    g_autofree char *path = g_build_filename(folder, name, NULL);
    GStatBuf info;

    ck_assert_int_eq(g_stat(path, &info), 0);
    bytes += (uint64_t)info.st_size;
  }
  g_dir_close(dir);
  ck_assert_uint_le(bytes, MOST);
  ck_assert_uint_gt(bytes, MOST / 2);
  for (guint i = N - 8; i < N; i++) {
    g_autofree char *late = kept(cache, i);
    ck_assert_ptr_nonnull(late);
  }
  ck_assert_ptr_null(kept(cache, 1));
  ck_assert(ra_folder_remove(folder));
}
END_TEST

typedef struct {
  const char *folder;
  char letter;
  guint n_read, n_wrong; /* neither of the two texts */
} Writer;

static gpointer
write_and_read(gpointer data)
{
  enum { N_BYTES = 5000 };
  Writer *w = data;
  g_autoptr(RaContentCache) cache = cache_in(w->folder, 1 << 20);
  g_autofree char *text = g_malloc0(N_BYTES + 1);

  memset(text, w->letter, N_BYTES);
  for (guint i = 0; i < 200; i++) {
    g_autofree char *there = NULL;

    ck_assert(ra_content_cache_put(cache, 7, text, N_BYTES));
    there = kept(cache, 7);
    w->n_read += there != NULL;
    w->n_wrong +=
        !there || strspn(there, there[0] == 'a' ? "a" : "b") != N_BYTES;
  }
  w->n_wrong += ra_content_cache_n_damaged(cache, NULL);
  return NULL;
}

/* Two that write one entry, each with a text of its own: whoever reads has one
 * of the two, whole.  The fault: a file that is written in place is often read
 * in part. */
START_TEST(test_two_writers)
{
  g_autofree char *folder = g_dir_make_tmp("check_cache_XXXXXX", NULL);
  Writer a = {.folder = folder, .letter = 'a'};
  Writer b = {.folder = folder, .letter = 'b'};
  GThread *other = g_thread_new("b", write_and_read, &b);

  write_and_read(&a);
  g_thread_join(other);
  ck_assert_uint_eq(a.n_read + b.n_read, 400);
  ck_assert_uint_eq(a.n_wrong + b.n_wrong, 0);
  ck_assert(ra_folder_remove(folder));
}
END_TEST

/* A program and a file are hashed by what is in them. */
START_TEST(test_hashes)
{
  g_autofree char *folder = g_dir_make_tmp("check_cache_XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "x", NULL);
  g_autofree char *same = g_build_filename(folder, "y", NULL);
  g_autoptr(RaContentCache) cache = cache_in(folder, 1 << 20);
  g_autoptr(RaContentCache) later = cache_in(folder, 1 << 20);
  uint64_t before;

  ck_assert(g_file_set_contents(path, "one", -1, NULL));
  ck_assert(g_file_set_contents(same, "one", -1, NULL));
  before = ra_content_cache_file(cache, path);
  ck_assert_uint_ne(before, 0);
  ck_assert_uint_eq(ra_content_cache_file(cache, same), before);
  ck_assert_uint_eq(ra_content_cache_file(cache, folder), 0);
  ck_assert(g_file_set_contents(path, "two", -1, NULL));
  ck_assert_uint_ne(ra_content_cache_file(later, path), before);
  ck_assert_uint_eq(ra_content_cache_program(cache),
                    ra_content_cache_program(later));
  ck_assert(ra_folder_remove(folder));
}
END_TEST

static Suite *
content_cache_suite(void)
{
  Suite *s = suite_create("content_cache");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_put_and_get);
  tcase_add_test(tcase, test_damage);
  tcase_add_test(tcase, test_size);
  tcase_add_test(tcase, test_two_writers);
  tcase_add_test(tcase, test_hashes);
  suite_add_tcase(s, tcase);
  return s;
}

RA_CHECK_MAIN(content_cache_suite)
