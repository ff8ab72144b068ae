/* check.h, with two changes: one test of a program can be picked by its name,
 * and an assertion that holds reports its place once.
 *
 * RA_CHECK_TEST=test_mark_rewinds adds that test alone to its case (`make
 * check-one T=check_arena CASE=test_mark_rewinds`).
 *
 * Check writes the place of every passing assertion to a pipe, with one system
 * call each, so that it can name the last one before a crash.  Tests that check
 * every number of an array spent most of their time there: 29 of 46 s of
 * tests/exec/check_layouts.c.  So here the last place named before a crash is
 * the last that was reached for the first time.
 */
#ifndef RA_TESTS_SUPPORT_CHECK_POINTS_H
#define RA_TESTS_SUPPORT_CHECK_POINTS_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

static inline int
ra_check_is_picked(const TTest *test)
{
  const char *name = getenv("RA_CHECK_TEST");

  return !name || strcmp(name, test->name) == 0;
}

#define _tcase_add_test(tcase, test, ...)                                      \
  (ra_check_is_picked(test) ? _tcase_add_test(tcase, test, __VA_ARGS__)        \
                            : (void)0)

/* Called by Check's ck_assert_msg(); any thread may be the first. */
#define _mark_point(file, line)                                                \
  __extension__({                                                              \
    static int is_told;                                                        \
    if (!__atomic_load_n(&is_told, __ATOMIC_RELAXED)) {                        \
      __atomic_store_n(&is_told, 1, __ATOMIC_RELAXED);                         \
      _mark_point(file, line);                                                 \
    }                                                                          \
  })

#endif
