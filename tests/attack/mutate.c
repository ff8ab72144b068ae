/* Mutations of bytes, numbers, words and lines. */
#include "config.h"

#include <string.h>

#include "tests/attack/mutate.h"

#define MAX_BYTES (1 << 22) /* of a mutated file: repeats end there */

/* A stretch of a text. */
typedef struct {
  gsize at, n;
} Span;

static gsize
below(RaRng *rng, gsize n)
{
  return n > 0 ? (gsize)ra_rng_below(rng, n) : 0;
}

static void
replace(GString *text, Span span, const char *by, gssize n)
{
  g_autofree char *copy =
      g_strndup(by, n < 0 ? strlen(by) : (gsize)n); /* may lie in @text */

  g_string_erase(text, (gssize)span.at, (gssize)span.n);
  g_string_insert_len(text, (gssize)span.at, copy, n);
}

static gboolean
is_of_number(char c)
{
  return g_ascii_isdigit(c) || c == '.' || c == '-' || c == '+' || c == 'e';
}

static gboolean
is_of_word(char c)
{
  return g_ascii_isalnum(c) || c == '-' || c == '_' || c == '.' || c == '/';
}

/* The run of @is_of at or after a random place; n 0: none. */
static Span
find_run(RaRng *rng, const GString *text, gboolean (*is_of)(char),
         gboolean (*is_begin)(char))
{
  Span span = {below(rng, text->len), 0};

  while (span.at > 0 && is_of(text->str[span.at - 1]))
    span.at--;
  while (span.at < text->len && !is_begin(text->str[span.at]))
    span.at++;
  while (span.at + span.n < text->len && is_of(text->str[span.at + span.n]))
    span.n++;
  return span;
}

static gboolean
is_digit(char c)
{
  return g_ascii_isdigit(c);
}

static gboolean
is_letter(char c)
{
  return g_ascii_isalpha(c);
}

static Span
find_line(RaRng *rng, const GString *text)
{
  Span span = {below(rng, text->len), 0};

  while (span.at > 0 && text->str[span.at - 1] != '\n')
    span.at--;
  while (span.at + span.n < text->len && text->str[span.at + span.n] != '\n')
    span.n++;
  if (span.at + span.n < text->len)
    span.n++; /* its end */
  return span;
}

/* --- mutations --- */

static void
flip_bit(RaRng *rng, GString *text, const GString *sibling)
{
  (void)sibling;
  if (text->len > 0)
    text->str[below(rng, text->len)] ^= (char)(1 << below(rng, 8));
}

static void
change_number(RaRng *rng, GString *text, const GString *sibling)
{
  static const char *const numbers[] = {
      "0",     "-1",    "1",          "2",          "nan",
      "inf",   "-inf",  "",           "0.0",        "-0",
      "1e308", "1e-30", "4294967295", "4294967296", "1e9",
      "3.5",   "7",     "999999",     "0x10",       "9223372036854775808"};
  static const char *const powers[] = {"0", "00", "000000", "0000000000000"};
  Span span = find_run(rng, text, is_of_number, is_digit);

  (void)sibling;
  if (span.n == 0)
    return;
  if (below(rng, 3) == 0)
    g_string_insert(text, (gssize)(span.at + span.n), powers[below(rng, 4)]);
  else
    replace(text, span, numbers[below(rng, G_N_ELEMENTS(numbers))], -1);
}

static void
change_word(RaRng *rng, GString *text, const GString *sibling)
{
  const GString *from = below(rng, 2) == 0 ? text : sibling;
  Span span = find_run(rng, text, is_of_word, is_letter);
  Span other = find_run(rng, from, is_of_word, is_letter);

  if (span.n > 0 && other.n > 0)
    replace(text, span, from->str + other.at, (gssize)other.n);
}

static void
change_unit(RaRng *rng, GString *text, const GString *sibling)
{
  static const char *const units[] = {
      " s",   " ms", " GB",        " GiB",   " TFLOP/s", " GB/s",
      " GHz", " %",  " USD/gpu/h", " bytes", "k",        " Gbit/s"};
  Span span = find_run(rng, text, is_of_number, is_digit);

  (void)sibling;
  g_string_insert(text, (gssize)(span.at + span.n),
                  units[below(rng, G_N_ELEMENTS(units))]);
}

static void
double_line(RaRng *rng, GString *text, const GString *sibling)
{
  Span span = find_line(rng, text);
  gsize n_times = below(rng, 20) == 0 ? 2000 : 1;
  g_autofree char *line = g_strndup(text->str + span.at, span.n);
  g_autoptr(GString) all = g_string_new(NULL);

  (void)sibling;
  for (gsize i = 0; i < n_times && all->len + text->len < MAX_BYTES; i++)
    g_string_append_len(all, line, (gssize)span.n);
  g_string_insert_len(text, (gssize)span.at, all->str, (gssize)all->len);
}

static void
delete_line(RaRng *rng, GString *text, const GString *sibling)
{
  Span span = find_line(rng, text);

  (void)sibling;
  g_string_erase(text, (gssize)span.at, (gssize)span.n);
}

/* A line of the text or of its sibling, elsewhere. */
static void
move_line(RaRng *rng, GString *text, const GString *sibling)
{
  const GString *from = below(rng, 2) == 0 ? text : sibling;
  Span to = find_line(rng, text), span = find_line(rng, from);
  g_autofree char *line = g_strndup(from->str + span.at, span.n);

  g_string_insert_len(text, (gssize)to.at, line, (gssize)span.n);
}

static void
insert(RaRng *rng, GString *text, const GString *sibling)
{
  static const char *const texts[] = {"{",
                                      "}",
                                      "[",
                                      "]",
                                      "(",
                                      ")",
                                      "\"",
                                      "'",
                                      "\\",
                                      "#",
                                      "=",
                                      ",",
                                      ":",
                                      ";",
                                      "\n",
                                      "\r\n",
                                      "\t",
                                      "\x01",
                                      "\x1b[2J",
                                      "\xef\xbb\xbf",
                                      "\xc3\xa9",
                                      "\xff",
                                      "\xf0\x9f\x98\x80",
                                      "&a *a",
                                      "<<: *a",
                                      "../../../../etc/passwd",
                                      "/dev/zero",
                                      "%s%n",
                                      "`touch pwned`",
                                      "$(touch pwned)",
                                      ";touch pwned;",
                                      "|touch pwned",
                                      "'\ntouch pwned\n#",
                                      "\"; system(\"touch pwned\"); \"",
                                      "'; system('touch pwned'); '",
                                      "\n[call x]\nseed = 1\n"};
  gsize n_times = below(rng, 30) == 0 ? 20000 : 1;
  const char *what = texts[below(rng, G_N_ELEMENTS(texts))];
  g_autoptr(GString) all = g_string_new(NULL);

  (void)sibling;
  for (gsize i = 0; i < n_times; i++)
    g_string_append(all, what);
  g_string_insert_len(text, (gssize)below(rng, text->len + 1), all->str,
                      (gssize)all->len);
}

static void
insert_nul(RaRng *rng, GString *text, const GString *sibling)
{
  (void)sibling;
  g_string_insert_c(text, (gssize)below(rng, text->len + 1), '\0');
}

/* A word becomes a command, where it may be part of a name. */
static void
poison_word(RaRng *rng, GString *text, const GString *sibling)
{
  static const char *const words[] = {"`touch$IFS''pwned`", "a;id>pwned",
                                      "$(id>pwned)", "a&id>pwned&",
                                      "`id>pwned`"};
  Span span = find_run(rng, text, is_of_word, is_letter);

  (void)sibling;
  if (span.n > 0)
    replace(text, span, words[below(rng, G_N_ELEMENTS(words))], -1);
}

static void
cut(RaRng *rng, GString *text, const GString *sibling)
{
  (void)sibling;
  g_string_truncate(text, below(rng, text->len + 1));
}

/* The begin of the text, the end of its sibling. */
static void
splice(RaRng *rng, GString *text, const GString *sibling)
{
  gsize at = below(rng, sibling->len + 1);

  g_string_truncate(text, below(rng, text->len + 1));
  g_string_append_len(text, sibling->str + at, (gssize)(sibling->len - at));
}

void
ra_mutate(RaRng *rng, GString *text, const GString *sibling)
{
  /* The more often, the more of its results are read beyond the first line. */
  static void (*const mutations[])(RaRng *, GString *, const GString *) = {
      change_number, change_number, change_number, change_number, change_word,
      change_word,   change_unit,   double_line,   delete_line,   move_line,
      move_line,     insert,        insert,        poison_word,   flip_bit,
      insert_nul,    cut,           splice};
  gsize n = 1 + below(rng, 4);

  for (gsize i = 0; i < n && text->len < MAX_BYTES; i++)
    mutations[below(rng, G_N_ELEMENTS(mutations))](rng, text, sibling);
}
