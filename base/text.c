/* Nearest word and strict numbers; the files are in file.c. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

/* Distance rows are this long at most; longer words are never typing errors
 * and would make a hostile file slow. */
#define PREFIX_MIN_BYTES 4
#define NEAREST_MAX_BYTES 256

/* Optimal string alignment (Damerau-Levenshtein in which no substring is
 * edited twice) between two words of at most NEAREST_MAX_BYTES; three rows of
 * the table, O(|a| |b|). */
static gsize
distance(const char *a, gsize n_a, const char *b, gsize n_b)
{
  gsize rows[3][NEAREST_MAX_BYTES + 1];
  gsize *before = rows[0], *last = rows[1], *row = rows[2];

  for (gsize j = 0; j <= n_b; j++)
    last[j] = j;
  for (gsize i = 1; i <= n_a; i++) {
    row[0] = i;
    for (gsize j = 1; j <= n_b; j++) {
      gsize cost = a[i - 1] != b[j - 1];

      row[j] = MIN(last[j] + 1, row[j - 1] + 1);
      row[j] = MIN(row[j], last[j - 1] + cost);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = MIN(row[j], before[j - 2] + 1);
    }
    gsize *spare = before;
    before = last;
    last = row;
    row = spare;
  }
  return last[n_b];
}

const char *
ra_text_nearest(const char *word, const char *const *names)
{
  g_return_val_if_fail(word != NULL && names != NULL, NULL);

  const char *best = NULL;
  gsize best_distance = G_MAXSIZE;
  gsize n_word = strlen(word);

  if (n_word > NEAREST_MAX_BYTES)
    return NULL;
  for (guint i = 0; n_word >= PREFIX_MIN_BYTES && names[i]; i++) {
    if (strncmp(names[i], word, n_word) == 0)
      return names[i];
  }
  for (; *names; names++) {
    gsize n_name = strlen(*names);
    gsize d;

    if (n_name > NEAREST_MAX_BYTES)
      continue;
    d = distance(word, n_word, *names, n_name);
    if (d <= (MAX(n_word, n_name) + 2) / 3 && d < best_distance) {
      best = *names;
      best_distance = d;
    }
  }
  return best;
}

char *
ra_text_ranges(const guint8 *in, uint32_t n)
{
  GString *text = g_string_new(NULL);

  g_return_val_if_fail(in != NULL || n == 0, NULL);
  for (uint32_t first = 0, end; first < n; first = end + 1) {
    for (end = first; end < n && in[end]; end++)
      ;
    if (end == first)
      continue;
    g_string_append_printf(text, "%s%u", text->len ? "," : "", first);
    if (end - 1 > first)
      g_string_append_printf(text, "-%u", end - 1);
  }
  return g_string_free(text, FALSE);
}

gboolean
ra_text_uint64(const char *text, uint64_t *out_value)
{
  g_return_val_if_fail(text != NULL && out_value != NULL, FALSE);

  uint64_t value = 0;

  if (*text == '\0')
    return FALSE;
  for (; *text; text++) {
    if (!g_ascii_isdigit(*text) || __builtin_mul_overflow(value, 10, &value) ||
        __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
      return FALSE;
  }
  *out_value = value;
  return TRUE;
}

int
ra_text_head(const char *text, int max)
{
  int n;

  g_return_val_if_fail(text != NULL && max >= 0, 0);
  for (n = 0; n < max && text[n] != '\0'; n++)
    ;
  while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) /* inside one */
    n--;
  return n;
}

gboolean
ra_text_double(const char *text, double *out_value)
{
  g_return_val_if_fail(text != NULL && out_value != NULL, FALSE);

  char *end;
  double value;

  /* strtod also takes space, inf, nan and hexadecimal: all need a character
   * outside this set. */
  if (*text == '\0' || text[strspn(text, "0123456789.+-eE")] != '\0')
    return FALSE;
  value = g_ascii_strtod(text, &end);
  if (end == text || *end != '\0' || !isfinite(value))
    return FALSE;
  *out_value = value;
  return TRUE;
}
