#include "config.h"

#include <glib.h>
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#include "base/table.h"
#include "tests/support/check_main.h"

static RaTable *
make_table(void)
{
  RaTable *t = ra_table_new("calls");

  ra_table_column(t, "call", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(t, "time_s", RA_UNIT_SECONDS, RA_CELL_REAL);
  ra_table_column(t, "peak_memory_bytes", RA_UNIT_BYTES, RA_CELL_INTEGER);
  ra_table_column(t, "parameters", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(t, "idle_frac", RA_UNIT_NONE, RA_CELL_FRAC);
  ra_table_column(t, "mesh", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_row(t);
  ra_table_text(t, "actor_train");
  ra_table_real(t, 0.0123);
  ra_table_integer(t, UINT64_C(80) << 30);
  ra_table_integer(t, UINT64_C(6738415616));
  ra_table_real(t, 0.125);
  ra_table_text(t, "node[0-15]");
  ra_table_row(t);
  ra_table_text(t, "r\xc3\xa9w\xe4\xb8\xad"); /* 3 + 2 columns wide */
  ra_table_real(t, 2);
  ra_table_missing(t);
  ra_table_integer(t, 999);
  ra_table_real(t, (double)NAN);
  ra_table_missing(t);
  return t;
}

static char *
written(const RaTable *table, RaFormat format)
{
  GString *out = g_string_new("<");

  ra_table_write(table, format, out);
  return g_string_free(out, FALSE);
}

/* Widths: 11 for actor_train; 4 + 1 + 2 for `12.3 ms`; 11 for the head `peak
 * memory`; 13 for the number; 4 + 1 + 1 for `12.5 %`; 10 for the mesh.  The
 * wide character takes two columns, so its row has one character less; a
 * missing number stands where numbers do, left of the units. */
START_TEST(test_text)
{
  g_autoptr(RaTable) table = make_table();
  g_autofree char *text = written(table, RA_FORMAT_TEXT);

  ck_assert_str_eq(
      text,
      "<calls\n"
      "call            time  peak memory     parameters    idle  mesh\n"
      "-----------  -------  -----------  -------------  ------  ----------\n"
      "actor_train  12.3 ms       80 GiB  6,738,415,616  12.5 %  node[0-15]\n"
      "r\xc3\xa9w\xe4\xb8\xad"
      "           2 s         -                999     -    -\n");
  ck_assert_uint_eq(ra_table_n_rows(table), 2);
}
END_TEST

/* 80 GiB = 85899345920 bytes. */
/* Columns "a", a gap of 2, and a text of n: n + 3 columns, and the most that a
 * lone row may take lying is 100, so 97 lie and 98 stand; a second row makes
 * 98 lie. */
START_TEST(test_upright)
{
  for (guint i = 0; i < 3; i++) {
    g_autoptr(RaTable) table = ra_table_new("t");
    g_autofree char *wide = g_strnfill(i == 0 ? 97 : 98, 'x');
    g_autofree char *rule = g_strnfill(strlen(wide), '-');
    g_autofree char *lying = g_strdup_printf(
        "<t\na  long\n-  %s\n2  %s\n%s", rule, wide, i == 2 ? "-  -\n" : "");
    g_autofree char *upright = g_strdup_printf("<t\na     2\nlong  %s\n", wide);
    g_autofree char *text = NULL;

    ra_table_column(table, "a", RA_UNIT_NONE, RA_CELL_INTEGER);
    ra_table_column(table, "long", RA_UNIT_NONE, RA_CELL_TEXT);
    ra_table_row(table);
    ra_table_integer(table, 2);
    ra_table_text(table, wide);
    if (i == 2) {
      ra_table_row(table);
      ra_table_missing(table);
      ra_table_missing(table);
    }
    text = written(table, RA_FORMAT_TEXT);
    ck_assert_str_eq(text, i == 1 ? upright : lying);
  }
}
END_TEST

START_TEST(test_tsv)
{
  g_autoptr(RaTable) table = make_table();
  g_autofree char *text = written(table, RA_FORMAT_TSV);

  ck_assert_str_eq(
      text, "<# calls\n"
            "call\ttime_s\tpeak_memory_bytes\tparameters\tidle_frac\tmesh\n"
            "actor_train\t0.0123\t85899345920\t6738415616\t0.125\tnode[0-15]\n"
            "r\xc3\xa9w\xe4\xb8\xad\t2\t-\t999\t-\t-\n");
}
END_TEST

START_TEST(test_json)
{
  g_autoptr(RaTable) table = make_table();
  g_autofree char *text = written(table, RA_FORMAT_JSON);

  ck_assert_str_eq(
      text, "<[\n"
            "  {\"call\": \"actor_train\", \"time_s\": 0.0123, "
            "\"peak_memory_bytes\": 85899345920, \"parameters\": 6738415616, "
            "\"idle_frac\": 0.125, \"mesh\": \"node[0-15]\"},\n"
            "  {\"call\": \"r\xc3\xa9w\xe4\xb8\xad\", \"time_s\": 2, "
            "\"peak_memory_bytes\": null, \"parameters\": 999, "
            "\"idle_frac\": null, \"mesh\": null}\n"
            "]");
}
END_TEST

static JsonNode *
parse_json(const char *text)
{
  JsonNode *root = json_from_string(text, NULL);

  return root;
}

/* json-glib reads back whatever text a cell had; the same text without
 * escapes, the deliberate fault, it refuses. */
START_TEST(test_json_escapes)
{
  static const char nasty[] = "a\"b\\c\td\ne\x01\x7f/\xe2\x82\xac";
  g_autoptr(RaTable) table = ra_table_new("t");
  g_autofree char *text = NULL;
  g_autofree char *bare = g_strdup_printf("[{\"x\": \"%s\"}]", nasty);
  g_autoptr(JsonNode) root = NULL;

  ra_table_column(table, "x", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_row(table);
  ra_table_text(table, nasty);
  text = written(table, RA_FORMAT_JSON);
  root = parse_json(text + 1);
  ck_assert_ptr_nonnull(root);
  ck_assert_str_eq(
      json_object_get_string_member(
          json_array_get_object_element(json_node_get_array(root), 0), "x"),
      nasty);
  ck_assert_ptr_null(parse_json(bare));
}
END_TEST

/* In lines of columns a control character is a space, and bytes that are no
 * UTF-8 are replaced (U+FFFD). */
START_TEST(test_flat)
{
  g_autoptr(RaTable) table = ra_table_new("a\nb");
  g_autofree char *text = NULL;
  g_autofree char *tsv = NULL;

  ra_table_column(table, "x", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_row(table);
  ra_table_text(table, "c\td\n\xff");
  text = written(table, RA_FORMAT_TEXT);
  tsv = written(table, RA_FORMAT_TSV);
  ck_assert_str_eq(text, "<a b\nx\n-----\nc d \xef\xbf\xbd\n");
  ck_assert_str_eq(tsv, "<# a b\nx\nc d \xef\xbf\xbd\n");
}
END_TEST

START_TEST(test_empty)
{
  g_autoptr(RaTable) table = ra_table_new("t");
  g_autofree char *text = NULL;
  g_autofree char *json = NULL;

  ra_table_column(table, "rate_bytes_per_s", RA_UNIT_BYTES_PER_S, RA_CELL_REAL);
  text = written(table, RA_FORMAT_TEXT);
  json = written(table, RA_FORMAT_JSON);
  ck_assert_str_eq(text, "<t\nrate\n----\n");
  ck_assert_str_eq(json, "<[]");
}
END_TEST

/* 0, 7, 1,000 and the largest: commas before every third digit from the
 * right. */
START_TEST(test_thousands)
{
  g_autoptr(RaTable) table = ra_table_new("t");
  g_autofree char *text = NULL;
  const uint64_t values[] = {0, 7, 1000, 123456, UINT64_MAX};

  ra_table_column(table, "n", RA_UNIT_NONE, RA_CELL_INTEGER);
  for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
    ra_table_row(table);
    ra_table_integer(table, values[i]);
  }
  text = written(table, RA_FORMAT_TEXT);
  ck_assert_str_eq(text, "<t\n"
                         "                         n\n"
                         "--------------------------\n"
                         "                         0\n"
                         "                         7\n"
                         "                     1,000\n"
                         "                   123,456\n"
                         "18,446,744,073,709,551,615\n");
}
END_TEST

/* Key of 1, gap 2, number of 1 (head "n"), gap 2: 6 columns before the text, so
 * that 94 are left of 100 to its 24 words "word word ..." of 119 columns: 19
 * words are 94, and 5 go on below, 6 columns in. */
START_TEST(test_break)
{
  g_autoptr(RaTable) table = ra_table_new("t");
  g_autoptr(GString) words = g_string_new("word");
  g_autofree char *first = NULL, *text = NULL, *said = NULL;
  g_autofree char *rule = g_strnfill(94, '-');

  for (guint i = 1; i < 24; i++)
    g_string_append(words, " word");
  first = g_strndup(words->str, 94);
  ra_table_column(table, "k", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "n", RA_UNIT_NONE, RA_CELL_INTEGER);
  ra_table_column(table, "why", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint i = 0; i < 2; i++) {
    ra_table_row(table);
    ra_table_text(table, "a");
    ra_table_integer(table, i);
    ra_table_text(table, i == 0 ? words->str : "-");
  }
  text = written(table, RA_FORMAT_TEXT);
  said = g_strdup_printf("<t\nk  n  why\n-  -  %s\na  0  %s\n"
                         "      word word word word word\na  1  -\n",
                         rule, first);
  ck_assert_str_eq(text, said);
}
END_TEST

/* Two texts of 119 and of 109 columns: 227 behind a key of 1, so that each is
 * broken to what is left beside the key, 97 columns (19 words are 94), in a
 * block of its own.  The values of one row alone are broken beside the names of
 * 5.  Nothing is wider than 100, and no word is lost. */
START_TEST(test_break_several)
{
  g_autoptr(GString) words = g_string_new("word");

  for (guint i = 1; i < 24; i++)
    g_string_append(words, " word");
  for (guint n_rows = 1; n_rows <= 2; n_rows++) {
    g_autoptr(RaTable) table = ra_table_new("t");
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;
    guint n_words = 0;

    ra_table_column(table, "k", RA_UNIT_NONE, RA_CELL_TEXT);
    ra_table_column(table, "why", RA_UNIT_NONE, RA_CELL_TEXT);
    ra_table_column(table, "where", RA_UNIT_NONE, RA_CELL_TEXT);
    for (guint i = 0; i < n_rows; i++) {
      ra_table_row(table);
      ra_table_text(table, "a");
      ra_table_text(table, words->str);
      ra_table_text(table, words->str + 10);
    }
    text = written(table, RA_FORMAT_TEXT);
    lines = g_strsplit(text, "\n", -1);
    for (guint i = 0; lines[i]; i++) {
      g_auto(GStrv) parts = g_strsplit(lines[i], "word", -1);

      ck_assert_msg(strlen(lines[i]) <= 100, "%s", lines[i]);
      n_words += g_strv_length(parts) > 0 ? g_strv_length(parts) - 1 : 0;
    }
    ck_assert_uint_eq(n_words, n_rows * (24 + 22));
  }
}
END_TEST

/* A key and numbers of 18 columns each under heads of 30: 3 gaps of 2 and 1 + 3
 * x 30 are 97; the fourth stands below, behind the key.  A text that no row has
 * is left out; ra_table_write_top() ends each block after its rows. */
START_TEST(test_blocks)
{
  static const char head[] = "123456789 123456789 1234567890";
  g_autoptr(RaTable) table = ra_table_new("t");
  g_autoptr(GString) out = g_string_new(NULL);
  g_auto(GStrv) lines = NULL;

  ra_table_column(table, "k", RA_UNIT_NONE, RA_CELL_TEXT);
  ra_table_column(table, "none", RA_UNIT_NONE, RA_CELL_TEXT);
  for (guint c = 0; c < 4; c++) {
    g_autofree char *name = g_strdup_printf("%.29s%u", head, c);

    ra_table_column(table, name, RA_UNIT_NONE, RA_CELL_INTEGER);
  }
  for (guint i = 0; i < 3; i++) {
    ra_table_row(table);
    ra_table_text(table, "x");
    ra_table_missing(table);
    for (guint c = 0; c < 4; c++)
      ra_table_integer(table, c);
  }
  ra_table_write_top(table, 2, out);
  lines = g_strsplit(out->str, "\n", -1);
  /* title; head, rule, 2 rows; empty; the same of the second block; the end */
  ck_assert_uint_eq(g_strv_length(lines), 1 + 4 + 1 + 4 + 1);
  ck_assert_uint_eq(strlen(lines[1]), 97);
  ck_assert_str_eq(lines[5], "");
  ck_assert_str_eq(lines[6], "k  123456789 123456789 1234567893");
  ck_assert_str_eq(lines[8], "x                               3");
  ck_assert_str_eq(lines[9], lines[8]);
}
END_TEST

/* true and false in JSON; names become keys without spaces or brackets, and
 * two that become one stay two. */
START_TEST(test_json_keys)
{
  g_autoptr(RaTable) table = ra_table_new("plan: [call NAME]");
  g_autoptr(GString) key = g_string_new(NULL);
  g_autofree char *json = NULL, *text = NULL;

  ra_table_column(table, "a b", RA_UNIT_NONE, RA_CELL_TRUTH);
  ra_table_column(table, "a_b", RA_UNIT_NONE, RA_CELL_TRUTH);
  ra_table_column(table, "(c)", RA_UNIT_NONE, RA_CELL_TRUTH);
  ra_table_row(table);
  ra_table_truth(table, TRUE);
  ra_table_truth(table, FALSE);
  ra_table_missing(table);
  json = written(table, RA_FORMAT_JSON);
  text = written(table, RA_FORMAT_TSV);
  ra_table_json_key(table, key);
  ck_assert_str_eq(json,
                   "<[\n  {\"a_b\": true, \"a_b_2\": false, \"c\": null}\n]");
  ck_assert_str_eq(text, "<# plan: [call NAME]\na b\ta_b\t(c)\nyes\tno\t-\n");
  ck_assert_str_eq(key->str, "plan_call_NAME");
}
END_TEST

static Suite *
table_suite(void)
{
  Suite *suite = suite_create("table");
  TCase *tcase = tcase_create("core");

  tcase_add_test(tcase, test_text);
  tcase_add_test(tcase, test_upright);
  tcase_add_test(tcase, test_tsv);
  tcase_add_test(tcase, test_json);
  tcase_add_test(tcase, test_json_escapes);
  tcase_add_test(tcase, test_json_keys);
  tcase_add_test(tcase, test_break);
  tcase_add_test(tcase, test_break_several);
  tcase_add_test(tcase, test_blocks);
  tcase_add_test(tcase, test_flat);
  tcase_add_test(tcase, test_empty);
  tcase_add_test(tcase, test_thousands);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(table_suite)
