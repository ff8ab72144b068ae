/* Text as a word of other languages, each read back by that language. */
#include "config.h"

#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/keyfile.h"
#include "base/quote.h"
#include "study/convert/setting.h"
#include "study/plot/gnuplot.h"
#include "tests/support/check_main.h"

/* Texts that would end a string, a comment or a line in some language. */
static const char *const nasty[] = {
    "it's",
    "a\"b",
    "`touch pwned`",
    "$(touch pwned)",
    "a;b",
    "a | b",
    "a # b",
    "a\nset title 1",
    "a\\",
    "a\\\"b",
    "\t\r\x1b[1m",
    "a: [b, {c",
    "yes",
    "12",
    "a\xc2\x85z",     /* next line */
    "a\xe2\x80\xa8z", /* line separator */
    "@A ${HOME} %s",
    "- a",
    "~",
    "",
};

/* By sh itself, which prints its argument between brackets. */
START_TEST(test_shell)
{
  g_autofree char *word = ra_quote_shell(nasty[_i]);
  g_autofree char *line = g_strdup_printf("printf '[%%s]' %s", word);
  const char *argv[] = {"sh", "-c", line, NULL};
  g_autofree char *out = NULL;
  g_autofree char *want = g_strdup_printf("[%s]", nasty[_i]);

  ck_assert(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, NULL,
                         NULL, &out, NULL, NULL, NULL));
  ck_assert_str_eq(out, want);
}
END_TEST

/* By the reader of configurations, to which the last two are no values: the
 * value is the text, and there is no second one. */
START_TEST(test_yaml)
{
  g_autofree char *word = ra_quote_yaml(nasty[_i]);
  g_autoptr(GString) text = g_string_new(NULL);
  g_autoptr(RaSettings) settings = NULL;
  GError *error = NULL;

  ra_quote_comment(text, "of %s", nasty[_i]);
  g_string_append_printf(text, "a:\n  b: %s\n", word);
  settings = ra_settings_parse("y", text->str, text->len, TRUE, &error);
  ck_assert_msg(settings != NULL, "%s", error ? error->message : "");
  ck_assert_uint_eq(ra_settings_n(settings), 1);
  ck_assert_str_eq(ra_settings_get(settings, "a.b"), nasty[_i]);
}
END_TEST

/* A comment is one line of what can be seen, and the key below it is read. */
START_TEST(test_key_file)
{
  g_autoptr(GString) text = g_string_new(NULL);
  g_autoptr(RaKeyFile) file = NULL;
  GError *error = NULL;
  gboolean can = ra_quote_key(text, "k", nasty[_i], &error);

  g_string_prepend(text, "[g]\n");
  ra_quote_comment(text, "%s", nasty[_i]);
  file = ra_key_file_parse("f", text->str, text->len, NULL);
  ck_assert(file != NULL);
  ck_assert_uint_eq(ra_key_file_n_groups(file), 1);
  ck_assert(ra_key_file_key(file, 0, can ? 1 : 0) == NULL);
  if (!can) { /* a double quote or a control character is in it */
    ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_INPUT));
    ck_assert(strpbrk(nasty[_i], "\"\n\t\r\x1b") != NULL);
    g_error_free(error);
  }
}
END_TEST

START_TEST(test_plain)
{
  static const char *const same[] = {"meta-llama/Meta-Llama-3-8B",
                                     "/models/a_b.json", "grpo"};

  for (guint i = 0; i < G_N_ELEMENTS(same); i++) {
    g_autofree char *shell = ra_quote_shell(same[i]);
    g_autofree char *yaml = ra_quote_yaml(same[i]);

    ck_assert_str_eq(shell, same[i]);
    ck_assert_str_eq(yaml, same[i]);
  }
}
END_TEST

/* The title is drawn and nothing is run: gnuplot would make the file `pwned`,
 * or fail at the second line of a text. */
START_TEST(test_gnuplot)
{
  g_autofree char *program = ra_gnuplot_find();
  g_autofree char *folder = g_dir_make_tmp("ra-quote-XXXXXX", NULL);
  g_autoptr(GString) script = g_string_new("set terminal svg\nset title ");
  g_autoptr(GString) data = g_string_new(NULL);
  g_autoptr(GBytes) picture = NULL;
  GError *error = NULL;

  if (!program)
    return;
  ck_assert_int_eq(g_chdir(folder), 0);
  ra_quote_gnuplot(script, "%s", nasty[_i]);
  g_string_append(script, " noenhanced\n");
  ra_quote_column(data, nasty[_i]);
  g_string_append(data, "\t1\nEOD\nprint system('touch pwned')\nEOD_\n");
  ra_quote_block(script, "d", data->str);
  g_string_append(script, "plot 0 title ");
  ra_quote_gnuplot(script, "%s", nasty[_i]);
  g_string_append(script, " noenhanced\n");
  ck_assert_msg(ra_gnuplot_run(program, script->str, RA_GNUPLOT_LIMIT_S,
                               &picture, &error),
                "%s", error ? error->message : "");
  ck_assert(!g_file_test("pwned", G_FILE_TEST_EXISTS));
  ck_assert_int_eq(g_rmdir(folder), 0);
}
END_TEST

/* The first words of the block: EOD and EOD_ begin lines of the data. */
START_TEST(test_block)
{
  g_autoptr(GString) out = g_string_new(NULL);

  ra_quote_block(out, "d", "EOD\n1\nEOD_2\n");
  ck_assert_str_eq(out->str, "$d << EOD__\nEOD\n1\nEOD_2\nEOD__\n");
}
END_TEST

/* Writes an executable script @text; the caller is in a folder of its own. */
static void
write_program(const char *text)
{
  ck_assert(g_file_set_contents("gnuplot", text, -1, NULL));
  ck_assert_int_eq(g_chmod("gnuplot", 0755), 0);
}

/* A program that sleeps for a minute is ended after a tenth of a second; one
 * that fails or is killed without a word has its sentence; one that shows its
 * variables has none of gnuplot's. */
START_TEST(test_run)
{
  g_autofree char *folder = g_dir_make_tmp("ra-quote-XXXXXX", NULL);
  g_autoptr(GBytes) out = NULL;
  GError *error = NULL;
  gint64 begin_us = g_get_monotonic_time();

  ck_assert_int_eq(g_chdir(folder), 0);
  write_program("#!/bin/sh\nexec sleep 60\n");
  ck_assert(!ra_gnuplot_run("./gnuplot", "", 0.1, &out, &error));
  ck_assert(g_error_matches(error, RA_ERROR, RA_ERROR_IO));
  ck_assert_str_eq(error->message,
                   "gnuplot: no picture after 0.1 s, it was ended");
  ck_assert(g_get_monotonic_time() - begin_us < 30 * G_USEC_PER_SEC);
  g_clear_error(&error);
  write_program("#!/bin/sh\nexit 1\n");
  ck_assert(!ra_gnuplot_run("./gnuplot", "", 30, &out, &error));
  ck_assert_str_eq(error->message, "gnuplot failed: no reason given");
  g_clear_error(&error);
  write_program("#!/bin/sh\nkill -9 $$\n");
  ck_assert(!ra_gnuplot_run("./gnuplot", "", 30, &out, &error));
  ck_assert_str_eq(error->message, "gnuplot failed: it was killed by signal 9");
  g_error_free(error);
  g_setenv("GNUTERM", "x11", TRUE);
  g_setenv("GNUPLOT_LIB", "/nowhere", TRUE);
  write_program("#!/bin/sh\nenv | grep -c -e ^GNU -e ^FIT_\necho \"$*\"\n");
  ck_assert(ra_gnuplot_run("./gnuplot", "", 30, &out, NULL));
  ck_assert_uint_eq(g_bytes_get_size(out), strlen("0\n-d -\n"));
  ck_assert_mem_eq(g_bytes_get_data(out, NULL), "0\n-d -\n",
                   strlen("0\n-d -\n"));
  g_unlink("gnuplot");
  g_rmdir(folder);
}
END_TEST

static Suite *
quote_suite(void)
{
  Suite *suite = suite_create("quote");
  TCase *words = tcase_create("words");
  TCase *run = tcase_create("run");
  int n = G_N_ELEMENTS(nasty);

  tcase_add_loop_test(words, test_shell, 0, n);
  tcase_add_loop_test(words, test_yaml, 0, n - 2);
  tcase_add_loop_test(words, test_key_file, 0, n);
  tcase_add_loop_test(words, test_gnuplot, 0, n);
  tcase_add_test(words, test_plain);
  tcase_add_test(words, test_block);
  suite_add_tcase(suite, words);
  tcase_add_test(run, test_run);
  suite_add_tcase(suite, run);
  return suite;
}

RA_CHECK_MAIN(quote_suite)
