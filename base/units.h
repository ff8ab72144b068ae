/* Quantities with units, read from text and written for people.
 *
 * A quantity in a file is a number and a unit: `400 Gbit/s`, `80 GiB`,
 * `2.5 USD/gpu/h`, `12 us`.  The unit is required where the kind has one
 * (a bare `400` for a bandwidth is an error that lists the accepted units),
 * so that no reader guesses.  Inside the program everything is SI without
 * prefix: seconds, bytes, bytes/s, flop/s.  G is 10^9, Gi is 2^30; b or bit is
 * a bit, B a byte: `400 Gb/s` is 50 GB/s.  The space between number and unit
 * may be left out; case matters.
 *
 *     double rate;
 *     ra_quantity_parse("400 Gbit/s", RA_UNIT_BYTES_PER_S, &rate, &error);
 *     -> 5e10
 */
#ifndef RA_BASE_UNITS_H
#define RA_BASE_UNITS_H

#include <glib.h>

typedef enum {
  RA_UNIT_NONE,          /* a plain number */
  RA_UNIT_SECONDS,       /* ns us ms s min h d */
  RA_UNIT_BYTES,         /* B kB MB GB TB KiB MiB GiB TiB */
  RA_UNIT_BYTES_PER_S,   /* B/s kB/s ... TB/s, KiB/s ... TiB/s, bit/s kbit/s ...
                            Tbit/s, and b/s ... Tb/s for them */
  RA_UNIT_FLOP_PER_S,    /* FLOP/s kFLOP/s ... EFLOP/s */
  RA_UNIT_USD_PER_GPU_H, /* USD/gpu/h */
  RA_UNIT_WATT,          /* W kW MW */
  RA_UNIT_HERTZ,         /* Hz kHz MHz GHz */
  RA_N_UNITS
} RaUnit;

/**
 * ra_quantity_parse:
 * @text: number, optional space, unit; white space around it is ignored
 * @unit: the kind of quantity wanted
 * @out_value: (out): the value in SI without prefix; USD per GPU and hour for
 *   money
 * @error: %RA_ERROR_INPUT: not a number, not finite, no or a foreign unit
 *   (message lists the accepted units); no file or line in it, the caller
 *   prefixes them
 *
 * Returns: %TRUE and @out_value set, else %FALSE and @out_value untouched
 */
gboolean ra_quantity_parse(const char *text, RaUnit unit, double *out_value,
                           GError **error);

/* The units that ra_quantity_parse() takes for @unit, "us, ms, s", static. */
const char *ra_unit_accepted(RaUnit unit);

/**
 * ra_quantity_format:
 * @value: SI without prefix
 * @unit: its kind
 *
 * For people: four significant digits at most and a fitting prefix, as
 * `12.3 ms`, `80 GiB` (binary for sizes), `50 GB/s`, `989 TFLOP/s`.
 *
 * Returns: (transfer full): g_free() it
 */
char *ra_quantity_format(double value, RaUnit unit);

#endif
