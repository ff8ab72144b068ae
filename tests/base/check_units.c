#include "config.h"

#include <glib.h>
#include <math.h>

#include "base/error.h"
#include "base/units.h"
#include "tests/support/check_main.h"

/* Decimal prefixes are powers of 1000, binary ones of 1024, a bit is an eighth
 * of a byte; a time is the double nearest to the decimal fraction. */
static const struct {
  const char *text;
  RaUnit unit;
  double value;
} good[] = {
    {"1.5", RA_UNIT_NONE, 1.5},
    {" -2e3\t", RA_UNIT_NONE, -2000},
    {"12 us", RA_UNIT_SECONDS, 12e-6},
    {"12us", RA_UNIT_SECONDS, 12e-6},
    {"12 \xc2\xb5s", RA_UNIT_SECONDS, 12e-6},
    {"250 ns", RA_UNIT_SECONDS, 250e-9},
    {"3 ms", RA_UNIT_SECONDS, 3e-3},
    {"1e-3 s", RA_UNIT_SECONDS, 1e-3},
    {"1.5 min", RA_UNIT_SECONDS, 90},
    {"2 h", RA_UNIT_SECONDS, 7200},
    {"1d", RA_UNIT_SECONDS, 86400},
    {"80 GiB", RA_UNIT_BYTES, 85899345920.},
    {"80 GB", RA_UNIT_BYTES, 80e9},
    {"1 TiB", RA_UNIT_BYTES, 1099511627776.},
    {"1 KiB", RA_UNIT_BYTES, 1024},
    {"1 kB", RA_UNIT_BYTES, 1000},
    {"400 Gbit/s", RA_UNIT_BYTES_PER_S, 50e9},
    {"400Gbit/s", RA_UNIT_BYTES_PER_S, 50e9},
    {"400 Gb/s", RA_UNIT_BYTES_PER_S, 50e9},
    {"400 GB/s", RA_UNIT_BYTES_PER_S, 400e9},
    {"8 bit/s", RA_UNIT_BYTES_PER_S, 1},
    {"1.6 Tbit/s", RA_UNIT_BYTES_PER_S, 200e9},
    {"1 MiB/s", RA_UNIT_BYTES_PER_S, 1048576},
    {"989.4 TFLOP/s", RA_UNIT_FLOP_PER_S, 989.4e12},
    {"1.979 PFLOP/s", RA_UNIT_FLOP_PER_S, 1.979e15},
    {"2.5 USD/gpu/h", RA_UNIT_USD_PER_GPU_H, 2.5},
    {"0.7 kW", RA_UNIT_WATT, 700},
    {"1.98 GHz", RA_UNIT_HERTZ, 1.98e9},
};

START_TEST(test_good)
{
  double value = 0;
  GError *error = NULL;
  gboolean ok = ra_quantity_parse(good[_i].text, good[_i].unit, &value, &error);

  ck_assert_msg(ok, "%s", error ? error->message : "");
  ck_assert_double_eq(value, good[_i].value);
}
END_TEST

#define TIMES "ns, us, ms, s, min, h, d"

#define RATES                                                                  \
  "a rate in one of B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s, " \
  "bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s"

static const struct {
  const char *text;
  RaUnit unit;
  const char *message;
} bad[] = {
    {"400", RA_UNIT_SECONDS,
     "'400' has no unit, expected a time in one of " TIMES},
    {" 4 GiB ", RA_UNIT_SECONDS,
     "'4 GiB' has the unit 'GiB', expected a time in one of " TIMES},
    {"4 S", RA_UNIT_SECONDS,
     "'4 S' has the unit 'S', did you mean 's'? expected a time in one "
     "of " TIMES},
    {"4 gib", RA_UNIT_BYTES,
     "'4 gib' has the unit 'gib', did you mean 'GiB'? expected a size in one "
     "of B, kB, MB, GB, TB, KiB, MiB, GiB, TiB"},
    /* A bit's b is no byte's B. */
    {"400 gbps", RA_UNIT_BYTES_PER_S,
     "'400 gbps' has the unit 'gbps', did you mean 'Gb/s'? expected " RATES},
    {"50GBps", RA_UNIT_BYTES_PER_S,
     "'50GBps' has the unit 'GBps', did you mean 'GB/s'? expected " RATES},
    {"400 Gbit", RA_UNIT_BYTES_PER_S,
     "'400 Gbit' has the unit 'Gbit', did you mean 'Gbit/s'? expected " RATES},
    {"1 gflops", RA_UNIT_FLOP_PER_S,
     "'1 gflops' has the unit 'gflops', did you mean 'GFLOP/s'? expected a "
     "compute rate in one of FLOP/s, kFLOP/s, MFLOP/s, GFLOP/s, TFLOP/s, "
     "PFLOP/s, EFLOP/s"},
    {"4 s s", RA_UNIT_SECONDS,
     "'4 s s' has the unit 's s', expected a time in one of " TIMES},
    {"", RA_UNIT_SECONDS,
     "'' is not a finite number and a unit, expected a time in one of " TIMES},
    {"s", RA_UNIT_SECONDS,
     "'s' is not a finite number and a unit, expected a time in one of " TIMES},
    {"inf s", RA_UNIT_SECONDS,
     "'inf s' is not a finite number and a unit, expected a time in one "
     "of " TIMES},
    {"nan s", RA_UNIT_SECONDS,
     "'nan s' is not a finite number and a unit, expected a time in one "
     "of " TIMES},
    {"0x10 s", RA_UNIT_SECONDS,
     "'0x10 s' is not a finite number and a unit, expected a time in one "
     "of " TIMES},
    {"1e999 s", RA_UNIT_SECONDS,
     "'1e999 s' is not a finite number and a unit, expected a time in one "
     "of " TIMES},
    {"1e308 d", RA_UNIT_SECONDS,
     "'1e308 d' is too large, expected a finite time"},
    {"4 s", RA_UNIT_NONE, "'4 s' has the unit 's', expected a plain number"},
    {"1,5", RA_UNIT_NONE, "'1,5' has the unit ',5', expected a plain number"},
    {"x", RA_UNIT_NONE, "'x' is not a finite number"},
    {"2.5 USD", RA_UNIT_USD_PER_GPU_H,
     "'2.5 USD' has the unit 'USD', expected a price in one of USD/gpu/h"},
};

START_TEST(test_bad)
{
  double value = 17;
  g_autoptr(GError) error = NULL;

  ck_assert(!ra_quantity_parse(bad[_i].text, bad[_i].unit, &value, &error));
  ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_INPUT));
  ck_assert_str_eq(error->message, bad[_i].message);
  ck_assert_double_eq(value, 17);
}
END_TEST

/* Rounded to four digits by hand; the unit is the largest of which there is
 * one after rounding (0.99999 s is 1 s, 0.9999 s is not). */
static const struct {
  double value;
  RaUnit unit;
  const char *text;
} shown[] = {
    {0.0123, RA_UNIT_SECONDS, "12.3 ms"},
    {0, RA_UNIT_SECONDS, "0 s"},
    {1e-12, RA_UNIT_SECONDS, "0.001 ns"},
    {0.99999, RA_UNIT_SECONDS, "1 s"},
    {0.9999, RA_UNIT_SECONDS, "999.9 ms"},
    {-0.25, RA_UNIT_SECONDS, "-250 ms"},
    {90, RA_UNIT_SECONDS, "90 s"},
    {5400, RA_UNIT_SECONDS, "1.5 h"},
    {8640000, RA_UNIT_SECONDS, "100 d"},
    {85899345920., RA_UNIT_BYTES, "80 GiB"},
    {1023, RA_UNIT_BYTES, "1023 B"},
    {1e18, RA_UNIT_BYTES, "909495 TiB"}, /* 1e18 / 2^40 = 909494.7 */
    {50e9, RA_UNIT_BYTES_PER_S, "50 GB/s"},
    {989.4e12, RA_UNIT_FLOP_PER_S, "989.4 TFLOP/s"},
    {1.979e15, RA_UNIT_FLOP_PER_S, "1.979 PFLOP/s"},
    {2.5, RA_UNIT_USD_PER_GPU_H, "2.5 USD/gpu/h"},
    {0, RA_UNIT_USD_PER_GPU_H, "0 USD/gpu/h"},
    {700, RA_UNIT_WATT, "700 W"},
    {10200, RA_UNIT_WATT, "10.2 kW"},
    {1.98e9, RA_UNIT_HERTZ, "1.98 GHz"},
    {1234.5, RA_UNIT_NONE, "1234"}, /* ties to even */
    {0.000012345678, RA_UNIT_NONE, "1.235e-05"},
};

START_TEST(test_format)
{
  g_autofree char *text = ra_quantity_format(shown[_i].value, shown[_i].unit);

  ck_assert_str_eq(text, shown[_i].text);
}
END_TEST

/* TRUE if the text, read again as if one of it were @factor times as much, is
 * the value to half of the fourth digit: 5e-4 at worst. */
static gboolean
is_read_back(double value, RaUnit unit, double factor)
{
  g_autofree char *text = ra_quantity_format(value, unit);
  double back = 0;

  ck_assert(ra_quantity_parse(text, unit, &back, NULL));
  return fabs(back * factor - value) <= 5.001e-4 * fabs(value);
}

START_TEST(test_round_trip)
{
  for (int unit = 0; unit < RA_N_UNITS; unit++) {
    for (double value = 1e-12; value < 1e22; value *= 1.37) {
      ck_assert(is_read_back(value, (RaUnit)unit, 1));
      ck_assert(is_read_back(-value, (RaUnit)unit, 1));
    }
  }
}
END_TEST

/* A GB for a GiB is 7 % off, a kB for a KiB 2.4 %: the round trip sees it. */
START_TEST(test_round_trip_sees_a_fault)
{
  ck_assert(!is_read_back(80e9, RA_UNIT_BYTES, 1e9 / 1073741824));
  ck_assert(!is_read_back(80e3, RA_UNIT_BYTES, 1e3 / 1024));
}
END_TEST

/* Every unit that messages list is taken. */
START_TEST(test_accepted)
{
  for (int unit = RA_UNIT_SECONDS; unit < RA_N_UNITS; unit++) {
    g_auto(GStrv) names = g_strsplit(ra_unit_accepted((RaUnit)unit), ", ", -1);

    ck_assert_ptr_nonnull(names[0]);
    for (guint i = 0; names[i]; i++) {
      g_autofree char *text = g_strconcat("1 ", names[i], NULL);
      double value = 0;

      ck_assert(ra_quantity_parse(text, (RaUnit)unit, &value, NULL));
      ck_assert_double_gt(value, 0);
    }
  }
}
END_TEST

static Suite *
units_suite(void)
{
  Suite *suite = suite_create("units");
  TCase *parse = tcase_create("parse");
  TCase *format = tcase_create("format");

  tcase_add_loop_test(parse, test_good, 0, G_N_ELEMENTS(good));
  tcase_add_loop_test(parse, test_bad, 0, G_N_ELEMENTS(bad));
  tcase_add_test(parse, test_accepted);
  suite_add_tcase(suite, parse);
  tcase_add_loop_test(format, test_format, 0, G_N_ELEMENTS(shown));
  tcase_add_test(format, test_round_trip);
  tcase_add_test(format, test_round_trip_sees_a_fault);
  suite_add_tcase(suite, format);
  return suite;
}

RA_CHECK_MAIN(units_suite)
