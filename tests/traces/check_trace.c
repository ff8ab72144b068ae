#include "config.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>

#include "base/error.h"
#include "tests/support/check_main.h"
#include "traces/trace.h"
#include "traces/trace_lanes.h"

#define COLUMNS                                                                \
  "name\titeration\tcall\tkind\tranks\tstream\top\tshape\tbegin_s\tend_s\t"    \
  "flop\tbytes\n"
#define HEAD "# reallot trace 1\n" COLUMNS

static RaTrace *
parse(const char *text, GError **error)
{
  return ra_trace_parse("t.tsv", text, strlen(text), error);
}

/* A trace written, read and written again is the same: a head field that
 * nobody knows, an empty one, empty ranks, op and shape, an exponent, a number
 * of nine digits, times to 1 ns and one past 2^20 s.
 */
START_TEST(test_round_trip)
{
  const char *text =
      "# reallot trace 1\n"
      "# source: simulate\n"
      "# colour of the sky: blue: mostly\n"
      "# plan:\n" COLUMNS
      "it0/a/fwd\t0\ta\tforward\t0-7,16-23\tcompute\t-\t-\t0.000000000\t"
      "0.000000001\t1e+12\t123456789\n"
      "it0/a/fwd\t0\ta\tforward\t0\tcompute\tgemm\tm=1,n=2\t1.250000000\t"
      "1.333333333\t1.23456789e+15\t0.5\n"
      "it4294967294/b\t4294967294\tb\thost\t-\thost\t-\t-\t2000000.123456789\t"
      "2000000.123456789\t0\t1e-30\n";
  g_autoptr(GError) error = NULL;
  g_autoptr(RaTrace) trace = parse(text, &error);
  g_autofree char *again = NULL;
  gsize n_bytes;

  ck_assert_msg(trace != NULL, "%s", error ? error->message : "");
  ck_assert_uint_eq(ra_trace_n_rows(trace), 3);
  ck_assert_str_eq(ra_trace_head(trace, "colour of the sky"), "blue: mostly");
  ck_assert_str_eq(ra_trace_head(trace, "plan"), "");
  ck_assert_ptr_null(ra_trace_head(trace, "machine"));
  /* Equal strings are one. */
  ck_assert_ptr_eq(ra_trace_row(trace, 0)->name, ra_trace_row(trace, 1)->name);
  ck_assert_ptr_null(ra_trace_row(trace, 0)->op);
  ck_assert_str_eq(ra_trace_row(trace, 2)->ranks, "");
  ck_assert(ra_trace_row(trace, 0)->end_s == 1e-9);
  ck_assert(ra_trace_row(trace, 0)->flop == 1e12);
  again = ra_trace_format(trace, &n_bytes);
  ck_assert_str_eq(again, text);
  ck_assert_uint_eq(n_bytes, strlen(text));
}
END_TEST

/* The reader's own decimal numbers and the C library's are the same bits, for
 * 10^4 numbers of every length and power, and the fast writer of times gives
 * the digits of %.9f.
 */
START_TEST(test_numbers_are_exact)
{
  g_autoptr(GRand) rand = g_rand_new_with_seed(7);

  for (int i = 0; i < 10000; i++) {
    double value = g_rand_double(rand);
    char flop[64], begin[64], text[400], want[64];
    g_autoptr(RaTrace) trace = NULL;
    g_autofree char *again = NULL;
    gsize n_bytes;

    for (int power = g_rand_int_range(rand, -30, 40); power > 0; power--)
      value *= 10;
    g_ascii_formatd(flop, sizeof flop, i % 2 ? "%.9g" : "%.17g", value);
    g_ascii_formatd(begin, sizeof begin, "%.9f",
                    g_rand_double_range(rand, 0, 1e4));
    g_snprintf(text, sizeof text,
               HEAD "n\t0\tc\tk\t0\ts\t-\t-\t%s\t1e9\t%s\t0\n", begin, flop);
    trace = parse(text, NULL);
    ck_assert_ptr_nonnull(trace);
    ck_assert_msg(ra_trace_row(trace, 0)->flop == g_ascii_strtod(flop, NULL),
                  "%s", flop);
    ck_assert_msg(ra_trace_row(trace, 0)->begin_s ==
                      g_ascii_strtod(begin, NULL),
                  "%s", begin);
    again = ra_trace_format(trace, &n_bytes);
    g_snprintf(want, sizeof want, "\t%s\t1000000000.000000000\t", begin);
    ck_assert_msg(strstr(again, want) != NULL, "%s in %s", want, again);
  }
}
END_TEST

static const struct {
  const char *text;
  const char *message;
} faults[] = {
    {"", "t.tsv:1: the file is empty, expected '# reallot trace 1'"},
    {"name\t", "t.tsv:1: no trace: expected '# reallot trace 1' as the first "
               "line"},
    {"# reallot trace 2\n", "t.tsv:1: unknown version '2', expected 1"},
    {"# reallot trace 1\n", "t.tsv:2: the line of column names is missing"},
    {"# reallot trace 1\n# a: b\n# a: c\n",
     "t.tsv:3: head field 'a' stands twice"},
    {"# reallot trace 1\n#a: b\n",
     "t.tsv:2: expected a head field '# key: value', not '#a: b'"},
    {"# reallot trace 1\n# ab\n",
     "t.tsv:2: expected a head field '# key: value', not '# ab'"},
    {"# reallot trace 1\nname\titeration\n",
     "t.tsv:2: column 'call' is missing"},
    {"# reallot trace 1\nname\tround\n",
     "t.tsv:2: column 2 is 'round', expected 'iteration'"},
    {HEAD "a\t0\n", "t.tsv:3: 2 fields, expected 12"},
    {HEAD "a\t0\tc\tk\t0\ts\t-\t-\t0\t1\t0\t0\t0\n",
     "t.tsv:3: 13 fields, expected 12"},
    {HEAD "\t0\tc\tk\t0\ts\t-\t-\t0\t1\t0\t0\n", "t.tsv:3: 'name' is empty"},
    {HEAD "a\t0\tc\t-\t0\ts\t-\t-\t0\t1\t0\t0\n", "t.tsv:3: 'kind' is empty"},
    {HEAD "a\t0\tc\tk\t0\ts\t\t-\t0\t1\t0\t0\n", "t.tsv:3: 'op' is empty"},
    {HEAD "a\t-1\tc\tk\t0\ts\t-\t-\t0\t1\t0\t0\n",
     "t.tsv:3: expected a whole number for 'iteration', not '-1'"},
    {HEAD "a\t4294967295\tc\tk\t0\ts\t-\t-\t0\t1\t0\t0\n",
     "t.tsv:3: expected a whole number for 'iteration', not '4294967295'"},
    {HEAD "a\t0\tc\tk\t0\ts\t-\t-\t0\t1x\t0\t0\n",
     "t.tsv:3: expected a number >= 0 for 'end_s', not '1x'"},
    {HEAD "a\t0\tc\tk\t0\ts\t-\t-\t0\t1\tnan\t0\n",
     "t.tsv:3: expected a number >= 0 for 'flop', not 'nan'"},
    {HEAD "a\t0\tc\tk\t0\ts\t-\t-\t0\t1\t0\t-2\n",
     "t.tsv:3: expected a number >= 0 for 'bytes', not '-2'"},
    {HEAD "a\t0\tc\tk\t0\ts\t-\t-\t0\t1\t0\t0\r\n",
     "t.tsv:3: expected a number >= 0 for 'bytes', not '0\\r'"},
    {HEAD "a\t0\tc\tk\t0\ts\t-\t-\t2\t1.5\t0\t0\n",
     "t.tsv:3: ends at 1.5 s, before it begins at 2 s"},
    {HEAD "a\t0\tc\tk\t0\ts\t-\t-\t0\t1e10\t0\t0\n",
     "t.tsv:3: ends at 1e10 s, expected at most 1000000000 s"},
    {HEAD "a\t0\tc\tk\t0\ts\t-\t-\t0\t1\t0\t0\n"
          "a\t0\tc\tk\t7-3\ts\t-\t-\t0\t1\t0\t0\n",
     "t.tsv:4: bad ranks '7-3', a range ends before it begins"},
    {HEAD "a\t0\tc\tk\t0-3,3-5\ts\t-\t-\t0\t1\t0\t0\n",
     "t.tsv:3: bad ranks '0-3,3-5', expected ascending, disjoint ranges"},
    {HEAD "a\t0\tc\tk\t0,\ts\t-\t-\t0\t1\t0\t0\n",
     "t.tsv:3: bad ranks '0,', expected numbers below 1048576 as "
     "'0-7,16-23'"},
    {HEAD "a\t0\tc\tk\t1048576\ts\t-\t-\t0\t1\t0\t0\n",
     "t.tsv:3: bad ranks '1048576', expected numbers below 1048576 as "
     "'0-7,16-23'"},
    {HEAD "a\t0\tc\tk\t0\ts\t-\t-\t0\t1\t0\t0",
     "t.tsv:3: the last line does not end, the file is cut off"},
    {HEAD "a\t0\t\xff", "t.tsv:3: not UTF-8 text"},
};

/* Every fault has its line and one sentence. */
START_TEST(test_faults)
{
  for (size_t i = 0; i < G_N_ELEMENTS(faults); i++) {
    g_autoptr(GError) error = NULL;
    RaTrace *trace = parse(faults[i].text, &error);

    ck_assert_msg(trace == NULL, "row %zu was taken", i);
    ck_assert_str_eq(error->message, faults[i].message);
    ck_assert(error->domain == RA_ERROR && error->code == RA_ERROR_INPUT);
  }
}
END_TEST

START_TEST(test_nul_byte)
{
  const char text[] = HEAD "a\0b\n";
  g_autoptr(GError) error = NULL;

  ck_assert_ptr_null(ra_trace_parse("t", text, sizeof text - 1, &error));
  ck_assert_str_eq(error->message, "t:3: a NUL byte, expected text");
}
END_TEST

/* Rows out of order are sorted; equal begins keep their order. */
START_TEST(test_sort_is_stable)
{
  g_autoptr(RaTrace) trace = parse(HEAD "a\t0\tc\tk\t0\ts\t-\t-\t2\t3\t0\t0\n"
                                        "b\t0\tc\tk\t0\ts\t-\t-\t1\t3\t0\t0\n"
                                        "c\t0\tc\tk\t0\ts\t-\t-\t2\t2\t0\t0\n"
                                        "d\t0\tc\tk\t0\ts\t-\t-\t1\t1\t0\t0\n",
                                   NULL);
  const char *order = "bdac";

  for (guint i = 0; i < 4; i++)
    ck_assert_int_eq(ra_trace_row(trace, i)->name[0], order[i]);
}
END_TEST

/* A row is one line whatever its strings hold; a head field too. */
START_TEST(test_control_characters)
{
  g_autoptr(RaTrace) trace = ra_trace_new();
  const RaTraceRow row = {
      .name = "a\tb\nc", .call = "c", .kind = "k", .ranks = "", .stream = "s"};
  g_autoptr(RaTrace) again = NULL;
  g_autofree char *text = NULL;
  gsize n_bytes;

  ra_trace_set_head(trace, "command", "plot\n'x'");
  ra_trace_set_head(trace, "seed", "1");
  ra_trace_set_head(trace, "command", "plot\t'y'");
  ra_trace_set_head(trace, "seed", NULL);
  ra_trace_set_head(trace, "a\tb", "1");
  ra_trace_set_head(trace, "a\001b", "2");
  ra_trace_add(trace, &row);
  text = ra_trace_format(trace, &n_bytes);
  again = parse(text, NULL);
  ck_assert_str_eq(ra_trace_row(again, 0)->name, "a b c");
  ck_assert_str_eq(ra_trace_head(again, "command"), "plot 'y'");
  ck_assert_ptr_null(ra_trace_head(again, "seed"));
  ck_assert_str_eq(ra_trace_head(again, "a b"), "2");
}
END_TEST

/* On disk as in memory; a fault names the path; nothing is left beside. */
START_TEST(test_file)
{
  g_autofree char *folder = g_dir_make_tmp("ra-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "a.trace.tsv", NULL);
  g_autofree char *missing = g_build_filename(folder, "no", "b.tsv", NULL);
  g_autoptr(RaTrace) trace =
      parse(HEAD "a\t0\tc\tk\t0\ts\t-\t-\t0\t1\t0\t0\n", NULL);
  g_autoptr(RaTrace) again = NULL;
  g_autoptr(GError) error = NULL;

  ck_assert(ra_trace_save(trace, path, NULL));
  again = ra_trace_load(path, NULL);
  ck_assert_uint_eq(ra_trace_n_rows(again), 1);
  ck_assert(!ra_trace_save(trace, missing, &error));
  ck_assert(g_str_has_prefix(error->message, missing));
  g_clear_error(&error);
  ck_assert_ptr_null(ra_trace_load(missing, &error));
  ck_assert_int_eq(error->code, RA_ERROR_IO);
  g_unlink(path);
  ck_assert_int_eq(g_rmdir(folder), 0);
}
END_TEST

START_TEST(test_ranks)
{
  g_autoptr(GArray) ranges = g_array_new(FALSE, FALSE, sizeof(uint32_t));
  g_autoptr(GString) text = g_string_new("gpu 1 ");
  const uint32_t want[] = {0, 7, 8, 8, 10, 10, 16, 23};
  g_autoptr(GError) error = NULL;

  ck_assert(ra_ranks_parse("0-7,8,10,16-23", ranges, NULL));
  ck_assert_uint_eq(ranges->len, G_N_ELEMENTS(want));
  ck_assert_mem_eq(ranges->data, want, sizeof want);
  /* 0-7 and 8 touch and are joined. */
  ra_ranks_format(want, G_N_ELEMENTS(want), text);
  ck_assert_str_eq(text->str, "gpu 1 0-8,10,16-23");
  ck_assert(!ra_ranks_parse("1,a", ranges, &error));
  ck_assert_uint_eq(ranges->len, G_N_ELEMENTS(want));
}
END_TEST

/* Rows on 0-15, 0-7 and 20-23: the borders are 0, 8, 16, 20, 24, and nobody is
 * on 16-19, so the lanes are 0-7, 8-15, 20-23.  Cut at nodes of four GPUs:
 * 0-3, 4-7, 8-11, 12-15, 20-23.  The row without GPUs has the last.
 */
START_TEST(test_lanes)
{
  g_autoptr(RaTrace) trace =
      parse(HEAD "a\t0\tc\tk\t0-7,8-15\ts\t-\t-\t0\t3\t0\t0\n"
                 "b\t0\tc\tk\t0-7\ts\t-\t-\t1\t3\t0\t0\n"
                 "c\t0\tc\tk\t20-23\ts\t-\t-\t2\t2\t0\t0\n"
                 "d\t0\tc\tk\t-\ts\t-\t-\t2\t2\t0\t0\n",
            NULL);
  g_autoptr(RaTraceLanes) lanes = ra_trace_lanes_new(trace, 0);
  g_autoptr(RaTraceLanes) cut = ra_trace_lanes_new(trace, 4);
  const uint32_t *on;
  uint32_t first, last;
  guint n;

  ck_assert_uint_eq(ra_trace_lanes_n(lanes), 4);
  ck_assert(ra_trace_lanes_gpus(lanes, 1, &first, &last));
  ck_assert_uint_eq(first, 8);
  ck_assert_uint_eq(last, 15);
  ck_assert(!ra_trace_lanes_gpus(lanes, 3, &first, &last));
  on = ra_trace_lanes_of(lanes, ra_trace_row(trace, 0)->ranks, &n);
  ck_assert_uint_eq(n, 2);
  ck_assert_uint_eq(on[1], 1);
  on = ra_trace_lanes_of(lanes, ra_trace_row(trace, 3)->ranks, &n);
  ck_assert_uint_eq(n, 1);
  ck_assert_uint_eq(on[0], 3);
  ck_assert_uint_eq(ra_trace_lanes_n(cut), 6);
  ra_trace_lanes_gpus(cut, 4, &first, &last);
  ck_assert_uint_eq(first, 20);
  on = ra_trace_lanes_of(cut, ra_trace_row(trace, 0)->ranks, &n);
  ck_assert_uint_eq(n, 4);
}
END_TEST

/* Inputs that a fuzzer or a person found: good-* are read, the others refused,
 * none crashes; tests/fuzz/fuzz_trace.c is what looks for more. */
START_TEST(test_corpus)
{
  const char *tree = g_getenv("srcdir");
  g_autofree char *path =
      g_build_filename(tree ? tree : ".", "tests", "corpus", "trace", NULL);
  GDir *folder = g_dir_open(path, 0, NULL);
  guint n_good = 0, n_bad = 0;
  const char *name;

  ck_assert_msg(folder != NULL, "%s", path);
  while ((name = g_dir_read_name(folder)) != NULL) {
    g_autofree char *file = g_build_filename(path, name, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(RaTrace) trace = ra_trace_load(file, &error);
    gboolean good = g_str_has_prefix(name, "good-");

    ck_assert_msg((trace != NULL) == good, "%s: %s", name,
                  error ? error->message : "was taken");
    n_good += good;
    n_bad += !good;
  }
  g_dir_close(folder);
  ck_assert(n_good >= 2 && n_bad >= 6);
}
END_TEST

static Suite *
trace_suite(void)
{
  Suite *suite = suite_create("trace");
  TCase *tcase = tcase_create("files");

  tcase_add_test(tcase, test_round_trip);
  tcase_add_test(tcase, test_numbers_are_exact);
  tcase_add_test(tcase, test_faults);
  tcase_add_test(tcase, test_nul_byte);
  tcase_add_test(tcase, test_control_characters);
  tcase_add_test(tcase, test_file);
  tcase_add_test(tcase, test_corpus);
  suite_add_tcase(suite, tcase);
  tcase = tcase_create("rows");
  tcase_add_test(tcase, test_sort_is_stable);
  tcase_add_test(tcase, test_ranks);
  tcase_add_test(tcase, test_lanes);
  suite_add_tcase(suite, tcase);
  return suite;
}

RA_CHECK_MAIN(trace_suite)
