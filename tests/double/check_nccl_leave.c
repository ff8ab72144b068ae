/* The end of communicators, on a double of the library. */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>

#include "exec/comm/nccl_impl.h"
#include "tests/double/nccl_double.h"
#include "tests/support/check_main.h"

/* Two ranks join; as one leaves the other is still there, and leaves later. */
typedef struct {
  RaNcclOptions options;
  RaNcclId id;
  atomic_bool is_there, may_leave;
} Late;

static void
fail_hard(const char *line, gpointer data)
{
  g_error("%s", line);
}

static void *
leave_late(void *data)
{
  Late *late = data;
  RaNccl *nccl;

  nccl_double_enter();
  nccl = ra_nccl_new(&late->options, &late->id, 2, 1, NULL);
  g_assert_nonnull(nccl);
  atomic_store(&late->is_there, TRUE);
  while (!atomic_load(&late->may_leave))
    g_usleep(1000);
  ra_nccl_free(nccl);
  nccl_double_leave();
  return NULL;
}

/* Who leaves does not wait for ever: past its patience it goes, and the thread
 * that closes its communicator is there until the other has come.  With a
 * minute of it, and the other on its way, both are closed when it goes. */
START_TEST(test_leave)
{
  Late late = {.options = {nccl_double(), _i ? 60 : 0.2, fail_hard, NULL, 0}};
  pthread_t thread;
  RaNccl *nccl;

  nccl_double_begin(2, 1);
  nccl_double_enter();
  ck_assert(ra_nccl_id(nccl_double(), &late.id, NULL));
  pthread_create(&thread, NULL, leave_late, &late);
  nccl = ra_nccl_new(&late.options, &late.id, 2, 0, NULL);
  ck_assert_ptr_nonnull(nccl);
  while (!atomic_load(&late.is_there))
    g_usleep(1000);
  atomic_store(&late.may_leave, _i == 1);
  ra_nccl_free(nccl);
  ck_assert_uint_ge(nccl_double_tally().n_destroyed, (guint)_i);
  ck_assert_uint_le(nccl_double_tally().n_destroyed, 2 * (guint)_i);
  atomic_store(&late.may_leave, TRUE);
  pthread_join(thread, NULL);
  while (nccl_double_tally().n_destroyed < 2)
    g_usleep(1000);
  ck_assert_uint_eq(nccl_double_tally().n_aborted, 0);
  nccl_double_leave();
  nccl_double_end();
}
END_TEST

static Suite *
nccl_leave_suite(void)
{
  Suite *suite = suite_create("nccl_leave");
  TCase *tcase = tcase_create("core");

  tcase_set_timeout(tcase, 60);
  tcase_add_loop_test(tcase, test_leave, 0, 2);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(nccl_leave_suite)
