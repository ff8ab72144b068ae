/* Unified differences: applied by an applier of this file, they give the other
 * text, with the fewest lines changed. */
#include "config.h"

#include <string.h>

#include "base/line_diff.h"
#include "base/rng.h"
#include "tests/support/check_main.h"

/* `12,3`, or `12`, which has one line. */
static void
read_range(const char *text, guint *out_from, guint *out_n)
{
  char *end;

  *out_from = (guint)g_ascii_strtoull(text, &end, 10);
  *out_n = *end == ',' ? (guint)g_ascii_strtoull(end + 1, NULL, 10) : 1;
}

/* @diff applied to @a, every context and every range checked; @out_removed:
 * lines that it deletes. */
static char *
apply(const char *a, const char *diff, guint *out_removed)
{
  g_auto(GStrv) lines = g_strsplit(diff, "\n", -1);
  GString *out = g_string_new(NULL);
  const char *at = a;
  guint line = 1, line_b = 1;

  *out_removed = 0;
  for (guint i = 2; lines[0] && lines[1] && lines[i] && *lines[i];) {
    guint from, n, from_b, n_b;
    const char *plus = strchr(lines[i], '+');

    ck_assert(plus != NULL && g_str_has_prefix(lines[i], "@@ -"));
    read_range(lines[i] + 4, &from, &n);
    read_range(plus + 1, &from_b, &n_b);
    i++;
    for (; line < from + (n == 0); line++, line_b++) {
      const char *end = strchr(at, '\n') + 1;

      g_string_append_len(out, at, end - at);
      at = end;
    }
    ck_assert_uint_eq(line_b, from_b + (n_b == 0));
    while (n > 0 || n_b > 0) {
      gboolean is_open = lines[i + 1] && lines[i + 1][0] == '\\';
      g_autofree char *text =
          g_strconcat(lines[i] + 1, is_open ? "" : "\n", NULL);

      if (lines[i][0] != '+') {
        ck_assert(g_str_has_prefix(at, text));
        at += strlen(text);
        line++;
        n--;
      }
      if (lines[i][0] != '-') {
        g_string_append(out, text);
        line_b++;
        n_b--;
      }
      *out_removed += lines[i][0] == '-';
      i += 1 + (guint)is_open;
    }
  }
  g_string_append(out, at);
  return g_string_free(out, FALSE);
}

/* The most lines that a subsequence of both has, by trying all. */
static guint
most_common(char **a, char **b)
{
  guint without_a, without_b;

  if (!*a || !*b)
    return 0;
  if (g_str_equal(*a, *b))
    return 1 + most_common(a + 1, b + 1);
  without_a = most_common(a + 1, b);
  without_b = most_common(a, b + 1);
  return MAX(without_a, without_b);
}

/* Up to @most lines of three words; the last may have no line feed. */
static char *
random_text(RaRng *rng, guint most)
{
  GString *out = g_string_new(NULL);
  guint n = (guint)ra_rng_below(rng, most + 1);

  for (guint i = 0; i < n; i++)
    g_string_append_printf(out, "%c\n", 'a' + (char)ra_rng_below(rng, 3));
  if (n > 0 && ra_rng_below(rng, 4) == 0)
    g_string_truncate(out, out->len - 1);
  return g_string_free(out, FALSE);
}

/* (transfer full): lines with their line feeds. */
static char **
lines_of(const char *text)
{
  GPtrArray *lines = g_ptr_array_new();

  while (*text) {
    gsize n = strcspn(text, "\n");

    n += text[n] == '\n';
    g_ptr_array_add(lines, g_strndup(text, n));
    text += n;
  }
  g_ptr_array_add(lines, NULL);
  return (char **)g_ptr_array_free(lines, FALSE);
}

START_TEST(test_random)
{
  RaRng rng = ra_rng_init(7, 0);

  for (int i = 0; i < 2000; i++) {
    g_autofree char *a = random_text(&rng, 7), *b = random_text(&rng, 7);
    g_autofree char *diff = ra_line_diff("a", "b", a, b);
    g_auto(GStrv) lines_a = lines_of(a), lines_b = lines_of(b);
    guint n_removed;
    g_autofree char *got = apply(a, diff, &n_removed);

    ck_assert_str_eq(got, b);
    ck_assert_uint_eq(n_removed,
                      g_strv_length(lines_a) - most_common(lines_a, lines_b));
    ck_assert_int_eq(*diff == '\0', g_str_equal(a, b));
  }
}
END_TEST

/* Two changes are one hunk with six lines between them, two with seven; worked
 * out by hand after diff's own rule, three lines around each. */
START_TEST(test_hunks)
{
  g_autofree char *one = ra_line_diff("x", "y", "p\n1\n2\n3\n4\n5\n6\nq\n",
                                      "P\n1\n2\n3\n4\n5\n6\nQ\n");
  g_autofree char *two = ra_line_diff("x", "y", "p\n1\n2\n3\n4\n5\n6\n7\nq\n",
                                      "P\n1\n2\n3\n4\n5\n6\n7\nQ\n");

  ck_assert_str_eq(one, "--- x\n+++ y\n@@ -1,8 +1,8 @@\n-p\n+P\n 1\n 2\n 3\n "
                        "4\n 5\n 6\n-q\n+Q\n");
  ck_assert_str_eq(two, "--- x\n+++ y\n@@ -1,4 +1,4 @@\n-p\n+P\n 1\n 2\n 3\n"
                        "@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-q\n+Q\n");
}
END_TEST

/* Above the limit of pairs: all between the ends is replaced. */
START_TEST(test_large)
{
  g_autoptr(GString) a = g_string_new("head\n"), b = g_string_new("head\n");
  guint n_removed;
  g_autofree char *diff = NULL, *got = NULL;

  for (int i = 0; i < 2500; i++) {
    g_string_append_printf(a, "a%d\n", i);
    g_string_append_printf(b, "b%d\n", i);
  }
  diff = ra_line_diff("a", "b", a->str, b->str);
  got = apply(a->str, diff, &n_removed);
  ck_assert_str_eq(got, b->str);
  ck_assert_uint_eq(n_removed, 2500);
}
END_TEST

static Suite *
line_diff_suite(void)
{
  Suite *suite = suite_create("line_diff");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_random);
  tcase_add_test(tcase, test_hunks);
  tcase_add_test(tcase, test_large);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(line_diff_suite)
