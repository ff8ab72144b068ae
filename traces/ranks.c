/* Sets of GPU numbers as text, "0-7,16-23". */
#include "config.h"

#include "base/error.h"
#include "traces/trace.h"

#define SHOWN_BYTES 60 /* of a faulty text in a message */
#define SYNTAX "expected numbers below 1048576 as '0-7,16-23'"

/* Reads digits at *@p into @out_value and moves past them; %FALSE where there
 * are none or the number is RA_RANKS_MAX or more. */
static gboolean
read_number(const char **p, uint32_t *out_value)
{
  uint64_t value = 0;
  const char *digit = *p;

  for (; g_ascii_isdigit(*digit); digit++) {
    value = 10 * value + (uint64_t)(*digit - '0');
    if (value >= RA_RANKS_MAX)
      return FALSE;
  }
  if (digit == *p)
    return FALSE;
  *p = digit;
  *out_value = (uint32_t)value;
  return TRUE;
}

/* Why @text is no set of ranks, or %NULL where it is one. */
static const char *
read_ranges(const char *text, GArray *out_ranges)
{
  const char *p = text;
  gboolean first = TRUE;
  uint32_t range[2] = {0, 0};

  for (;;) {
    uint32_t last = range[1];

    if (!read_number(&p, &range[0]))
      return SYNTAX;
    range[1] = range[0];
    if (*p == '-') {
      p++;
      if (!read_number(&p, &range[1]))
        return SYNTAX;
    }
    if (range[1] < range[0])
      return "a range ends before it begins";
    if (!first && range[0] <= last)
      return "expected ascending, disjoint ranges";
    first = FALSE;
    g_array_append_vals(out_ranges, range, 2);
    if (*p == '\0')
      return NULL;
    if (*p != ',')
      return SYNTAX;
    p++;
  }
}

gboolean
ra_ranks_parse(const char *text, GArray *out_ranges, GError **error)
{
  g_return_val_if_fail(text != NULL && out_ranges != NULL, FALSE);

  g_autofree char *start = NULL, *shown = NULL;
  guint n_before = out_ranges->len;
  const char *wrong = read_ranges(text, out_ranges);

  if (wrong == NULL)
    return TRUE;
  g_array_set_size(out_ranges, n_before);
  start = g_strndup(text, SHOWN_BYTES);
  shown = g_strescape(start, NULL);
  g_set_error(error, RA_ERROR, RA_ERROR_INPUT, "bad ranks '%s', %s", shown,
              wrong);
  return FALSE;
}

void
ra_ranks_format(const uint32_t *ranges, gsize n, GString *out)
{
  g_return_if_fail((ranges != NULL || n == 0) && n % 2 == 0);
  g_return_if_fail(out != NULL);

  gsize start = out->len;

  for (gsize i = 0; i < n; i += 2) {
    uint32_t first = ranges[i], last = ranges[i + 1];

    for (; i + 2 < n && ranges[i + 2] == last + 1; i += 2)
      last = ranges[i + 3];
    if (out->len > start)
      g_string_append_c(out, ',');
    g_string_append_printf(out, "%" G_GUINT32_FORMAT, first);
    if (last > first)
      g_string_append_printf(out, "-%" G_GUINT32_FORMAT, last);
  }
}
