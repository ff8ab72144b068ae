/* Jobs on threads: each is done once, by a thread of those that there are. */
#include "config.h"

#include "base/jobs.h"
#include "tests/support/check_main.h"

enum { N = 1000 };

static void
count(guint i, guint thread, gpointer data)
{
  guint *done = data;

  ck_assert_uint_lt(thread, 3);
  done[i]++; /* the fault: a job given to two threads would stand at 2 */
}

START_TEST(once)
{
  guint done[N + 1] = {0};

  ra_jobs_run(N, 3, count, done);
  for (guint i = 0; i < N; i++)
    ck_assert_uint_eq(done[i], 1);
  ck_assert_uint_eq(done[N], 0);
  ra_jobs_run(0, 3, count, done);
  ck_assert_uint_eq(done[0], 1);
}
END_TEST

/* As many as asked, no more than jobs, at least this one. */
START_TEST(threads)
{
  ck_assert_uint_eq(ra_jobs_threads(4, 2), 2);
  ck_assert_uint_eq(ra_jobs_threads(4, 9), 4);
  ck_assert_uint_eq(ra_jobs_threads(1, 0), 1);
  ck_assert_uint_ge(ra_jobs_threads(0, 9), 1);
}
END_TEST

static Suite *
jobs_suite(void)
{
  Suite *s = suite_create("jobs");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, once);
  tcase_add_test(tcase, threads);
  suite_add_tcase(s, tcase);
  return s;
}

RA_CHECK_MAIN(jobs_suite)
