#include "config.h"

#include <glib.h>

#include "base/error.h"
#include "tests/support/check_main.h"

/* The statuses are the table of base/error.h: negative 1, input and i/o 2,
 * no device 3, device failure 4.
 */
START_TEST(test_codes)
{
  static const struct {
    RaErrorCode code;
    int status;
  } rows[] = {
      {RA_ERROR_INPUT, 2},     {RA_ERROR_IO, 2},     {RA_ERROR_NEGATIVE, 1},
      {RA_ERROR_NO_DEVICE, 3}, {RA_ERROR_DEVICE, 4},
  };

  for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(GError) error =
        g_error_new_literal(RA_ERROR, rows[i].code, "a:1: wrong");
    ck_assert_int_eq(ra_error_exit_status(error), rows[i].status);
  }
}
END_TEST

START_TEST(test_no_error)
{
  ck_assert_int_eq(ra_error_exit_status(NULL), 0);
}
END_TEST

/* G_FILE_ERROR's code 4 must not be read as our RA_ERROR_DEVICE. */
START_TEST(test_foreign_domain)
{
  g_autoptr(GError) error =
      g_error_new_literal(G_FILE_ERROR, (int)RA_ERROR_DEVICE, "no such file");
  ck_assert_int_eq(ra_error_exit_status(error), 2);
}
END_TEST

static Suite *
error_suite(void)
{
  Suite *suite = suite_create("error");
  TCase *tcase = tcase_create("exit status");

  tcase_add_test(tcase, test_codes);
  tcase_add_test(tcase, test_no_error);
  tcase_add_test(tcase, test_foreign_domain);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(error_suite)
