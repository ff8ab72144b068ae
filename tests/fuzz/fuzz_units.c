/* Fuzz entry of numbers: the text is a quantity of every kind, a whole number,
 * a real number and a word; what is read is finite, and what is written for
 * people is read again as the same to its digits. */
#include "config.h"

#include <math.h>

#include "base/text.h"
#include "base/units.h"
#include "tests/fuzz/fuzz.h"

gboolean fuzz_accepted;

/* A value is written with at least four significant digits (fewer only where
 * the rest are zeros), so it comes back within 5e-4 of itself. */
static void
check_format(double value, RaUnit unit)
{
  g_autofree char *text = ra_quantity_format(value, unit);
  double again;

  g_assert(ra_quantity_parse(text, unit, &again, NULL));
  g_assert(fabs(again - value) <= 5.001e-4 * fabs(value));
}

static gboolean
check_quantity(const char *text, RaUnit unit)
{
  GError *error = NULL;
  double value = -17;
  gboolean ok = ra_quantity_parse(text, unit, &value, &error);

  g_assert(ok ? isfinite(value) : value == -17);
  if (ok && fabs(value) >= 1e-30 && fabs(value) <= 1e30)
    check_format(value, unit);
  return fuzz_check_error(ok, error);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const char *const words[] = {"gpu", "nodes", "price", "nic", NULL};
  g_autofree char *text = g_strndup((const char *)data, size);
  g_autofree char *valid = g_utf8_make_valid(text, -1);
  const char *near = ra_text_nearest(valid, words);
  uint64_t whole = 17;
  double real = -17;

  fuzz_accepted = FALSE;
  /* No key file lets control characters through to a value. */
  for (const char *p = valid; *p; p++) {
    if (g_ascii_iscntrl(*p))
      return 0;
  }
  for (guint unit = 0; unit < RA_N_UNITS; unit++)
    fuzz_accepted |= check_quantity(valid, (RaUnit)unit);
  g_assert(near == NULL || g_strv_contains(words, near));
  if (ra_text_uint64(valid, &whole)) {
    g_assert(ra_text_double(valid, &real));
    g_assert(fabs(real - (double)whole) <= 1e-15 * real);
  } else {
    g_assert(whole == 17);
  }
  real = -17;
  g_assert(ra_text_double(valid, &real) ? isfinite(real) : real == -17);
  return 0;
}
