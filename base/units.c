/* One table of spellings a kind, read forwards to parse and chosen from to
 * format. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

#define KIB 1024.0
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)
#define TIB (GIB * 1024)

#define NUMBER_MAX_BYTES 64 /* of the digits of a quantity */

/* One spelling; @scale turns a number in it into SI. */
typedef struct {
  const char *name; /* as written */
  double scale;     /* SI units in one of it */
  double per;       /* 0, or: divide by this instead, where it is exact and
                       the reciprocal is not (12 us is 12 / 1e6) */
  gboolean shown;   /* ra_quantity_format() may choose it */
} Spelling;

typedef struct {
  const char *accepted;     /* for messages */
  const char *kind;         /* for messages */
  const Spelling *spelling; /* ascending scale among the shown ones */
} Kind;

static const Spelling spell_none[] = {{"", 1, 0, TRUE}, {0}};
static const Spelling spell_seconds[] = {
    {"ns", 0, 1e9, TRUE}, {"us", 0, 1e6, TRUE},  {"\xc2\xb5s", 0, 1e6, FALSE},
    {"ms", 0, 1e3, TRUE}, {"s", 1, 0, TRUE},     {"min", 60, 0, FALSE},
    {"h", 3600, 0, TRUE}, {"d", 86400, 0, TRUE}, {0}};
static const Spelling spell_bytes[] = {
    {"B", 1, 0, TRUE},      {"kB", 1e3, 0, FALSE},
    {"MB", 1e6, 0, FALSE},  {"GB", 1e9, 0, FALSE},
    {"TB", 1e12, 0, FALSE}, {"KiB", KIB, 0, TRUE},
    {"MiB", MIB, 0, TRUE},  {"GiB", GIB, 0, TRUE},
    {"TiB", TIB, 0, TRUE},  {0}};
static const Spelling spell_bytes_per_s[] = {
    {"B/s", 1, 0, TRUE},         {"kB/s", 1e3, 0, TRUE},
    {"MB/s", 1e6, 0, TRUE},      {"GB/s", 1e9, 0, TRUE},
    {"TB/s", 1e12, 0, TRUE},     {"KiB/s", KIB, 0, FALSE},
    {"MiB/s", MIB, 0, FALSE},    {"GiB/s", GIB, 0, FALSE},
    {"TiB/s", TIB, 0, FALSE},    {"bit/s", 1. / 8, 0, FALSE},
    {"kbit/s", 125, 0, FALSE},   {"Mbit/s", 125e3, 0, FALSE},
    {"Gbit/s", 125e6, 0, FALSE}, {"Tbit/s", 125e9, 0, FALSE},
    {"b/s", 1. / 8, 0, FALSE},   {"kb/s", 125, 0, FALSE},
    {"Mb/s", 125e3, 0, FALSE},   {"Gb/s", 125e6, 0, FALSE},
    {"Tb/s", 125e9, 0, FALSE},   {0}};
static const Spelling spell_flop_per_s[] = {
    {"FLOP/s", 1, 0, TRUE},     {"kFLOP/s", 1e3, 0, TRUE},
    {"MFLOP/s", 1e6, 0, TRUE},  {"GFLOP/s", 1e9, 0, TRUE},
    {"TFLOP/s", 1e12, 0, TRUE}, {"PFLOP/s", 1e15, 0, TRUE},
    {"EFLOP/s", 1e18, 0, TRUE}, {0}};
static const Spelling spell_usd[] = {{"USD/gpu/h", 1, 0, TRUE}, {0}};
static const Spelling spell_watt[] = {
    {"W", 1, 0, TRUE}, {"kW", 1e3, 0, TRUE}, {"MW", 1e6, 0, TRUE}, {0}};
static const Spelling spell_hertz[] = {{"Hz", 1, 0, TRUE},
                                       {"kHz", 1e3, 0, TRUE},
                                       {"MHz", 1e6, 0, TRUE},
                                       {"GHz", 1e9, 0, TRUE},
                                       {0}};

static const Kind kinds[RA_N_UNITS] = {
    [RA_UNIT_NONE] = {"none", "plain number", spell_none},
    [RA_UNIT_SECONDS] = {"ns, us, ms, s, min, h, d", "time", spell_seconds},
    [RA_UNIT_BYTES] = {"B, kB, MB, GB, TB, KiB, MiB, GiB, TiB", "size",
                       spell_bytes},
    [RA_UNIT_BYTES_PER_S] =
        {"B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s, bit/s, "
         "kbit/s, Mbit/s, Gbit/s, Tbit/s",
         "rate", spell_bytes_per_s},
    [RA_UNIT_FLOP_PER_S] = {"FLOP/s, kFLOP/s, MFLOP/s, GFLOP/s, TFLOP/s, "
                            "PFLOP/s, EFLOP/s",
                            "compute rate", spell_flop_per_s},
    [RA_UNIT_USD_PER_GPU_H] = {"USD/gpu/h", "price", spell_usd},
    [RA_UNIT_WATT] = {"W, kW, MW", "power", spell_watt},
    [RA_UNIT_HERTZ] = {"Hz, kHz, MHz, GHz", "frequency", spell_hertz},
};

const char *
ra_unit_accepted(RaUnit unit)
{
  g_return_val_if_fail((guint)unit < RA_N_UNITS, NULL);

  return kinds[unit].accepted;
}

static const Spelling *
find_spelling(const Kind *kind, const char *name)
{
  for (const Spelling *s = kind->spelling; s->name; s++) {
    if (strcmp(s->name, name) == 0)
      return s;
  }
  return NULL;
}

/* TRUE if the first @n bytes of @name are those of @unit in another case, but
 * for the b of bits a second. */
static gboolean
is_like(const char *name, gsize n, const char *unit, gsize n_unit)
{
  return n == n_unit && n > 0 && g_ascii_strncasecmp(name, unit, n) == 0 &&
         (unit[n] == '\0' || g_ascii_tolower(name[n - 1]) != 'b' ||
          name[n - 1] == unit[n - 1]);
}

/* TRUE if @name is how others write @unit: `per second` as /s, ps, s or not at
 * all. */
static gboolean
means(const char *name, const char *unit)
{
  static const char *const endings[] = {"/s", "ps", "s", ""};
  gsize n = strlen(name), n_unit = strlen(unit);

  if (!g_str_has_suffix(unit, "/s"))
    return is_like(name, n, unit, n_unit);
  for (guint i = 0; i < G_N_ELEMENTS(endings); i++) {
    if (g_str_has_suffix(name, endings[i]) &&
        is_like(name, n - strlen(endings[i]), unit, n_unit - 2))
      return TRUE;
  }
  return FALSE;
}

static gboolean
fail_unit(const Kind *kind, const char *text, const char *name, GError **error)
{
  const Spelling *meant = kind->spelling;

  while (meant->name && !means(name, meant->name))
    meant++;
  if (kind->spelling == spell_none)
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "'%s' has the unit '%s', expected a plain number", text, name);
  else if (*name == '\0')
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "'%s' has no unit, expected a %s in one of %s", text,
                kind->kind, kind->accepted);
  else
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "'%s' has the unit '%s', %s%s%sexpected a %s in one of %s",
                text, name, meant->name ? "did you mean '" : "",
                meant->name ? meant->name : "", meant->name ? "'? " : "",
                kind->kind, kind->accepted);
  return FALSE;
}

/* The number before the unit; the exponent belongs to it only where digits
 * follow, as strtod has it. */
static gboolean
take_number(const char *text, double *out_value, const char **out_rest)
{
  char digits[NUMBER_MAX_BYTES];
  char *end;
  gsize n;

  g_ascii_strtod(text, &end);
  n = (gsize)(end - text);
  if (n == 0 || n >= sizeof digits)
    return FALSE;
  memcpy(digits, text, n);
  digits[n] = '\0';
  *out_rest = end;
  return ra_text_double(digits, out_value);
}

gboolean
ra_quantity_parse(const char *text, RaUnit unit, double *out_value,
                  GError **error)
{
  g_return_val_if_fail(text != NULL && out_value != NULL, FALSE);
  g_return_val_if_fail((guint)unit < RA_N_UNITS, FALSE);

  const Kind *kind = &kinds[unit];
  g_autofree char *stripped = g_strstrip(g_strdup(text));
  const Spelling *spelling;
  const char *rest;
  double value;

  if (!take_number(stripped, &value, &rest)) {
    if (kind->spelling == spell_none)
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "'%s' is not a finite number", stripped);
    else
      g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                  "'%s' is not a finite number and a unit, expected a %s in "
                  "one of %s",
                  stripped, kind->kind, kind->accepted);
    return FALSE;
  }
  rest += strspn(rest, " \t");
  spelling = find_spelling(kind, rest);
  if (spelling == NULL)
    return fail_unit(kind, stripped, rest, error);
  value = spelling->per > 0 ? value / spelling->per : value * spelling->scale;
  if (!isfinite(value)) {
    g_set_error(error, RA_ERROR, RA_ERROR_INPUT,
                "'%s' is too large, expected a finite %s", stripped,
                kind->kind);
    return FALSE;
  }
  *out_value = value;
  return TRUE;
}

static double
scale_of(const Spelling *s)
{
  return s->per > 0 ? 1 / s->per : s->scale;
}

/* The largest shown unit of which @magnitude, as it will be rounded, is one
 * or more; the smallest where there is none; seconds for nothing at all. */
static const Spelling *
fitting(const Kind *kind, double magnitude)
{
  const Spelling *best = NULL;

  for (const Spelling *s = kind->spelling; s->name; s++) {
    if (!s->shown)
      continue;
    if (best == NULL || magnitude / scale_of(s) >= 0.99995 ||
        (magnitude == 0 && scale_of(s) <= 1))
      best = s;
  }
  return best;
}

/* Four significant digits at most, no exponent where the number is a short
 * one, and no trailing zeros: 12.3, 0.001234, 1024, 123456. */
static char *
four_digits(double value)
{
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  double magnitude = fabs(value);

  if (magnitude >= 999.95 && magnitude < 1e6)
    g_ascii_formatd(text, sizeof text, "%.0f", value);
  else
    g_ascii_formatd(text, sizeof text, "%.4g", value);
  return g_strdup(text);
}

char *
ra_quantity_format(double value, RaUnit unit)
{
  g_return_val_if_fail((guint)unit < RA_N_UNITS, NULL);

  const Kind *kind = &kinds[unit];
  const Spelling *s = fitting(kind, isfinite(value) ? fabs(value) : 0);
  g_autofree char *number =
      four_digits(s->per > 0 ? value * s->per : value / s->scale);

  if (*s->name == '\0')
    return g_steal_pointer(&number);
  return g_strconcat(number, " ", s->name, NULL);
}
