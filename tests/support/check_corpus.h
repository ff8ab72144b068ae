/* Replay of a fuzzer's corpus through its entry point, without a fuzzer.
 *
 *     ra_check_corpus("plan");      every file of tests/corpus/plan
 *
 * The test program links tests/fuzz/fuzz_plan.c, whose entry point aborts if an
 * invariant is violated; files named good-* must be accepted.
 */
#ifndef RA_TESTS_SUPPORT_CHECK_CORPUS_H
#define RA_TESTS_SUPPORT_CHECK_CORPUS_H

#include "tests/fuzz/fuzz.h"
#include "tests/support/check_points.h"

static inline void
ra_check_corpus(const char *kind)
{
  const char *srcdir = g_getenv("srcdir");
  char *folder =
      g_build_filename(srcdir ? srcdir : ".", "tests", "corpus", kind, NULL);
  GDir *dir = g_dir_open(folder, 0, NULL);
  const char *name;
  guint n = 0;

  ck_assert_msg(dir != NULL, "no folder %s", folder);
  while ((name = g_dir_read_name(dir))) {
    char *path = g_build_filename(folder, name, NULL);
    char *text = NULL;
    gsize n_bytes;

    ck_assert(g_file_get_contents(path, &text, &n_bytes, NULL));
    ck_assert_int_eq(LLVMFuzzerTestOneInput((uint8_t *)text, n_bytes), 0);
    ck_assert_msg(fuzz_accepted == g_str_has_prefix(name, "good-"), "%s was %s",
                  name, fuzz_accepted ? "accepted" : "refused");
    n++;
    g_free(text);
    g_free(path);
  }
  ck_assert_uint_gt(n, 0);
  g_dir_close(dir);
  g_free(folder);
}

#endif
