/* check.h, of which an assertion that holds says where it stands once.
 *
 * Check writes the place of every assertion that holds to a pipe, a call of the
 * system each, so that it can name the last one before a crash.  Tests that
 * look at every number of an array spent more time there than in what they
 * test: 29 of 46 s of tests/exec/check_layouts.c.  So the last place that is
 * named is here the last that was reached for the first time.
 */
#ifndef RA_TESTS_SUPPORT_CHECK_POINTS_H
#define RA_TESTS_SUPPORT_CHECK_POINTS_H

#include <check.h>

/* As Check's ck_assert_msg() calls it; of threads any may be the first. */
#define _mark_point(file, line)                                                \
  __extension__({                                                              \
    static int is_told;                                                        \
    if (!__atomic_load_n(&is_told, __ATOMIC_RELAXED)) {                        \
      __atomic_store_n(&is_told, 1, __ATOMIC_RELAXED);                         \
      _mark_point(file, line);                                                 \
    }                                                                          \
  })

#endif
