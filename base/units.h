/* Quantities with units, read from text and written for people.
 *
 * A quantity in a file is a number and a unit: `400 Gbit/s`, `80 GiB`,
 * `2.5 USD/gpu/h`, `12 us`.  The unit is required if the kind has one, so that
 * no reader has to guess: a bare `400` for a bandwidth is an error that lists
 * the accepted units.  Inside the program everything is SI without prefix:
 * seconds, bytes, bytes/s, flop/s.  G is 10^9, Gi is 2^30; b or bit is a bit,
 * B a byte: `400 Gb/s` is 50 GB/s.  The space between number and unit is
 * optional; case matters.
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
                            Tbit/s, also written b/s ... Tb/s */
  RA_UNIT_FLOP_PER_S,    /* FLOP/s kFLOP/s ... EFLOP/s */
  RA_UNIT_USD_PER_GPU_H, /* USD/gpu/h */
  RA_UNIT_WATT,          /* W kW MW */
  RA_UNIT_HERTZ,         /* Hz kHz MHz GHz */
  RA_N_UNITS
} RaUnit;

/**
 * ra_quantity_parse:
 * @text: number, optional space, unit; white space around it is ignored
 * @unit: the expected kind of quantity
 * @out_value: (out): the value in SI without prefix; USD per GPU and hour for
 *   money
 * @error: %RA_ERROR_INPUT: not a number, not finite, no unit or a wrong one
 *   (the message lists the accepted units); the caller prefixes file and line
 *
 * Returns: %TRUE and @out_value set, else %FALSE and @out_value untouched
 */
gboolean ra_quantity_parse(const char *text, RaUnit unit, double *out_value,
                           GError **error);

/* The units that ra_quantity_parse() accepts for @unit, "us, ms, s"; static. */
const char *ra_unit_accepted(RaUnit unit);

/**
 * ra_quantity_format:
 * @value: SI without prefix
 * @unit: kind of @value
 *
 * Formats @value for people, with at most four significant digits and a
 * suitable prefix: `12.3 ms`, `80 GiB` (binary for sizes), `50 GB/s`,
 * `989 TFLOP/s`.
 *
 * Returns: (transfer full): g_free() it
 */
char *ra_quantity_format(double value, RaUnit unit);

#endif
