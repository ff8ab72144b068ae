/* The main() of every tests/check_<module>.c.
 *
 * A module's test makes one Suite and ends with one line:
 *
 *     static Suite *
 *     arena_suite(void)
 *     {
 *       Suite *suite = suite_create("arena");
 *       TCase *tcase = tcase_create("core");
 *       tcase_add_test(tcase, test_mark_rewinds);
 *       suite_add_tcase(suite, tcase);
 *       return suite;
 *     }
 *
 *     RA_CHECK_MAIN(arena_suite)
 *
 * Results are TAP on stdout, which a test itself must therefore not write to
 * (use stderr).  CK_FORK=no runs all tests in this process, for a debugger or
 * valgrind; RA_CHECK_TEST=NAME picks one test; CK_TIMEOUT_MULTIPLIER is for
 * slow machines.  The exit status is 0 only if every test passed.
 */
#ifndef RA_TESTS_SUPPORT_CHECK_MAIN_H
#define RA_TESTS_SUPPORT_CHECK_MAIN_H

#include <stdlib.h>

#include "tests/support/check_points.h"

/* One in so many of cases that are alike runs under AddressSanitizer.  The
 * others run the same code; `make check` compares all with their oracle. */
#ifdef __SANITIZE_ADDRESS__
#define RA_CHECK_SHARE 4
#else
#define RA_CHECK_SHARE 1
#endif
/* The share of @n cases, at least one. */
#define RA_CHECK_SOME(n) (((int)(n) + RA_CHECK_SHARE - 1) / RA_CHECK_SHARE)

/**
 * ra_check_run:
 * @suite: (transfer full): freed together with its runner
 *
 * Returns: the exit status for main()
 */
static inline int
ra_check_run(Suite *suite)
{
  SRunner *runner = srunner_create(suite);
  int exit_status;

  srunner_set_tap(runner, "-");
  /* Not CK_FORK: that would override CK_FORK=no in the environment. */
  srunner_set_fork_status(runner, CK_FORK_GETENV);
  srunner_run_all(runner, CK_SILENT);
  exit_status =
      srunner_ntests_failed(runner) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
  srunner_free(runner);
  return exit_status;
}

#define RA_CHECK_MAIN(make_suite)                                              \
  int main(void) { return ra_check_run(make_suite()); }

#endif
