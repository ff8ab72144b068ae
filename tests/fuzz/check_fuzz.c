/* Replays the corpus of the fuzz entry that it is linked with: the program
 * check_fuzz_KIND replays tests/corpus/KIND through tests/fuzz/fuzz_KIND.c. */
#include "config.h"

#include "tests/support/check_corpus.h"
#include "tests/support/check_main.h"

static const char *kind;

START_TEST(test_corpus)
{
  ra_check_corpus(kind);
}
END_TEST

/* The replay relies on this: an entry says when its reader refuses. No kind
 * takes a control character. */
START_TEST(test_refusal_is_seen)
{
  static const uint8_t bad[] = {1};

  fuzz_accepted = TRUE;
  ck_assert_int_eq(LLVMFuzzerTestOneInput(bad, sizeof bad), 0);
  ck_assert(!fuzz_accepted);
}
END_TEST

int
main(int argc, char **argv)
{
  static const char prefix[] = "check_fuzz_";
  g_autofree char *name = g_path_get_basename(argv[0]);
  Suite *suite = suite_create(name);
  TCase *tcase = tcase_create("corpus");

  g_assert(argc == 1 && g_str_has_prefix(name, prefix));
  kind = name + strlen(prefix);
  tcase_add_test(tcase, test_corpus);
  tcase_add_test(tcase, test_refusal_is_seen);
  suite_add_tcase(suite, tcase);
  return ra_check_run(suite);
}
